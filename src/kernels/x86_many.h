/* x86_many.h - a matrix times many tokens: computes as fast as dot products go.
 *
 * Two registers of rows x 512 inputs are unpacked to bytes (16 KiB with 512 bits, 8 with 256: stays
 * in L1) and used for a block of tokens, TILE_TOKENS at a time. With 512 bits six tokens have 12
 * integer sums and 12 float sums in registers, and 8 loads for 12 vpdpbusd; with 256 the float sums
 * wait in memory (SUMS_STAY). Included behind x86_few.h. */
#ifndef FCT_KERNELS_X86_MANY_H
#define FCT_KERNELS_X86_MANY_H

enum { PANEL_INPUTS = 512, BLOCK_TOKENS = 120, STRIPS_AT_ONCE = 2 / HALVES };

struct panel {
    uint8_t codes[PANEL_INPUTS / 4][2][LINE_PART];
    float scales[PANEL_INPUTS / 32][2][ROWS]; /* of the weights' groups */
    int inputs, group;                        /* of activations; 0: all of a row */
};

/* Sums of a block of tokens between panels: floats, or integers where all have one scale. */
struct block {
    union {
        float floats[2][ROWS];
        int32_t integers[2][ROWS];
    } sums[BLOCK_TOKENS];
};

#define EACH_OF_TWO(r) UNROLL for (int r = 0; r < 2; r++)

/* Register r of a line. */
INLINE void unpack_units(enum fct_scheme SCHEME, const uint8_t *units, int n_inputs, int r,
                         uint8_t (*to)[2][LINE_PART]) {
    const int PARTS = PARTS_OF(SCHEME);
    for (int i = 0; i < n_inputs; i += 4 * PARTS, units += 64) {
        ints codes = load_ints(units + r % HALVES * LINE_PART);
        UNROLL for (int part = 0; part < PARTS; part++, to++)
            store_ints((*to)[r], unpack_part(SCHEME, codes, part));
    }
}

/* Inputs [start, start + panel->inputs) of a strip into register r of the panel. */
INLINE void unpack_strip(enum fct_scheme SCHEME, const struct fct_matrix *w, const uint8_t *strip,
                         int start, int r, struct panel *panel) {
    if (!w->group) {
        unpack_units(SCHEME, strip + start * 2 * fct_scheme_bits(SCHEME), panel->inputs, r,
                     panel->codes);
        return;
    }
    size_t tile_bytes = fct_tile_bytes(SCHEME, w->group);
    const uint8_t *tile = strip + (size_t)(start / (2 * w->group)) * tile_bytes;
    for (int i = 0; i < panel->inputs; i += 2 * w->group, tile += tile_bytes) {
        unpack_units(SCHEME, tile + 64, 2 * w->group, r, panel->codes + i / 4);
        for (int g = 0; g < 2; g++)
            store_floats(panel->scales[i / w->group + g][r],
                         load_halves(tile + 32 * g + r % HALVES * 2 * ROWS));
    }
}

/* What a panel is multiplied with. */
struct tile_input {
    const int8_t *x;
    size_t x_stride;
    const struct fct_act_group *groups;
    size_t groups_stride;
};

/* sums += n inputs of the panel for TOKENS tokens, n a multiple of 32. */
INLINE void add_panel(enum fct_scheme SCHEME, int TOKENS, const uint8_t (*codes)[2][LINE_PART],
                      int n, const int8_t *x, size_t x_stride, ints sums[2][TILE_TOKENS]) {
    for (int i = 0; i < n; i += 32, x += 32) {
        ints run[2][TILE_TOKENS];
        EACH_TOKEN(t) EACH_OF_TWO(r) run[r][t] = begin_run(SCHEME, sums[r][t]);
        UNROLL for (int step = 0; step < 8; step++, codes++) {
            ints low = load_ints((*codes)[0]), high = load_ints((*codes)[1]);
            EACH_TOKEN(t) {
                ints inputs = four_inputs(x + (size_t)t * x_stride + 4 * step);
                run[0][t] = add_dot4(SCHEME, run[0][t], low, inputs);
                run[1][t] = add_dot4(SCHEME, run[1][t], high, inputs);
            }
        }
        EACH_TOKEN(t) EACH_OF_TWO(r) sums[r][t] = end_run(SCHEME, sums[r][t], run[r][t]);
    }
}

