/* test_quantize.c - weights become codes: each where blocks.h says, none further off than need be,
 * nothing from NaN. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/half.h"
#include "convert/quantize.h"
#include "convert/scale_search.h"

static const struct fct_rounding alike; /* scales are searched, without statistics */

static const struct fct_rows_origin here = {"the tensor", 32};

/* ---- reading codes back, straight from the words of blocks.h ---- */

static float scale_of_group(const uint8_t *strip, size_t tile_bytes, int group, int row) {
    uint16_t half;
    memcpy(&half, strip + (size_t)(group / 2) * tile_bytes + (size_t)(group % 2 * 16 + row) * 2,
           sizeof half);
    return fct_half_float(half);
}

static float read_weight(enum fct_scheme scheme, int group, const uint8_t *strip, int columns,
                         int row, int column) {
    float value;
    if (scheme == FCT_F32) {
        memcpy(&value, strip + (size_t)column * 64 + (size_t)row * 4, sizeof value);
        return value;
    }
    if (group == 0) { /* units of four inputs, then a line of scales */
        int padded = (columns + 63) / 64 * 64;
        memcpy(&value, strip + (size_t)padded * 16 + (size_t)row * 4, sizeof value);
        return (float)(int8_t)strip[column / 4 * 64 + 4 * row + column % 4] * value;
    }
    int inputs = scheme == FCT_Q4 ? 8 : 4, in_group = column % group;
    size_t group_bytes = (size_t)group / (size_t)inputs * 64, tile_bytes = 64 + 2 * group_bytes;
    const uint8_t *unit = strip + (size_t)(column / group / 2) * tile_bytes + 64 +
                          (size_t)(column / group % 2) * group_bytes +
                          (size_t)(in_group / inputs) * 64;
    value = scale_of_group(strip, tile_bytes, column / group, row);
    uint8_t byte = unit[4 * row + in_group % 4];
    if (scheme == FCT_Q8) return (float)(int8_t)byte * value;
    return (float)((in_group % 8 < 4 ? byte & 15 : byte >> 4) - 8) * value;
}

static uint8_t *quantized(enum fct_scheme scheme, int group, const float *x, int n_rows,
                          int columns) {
    uint8_t *strip = malloc(fct_strip_bytes(scheme, group, columns));
    fct_error err = {0};
    memset(strip, 0xEE, fct_strip_bytes(scheme, group, columns));
    if (fct_quantize_strip(scheme, group, alike, x, n_rows, columns, strip, here, &err) != FCT_OK)
        fail_msg("%s", err.message);
    return strip;
}

/* Numbers between -1 and 1, the same in every run. */
static float noise(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return (float)(int32_t)*state / 2147483648.0f;
}

static float *noise_matrix(int rows, int columns) {
    float *x = malloc((size_t)rows * (size_t)columns * sizeof *x);
    uint32_t state = 7;
    for (int i = 0; i < rows * columns; i++) x[i] = noise(&state) * noise(&state);
    return x;
}

/* ---- where things lie ---- */

static void every_code_of_q4_lies_where_the_layout_says(void **state) {
    (void)state;
    /* On the grid with scale 1: row r has code -8 somewhere, so that absmax / 8 is 1. */
    float x[16 * 64];
    for (int r = 0; r < 16; r++)
        for (int i = 0; i < 64; i++) x[r * 64 + i] = (float)((5 * r + 3 * i) % 16 - 8);
    uint8_t *strip = quantized(FCT_Q4, 32, x, 16, 64);
    for (int r = 0; r < 16; r++)
        for (int g = 0; g < 2; g++)
            assert_float_equal(scale_of_group(strip, 576, g, r), 1.0f, 0.0f);
    /* Unit 0 of group 0, row 1: inputs 0 .. 7. */
    for (int i = 0; i < 4; i++) {
        int low = (int)x[64 + i] + 8, high = (int)x[64 + 4 + i] + 8;
        assert_int_equal(strip[64 + 4 * 1 + i], low | high << 4);
    }
    /* Unit 3 of group 1, row 15: inputs 32 + 24 .. 32 + 31. */
    for (int i = 0; i < 4; i++) {
        int low = (int)x[15 * 64 + 56 + i] + 8, high = (int)x[15 * 64 + 60 + i] + 8;
        assert_int_equal(strip[64 + 256 + 3 * 64 + 4 * 15 + i], low | high << 4);
    }
    free(strip);
}

