/* vocabulary.h - the pieces and merges of a byte-fallback BPE tokenizer, as one block of bytes that is used as it lies. */
#ifndef FCT_TEXT_VOCABULARY_H
#define FCT_TEXT_VOCABULARY_H

#include "facet.h"

/* Opened over the packed file's "tokenizer" tensor; nothing is built at load: the tables of merges and of characters are
 * hash tables in the block. The block must outlive the vocabulary. The layout is vocabulary.c's, described in docs/FORMAT.md. */
typedef struct fct_vocabulary fct_vocabulary;
fct_vocabulary *fct_vocabulary_open(const uint8_t *block, size_t n_bytes, fct_error *err); /* checked; ids found in tables are checked at use */
void fct_vocabulary_free(fct_vocabulary *vocabulary);

int fct_vocabulary_size(const fct_vocabulary *vocabulary);
const char *fct_vocabulary_piece(const fct_vocabulary *vocabulary, int id, size_t *n_bytes); /* UTF-8, U+2581 for space; NULL if id is out of range */
bool fct_vocabulary_is_control(const fct_vocabulary *vocabulary, int id);
int fct_vocabulary_byte(const fct_vocabulary *vocabulary, int id);        /* 0..255 for a byte piece, else -1 */
int fct_vocabulary_byte_id(const fct_vocabulary *vocabulary, uint8_t b);  /* or -1 */
int fct_vocabulary_character(const fct_vocabulary *vocabulary, uint32_t c); /* id of the piece that is this one character, or -1 */
/* The piece that left and right merge into, and the rank of that merge (lower goes first); -1 if they do not merge. */
int fct_vocabulary_merge(const fct_vocabulary *vocabulary, int left, int right, uint32_t *rank);
/* Id of the control token called name ("<|turn>"), or -1. */
int fct_vocabulary_control(const fct_vocabulary *vocabulary, const char *name);
/* Longest control name that text begins with: its id and length, or -1. */
int fct_vocabulary_match_control(const fct_vocabulary *vocabulary, const char *text, size_t n_bytes, size_t *length);

/* What a converter gathers; ids are indices of pieces. */
struct fct_vocabulary_source {
    int n_pieces;
    const char *const *pieces; /* UTF-8, NUL-terminated; NULL: a slot without a piece */
    const bool *control;       /* [n_pieces] */
    size_t n_merges;
    const int (*merges)[2]; /* left, right id; in order of rank */
};
/* Builds the block; *block is the caller's (fct_free). Refuses duplicate pieces and merges whose result is no piece. */
fct_status fct_vocabulary_build(const struct fct_vocabulary_source *source, uint8_t **block, size_t *n_bytes, fct_error *err);

#endif