INLINE void tile_in_groups(enum fct_scheme SCHEME, bool GROUPED, int LENGTH, int TOKENS,
                           const struct panel *panel, struct tile_input in, struct block *block,
                           int first) {
    const size_t groups_stride = in.groups_stride;
    floats a[2][TILE_TOKENS];
    EACH_TOKEN(t)
    EACH_OF_TWO(r) if (SUMS_STAY) a[r][t] = load_floats(block->sums[first + t].floats[r]);
    for (int i = 0; i < panel->inputs; i += LENGTH, in.groups++) {
        ints sums[2][TILE_TOKENS];
        EACH_TOKEN(t)
        sums[0][t] = sums[1][t] =
            start_sum(SCHEME, in.groups[(size_t)t * groups_stride].minus_8_sum);
        add_panel(SCHEME, TOKENS, panel->codes + i / 4, LENGTH, in.x + i, in.x_stride, sums);
        EACH_OF_TWO(r) {
            floats weights = GROUPED ? load_floats(panel->scales[i / LENGTH][r]) : floats_of(1);
            EACH_TOKEN(t) {
                float *kept = block->sums[first + t].floats[r];
                floats scale = floats_of(in.groups[(size_t)t * groups_stride].scale);
                if (GROUPED) scale = multiply(weights, scale);
                if (!SUMS_STAY) a[r][t] = load_floats(kept);
                a[r][t] = multiply_add(to_floats(sums[r][t]), scale, a[r][t]);
                if (!SUMS_STAY) store_floats(kept, a[r][t]);
            }
        }
    }
    EACH_TOKEN(t)
    EACH_OF_TWO(r) if (SUMS_STAY) store_floats(block->sums[first + t].floats[r], a[r][t]);
}

INLINE void tile_by_row(enum fct_scheme SCHEME, int TOKENS, const struct panel *panel,
                        struct tile_input in, struct block *block, int first) {
    ints sums[2][TILE_TOKENS];
    EACH_TOKEN(t) EACH_OF_TWO(r) sums[r][t] = load_ints(block->sums[first + t].integers[r]);
    add_panel(SCHEME, TOKENS, panel->codes, panel->inputs, in.x, in.x_stride, sums);
    EACH_TOKEN(t) EACH_OF_TWO(r) store_ints(block->sums[first + t].integers[r], sums[r][t]);
}

/* One panel for tokens [first, first + TOKENS) of a block, whose first one `in` is. */
INLINE void tile(int TOKENS, enum fct_scheme SCHEME, bool grouped, const struct panel *panel,
                 struct tile_input in, struct block *block, int first) {
    in.x += (size_t)first * in.x_stride;
    in.groups += (size_t)first * in.groups_stride;
    if (SCHEME == FCT_Q4 && panel->group > 32)
        tile_in_groups(SCHEME, true, panel->group, TOKENS, panel, in, block, first);
    else if (SCHEME != FCT_Q2 && grouped)
        tile_in_groups(SCHEME, true, 32, TOKENS, panel, in, block, first);
    else if (panel->group)
        tile_in_groups(SCHEME, false, 32, TOKENS, panel, in, block, first);
    else
        tile_by_row(SCHEME, TOKENS, panel, in, block, first);
}

/* One panel for all tokens of a block, in tiles of nearly the same size. */
INLINE void all_tiles(enum fct_scheme SCHEME, bool grouped, const struct panel *panel,
                      struct tile_input in, int n_tokens, struct block *block) {
    int n_tiles = (n_tokens + TILE_TOKENS - 1) / TILE_TOKENS;
    for (int i = 0; i < n_tiles; i++) {
        int first = i * n_tokens / n_tiles, next = (i + 1) * n_tokens / n_tiles;
        WITH_COUNT(next - first, TILE_TOKENS, tile, SCHEME, grouped, panel, in, block, first)
    }
}

