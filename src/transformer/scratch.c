/* scratch.c - what a pass computes in: allocated once a session, reused by every pass. */
#include "transformer/scratch.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* Deals out 64-byte aligned pieces of one block; with memory NULL it only counts. */
struct dealer {
    uint8_t *memory;
    size_t at;
};

static void *deal(struct dealer *d, size_t n, size_t bytes_each) {
    void *piece = d->memory ? d->memory + d->at : NULL;
    d->at += fct_round_up(n * bytes_each, FCT_LINE);
    return piece;
}

static float *deal_floats(struct dealer *d, size_t rows, size_t columns) {
    return deal(d, rows * columns, sizeof(float));
}

static struct fct_act deal_act(struct dealer *d, int batch, int stride) {
    struct fct_act act = {.stride = stride};
    act.codes = deal(d, (size_t)batch, (size_t)stride);
    act.groups = deal(d, (size_t)batch * (size_t)fct_act_groups(stride), sizeof *act.groups);
    return act;
}

static struct fct_input deal_input(struct dealer *d, int batch, int columns, int n_forms) {
    int stride = (int)fct_round_up((size_t)columns, FCT_ACT_ALIGN);
    struct fct_input input = {.values = deal_floats(d, (size_t)batch, (size_t)columns),
                              .stride = columns};
    for (int i = 0; i < n_forms; i++) input.act[i] = deal_act(d, batch, stride);
    return input;
}

/* The shape of the layers of one type: they all have the same, or it is refused. */
static fct_status find_rope_shape(struct fct_scratch *s, const struct fct_config *config, int kind,
                                  fct_error *err) {
    const struct fct_rope_config *rope = kind ? &config->rope_full : &config->rope_sliding;
    s->half[kind] = 0;
    for (int i = 0; i < config->n_layers; i++) {
        if (config->layers[i].full != (kind == 1)) continue;
        int half = config->layers[i].head_dim / 2;
        if (s->half[kind] && s->half[kind] != half)
            return fct_fail(err, FCT_ERR_UNSUPPORTED,
                            "layers of one attention type have different head_dim");
        s->half[kind] = half;
    }
    s->n_pairs[kind] = (int)(rope->partial * s->half[kind]);
    return FCT_OK;
}

static void fill_frequencies(struct fct_scratch *s, const struct fct_config *config) {
    for (int kind = 0; kind < 2; kind++) {
        const struct fct_rope_config *rope = kind ? &config->rope_full : &config->rope_sliding;
        float theta = (float)rope->theta, factor = (float)rope->factor;
        for (int i = 0; i < s->n_pairs[kind]; i++)
            s->inverse_frequencies[kind][i] =
                1.0f / powf(theta, (float)(2 * i) / (float)(2 * s->half[kind])) / factor;
    }
}

static void deal_attention(struct fct_scratch *s, const struct fct_config *c, struct dealer *d,
                           int max_head_dim) {
    size_t heads = (size_t)c->n_heads, head_dim = (size_t)max_head_dim;
    size_t partials = (size_t)FCT_FEW_TOKENS * heads * (size_t)s->max_chunks;
    s->partial_max = deal_floats(d, partials, 1);
    s->partial_sum = deal_floats(d, partials, 1);
    s->partial_out = deal_floats(d, partials, head_dim);
    s->rooms = deal(d, (size_t)s->n_threads, sizeof *s->rooms);
    for (int i = 0; i < s->n_threads; i++) {
        struct fct_attention_room room = {
            deal_floats(d, heads, 1), deal_floats(d, heads, 1), deal_floats(d, heads, head_dim),
            deal_floats(d, FCT_TOKEN_BLOCK, heads), deal_floats(d, FCT_TOKEN_BLOCK, heads)};
        if (s->rooms) s->rooms[i] = room;
    }
}

