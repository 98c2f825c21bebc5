/* portable.c - every kernel in plain C: the truth that the other tables must match bit for bit. */
#include "kernels/attend_ops.h"
#include "kernels/matmul_f32.h"
#include "kernels/tables.h"

enum { TOKENS = 8 };

/* sums[row] += codes[input][row] * x[input] */
static void add_dot(const int8_t (*codes)[FCT_STRIP], int n, const int8_t *x,
                    int32_t sums[FCT_STRIP]) {
    for (int i = 0; i < n; i++)
        for (int row = 0; row < FCT_STRIP; row++) sums[row] += codes[i][row] * x[i];
}

/* a[row] += sums[row] * scale of the group, where the weights have groups of their own times that
 * of the row's. The sums begin anew. */
static void add_group(int32_t sums[FCT_STRIP], const float *weight_scales, float scale,
                      float a[FCT_STRIP]) {
    for (int row = 0; row < FCT_STRIP; row++) {
        float both = weight_scales ? weight_scales[row] * scale : scale;
        a[row] = fmaf((float)sums[row], both, a[row]);
    }
    memset(sums, 0, FCT_STRIP * sizeof *sums);
}

/* One strip for up to TOKENS tokens. */
static void multiply_strip(const struct fct_matrix *w, int strip, const struct fct_act *act,
                           int first, int n, float *y, size_t y_stride) {
    int8_t codes[LONGEST_RUN][FCT_STRIP];
    int32_t sums[TOKENS][FCT_STRIP] = {{0}};
    float a[TOKENS][FCT_STRIP] = {{0}}, scales[FCT_STRIP];
    int length = run_length(w),
        n_runs = fct_padded_columns(w->scheme, w->group, w->columns) / length;
    const size_t groups_stride = (size_t)fct_act_groups(act->stride);
    const struct fct_act_group *groups = act->groups + (size_t)first * groups_stride;

    run_scales(w, strip, 0, scales);
    for (int run = 0; run < n_runs; run++) {
        unpack_codes(w->scheme, run_units(w, strip, run), length, codes);
        if (w->group) run_scales(w, strip, run, scales);
        for (int t = 0; t < n; t++) {
            const int8_t *x = act->codes + (size_t)(first + t) * (size_t)act->stride +
                              (size_t)run * (size_t)length;
            add_dot((const int8_t(*)[FCT_STRIP])codes, length, x, sums[t]);
            if (act->group)
                add_group(sums[t], w->group ? scales : NULL,
                          groups[(size_t)t * groups_stride + (size_t)run].scale, a[t]);
        }
    }
    for (int t = 0; t < n; t++) {
        float *to = y + (size_t)(first + t) * y_stride + (size_t)strip * FCT_STRIP;
        for (int row = 0; row < FCT_STRIP; row++)
            to[row] = w->group     ? a[t][row]
                      : act->group ? a[t][row] * scales[row]
                                   : (float)sums[t][row] * scales[row] *
                                         groups[(size_t)t * groups_stride].scale;
    }
}

static void matmul(const struct fct_matrix *w, const struct fct_act *act, int n_tokens, int begin,
                   int end, float *y, size_t y_stride) {
    for (int strip = begin; strip < end; strip++)
        for (int t = 0; t < n_tokens; t += TOKENS)
            multiply_strip(w, strip, act, t, n_tokens - t < TOKENS ? n_tokens - t : TOKENS, y,
                           y_stride);
}

const struct fct_kernels fct_kernels_portable = {
    .name = "portable", .matmul = matmul, .matmul_f32 = matmul_f32, FCT_FLOAT_OPS, FCT_ATTEND_OPS};
