/* avx512_many.c - matrix times many tokens: computes as fast as vpdpbusd goes.
 *
 * 32 rows x 512 inputs are unpacked to bytes (16 KiB, stays in L1) and used for a block of tokens,
 * six at a time: two registers of rows x 6 tokens = 12 integer sums and 12 float sums, with 8 loads
 * for 12 vpdpbusd. */
#include "kernels/avx512.h"

enum { PANEL_INPUTS = 512, BLOCK_TOKENS = 126, TILE_TOKENS = 6 };

struct panel {
    uint8_t codes[PANEL_INPUTS / 4][2][64];
    float scales[PANEL_INPUTS / 32][2][16]; /* of groups; of whole rows in [0] */
    int inputs, groups;
};

/* Sums of a block of tokens between panels: floats, or integers where the row has one scale. */
struct block {
    union {
        float floats[2][16];
        int32_t integers[2][16];
    } sums[BLOCK_TOKENS];
};

INLINE void unpack_units(enum fct_scheme SCHEME, const uint8_t *units, int n_inputs,
                         uint8_t (*to)[2][64]) {
    const int PARTS = PARTS_OF(SCHEME);
    for (int i = 0; i < n_inputs; i += 4 * PARTS, units += 64) {
        __m512i codes = _mm512_load_si512(units);
        UNROLL for (int part = 0; part < PARTS; part++, to++)
            _mm512_store_si512(*to, unpack_part(SCHEME, codes, part));
    }
}

/* Inputs [start, start + panel->inputs) of a strip into half `s` of the panel. */
INLINE void unpack_strip(enum fct_scheme SCHEME, const struct fct_matrix *w, const uint8_t *strip,
                         int start, int s, struct panel *panel) {
    uint8_t(*to)[2][64] = (uint8_t(*)[2][64])panel->codes[0][s];
    if (!w->group) {
        unpack_units(SCHEME, strip + (size_t)start * 2 * (size_t)fct_scheme_bits(SCHEME),
                     panel->inputs, to);
        return;
    }
    size_t tile_bytes = fct_tile_bytes(SCHEME, w->group);
    const uint8_t *tile = strip + (size_t)(start / (2 * w->group)) * tile_bytes;
    for (int g = 0; g < panel->groups; g += 2, tile += tile_bytes, to += w->group / 2) {
        unpack_units(SCHEME, tile + 64, 2 * w->group, to);
        for (int i = 0; i < 2; i++)
            _mm512_store_ps(panel->scales[g + i][s],
                            _mm512_cvtph_ps(_mm256_load_si256((const void *)(tile + 32 * i))));
    }
}

/* sums += n inputs of the panel for TOKENS tokens, n a multiple of 32. */
INLINE void add_inputs(int TOKENS, const uint8_t (*codes)[2][64], int n, const int8_t *x,
                       size_t x_stride, __m512i sums[2][TILE_TOKENS]) {
    for (int i = 0; i < n; i += 32, x += 32) UNROLL for (int step = 0; step < 8; step++, codes++) {
            __m512i low = _mm512_load_si512((*codes)[0]), high = _mm512_load_si512((*codes)[1]);
            UNROLL for (int t = 0; t < TOKENS; t++) {
                __m512i inputs = four_inputs(x + (size_t)t * x_stride + 4 * step);
                sums[0][t] = add_dot4(sums[0][t], low, inputs);
                sums[1][t] = add_dot4(sums[1][t], high, inputs);
            }
        }
}

INLINE void tile_grouped(enum fct_scheme SCHEME, int TOKENS, const struct panel *panel, int group,
                         const int8_t *x, size_t x_stride, const int32_t *offsets,
                         size_t offsets_stride, struct block *block, int first) {
    __m512 a[2][TILE_TOKENS];
    __m512i sums[2][TILE_TOKENS];
    UNROLL for (int t = 0; t < TOKENS; t++) UNROLL for (int s = 0; s < 2; s++) a[s][t] =
        _mm512_load_ps(block->sums[first + t].floats[s]);
    for (int g = 0; g < panel->groups; g++) {
        UNROLL for (int t = 0; t < TOKENS; t++) sums[0][t] = sums[1][t] =
            offset_sums(SCHEME, offsets[(size_t)t * offsets_stride + (size_t)g]);
        add_inputs(TOKENS, panel->codes + (size_t)g * (size_t)group / 4, group,
                   x + (size_t)g * (size_t)group, x_stride, sums);
        UNROLL for (int s = 0; s < 2; s++) {
            __m512 scale = _mm512_load_ps(panel->scales[g][s]);
            UNROLL for (int t = 0; t < TOKENS; t++) a[s][t] =
                _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums[s][t]), scale, a[s][t]);
        }
    }
    UNROLL for (int t = 0; t < TOKENS; t++) UNROLL for (int s = 0; s < 2; s++)
        _mm512_store_ps(block->sums[first + t].floats[s], a[s][t]);
}

INLINE void tile_by_row(int TOKENS, const struct panel *panel, const int8_t *x, size_t x_stride,
                        struct block *block, int first) {
    __m512i sums[2][TILE_TOKENS];
    UNROLL for (int t = 0; t < TOKENS; t++) UNROLL for (int s = 0; s < 2; s++) sums[s][t] =
        _mm512_load_si512(block->sums[first + t].integers[s]);
    add_inputs(TOKENS, panel->codes, panel->inputs, x, x_stride, sums);
    UNROLL for (int t = 0; t < TOKENS; t++) UNROLL for (int s = 0; s < 2; s++)
        _mm512_store_si512(block->sums[first + t].integers[s], sums[s][t]);
}

