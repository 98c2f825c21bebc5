/* x86_panel.h - weights of two registers of rows x 512 inputs, unpacked to bytes (16 KiB with 512
 * bits, 8 with 256: stays in L1), and what they are multiplied with. Included behind
 * x86_matmul.h. */
#ifndef FCT_KERNELS_X86_PANEL_H
#define FCT_KERNELS_X86_PANEL_H

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

#endif
