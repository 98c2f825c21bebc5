/* linear.c - multiplying a batch of tokens with a matrix, its rows shared among the team. */
#include "transformer/blocks_of_layer.h"

struct fct_span fct_token_share(struct fct_team team, struct fct_span span) {
    struct fct_span share;
    fct_team_share(team, span.end - span.begin, 1, &share.begin, &share.end);
    share.begin += span.begin;
    share.end += span.begin;
    return share;
}

/* Whether the layer is given its input as int8. */
static bool takes_codes(const struct fct_pass *p, const struct fct_linear_layer *w) {
    return w->input_scale > 0 || (w->matrix.scheme != FCT_F32 && !p->float_activations);
}

static void make_forms(const struct fct_pass *p, const struct fct_input *input, int token,
                       struct fct_span inputs, const struct fct_linear_layer *const readers[],
                       int n_readers) {
    const float *x = input->values + (size_t)token * (size_t)input->stride + inputs.begin;
    int n_forms = 0;
    for (int i = 0; i < n_readers; i++) {
        const struct fct_linear_layer *reader = readers[i];
        if (reader->form != n_forms) continue; /* it shares an earlier one's */
        n_forms++;
        if (!takes_codes(p, reader)) continue;
        struct fct_act act = input->act[reader->form];
        act.group = fct_linear_act_group(reader);
        act.codes += inputs.begin;
        if (act.group) act.groups += inputs.begin / act.group;
        p->kernels->quantize(x, inputs.end - inputs.begin, reader->input_scale, &act, token);
    }
}

void fct_input_done(const struct fct_pass *p, const struct fct_input *input, int token, int n,
                    const struct fct_linear_layer *const readers[], int n_readers) {
    make_forms(p, input, token, (struct fct_span){0, n}, readers, n_readers);
}

void fct_input_part_done(const struct fct_pass *p, const struct fct_input *input, int token,
                         struct fct_span inputs, const struct fct_linear_layer *reader) {
    make_forms(p, input, token, inputs, &reader, 1);
}

bool fct_parts_stand_alone(int n, int n_parts, const struct fct_linear_layer *reader) {
    return n % (FCT_ACT_ALIGN * n_parts) == 0 && fct_linear_act_group(reader) > 0;
}

/* The int8 form of the input that a layer reads, from token `first` on. */
static struct fct_act act_of(const struct fct_linear_layer *w, const struct fct_input *input,
                             int first) {
    struct fct_act act = input->act[w->form];
    act.group = fct_linear_act_group(w);
    act.codes += (size_t)first * (size_t)act.stride;
    act.groups += (size_t)first * (size_t)fct_act_groups(act.stride);
    return act;
}

/* Strips [begin, end) of one matrix for some tokens. */
struct product {
    const struct fct_linear_layer *w;
    int n_tokens, begin, end;
    float *y;
    size_t y_stride;
};

static void multiply_floats(const struct fct_pass *p, const struct product *it, const float *x,
                            int stride) {
    p->kernels->matmul_f32(&it->w->matrix, x, (size_t)stride, it->n_tokens, it->begin, it->end,
                           it->y, it->y_stride);
}

/* Float weights whose input is rounded all the same: what its codes stand for, token by token. */
static void multiply_rounded(const struct fct_pass *p, const struct product *it,
                             const struct fct_act *act, float *row) {
    for (int t = 0; t < it->n_tokens; t++) {
        const int8_t *codes = act->codes + (size_t)t * (size_t)act->stride;
        float scale = act->groups[(size_t)t * (size_t)fct_act_groups(act->stride)].scale;
        for (int i = 0; i < it->w->matrix.columns; i++) row[i] = (float)codes[i] * scale;
        struct product one = *it;
        one.n_tokens = 1;
        one.y += (size_t)t * it->y_stride;
        multiply_floats(p, &one, row, it->w->matrix.columns);
    }
}

/* Clamped first, so that what is rounded is small enough for the sum that rounds it: to the nearest
 * whole number, halves to even. A NaN stays one. */
static void round_output(float *y, int n, float scale) {
    static const float rounder = 0x1.8p23f;
    for (int i = 0; i < n; i++) {
        float v = y[i] / scale;
        v = v < -128.0f ? -128.0f : v;
        v = v > 127.0f ? 127.0f : v;
        y[i] = ((v + rounder) - rounder) * scale;
    }
}

void fct_linear(const struct fct_pass *p, struct fct_team team, const struct fct_linear_layer *w,
                const struct fct_input *input, struct fct_span span, float *y, int y_stride,
                struct fct_span *rows) {
    int begin, end, n_rows = w->matrix.rows, n_tokens = span.end - span.begin;
    fct_team_share(team, fct_strips(n_rows), 2, &begin, &end);
    struct fct_span own = {begin * FCT_STRIP, end * FCT_STRIP < n_rows ? end * FCT_STRIP : n_rows};
    if (rows) *rows = own;
    if (p->statistics)
        fct_statistics_add(p->statistics, team, &w->matrix,
                           input->values + (size_t)span.begin * (size_t)input->stride,
                           input->stride, n_tokens);
    if (begin >= end || n_tokens <= 0) return;
    y += (size_t)span.begin * (size_t)y_stride;
    struct product it = {w, n_tokens, begin, end, y, (size_t)y_stride};
    struct fct_act act = act_of(w, input, span.begin);
    if (!takes_codes(p, w))
        multiply_floats(p, &it, input->values + (size_t)span.begin * (size_t)input->stride,
                        input->stride);
    else if (w->matrix.scheme == FCT_F32)
        multiply_rounded(p, &it, &act, fct_scratch_row(p->scratch, team.index));
    else
        p->kernels->matmul(&w->matrix, &act, n_tokens, begin, end, y, (size_t)y_stride);
    for (int t = 0; t < n_tokens && w->output_scale > 0; t++)
        round_output(y + (size_t)t * (size_t)y_stride + own.begin, own.end - own.begin,
                     w->output_scale);
}
