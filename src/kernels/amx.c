/* amx.c - the table for AMX: prompts in tiles of int8 products, everything else as avx512.c does.
 *
 * A tile of up to 16 tokens x 64 inputs is multiplied with one of 64 inputs x 16 rows: a panel lies
 * in memory just as the instruction wants it. After each group of inputs the sums go through memory
 * to the float registers, where they are scaled as on every other table. */
#include "kernels/amx_tiles.h"
#include "kernels/avx512_dot.h"

#include "kernels/x86_matmul.h"

#include "kernels/x86_panel.h"

/* Which tile is what. Two strips of rows are done side by side. */
#define SUMS_0 0
#define SUMS_1 1
#define INPUTS 2
#define ROWS_0 3
#define ROWS_1 4
enum { MOST_TOKENS = 16, MOST_INPUTS = 64 };

/* For n_tokens tokens and n_inputs inputs at a time. */
static void shape_tiles(int n_tokens, int n_inputs) {
    struct tile_shapes shapes = {.palette = 1};
    shapes.rows[SUMS_0] = shapes.rows[SUMS_1] = shapes.rows[INPUTS] = (uint8_t)n_tokens;
    shapes.rows[ROWS_0] = shapes.rows[ROWS_1] = (uint8_t)(n_inputs / 4);
    shapes.row_bytes[SUMS_0] = shapes.row_bytes[SUMS_1] = FCT_LINE;
    shapes.row_bytes[ROWS_0] = shapes.row_bytes[ROWS_1] = FCT_LINE;
    shapes.row_bytes[INPUTS] = (uint16_t)n_inputs;
    tiles_shape(&shapes);
}

/* Sums += as many inputs as the tiles are shaped for. */
static void multiply_tiles(const uint8_t (*codes)[2][LINE_PART], const int8_t *x, size_t x_stride) {
    tile_load(INPUTS, x, x_stride);
    tile_load(ROWS_0, (*codes)[0], sizeof *codes);
    tile_multiply(SUMS_0, INPUTS, ROWS_0);
    tile_load(ROWS_1, (*codes)[1], sizeof *codes);
    tile_multiply(SUMS_1, INPUTS, ROWS_1);
}

/* Register r of some tokens' float sums += the integer sums of a group, scaled. scales: of the
 * rows, or NULL. */
INLINE void add_group(enum fct_scheme SCHEME, const int32_t (*sums)[ROWS], int r,
                      const float *scales, struct tile_input in, int n_tokens, struct block *block,
                      int first) {
    for (int t = 0; t < n_tokens; t++, in.groups += in.groups_stride) {
        float *kept = block->sums[first + t].floats[r];
        ints sum = _mm512_add_epi32(load_ints(sums[t]), start_sum(SCHEME, in.groups->minus_8_sum));
        floats scale = floats_of(in.groups->scale);
        if (scales) scale = multiply(load_floats(scales), scale);
        store_floats(kept, multiply_add(to_floats(sum), scale, load_floats(kept)));
    }
}

INLINE void tile_in_groups(enum fct_scheme SCHEME, bool grouped, const struct panel *panel,
                           int n_inputs, struct tile_input in, int n_tokens, struct block *block,
                           int first) {
    _Alignas(64) int32_t sums[2][MOST_TOKENS][ROWS];
    for (int i = 0; i < panel->inputs; i += panel->group, in.groups++) {
        tile_zero(SUMS_0);
        tile_zero(SUMS_1);
        for (int j = i; j < i + panel->group; j += n_inputs)
            multiply_tiles(panel->codes + j / 4, in.x + j, in.x_stride);
        tile_store(SUMS_0, sums[0], FCT_LINE);
        tile_store(SUMS_1, sums[1], FCT_LINE);
        for (int r = 0; r < 2; r++)
            add_group(SCHEME, sums[r], r, grouped ? panel->scales[i / panel->group][r] : NULL, in,
                      n_tokens, block, first);
    }
}

/* One scale a row and a token: integer sums go on from panel to panel. */
static void tile_by_row(const struct panel *panel, int n_inputs, struct tile_input in,
                        struct block *block, int first) {
    size_t stride = sizeof *block->sums;
    tile_load(SUMS_0, block->sums[first].integers[0], stride);
    tile_load(SUMS_1, block->sums[first].integers[1], stride);
    for (int i = 0; i < panel->inputs; i += n_inputs)
        multiply_tiles(panel->codes + i / 4, in.x + i, in.x_stride);
    tile_store(SUMS_0, block->sums[first].integers[0], stride);
    tile_store(SUMS_1, block->sums[first].integers[1], stride);
}

/* One panel for all tokens of a block, in tiles of nearly the same size. */
INLINE void all_tiles(enum fct_scheme SCHEME, bool grouped, const struct panel *panel,
                      struct tile_input in, int n_tokens, struct block *block) {
    int n_tiles = (n_tokens + MOST_TOKENS - 1) / MOST_TOKENS, shaped = 0;
    int n_inputs = panel->group == 32 ? 32 : MOST_INPUTS;
    for (int i = 0; i < n_tiles; i++) {
        int first = i * n_tokens / n_tiles, n = (i + 1) * n_tokens / n_tiles - first;
        struct tile_input at = in;
        at.x += (size_t)first * in.x_stride;
        at.groups += (size_t)first * in.groups_stride;
        if (n != shaped) shape_tiles(n, n_inputs);
        shaped = n;
        if (panel->group)
            tile_in_groups(SCHEME, grouped, panel, n_inputs, at, n, block, first);
        else
            tile_by_row(panel, n_inputs, at, block, first);
    }
    tiles_release();
}

#include "kernels/x86_many.h"

/* Unpacking panels for fewer tokens takes longer than all their products without tiles do. */
enum { MANY_TOKENS = 24 };

static void matmul(const struct fct_matrix *w, const struct fct_act *act, int n_tokens, int begin,
                   int end, float *y, size_t y_stride) {
    (n_tokens < MANY_TOKENS ? matmul_strips : matmul_many)(w, act, n_tokens, begin, end, y,
                                                           y_stride);
}

#include "kernels/float_512.h"

#include "kernels/attend_ops.h"
#include "kernels/matmul_f32.h"
#include "kernels/tables.h"

/* By hand from one product of tiles: is the instruction really carried out? */
bool fct_amx_multiplies(void) {
    int8_t x[2][4] = {{1, -2, 3, -4}, {-128, 127, 0, 5}};
    uint8_t rows[1][FCT_LINE] = {{10, 20, 30, 40, 255, 0, 1, 2}};
    int32_t sums[2][ROWS];
    struct tile_shapes shapes = {.palette = 1};
    shapes.rows[SUMS_0] = shapes.rows[INPUTS] = 2, shapes.rows[ROWS_0] = 1;
    shapes.row_bytes[SUMS_0] = shapes.row_bytes[ROWS_0] = FCT_LINE, shapes.row_bytes[INPUTS] = 4;
    tiles_shape(&shapes);
    tile_zero(SUMS_0);
    tile_load(INPUTS, x, sizeof *x);
    tile_load(ROWS_0, rows, sizeof *rows);
    tile_multiply(SUMS_0, INPUTS, ROWS_0);
    tile_store(SUMS_0, sums, sizeof *sums);
    tiles_release();
    return sums[0][0] == -100 && sums[0][1] == 250 && sums[0][2] == 0 && sums[1][0] == 1460 &&
           sums[1][1] == -32630;
}

const struct fct_kernels fct_kernels_amx = {
    .name = "amx", .matmul = matmul, .matmul_f32 = matmul_f32, FCT_FLOAT_OPS, FCT_ATTEND_OPS};