/* A token's inputs to one matrix, or its per-layer embedding; a multiple of a line. */
static size_t longest_row(const struct fct_config *c) {
    const int rows[] = {c->hidden_size, fct_config_max_query_size(c),
                        fct_config_max_intermediate_size(c), c->n_layers * c->per_layer_size};
    int longest = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        longest = rows[i] > longest ? rows[i] : longest;
    return fct_round_up((size_t)longest, FCT_LINE);
}

static void deal_all(struct fct_scratch *s, const struct fct_config *c, struct dealer *d) {
    int batch = s->batch, max_kv = 0, max_head_dim = 0;
    for (int i = 0; i < c->n_layers; i++) {
        const struct fct_layer_config *layer = &c->layers[i];
        if (layer->n_kv_heads * layer->head_dim > max_kv)
            max_kv = layer->n_kv_heads * layer->head_dim;
        if (layer->head_dim > max_head_dim) max_head_dim = layer->head_dim;
    }
    /* Forms that no file asks for are memory that is never touched. */
    s->hidden = deal_input(d, batch, c->hidden_size, 1);
    s->normed = deal_input(d, batch, c->hidden_size, FCT_MAX_FORMS);
    s->attended = deal_input(d, batch, fct_config_max_query_size(c), 1);
    s->gated = deal_input(d, batch, fct_config_max_intermediate_size(c), 1);
    s->per_layer_gated = deal_input(d, batch, c->per_layer_size, 1);
    s->queries = deal_floats(d, (size_t)batch, (size_t)fct_config_max_query_size(c));
    s->keys = deal_floats(d, (size_t)batch, (size_t)max_kv);
    s->values = deal_floats(d, (size_t)batch, (size_t)max_kv);
    s->up = deal_floats(d, (size_t)batch, (size_t)fct_config_max_intermediate_size(c));
    s->branch = deal_floats(d, (size_t)batch, (size_t)c->hidden_size);
    s->per_layer = deal_floats(d, (size_t)batch, (size_t)c->n_layers * (size_t)c->per_layer_size);
    for (int kind = 0; kind < 2; kind++) {
        s->cosines[kind] = deal_floats(d, (size_t)batch, (size_t)s->half[kind]);
        s->sines[kind] = deal_floats(d, (size_t)batch, (size_t)s->half[kind]);
        s->inverse_frequencies[kind] = deal_floats(d, (size_t)s->half[kind], 1);
    }
    deal_attention(s, c, d, max_head_dim);
    s->thread_row = longest_row(c);
    s->thread_rows = deal_floats(d, (size_t)s->n_threads, s->thread_row);
    s->logits_stride = fct_strips(c->vocab_size) * FCT_STRIP;
    s->logits = deal_floats(d, FCT_LOGITS_AT_ONCE, (size_t)s->logits_stride);
    s->best = deal(d, (size_t)s->n_threads * FCT_LOGITS_AT_ONCE, sizeof *s->best);
}

fct_status fct_scratch_init(struct fct_scratch *scratch, const struct fct_config *config, int batch,
                            int n_threads, int context, fct_error *err) {
    memset(scratch, 0, sizeof *scratch);
    scratch->batch = batch;
    scratch->n_threads = n_threads;
    scratch->max_chunks = (context + FCT_KV_CHUNK - 1) / FCT_KV_CHUNK;
    for (int kind = 0; kind < 2; kind++) {
        fct_status status = find_rope_shape(scratch, config, kind, err);
        if (status != FCT_OK) return status;
    }
    struct dealer counting = {NULL, 0};
    deal_all(scratch, config, &counting);
    scratch->memory = fct_pages_new(counting.at, err);
    if (!scratch->memory) return FCT_ERR_MEMORY;
    scratch->n_bytes = counting.at;
    struct dealer dealing = {scratch->memory, 0};
    deal_all(scratch, config, &dealing);
    fill_frequencies(scratch, config);
    return FCT_OK;
}

void fct_scratch_free(struct fct_scratch *scratch) {
    if (scratch->memory) fct_pages_free(scratch->memory, scratch->n_bytes);
    scratch->memory = NULL;
}