static void every_code_of_q8_lies_where_the_layout_says(void **state) {
    (void)state;
    float x[16 * 64];
    for (int r = 0; r < 16; r++)
        for (int i = 0; i < 64; i++)
            x[r * 64 + i] = i % 32 == 0 ? 127.0f : (float)((7 * r + 5 * i) % 255 - 127);
    uint8_t *strip = quantized(FCT_Q8, 32, x, 16, 64);
    assert_float_equal(scale_of_group(strip, 64 + 2 * 512, 1, 9), 1.0f, 0.0f);
    for (int r = 0; r < 16; r++)
        for (int i = 0; i < 64; i++)
            assert_int_equal((int8_t)strip[64 + i / 4 * 64 + 4 * r + i % 4], (int)x[r * 64 + i]);
    free(strip);
}

static void rows_with_one_scale_have_it_behind_the_codes(void **state) {
    (void)state;
    float x[2 * 16], scale;
    for (int i = 0; i < 32; i++) x[i] = i == 3 ? -254.0f : (float)(2 * (i % 16));
    uint8_t *strip = quantized(FCT_Q8, 0, x, 2, 16);
    memcpy(&scale, strip + 64 * 16, sizeof scale);
    assert_float_equal(scale, 2.0f, 0.0f);
    assert_int_equal((int8_t)strip[0 * 64 + 0 + 3], -127);
    assert_int_equal((int8_t)strip[3 * 64 + 0 + 2], 14);
    assert_int_equal(strip[4 * 64], 0); /* padding of columns */
    memcpy(&scale, strip + 64 * 16 + 4 * 2, sizeof scale);
    assert_float_equal(scale, 0.0f, 0.0f); /* padding of rows */
    free(strip);
}

static void floats_lie_sixteen_rows_to_a_line(void **state) {
    (void)state;
    float x[3 * 5], value;
    for (int i = 0; i < 15; i++) x[i] = (float)i;
    uint8_t *strip = quantized(FCT_F32, 0, x, 3, 5);
    memcpy(&value, strip + 4 * 64 + 2 * 4, sizeof value);
    assert_float_equal(value, 14.0f, 0.0f);
    memcpy(&value, strip + 4 * 64 + 3 * 4, sizeof value);
    assert_float_equal(value, 0.0f, 0.0f);
    free(strip);
}

static void what_is_read_back_is_near_what_was_given(void **state) {
    (void)state;
    static const struct {
        enum fct_scheme scheme;
        int group, columns;
        float bound; /* half a step of the largest weight, which is below 1; for q4 a step is at
                        most 1/7 */
    } cases[] = {{FCT_Q4, 32, 96, 0.5f / 7},    {FCT_Q4, 64, 320, 0.5f / 7},
                 {FCT_Q4, 128, 256, 0.5f / 7},  {FCT_Q8, 32, 160, 0.51f / 127},
                 {FCT_Q8, 0, 200, 0.51f / 127}, {FCT_F32, 0, 50, 0.0f}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        int columns = cases[c].columns, n_rows = 13;
        float *x = noise_matrix(n_rows, columns);
        uint8_t *strip = quantized(cases[c].scheme, cases[c].group, x, n_rows, columns);
        double error = 0, size = 0;
        for (int r = 0; r < n_rows; r++)
            for (int i = 0; i < columns; i++) {
                float back = read_weight(cases[c].scheme, cases[c].group, strip, columns, r, i),
                      given = x[r * columns + i];
                error += (double)(back - given) * (double)(back - given);
                size += (double)given * (double)given;
                if (cases[c].scheme != FCT_Q4) assert_true(fabsf(back - given) <= cases[c].bound);
            }
        /* Q4 may clip the largest weight for the sake of the others: held as a whole. */
        assert_true(error <=
                    (double)cases[c].bound * (double)cases[c].bound * (double)(n_rows * columns));
        assert_true(error < 0.02 * size);
        free(strip);
        free(x);
    }
}

