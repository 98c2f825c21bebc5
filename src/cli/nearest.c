/* nearest.c - the correct spelling that is nearest to a wrong one. */
#include "cli/options.h"

#include <string.h>

#define LONGEST 40

static int least(int a, int b) { return a < b ? a : b; }

/* Insertions, deletions, replacements and swaps of neighbours that turn a into b (optimal string
 * alignment). */
static int edit_distance(const char *a, const char *b) {
    int rows[3][LONGEST + 1];
    int n_a = (int)strlen(a), n_b = (int)strlen(b);
    if (n_a > LONGEST || n_b > LONGEST) return LONGEST;
    for (int j = 0; j <= n_b; j++) rows[0][j] = j;
    for (int i = 1; i <= n_a; i++) {
        int *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= n_b; j++) {
            int replaced = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = least(replaced, least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[n_a % 3][n_b];
}

const char *fct_nearest(const char *word, const char *const *candidates, size_t n) {
    const char *best = NULL;
    size_t length = strlen(word);
    int bound = 1 + (int)least((int)length, LONGEST) / 3;
    for (size_t i = 0; i < n; i++) {
        /* A beginning such as --temp is meant to be completed, however long the rest. */
        bool begins = length >= 2 && strncmp(word, candidates[i], length) == 0;
        int distance = begins ? 0 : edit_distance(word, candidates[i]);
        if (distance > bound) continue;
        if (best && distance == bound) continue;
        best = candidates[i];
        bound = distance;
    }
    return best;
}
