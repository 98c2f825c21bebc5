/* x86_many.h - a matrix times many tokens: computes as fast as dot products go.
 *
 * Panel by panel of two registers of rows, for a block of tokens. Included behind x86_panel.h and
 * what defines all_tiles. */
#ifndef FCT_KERNELS_X86_MANY_H
#define FCT_KERNELS_X86_MANY_H

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

#endif
