/* neon_i8mm.c - kernels for ARMv8.6 with the int8 matrix multiplication smmla: Cortex-X2, A510,
 * A710 and newer.
 *
 * smmla multiplies two rows with two tokens over eight inputs, twice the work of sdot. That pays
 * for many tokens; a few wait for memory anyway and take sdot. */
#include "kernels/neon_ops.h"
#include "kernels/neon_sdot.h"

#include "kernels/neon_matmul.h"
#include "kernels/neon_panel.h"
#include "kernels/tables.h"

enum { MANY_TOKENS = 8, ROW_PAIRS = 4, TOKEN_PAIRS = 2 };

/* Zipping puts the eight inputs of a row side by side: rows 0 and 1, then rows 2 and 3. */
TILE_INLINE void panel_put(int8_t *to, int v, int8x16_t first, int8x16_t last) {
    int32x4_t a = vreinterpretq_s32_s8(first), b = vreinterpretq_s32_s8(last);
    vst1q_s8(to + 32 * v, vreinterpretq_s8_s32(vzip1q_s32(a, b)));
    vst1q_s8(to + 32 * v + 16, vreinterpretq_s8_s32(vzip2q_s32(a, b)));
}

/* A sum has two rows and two tokens: row 0 token 0, row 0 token 1, row 1 token 0, row 1 token 1. */
typedef int32x4_t pair_sums[ROW_PAIRS][TOKEN_PAIRS];

/* As in SDOT_LANE: intrinsics make gcc 12 copy accumulators. */
#define SMMLA(sum, q, x) __asm__("smmla %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(q), "w"(x))

/* 16 inputs. codes: of half a strip, eight inputs every 128 bytes; x: of each token. */
TILE_INLINE void multiply_16(const int8_t *codes, const int8_t *const x[PANEL_TILE],
                             pair_sums sum) {
    int64x2_t a[PANEL_TILE];
    UNROLL for (int t = 0; t < PANEL_TILE; t++) a[t] = vreinterpretq_s64_s8(vld1q_s8(x[t]));
    UNROLL for (int eight = 0; eight < 2; eight++) {
        UNROLL for (int r = 0; r < ROW_PAIRS; r++) {
            int8x16_t q = vld1q_s8(codes + 128 * eight + 16 * r);
            UNROLL for (int p = 0; p < TOKEN_PAIRS; p++) {
                int64x2_t pair =
                    eight ? vzip2q_s64(a[2 * p], a[2 * p + 1]) : vzip1q_s64(a[2 * p], a[2 * p + 1]);
                SMMLA(sum[r][p], q, pair);
            }
        }
    }
}

/* Sums of two rows and two tokens, from and to y: four rows of token a and of token b. */
TILE_INLINE void load_pairs(const float *a, const float *b, float32x4_t *rows_01,
                            float32x4_t *rows_23) {
    float32x4_t y_a = vld1q_f32(a), y_b = vld1q_f32(b);
    *rows_01 = vzip1q_f32(y_a, y_b);
    *rows_23 = vzip2q_f32(y_a, y_b);
}

/* Where the tokens of a tile are; a tile of less than four has the last one several times. */
struct tile_tokens {
    const int8_t *x[PANEL_TILE];
    float *y[PANEL_TILE];
    const struct fct_act_group *groups[PANEL_TILE];
};

static struct tile_tokens tokens_of(const struct panel_job *job, int n_tokens) {
    struct tile_tokens tokens;
    for (int t = 0; t < PANEL_TILE; t++) {
        int token = t < n_tokens ? t : n_tokens - 1;
        tokens.x[t] = job->x + (size_t)token * job->stride;
        tokens.y[t] = job->y + (size_t)token * job->y_stride;
        tokens.groups[t] = job->groups + (size_t)token * job->groups_stride;
    }
    return tokens;
}

/* The first n_tokens are stored. */
TILE_INLINE void store_tile(const struct tile_tokens *tokens,
                            float32x4_t total[ROW_PAIRS][TOKEN_PAIRS], int n_tokens) {
    for (int t = 0; t < n_tokens; t++) {
        for (int r = 0; r < ROW_PAIRS; r += 2) {
            float32x4_t a = total[r][t / 2], b = total[r + 1][t / 2];
            vst1q_f32(tokens->y[t] + 2 * r, t % 2 ? vuzp2q_f32(a, b) : vuzp1q_f32(a, b));
        }
    }
}

/* Scales of eight rows, each twice. */
TILE_INLINE void load_row_scales(const float *scales, float32x4_t to[ROW_PAIRS]) {
    UNROLL for (int r = 0; r < ROW_PAIRS; r += 2) {
        float32x4_t four = vld1q_f32(scales + 2 * r);
        to[r] = vzip1q_f32(four, four);
        to[r + 1] = vzip2q_f32(four, four);
    }
}

/* Scales of group g of both tokens of a pair, twice. */
TILE_INLINE float32x4_t token_scales(const struct tile_tokens *tokens, int pair, int g) {
    float32x2_t two = {tokens->groups[2 * pair][g].scale, tokens->groups[2 * pair + 1][g].scale};
    return vcombine_f32(two, two);
}

