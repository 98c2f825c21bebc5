/* gguf_merges.c - the merges that follow from the scores of a SentencePiece vocabulary. */
#include "convert/gguf_merges.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "text/vocabulary.h"

enum { LONGEST_PIECE = 1024 }; /* bytes; longer ones are not made by merging */

struct scored_merge {
    float score;
    int n_left, n_right; /* characters */
    int piece, left, right;
};

struct gathering {
    const struct fct_scored_pieces *source;
    fct_piece_index *index;
    struct scored_merge *list;
    size_t n, capacity;
};

static bool starts_character(char c) { return ((unsigned char)c & 0xC0) != 0x80; }

static int characters_of(const char *text, size_t n_bytes) {
    int n = 0;
    for (size_t i = 0; i < n_bytes; i++) n += starts_character(text[i]);
    return n;
}

/* The id of a piece that may be merged on, or -1. */
static int find_side(const struct gathering *g, const char *text, size_t n_bytes) {
    int id = fct_piece_index_find(g->index, text, n_bytes);
    return id >= 0 && g->source->mergeable[id] ? id : -1;
}

static fct_status gather_splits(struct gathering *g, int piece, fct_error *err) {
    const char *text = g->source->pieces[piece];
    size_t n_bytes = strlen(text);
    for (size_t at = 1; at < n_bytes && n_bytes <= LONGEST_PIECE; at++) {
        if (!starts_character(text[at])) continue;
        int left = find_side(g, text, at),
            right = left < 0 ? -1 : find_side(g, text + at, n_bytes - at);
        if (right < 0) continue;
        fct_status status =
            fct_grow((void **)&g->list, &g->capacity, g->n + 1, sizeof *g->list, err);
        if (status != FCT_OK) return status;
        g->list[g->n++] = (struct scored_merge){g->source->scores[piece],
                                                characters_of(text, at),
                                                characters_of(text + at, n_bytes - at),
                                                piece,
                                                left,
                                                right};
    }
    return FCT_OK;
}

static int compare(int x, int y) { return (x > y) - (x < y); }

static int compare_merges(const void *a, const void *b) {
    const struct scored_merge *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    if (x->n_left != y->n_left) return compare(y->n_left, x->n_left);
    if (x->n_right != y->n_right) return compare(y->n_right, x->n_right);
    return compare(x->piece, y->piece);
}

static fct_status gather(struct gathering *g, int (**merges)[2], fct_error *err) {
    fct_status status = FCT_OK;
    for (int id = 0; id < g->source->n_pieces && status == FCT_OK; id++)
        if (g->source->mergeable[id]) status = gather_splits(g, id, err);
    if (status != FCT_OK) return status;
    if (g->n) qsort(g->list, g->n, sizeof *g->list, compare_merges);
    *merges = fct_new_array(g->n + 1, sizeof **merges, err);
    if (!*merges) return FCT_ERR_MEMORY;
    for (size_t i = 0; i < g->n; i++) {
        (*merges)[i][0] = g->list[i].left;
        (*merges)[i][1] = g->list[i].right;
    }
    return FCT_OK;
}

fct_status fct_merges_from_scores(const struct fct_scored_pieces *source, int (**merges)[2],
                                  size_t *n_merges, fct_error *err) {
    struct gathering g = {.source = source};
    fct_error failure = {.code = FCT_ERR_MEMORY};
    *merges = NULL;
    g.index = fct_piece_index_new(source->pieces, source->n_pieces, &failure);
    if (!g.index) return fct_fail(err, failure.code, "%s", failure.message);
    fct_status status = gather(&g, merges, err);
    *n_merges = g.n;
    fct_piece_index_free(g.index);
    fct_free(g.list);
    return status;
}