static void rows_and_groups_that_are_not_there_are_zero(void **state) {
    (void)state;
    float x[96];
    uint32_t seed = 3;
    for (int i = 0; i < 96; i++) x[i] = noise(&seed);
    uint8_t *strip = quantized(FCT_Q4, 32, x, 1, 96); /* three groups: the fourth is padding */
    for (int r = 0; r < 16; r++)
        for (int g = r == 0 ? 3 : 0; g < 4; g++)
            assert_float_equal(scale_of_group(strip, 576, g, r), 0.0f, 0.0f);
    assert_int_equal(strip[576 + 64 + 256 + 4], 0x88);
    assert_int_equal(strip[64 + 4 * 15 + 3], 0x88);
    free(strip);
}

/* ---- tables ---- */

static void a_table_row_has_its_scales_first(void **state) {
    (void)state;
    float x[32], scales[2];
    uint8_t row[48];
    for (int i = 0; i < 16; i++)
        x[i] = (float)(i - 7) * 127.0f / 8.0f, x[16 + i] = (float)(i - 8) * 4.0f;
    assert_int_equal(fct_table_row_bytes(FCT_Q8, 2, 32), 48);
    assert_int_equal(fct_quantize_table_row(FCT_Q8, 2, alike, x, 32, row, here, NULL), FCT_OK);
    memcpy(scales, row, sizeof scales);
    assert_float_equal(scales[0], 1.0f, 0.0f);
    assert_float_equal(scales[1], 32.0f / 127.0f, 0.0f);
    assert_int_equal((int8_t)row[8 + 15], 127);
    assert_int_equal((int8_t)row[8 + 16], -127);
    assert_int_equal((int8_t)row[8 + 16 + 8], 0);

    assert_int_equal(fct_quantize_table_row(FCT_Q4, 2, alike, x, 32, row, here, NULL), FCT_OK);
    memcpy(scales, row, sizeof scales);
    assert_float_equal(scales[1], 4.0f, 0.0f); /* -32 .. 28 in steps of 4 */
    for (int j = 0; j < 8; j++) assert_int_equal(row[8 + 8 + j], (2 * j) | (2 * j + 1) << 4);

    assert_int_equal(fct_quantize_table_row(FCT_F32, 1, alike, x, 7, row, here, NULL), FCT_OK);
    assert_memory_equal(row, x, 7 * sizeof *x);
    assert_int_equal(row[28] | row[29] | row[30] | row[31], 0);
}

/* ---- F44: zeros, subnormals, NaN ---- */

static void zeros_come_back_as_zeros(void **state) {
    (void)state;
    float x[16 * 64] = {0};
    for (int i = 0; i < 64; i++) x[3 * 64 + i] = -0.0f;
    uint8_t *q4 = quantized(FCT_Q4, 32, x, 16, 64), *q8 = quantized(FCT_Q8, 32, x, 16, 64),
            *rows = quantized(FCT_Q8, 0, x, 16, 64), zero[64] = {0}, codes[64];
    memset(codes, 0x88, sizeof codes);
    assert_memory_equal(q4, zero, 64);
    for (int i = 64; i < 576; i += 64) assert_memory_equal(q4 + i, codes, 64);
    for (size_t i = 0; i < fct_strip_bytes(FCT_Q8, 32, 64); i++) assert_int_equal(q8[i], 0);
    for (size_t i = 0; i < fct_strip_bytes(FCT_Q8, 0, 64); i++) assert_int_equal(rows[i], 0);
    free(q4);
    free(q8);
    free(rows);
}

static void weights_too_small_for_a_scale_become_zeros(void **state) {
    (void)state;
    static const float sizes[] = {1e-40f, 1.4e-45f, 1e-30f, 1e-9f};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        float x[16 * 64];
        for (int i = 0; i < 16 * 64; i++) x[i] = i % 3 ? sizes[s] : -sizes[s];
        uint8_t *strip = quantized(FCT_Q4, 64, x, 16, 64), row[80];
        for (int r = 0; r < 16; r++)
            for (int i = 0; i < 64; i++)
                assert_float_equal(read_weight(FCT_Q4, 64, strip, 64, r, i), 0.0f, 0.0f);
        free(strip);
        strip = quantized(FCT_Q8, 0, x, 16, 64);
        for (int r = 0; r < 16; r++)
            for (int i = 0; i < 64; i++) {
                float back = read_weight(FCT_Q8, 0, strip, 64, r, i);
                assert_true(fabsf(back - x[r * 64 + i]) <= sizes[s]);
            }
        free(strip);
        for (int scheme = FCT_Q8; scheme <= FCT_Q4; scheme++) {
            float scale;
            assert_int_equal(
                fct_quantize_table_row((enum fct_scheme)scheme, 1, alike, x, 64, row, here, NULL),
                FCT_OK);
            memcpy(&scale, row, sizeof scale);
            assert_true(isfinite(scale));
        }
    }
}

