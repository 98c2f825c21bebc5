/* matmul_256.h - matrix times int8 activations with 256-bit registers, for avx2.c and avxvnni.c.
 *
 * The file that includes this has defined TILE_TOKENS and how a step is computed; a register holds
 * 8 rows x 4 inputs: unpack_part(SCHEME, codes, PART)     the weights of four inputs out of a unit
 *   start_sum(SCHEME, minus_8_sum)       what a sum starts with, so that the offset of the codes
 * goes away begin_run(SCHEME, sum), add_dot4(SCHEME, run, weights, inputs), end_run(SCHEME, sum,
 * run) a sum over 32 inputs, which may be kept in 16 bits until its end */
#ifndef FCT_KERNELS_MATMUL_256_H
#define FCT_KERNELS_MATMUL_256_H

enum { AHEAD = 4096, PANEL_INPUTS = 512, BLOCK_TOKENS = 120 };

INLINE __m256i four_inputs(const int8_t *x) { return _mm256_set1_epi32(*(const any_int32 *)x); }

/* ---- few tokens ---- */

/* A product, for a pass of up to four tokens. */
struct few {
    const struct fct_matrix *w;
    size_t strip_bytes;
    size_t gap, y_gap; /* from a strip to the one that is done beside it: bytes, floats of y */
    const int8_t *x;
    size_t x_stride;
    const int32_t *offsets;
    size_t offsets_stride;
    const float *scales;
    float *y;
    size_t y_stride;
};

/* Sums of up to two strips, their upper and lower 8 rows, and four tokens. */
#define EACH_SUM(s, h, t)                                                                          \
    UNROLL for (int t = 0; t < TOKENS; t++) UNROLL for (int s = 0; s < STRIPS; s++)                \
        UNROLL for (int h = 0; h < 2; h++)

/* sums += 32 inputs, whose units begin at `at`. */
INLINE void add_32_inputs(enum fct_scheme SCHEME, int STRIPS, int TOKENS, const struct few *f,
                          const uint8_t *at, const int8_t *x, __m256i sums[2][2][4]) {
    const int PARTS = PARTS_OF(SCHEME), UNITS = 8 / PARTS;
    __m256i run[2][2][4];
    EACH_SUM(s, h, t) run[s][h][t] = begin_run(SCHEME, sums[s][h][t]);
    UNROLL for (int unit = 0; unit < UNITS; unit++) {
        __m256i codes[2][2];
        UNROLL for (int s = 0; s < STRIPS; s++) {
            const uint8_t *line = at + (size_t)s * f->gap + 64 * unit;
            _mm_prefetch(line + AHEAD, _MM_HINT_T0);
            UNROLL for (int h = 0; h < 2; h++) codes[s][h] =
                _mm256_load_si256((const void *)(line + 32 * h));
        }
        UNROLL for (int part = 0; part < PARTS; part++) {
            __m256i weights[2][2];
            UNROLL for (int s = 0; s < STRIPS; s++) UNROLL for (int h = 0; h < 2; h++)
                weights[s][h] = unpack_part(SCHEME, codes[s][h], part);
            UNROLL for (int t = 0; t < TOKENS; t++) {
                __m256i inputs =
                    four_inputs(x + (size_t)t * f->x_stride + 4 * (unit * PARTS + part));
                UNROLL for (int s = 0; s < STRIPS; s++) UNROLL for (int h = 0; h < 2; h++)
                    run[s][h][t] = add_dot4(SCHEME, run[s][h][t], weights[s][h], inputs);
            }
        }
    }
    EACH_SUM(s, h, t) sums[s][h][t] = end_run(SCHEME, sums[s][h][t], run[s][h][t]);
}

/* The sums over one group, or over a row. */
INLINE void sum_inputs(enum fct_scheme SCHEME, int STRIPS, int TOKENS, const struct few *f,
                       const uint8_t *at, int n_inputs, const int8_t *x, const int32_t *offsets,
                       __m256i sums[2][2][4]) {
    EACH_SUM(s, h, t) sums[s][h][t] = start_sum(SCHEME, offsets[(size_t)t * f->offsets_stride]);
    for (int i = 0; i < n_inputs; i += 32, at += 64 * 8 / PARTS_OF(SCHEME))
        add_32_inputs(SCHEME, STRIPS, TOKENS, f, at, x + i, sums);
}

