/* piece_index.h - from the text of a piece to its id, while a vocabulary is being converted. */
#ifndef FCT_TEXT_PIECE_INDEX_H
#define FCT_TEXT_PIECE_INDEX_H

#include "facet.h"

/* pieces: [n_pieces] NUL-terminated, NULL for a slot without one; they must outlive the index. Two
 * pieces alike are FCT_ERR_FORMAT, naming both ids. */
typedef struct fct_piece_index fct_piece_index;
fct_piece_index *fct_piece_index_new(const char *const *pieces, int n_pieces, fct_error *err);
void fct_piece_index_free(fct_piece_index *index);

/* Id of the piece, or -1. */
int fct_piece_index_find(const fct_piece_index *index, const char *text, size_t n_bytes);
/* Id of the piece that left and right make together, or -1. */
int fct_piece_index_join(const fct_piece_index *index, const char *left, const char *right);
/* Ids of the two pieces of a merge written "left right"; false if it is not that. */
bool fct_piece_index_split(const fct_piece_index *index, const char *merge, int ids[2]);

#endif
