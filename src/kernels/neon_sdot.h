/* neon_sdot.h - the dot product of 32 inputs with sdot, whose second operand is one lane of a
 * register.
 *
 * So 16 activations in one register meet four lines of weights, and nothing is ever broadcast. */
#ifndef FCT_KERNELS_NEON_SDOT_H
#define FCT_KERNELS_NEON_SDOT_H

#include "kernels/neon_tile.h"

/* sum[i] += q[4i .. 4i+3] . x[4 lane ...]. As vdotq_laneq_s32, for which gcc 12 copies accumulators
 * around in long loops: 6.3 instead of 5.9 instructions for 32 weights. */
#define SDOT_LANE(sum, q, x, lane)                                                                 \
    __asm__("sdot %0.4s, %1.16b, %2.4b[" #lane "]" : "+w"(sum) : "w"(q), "w"(x))

/* The same codes for every token. */
#define SDOT_TOKENS(lane, q)                                                                       \
    UNROLL for (int t = 0; t < n_tokens; t++) SDOT_LANE(sum[t][v], q, a[t], lane)

/* 16 inputs: a register of activations a token. */
TILE_INLINE void dot_16(enum fct_scheme scheme, const uint8_t *codes, int n_vectors,
                        const int8x16_t a[TILE_TOKENS], int n_tokens,
                        int32x4_t sum[TILE_TOKENS][TILE_VECTORS]) {
    enum { Q4_UNITS = 2, Q8_UNITS = 4 };
    uint8x16_t raw[Q8_UNITS][TILE_VECTORS];
    const int n_units = scheme == FCT_Q4 ? Q4_UNITS : scheme == FCT_Q8 ? Q8_UNITS : 1;
    const uint8x16_t low_4 = vdupq_n_u8(15), low_2 = vdupq_n_u8(3);
    UNROLL for (int u = 0; u < n_units; u++) {
        UNROLL for (int v = 0; v < n_vectors; v++) raw[u][v] = vld1q_u8(codes + 64 * u + 16 * v);
        UNROLL for (int v = 0; v < n_vectors; v++) {
            if (scheme == FCT_Q4) {
                uint8x16_t q0 = vandq_u8(raw[u][v], low_4), q1 = vshrq_n_u8(raw[u][v], 4);
                if (u == 0) {
                    SDOT_TOKENS(0, q0);
                    SDOT_TOKENS(1, q1);
                } else {
                    SDOT_TOKENS(2, q0);
                    SDOT_TOKENS(3, q1);
                }
            } else if (scheme == FCT_Q8) {
                if (u == 0) SDOT_TOKENS(0, raw[u][v]);
                if (u == 1) SDOT_TOKENS(1, raw[u][v]);
                if (u == 2) SDOT_TOKENS(2, raw[u][v]);
                if (u == 3) SDOT_TOKENS(3, raw[u][v]);
            } else {
                SDOT_TOKENS(0, vandq_u8(raw[u][v], low_2));
                SDOT_TOKENS(1, vandq_u8(vshrq_n_u8(raw[u][v], 2), low_2));
                SDOT_TOKENS(2, vandq_u8(vshrq_n_u8(raw[u][v], 4), low_2));
                SDOT_TOKENS(3, vshrq_n_u8(raw[u][v], 6));
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