INLINE void write(int STRIPS, int TOKENS, const struct few *f, __m256 a[2][2][4], float *y) {
    EACH_SUM(s, h, t)
    _mm256_storeu_ps(y + (size_t)t * f->y_stride + (size_t)s * f->y_gap + 8 * h,
                     _mm256_mul_ps(a[s][h][t], _mm256_set1_ps(f->scales[t])));
}

INLINE void grouped(enum fct_scheme SCHEME, int STRIPS, int TOKENS, const struct few *f,
                    const uint8_t *at, float *y) {
    const size_t group_bytes =
        (size_t)f->w->group * FCT_STRIP * (size_t)fct_scheme_bits(SCHEME) / 8;
    const uint8_t *end = at + f->strip_bytes;
    const int8_t *x = f->x;
    const int32_t *offsets = f->offsets;
    __m256 a[2][2][4];
    EACH_SUM(s, h, t) a[s][h][t] = _mm256_setzero_ps();
    while (at < end) {
        const uint8_t *halves = at;
        UNROLL for (int s = 0; s < STRIPS; s++)
            _mm_prefetch(at + (size_t)s * f->gap + AHEAD, _MM_HINT_T0);
        at += 64;
        for (int group = 0; group < 2; group++, at += group_bytes, x += f->w->group, halves += 32) {
            __m256i sums[2][2][4];
            sum_inputs(SCHEME, STRIPS, TOKENS, f, at, f->w->group, x, offsets++, sums);
            EACH_SUM(s, h, t) {
                const void *half = halves + (size_t)s * f->gap + 16 * h;
                __m256 scale = _mm256_cvtph_ps(_mm_load_si128(half));
                a[s][h][t] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums[s][h][t]), scale, a[s][h][t]);
            }
        }
    }
    write(STRIPS, TOKENS, f, a, y);
}

INLINE void by_row(enum fct_scheme SCHEME, int STRIPS, int TOKENS, const struct few *f,
                   const uint8_t *at, float *y) {
    const float *row_scales = (const float *)(at + f->strip_bytes - 64);
    int n_inputs = fct_padded_columns(SCHEME, 0, f->w->columns);
    __m256 a[2][2][4];
    __m256i sums[2][2][4];
    sum_inputs(SCHEME, STRIPS, TOKENS, f, at, n_inputs, f->x, f->offsets, sums);
    EACH_SUM(s, h, t) {
        __m256 scale = _mm256_load_ps(row_scales + (size_t)s * f->gap / 4 + 8 * h);
        a[s][h][t] = _mm256_mul_ps(_mm256_cvtepi32_ps(sums[s][h][t]), scale);
    }
    write(STRIPS, TOKENS, f, a, y);
}

INLINE void strips(enum fct_scheme SCHEME, int STRIPS, int TOKENS, const struct few *f, int strip) {
    const uint8_t *at = f->w->data + (size_t)strip * f->strip_bytes;
    float *y = f->y + (size_t)strip * FCT_STRIP;
    if (SCHEME != FCT_Q2 && f->w->group)
        grouped(SCHEME, STRIPS, TOKENS, f, at, y);
    else
        by_row(SCHEME, STRIPS, TOKENS, f, at, y);
}

/* The range is walked in two halves side by side: two linear streams, which memory serves better
 * than one. */
INLINE void one_token(enum fct_scheme SCHEME, const struct few *f, int begin, int end) {
    int half = (end - begin) / 2;
    for (int strip = begin; strip < begin + half; strip++) strips(SCHEME, 2, 1, f, strip);
    if (begin + 2 * half < end) strips(SCHEME, 1, 1, f, end - 1);
}

INLINE void one_strip_of(enum fct_scheme SCHEME, const struct few *f, int n_tokens, int strip) {
    switch (n_tokens) {
    case 1:
        strips(SCHEME, 1, 1, f, strip);
        break;
    case 2:
        strips(SCHEME, 1, 2, f, strip);
        break;
    case 3:
        strips(SCHEME, 1, 3, f, strip);
        break;
    case 4:
        strips(SCHEME, 1, 4, f, strip);
        break;
    }
}

/* More than four tokens are done in two passes, for want of registers; the second one finds the
 * strip in a cache. */
