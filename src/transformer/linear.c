/* linear.c - multiplying a batch of tokens with a matrix, its rows shared among the team. */
#include "transformer/blocks_of_layer.h"

struct fct_span fct_token_share(struct fct_team team, struct fct_span span) {
    struct fct_span share;
    fct_team_share(team, span.end - span.begin, 1, &share.begin, &share.end);
    share.begin += span.begin;
    share.end += span.begin;
    return share;
}

void fct_input_done(const struct fct_pass *p, const struct fct_input *input, int token, int n) {
    if (p->float_activations) return;
    struct fct_act act = input->act;
    p->kernels->quantize(input->values + (size_t)token * (size_t)input->stride, n, 0.0f, &act,
                         token);
}

/* The int8 rows from token `first` on. */
static struct fct_act act_from(const struct fct_act *act, int first) {
    size_t skipped = (size_t)first;
    return (struct fct_act){act->stride, act->codes + skipped * (size_t)act->stride,
                            act->sums + skipped * (size_t)fct_act_sums(act->stride),
                            act->scales + skipped};
}

void fct_linear(const struct fct_pass *p, struct fct_team team, const struct fct_matrix *w,
                const struct fct_input *input, struct fct_span span, float *y, int y_stride,
                struct fct_span *rows) {
    int begin, end, n_tokens = span.end - span.begin;
    fct_team_share(team, fct_strips(w->rows), 2, &begin, &end);
    if (rows)
        *rows = (struct fct_span){begin * FCT_STRIP,
                                  end * FCT_STRIP < w->rows ? end * FCT_STRIP : w->rows};
    if (begin >= end || n_tokens <= 0) return;
    y += (size_t)span.begin * (size_t)y_stride;
    if (p->float_activations || w->scheme == FCT_F32) {
        const float *x = input->values + (size_t)span.begin * (size_t)input->stride;
        p->kernels->matmul_f32(w, x, (size_t)input->stride, n_tokens, begin, end, y,
                               (size_t)y_stride);
    } else {
        struct fct_act act = act_from(&input->act, span.begin);
        p->kernels->matmul(w, &act, n_tokens, begin, end, y, (size_t)y_stride);
    }
}
