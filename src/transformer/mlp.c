/* mlp.c - the gated feed-forward block: h = h + rms(down(gelu(gate(n)) * up(n))), n = rms(h). */
#include "transformer/blocks_of_layer.h"

/* gelu(gate) * up for this member's rows, which it has just computed itself, and their int8 form
 * where a part can have one of its own. */
static void gate_rows(const struct fct_pass *p, const struct fct_input *gated, struct fct_span span,
                      struct fct_span rows, const struct fct_linear_layer *reader) {
    for (int t = span.begin; t < span.end && rows.begin < rows.end; t++) {
        size_t at = (size_t)t * (size_t)gated->stride + (size_t)rows.begin;
        p->kernels->gelu_mul(gated->values + at, p->scratch->up + at, rows.end - rows.begin,
                             gated->values + at);
        if (reader) fct_input_part_done(p, gated, t, rows, reader);
    }
}

void fct_mlp_block(const struct fct_pass *p, struct fct_team team, int layer,
                   struct fct_span span) {
    const struct fct_layer_weights *w = &p->weights->layers[layer];
    const struct fct_kernels *k = p->kernels;
    struct fct_scratch *s = p->scratch;
    int hidden = p->config->hidden_size, wide = p->config->layers[layer].intermediate_size;
    float eps = p->config->rms_norm_eps;
    struct fct_input gated = s->gated;
    gated.stride = wide;
    struct fct_span mine = fct_token_share(team, span), rows;
    for (int t = mine.begin; t < mine.end; t++) {
        const float *h = s->hidden.values + (size_t)t * (size_t)hidden;
        k->rms_norm(h, w->pre_feedforward_norm, hidden, eps,
                    s->normed.values + (size_t)t * (size_t)hidden);
        fct_input_done(p, &s->normed, t, hidden,
                       (const struct fct_linear_layer *const[]){&w->gate, &w->up}, 2);
    }
    fct_team_wait(team);
    fct_linear(p, team, &w->gate, &s->normed, span, gated.values, wide, &rows);
    fct_linear(p, team, &w->up, &s->normed, span, s->up, wide, &rows);
    bool by_parts = fct_parts_stand_alone(wide, team.size, &w->down);
    gate_rows(p, &gated, span, rows, by_parts ? &w->down : NULL);
    fct_team_wait(team);
    if (!by_parts) {
        for (int t = mine.begin; t < mine.end; t++)
            fct_input_done(p, &gated, t, wide, (const struct fct_linear_layer *const[]){&w->down},
                           1);
        fct_team_wait(team);
    }
    fct_linear(p, team, &w->down, &gated, span, s->branch, hidden, NULL);
    fct_team_wait(team);
    for (int t = mine.begin; t < mine.end; t++) {
        float *h = s->hidden.values + (size_t)t * (size_t)hidden;
        k->rms_norm_add(s->branch + (size_t)t * (size_t)hidden, w->post_feedforward_norm, h, hidden,
                        eps, h);
    }
}
