/* chunks.h - a text cut into pieces that are read each from a cold cache. */
#ifndef FCT_ENGINE_CHUNKS_H
#define FCT_ENGINE_CHUNKS_H

#include "facet.h"

/* Of each chunk, the logits at positions first .. chunk - 2 count, which foresee the tokens behind
 * them. */
struct fct_chunks {
    int chunk, n_chunks, first;
    int *ids;       /* [n_chunks * chunk] and what is left out */
    int n_left_out; /* at the end, too few for a chunk */
};
enum { FCT_DEFAULT_CHUNK = 512 };
static inline int fct_chunk_rows(const struct fct_chunks *chunks) {
    return chunks->chunk - 1 - chunks->first;
}

/* Puts BOS in front of the text, cuts it into chunks of `chunk` tokens (at most max_chunks; 0: any
 * number) and puts BOS over the first token of each. bos -1: the model has none. A text shorter
 * than a chunk is one. */
fct_status fct_chunks_cut(struct fct_chunks *chunks, const int *ids, int n_ids, int bos, int chunk,
                          int max_chunks, fct_error *err);
/* FCT_ERR_CONTEXT if they are longer than that. */
fct_status fct_chunks_fit(const struct fct_chunks *chunks, int context, fct_error *err);
void fct_chunks_free(struct fct_chunks *chunks); /* zeroed is fine */

#endif
