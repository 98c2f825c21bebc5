/* vocabulary_build.c - lays pieces, names and merges out as the tokenizer block of a packed file
 * (vocabulary_layout.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/vocabulary.h"
#include "text/vocabulary_layout.h"

/* Rows of the block's tables. */
struct character_row {
    uint32_t character, id;
};
struct merge_row {
    uint32_t right, rank, id;
};

struct builder {
    const struct fct_vocabulary_source *source;
    fct_piece_index *index;
    struct fct_vocabulary_counts counts;
    uint8_t *block, *starts, *kinds;
    uint32_t *bytes, *pieces, *names, *lefts;
    struct character_row *characters;
    struct merge_row *merges;
    char *text;
};

static const char *piece_of(const struct builder *b, int id) { return b->source->pieces[id]; }

static bool is_name(const struct builder *b, int id) {
    return b->source->control[id] || (b->source->matched && b->source->matched[id]);
}

/* The value of a byte piece, "<0x41>", or -1. */
static int byte_value(const char *piece) {
    static const char digits[] = "0123456789ABCDEF";
    if (strlen(piece) != 6 || strncmp(piece, "<0x", 3) != 0 || piece[5] != '>') return -1;
    const char *high = strchr(digits, piece[3]), *low = strchr(digits, piece[4]);
    return high && low ? (int)(high - digits) * 16 + (int)(low - digits) : -1;
}

/* The character that the piece is, or -1 if it is more than one. A control token never stands for a
 * character. */
static int64_t only_character(const struct builder *b, int id) {
    const char *piece = piece_of(b, id);
    int n;
    bool valid;
    uint32_t c = fct_utf8_read(piece, strlen(piece), &n, &valid);
    return piece[n] || b->source->control[id] ? -1 : (int64_t)c;
}

static fct_status check_pieces(struct builder *b, fct_error *err) {
    uint64_t n_text = 0;
    for (int id = 0; id < b->source->n_pieces; id++) {
        const char *piece = piece_of(b, id);
        if (!piece) continue;
        size_t n = strlen(piece);
        if (n == 0) return fct_fail(err, FCT_ERR_FORMAT, "tokenizer: piece %d is empty", id);
        if (!fct_utf8_valid(piece, n))
            return fct_fail(err, FCT_ERR_FORMAT, "tokenizer: piece %d is not UTF-8", id);
        if (only_character(b, id) >= 0) b->counts.n_characters++;
        if (is_name(b, id)) b->counts.n_names++;
        n_text += n;
    }
    if (n_text > UINT32_MAX || b->source->n_merges > UINT32_MAX)
        return fct_fail(err, FCT_ERR_UNSUPPORTED,
                        "tokenizer: more pieces or merges than the format can hold");
    b->counts.n_pieces = (uint32_t)b->source->n_pieces;
    b->counts.n_merges = (uint32_t)b->source->n_merges;
    b->counts.n_text = (uint32_t)n_text;
    return FCT_OK;
}

static fct_status make_block(struct builder *b, size_t *n_bytes, fct_error *err) {
    struct fct_vocabulary_places p = fct_vocabulary_places(&b->counts);
    uint8_t *block = fct_new(p.end, err);
    if (!block) return FCT_ERR_MEMORY;
    b->block = block;
    b->starts = block + p.starts;
    b->kinds = block + p.kinds;
    b->bytes = (uint32_t *)(block + p.bytes);
    b->pieces = (uint32_t *)(block + p.pieces);
    b->characters = (struct character_row *)(block + p.characters);
    b->names = (uint32_t *)(block + p.names);
    b->lefts = (uint32_t *)(block + p.lefts);
    b->merges = (struct merge_row *)(block + p.merges);
    b->text = (char *)block + p.text;
    *n_bytes = p.end;
    return FCT_OK;
}

static int compare_characters(const void *a, const void *b) {
    uint32_t x = ((const struct character_row *)a)->character,
             y = ((const struct character_row *)b)->character;
    return (x > y) - (x < y);
}

static int compare_names(const void *a, const void *b, void *pieces) {
    const char *const *texts = pieces;
    return strcmp(texts[*(const uint32_t *)a], texts[*(const uint32_t *)b]);
}

/* Pieces and their texts, characters and names. */
static void write_pieces(struct builder *b) {
    uint32_t at = 0, n_characters = 0, n_names = 0;
    for (int id = 0; id < b->source->n_pieces; id++) {
        const char *piece = piece_of(b, id);
        b->pieces[id] = at;
        if (!piece) continue;
        size_t n = strlen(piece);
        memcpy(b->text + at, piece, n);
        at += (uint32_t)n;
        int64_t c = only_character(b, id);
        if (c >= 0)
            b->characters[n_characters++] = (struct character_row){(uint32_t)c, (uint32_t)id};
        if (!is_name(b, id)) continue;
        int kind = b->source->control[id] ? FCT_PIECE_CONTROL : FCT_PIECE_MATCHED;
        b->kinds[id] |= kind;
        b->starts[(uint8_t)piece[0]] |= kind;
        b->names[n_names++] = (uint32_t)id;
    }
    b->pieces[b->source->n_pieces] = at;
    qsort(b->characters, n_characters, sizeof *b->characters, compare_characters);
    qsort_r(b->names, n_names, sizeof *b->names, compare_names, (void *)b->source->pieces);
}

