/* quantize.c - floats into the layouts of kernels/blocks.h: strips of a matrix, rows of a table. */
#include "convert/quantize.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/half.h"
#include "convert/grid_search.h"
#include "convert/scale_search.h"

enum { MAX_GROUP = FCT_PACK_MAX_GROUP, CHUNK = FCT_PACK_CHUNK, INT8_MAX_CODE = 127 };

/* ---- checks ---- */

/* Bits of the largest magnitude: as integers they sort like the floats, infinity and NaN above all.
 */
static int32_t max_magnitude_bits(const float *x, size_t n) {
    int32_t max = 0;
    for (size_t i = 0; i < n; i++) {
        int32_t bits = (int32_t)(fct_float_bits(x[i]) & 0x7FFFFFFF);
        max = bits > max ? bits : max;
    }
    return max;
}
static float max_magnitude(const float *x, size_t n) {
    return fct_bits_float((uint32_t)max_magnitude_bits(x, n));
}

fct_status fct_check_finite(const float *x, size_t n_rows, int columns,
                            struct fct_rows_origin origin, fct_error *err) {
    if (max_magnitude_bits(x, n_rows * (size_t)columns) < 0x7F800000) return FCT_OK;
    size_t i = 0;
    while (isfinite(x[i])) i++;
    return fct_fail(err, FCT_ERR_NUMERIC, "%s: the weight in row %zu, column %zu is %s",
                    origin.tensor, (size_t)origin.first_row + i / (size_t)columns,
                    i % (size_t)columns, isnan(x[i]) ? "not a number" : "infinite");
}

static fct_status fail_too_large(float magnitude, int row, int column,
                                 struct fct_rows_origin origin, fct_error *err) {
    return fct_fail(err, FCT_ERR_NUMERIC,
                    "%s: row %d, column %d: weights as large as %g need a scale beyond float16",
                    origin.tensor, origin.first_row + row, column, (double)magnitude);
}

/* ---- strips ---- */

/* x [n_rows][columns], columns first .. first + n, as [n][16] with a lane a row; zeros where there
 * is nothing. */
static void load_lanes(const float *x, int n_rows, int columns, int first, int n,
                       float (*lanes)[FCT_LANES]) {
    int there = columns - first < n ? columns - first : n;
    if (n_rows < FCT_LANES || there < n) memset(lanes, 0, (size_t)n * sizeof *lanes);
    for (int r = 0; r < n_rows; r++) {
        const float *row = x + (size_t)r * (size_t)columns + first;
        for (int i = 0; i < there; i++) lanes[i][r] = row[i];
    }
}

static void pack_q4_units(const float (*code)[FCT_LANES], int n, uint8_t *units) {
    for (int i = 0; i < n; i++) {
        uint8_t *at = units + i / 8 * FCT_LINE + i % 4;
        bool high = i % 8 >= 4;
        for (int r = 0; r < FCT_STRIP; r++) {
            uint8_t q = (uint8_t)((int)code[i][r] + 8);
            at[4 * r] = high ? (uint8_t)(at[4 * r] | q << 4) : q;
        }
    }
}
static void pack_q8_units(const float (*code)[FCT_LANES], int n, uint8_t *units) {
    for (int i = 0; i < n; i++) {
        uint8_t *at = units + i / 4 * FCT_LINE + i % 4;
        for (int r = 0; r < FCT_STRIP; r++) at[4 * r] = (uint8_t)(int8_t)code[i][r];
    }
}

static void pack_q2_units(const float (*code)[FCT_LANES], int n, uint8_t *units) {
    memset(units, 0, (size_t)n * FCT_STRIP / 4);
    for (int i = 0; i < n; i++) {
        uint8_t *at = units + i / 16 * FCT_LINE + i % 4;
        for (int r = 0; r < FCT_STRIP; r++)
            at[4 * r] |= (uint8_t)(((int)code[i][r] + 2) << (i / 4 % 4 * 2));
    }
}

void fct_pack_chunk(enum fct_scheme scheme, int c, const float (*codes)[FCT_STRIP],
                    uint8_t *strip) {
    uint8_t *units = strip + (size_t)c * CHUNK * FCT_STRIP * (size_t)fct_scheme_bits(scheme) / 8;
    if (scheme == FCT_Q2)
        pack_q2_units(codes, CHUNK, units);
    else if (scheme == FCT_Q4)
        pack_q4_units(codes, CHUNK, units);
    else
        pack_q8_units(codes, CHUNK, units);
}

static void q8_group_scales(const float (*x)[FCT_LANES], int n, float scale[FCT_LANES]) {
    float max[FCT_LANES] = {0};
    for (int i = 0; i < n; i++)
        for (int r = 0; r < FCT_LANES; r++)
            max[r] = fabsf(x[i][r]) > max[r] ? fabsf(x[i][r]) : max[r];
    for (int r = 0; r < FCT_LANES; r++)
        scale[r] = fct_half_float(fct_float_half(max[r] / INT8_MAX_CODE));
}

