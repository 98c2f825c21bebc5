/* matmul_f32.h - float activations against weights of any scheme: for float models and for checks.
 * Shared by all tables. */
#ifndef FCT_KERNELS_MATMUL_F32_H
#define FCT_KERNELS_MATMUL_F32_H

#include "kernels/unpack.h"

#include <math.h>

enum { FLOAT_TOKENS = 8 }; /* of one pass over the weights */

/* weights[input][row] of n inputs, starting with input `start`, a multiple of the run's length. */
static inline void unpack_floats(const struct fct_matrix *w, int strip, int start, int n,
                                 float weights[][FCT_STRIP]) {
    int8_t codes[LONGEST_RUN][FCT_STRIP];
    float scales[FCT_STRIP];
    int run = start / run_length(w);
    run_scales(w, strip, run, scales);
    unpack_codes(w->scheme, run_units(w, strip, run), n, codes);
    for (int i = 0; i < n; i++)
        for (int row = 0; row < FCT_STRIP; row++)
            weights[i][row] = (float)codes[i][row] * scales[row];
}

/* A table's file may bring its own add_products, and define FCT_OWN_ADD_PRODUCTS before it includes
 * this. */
#ifndef FCT_OWN_ADD_PRODUCTS
/* a[token][row] += x[token] . weights of n inputs, in order; up to FLOAT_TOKENS tokens. */
static inline void add_products(const float (*weights)[FCT_STRIP], int n, const float *x,
                                size_t x_stride, int n_tokens, float a[][FCT_STRIP]) {
    for (int i = 0; i < n; i++)
        for (int t = 0; t < n_tokens; t++)
            for (int row = 0; row < FCT_STRIP; row++)
                a[t][row] = fmaf(x[(size_t)t * x_stride + (size_t)i], weights[i][row], a[t][row]);
}
#endif

static inline void matmul_f32(const struct fct_matrix *w, const float *x, size_t x_stride,
                              int n_tokens, int begin, int end, float *y, size_t y_stride) {
    int step = w->scheme == FCT_F32 ? LONGEST_RUN : run_length(w);
    float unpacked[LONGEST_RUN][FCT_STRIP];
    for (int strip = begin; strip < end; strip++)
        for (int t = 0; t < n_tokens; t += FLOAT_TOKENS) {
            int tokens = n_tokens - t < FLOAT_TOKENS ? n_tokens - t : FLOAT_TOKENS;
            float a[FLOAT_TOKENS][FCT_STRIP] = {{0}};
            for (int start = 0; start < w->columns; start += step) {
                int n = w->columns - start < step ? w->columns - start : step;
                const float(*weights)[FCT_STRIP] = (const float(*)[FCT_STRIP])unpacked;
                if (w->scheme == FCT_F32)
                    weights = (const float(*)[FCT_STRIP])strip_data(w, strip) + start;
                else
                    unpack_floats(w, strip, start, n, unpacked);
                add_products(weights, n, x + (size_t)t * x_stride + start, x_stride, tokens, a);
            }
            for (int i = 0; i < tokens; i++)
                memcpy(y + (size_t)(t + i) * y_stride + (size_t)strip * FCT_STRIP, a[i],
                       sizeof a[i]);
        }
}

#endif
