/* kv_cache.h - keys and values of past tokens: append, slide, rewind. */
#ifndef FCT_TRANSFORMER_KV_CACHE_H
#define FCT_TRANSFORMER_KV_CACHE_H

#include "kernels/kernels.h"
#include "pack/config.h"

/* One own-KV layer. Position p lies in slot p % capacity: sliding layers keep a ring, full layers
 * everything. capacity is a multiple of FCT_KV_CHUNK, so a chunk of positions is contiguous. */
struct fct_kv_layer {
    int capacity; /* positions */
    int n_kv_heads, head_dim;
    uint8_t *keys, *values; /* [n_kv_heads][capacity * head_dim * bytes] in blocks.h's layout */
    float *key_scales, *value_scales; /* [n_kv_heads][capacity]; FCT_KV_TYPE_Q8 only */
    float static_key, static_value;   /* every position's scale; 0: each has its own */
};

struct fct_kv_cache {
    enum fct_kv_type type;
    int context;    /* positions that full layers have room for */
    int window;     /* of the sliding layers */
    int ring;       /* capacity of the sliding layers; 0 without any */
    int n_tokens;   /* positions 0 .. n_tokens - 1 are held */
    int high_water; /* one past the highest position written since the last rewind to 0 */
    size_t n_bytes;
    uint8_t *memory;
    struct fct_kv_layer layers[FCT_MAX_LAYERS]; /* own-KV ones are filled in */
};

/* Room for context positions, appended in batches of at most batch. Memory is taken as positions
 * are written. */
fct_status fct_kv_cache_init(struct fct_kv_cache *cache, const struct fct_config *config,
                             enum fct_kv_type type, int context, int batch, fct_error *err);
void fct_kv_cache_free(struct fct_kv_cache *cache);

/* How many of the first `wanted` positions can be kept: all of them if every sliding window that
 * the next token looks through is still in its ring, else none. */
int fct_kv_cache_keepable(const struct fct_kv_cache *cache, int wanted);
/* Drops positions from n_tokens on; n_tokens must be keepable. */
void fct_kv_cache_rewind(struct fct_kv_cache *cache, int n_tokens);
/* Says that the n positions behind n_tokens have been written. */
void fct_kv_cache_advance(struct fct_kv_cache *cache, int n);

/* Writes key and value (head_dim floats each) of one KV head at a position. */
void fct_kv_layer_store(struct fct_kv_layer *layer, enum fct_kv_type type,
                        const struct fct_kernels *kernels, int kv_head, int position,
                        const float *key, const float *value);
/* Fills in where the chunk that begins at position (a multiple of FCT_KV_CHUNK) lies. */
void fct_kv_layer_chunk(const struct fct_kv_layer *layer, enum fct_kv_type type, int kv_head,
                        int position, struct fct_attend *job);

#endif