INLINE void for_tokens(enum fct_scheme SCHEME, const struct few *f, int n_tokens, int begin,
                       int end) {
    int n_first = n_tokens > 4 ? (n_tokens + 1) / 2 : n_tokens;
    struct few second = *f;
    second.x += (size_t)n_first * f->x_stride, second.y += (size_t)n_first * f->y_stride;
    second.offsets += (size_t)n_first * f->offsets_stride, second.scales += n_first;
    if (n_tokens == 1) {
        one_token(SCHEME, f, begin, end);
        return;
    }
    for (int strip = begin; strip < end; strip++) {
        one_strip_of(SCHEME, f, n_first, strip);
        one_strip_of(SCHEME, &second, n_tokens - n_first, strip);
    }
}

static void matmul_few(const struct fct_matrix *w, const struct fct_act *act, int n_tokens,
                       int begin, int end, float *y, size_t y_stride) {
    const size_t strip_bytes = fct_strip_bytes(w->scheme, w->group, w->columns),
                 half = (size_t)(end - begin) / 2;
    struct few f = {w,
                    strip_bytes,
                    half * strip_bytes,
                    half * FCT_STRIP,
                    act->codes,
                    (size_t)act->stride,
                    act->sums + fct_act_sums_at(act->stride, w->group),
                    (size_t)fct_act_sums(act->stride),
                    act->scales,
                    y,
                    y_stride};
    switch (w->scheme) {
    case FCT_Q4:
        for_tokens(FCT_Q4, &f, n_tokens, begin, end);
        break;
    case FCT_Q8:
        for_tokens(FCT_Q8, &f, n_tokens, begin, end);
        break;
    case FCT_Q2:
        for_tokens(FCT_Q2, &f, n_tokens, begin, end);
        break;
    case FCT_F32:
        break;
    }
}

/* ---- many tokens: a strip x 512 inputs is unpacked to bytes (8 KiB) and used for a block of
 * tokens ---- */

struct panel {
    uint8_t codes[PANEL_INPUTS / 4][64];
    float scales[PANEL_INPUTS / 32][16]; /* of groups */
    int inputs, groups, group;           /* without groups: one run of all inputs */
};

/* Sums of a block of tokens between panels: floats, or integers where the row has one scale. */
struct block {
    union {
        float floats[16];
        int32_t integers[16];
    } sums[BLOCK_TOKENS];
};

INLINE void unpack_units(enum fct_scheme SCHEME, const uint8_t *units, int n_inputs,
                         uint8_t (*to)[64]) {
    const int PARTS = PARTS_OF(SCHEME);
    for (int i = 0; i < n_inputs; i += 4 * PARTS, units += 64) {
        __m256i upper = _mm256_load_si256((const void *)units),
                lower = _mm256_load_si256((const void *)(units + 32));
        UNROLL for (int part = 0; part < PARTS; part++, to++) {
            _mm256_store_si256((void *)*to, unpack_part(SCHEME, upper, part));
            _mm256_store_si256((void *)(*to + 32), unpack_part(SCHEME, lower, part));
        }
    }
}

/* Inputs [start, start + panel->inputs) of a strip. */
INLINE void unpack_strip(enum fct_scheme SCHEME, const uint8_t *strip, int start,
                         struct panel *panel) {
    int group = panel->group;
    if (!group) {
        unpack_units(SCHEME, strip + (size_t)start * 2 * (size_t)fct_scheme_bits(SCHEME),
                     panel->inputs, panel->codes);
        return;
    }
    size_t tile_bytes = fct_tile_bytes(SCHEME, group);
    const uint8_t *tile = strip + (size_t)(start / (2 * group)) * tile_bytes;
    for (int g = 0; g < panel->groups; g += 2, tile += tile_bytes) {
        unpack_units(SCHEME, tile + 64, 2 * group, panel->codes + g * group / 4);
        for (int i = 0; i < 4; i++)
            _mm256_store_ps(&panel->scales[g + i / 2][i % 2 * 8],
                            _mm256_cvtph_ps(_mm_load_si128((const void *)(tile + 16 * i))));
    }
}

