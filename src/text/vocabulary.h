/* vocabulary.h - the pieces and merges of a byte-fallback BPE tokenizer, as one block of bytes that
 * is used as it lies. */
#ifndef FCT_TEXT_VOCABULARY_H
#define FCT_TEXT_VOCABULARY_H

#include "facet.h"

/* Opened over the packed file's "tokenizer" tensor; nothing is built at load: everything is looked
 * up in sorted tables of the block, whose layout is described in vocabulary_layout.h. The block
 * must outlive the vocabulary. Sizes are checked at the door; what the tables say is checked where
 * it is used, so a damaged block gives wrong ids but no wrong reads. */
typedef struct fct_vocabulary fct_vocabulary;
fct_vocabulary *fct_vocabulary_open(const uint8_t *block, size_t n_bytes, fct_error *err);
void fct_vocabulary_free(fct_vocabulary *vocabulary);

/* Ids run from 0 to size - 1; some may have no piece. The size may exceed the model's vocab_size
 * (Gemma 3 has a media token more than rows of its text models). */
int fct_vocabulary_size(const fct_vocabulary *vocabulary);
/* One more than the highest id that is no control token: what a network must have rows for. */
int fct_vocabulary_text_size(const fct_vocabulary *vocabulary);
/* UTF-8 with U+2581 for space, not NUL-terminated; NULL if there is no such piece. */
const char *fct_vocabulary_piece(const fct_vocabulary *vocabulary, int id, size_t *n_bytes);
bool fct_vocabulary_is_control(const fct_vocabulary *vocabulary, int id);
int fct_vocabulary_byte(const fct_vocabulary *vocabulary,
                        int id); /* 0..255 for a byte piece, else -1 */
int fct_vocabulary_byte_id(const fct_vocabulary *vocabulary,
                           uint8_t byte); /* or -1 in a damaged block */
int fct_vocabulary_character(const fct_vocabulary *vocabulary,
                             uint32_t c); /* id of the piece that is this one character, or -1 */
/* The piece that left and right merge into, and the rank of that merge (lower goes first); -1 if
 * they do not merge. */
int fct_vocabulary_merge(const fct_vocabulary *vocabulary, int left, int right, uint32_t *rank);
/* No merge joins c ('\n' or '\t') with another character: a text may be cut at the borders of its
 * runs. */
bool fct_vocabulary_stands_alone(const fct_vocabulary *vocabulary, char c);

/* Names are the pieces that are cut out of a text as a whole: control tokens where they are wanted,
 * and a few ordinary pieces that are always matched (Gemma 3 has some, Gemma 4 none). */

/* Id of the control token called name ("<|turn>"), or -1. */
int fct_vocabulary_control(const fct_vocabulary *vocabulary, const char *name);
/* Longest name that text begins with: its id and length, or -1. control: control tokens count too.
 */
int fct_vocabulary_match(const fct_vocabulary *vocabulary, const char *text, size_t n_bytes,
                         bool control, size_t *length);
/* Id of the n-th name, sorted by its bytes, or -1 when there are no more. */
int fct_vocabulary_name(const fct_vocabulary *vocabulary, size_t n);

/* ---- for converters ---- */

/* From the text of a piece to its id. pieces: [n_pieces] NUL-terminated, NULL for a slot without
 * one; they must outlive the index. Two pieces alike are FCT_ERR_FORMAT, naming both ids. */
typedef struct fct_piece_index fct_piece_index;
fct_piece_index *fct_piece_index_new(const char *const *pieces, int n_pieces, fct_error *err);
void fct_piece_index_free(fct_piece_index *index);
/* Id of the piece, or -1. */
int fct_piece_index_find(const fct_piece_index *index, const char *text, size_t n_bytes);
/* Id of the piece that left and right make together, or -1. */
int fct_piece_index_join(const fct_piece_index *index, const char *left, const char *right);
/* Ids of the two pieces of a merge written "left right"; false if it is not that. */
bool fct_piece_index_split(const fct_piece_index *index, const char *merge, int ids[2]);

/* What a converter gathers; ids are indices of pieces. */
struct fct_vocabulary_source {
    int n_pieces;
    const char *const
        *pieces; /* UTF-8, NUL-terminated, "<0x41>" for bytes; NULL: a slot without a piece */
    const bool *control; /* [n_pieces] */
    const bool *matched; /* [n_pieces] ordinary pieces that are always matched; NULL: none */
    size_t n_merges;
    const int (*merges)[2]; /* left, right id; in order of rank */
};
/* Builds the block; *block is the caller's (fct_free). Refuses empty or duplicate pieces, a missing
 * byte piece, duplicate merges, and merges whose result is no piece, a control token or a byte
 * piece: plain text never becomes one of those by merging. */
fct_status fct_vocabulary_build(const struct fct_vocabulary_source *source, uint8_t **block,
                                size_t *n_bytes, fct_error *err);

#endif
