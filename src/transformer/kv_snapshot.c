/* kv_snapshot.c - what the sliding rings held at some point, so that a conversation can be taken up
 * there again. */
#include "transformer/kv_snapshot.h"

#include <string.h>

/* Positions that a snapshot at n_tokens covers, in whole blocks. */
static void covered(const struct fct_kv_cache *cache, int n_tokens, int *first_block,
                    int *end_block) {
    int first = n_tokens - cache->window - FCT_KV_SLACK;
    *first_block = first > 0 ? first / FCT_KV_BLOCK : 0;
    *end_block = (n_tokens + FCT_KV_BLOCK - 1) / FCT_KV_BLOCK;
    /* Where the ring is smaller than that, a block would meet itself. */
    if (*end_block - *first_block > cache->ring / FCT_KV_BLOCK)
        *first_block = *end_block - cache->ring / FCT_KV_BLOCK;
}

static int blocks_at_most(const struct fct_kv_cache *cache) {
    int blocks = (cache->window + FCT_KV_SLACK) / FCT_KV_BLOCK + 2;
    return blocks < cache->ring / FCT_KV_BLOCK ? blocks : cache->ring / FCT_KV_BLOCK;
}

/* One KV head of one sliding layer: its blocks and scales, between cache and snapshot. */
struct copying {
    const struct fct_kv_cache *cache;
    int first_block, end_block;
    uint8_t *at; /* in the snapshot */
    bool restoring;
};

static void copy(struct copying *c, void *in_cache, size_t n_bytes) {
    if (c->restoring)
        memcpy(in_cache, c->at, n_bytes);
    else
        memcpy(c->at, in_cache, n_bytes);
    c->at += n_bytes;
}

static void copy_head(struct copying *c, const struct fct_kv_layer *layer, int head) {
    size_t block_bytes =
        (size_t)FCT_KV_BLOCK * (size_t)layer->head_dim * fct_kv_type_bytes(c->cache->type);
    size_t blocks = (size_t)(layer->capacity / FCT_KV_BLOCK);
    for (int block = c->first_block; block < c->end_block; block++) {
        size_t slot = (size_t)head * blocks + (size_t)block % blocks;
        copy(c, layer->keys + slot * block_bytes, block_bytes);
        copy(c, layer->values + slot * block_bytes, block_bytes);
        if (!layer->key_scales) continue;
        copy(c, layer->key_scales + slot * FCT_KV_BLOCK, FCT_KV_BLOCK * sizeof(float));
        copy(c, layer->value_scales + slot * FCT_KV_BLOCK, FCT_KV_BLOCK * sizeof(float));
    }
}

static void copy_all(const struct fct_kv_snapshot *snapshot, const struct fct_kv_cache *cache,
                     const struct fct_config *config, bool restoring) {
    struct copying c = {.cache = cache, .at = snapshot->memory, .restoring = restoring};
    covered(cache, snapshot->n_tokens, &c.first_block, &c.end_block);
    for (int i = 0; i < config->first_shared_layer; i++)
        for (int head = 0; !config->layers[i].full && head < cache->layers[i].n_kv_heads; head++)
            copy_head(&c, &cache->layers[i], head);
}

size_t fct_kv_snapshot_bytes(const struct fct_kv_cache *cache, const struct fct_config *config) {
    size_t n_bytes = 0;
    for (int i = 0; i < config->first_shared_layer; i++) {
        const struct fct_kv_layer *layer = &cache->layers[i];
        if (config->layers[i].full) continue;
        size_t position_bytes =
            (size_t)layer->head_dim * fct_kv_type_bytes(cache->type) + sizeof(float);
        n_bytes += 2 * (size_t)layer->n_kv_heads * (size_t)blocks_at_most(cache) * FCT_KV_BLOCK *
                   position_bytes;
    }
    return n_bytes;
}

void fct_kv_snapshot_take(struct fct_kv_snapshot *snapshot, const struct fct_kv_cache *cache,
                          const struct fct_config *config) {
    int first_block, end_block, held_from = cache->high_water - cache->ring;
    covered(cache, cache->n_tokens, &first_block, &end_block);
    snapshot->n_tokens = cache->n_tokens;
    snapshot->first =
        first_block * FCT_KV_BLOCK > held_from ? first_block * FCT_KV_BLOCK : held_from;
    copy_all(snapshot, cache, config, false);
}

int fct_kv_snapshot_serves(const struct fct_kv_snapshot *snapshot, const struct fct_kv_cache *cache,
                           int same) {
    int n = same < snapshot->n_tokens ? same : snapshot->n_tokens;
    return snapshot->first == 0 || n - cache->window + 1 >= snapshot->first ? n : 0;
}

void fct_kv_snapshot_restore(const struct fct_kv_snapshot *snapshot, int n_tokens,
                             struct fct_kv_cache *cache, const struct fct_config *config) {
    copy_all(snapshot, cache, config, true);
    cache->n_tokens = n_tokens;
    /* The rings now hold what the snapshot does and nothing before it: as if they had been written
     * that far. */
    cache->high_water = snapshot->first ? snapshot->first + cache->ring : n_tokens;
}
