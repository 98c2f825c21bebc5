/* name_set.c - the strings that are allowed somewhere, followed character by character. */
#include "engine/name_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"

struct named {
    const char *text;
    size_t n_bytes;
};

/* The order of UTF-8's bytes is that of the characters. */
static int compare_bytes(const char *a, size_t n_a, const char *b, size_t n_b) {
    int order = memcmp(a, b, n_a < n_b ? n_a : n_b);
    return order ? order : (n_a > n_b) - (n_a < n_b);
}

static int compare(const void *a, const void *b) {
    const struct named *x = a, *y = b;
    return compare_bytes(x->text, x->n_bytes, y->text, y->n_bytes);
}

static void add_name(struct fct_names *names, const struct named *name) {
    int end = names->begins[names->n], n_bytes;
    for (size_t at = 0; at < name->n_bytes; at += (size_t)n_bytes) {
        bool valid;
        names->characters[end++] =
            fct_utf8_read(name->text + at, name->n_bytes - at, &n_bytes, &valid);
    }
    names->begins[++names->n] = end;
}

fct_status fct_names_init(struct fct_names *names, const char *const *texts, const size_t *lengths,
                          int n, fct_error *err) {
    size_t total = 0;
    memset(names, 0, sizeof *names);
    struct named *sorted = fct_new_array((size_t)n, sizeof *sorted, err);
    if (!sorted) return FCT_ERR_MEMORY;
    for (int i = 0; i < n; i++) {
        sorted[i] = (struct named){texts[i], lengths[i]};
        total += lengths[i];
    }
    qsort(sorted, (size_t)n, sizeof *sorted, compare);
    names->begins = fct_new_array((size_t)n + 1, sizeof *names->begins, err);
    names->characters = fct_new_array(total, sizeof *names->characters, err);
    bool good = names->begins && names->characters;
    for (int i = 0; good && i < n; i++)
        if (i == 0 || compare(&sorted[i - 1], &sorted[i]) != 0) add_name(names, &sorted[i]);
    free(sorted);
    if (!good) fct_names_free(names);
    return good ? FCT_OK : FCT_ERR_MEMORY;
}

void fct_names_free(struct fct_names *names) {
    free(names->begins);
    free(names->characters);
    memset(names, 0, sizeof *names);
}

static int length_of(const struct fct_names *names, int i) {
    return names->begins[i + 1] - names->begins[i];
}

/* The first of the range whose character number `at` is c or more; a name that ends there has none
 * and comes before all. */
static int first_from(const struct fct_names *names, struct fct_name_range range, int at,
                      uint32_t c) {
    while (range.low < range.high) {
        int middle = range.low + (range.high - range.low) / 2;
        bool before =
            length_of(names, middle) <= at || names->characters[names->begins[middle] + at] < c;
        if (before)
            range.low = middle + 1;
        else
            range.high = middle;
    }
    return range.low;
}

struct fct_name_range fct_names_narrow(const struct fct_names *names, struct fct_name_range range,
                                       int at, uint32_t first, uint32_t last) {
    int low = first_from(names, range, at, first);
    return (struct fct_name_range){
        low, first_from(names, (struct fct_name_range){low, range.high}, at, last + 1)};
}

int fct_names_ended(const struct fct_names *names, struct fct_name_range range, int n_characters) {
    bool ended = range.low < range.high && length_of(names, range.low) == n_characters;
    return ended ? range.low : -1;
}

int fct_names_find(const struct fct_names *names, const char *text, size_t n_bytes) {
    struct fct_name_range range = {0, names->n};
    int at = 0, length;
    for (size_t i = 0; i < n_bytes; i += (size_t)length, at++) {
        bool valid;
        uint32_t c = fct_utf8_read(text + i, n_bytes - i, &length, &valid);
        range = fct_names_narrow(names, range, at, c, c);
    }
    return fct_names_ended(names, range, at);
}

int fct_names_find_same(const struct fct_names *names, const struct fct_names *other, int i) {
    struct fct_name_range range = {0, names->n};
    int n = length_of(other, i);
    for (int at = 0; at < n; at++) {
        uint32_t c = other->characters[other->begins[i] + at];
        range = fct_names_narrow(names, range, at, c, c);
    }
    return fct_names_ended(names, range, n);
}
