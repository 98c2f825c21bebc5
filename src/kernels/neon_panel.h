/* neon_panel.h - a matrix times many tokens on NEON: codes are unpacked once for a block of tokens.
 *
 * A panel is a strip of up to PANEL_INPUTS inputs as signed bytes with float scales: 18 KB, which
 * stay in L1 while PANEL_TOKENS tokens (128 KB, in L2) pass. Sums that are not finished wait in y
 * between panels: floats as they are, integers (one scale a row) as bits; so the order of
 * operations is that of one token.
 *
 * The file that includes this defines panel_put and panel_tile for its instruction set. */
#ifndef FCT_KERNELS_NEON_PANEL_H
#define FCT_KERNELS_NEON_PANEL_H

#include <string.h>

#include "kernels/neon_tile.h"

enum { PANEL_INPUTS = 1024, PANEL_TOKENS = 128, PANEL_TILE = 4, PANEL_VECTORS = 2 };

struct panel {
    _Alignas(64) int8_t codes[PANEL_INPUTS * FCT_STRIP];     /* [inputs / 8][128] */
    _Alignas(64) float scales[PANEL_INPUTS / 32][FCT_STRIP]; /* of groups; [0] of rows */
    int inputs, group;                                       /* of activations */
    bool grouped;                                            /* weights have groups, too */
    bool begins, ends;                                       /* the columns */
};

/* What a panel is multiplied with: up to PANEL_TILE tokens, half a strip. */
struct panel_job {
    const int8_t *x;
    size_t stride;
    const struct fct_act_group *groups;
    size_t groups_stride;
    float *y; /* of row 0 of the half */
    size_t y_stride;
};

/* Puts the codes of four rows (vector v of the strip) and eight inputs, first four and last four,
 * into the 128 bytes of these inputs. */
TILE_INLINE void panel_put(int8_t *to, int v, int8x16_t first, int8x16_t last);
/* Rows 8 half ... 8 half + 7 of the panel times n_tokens <= PANEL_TILE tokens. */
static void panel_tile(const struct panel *panel, int half, const struct panel_job *job,
                       int n_tokens);

/* ---- unpacking ---- */

TILE_INLINE int8x16_t less(uint8x16_t codes, uint8_t offset) {
    return vreinterpretq_s8_u8(vsubq_u8(codes, vdupq_n_u8(offset)));
}

static void unpack_q4(const uint8_t *codes, int n, int8_t *to) {
    for (int i = 0; i < n; i += 8, codes += 64, to += 128) {
        UNROLL for (int v = 0; v < 4; v++) {
            uint8x16_t raw = vld1q_u8(codes + 16 * v);
            panel_put(to, v, less(vandq_u8(raw, vdupq_n_u8(15)), 8), less(vshrq_n_u8(raw, 4), 8));
        }
    }
}

static void unpack_q8(const uint8_t *codes, int n, int8_t *to) {
    for (int i = 0; i < n; i += 8, codes += 128, to += 128) {
        UNROLL for (int v = 0; v < 4; v++) {
            panel_put(to, v, less(vld1q_u8(codes + 16 * v), 0),
                      less(vld1q_u8(codes + 64 + 16 * v), 0));
        }
    }
}

static void unpack_q2(const uint8_t *codes, int n, int8_t *to) {
    const uint8x16_t low = vdupq_n_u8(3);
    for (int i = 0; i < n; i += 16, codes += 64, to += 256) {
        UNROLL for (int v = 0; v < 4; v++) {
            uint8x16_t raw = vld1q_u8(codes + 16 * v);
            panel_put(to, v, less(vandq_u8(raw, low), 2),
                      less(vandq_u8(vshrq_n_u8(raw, 2), low), 2));
            panel_put(to + 128, v, less(vandq_u8(vshrq_n_u8(raw, 4), low), 2),
                      less(vshrq_n_u8(raw, 6), 2));
        }
    }
}

static void unpack(enum fct_scheme scheme, const uint8_t *codes, int n, int8_t *to) {
    if (scheme == FCT_Q4)
        unpack_q4(codes, n, to);
    else if (scheme == FCT_Q8)
        unpack_q8(codes, n, to);
    else
        unpack_q2(codes, n, to);
}

/* Inputs [from, from + panel->inputs) of a strip. */
static void fill_panel(struct panel *panel, const struct fct_matrix *w, const uint8_t *strip,
                       int from) {
    const size_t line_bytes = (size_t)FCT_STRIP * (size_t)fct_scheme_bits(w->scheme); /* 8 inputs */
    const int group = w->group;
    if (!group) {
        unpack(w->scheme, strip + (size_t)from / 8 * line_bytes, panel->inputs, panel->codes);
        memcpy(panel->scales[0], strip + fct_strip_bytes(w->scheme, 0, w->columns) - 64, 64);
        return;
    }
    const uint8_t *tile =
        strip + (size_t)from / (2 * (size_t)group) * fct_tile_bytes(w->scheme, group);
    for (int i = 0; i < panel->inputs; i += 2 * group) {
        float32x4_t scales[2][TILE_VECTORS];
        load_half_scales(tile, 4, scales[0]);
        load_half_scales(tile + 32, 4, scales[1]);
        for (int v = 0; v < 8; v++)
            vst1q_f32(panel->scales[i / group] + 4 * v, scales[v / 4][v % 4]);
        unpack(w->scheme, tile + 64, 2 * group, panel->codes + (size_t)i * FCT_STRIP);
        tile += fct_tile_bytes(w->scheme, group);
    }
}

/* ---- multiplying ---- */

/* Tokens [token, token + n) of one panel. */
static void multiply_panel(const struct panel *panel, const struct fct_act *act, int token, int n,
                           int from, float *y, size_t y_stride) {
    const size_t groups_stride = (size_t)fct_act_groups(act->stride);
    for (int t = token; t < token + n; t += PANEL_TILE) {
        int n_tokens = token + n - t < PANEL_TILE ? token + n - t : PANEL_TILE;
        for (int half = 0; half < 2; half++) {
            struct panel_job job = {
                .x = act->codes + (size_t)t * (size_t)act->stride + from,
                .stride = (size_t)act->stride,
                .groups = act->groups + (size_t)t * groups_stride +
                          (panel->group ? from / panel->group : 0),
                .groups_stride = groups_stride,
                .y = y + (size_t)t * y_stride + 8 * half,
                .y_stride = y_stride,
            };
            panel_tile(panel, half, &job, n_tokens);
        }
    }
}

static void matmul_many(const struct fct_matrix *w, const struct fct_act *act, int n_tokens,
                        int begin, int end, float *y, size_t y_stride) {
    const size_t strip_bytes = fct_strip_bytes(w->scheme, w->group, w->columns);
    const int columns = fct_padded_columns(w->scheme, w->group, w->columns);
    struct panel panel;
    panel.group = act->group;
    panel.grouped = w->group > 0;
    for (int token = 0; token < n_tokens; token += PANEL_TOKENS) {
        int n = n_tokens - token < PANEL_TOKENS ? n_tokens - token : PANEL_TOKENS;
        for (int from = 0; from < columns; from += PANEL_INPUTS) {
            panel.inputs = columns - from < PANEL_INPUTS ? columns - from : PANEL_INPUTS;
            panel.begins = from == 0;
            panel.ends = from + panel.inputs == columns;
            for (int strip = begin; strip < end; strip++) {
                fill_panel(&panel, w, w->data + (size_t)strip * strip_bytes, from);
                multiply_panel(&panel, act, token, n, from, y + (size_t)strip * FCT_STRIP,
                               y_stride);
            }
        }
    }
}

#endif
