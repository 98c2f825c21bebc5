/* embedding.c - what the token ids themselves contribute: the stream's start, and an input to every
 * layer. */
#include <math.h>

#include "transformer/blocks_of_layer.h"

/* h = embed_tokens[id] * sqrt(hidden) */
void fct_embed(const struct fct_pass *p, struct fct_team team, struct fct_span span) {
    const struct fct_input *hidden = &p->scratch->hidden;
    struct fct_span mine = fct_token_share(team, span);
    float factor = sqrtf((float)p->config->hidden_size);
    for (int t = mine.begin; t < mine.end; t++) {
        float *h = hidden->values + (size_t)t * (size_t)hidden->stride;
        const struct fct_table *table = &p->weights->embedding;
        p->kernels->lookup(table, p->ids[t], 0, table->blocks, factor, h);
        if (p->config->per_layer_size)
            fct_input_done(
                p, hidden, t, p->config->hidden_size,
                (const struct fct_linear_layer *const[]){&p->weights->per_layer_model_projection},
                1);
    }
}

/* Rows of per_layer_model_projection that belong to layers [begin, end), as a matrix of its own. P
 * is a multiple of 16. */
static struct fct_linear_layer projection_of(const struct fct_pass *p, int begin, int end) {
    struct fct_linear_layer part = p->weights->per_layer_model_projection;
    struct fct_matrix *w = &part.matrix;
    int size = p->config->per_layer_size;
    w->data +=
        (size_t)(begin * size / FCT_STRIP) * fct_strip_bytes(w->scheme, w->group, w->columns);
    w->rows = (end - begin) * size;
    return part;
}

/* The row of token t for layers [begin, end), P numbers each, in `row`. Its scales need not fall
 * together with the layers: whole blocks are looked up. */
static const float *look_up(const struct fct_pass *p, int t, int begin, int end, float *row) {
    const struct fct_table *table = &p->weights->per_layer_embedding;
    int n_layers = p->config->n_layers, size = p->config->per_layer_size;
    int first = (int)((int64_t)begin * table->blocks / n_layers),
        last = (int)(((int64_t)end * table->blocks + n_layers - 1) / n_layers);
    p->kernels->lookup(table, p->ids[t], first, last - first, sqrtf((float)size), row);
    return row + begin * size - first * (table->columns / table->blocks);
}

/* Of token t, layers [begin, end): ple = (lookup * sqrt(P) + rms(projection * hidden^-0.5)) *
 * 2^-0.5, in place of the projection. */
static void combine(const struct fct_pass *p, int t, int begin, int end, float *row) {
    const struct fct_kernels *k = p->kernels;
    int size = p->config->per_layer_size, n_layers = p->config->n_layers;
    float shrink = 1.0f / sqrtf((float)p->config->hidden_size);
    const float *looked_up = look_up(p, t, begin, end, row);
    for (int layer = begin; layer < end; layer++, looked_up += size) {
        float *ple =
            p->scratch->per_layer + ((size_t)t * (size_t)n_layers + (size_t)layer) * (size_t)size;
        k->scale(ple, shrink, size, ple);
        k->rms_norm(ple, p->weights->per_layer_projection_norm, size, p->config->rms_norm_eps, ple);
        k->add_scale(looked_up, ple, 0.70710678f, size, ple);
    }
}

void fct_per_layer_inputs(const struct fct_pass *p, struct fct_team team, struct fct_span all,
                          struct fct_span live, int n_cached) {
    int size = p->config->per_layer_size, n_layers = p->config->n_layers, stride = n_layers * size;
    if (!size) return;
    struct fct_linear_layer lower = projection_of(p, 0, n_cached),
                            upper = projection_of(p, n_cached, n_layers);
    fct_team_wait(team);
    fct_linear(p, team, &lower, &p->scratch->hidden, all, p->scratch->per_layer, stride, NULL);
    fct_linear(p, team, &upper, &p->scratch->hidden, live,
               p->scratch->per_layer + (size_t)n_cached * (size_t)size, stride, NULL);
    fct_team_wait(team);
    struct fct_span mine = fct_token_share(team, all);
    for (int t = mine.begin; t < mine.end; t++)
        combine(p, t, 0, t >= live.begin ? n_layers : n_cached,
                fct_scratch_row(p->scratch, team.index));
}

/* h = h + rms(linear(gelu(linear(h, gate)) * ple, projection)); then the layer's scalar. */
void fct_per_layer_block(const struct fct_pass *p, struct fct_team team, int layer,
                         struct fct_span span) {
    const struct fct_layer_weights *w = &p->weights->layers[layer];
    const struct fct_kernels *k = p->kernels;
    struct fct_scratch *s = p->scratch;
    int size = p->config->per_layer_size, hidden = p->config->hidden_size,
        n_layers = p->config->n_layers;
    struct fct_span mine = fct_token_share(team, span), rows;
    for (int t = mine.begin; t < mine.end; t++)
        fct_input_done(p, &s->hidden, t, hidden,
                       (const struct fct_linear_layer *const[]){&w->per_layer_gate}, 1);
    fct_team_wait(team);
    fct_linear(p, team, &w->per_layer_gate, &s->hidden, span, s->per_layer_gated.values,
               s->per_layer_gated.stride, &rows);
    for (int t = span.begin; t < span.end; t++) {
        float *gate =
            s->per_layer_gated.values + (size_t)t * (size_t)s->per_layer_gated.stride + rows.begin;
        const float *ple = s->per_layer +
                           ((size_t)t * (size_t)n_layers + (size_t)layer) * (size_t)size +
                           rows.begin;
        if (rows.end > rows.begin) k->gelu_mul(gate, ple, rows.end - rows.begin, gate);
    }
    fct_team_wait(team);
    for (int t = mine.begin; t < mine.end; t++)
        fct_input_done(p, &s->per_layer_gated, t, size,
                       (const struct fct_linear_layer *const[]){&w->per_layer_projection}, 1);
    fct_team_wait(team);
    fct_linear(p, team, &w->per_layer_projection, &s->per_layer_gated, span, s->branch, hidden,
               NULL);
    fct_team_wait(team);
    for (int t = mine.begin; t < mine.end; t++) {
        float *h = s->hidden.values + (size_t)t * (size_t)s->hidden.stride;
        k->rms_norm_add(s->branch + (size_t)t * (size_t)hidden, w->post_per_layer_norm, h, hidden,
                        p->config->rms_norm_eps, h);
    }
}
