/* forward.h - one pass of tokens through the network. */
#ifndef FCT_TRANSFORMER_FORWARD_H
#define FCT_TRANSFORMER_FORWARD_H

#include "base/threads.h"
#include "transformer/kv_cache.h"
#include "transformer/scratch.h"
#include "transformer/statistics.h"
#include "transformer/weights.h"

enum fct_wanted {
    FCT_WANT_CACHE, /* only keys and values: nothing passes the layers above the last cache-writing
                       one */
    FCT_WANT_LAST,  /* logits of the last token: only it passes those layers */
    FCT_WANT_ALL    /* every token passes the whole stack; fct_forward_logits gives their logits */
};

/* Tokens ids[0 .. n_tokens) at positions cache->n_tokens and up. */
struct fct_pass {
    const struct fct_config *config;
    const struct fct_weights *weights;
    const struct fct_kernels *kernels;
    struct fct_kv_cache *cache;
    struct fct_scratch *scratch;
    bool float_activations; /* else int8, wherever the weights are quantized */
    const int *ids;         /* each below vocab_size */
    int n_tokens;           /* 1 .. scratch->batch */
    enum fct_wanted wanted;
    struct fct_statistics *statistics; /* of what is multiplied; NULL: nobody wants any */
};

/* Tokens [begin, end) of a pass. */
struct fct_span {
    int begin, end;
};

/* Runs the pass on n_threads of the pool and advances the cache. FCT_WANT_LAST leaves
 * scratch->logits[0 .. vocab). A NaN in them is FCT_ERR_NUMERIC. */
fct_status fct_forward(const struct fct_pass *pass, fct_pool *pool, int n_threads, fct_error *err);
/* After FCT_WANT_ALL: leaves the logits of tokens [begin, end), at most FCT_LOGITS_AT_ONCE, in
 * scratch->logits[i * logits_stride]. */
fct_status fct_forward_logits(const struct fct_pass *pass, int begin, int end, fct_pool *pool,
                              int n_threads, fct_error *err);
/* Index of the largest logit of row i (the first of equals). */
int fct_forward_best(const struct fct_pass *pass, int row, int n_threads);

#endif
