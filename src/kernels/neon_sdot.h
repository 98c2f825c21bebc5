/* neon_sdot.h - the dot product of 32 inputs with sdot, whose second operand is one lane of a
 * register.
 *
 * So 16 activations in one register meet four lines of weights, and nothing is ever broadcast. */
#ifndef FCT_KERNELS_NEON_SDOT_H
#define FCT_KERNELS_NEON_SDOT_H

#include "kernels/neon_tile.h"

/* sum[i] += p[4i .. 4i+3] . x[4 lane ..] + q[4i .. 4i+3] . x[4 lane + 4 ..]. As two
 * vdotq_laneq_s32, which gcc 12 makes slow: it copies accumulators around in long loops (6.3
 * instead of 5.9 instructions for 32 weights). */
#define SDOT_LANES(sum, p, q, x, lane, next)                                                       \
    __asm__("sdot %0.4s, %1.16b, %3.4b[" #lane "]\n\tsdot %0.4s, %2.16b, %3.4b[" #next "]"         \
            : "+&w"(sum)                                                                           \
            : "w"(p), "w"(q), "w"(x))

/* The same codes for every token; first: lanes 0 and 1, else 2 and 3. */
TILE_INLINE void dot_8(uint8x16_t p, uint8x16_t q, bool first, const int8x16_t a[TILE_TOKENS],
                       int n_tokens, int32x4_t sum[TILE_TOKENS][TILE_VECTORS], int v) {
    UNROLL for (int t = 0; t < n_tokens; t++) {
        if (first)
            SDOT_LANES(sum[t][v], p, q, a[t], 0, 1);
        else
            SDOT_LANES(sum[t][v], p, q, a[t], 2, 3);
    }
}

/* 16 inputs: a register of activations a token. */
TILE_INLINE void dot_16(enum fct_scheme scheme, const uint8_t *codes, int n_vectors,
                        const int8x16_t a[TILE_TOKENS], int n_tokens,
                        int32x4_t sum[TILE_TOKENS][TILE_VECTORS]) {
    const uint8x16_t low_4 = vdupq_n_u8(15), low_2 = vdupq_n_u8(3);
    const int n_loads = scheme == FCT_Q8 ? 2 : 1, n_steps = scheme == FCT_Q2 ? 1 : 2;
    UNROLL for (int u = 0; u < n_steps; u++) {
        uint8x16_t raw[2][TILE_VECTORS];
        UNROLL for (int i = 0; i < n_loads; i++) {
            UNROLL for (int v = 0; v < n_vectors; v++) {
                raw[i][v] = vld1q_u8(codes + 64 * (n_loads * u + i) + 16 * v);
            }
        }
        UNROLL for (int v = 0; v < n_vectors; v++) {
            uint8x16_t q = raw[0][v];
            if (scheme == FCT_Q4) {
                dot_8(vandq_u8(q, low_4), vshrq_n_u8(q, 4), u == 0, a, n_tokens, sum, v);
            } else if (scheme == FCT_Q8) {
                dot_8(q, raw[1][v], u == 0, a, n_tokens, sum, v);
            } else {
                dot_8(vandq_u8(q, low_2), vandq_u8(vshrq_n_u8(q, 2), low_2), true, a, n_tokens, sum,
                      v);
                dot_8(vandq_u8(vshrq_n_u8(q, 4), low_2), vshrq_n_u8(q, 6), false, a, n_tokens, sum,
                      v);
            }
        }
    }
}

TILE_INLINE void dot_32(enum fct_scheme scheme, const uint8_t *codes, int n_vectors,
                        const int8_t *x, size_t stride, int n_tokens,
                        int32x4_t sum[TILE_TOKENS][TILE_VECTORS]) {
    const size_t bytes = (size_t)2 * FCT_STRIP * (size_t)fct_scheme_bits(scheme); /* of 16 inputs */
    UNROLL for (int half = 0; half < 2; half++) {
        int8x16_t a[TILE_TOKENS];
        UNROLL for (int t = 0; t < n_tokens; t++) a[t] =
            vld1q_s8(x + (size_t)t * stride + 16 * half);
        dot_16(scheme, codes + half * bytes, n_vectors, a, n_tokens, sum);
    }
}

#endif
