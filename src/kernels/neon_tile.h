/* neon_tile.h - a few rows times a few tokens on NEON: the inner loops of every int8 matrix
 * product.
 *
 * The file that includes this defines dot_32 (declared below) for its instruction set. Everything
 * here is a template: numbers of strips, vectors and tokens are constants at each use, so that all
 * sums stay in registers. A vector is four rows; a strip has four of them, and a tile takes all
 * four or the lower or upper two. */
#ifndef FCT_KERNELS_NEON_TILE_H
#define FCT_KERNELS_NEON_TILE_H

#include <arm_neon.h>

#include "kernels/blocks.h"

#define TILE_INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 8")

/* The most that one tile holds. */
enum { TILE_STRIPS = 2, TILE_TOKENS = 4, TILE_VECTORS = 4 };

/* What a tile computes: n_strips strips or a part of one, n_tokens tokens. */
struct tile_job {
    const uint8_t *strip; /* the first one */
    size_t strip_bytes;
    int first;                          /* vector of the strip to begin with */
    int group, columns;                 /* columns with padding */
    const int8_t *x;                    /* codes of the first token */
    size_t stride;                      /* from token to token */
    const struct fct_act_group *groups; /* of the activations of the first token */
    size_t groups_stride;
    float *y; /* the first token's value of the first row of the strip */
    size_t y_stride;
};

/* sum[token][vector] += the products of 32 inputs. codes: of the first vector. How many
 * instructions that takes is all that the instruction sets differ in. */
TILE_INLINE void dot_32(enum fct_scheme scheme, const uint8_t *codes, int n_vectors,
                        const int8_t *x, size_t stride, int n_tokens,
                        int32x4_t sum[TILE_TOKENS][TILE_VECTORS]);

/* float16 scales as floats, vectors in pairs: one load, fcvtl, fcvtl2. */
TILE_INLINE void load_half_scales(const uint8_t *halves, int n_vectors,
                                  float32x4_t scales[TILE_VECTORS]) {
    UNROLL for (int v = 0; v < n_vectors; v += 2) {
        float16x8_t pair = vreinterpretq_f16_u8(vld1q_u8(halves + 8 * v));
        scales[v] = vcvt_f32_f16(vget_low_f16(pair));
        scales[v + 1] = vcvt_high_f32_f16(pair);
    }
}

/* Codes are unsigned: the sum starts with what their offset (8, or 2) takes away. */
TILE_INLINE int32x4_t start_of_sum(enum fct_scheme scheme, const int32_t *minus_8_sum) {
    if (scheme == FCT_Q4) return vld1q_dup_s32(minus_8_sum);
    if (scheme == FCT_Q2) return vshrq_n_s32(vld1q_dup_s32(minus_8_sum), 2);
    return vdupq_n_s32(0);
}

TILE_INLINE void start_sums(enum fct_scheme scheme, const struct fct_act_group *group,
                            size_t stride, int n_vectors, int n_tokens,
                            int32x4_t sum[TILE_TOKENS][TILE_VECTORS]) {
    UNROLL for (int t = 0; t < n_tokens; t++) {
        int32x4_t start = start_of_sum(scheme, &group[(size_t)t * stride].minus_8_sum);
        UNROLL for (int v = 0; v < n_vectors; v++) sum[t][v] = start;
    }
}

/* total += sum * scales of the activations, fused; scales, where there are any (grouped), are those
 * of the weights, and multiplied first. */
TILE_INLINE void add_scaled(int32x4_t sum[TILE_TOKENS][TILE_VECTORS], bool grouped,
                            const float32x4_t scales[TILE_VECTORS],
                            const struct fct_act_group *group, size_t stride, int n_vectors,
                            int n_tokens, float32x4_t total[TILE_TOKENS][TILE_VECTORS]) {
    UNROLL for (int t = 0; t < n_tokens; t++) {
        float scale = group[(size_t)t * stride].scale;
        UNROLL for (int v = 0; v < n_vectors; v++) {
            float32x4_t value = vcvtq_f32_s32(sum[t][v]);
            total[t][v] = grouped ? vfmaq_f32(total[t][v], value, vmulq_n_f32(scales[v], scale))
                                  : vfmaq_n_f32(total[t][v], value, scale);
        }
    }
}

/* The activations have a scale a group, and the weights too (grouped), or one a row: integer sums
 * inside a group, float sums over the groups. Tiles of two groups. */