/* The smallest float16 is 2^-24: weights around it still round to the nearest of what there is. */
static void weights_at_the_edge_of_float16_stay_near(void **state) {
    (void)state;
    float x[16 * 64];
    for (int i = 0; i < 16 * 64; i++) x[i] = (float)(i % 15 - 7) * 0x1p-24f;
    uint8_t *strip = quantized(FCT_Q4, 32, x, 16, 64);
    for (int r = 0; r < 16; r++)
        for (int i = 0; i < 64; i++)
            assert_float_equal(read_weight(FCT_Q4, 32, strip, 64, r, i), x[r * 64 + i], 0.0f);
    free(strip);
}

static void a_weight_that_is_no_number_is_named(void **state) {
    (void)state;
    static const struct {
        enum fct_scheme scheme;
        int group;
    } schemes[] = {{FCT_Q4, 32}, {FCT_Q8, 32}, {FCT_Q8, 0}, {FCT_F32, 0}};
    float x[5 * 96] = {0};
    uint8_t *strip = malloc(96 * 64);
    fct_error err;
    for (size_t s = 0; s < sizeof schemes / sizeof *schemes; s++) {
        x[3 * 96 + 70] = NAN;
        assert_int_equal(fct_quantize_strip(schemes[s].scheme, schemes[s].group, alike, x, 5, 96,
                                            strip, here, &err),
                         FCT_ERR_NUMERIC);
        assert_string_equal(err.message,
                            "the tensor: the weight in row 35, column 70 is not a number");
        x[3 * 96 + 70] = -INFINITY;
        assert_int_equal(
            fct_quantize_table_row(schemes[s].scheme, 1, alike, x + 3 * 96, 96, strip, here, &err),
            FCT_ERR_NUMERIC);
        assert_string_equal(err.message, "the tensor: the weight in row 32, column 70 is infinite");
    }
    free(strip);
}

static void weights_beyond_a_float16_scale_are_an_error(void **state) {
    (void)state;
    float x[2 * 64] = {0};
    uint8_t strip[1088 + 64];
    fct_error err;
    x[64 + 40] = 65504.0f * 8.0f; /* the largest that fits */
    assert_int_equal(fct_quantize_strip(FCT_Q4, 32, alike, x, 2, 64, strip, here, &err), FCT_OK);
    assert_float_equal(read_weight(FCT_Q4, 32, strip, 64, 1, 40), 65504.0f * 8.0f, 0.0f);
    x[64 + 40] = 65536.0f * 8.0f;
    assert_int_equal(fct_quantize_strip(FCT_Q4, 32, alike, x, 2, 64, strip, here, &err),
                     FCT_ERR_NUMERIC);
    assert_non_null(strstr(err.message, "the tensor: row 33, column 32:"));
    x[64 + 40] = 65536.0f * 127.0f;
    assert_int_equal(fct_quantize_strip(FCT_Q8, 32, alike, x, 2, 64, strip, here, &err),
                     FCT_ERR_NUMERIC);
}

/* ---- the search for a scale ---- */

static void weights_on_a_4_bit_grid_come_out_exactly(void **state) {
    (void)state;
    static const float scales[] = {0.0123f, -0.0371f, 1.5e-3f, 3.0f};
    uint32_t seed = 11;
    for (size_t s = 0; s < sizeof scales / sizeof *scales; s++)
        for (int top = 1; top <= 8; top++)
            for (int group = 32; group <= 128; group *= 2) {
                float grid = fct_half_float(fct_float_half(scales[s])), x[16 * 256];
                for (int i = 0; i < 16 * 256; i++) { /* codes -top .. top, at most 7 */
                    int code = (int)(noise(&seed) * ((float)top + 0.999f));
                    x[i] = grid * (float)(code > 7 ? 7 : code);
                }
                for (int i = 0; i < 16 * 256; i += 32) x[i] = grid * (float)-top;
                uint8_t *strip = quantized(FCT_Q4, group, x, 16, 256);
                for (int r = 0; r < 16; r++)
                    for (int i = 0; i < 256; i++)
                        assert_float_equal(read_weight(FCT_Q4, group, strip, 256, r, i),
                                           x[r * 256 + i], 0.0f);
                free(strip);
            }
}

