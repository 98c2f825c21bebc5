/* kv_block.c - single blocks of the KV cache, to be kept elsewhere and put back, perhaps into a
 * ring of another size. */
#include "transformer/kv_block.h"

#include <assert.h>
#include <string.h>

/* A block is n_rows rows of FCT_KV_BLOCK units, one unit a position: an element of a key, 16 lanes
 * of a value, or a scale. */
struct shape {
    size_t n_rows, unit_bytes;
};

static struct shape shape_of(const struct fct_kv_layer *layer, enum fct_kv_type type,
                             enum fct_kv_part part) {
    size_t dim = (size_t)layer->head_dim, bytes = fct_kv_type_bytes(type);
    switch (part) {
    case FCT_KV_KEYS:
        return (struct shape){dim, bytes};
    case FCT_KV_VALUES:
        return (struct shape){dim / 16, 16 * bytes};
    default:
        return (struct shape){1, sizeof(float)};
    }
}

static uint8_t *base_of(const struct fct_kv_layer *layer, enum fct_kv_part part) {
    switch (part) {
    case FCT_KV_KEYS:
        return layer->keys;
    case FCT_KV_VALUES:
        return layer->values;
    case FCT_KV_KEY_SCALES:
        return (uint8_t *)layer->key_scales;
    default:
        return (uint8_t *)layer->value_scales;
    }
}

size_t fct_kv_block_bytes(const struct fct_kv_layer *layer, enum fct_kv_type type,
                          enum fct_kv_part part) {
    struct shape shape = shape_of(layer, type, part);
    return shape.n_rows * FCT_KV_BLOCK * shape.unit_bytes;
}

static uint8_t *place_of(const struct fct_kv_layer *layer, enum fct_kv_type type,
                         enum fct_kv_part part, int kv_head, int block) {
    size_t n_blocks = (size_t)(layer->capacity / FCT_KV_BLOCK);
    size_t at = (size_t)kv_head * n_blocks + (size_t)block % n_blocks;
    return base_of(layer, part) + at * fct_kv_block_bytes(layer, type, part);
}

/* The positions of the block that lie in [first, end). */
static void copy_units(struct shape shape, int block, int first, int end, uint8_t *to,
                       const uint8_t *from) {
    int begin = first - block * FCT_KV_BLOCK, stop = end - block * FCT_KV_BLOCK;
    if (begin < 0) begin = 0;
    if (stop > FCT_KV_BLOCK) stop = FCT_KV_BLOCK;
    if (begin >= stop) return;
    size_t row_bytes = FCT_KV_BLOCK * shape.unit_bytes;
    if (begin == 0 && stop == FCT_KV_BLOCK) {
        memcpy(to, from, shape.n_rows * row_bytes);
        return;
    }
    size_t skipped = (size_t)begin * shape.unit_bytes;
    for (size_t row = 0; row < shape.n_rows; row++)
        memcpy(to + row * row_bytes + skipped, from + row * row_bytes + skipped,
               (size_t)(stop - begin) * shape.unit_bytes);
}

void fct_kv_block_read(const struct fct_kv_layer *layer, enum fct_kv_type type,
                       enum fct_kv_part part, int kv_head, int block, int first, int end,
                       uint8_t *to) {
    copy_units(shape_of(layer, type, part), block, first, end, to,
               place_of(layer, type, part, kv_head, block));
}

void fct_kv_block_write(struct fct_kv_layer *layer, enum fct_kv_type type, enum fct_kv_part part,
                        int kv_head, int block, int first, int end, const uint8_t *from) {
    copy_units(shape_of(layer, type, part), block, first, end,
               place_of(layer, type, part, kv_head, block), from);
}

int fct_kv_cache_first(const struct fct_kv_cache *cache) {
    int first = cache->ring ? cache->high_water - cache->ring : 0;
    return first > 0 ? first : 0;
}

void fct_kv_cache_refilled(struct fct_kv_cache *cache, int first, int n_tokens) {
    cache->n_tokens = n_tokens;
    /* As if the rings had been written just so far that `first` is the oldest they have. */
    cache->high_water = cache->ring && first > 0 ? first + cache->ring : n_tokens;
    assert(fct_kv_cache_keepable(cache, n_tokens) == n_tokens);
}