/* sums += n inputs of the panel, n a multiple of 32. */
INLINE void add_panel(enum fct_scheme SCHEME, int TOKENS, const uint8_t (*codes)[64], int n,
                      const int8_t *x, size_t x_stride, __m256i sums[2][TILE_TOKENS]) {
    for (int i = 0; i < n; i += 32) {
        __m256i run[2][TILE_TOKENS];
        UNROLL for (int t = 0; t < TOKENS; t++) UNROLL for (int h = 0; h < 2; h++) run[h][t] =
            begin_run(SCHEME, sums[h][t]);
        UNROLL for (int step = 0; step < 8; step++, codes++) {
            __m256i upper = _mm256_load_si256((const void *)*codes),
                    lower = _mm256_load_si256((const void *)(*codes + 32));
            UNROLL for (int t = 0; t < TOKENS; t++) {
                __m256i inputs = four_inputs(x + (size_t)t * x_stride + i + 4 * step);
                run[0][t] = add_dot4(SCHEME, run[0][t], upper, inputs);
                run[1][t] = add_dot4(SCHEME, run[1][t], lower, inputs);
            }
        }
        UNROLL for (int t = 0; t < TOKENS; t++) UNROLL for (int h = 0; h < 2; h++) sums[h][t] =
            end_run(SCHEME, sums[h][t], run[h][t]);
    }
}

INLINE void tile_grouped(enum fct_scheme SCHEME, int TOKENS, const struct panel *panel,
                         const int8_t *x, size_t x_stride, const int32_t *offsets,
                         size_t offsets_stride, struct block *block, int first) {
    for (int g = 0; g < panel->groups; g++) {
        __m256i sums[2][TILE_TOKENS];
        UNROLL for (int t = 0; t < TOKENS; t++) sums[0][t] = sums[1][t] =
            start_sum(SCHEME, offsets[(size_t)t * offsets_stride + (size_t)g]);
        add_panel(SCHEME, TOKENS, panel->codes + g * panel->group / 4, panel->group,
                  x + (size_t)g * (size_t)panel->group, x_stride, sums);
        UNROLL for (int h = 0; h < 2; h++) {
            __m256 scale = _mm256_load_ps(panel->scales[g] + 8 * h);
            UNROLL for (int t = 0; t < TOKENS; t++) {
                float *a = block->sums[first + t].floats + 8 * h;
                _mm256_storeu_ps(
                    a, _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums[h][t]), scale, _mm256_loadu_ps(a)));
            }
        }
    }
}

INLINE void tile_by_row(enum fct_scheme SCHEME, int TOKENS, const struct panel *panel,
                        const int8_t *x, size_t x_stride, struct block *block, int first) {
    __m256i sums[2][TILE_TOKENS];
    UNROLL for (int t = 0; t < TOKENS; t++) UNROLL for (int h = 0; h < 2; h++) sums[h][t] =
        _mm256_loadu_si256((const void *)(block->sums[first + t].integers + 8 * h));
    add_panel(SCHEME, TOKENS, panel->codes, panel->inputs, x, x_stride, sums);
    UNROLL for (int t = 0; t < TOKENS; t++) UNROLL for (int h = 0; h < 2; h++)
        _mm256_storeu_si256((void *)(block->sums[first + t].integers + 8 * h), sums[h][t]);
}

/* One panel for tokens [first, first + TOKENS) of a block that begins with token `base`. */
INLINE void tile(enum fct_scheme SCHEME, int TOKENS, const struct panel *panel, int start,
                 const struct fct_act *act, int base, struct block *block, int first) {
    size_t x_stride = (size_t)act->stride, offsets_stride = (size_t)fct_act_sums(act->stride),
           token = (size_t)(base + first);
    const int8_t *x = act->codes + token * x_stride + start;
    if (SCHEME == FCT_Q2 || !panel->group) {
        tile_by_row(SCHEME, TOKENS, panel, x, x_stride, block, first);
        return;
    }
    const int32_t *offsets = act->sums + token * offsets_stride +
                             fct_act_sums_at(act->stride, panel->group) + start / panel->group;
    tile_grouped(SCHEME, TOKENS, panel, x, x_stride, offsets, offsets_stride, block, first);
}

