/* neon.c - kernels for every 64-bit ARM: Cortex-A53 and A72 (Raspberry Pi 3 and 4), which have no
 * dot product. */
#include "kernels/neon_ops.h"
#include "kernels/neon_tile.h"

#include "kernels/neon_matmul.h"
#include "kernels/tables.h"

/* Tokens a tile: the sums of 16 bits take twice the registers. Tokens that pass a strip before the
 * next one is read. */
enum { MOST_TOKENS = 2, TOKEN_BLOCK = 64 };

/* The four activations at x, four times. */
TILE_INLINE int8x16_t broadcast_4(const int8_t *x) {
    int32_t four;
    memcpy(&four, x, sizeof four);
    return vreinterpretq_s8_s32(vdupq_n_s32(four));
}

/* Products of a line of four rows and four inputs, still apart: 16 bits each, rows 0 and 1, rows 2
 * and 3. */
struct products {
    int16x8_t low, high;
};

TILE_INLINE struct products multiply_add(struct products sum, int8x16_t q, int8x16_t x) {
    sum.low = vmlal_s8(sum.low, vget_low_s8(q), vget_low_s8(x));
    sum.high = vmlal_high_s8(sum.high, q, x);
    return sum;
}

/* sum[row] += the four products of each row. */
TILE_INLINE int32x4_t add_rows(int32x4_t sum, struct products products) {
    return vaddq_s32(sum, vpaddq_s32(vpaddlq_s16(products.low), vpaddlq_s16(products.high)));
}

/* Line `line` (four inputs) of 32 inputs, of vector v. */
TILE_INLINE int8x16_t line_codes(enum fct_scheme scheme, const uint8_t *codes, int line, int v) {
    const int per_unit = 8 / fct_scheme_bits(scheme);
    uint8x16_t raw = vld1q_u8(codes + 64 * (line / per_unit) + 16 * v);
    if (scheme == FCT_Q4) {
        raw = line % 2 ? vshrq_n_u8(raw, 4) : vandq_u8(raw, vdupq_n_u8(15));
    } else if (scheme == FCT_Q2) {
        if (line % 4 == 1) raw = vshrq_n_u8(raw, 2);
        if (line % 4 == 2) raw = vshrq_n_u8(raw, 4);
        raw = line % 4 == 3 ? vshrq_n_u8(raw, 6) : vandq_u8(raw, vdupq_n_u8(3));
    }
    return vreinterpretq_s8_u8(raw);
}

/* Codes of 4 and 2 bits: the eight products of a lane are at most 8 x 15 x 128, which 16 bits hold;
 * so one widening multiply-add for eight products, and rows are summed once. Of 8 bits only one
 * product fits. */
TILE_INLINE void dot_32(enum fct_scheme scheme, const uint8_t *codes, int n_vectors,
                        const int8_t *x, size_t stride, int n_tokens,
                        int32x4_t sum[TILE_TOKENS][TILE_VECTORS]) {
    const struct products none = {vdupq_n_s16(0), vdupq_n_s16(0)};
    struct products products[TILE_TOKENS][TILE_VECTORS];
    UNROLL for (int t = 0; t < n_tokens; t++) {
        UNROLL for (int v = 0; v < n_vectors; v++) products[t][v] = none;
    }
    UNROLL for (int line = 0; line < 8; line++) {
        int8x16_t a[TILE_TOKENS];
        UNROLL for (int t = 0; t < n_tokens; t++) {
            a[t] = broadcast_4(x + (size_t)t * stride + 4 * line);
        }
        UNROLL for (int v = 0; v < n_vectors; v++) {
            int8x16_t q = line_codes(scheme, codes, line, v);
            UNROLL for (int t = 0; t < n_tokens; t++) {
                if (scheme == FCT_Q8)
                    sum[t][v] = add_rows(sum[t][v], multiply_add(none, q, a[t]));
                else
                    products[t][v] = multiply_add(products[t][v], q, a[t]);
            }
        }
    }
    if (scheme == FCT_Q8) return;
    UNROLL for (int t = 0; t < n_tokens; t++) {
        UNROLL for (int v = 0; v < n_vectors; v++) sum[t][v] = add_rows(sum[t][v], products[t][v]);
    }
}

static void matmul(const struct fct_matrix *w, const struct fct_act *act, int n_tokens, int begin,
                   int end, float *y, size_t y_stride) {
    for (int token = 0; token < n_tokens; token += TOKEN_BLOCK) {
        int n = n_tokens - token < TOKEN_BLOCK ? n_tokens - token : TOKEN_BLOCK;
        matmul_few(w, act, token, n, MOST_TOKENS, begin, end, y, y_stride);
    }
}

const struct fct_kernels fct_kernels_neon = {
    .name = "neon", .matmul = matmul, .matmul_f32 = matmul_f32, FCT_FLOAT_OPS, FCT_ATTEND_OPS};
