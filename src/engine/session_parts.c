/* session_parts.c - the tensors of a session on disk: which there are, and their shapes. */
#include "engine/session_parts.h"

#include <stdio.h>

static const char *const names[FCT_KV_PARTS] = {"keys", "values", "key_scales", "value_scales"};
static const enum fct_dtype dtypes[] = {FCT_DTYPE_F32, FCT_DTYPE_F16, FCT_DTYPE_I8};

bool fct_session_next_part(struct fct_session_walk *walk, struct fct_session_part *part) {
    const fct_session *s = walk->session;
    if (walk->next_part == fct_kv_n_parts(s->cache.type)) {
        walk->next_part = 0;
        walk->next_layer++;
    }
    if (walk->next_layer >= s->model->config.first_shared_layer) return false;
    const struct fct_kv_layer *layer = &s->cache.layers[walk->next_layer];
    bool full = s->model->config.layers[walk->next_layer].full;
    *part = (struct fct_session_part){.layer = walk->next_layer,
                                      .part = (enum fct_kv_part)walk->next_part++,
                                      .first = full ? 0 : walk->extent.first,
                                      .end = walk->extent.end};
    snprintf(part->name, sizeof part->name, "layers.%d.%s", part->layer, names[part->part]);
    part->dims[0] = (uint64_t)layer->n_kv_heads;
    part->dims[1] =
        (uint64_t)((part->end + FCT_KV_BLOCK - 1) / FCT_KV_BLOCK - part->first / FCT_KV_BLOCK);
    part->dtype = dtypes[s->cache.type];
    switch (part->part) {
    case FCT_KV_KEYS:
        part->dims[2] = (uint64_t)layer->head_dim;
        part->dims[3] = FCT_KV_BLOCK;
        part->n_dims = 4;
        break;
    case FCT_KV_VALUES:
        part->dims[2] = (uint64_t)layer->head_dim / 16;
        part->dims[3] = FCT_KV_BLOCK;
        part->dims[4] = 16;
        part->n_dims = 5;
        break;
    default:
        part->dtype = FCT_DTYPE_F32;
        part->dims[2] = FCT_KV_BLOCK;
        part->n_dims = 3;
    }
    return true;
}