TILE_INLINE void tile_in_groups(const struct tile_job *job, enum fct_scheme scheme, bool grouped,
                                int group, int n_strips, int n_vectors, int n_tokens) {
    const size_t block_bytes = (size_t)4 * FCT_STRIP * (size_t)fct_scheme_bits(scheme); /* of 32 */
    const size_t group_bytes = (size_t)group / 32 * block_bytes, header = grouped ? 64 : 0;
    const uint8_t *codes[TILE_STRIPS], *halves[TILE_STRIPS];
    float32x4_t total[TILE_STRIPS][TILE_TOKENS][TILE_VECTORS];
    UNROLL for (int s = 0; s < n_strips; s++) {
        const uint8_t *strip = job->strip + (size_t)s * job->strip_bytes;
        halves[s] = n_vectors == 4 ? strip : strip + 8 * job->first;
        codes[s] = (n_vectors == 4 ? strip : strip + 16 * job->first) + header;
        UNROLL for (int t = 0; t < n_tokens; t++) {
            UNROLL for (int v = 0; v < n_vectors; v++) total[s][t][v] = vdupq_n_f32(0);
        }
    }
    const int8_t *x = job->x;
    const struct fct_act_group *groups = job->groups;
    for (int left = job->columns; left > 0; left -= 2 * group) {
        UNROLL for (int half = 0; half < 2; half++) {
            UNROLL for (int s = 0; s < n_strips; s++) {
                int32x4_t sum[TILE_TOKENS][TILE_VECTORS];
                float32x4_t scales[TILE_VECTORS];
                start_sums(scheme, groups + half, job->groups_stride, n_vectors, n_tokens, sum);
                for (int i = 0; i < group / 32; i++) {
                    dot_32(scheme, codes[s] + half * group_bytes + (size_t)i * block_bytes,
                           n_vectors, x + half * group + 32 * i, job->stride, n_tokens, sum);
                }
                if (grouped) load_half_scales(halves[s] + 32 * half, n_vectors, scales);
                add_scaled(sum, grouped, scales, groups + half, job->groups_stride, n_vectors,
                           n_tokens, total[s]);
            }
        }
        UNROLL for (int s = 0; s < n_strips; s++) {
            codes[s] += header + 2 * group_bytes;
            halves[s] += header + 2 * group_bytes;
        }
        x += 2 * group;
        groups += 2;
    }
    UNROLL for (int s = 0; s < n_strips; s++) {
        const float *rows = (const float *)(codes[s] - 16 * job->first) + 4 * job->first;
        UNROLL for (int t = 0; t < n_tokens; t++) {
            float *y = job->y + (size_t)t * job->y_stride + 16 * s + 4 * job->first;
            UNROLL for (int v = 0; v < n_vectors; v++) {
                vst1q_f32(y + 4 * v, grouped ? total[s][t][v]
                                             : vmulq_f32(total[s][t][v], vld1q_f32(rows + 4 * v)));
            }
        }
    }
}

/* One scale a row, and one a token: integer sums all the way. */
TILE_INLINE void tile_rows(const struct tile_job *job, enum fct_scheme scheme, int n_strips,
                           int n_vectors, int n_tokens) {
    const size_t block_bytes = (size_t)4 * FCT_STRIP * (size_t)fct_scheme_bits(scheme); /* of 32 */
    const uint8_t *codes[TILE_STRIPS];
    int32x4_t sum[TILE_STRIPS][TILE_TOKENS][TILE_VECTORS];
    UNROLL for (int s = 0; s < n_strips; s++) {
        codes[s] = job->strip + (size_t)s * job->strip_bytes + 16 * job->first;
        start_sums(scheme, job->groups, job->groups_stride, n_vectors, n_tokens, sum[s]);
    }
    const int8_t *x = job->x;
    for (int left = job->columns; left > 0; left -= 64) {
        UNROLL for (int half = 0; half < 2; half++) {
            UNROLL for (int s = 0; s < n_strips; s++) {
                dot_32(scheme, codes[s] + half * block_bytes, n_vectors, x + 32 * half, job->stride,
                       n_tokens, sum[s]);
            }
        }
        UNROLL for (int s = 0; s < n_strips; s++) codes[s] += 2 * block_bytes;
        x += 64;
    }
    UNROLL for (int s = 0; s < n_strips; s++) {
        const float *scales = (const float *)(codes[s] - 16 * job->first) + 4 * job->first;
        UNROLL for (int t = 0; t < n_tokens; t++) {
            float *y = job->y + (size_t)t * job->y_stride + 16 * s + 4 * job->first;
            float scale = job->groups[(size_t)t * job->groups_stride].scale;
            UNROLL for (int v = 0; v < n_vectors; v++) {
                float32x4_t scaled =
                    vmulq_f32(vcvtq_f32_s32(sum[s][t][v]), vld1q_f32(scales + 4 * v));
                vst1q_f32(y + 4 * v, vmulq_n_f32(scaled, scale));
            }
        }
    }
}

#endif
