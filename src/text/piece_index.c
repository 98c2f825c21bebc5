/* piece_index.c - a hash table from the text of a piece to its id. */
#include "text/vocabulary.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

struct fct_piece_index {
    const char *const *pieces;
    int *slots; /* [mask + 1] id, or -1; at most half of them are taken */
    size_t mask;
};

/* FNV-1a, continued: hashing two parts one after the other is hashing them joined. */
static uint64_t hash_more(uint64_t hash, const char *text, size_t n_bytes) {
    for (size_t i = 0; i < n_bytes; i++) hash = (hash ^ (uint8_t)text[i]) * 0x100000001B3u;
    return hash;
}
static const uint64_t hash_start = 0xCBF29CE484222325u;

/* The slot that holds the piece of these two parts, or the free one where it would go. */
static size_t find_slot(const fct_piece_index *index, const char *left, size_t n_left,
                        const char *right, size_t n_right) {
    uint64_t hash = hash_more(hash_more(hash_start, left, n_left), right, n_right);
    size_t slot = (size_t)(hash ^ hash >> 32) & index->mask;
    for (; index->slots[slot] >= 0; slot = (slot + 1) & index->mask) {
        const char *piece = index->pieces[index->slots[slot]];
        if (strncmp(piece, left, n_left) == 0 && strncmp(piece + n_left, right, n_right) == 0 &&
            piece[n_left + n_right] == '\0')
            break;
    }
    return slot;
}

static fct_status add_piece(fct_piece_index *index, int id, fct_error *err) {
    const char *piece = index->pieces[id];
    size_t slot = find_slot(index, piece, strlen(piece), "", 0);
    if (index->slots[slot] >= 0)
        return fct_fail(err, FCT_ERR_FORMAT, "tokenizer: ids %d and %d have the same piece \"%s\"",
                        index->slots[slot], id, piece);
    index->slots[slot] = id;
    return FCT_OK;
}

fct_piece_index *fct_piece_index_new(const char *const *pieces, int n_pieces, fct_error *err) {
    size_t n_slots = 16;
    while (n_slots < 2 * (size_t)n_pieces) n_slots *= 2;
    fct_piece_index *index = fct_new(sizeof *index, err);
    if (!index) return NULL;
    index->pieces = pieces;
    index->mask = n_slots - 1;
    index->slots = fct_new_array(n_slots, sizeof *index->slots, err);
    if (!index->slots) goto failed;
    memset(index->slots, 0xFF, n_slots * sizeof *index->slots);
    for (int id = 0; id < n_pieces; id++)
        if (pieces[id] && add_piece(index, id, err) != FCT_OK) goto failed;
    return index;
failed:
    fct_piece_index_free(index);
    return NULL;
}

void fct_piece_index_free(fct_piece_index *index) {
    if (!index) return;
    fct_free(index->slots);
    fct_free(index);
}

int fct_piece_index_find(const fct_piece_index *index, const char *text, size_t n_bytes) {
    if (memchr(text, '\0', n_bytes)) return -1;
    return index->slots[find_slot(index, text, n_bytes, "", 0)];
}

int fct_piece_index_join(const fct_piece_index *index, const char *left, const char *right) {
    return index->slots[find_slot(index, left, strlen(left), right, strlen(right))];
}

bool fct_piece_index_split(const fct_piece_index *index, const char *merge, int ids[2]) {
    const char *space = strchr(merge, ' ');
    if (!space) return false;
    ids[0] = fct_piece_index_find(index, merge, (size_t)(space - merge));
    ids[1] = fct_piece_index_find(index, space + 1, strlen(space + 1));
    return ids[0] >= 0 && ids[1] >= 0;
}