static unsigned find_grid(const float (*x)[FCT_LANES], int n, struct fct_grid_count *count,
                          float scale[FCT_LANES]) {
    unsigned found = fct_find_grid(x, n, scale), n_exact = 0, n_groups = 0;
    for (int r = 0; r < FCT_LANES; r++) {
        int i = 0;
        while (i < n && x[i][r] == 0) i++;
        n_groups += i < n;
        n_exact += found >> r & 1;
    }
    atomic_fetch_add(&count->n_groups, n_groups);
    atomic_fetch_add(&count->n_exact, n_exact);
    return found;
}

/* Of columns first .. first + n, some of which may be padding. NULL where nothing was ever put in:
 * then all columns count alike. */
static const float *importance_of(struct fct_rounding rounding, int first, int n, int columns,
                                  float importance[MAX_GROUP]) {
    float sum = 0;
    memset(importance, 0, MAX_GROUP * sizeof *importance);
    for (int i = 0; rounding.importance && i < n && first + i < columns; i++)
        sum += importance[i] = rounding.importance[first + i];
    return sum > 0 ? importance : NULL;
}

static void q4_group_scales(const float (*x)[FCT_LANES], int n, const float *importance,
                            struct fct_rounding rounding, float scale[FCT_LANES]) {
    if (rounding.absmax) {
        fct_absmax_group_scales(x, n, scale);
        return;
    }
    float on_grid[FCT_LANES];
    unsigned exact = rounding.grid ? find_grid(x, n, rounding.grid, on_grid) : 0;
    if (exact != (1u << FCT_LANES) - 1) fct_search_group_scales(x, n, importance, scale);
    for (int r = 0; r < FCT_LANES; r++)
        if (exact >> r & 1) scale[r] = on_grid[r];
}

void fct_pack_group(enum fct_scheme scheme, int group, int g, const float (*codes)[FCT_STRIP],
                    const uint16_t scales[FCT_STRIP], uint8_t *strip) {
    size_t tile_bytes = fct_tile_bytes(scheme, group), code_bytes = (tile_bytes - FCT_LINE) / 2,
           scale_bytes = FCT_STRIP * sizeof *scales;
    uint8_t *tile = strip + (size_t)(g / 2) * tile_bytes;
    memcpy(tile + (size_t)(g % 2) * scale_bytes, scales, scale_bytes);
    uint8_t *units = tile + FCT_LINE + (size_t)(g % 2) * code_bytes;
    if (scheme == FCT_Q4)
        pack_q4_units(codes, group, units);
    else
        pack_q8_units(codes, group, units);
}

/* Strips with float16 scales of groups inside the tiles. */
static fct_status pack_groups(enum fct_scheme scheme, int group, struct fct_rounding rounding,
                              const float *x, int n_rows, int columns, uint8_t *strip,
                              struct fct_rows_origin origin, fct_error *err) {
    float lanes[MAX_GROUP][FCT_LANES], code[MAX_GROUP][FCT_LANES], scale[FCT_LANES],
        importance[MAX_GROUP];
    uint16_t halves[FCT_STRIP];
    int n_groups = fct_padded_columns(scheme, group, columns) / group;
    for (int g = 0; g < n_groups; g++) {
        load_lanes(x, n_rows, columns, g * group, group, lanes);
        bool q4 = scheme == FCT_Q4;
        const float *weighed = importance_of(rounding, g * group, group, columns, importance);
        if (q4)
            q4_group_scales(lanes, group, weighed, rounding, scale);
        else if (rounding.fine)
            fct_search_fine_scales(lanes, group, weighed, scale);
        else
            q8_group_scales(lanes, group, scale);
        for (int r = 0; r < FCT_STRIP; r++) {
            if (!isfinite(scale[r]))
                return fail_too_large(
                    max_magnitude(x + (size_t)r * (size_t)columns, (size_t)columns), r, g * group,
                    origin, err);
            halves[r] = fct_float_half(scale[r]);
        }
        fct_round_codes(lanes, group, scale, q4 ? -8.0f : -INT8_MAX_CODE, q4 ? 7.0f : INT8_MAX_CODE,
                        code);
        fct_pack_group(scheme, group, g, code, halves, strip);
    }
    return FCT_OK;
}

/* absmax / 127; 0 where that is so small that dividing by it could overflow. */
static float q8_scale(const float *x, size_t n) {
    float scale = max_magnitude(x, n) / INT8_MAX_CODE;
    return scale < FLT_MIN ? 0.0f : scale;
}

