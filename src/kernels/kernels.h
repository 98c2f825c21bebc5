/* kernels.h - what the network computes with: one pointer an operation, one table an instruction
 * set.
 *
 * A kernel knows numbers and a range: no model, no file, no thread, no allocation. Every table
 * gives the same bits as portable.c: integer sums are exact, and float operations are done in one
 * stated order, each multiply-add fused, over 16 lanes. So results depend neither on the
 * instruction set, nor on how many tokens are computed at once. */
#ifndef FCT_KERNELS_KERNELS_H
#define FCT_KERNELS_KERNELS_H

#include "kernels/blocks.h"

/* One chunk of attention: query heads that share a KV head, against up to FCT_KV_CHUNK
 * positions. */
struct fct_attend {
    enum fct_kv_type type;
    int head_dim;
    const void *keys, *values;              /* first block of the chunk */
    const float *key_scales, *value_scales; /* [FCT_KV_CHUNK], FCT_KV_TYPE_Q8 only */
    /* positions of the chunk that are visible: 0 <= begin < end <= FCT_KV_CHUNK */
    int begin, end;
    const float *queries; /* [n_queries][head_dim], scaled already */
    int n_queries;        /* any number; eight are done at a time */
};

/* A softmax-weighted sum that is not finished: values weighted with e^(score - max). */
struct fct_partial {
    float *max, *sum; /* [n_queries] */
    float *out;       /* [n_queries][head_dim] */
};

struct fct_kernels {
    const char *name;

    /* ---- matrices; strips [begin, end) of w ---- */

    /* y[token * y_stride + row], rows padded to whole strips. */

    /* y = act . wᵀ for int8 activations and any quantized scheme (not FCT_F32). Bit-equal for any
     * n_tokens >= 1. w->group and act->group are
     * equal:    a = fma((float)(integer sum of a group), weight scale * activation scale, a), their
     *     product rounded, groups in order, from 0; y = a.
     * 0 and 32: a = fma((float)(integer sum of 32), activation scale, a), likewise; y = a * row
     *     scale.
     * 0 and 0:  y = ((float)(integer sum of the row) * row scale) * activation scale. */
    void (*matmul)(const struct fct_matrix *w, const struct fct_act *act, int n_tokens, int begin,
                   int end, float *y, size_t y_stride);

    /* y = x . wᵀ for float activations x[token * x_stride + column] and any scheme: the weight is
     * (float)code * scale, a = fma(x, weight, a), columns in order, from 0. */
    void (*matmul_f32)(const struct fct_matrix *w, const float *x, size_t x_stride, int n_tokens,
                       int begin, int end, float *y, size_t y_stride);

    /* x [n] as int8 into row `token` of act, in groups of act->group. scale > 0 is a static one:
     * clamp(rint(x / scale), -128, 127). scale 0: each group its own, absmax / 127, code = rint(x *
     * (127 / absmax)), absmax 0 gives scale 0. A NaN or an infinity in a group makes its scale NaN
     * or infinite, so that it shows in the result. */
    void (*quantize)(const float *x, int n, float scale, struct fct_act *act, int token);

    /* ---- vectors of n floats, n a multiple of 16 unless said; y may be x ---- */

    /* y = x / sqrt(mean(x²) + eps) * w; w NULL: 1. The squares are summed in 16 lanes (lane j:
     * elements j, j+16, ..., fused), the lanes as ((0+8)+(4+12)) + ...: halves folded onto each
     * other, 8, 4, 2, 1. */
    void (*rms_norm)(const float *x, const float *w, int n, float eps, float *y);
    /* y = r + rms_norm(x, w), the product and the sum fused. */
    void (*rms_norm_add)(const float *x, const float *w, const float *r, int n, float eps,
                         float *y);
    /* y = x * factor */
    void (*scale)(const float *x, float factor, int n, float *y);
    /* y = (a + b) * factor */
    void (*add_scale)(const float *a, const float *b, float factor, int n, float *y);
    /* y = gelu_tanh(gate) * up; gelu_tanh(g) = g / 2 * (1 + tanh(sqrt(2/pi) (g + 0.044715 g³))). */
    void (*gelu_mul)(const float *gate, const float *up, int n, float *y);
    /* Rotates lanes i and i + half for i < n_pairs (a multiple of 16, or any number below): x[i] =
     * x[i] cos[i] - x[i+half] sin[i], x[i+half] = x[i+half] cos[i] + x[i] sin[i]. */
    void (*rope)(float *x, const float *cosines, const float *sines, int n_pairs, int half);
    void (*softcap)(float *x, float cap, int n); /* x = cap * tanh(x / cap); n may be any number */
    /* Index of the largest of x [n], the first of equals; n any number >= 1. NaN never wins; all
     * NaN gives 0. */
    int (*argmax)(const float *x, int n);
    /* One row of a table times factor; y [columns]. */
    void (*lookup)(const struct fct_table *table, int row, int first_block, int n_blocks,
                   float factor, float *y);

    /* ---- attention ---- */

    /* Puts x [head_dim] at position `slot` (0 .. 15) of a block of keys or values. scale:
     * FCT_KV_TYPE_Q8 only, gets the position's scale: absmax / 127 (if *scale > 0 on entry it is a
     * static one and stays). */
    void (*store_key)(enum fct_kv_type type, const float *x, int head_dim, void *block, int slot,
                      float *scale);
    void (*store_value)(enum fct_kv_type type, const float *x, int head_dim, void *block, int slot,
                        float *scale);

    /* scores s = fma over lanes of the head in order, from 0 (int8: times the position's scale at
     * the end); max = their maximum; p = e^(s - max) in float; sum = the p in 16 lanes (lane =
     * position modulo 16, in order), folded as in rms_norm;
     * out = fma(p [* value scale], value, out) in order of position, from 0. Positions outside
     * [begin, end) count for nothing. */
    void (*attend)(const struct fct_attend *job, struct fct_partial out);
    /* Merges `more` into `total`: both are rescaled to the larger maximum. total->sum 0 means
     * empty. */
    void (*merge)(int n_queries, int head_dim, struct fct_partial total, struct fct_partial more);
    /* y = out / sum */
    void (*finish)(int n_queries, int head_dim, struct fct_partial total, float *y);
};

/* The table called name, or the best that this CPU runs if name is NULL; NULL if there is none of
 * that name, or this CPU cannot run it. Tried by asking the CPU, for AMX also the kernel, and by
 * running it. */
const struct fct_kernels *fct_kernels_select(const char *name);
/* Names of the tables that this CPU can run, best first; NULL-terminated. */
const char *const *fct_kernels_names(void);
/* Does this table give portable.c's bits on made-up numbers of every shape and scheme? On failure
 * says which operation in what[n]. Takes some milliseconds. */
bool fct_kernels_check(const struct fct_kernels *kernels, char *what, size_t n);

#endif
