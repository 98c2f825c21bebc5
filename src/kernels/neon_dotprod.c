/* neon_dotprod.c - kernels for ARMv8.2 with dot product: Cortex-A76 (Raspberry Pi 5) and newer. */
#include "kernels/neon_ops.h"
#include "kernels/neon_sdot.h"

#include "kernels/neon_matmul.h"
#include "kernels/neon_panel.h"
#include "kernels/tables.h"

/* From this many tokens on, unpacking once is cheaper than unpacking for every four. */
enum { MANY_TOKENS = 12 };

/* A panel is laid out like Q8: a line of 64 bytes has four inputs of 16 rows. */
TILE_INLINE void panel_put(int8_t *to, int v, int8x16_t first, int8x16_t last) {
    vst1q_s8(to + 16 * v, first);
    vst1q_s8(to + 64 + 16 * v, last);
}

TILE_INLINE void panel_in_groups(const struct panel *panel, int half, const struct panel_job *job,
                                 bool grouped, const int n_tokens) {
    const uint8_t *codes = (const uint8_t *)panel->codes + 32 * half;
    const int8_t *x = job->x;
    const struct fct_act_group *groups = job->groups;
    float32x4_t total[TILE_TOKENS][TILE_VECTORS];
    UNROLL for (int t = 0; t < n_tokens; t++) {
        UNROLL for (int v = 0; v < PANEL_VECTORS; v++) {
            total[t][v] = panel->begins ? vdupq_n_f32(0)
                                        : vld1q_f32(job->y + (size_t)t * job->y_stride + 4 * v);
        }
    }
    for (int g = 0; g < panel->inputs / panel->group; g++, groups++) {
        int32x4_t sum[TILE_TOKENS][TILE_VECTORS];
        start_sums(FCT_Q8, groups, 0, PANEL_VECTORS, n_tokens, sum);
        for (int i = 0; i < panel->group; i += 32, x += 32, codes += 32 * FCT_STRIP) {
            dot_32(FCT_Q8, codes, PANEL_VECTORS, x, job->stride, n_tokens, sum);
        }
        float32x4_t scales[TILE_VECTORS] = {vld1q_f32(panel->scales[g] + 8 * half),
                                            vld1q_f32(panel->scales[g] + 8 * half + 4)};
        add_scaled(sum, grouped, scales, groups, job->groups_stride, PANEL_VECTORS, n_tokens,
                   total);
    }
    UNROLL for (int t = 0; t < n_tokens; t++) {
        UNROLL for (int v = 0; v < PANEL_VECTORS; v++) {
            float32x4_t rows = vld1q_f32(panel->scales[0] + 8 * half + 4 * v);
            vst1q_f32(job->y + (size_t)t * job->y_stride + 4 * v,
                      panel->ends && !grouped ? vmulq_f32(total[t][v], rows) : total[t][v]);
        }
    }
}

TILE_INLINE void panel_rows(const struct panel *panel, int half, const struct panel_job *job,
                            const int n_tokens) {
    const uint8_t *codes = (const uint8_t *)panel->codes + 32 * half;
    const int8_t *x = job->x;
    int32x4_t sum[TILE_TOKENS][TILE_VECTORS];
    UNROLL for (int t = 0; t < n_tokens; t++) {
        UNROLL for (int v = 0; v < PANEL_VECTORS; v++) {
            float *y = job->y + (size_t)t * job->y_stride + 4 * v;
            sum[t][v] = panel->begins ? vdupq_n_s32(0) : vreinterpretq_s32_f32(vld1q_f32(y));
        }
    }
    for (int i = 0; i < panel->inputs; i += 32, x += 32, codes += 32 * FCT_STRIP) {
        dot_32(FCT_Q8, codes, PANEL_VECTORS, x, job->stride, n_tokens, sum);
    }
    UNROLL for (int t = 0; t < n_tokens; t++) {
        UNROLL for (int v = 0; v < PANEL_VECTORS; v++) {
            float32x4_t scaled =
                vmulq_f32(vcvtq_f32_s32(sum[t][v]), vld1q_f32(panel->scales[0] + 8 * half + 4 * v));
            vst1q_f32(job->y + (size_t)t * job->y_stride + 4 * v,
                      panel->ends
                          ? vmulq_n_f32(scaled, job->groups[(size_t)t * job->groups_stride].scale)
                          : vreinterpretq_f32_s32(sum[t][v]));
        }
    }
}

#define TILE_OF(n_tokens)                                                                          \
    if (panel->grouped)                                                                            \
        panel_in_groups(panel, half, job, true, n_tokens);                                         \
    else if (panel->group)                                                                         \
        panel_in_groups(panel, half, job, false, n_tokens);                                        \
    else                                                                                           \
        panel_rows(panel, half, job, n_tokens)

static void panel_tile(const struct panel *panel, int half, const struct panel_job *job,
                       int n_tokens) {
    switch (n_tokens) {
    case 1:
        TILE_OF(1);
        break;
    case 2:
        TILE_OF(2);
        break;
    case 3:
        TILE_OF(3);
        break;
    default:
        TILE_OF(4);
        break;
    }
}

static void matmul(const struct fct_matrix *w, const struct fct_act *act, int n_tokens, int begin,
                   int end, float *y, size_t y_stride) {
    if (n_tokens < MANY_TOKENS)
        matmul_few(w, act, 0, n_tokens, TILE_TOKENS, begin, end, y, y_stride);
    else
        matmul_many(w, act, n_tokens, begin, end, y, y_stride);
}

const struct fct_kernels fct_kernels_neon_dotprod = {.name = "neon_dotprod",
                                                     .matmul = matmul,
                                                     .matmul_f32 = matmul_f32,
                                                     FCT_FLOAT_OPS,
                                                     FCT_ATTEND_OPS};