/* As a checkpoint of bfloat16 holds them: products rounded to eight bits, so that the scale is
 * known no better. The next code would be off by an eighth of the weight at least. */
static void weights_of_a_bfloat16_grid_come_out_as_trained(void **state) {
    (void)state;
    uint32_t seed = 5;
    for (int top = 4; top <= 8; top++) {
        float x[16 * 64], grid = 0.00917f;
        int codes[16 * 64];
        for (int i = 0; i < 16 * 64; i++) {
            int code = (int)(noise(&seed) * 8.0f);
            codes[i] = i % 32 == 5 ? -top : code > top - 1 ? top - 1 : code < -top ? -top : code;
            x[i] = fct_bits_float((fct_float_bits(grid * (float)codes[i]) + 0x8000) & 0xFFFF0000);
        }
        uint8_t *strip = quantized(FCT_Q4, 32, x, 16, 64);
        for (int r = 0; r < 16; r++)
            for (int i = 0; i < 64; i++) {
                float trained = grid * (float)codes[r * 64 + i],
                      back = read_weight(FCT_Q4, 32, strip, 64, r, i);
                assert_true(fabsf(back - trained) <= 0x1p-8f * fabsf(trained));
            }
        free(strip);
    }
}

/* The weight as 4 bits give it back. */
static double nearest(float x, float scale) {
    double code = scale == 0.0f ? 0.0 : rint((double)x / (double)scale);
    return (code < -8.0 ? -8.0 : code > 7.0 ? 7.0 : code) * (double)scale;
}

/* Squared error with the codes that a scale gives, of each weight as often as it is large. */
static double error_with(const float (*x)[FCT_LANES], int n, int lane, float scale) {
    double error = 0;
    for (int i = 0; i < n; i++)
        error += fabs((double)x[i][lane]) * pow((double)x[i][lane] - nearest(x[i][lane], scale), 2);
    return error;
}

static void no_group_is_worse_than_by_the_plain_rules(void **state) {
    (void)state;
    float x[128][FCT_LANES], scale[FCT_LANES];
    double plain_sum = 0, best_sum = 0;
    uint32_t seed = 1;
    for (int round = 0; round < 200; round++) {
        int n = round % 3 == 0 ? 32 : round % 3 == 1 ? 64 : 128;
        for (int i = 0; i < n; i++)
            for (int r = 0; r < FCT_LANES; r++)
                x[i][r] = noise(&seed) * noise(&seed) + 0.1f * noise(&seed);
        fct_search_group_scales((const float(*)[FCT_LANES])x, n, NULL, scale);
        for (int r = 0; r < FCT_LANES; r++) {
            float extreme = 0;
            for (int i = 0; i < n; i++)
                if (fabsf(x[i][r]) > fabsf(extreme)) extreme = x[i][r];
            double best = error_with((const float(*)[FCT_LANES])x, n, r, scale[r]),
                   allowed = 1e-5 * best;
            for (int divisor = -8; divisor <= 7; divisor += 15) { /* Q4_0, absmax / 7 */
                float plain = fct_half_float(fct_float_half(extreme / (float)divisor));
                double error = error_with((const float(*)[FCT_LANES])x, n, r, plain);
                assert_true(best <= error + allowed); /* the search sums in float */
                if (divisor == 7) plain_sum += error;
            }
            best_sum += best;
        }
    }
    assert_true(best_sum < 0.9 * plain_sum);
}

/* Were all errors alike, the 127 others would come out exactly, and the largest as 2. */
static void one_large_weight_of_a_wide_group_is_not_clipped(void **state) {
    (void)state;
    enum { N = 128 };
    float x[N][FCT_LANES], scale[FCT_LANES];
    uint32_t random = 3;
    for (int i = 0; i < N; i++)
        for (int r = 0; r < FCT_LANES; r++)
            x[i][r] = i == r ? 4.0f : copysignf(i % 2 ? 0.25f : 0.75f, noise(&random));
    fct_search_group_scales((const float(*)[FCT_LANES])x, N, NULL, scale);
    for (int r = 0; r < FCT_LANES; r++) assert_true(nearest(4.0f, scale[r]) > 3.5);
}

