/* scratch.h - what a pass computes in: allocated once a session, reused by every pass. */
#ifndef FCT_TRANSFORMER_SCRATCH_H
#define FCT_TRANSFORMER_SCRATCH_H

#include "kernels/blocks.h"
#include "pack/config.h"
#include "transformer/weights.h"

enum {
    FCT_LOGITS_AT_ONCE = 16, /* rows of logits that one pass can leave */
    FCT_FEW_TOKENS = 4,      /* up to here a token's attention is split among threads by chunks */
    FCT_TOKEN_BLOCK = 16     /* tokens that walk through the keys together */
};

/* What matrices are multiplied with: rows of floats, and the same as int8, perhaps in several
 * forms. */
struct fct_input {
    float *values; /* [tokens][stride] */
    int stride;
    /* as many as its readers may want; [0] is always there. Their group is the reader's. */
    struct fct_act act[FCT_MAX_FORMS];
};

/* One thread's own room in attention. */
struct fct_attention_room {
    float *max, *sum, *out;       /* the chunk at hand: [heads], [heads], [heads][head_dim] */
    float *total_max, *total_sum; /* [FCT_TOKEN_BLOCK][heads] */
};

struct fct_scratch {
    int batch, n_threads;             /* tokens and threads there is room for */
    int max_chunks;                   /* of a whole context */
    struct fct_input hidden;          /* the residual stream [batch][hidden] */
    struct fct_input normed;          /* [batch][hidden] */
    struct fct_input attended;        /* [batch][heads * head_dim] */
    struct fct_input gated;           /* [batch][intermediate] */
    struct fct_input per_layer_gated; /* [batch][P] */
    float *queries;                   /* [batch][heads * head_dim] */
    float *keys, *values;             /* [batch][KV heads * head_dim] */
    float *up;                        /* [batch][intermediate] */
    float *branch;    /* what a block adds to the stream, before its norm: [batch][hidden] */
    float *per_layer; /* per-layer inputs [batch][n_layers * P] */
    float *cosines[2], *sines[2];  /* sliding, full: [batch][head_dim / 2] */
    float *inverse_frequencies[2]; /* [n_pairs] */
    int n_pairs[2], half[2];       /* pairs that rotate; head_dim / 2 */
    float *partial_max, *partial_sum,
        *partial_out; /* [FCT_FEW_TOKENS][heads][chunks], the last [head_dim] wide */
    struct fct_attention_room *rooms; /* [n_threads] */
    float *thread_rows; /* [n_threads][thread_row]: a thread's own, for a token's longest row */
    size_t thread_row;
    float *logits; /* [FCT_LOGITS_AT_ONCE][vocab in whole strips] */
    int logits_stride;
    struct fct_best {
        float value;
        int id;
        bool bad;
        char pad[52];
    } * best; /* [n_threads][FCT_LOGITS_AT_ONCE] argmax of a thread's rows; bad: NaN seen */
    uint8_t *memory;
    size_t n_bytes;
};

static inline float *fct_scratch_row(const struct fct_scratch *scratch, int thread) {
    return scratch->thread_rows + (size_t)thread * scratch->thread_row;
}

fct_status fct_scratch_init(struct fct_scratch *scratch, const struct fct_config *config, int batch,
                            int n_threads, int context, fct_error *err);
void fct_scratch_free(struct fct_scratch *scratch);

#endif
