/* neon_ops.h - what all NEON tables share beside integer products: attention with sums in
 * registers, and the float operations as the compiler makes them. */
#ifndef FCT_KERNELS_NEON_OPS_H
#define FCT_KERNELS_NEON_OPS_H

#include <arm_neon.h>

#include "kernels/blocks.h"

#define FCT_OWN_ATTEND_BLOCKS

#define ATTEND_INLINE static inline __attribute__((always_inline))
#define UNROLL_4 _Pragma("GCC unroll 4")

/* ---- attention: four queries at a time, 16 sums in 16 registers ---- */

enum { QUERIES = 4 };

/* 16 elements of a block of keys or values, from element i on, as floats. */
ATTEND_INLINE void load_16(enum fct_kv_type type, const void *block, size_t i, float32x4_t to[4]) {
    if (type == FCT_KV_TYPE_F32) {
        UNROLL_4 for (int v = 0; v < 4; v++) to[v] = vld1q_f32((const float *)block + i + 4 * v);
    } else if (type == FCT_KV_TYPE_F16) {
        UNROLL_4 for (int v = 0; v < 4; v += 2) {
            float16x8_t halves =
                vreinterpretq_f16_u16(vld1q_u16((const uint16_t *)block + i + 4 * v));
            to[v] = vcvt_f32_f16(vget_low_f16(halves));
            to[v + 1] = vcvt_high_f32_f16(halves);
        }
    } else {
        int8x16_t bytes = vld1q_s8((const int8_t *)block + i);
        int16x8_t low = vmovl_s8(vget_low_s8(bytes)), high = vmovl_high_s8(bytes);
        to[0] = vcvtq_f32_s32(vmovl_s16(vget_low_s16(low)));
        to[1] = vcvtq_f32_s32(vmovl_high_s16(low));
        to[2] = vcvtq_f32_s32(vmovl_s16(vget_low_s16(high)));
        to[3] = vcvtq_f32_s32(vmovl_high_s16(high));
    }
}

/* sum[q] += x * lane `lane` of factors[q], fused. A macro, because a lane is a literal. */
#define ADD_LANE(lane, x)                                                                          \
    UNROLL_4 for (int q = 0; q < n; q++) {                                                         \
        UNROLL_4 for (int v = 0; v < 4; v++) {                                                     \
            sum[q][v] = vfmaq_laneq_f32(sum[q][v], (x)[v], factors[q], lane);                      \
        }                                                                                          \
    }

/* sum += the four vectors of 16 from element i on, each times a lane of factors, in order. */
ATTEND_INLINE void add_four(enum fct_kv_type type, const void *block, size_t i,
                            const float32x4_t factors[QUERIES], int n,
                            float32x4_t sum[QUERIES][4]) {
    float32x4_t x[4];
    load_16(type, block, i, x);
    ADD_LANE(0, x)
    load_16(type, block, i + 16, x);
    ADD_LANE(1, x)
    load_16(type, block, i + 32, x);
    ADD_LANE(2, x)
    load_16(type, block, i + 48, x);
    ADD_LANE(3, x)
}

ATTEND_INLINE void score_queries(enum fct_kv_type type, const void *keys, int head_dim,
                                 const float *queries, int n, float *scores) {
    float32x4_t sum[QUERIES][4], factors[QUERIES];
    UNROLL_4 for (int q = 0; q < n; q++) {
        UNROLL_4 for (int v = 0; v < 4; v++) sum[q][v] = vdupq_n_f32(0);
    }
    for (int d = 0; d < head_dim; d += 4) {
        UNROLL_4 for (int q = 0; q < n; q++) {
            factors[q] = vld1q_f32(queries + (size_t)q * (size_t)head_dim + d);
        }
        add_four(type, keys, (size_t)d * FCT_KV_BLOCK, factors, n, sum);
    }
    UNROLL_4 for (int q = 0; q < n; q++) {
        UNROLL_4 for (int v = 0; v < 4; v++)
            vst1q_f32(scores + q * FCT_KV_CHUNK + 4 * v, sum[q][v]);
    }
}

ATTEND_INLINE void add_values(enum fct_kv_type type, const void *values, int head_dim,
                              const float *weights, int n, int begin, int end, float *out) {
    float32x4_t sum[QUERIES][4], factors[QUERIES], value[4];
    for (int d = 0; d < head_dim; d += 16) {
        UNROLL_4 for (int q = 0; q < n; q++) {
            UNROLL_4 for (int v = 0; v < 4; v++) {
                sum[q][v] = vld1q_f32(out + (size_t)q * (size_t)head_dim + d + 4 * v);
            }
        }
        int p = begin;
        for (; p + 4 <= end; p += 4) {
            UNROLL_4 for (int q = 0; q < n; q++) factors[q] =
                vld1q_f32(weights + q * FCT_KV_CHUNK + p);
            add_four(type, values, (size_t)(d + p) * 16, factors, n, sum);
        }
        for (; p < end; p++) {
            UNROLL_4 for (int q = 0; q < n; q++) {
                factors[q] = vld1q_dup_f32(weights + q * FCT_KV_CHUNK + p);
            }
            load_16(type, values, (size_t)(d + p) * 16, value);
            ADD_LANE(0, value)
        }
        UNROLL_4 for (int q = 0; q < n; q++) {
            UNROLL_4 for (int v = 0; v < 4; v++) {
                vst1q_f32(out + (size_t)q * (size_t)head_dim + d + 4 * v, sum[q][v]);
            }
        }
    }
}

#define FOR_TYPES(f, ...)                                                                          \
    switch (type) {                                                                                \
    case FCT_KV_TYPE_F32:                                                                          \
        f(FCT_KV_TYPE_F32, __VA_ARGS__);                                                           \
        break;                                                                                     \
    case FCT_KV_TYPE_F16:                                                                          \
        f(FCT_KV_TYPE_F16, __VA_ARGS__);                                                           \
        break;                                                                                     \
    default:                                                                                       \
        f(FCT_KV_TYPE_Q8, __VA_ARGS__);                                                            \
        break;                                                                                     \
    }

/* As in attend_ops.h: scores of n queries against a block of keys. */
static void score_block(enum fct_kv_type type, const void *keys, int head_dim, const float *queries,
                        int n, float *scores) {
    int q = 0;
    for (; q + QUERIES <= n; q += QUERIES) {
        FOR_TYPES(score_queries, keys, head_dim, queries, QUERIES, scores)
        queries += (size_t)QUERIES * (size_t)head_dim;
        scores += QUERIES * FCT_KV_CHUNK;
    }
    for (; q < n; q++, queries += head_dim, scores += FCT_KV_CHUNK) {
        FOR_TYPES(score_queries, keys, head_dim, queries, 1, scores)
    }
}

/* As in attend_ops.h: out += weights times the values at positions [begin, end) of a block. */
static void value_block(enum fct_kv_type type, const void *values, int head_dim,
                        const float *weights, int n, int begin, int end, float *out) {
    int q = 0;
    for (; q + QUERIES <= n; q += QUERIES) {
        FOR_TYPES(add_values, values, head_dim, weights, QUERIES, begin, end, out)
        weights += QUERIES * FCT_KV_CHUNK;
        out += (size_t)QUERIES * (size_t)head_dim;
    }
    for (; q < n; q++, weights += FCT_KV_CHUNK, out += head_dim) {
        FOR_TYPES(add_values, values, head_dim, weights, 1, begin, end, out)
    }
}

#include "kernels/attend_ops.h"
#include "kernels/matmul_f32.h"

#endif