/* Codes of 5 bits and a float16 scale, as GGUF's Q5_0: nothing is lost but what float16 cannot hold
 * of the new scale; by the largest weight alone much more would be. */
static void coarser_codes_come_out_whole_in_8_bits(void **state) {
    (void)state;
    enum { N = 64 };
    float x[FCT_STRIP][N];
    uint32_t random = 9;
    fct_error err = {0};
    const struct fct_rounding fine = {.fine = true};
    uint8_t searched[64 + 2 * 512];
    for (int r = 0; r < FCT_STRIP; r++)
        for (int i = 0; i < N; i++)
            x[r][i] = fct_half_float(fct_float_half(0.01f + 0.001f * (float)r)) *
                      fmaxf(-16, fminf(15, rintf(12 * noise(&random))));
    assert_int_equal(fct_quantize_strip(FCT_Q8, 32, fine, x[0], FCT_STRIP, N, searched, here, &err),
                     FCT_OK);
    uint8_t *plain = quantized(FCT_Q8, 32, x[0], FCT_STRIP, N);
    double searched_sum = 0, plain_sum = 0, square_sum = 0;
    for (int r = 0; r < FCT_STRIP; r++)
        for (int i = 0; i < N; i++) {
            double weight = (double)x[r][i],
                   off = (double)read_weight(FCT_Q8, 32, searched, N, r, i) - weight,
                   plain_off = (double)read_weight(FCT_Q8, 32, plain, N, r, i) - weight;
            searched_sum += off * off;
            plain_sum += plain_off * plain_off;
            square_sum += weight * weight;
        }
    free(plain);
    assert_true(sqrt(searched_sum / square_sum) < 0x1p-11);
    assert_true(searched_sum < plain_sum / 100);
}

/* Each column's error counted as often as it is important. */
static void important_columns_are_rounded_with_more_care(void **state) {
    (void)state;
    enum { N = 32 };
    uint32_t random = 5;
    double heeded_sum = 0, alike_sum = 0;
    for (int round = 0; round < 50; round++) {
        float x[N][FCT_LANES], importance[N], heeded[FCT_LANES], same[FCT_LANES], single[N] = {0};
        for (int i = 0; i < N; i++) {
            for (int r = 0; r < FCT_LANES; r++) x[i][r] = noise(&random);
            importance[i] = expf(6 * noise(&random));
        }
        fct_search_group_scales((const float(*)[FCT_LANES])x, N, importance, heeded);
        fct_search_group_scales((const float(*)[FCT_LANES])x, N, NULL, same);
        for (int r = 0; r < FCT_LANES; r++)
            for (int i = 0; i < N; i++) {
                double a = (double)x[i][r] - nearest(x[i][r], heeded[r]),
                       b = (double)x[i][r] - nearest(x[i][r], same[r]);
                heeded_sum += (double)importance[i] * a * a;
                alike_sum += (double)importance[i] * b * b;
            }
        /* If one column is all that counts, it comes out as near as float16 allows, unless it is so
         * small that no scale tried gives it a code. */
        single[round % N] = 3.0f;
        fct_search_group_scales((const float(*)[FCT_LANES])x, N, single, heeded);
        for (int r = 0; r < FCT_LANES; r++) {
            double wanted = (double)x[round % N][r];
            double error = fabs(nearest(x[round % N][r], heeded[r]) - wanted);
            assert_true(error <= 1e-3 * fabs(wanted) || fabs(wanted) < 0.2);
        }
    }
    assert_true(heeded_sum < 0.8 * alike_sum);
}

