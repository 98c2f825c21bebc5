/* kv_cache.c - keys and values of past tokens: append, slide, rewind. */
#include "transformer/kv_cache.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* A batch may overwrite nothing that its own first token still sees: window - 1 positions before
 * it, and itself. */
static int ring_capacity(const struct fct_config *config, int context, int batch) {
    int64_t needed = (int64_t)config->sliding_window + batch;
    if (needed > context) needed = context;
    return (int)fct_round_up((size_t)needed, FCT_KV_CHUNK);
}

/* Lays the layers out one behind the other; with memory NULL it only counts. */
static uint64_t lay_out(struct fct_kv_layer *layers, const struct fct_config *config,
                        enum fct_kv_type type, int context, int batch, uint8_t *memory) {
    uint64_t at = 0;
    for (int i = 0; i < config->first_shared_layer; i++) {
        const struct fct_layer_config *shape = &config->layers[i];
        int capacity = shape->full ? (int)fct_round_up((size_t)context, FCT_KV_CHUNK)
                                   : ring_capacity(config, context, batch);
        uint64_t rows = (uint64_t)capacity * (uint64_t)shape->n_kv_heads;
        uint64_t bytes = rows * (uint64_t)shape->head_dim * fct_kv_type_bytes(type);
        uint64_t scale_bytes = type == FCT_KV_TYPE_Q8 ? rows * sizeof(float) : 0;
        if (memory) {
            layers[i] = (struct fct_kv_layer){.capacity = capacity,
                                              .n_kv_heads = shape->n_kv_heads,
                                              .head_dim = shape->head_dim,
                                              .keys = memory + at,
                                              .values = memory + at + bytes};
            if (scale_bytes) {
                layers[i].key_scales = (float *)(void *)(memory + at + 2 * bytes);
                layers[i].value_scales = (float *)(void *)(memory + at + 2 * bytes + scale_bytes);
            }
        }
        at += 2 * bytes + 2 * scale_bytes;
    }
    return at;
}

fct_status fct_kv_cache_init(struct fct_kv_cache *cache, const struct fct_config *config,
                             enum fct_kv_type type, int context, int batch, fct_error *err) {
    memset(cache, 0, sizeof *cache);
    cache->type = type;
    cache->context = context;
    cache->window = config->sliding_window;
    for (int i = 0; i < config->first_shared_layer; i++)
        if (!config->layers[i].full) cache->ring = ring_capacity(config, context, batch);
    uint64_t n_bytes = lay_out(NULL, config, type, context, batch, NULL);
    if (n_bytes > SIZE_MAX / 2)
        return fct_fail(err, FCT_ERR_MEMORY, "a context of %d positions is too large", context);
    cache->memory = fct_pages_new((size_t)n_bytes, err);
    if (!cache->memory) return FCT_ERR_MEMORY;
    cache->n_bytes = (size_t)n_bytes;
    lay_out(cache->layers, config, type, context, batch, cache->memory);
    return FCT_OK;
}

void fct_kv_cache_free(struct fct_kv_cache *cache) {
    if (cache->memory) fct_pages_free(cache->memory, cache->n_bytes);
    cache->memory = NULL;
}

int fct_kv_cache_keepable(const struct fct_kv_cache *cache, int wanted) {
    if (wanted > cache->n_tokens) wanted = cache->n_tokens;
    if (!cache->ring || cache->high_water <= cache->ring) return wanted;
    /* The rings hold positions from high_water - ring on; the next token, at `wanted`, sees window
     * - 1 before itself. */
    return wanted - cache->window + 1 >= cache->high_water - cache->ring ? wanted : 0;
}

void fct_kv_cache_rewind(struct fct_kv_cache *cache, int n_tokens) {
    cache->n_tokens = n_tokens;
    if (n_tokens == 0) cache->high_water = 0;
}

void fct_kv_cache_advance(struct fct_kv_cache *cache, int n) {
    cache->n_tokens += n;
    if (cache->n_tokens > cache->high_water) cache->high_water = cache->n_tokens;
}

static size_t head_bytes(const struct fct_kv_layer *layer, enum fct_kv_type type) {
    return (size_t)layer->capacity * (size_t)layer->head_dim * fct_kv_type_bytes(type);
}

void fct_kv_layer_store(struct fct_kv_layer *layer, enum fct_kv_type type,
                        const struct fct_kernels *kernels, int kv_head, int position,
                        const float *key, const float *value) {
    int slot = position % layer->capacity;
    size_t block_bytes = (size_t)FCT_KV_BLOCK * (size_t)layer->head_dim * fct_kv_type_bytes(type);
    size_t at =
        (size_t)kv_head * head_bytes(layer, type) + (size_t)(slot / FCT_KV_BLOCK) * block_bytes;
    size_t scale_at = (size_t)kv_head * (size_t)layer->capacity + (size_t)slot;
    float none[2];
    float *key_scale = layer->key_scales ? layer->key_scales + scale_at : &none[0];
    float *value_scale = layer->value_scales ? layer->value_scales + scale_at : &none[1];
    *key_scale = layer->static_key; /* 0: the position's own, found from its numbers */
    *value_scale = layer->static_value;
    kernels->store_key(type, key, layer->head_dim, layer->keys + at, slot % FCT_KV_BLOCK,
                       key_scale);
    kernels->store_value(type, value, layer->head_dim, layer->values + at, slot % FCT_KV_BLOCK,
                         value_scale);
}

void fct_kv_layer_chunk(const struct fct_kv_layer *layer, enum fct_kv_type type, int kv_head,
                        int position, struct fct_attend *job) {
    size_t slot = (size_t)(position % layer->capacity);
    size_t at = (size_t)kv_head * head_bytes(layer, type) +
                slot * (size_t)layer->head_dim * fct_kv_type_bytes(type);
    size_t scale_at = (size_t)kv_head * (size_t)layer->capacity + slot;
    job->type = type;
    job->head_dim = layer->head_dim;
    job->keys = layer->keys + at;
    job->values = layer->values + at;
    job->key_scales = layer->key_scales ? layer->key_scales + scale_at : NULL;
    job->value_scales = layer->value_scales ? layer->value_scales + scale_at : NULL;
}
