/* vocabulary_layout.h - the tokenizer block of a packed file, shared by its reader and its builder.
 *
 * Numbers are little-endian. Sections follow each other in this order, each at the next multiple of
 * 64 bytes, zeros between; the block ends at a multiple of 64. An id is the number of a piece.
 *
 *   header      64 bytes: "FCTVOCAB", then u32 version (1), flags, n_pieces, n_merges,
 *               n_characters, n_names, n_text; the rest zeros
 *   starts      u8[256], by the first byte of a name: bit 1 if a control token begins with it,
 *               bit 2 if an always matched piece does
 *   bytes       u32[256]: id of the piece of each byte
 *   kinds       u8[n_pieces]: bit 1 control token, 2 always matched in text, 4 byte piece "<0xHH>"
 *   pieces      u32[n_pieces + 1]: where each piece begins in text; it ends where the next begins;
 *               one without bytes is a slot without a piece
 *   characters  {u32 character, u32 id}[n_characters]: pieces of one character, sorted by it
 *   names       u32[n_names]: ids of control and always matched pieces, sorted by their bytes
 *   lefts       u32[n_pieces + 1]: number of the first merge whose left side is this piece
 *   merges      {u32 right, u32 rank, u32 id}[n_merges]: what the left piece and `right` make;
 *               those of one left piece sorted by `right`
 *   text        u8[n_text]: UTF-8 of all pieces, space written as U+2581
 *
 * flags: 1 no merge joins a newline with another character, 2 the same for the tab. */
#ifndef FCT_TEXT_VOCABULARY_LAYOUT_H
#define FCT_TEXT_VOCABULARY_LAYOUT_H

#include <stdint.h>

#define FCT_VOCABULARY_MAGIC "FCTVOCAB"
#define FCT_VOCABULARY_VERSION 1u

enum { FCT_VOCABULARY_NEWLINE_ALONE = 1, FCT_VOCABULARY_TAB_ALONE = 2 };
enum { FCT_PIECE_CONTROL = 1, FCT_PIECE_MATCHED = 2, FCT_PIECE_BYTE = 4 };

struct fct_vocabulary_counts {
    uint32_t flags, n_pieces, n_merges, n_characters, n_names, n_text;
};

/* Where the sections begin, and where the block ends. */
struct fct_vocabulary_places {
    uint64_t starts, bytes, kinds, pieces, characters, names, lefts, merges, text, end;
};

static inline uint64_t fct_vocabulary_place(uint64_t *at, uint64_t n, uint64_t bytes_each) {
    uint64_t begin = *at;
    *at = (begin + n * bytes_each + 63) / 64 * 64; /* counts are u32: no overflow */
    return begin;
}
static inline struct fct_vocabulary_places
fct_vocabulary_places(const struct fct_vocabulary_counts *counts) {
    struct fct_vocabulary_places p;
    uint64_t at = 64, n = counts->n_pieces;
    p.starts = fct_vocabulary_place(&at, 256, 1);
    p.bytes = fct_vocabulary_place(&at, 256, 4);
    p.kinds = fct_vocabulary_place(&at, n, 1);
    p.pieces = fct_vocabulary_place(&at, n + 1, 4);
    p.characters = fct_vocabulary_place(&at, counts->n_characters, 8);
    p.names = fct_vocabulary_place(&at, counts->n_names, 4);
    p.lefts = fct_vocabulary_place(&at, n + 1, 4);
    p.merges = fct_vocabulary_place(&at, counts->n_merges, 12);
    p.text = fct_vocabulary_place(&at, counts->n_text, 1);
    p.end = at;
    return p;
}

#endif
