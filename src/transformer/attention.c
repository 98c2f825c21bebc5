/* attention.c - queries, keys and values of a layer: projected, normed, rotated, cached; and back
 * into the stream. */
#include <math.h>

#include "transformer/blocks_of_layer.h"

void fct_rope_tables(const struct fct_pass *p, struct fct_team team, struct fct_span span) {
    struct fct_scratch *s = p->scratch;
    for (int kind = 0; kind < 2; kind++) {
        int n_pairs = s->n_pairs[kind], begin, end;
        fct_team_share(team, (span.end - span.begin) * n_pairs, 1, &begin, &end);
        for (int at = begin; at < end; at++) {
            int t = span.begin + at / n_pairs, i = at % n_pairs;
            float angle = (float)(p->cache->n_tokens + t) * s->inverse_frequencies[kind][i];
            s->cosines[kind][(size_t)t * (size_t)s->half[kind] + (size_t)i] = (float)cos(angle);
            s->sines[kind][(size_t)t * (size_t)s->half[kind] + (size_t)i] = (float)sin(angle);
        }
    }
}

static void rotate(const struct fct_pass *p, bool full, int t, float *x) {
    const struct fct_scratch *s = p->scratch;
    size_t at = (size_t)t * (size_t)s->half[full];
    p->kernels->rope(x, s->cosines[full] + at, s->sines[full] + at, s->n_pairs[full],
                     s->half[full]);
}

/* Norms and rotates key head `head` of token t, norms its value if the network does, and puts both
 * into the cache. */
static void cache_head(const struct fct_pass *p, int layer, int t, int head) {
    const struct fct_layer_config *shape = &p->config->layers[layer];
    const struct fct_layer_weights *w = &p->weights->layers[layer];
    struct fct_scratch *s = p->scratch;
    int d = shape->head_dim;
    size_t at = (size_t)t * (size_t)(shape->n_kv_heads * d) + (size_t)(head * d);
    float *key = s->keys + at, *value = s->values + at;
    float eps = p->config->rms_norm_eps;
    if (p->config->has_value_norm)
        p->kernels->rms_norm(shape->keys_as_values ? key : value, NULL, d, eps, value);
    p->kernels->rms_norm(key, w->k_norm, d, eps, key);
    rotate(p, shape->full, t, key);
    fct_kv_layer_store(&p->cache->layers[layer], p->cache->type, p->kernels, head,
                       p->cache->n_tokens + t, key, value);
}

static void finish_query(const struct fct_pass *p, int layer, int t, int head) {
    const struct fct_layer_config *shape = &p->config->layers[layer];
    int d = shape->head_dim;
    float *query =
        p->scratch->queries + ((size_t)t * (size_t)p->config->n_heads + (size_t)head) * (size_t)d;
    p->kernels->rms_norm(query, p->weights->layers[layer].q_norm, d, p->config->rms_norm_eps,
                         query);
    rotate(p, shape->full, t, query);
}

/* Heads are what is shared here: with one token every member still has some. */
static void finish_heads(const struct fct_pass *p, struct fct_team team, int layer,
                         struct fct_span readers, struct fct_span live) {
    const struct fct_layer_config *shape = &p->config->layers[layer];
    int n_kv = shape->own_kv ? shape->n_kv_heads : 0, n_heads = p->config->n_heads, begin, end;
    fct_team_share(team, (readers.end - readers.begin) * n_kv, 1, &begin, &end);
    for (int i = begin; i < end; i++) cache_head(p, layer, readers.begin + i / n_kv, i % n_kv);
    fct_team_share(team, (live.end - live.begin) * n_heads, 1, &begin, &end);
    for (int i = begin; i < end; i++) finish_query(p, layer, live.begin + i / n_heads, i % n_heads);
}

static void project(const struct fct_pass *p, struct fct_team team, int layer,
                    struct fct_span readers, struct fct_span live) {
    const struct fct_layer_config *shape = &p->config->layers[layer];
    const struct fct_layer_weights *w = &p->weights->layers[layer];
    struct fct_scratch *s = p->scratch;
    int kv = shape->n_kv_heads * shape->head_dim;
    fct_linear(p, team, &w->q, &s->normed, live, s->queries, p->config->n_heads * shape->head_dim,
               NULL);
    if (!shape->own_kv) return;
    fct_linear(p, team, &w->k, &s->normed, readers, s->keys, kv, NULL);
    if (!shape->keys_as_values)
        fct_linear(p, team, &w->v, &s->normed, readers, s->values, kv, NULL);
}

void fct_attention_block(const struct fct_pass *p, struct fct_team team, int layer,
                         struct fct_span readers, struct fct_span live) {
    const struct fct_layer_weights *w = &p->weights->layers[layer];
    const struct fct_kernels *k = p->kernels;
    struct fct_scratch *s = p->scratch;
    int hidden = p->config->hidden_size;
    float eps = p->config->rms_norm_eps;
    struct fct_span mine = fct_token_share(team, readers);
    for (int t = mine.begin; t < mine.end; t++) {
        const float *h = s->hidden.values + (size_t)t * (size_t)hidden;
        k->rms_norm(h, w->input_norm, hidden, eps, s->normed.values + (size_t)t * (size_t)hidden);
        fct_input_done(p, &s->normed, t, hidden,
                       (const struct fct_linear_layer *const[]){&w->q, &w->k, &w->v}, 3);
    }
    fct_team_wait(team);
    project(p, team, layer, readers, live);
    fct_team_wait(team);
    finish_heads(p, team, layer, readers, live);
    if (live.begin == live.end) return;
    fct_team_wait(team);
    fct_attend(p, team, layer, live);
    fct_team_wait(team);
    struct fct_input attended = fct_attended(p, layer);
    fct_linear(p, team, &w->o, &attended, live, s->branch, hidden, NULL);
    fct_team_wait(team);
    mine = fct_token_share(team, live);
    for (int t = mine.begin; t < mine.end; t++) {
        float *h = s->hidden.values + (size_t)t * (size_t)hidden;
        k->rms_norm_add(s->branch + (size_t)t * (size_t)hidden, w->post_attention_norm, h, hidden,
                        eps, h);
    }
}
