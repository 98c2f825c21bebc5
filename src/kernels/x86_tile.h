/* x86_tile.h - a panel times a block of tokens, TILE_TOKENS at a time.
 *
 * With 512 bits six tokens have 12 integer sums and 12 float sums in registers, and 8 loads for 12
 * vpdpbusd; with 256 the float sums wait in memory (SUMS_STAY). Included behind x86_panel.h. */
#ifndef FCT_KERNELS_X86_TILE_H
#define FCT_KERNELS_X86_TILE_H

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

#endif