/* What y holds of the inputs before this panel. */
TILE_INLINE void load_tile(const struct panel *panel, const struct tile_tokens *tokens,
                           float32x4_t total[ROW_PAIRS][TOKEN_PAIRS]) {
    UNROLL for (int p = 0; p < TOKEN_PAIRS; p++) {
        UNROLL for (int r = 0; r < ROW_PAIRS; r += 2) {
            total[r][p] = total[r + 1][p] = vdupq_n_f32(0);
            if (!panel->begins)
                load_pairs(tokens->y[2 * p] + 2 * r, tokens->y[2 * p + 1] + 2 * r, &total[r][p],
                           &total[r + 1][p]);
        }
    }
}

TILE_INLINE void panel_in_groups(const struct panel *panel, int half, bool grouped,
                                 const struct tile_tokens *tokens, int n_tokens) {
    const int8_t *codes = panel->codes + 64 * half;
    const int8_t *x[PANEL_TILE] = {tokens->x[0], tokens->x[1], tokens->x[2], tokens->x[3]};
    float32x4_t total[ROW_PAIRS][TOKEN_PAIRS], scales[ROW_PAIRS];
    load_tile(panel, tokens, total);
    load_row_scales(panel->scales[0] + 8 * half, scales);
    for (int g = 0; g < panel->inputs / panel->group; g++) {
        pair_sums sum;
        UNROLL for (int r = 0; r < ROW_PAIRS; r++) {
            UNROLL for (int p = 0; p < TOKEN_PAIRS; p++) sum[r][p] = vdupq_n_s32(0);
        }
        for (int i = 0; i < panel->group; i += 32) {
            UNROLL for (int part = 0; part < 2; part++) {
                multiply_16(codes, x, sum);
                codes += 16 * FCT_STRIP;
                UNROLL for (int t = 0; t < PANEL_TILE; t++) x[t] += 16;
            }
        }
        if (grouped) load_row_scales(panel->scales[g] + 8 * half, scales);
        UNROLL for (int p = 0; p < TOKEN_PAIRS; p++) {
            float32x4_t pair = token_scales(tokens, p, g);
            UNROLL for (int r = 0; r < ROW_PAIRS; r++) {
                total[r][p] = vfmaq_f32(total[r][p], vcvtq_f32_s32(sum[r][p]),
                                        grouped ? vmulq_f32(scales[r], pair) : pair);
            }
        }
    }
    UNROLL for (int r = 0; r < ROW_PAIRS; r++) {
        UNROLL for (int p = 0; p < TOKEN_PAIRS; p++) {
            if (panel->ends && !grouped) total[r][p] = vmulq_f32(total[r][p], scales[r]);
        }
    }
    store_tile(tokens, total, n_tokens);
}

static void panel_rows(const struct panel *panel, int half, const struct tile_tokens *tokens,
                       int n_tokens) {
    const int8_t *codes = panel->codes + 64 * half;
    const int8_t *x[PANEL_TILE] = {tokens->x[0], tokens->x[1], tokens->x[2], tokens->x[3]};
    float32x4_t total[ROW_PAIRS][TOKEN_PAIRS], scales[ROW_PAIRS];
    pair_sums sum;
    load_tile(panel, tokens, total);
    UNROLL for (int r = 0; r < ROW_PAIRS; r++) {
        UNROLL for (int p = 0; p < TOKEN_PAIRS; p++) sum[r][p] = vreinterpretq_s32_f32(total[r][p]);
    }
    for (int i = 0; i < panel->inputs; i += 16, codes += 16 * FCT_STRIP) {
        multiply_16(codes, x, sum);
        UNROLL for (int t = 0; t < PANEL_TILE; t++) x[t] += 16;
    }
    load_row_scales(panel->scales[0] + 8 * half, scales);
    UNROLL for (int p = 0; p < TOKEN_PAIRS; p++) {
        float32x4_t pair = token_scales(tokens, p, 0);
        UNROLL for (int r = 0; r < ROW_PAIRS; r++) {
            float32x4_t scaled = vmulq_f32(vmulq_f32(vcvtq_f32_s32(sum[r][p]), scales[r]), pair);
            total[r][p] = panel->ends ? scaled : vreinterpretq_f32_s32(sum[r][p]);
        }
    }
    store_tile(tokens, total, n_tokens);
}

static void panel_tile(const struct panel *panel, int half, const struct panel_job *job,
                       int n_tokens) {
    struct tile_tokens tokens = tokens_of(job, n_tokens);
    if (panel->grouped)
        panel_in_groups(panel, half, true, &tokens, n_tokens);
    else if (panel->group)
        panel_in_groups(panel, half, false, &tokens, n_tokens);
    else
        panel_rows(panel, half, &tokens, n_tokens);
}

static void matmul(const struct fct_matrix *w, const struct fct_act *act, int n_tokens, int begin,
                   int end, float *y, size_t y_stride) {
    if (n_tokens < MANY_TOKENS)
        matmul_few(w, act, 0, n_tokens, TILE_TOKENS, begin, end, y, y_stride);
    else
        matmul_many(w, act, n_tokens, begin, end, y, y_stride);
}

const struct fct_kernels fct_kernels_neon_i8mm = {
    .name = "neon_i8mm", .matmul = matmul, .matmul_f32 = matmul_f32, FCT_FLOAT_OPS, FCT_ATTEND_OPS};