/* One panel for all tokens of a block, in tiles of nearly the same size. */
INLINE void all_tiles(enum fct_scheme SCHEME, const struct panel *panel, int start,
                      const struct fct_act *act, int base, int n_tokens, struct block *block) {
    int n_tiles = (n_tokens + TILE_TOKENS - 1) / TILE_TOKENS;
    for (int i = 0; i < n_tiles; i++) {
        int first = i * n_tokens / n_tiles, next = (i + 1) * n_tokens / n_tiles;
        switch (next - first) {
        case 1:
            tile(SCHEME, 1, panel, start, act, base, block, first);
            break;
        case 2:
            tile(SCHEME, 2, panel, start, act, base, block, first);
            break;
        case 3:
            tile(SCHEME, 3, panel, start, act, base, block, first);
            break;
        case 4:
            tile(SCHEME, 4, panel, start, act, base, block, first);
            break;
#if TILE_TOKENS > 4
        case 5:
            tile(SCHEME, 5, panel, start, act, base, block, first);
            break;
        case 6:
            tile(SCHEME, 6, panel, start, act, base, block, first);
            break;
#endif
        }
    }
}

INLINE void start_block(enum fct_scheme SCHEME, int group, const struct fct_act *act, int base,
                        int n_tokens, struct block *block) {
    const size_t stride = (size_t)fct_act_sums(act->stride);
    const int32_t *sums = act->sums + (size_t)base * stride + fct_act_sums_at(act->stride, 0);
    for (int t = 0; t < n_tokens; t++, sums += stride) {
        __m256i start = group ? _mm256_setzero_si256() : start_sum(SCHEME, *sums);
        for (int h = 0; h < 2; h++)
            _mm256_storeu_si256((void *)(block->sums[t].integers + 8 * h), start);
    }
}

static void write_block(const struct block *block, const float *row_scales, const float *scales,
                        int n_tokens, float *y, size_t y_stride) {
    for (int t = 0; t < n_tokens; t++)
        for (int h = 0; h < 16; h += 8) {
            __m256 a = _mm256_loadu_ps(block->sums[t].floats + h);
            if (row_scales)
                a = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_castps_si256(a)),
                                  _mm256_loadu_ps(row_scales + h));
            _mm256_storeu_ps(y + (size_t)t * y_stride + h,
                             _mm256_mul_ps(a, _mm256_set1_ps(scales[t])));
        }
}

INLINE void one_strip(enum fct_scheme SCHEME, const struct fct_matrix *w, const struct fct_act *act,
                      int base, int n_tokens, int strip, float *y, size_t y_stride) {
    _Alignas(64) struct panel panel;
    _Alignas(64) struct block block;
    const size_t strip_bytes = fct_strip_bytes(SCHEME, w->group, w->columns);
    const uint8_t *data = w->data + (size_t)strip * strip_bytes;
    int padded = fct_padded_columns(SCHEME, w->group, w->columns);
    panel.group = w->group;
    start_block(SCHEME, w->group, act, base, n_tokens, &block);
    for (int start = 0; start < padded; start += PANEL_INPUTS) {
        panel.inputs = padded - start < PANEL_INPUTS ? padded - start : PANEL_INPUTS;
        panel.groups = w->group ? panel.inputs / w->group : 0;
        unpack_strip(SCHEME, data, start, &panel);
        all_tiles(SCHEME, &panel, start, act, base, n_tokens, &block);
    }
    write_block(&block, w->group ? NULL : (const float *)(data + strip_bytes - 64),
                act->scales + base, n_tokens,
                y + (size_t)base * y_stride + (size_t)strip * FCT_STRIP, y_stride);
}

static void matmul_many(const struct fct_matrix *w, const struct fct_act *act, int n_tokens,
                        int begin, int end, float *y, size_t y_stride) {
    int n_blocks = (n_tokens + BLOCK_TOKENS - 1) / BLOCK_TOKENS;
    for (int i = 0; i < n_blocks; i++) {
        int base = (int)((long long)i * n_tokens / n_blocks),
            n = (int)((long long)(i + 1) * n_tokens / n_blocks) - base;
        for (int strip = begin; strip < end; strip++) switch (w->scheme) {
            case FCT_Q4:
                one_strip(FCT_Q4, w, act, base, n, strip, y, y_stride);
                break;
            case FCT_Q8:
                one_strip(FCT_Q8, w, act, base, n, strip, y, y_stride);
                break;
            case FCT_Q2:
                one_strip(FCT_Q2, w, act, base, n, strip, y, y_stride);
                break;
            case FCT_F32:
                break;
            }
    }
}

static void matmul(const struct fct_matrix *w, const struct fct_act *act, int n_tokens, int begin,
                   int end, float *y, size_t y_stride) {
    (n_tokens <= 8 ? matmul_few : matmul_many)(w, act, n_tokens, begin, end, y, y_stride);
}

#endif
