/* gguf_merges.h - the merges that follow from the scores of a SentencePiece vocabulary. */
#ifndef FCT_CONVERT_GGUF_MERGES_H
#define FCT_CONVERT_GGUF_MERGES_H

#include "facet.h"

struct fct_scored_pieces {
    int n_pieces;
    const char *const *pieces; /* UTF-8, NUL-terminated */
    const bool *mergeable;     /* may be made by merging, and merged on */
    const float *scores;       /* the higher, the sooner */
};

/* Every way to make a mergeable piece of two others, in the order in which the reference's
 * converter from SentencePiece ranks them: by the piece's score, then the longer left and right
 * side first (in characters), then by the piece's and the sides' ids. *merges is the caller's
 * (fct_free). */
fct_status fct_merges_from_scores(const struct fct_scored_pieces *source, int (**merges)[2],
                                  size_t *n_merges, fct_error *err);

#endif