static fct_status write_bytes(struct builder *b, fct_error *err) {
    for (int byte = 0; byte < 256; byte++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", byte);
        int id = fct_piece_index_find(b->index, name, strlen(name));
        if (id < 0)
            return fct_fail(err, FCT_ERR_UNSUPPORTED, "tokenizer: byte piece %s is missing", name);
        b->bytes[byte] = (uint32_t)id;
        b->kinds[id] |= FCT_PIECE_BYTE;
    }
    return FCT_OK;
}

static int compare_merges(const void *a, const void *b) {
    uint32_t x = ((const struct merge_row *)a)->right, y = ((const struct merge_row *)b)->right;
    return (x > y) - (x < y);
}

/* What the merge of this rank makes. */
static fct_status find_result(const struct builder *b, size_t rank, int *id, fct_error *err) {
    const int *pair = b->source->merges[rank];
    int n = b->source->n_pieces;
    if (pair[0] < 0 || pair[0] >= n || pair[1] < 0 || pair[1] >= n || !piece_of(b, pair[0]) ||
        !piece_of(b, pair[1]))
        return fct_fail(err, FCT_ERR_FORMAT, "tokenizer: merge %zu names a piece that is not there",
                        rank);
    const char *left = piece_of(b, pair[0]), *right = piece_of(b, pair[1]);
    *id = fct_piece_index_join(b->index, left, right);
    if (*id < 0)
        return fct_fail(err, FCT_ERR_FORMAT,
                        "tokenizer: merge %zu, \"%s\" and \"%s\", makes no piece", rank, left,
                        right);
    if (b->source->control[*id] || byte_value(piece_of(b, *id)) >= 0)
        return fct_fail(err, FCT_ERR_UNSUPPORTED,
                        "tokenizer: merge %zu makes \"%s\", which plain text must not become", rank,
                        piece_of(b, *id));
    return FCT_OK;
}

static bool mixes(const char *piece, char c) {
    char only[2] = {c, '\0'};
    return strchr(piece, c) && piece[strspn(piece, only)];
}

/* Counts the merges of each left piece into the slot behind it, and sums up: lefts[i + 1] becomes
 * where i's begin. */
static void count_lefts(struct builder *b) {
    for (size_t i = 0; i < b->source->n_merges; i++) b->lefts[b->source->merges[i][0] + 1]++;
    uint32_t begin = 0;
    for (int id = 0; id < b->source->n_pieces; id++) {
        uint32_t n = b->lefts[id + 1];
        b->lefts[id + 1] = begin;
        begin += n;
    }
}

static fct_status sort_merges(struct builder *b, fct_error *err) {
    for (int id = 0; id < b->source->n_pieces; id++) {
        uint32_t begin = b->lefts[id], end = b->lefts[id + 1];
        qsort(b->merges + begin, end - begin, sizeof *b->merges, compare_merges);
        for (uint32_t i = begin + 1; i < end; i++)
            if (b->merges[i].right == b->merges[i - 1].right)
                return fct_fail(err, FCT_ERR_FORMAT, "tokenizer: two merges of \"%s\" and \"%s\"",
                                piece_of(b, id), piece_of(b, (int)b->merges[i].right));
    }
    return FCT_OK;
}

static fct_status write_merges(struct builder *b, fct_error *err) {
    bool newline_mixed = false, tab_mixed = false;
    for (size_t rank = 0; rank < b->source->n_merges; rank++) {
        int id = -1;
        fct_status status = find_result(b, rank, &id, err);
        if (status != FCT_OK) return status;
        newline_mixed |= mixes(piece_of(b, id), '\n');
        tab_mixed |= mixes(piece_of(b, id), '\t');
    }
    count_lefts(b);
    /* Filling moves lefts[i + 1] from where i's merges begin to where they end, which is where
     * those of i + 1 begin. */
    for (size_t rank = 0; rank < b->source->n_merges; rank++) {
        const int *pair = b->source->merges[rank];
        int id = fct_piece_index_join(b->index, piece_of(b, pair[0]), piece_of(b, pair[1]));
        b->merges[b->lefts[pair[0] + 1]++] =
            (struct merge_row){(uint32_t)pair[1], (uint32_t)rank, (uint32_t)id};
    }
    if (!newline_mixed) b->counts.flags |= FCT_VOCABULARY_NEWLINE_ALONE;
    if (!tab_mixed) b->counts.flags |= FCT_VOCABULARY_TAB_ALONE;
    return sort_merges(b, err);
}

static void write_header(const struct builder *b) {
    const struct fct_vocabulary_counts *c = &b->counts;
    uint32_t numbers[] = {FCT_VOCABULARY_VERSION, c->flags,   c->n_pieces, c->n_merges,
                          c->n_characters,        c->n_names, c->n_text};
    memcpy(b->block, FCT_VOCABULARY_MAGIC, 8);
    memcpy(b->block + 8, numbers, sizeof numbers);
}

fct_status fct_vocabulary_build(const struct fct_vocabulary_source *source, uint8_t **block,
                                size_t *n_bytes, fct_error *err) {
    struct builder b = {.source = source};
    fct_status status = check_pieces(&b, err);
    if (status != FCT_OK) return status;
    b.index = fct_piece_index_new(source->pieces, source->n_pieces, err);
    if (!b.index) return err ? err->code : FCT_ERR_FORMAT;
    status = make_block(&b, n_bytes, err);
    if (status == FCT_OK) {
        write_pieces(&b);
        status = write_bytes(&b, err);
    }
    if (status == FCT_OK) status = write_merges(&b, err);
    if (status == FCT_OK) write_header(&b);
    fct_piece_index_free(b.index);
    if (status == FCT_OK)
        *block = b.block;
    else
        fct_free(b.block);
    return status;
}