static void absmax_is_the_rule_of_q4_0(void **state) {
    (void)state;
    uint32_t random = 6;
    float x[64][FCT_LANES], scale[FCT_LANES];
    for (int i = 0; i < 64; i++)
        for (int r = 0; r < FCT_LANES; r++) x[i][r] = noise(&random);
    fct_absmax_group_scales((const float(*)[FCT_LANES])x, 64, scale);
    for (int r = 0; r < FCT_LANES; r++) {
        float extreme = 0;
        for (int i = 0; i < 64; i++)
            if (fabsf(x[i][r]) > fabsf(extreme)) extreme = x[i][r];
        assert_true(scale[r] == fct_half_float(fct_float_half(extreme / -8.0f)));
    }
    float *strip_x = noise_matrix(16, 64), made;
    struct fct_rounding absmax = {.absmax = true};
    uint8_t *strip = malloc(fct_strip_bytes(FCT_Q4, 32, 64));
    assert_int_equal(fct_quantize_strip(FCT_Q4, 32, absmax, strip_x, 16, 64, strip, here, NULL),
                     FCT_OK);
    for (int r = 0; r < 16; r++) {
        float extreme = 0;
        for (int i = 0; i < 32; i++)
            if (fabsf(strip_x[r * 64 + i]) > fabsf(extreme)) extreme = strip_x[r * 64 + i];
        made = scale_of_group(strip, fct_tile_bytes(FCT_Q4, 32), 0, r);
        assert_true(made == fct_half_float(fct_float_half(extreme / -8.0f)));
    }
    free(strip);
    free(strip_x);
}

static void a_shared_scale_is_one_for_all_lanes(void **state) {
    (void)state;
    float x[4][FCT_LANES];
    for (int i = 0; i < 4; i++)
        for (int r = 0; r < FCT_LANES; r++) x[i][r] = 0.001f * (float)((i + r) % 16 - 8);
    float scale = fct_search_block_scale((const float(*)[FCT_LANES])x, 4);
    assert_float_equal(fabsf(scale), 0.001f, 1e-9f);
}

/* ---- widths ---- */

static void a_width_that_does_not_divide_falls_back(void **state) {
    (void)state;
    static const struct {
        enum fct_scheme scheme;
        int group, columns;
        enum fct_scheme got;
        int got_group;
    } cases[] = {
        {FCT_Q4, 32, 1536, FCT_Q4, 32}, {FCT_Q4, 128, 1536, FCT_Q4, 128},
        {FCT_Q4, 128, 192, FCT_Q4, 64}, {FCT_Q4, 64, 96, FCT_Q4, 32},
        {FCT_Q4, 32, 48, FCT_Q8, 0},    {FCT_Q8, 32, 48, FCT_Q8, 0},
        {FCT_Q8, 32, 256, FCT_Q8, 32},  {FCT_F32, 0, 7, FCT_F32, 0},
        {FCT_Q4, 128, 16, FCT_Q8, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum fct_scheme scheme = cases[i].scheme;
        int group = cases[i].group;
        fct_choose_layout(&scheme, &group, cases[i].columns);
        assert_int_equal(scheme, cases[i].got);
        assert_int_equal(group, cases[i].got_group);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_of_q4_lies_where_the_layout_says),
        cmocka_unit_test(every_code_of_q8_lies_where_the_layout_says),
        cmocka_unit_test(rows_with_one_scale_have_it_behind_the_codes),
        cmocka_unit_test(floats_lie_sixteen_rows_to_a_line),
        cmocka_unit_test(what_is_read_back_is_near_what_was_given),
        cmocka_unit_test(rows_and_groups_that_are_not_there_are_zero),
        cmocka_unit_test(a_table_row_has_its_scales_first),
        cmocka_unit_test(zeros_come_back_as_zeros),
        cmocka_unit_test(weights_too_small_for_a_scale_become_zeros),
        cmocka_unit_test(weights_at_the_edge_of_float16_stay_near),
        cmocka_unit_test(a_weight_that_is_no_number_is_named),
        cmocka_unit_test(weights_beyond_a_float16_scale_are_an_error),
        cmocka_unit_test(weights_on_a_4_bit_grid_come_out_exactly),
        cmocka_unit_test(weights_of_a_bfloat16_grid_come_out_as_trained),
        cmocka_unit_test(no_group_is_worse_than_by_the_plain_rules),
        cmocka_unit_test(one_large_weight_of_a_wide_group_is_not_clipped),
        cmocka_unit_test(coarser_codes_come_out_whole_in_8_bits),
        cmocka_unit_test(important_columns_are_rounded_with_more_care),
        cmocka_unit_test(absmax_is_the_rule_of_q4_0),
        cmocka_unit_test(a_shared_scale_is_one_for_all_lanes),
        cmocka_unit_test(a_width_that_does_not_divide_falls_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