/* int8 with one float32 scale a row, the scales behind the codes. */
static void pack_q8_rows(const float *x, int n_rows, int columns, uint8_t *strip) {
    float lanes[CHUNK][FCT_LANES], code[CHUNK][FCT_LANES], scale[FCT_LANES] = {0};
    int padded = fct_padded_columns(FCT_Q8, 0, columns);
    for (int r = 0; r < n_rows; r++)
        scale[r] = q8_scale(x + (size_t)r * (size_t)columns, (size_t)columns);
    for (int first = 0; first < padded; first += CHUNK) {
        load_lanes(x, n_rows, columns, first, CHUNK, lanes);
        fct_round_codes(lanes, CHUNK, scale, -INT8_MAX_CODE, INT8_MAX_CODE, code);
        pack_q8_units(code, CHUNK, strip + (size_t)first * FCT_STRIP);
    }
    memcpy(strip + (size_t)padded * FCT_STRIP, scale, sizeof scale);
}

fct_status fct_quantize_strip(enum fct_scheme scheme, int group, struct fct_rounding rounding,
                              const float *x, int n_rows, int columns, uint8_t *strip,
                              struct fct_rows_origin origin, fct_error *err) {
    assert(n_rows >= 1 && n_rows <= FCT_STRIP && columns >= 1 && group <= MAX_GROUP);
    fct_status status = fct_check_finite(x, (size_t)n_rows, columns, origin, err);
    if (status != FCT_OK) return status;
    if (scheme == FCT_F32) {
        for (int i = 0; i < columns; i++)
            load_lanes(x, n_rows, columns, i, 1, (void *)(strip + (size_t)i * FCT_LINE));
        return FCT_OK;
    }
    if (group) return pack_groups(scheme, group, rounding, x, n_rows, columns, strip, origin, err);
    assert(scheme == FCT_Q8);
    pack_q8_rows(x, n_rows, columns, strip);
    return FCT_OK;
}

/* ---- tables ---- */

static void pack_q8_block(const float *x, size_t n, float scale, uint8_t *codes) {
    if (scale == 0.0f)
        memset(codes, 0, n);
    else
        for (size_t i = 0; i < n; i++) codes[i] = (uint8_t)(int8_t)rintf(x[i] / scale);
}

static void pack_q4_block(const float *x, int n, float scale, uint8_t *codes) {
    float scales[FCT_LANES], code[CHUNK][FCT_LANES];
    for (int r = 0; r < FCT_LANES; r++) scales[r] = scale;
    for (int first = 0; first < n; first += CHUNK * FCT_LANES) {
        int left = n - first, lines = left < CHUNK * FCT_LANES ? left / FCT_LANES : CHUNK;
        fct_round_codes((const float(*)[FCT_LANES])(x + first), lines, scales, -8.0f, 7.0f, code);
        for (int i = 0; i < lines * FCT_LANES; i += 2) {
            const float *pair = &code[i / FCT_LANES][i % FCT_LANES];
            codes[(first + i) / 2] = (uint8_t)(((int)pair[0] + 8) | ((int)pair[1] + 8) << 4);
        }
    }
}

static float q4_block_scale(const float *x, int n, struct fct_rounding rounding) {
    const float(*lines)[FCT_LANES] = (const float(*)[FCT_LANES])x;
    return rounding.absmax ? fct_absmax_block_scale(lines, n / FCT_LANES)
                           : fct_search_block_scale(lines, n / FCT_LANES);
}

fct_status fct_quantize_table_row(enum fct_scheme scheme, int blocks, struct fct_rounding rounding,
                                  const float *x, int columns, uint8_t *row,
                                  struct fct_rows_origin origin, fct_error *err) {
    fct_status status = fct_check_finite(x, 1, columns, origin, err);
    if (status != FCT_OK) return status;
    memset(row, 0, fct_table_row_bytes(scheme, blocks, columns));
    if (scheme == FCT_F32) {
        memcpy(row, x, (size_t)columns * sizeof *x);
        return FCT_OK;
    }
    assert(columns % blocks == 0 && (scheme == FCT_Q8 || columns / blocks % FCT_LANES == 0));
    int n = columns / blocks;
    uint8_t *codes = row + (size_t)blocks * sizeof(float);
    for (int b = 0; b < blocks; b++) {
        const float *block = x + (size_t)b * (size_t)n;
        float scale =
            scheme == FCT_Q8 ? q8_scale(block, (size_t)n) : q4_block_scale(block, n, rounding);
        memcpy(row + (size_t)b * sizeof scale, &scale, sizeof scale);
        if (scheme == FCT_Q8)
            pack_q8_block(block, (size_t)n, scale, codes + (size_t)b * (size_t)n);
        else
            pack_q4_block(block, n, scale, codes + (size_t)b * (size_t)n / 2);
    }
    return FCT_OK;
}

void fct_choose_layout(enum fct_scheme *scheme, int *group, int columns) {
    if (*scheme == FCT_F32 || *group == 0 || columns % *group == 0) return;
    for (int g = MAX_GROUP; g >= 32; g /= 2)
        if (columns % g == 0 && (*scheme == FCT_Q4 || g == 32)) {
            *group = g;
            return;
        }
    *scheme = FCT_Q8;
    *group = 0;
}
