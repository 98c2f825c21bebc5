/* kv_block.h - single blocks of the KV cache, to be kept elsewhere and put back, perhaps into a
 * ring of another size. */
#ifndef FCT_TRANSFORMER_KV_BLOCK_H
#define FCT_TRANSFORMER_KV_BLOCK_H

#include "transformer/kv_cache.h"

/* What one layer keeps of its positions; the scales only with FCT_KV_TYPE_Q8. */
enum fct_kv_part {
    FCT_KV_KEYS,
    FCT_KV_VALUES,
    FCT_KV_KEY_SCALES,
    FCT_KV_VALUE_SCALES,
    FCT_KV_PARTS
};
static inline int fct_kv_n_parts(enum fct_kv_type type) {
    return type == FCT_KV_TYPE_Q8 ? FCT_KV_PARTS : FCT_KV_KEY_SCALES;
}

/* One part of one KV head of FCT_KV_BLOCK positions, as kernels/blocks.h lays it out. */
size_t fct_kv_block_bytes(const struct fct_kv_layer *layer, enum fct_kv_type type,
                          enum fct_kv_part part);

/* Block b stands for positions b * FCT_KV_BLOCK and up, wherever the layer's ring has them. Only
 * those in [first, end) are copied; the rest of the target stays as it is. */
void fct_kv_block_read(const struct fct_kv_layer *layer, enum fct_kv_type type,
                       enum fct_kv_part part, int kv_head, int block, int first, int end,
                       uint8_t *to);
void fct_kv_block_write(struct fct_kv_layer *layer, enum fct_kv_type type, enum fct_kv_part part,
                        int kv_head, int block, int first, int end, const uint8_t *from);

/* The first position that every sliding ring still has; 0 without any. */
int fct_kv_cache_first(const struct fct_kv_cache *cache);
/* Says that positions [first, n_tokens) have been put into the rings and [0, n_tokens) into the
 * full layers, in place of all that was there. The next token's window must lie in them. */
void fct_kv_cache_refilled(struct fct_kv_cache *cache, int first, int n_tokens);

#endif
