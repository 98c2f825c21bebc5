/* gguf_marks.c - pieces of a GGUF vocabulary that have lost the byte order mark they begin with.
 *
 * Gemma's tokenizers have pieces that begin with U+FEFF, as files do: a mark and "//", a mark and
 * "<?", a mark and "#". Google's QAT files of Gemma 4 (ggml-org/llama.cpp#25739) were written by
 * something that dropped it, so that "//", "<?" and "#" are each there twice, and whoever looks a
 * piece up by its text finds the wrong one half of the time. */
#include "convert/gguf_marks.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"

static const size_t n_mark = sizeof FCT_BYTE_ORDER_MARK - 1;

static int compare_ids(const void *a, const void *b, void *pieces) {
    const char *const *texts = pieces;
    int x = *(const int *)a, y = *(const int *)b, order = strcmp(texts[x], texts[y]);
    return order ? order : (x > y) - (x < y);
}

static bool begins_with_mark(const char *piece) {
    return strncmp(piece, FCT_BYTE_ORDER_MARK, n_mark) == 0;
}

static bool is_one_character(const char *piece) {
    int n;
    bool valid;
    fct_utf8_read(piece, strlen(piece), &n, &valid);
    return piece[n] == 0;
}

/* Is the piece with a mark in front among the pieces? sorted: all ids, by their texts. */
static bool is_with_mark(const char *const *pieces, const int *sorted, int n_pieces,
                         const char *piece) {
    int low = 0, high = n_pieces;
    while (low < high) {
        int middle = low + (high - low) / 2;
        const char *at = pieces[sorted[middle]];
        int order = strncmp(at, FCT_BYTE_ORDER_MARK, n_mark);
        if (!order) order = strcmp(at + n_mark, piece);
        if (!order) return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* A piece that is empty was the mark alone: then all that begin with marks have lost one. */
static void find_empty(const char *const *pieces, int n_pieces, const int *sorted, bool *lost) {
    if (n_pieces == 0 || pieces[sorted[0]][0]) return;
    for (int id = 0; id < n_pieces; id++) lost[id] = !pieces[id][0] || begins_with_mark(pieces[id]);
}

/* Of two pieces alike one has lost its mark. A piece is learned before those that it is a part of,
 * so the first is whole; but single characters stand behind all that were learned, so of these it
 * is the second. */
static void find_twins(const char *const *pieces, int n_pieces, const int *sorted, bool *lost) {
    for (int i = 0; i + 1 < n_pieces; i++) {
        int first = sorted[i], second = sorted[i + 1];
        if (strcmp(pieces[first], pieces[second]) != 0 || lost[first] ||
            is_with_mark(pieces, sorted, n_pieces, pieces[first]))
            continue;
        lost[is_one_character(pieces[first]) ? first : second] = true;
        i++; /* a third is one too many, and refused as it is */
    }
}

static fct_status put_back(const char **pieces, int n_pieces, const bool *lost, char **text,
                           int *n_restored, fct_error *err) {
    size_t n_text = 0;
    for (int id = 0; id < n_pieces; id++)
        if (lost[id]) n_text += n_mark + strlen(pieces[id]) + 1;
    if (!n_text) return FCT_OK;
    char *to = *text = fct_new(n_text, err);
    if (!to) return FCT_ERR_MEMORY;
    for (int id = 0; id < n_pieces; id++) {
        if (!lost[id]) continue;
        char *end = stpcpy(stpcpy(to, FCT_BYTE_ORDER_MARK), pieces[id]);
        pieces[id] = to;
        to = end + 1;
        ++*n_restored;
    }
    return FCT_OK;
}

fct_status fct_gguf_restore_marks(const char **pieces, int n_pieces, char **text, int *n_restored,
                                  fct_error *err) {
    fct_status status = FCT_ERR_MEMORY;
    *text = NULL;
    *n_restored = 0;
    int *sorted = fct_new_array((size_t)n_pieces + 1, sizeof *sorted, err);
    bool *lost = fct_new_array((size_t)n_pieces + 1, sizeof *lost, err);
    if (sorted && lost) {
        for (int id = 0; id < n_pieces; id++) sorted[id] = id;
        qsort_r(sorted, (size_t)n_pieces, sizeof *sorted, compare_ids, (void *)pieces);
        find_empty(pieces, n_pieces, sorted, lost);
        find_twins(pieces, n_pieces, sorted, lost);
        status = put_back(pieces, n_pieces, lost, text, n_restored, err);
    }
    fct_free(sorted);
    fct_free(lost);
    return status;
}