INLINE void start_block(enum fct_scheme SCHEME, int group, struct tile_input in, int n_tokens,
                        struct block *block) {
    for (int t = 0; t < n_tokens; t++, in.groups += in.groups_stride) {
        ints start = group ? ints_of(0) : start_sum(SCHEME, in.groups->minus_8_sum);
        EACH_OF_TWO(r) store_ints(block->sums[t].integers[r], start);
    }
}

/* Results of register r of the block. row_scales: NULL where groups have had theirs. */
INLINE void write_register(const struct block *block, int r, const float *row_scales, int group,
                           struct tile_input in, int n_tokens, float *y, size_t y_stride) {
    floats rows = row_scales ? load_floats(row_scales) : floats_of(1);
    for (int t = 0; t < n_tokens; t++, in.groups += in.groups_stride, y += y_stride) {
        floats a = load_floats(block->sums[t].floats[r]);
        if (!group)
            a = multiply(multiply(to_floats(load_ints(block->sums[t].integers[r])), rows),
                         floats_of(in.groups->scale));
        else if (row_scales)
            a = multiply(a, rows);
        store_floats(y, a);
    }
}

/* STRIPS_AT_ONCE strips, or one if there are no more, for a block of tokens. */
INLINE void strips_of_block(enum fct_scheme SCHEME, const struct fct_matrix *w, int group,
                            struct tile_input block_input, int n_tokens, int strip, int n_strips,
                            float *y, size_t y_stride) {
    _Alignas(64) struct panel panel;
    _Alignas(64) struct block block;
    const size_t strip_bytes = fct_strip_bytes(SCHEME, w->group, w->columns);
    const uint8_t *data = w->data + (size_t)strip * strip_bytes;
    int padded = fct_padded_columns(SCHEME, w->group, w->columns);
    panel.group = group;
    start_block(SCHEME, group, block_input, n_tokens, &block);
    for (int start = 0; start < padded; start += PANEL_INPUTS) {
        struct tile_input in = block_input;
        in.x += start;
        in.groups += group ? start / group : 0;
        panel.inputs = padded - start < PANEL_INPUTS ? padded - start : PANEL_INPUTS;
        EACH_OF_TWO(r)
        unpack_strip(SCHEME, w,
                     data + (r / HALVES < n_strips ? (size_t)(r / HALVES) : 0) * strip_bytes, start,
                     r, &panel);
        all_tiles(SCHEME, w->group > 0, &panel, in, n_tokens, &block);
    }
    for (int r = 0; r < n_strips * HALVES; r++) {
        const float *row_scales =
            (const float *)(data + (size_t)(r / HALVES + 1) * strip_bytes - 64);
        write_register(&block, r, w->group ? NULL : row_scales + r % HALVES * ROWS, group,
                       block_input, n_tokens,
                       y + (strip + r / HALVES) * FCT_STRIP + r % HALVES * ROWS, y_stride);
    }
}

static void matmul_many(const struct fct_matrix *w, const struct fct_act *act, int n_tokens,
                        int begin, int end, float *y, size_t y_stride) {
    int n_blocks = (n_tokens + BLOCK_TOKENS - 1) / BLOCK_TOKENS;
    const size_t groups_stride = (size_t)fct_act_groups(act->stride);
    for (int i = 0; i < n_blocks; i++) {
        int first = (int)((long long)i * n_tokens / n_blocks),
            n = (int)((long long)(i + 1) * n_tokens / n_blocks) - first;
        struct tile_input in = {act->codes + (size_t)first * (size_t)act->stride,
                                (size_t)act->stride, act->groups + (size_t)first * groups_stride,
                                groups_stride};
        for (int strip = begin; strip < end; strip += STRIPS_AT_ONCE) {
            int n_strips = end - strip < STRIPS_AT_ONCE ? 1 : STRIPS_AT_ONCE;
            WITH_SCHEME(w->scheme, strips_of_block, w, act->group, in, n, strip, n_strips,
                        y + (size_t)first * y_stride, y_stride)
        }
    }
}

static void matmul(const struct fct_matrix *w, const struct fct_act *act, int n_tokens, int begin,
                   int end, float *y, size_t y_stride) {
    (n_tokens <= 8 ? matmul_few : matmul_many)(w, act, n_tokens, begin, end, y, y_stride);
}

#endif