/* One panel for tokens [first, first + TOKENS) of a block that begins with token `base`. */
INLINE void tile(enum fct_scheme SCHEME, int TOKENS, const struct panel *panel, int group,
                 int start, const struct fct_act *act, int base, struct block *block, int first) {
    size_t x_stride = (size_t)act->stride, offsets_stride = (size_t)fct_act_sums(act->stride),
           token = (size_t)(base + first);
    const int8_t *x = act->codes + token * x_stride + start;
    if (!group) {
        tile_by_row(TOKENS, panel, x, x_stride, block, first);
        return;
    }
    const int32_t *offsets =
        act->sums + token * offsets_stride + fct_act_sums_at(act->stride, group) + start / group;
    tile_grouped(SCHEME, TOKENS, panel, group, x, x_stride, offsets, offsets_stride, block, first);
}

/* One panel for all tokens of a block, in tiles of nearly the same size. */
INLINE void all_tiles(enum fct_scheme SCHEME, const struct panel *panel, int group, int start,
                      const struct fct_act *act, int base, int n_tokens, struct block *block) {
    int n_tiles = (n_tokens + TILE_TOKENS - 1) / TILE_TOKENS;
    for (int i = 0; i < n_tiles; i++) {
        int first = i * n_tokens / n_tiles, next = (i + 1) * n_tokens / n_tiles;
        switch (next - first) {
        case 1:
            tile(SCHEME, 1, panel, group, start, act, base, block, first);
            break;
        case 2:
            tile(SCHEME, 2, panel, group, start, act, base, block, first);
            break;
        case 3:
            tile(SCHEME, 3, panel, group, start, act, base, block, first);
            break;
        case 4:
            tile(SCHEME, 4, panel, group, start, act, base, block, first);
            break;
        case 5:
            tile(SCHEME, 5, panel, group, start, act, base, block, first);
            break;
        case 6:
            tile(SCHEME, 6, panel, group, start, act, base, block, first);
            break;
        }
    }
}

INLINE void start_block(enum fct_scheme SCHEME, int group, const struct fct_act *act, int base,
                        int n_tokens, struct block *block) {
    const size_t stride = (size_t)fct_act_sums(act->stride);
    const int32_t *sums = act->sums + (size_t)base * stride + fct_act_sums_at(act->stride, 0);
    for (int t = 0; t < n_tokens; t++, sums += stride) {
        __m512i start = group ? _mm512_setzero_si512() : offset_sums(SCHEME, *sums);
        for (int s = 0; s < 2; s++) _mm512_store_si512(block->sums[t].integers[s], start);
    }
}

/* Results of half s of the block. */
static void write_half(const struct block *block, int s, const float *row_scales,
                       const float *scales, int n_tokens, float *y, size_t y_stride) {
    __m512 row_scale = row_scales ? _mm512_loadu_ps(row_scales) : _mm512_setzero_ps();
    for (int t = 0; t < n_tokens; t++) {
        __m512 a =
            row_scales
                ? _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_load_si512(block->sums[t].integers[s])),
                                row_scale)
                : _mm512_load_ps(block->sums[t].floats[s]);
        _mm512_storeu_ps(y + (size_t)t * y_stride, _mm512_mul_ps(a, _mm512_set1_ps(scales[t])));
    }
}

INLINE void two_strips(enum fct_scheme SCHEME, const struct fct_matrix *w,
                       const struct fct_act *act, int base, int n_tokens, int strip, int n_strips,
                       float *y, size_t y_stride) {
    _Alignas(64) struct panel panel;
    _Alignas(64) struct block block;
    const size_t strip_bytes = fct_strip_bytes(SCHEME, w->group, w->columns);
    const uint8_t *data = w->data + (size_t)strip * strip_bytes;
    int padded = fct_padded_columns(SCHEME, w->group, w->columns);
    start_block(SCHEME, w->group, act, base, n_tokens, &block);
    for (int start = 0; start < padded; start += PANEL_INPUTS) {
        panel.inputs = padded - start < PANEL_INPUTS ? padded - start : PANEL_INPUTS;
        panel.groups = w->group ? panel.inputs / w->group : 0;
        unpack_strip(SCHEME, w, data, start, 0, &panel);
        unpack_strip(SCHEME, w, n_strips == 2 ? data + strip_bytes : data, start, 1, &panel);
        all_tiles(SCHEME, &panel, w->group, start, act, base, n_tokens, &block);
    }
    for (int s = 0; s < n_strips; s++) {
        const float *row_scales =
            w->group ? NULL : (const float *)(data + (size_t)(s + 1) * strip_bytes - 64);
        write_half(&block, s, row_scales, act->scales + base, n_tokens,
                   y + (size_t)base * y_stride + (size_t)(strip + s) * FCT_STRIP, y_stride);
    }
}

void fct_avx512_matmul_many(const struct fct_matrix *w, const struct fct_act *act, int n_tokens,
                            int begin, int end, float *y, size_t y_stride) {
    int n_blocks = (n_tokens + BLOCK_TOKENS - 1) / BLOCK_TOKENS;
    for (int i = 0; i < n_blocks; i++) {
        int base = (int)((long long)i * n_tokens / n_blocks),
            n = (int)((long long)(i + 1) * n_tokens / n_blocks) - base;
        for (int strip = begin; strip < end; strip += 2) {
            int n_strips = end - strip < 2 ? 1 : 2;
            switch (w->scheme) {
            case FCT_Q4:
                two_strips(FCT_Q4, w, act, base, n, strip, n_strips, y, y_stride);
                break;
            case FCT_Q8:
                two_strips(FCT_Q8, w, act, base, n, strip, n_strips, y, y_stride);
                break;
            case FCT_Q2:
                two_strips(FCT_Q2, w, act, base, n, strip, n_strips, y, y_stride);
                break;
            case FCT_F32:
                break;
            }
        }
    }
}
