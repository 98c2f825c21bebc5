/* test_kernels.c - what the kernels compute, against the same in double: every table that this CPU
 * runs.
 *
 * That all tables give the same bits is check_kernels' business; this holds those bits to the
 * definitions. */
#include "kernels/check.h"
#include "kernels/float_ops.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define EACH_TABLE(k)                                                                              \
    for (const char *const *name_ = fct_kernels_names(); *name_; name_++)                          \
        for (const struct fct_kernels *k = fct_kernels_select(*name_); k; k = NULL)

#define CHECK_NEAR(got, expected, bound)                                                           \
    do {                                                                                           \
        double got_ = (got), expected_ = (expected), bound_ = (bound);                             \
        if (!(fabs(got_ - expected_) <= bound_))                                                   \
            fail_msg("%s is %.9g, not %.9g (bound %.3g)", #got, got_, expected_, bound_);          \
    } while (0)

enum { MOST = 1024, TOKENS = 3 };

static float x[MOST * TOKENS], y[MOST * TOKENS], w[MOST], r[MOST];
static _Alignas(64) int8_t codes[TOKENS * MOST];
static struct fct_act_group groups[TOKENS][MOST / 32];
static struct fct_act act = {MOST, 32, codes, groups[0]};

static double ulps(float got, double expected) {
    return fabs((double)got - expected) / ldexp(1.0, ilogb(expected) - 23);
}

/* ---- functions ---- */

static void exponential_is_within_2_ulp(void **state) {
    (void)state;
    for (float v = -87.0f; v <= 88.0f; v += 0.00037f)
        if (ulps(exponential(v), exp((double)v)) > 2)
            fail_msg("e^%.9g is %.9g", (double)v, (double)exponential(v));
    assert_true(exponential(0.0f) == 1.0f);
    assert_true(exponential(-100.0f) == 0.0f);
    assert_true(exponential(-INFINITY) == 0.0f);
    assert_true(isnan(exponential(NAN)));
}

static void hyperbolic_tangent_is_within_4_ulp_also_of_small_numbers(void **state) {
    (void)state;
    for (float v = 1e-30f; v < 30.0f; v *= 1.00037f) {
        if (ulps(hyperbolic_tangent(v), tanh((double)v)) > 4)
            fail_msg("tanh %.9g is %.9g", (double)v, (double)hyperbolic_tangent(v));
        assert_true(hyperbolic_tangent(-v) == -hyperbolic_tangent(v));
    }
    assert_true(hyperbolic_tangent(INFINITY) == 1.0f);
    assert_true(hyperbolic_tangent(-3e38f) == -1.0f);
    assert_true(isnan(hyperbolic_tangent(NAN)));
}

static double gelu(double g) {
    return g / 2 * (1 + tanh(sqrt(2 / M_PI) * (g + 0.044715 * g * g * g)));
}

/* The exponent -2u is as exact as floats are, so its error grows with |g|; 4e-7 covers it where
 * gelu is not negligible. */
static void gelu_is_within_4e_7_of_its_size(void **state) {
    (void)state;
    EACH_TABLE(k)
    for (float g = -12.0f; g < 12.0f; g += 0.016f) {
        for (int i = 0; i < 16; i++) x[i] = g + (float)i * 0.001f, w[i] = 1.0f;
        k->gelu_mul(x, w, 16, y);
        for (int i = 0; i < 16; i++)
            CHECK_NEAR(y[i], gelu(x[i]), 4e-7 * fmax(fabs(gelu(x[i])), 0.1));
    }
    for (float g = 1e-20f; g < 1e-2f; g *= 3)
        CHECK_NEAR(gelu_tanh(g), gelu((double)g), 4e-7 * gelu((double)g));
}

static void softcap_saturates_at_the_cap(void **state) {
    (void)state;
    EACH_TABLE(k) {
        for (int i = 0; i < 37; i++) y[i] = x[i] = (float)(i - 18) * 7.3f;
        k->softcap(y, 30.0f, 37);
        for (int i = 0; i < 37; i++) CHECK_NEAR(y[i], 30 * tanh(x[i] / 30.0), 1e-5);
        float logits[3] = {45, 5, -90}; /* F23 */
        k->softcap(logits, 30.0f, 3);
        CHECK_NEAR(logits[0], 27.15445, 1e-5);
        CHECK_NEAR(logits[1], 4.95421, 1e-5);
        CHECK_NEAR(logits[2], -29.85164, 1e-5);
        y[0] = 1e30f, y[1] = -1e30f;
        k->softcap(y, 30.0f, 2);
        assert_true(y[0] == 30.0f && y[1] == -30.0f);
    }
}

/* ---- vectors ---- */

static void norm_divides_by_the_root_of_the_mean_square(void **state) {
    (void)state;
    const int n = 1008;
    double squares = 0;
    fct_made_up_floats(x, MOST, 1);
    fct_made_up_floats(w, MOST, 2);
    fct_made_up_floats(r, MOST, 3);
    for (int i = 0; i < n; i++) squares += (double)x[i] * x[i];
    double root = sqrt(squares / n + 1e-6);
    EACH_TABLE(k) {
        k->rms_norm(x, w, n, 1e-6f, y);
        for (int i = 0; i < n; i++)
            CHECK_NEAR(y[i], x[i] / root * w[i], 1e-6 * fabs(x[i] / root * w[i]));
        k->rms_norm(x, NULL, n, 1e-6f, y);
        for (int i = 0; i < n; i++) CHECK_NEAR(y[i], x[i] / root, 1e-6 * fabs(x[i] / root));
        k->rms_norm_add(x, w, r, n, 1e-6f, y);
        for (int i = 0; i < n; i++)
            CHECK_NEAR(y[i], r[i] + x[i] / root * w[i],
                       1e-6 * (fabs(x[i] / root * w[i]) + fabs(r[i])));
    }
}

static void norm_of_zeros_is_zero(void **state) {
    (void)state;
    EACH_TABLE(k) {
        memset(x, 0, sizeof x);
        k->rms_norm(x, w, 256, 1e-6f, y);
        for (int i = 0; i < 256; i++) assert_true(y[i] == 0.0f);
    }
}

static void rope_turns_lane_i_with_lane_i_plus_half(void **state) {
    (void)state;
    EACH_TABLE(k) {
        for (int i = 0; i < 64; i++) w[i] = cosf((float)i), r[i] = sinf((float)i);
        fct_made_up_floats(x, 128, 4);
        memcpy(y, x, 128 * sizeof *x);
        k->rope(y, w, r, 21, 64);
        for (int i = 0; i < 64; i++) {
            double a = x[i], b = x[i + 64], c = i < 21 ? w[i] : 1, s = i < 21 ? r[i] : 0;
            CHECK_NEAR(y[i], a * c - b * s, 2e-6);
            CHECK_NEAR(y[i + 64], b * c + a * s, 2e-6);
        }
    }
}

static void argmax_takes_the_first_of_equals_and_never_nan(void **state) {
    (void)state;
    EACH_TABLE(k) {
        for (int i = 0; i < MOST; i++) x[i] = (float)(i % 7);
        assert_int_equal(k->argmax(x, MOST), 6);
        x[901] = x[500] = 7.5f;
        assert_int_equal(k->argmax(x, MOST), 500);
        x[3] = NAN;
        assert_int_equal(k->argmax(x, MOST), 500);
        for (int n = 1; n < 200; n += 13) {
            for (int i = 0; i < n; i++) x[i] = NAN;
            assert_int_equal(k->argmax(x, n), 0);
            x[n - 1] = -INFINITY;
            assert_int_equal(k->argmax(x, n), n - 1);
            x[n / 2] = -3e38f;
            assert_int_equal(k->argmax(x, n), n / 2);
        }
    }
}

static void nan_and_infinity_show_in_every_result(void **state) {
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    EACH_TABLE(k)
    for (int b = 0; b < 3; b++)
        for (int at = 0; at < 64; at += 9) {
            for (int i = 0; i < 64; i++) x[i] = 0.5f, w[i] = 1.0f, r[i] = 0.0f;
            x[at] = bad[b];
            k->rms_norm(x, w, 64, 1e-6f, y);
            assert_false(isfinite(y[at]));
            k->rms_norm_add(x, w, r, 64, 1e-6f, y);
            assert_false(isfinite(y[at]));
            k->gelu_mul(x, w, 64, y);
            assert_false(isfinite(y[at]));
            memcpy(y, x, sizeof y);
            k->softcap(y, 30.0f, 64);
            assert_false(isfinite(y[at]));
            for (act.group = 0; act.group <= 64; act.group += 32) {
                float *scale = &groups[1][act.group ? at / act.group : 0].scale;
                k->quantize(x, 64, 0.0f, &act, 1);
                assert_false(isfinite(*scale));
                k->quantize(x, 64, 0.1f, &act, 1);
                assert_false(isfinite(*scale));
                assert_false(isfinite(0.0f * *scale)); /* even where all codes are 0 */
            }
        }
}

/* ---- int8 activations ---- */

static void quantize_rounds_to_nearest_even(void **state) {
    (void)state;
    EACH_TABLE(k) {
        static const float values[] = {127.0f, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -126.7f, 3.4999f};
        static const int expected[] = {127, 0, 2, 2, 0, -2, -127, 3};
        memcpy(x, values, sizeof values);
        act.group = 32;
        k->quantize(x, 8, 0.0f, &act, 1);
        assert_true(groups[1][0].scale == 1.0f);
        for (int i = 0; i < 8; i++) assert_int_equal(codes[MOST + i], expected[i]);
    }
}

static void quantize_with_a_static_scale_clamps(void **state) {
    (void)state;
    EACH_TABLE(k) {
        static const float values[] = {1.0f, 63.0f, 63.6f, -63.9f, -64.0f, -70.0f, 1e30f, -1e30f};
        static const int expected[] = {2, 126, 127, -128, -128, -128, 127, -128};
        memcpy(x, values, sizeof values);
        for (act.group = 0; act.group <= 64; act.group += 32) {
            k->quantize(x, 8, 0.5f, &act, 1);
            assert_true(groups[1][0].scale == 0.5f);
            for (int i = 0; i < 8; i++) assert_int_equal(codes[MOST + i], expected[i]);
        }
    }
}

/* A large number costs its own group precision, and no other. */
static void each_group_has_a_scale_of_its_own(void **state) {
    (void)state;
    static const int lengths[] = {32, 64, 128};
    EACH_TABLE(k)
    for (int g = 0; g < 3; g++) {
        act.group = lengths[g];
        for (int i = 0; i < 256; i++) x[i] = 0.01f * (float)(i % 32 - 15);
        x[0] = 254.0f;
        k->quantize(x, 256, 0.0f, &act, 1);
        assert_true(groups[1][0].scale == 2.0f && codes[MOST] == 127 && codes[MOST + 1] == 0);
        for (int i = act.group; i < 256; i++) {
            assert_true(groups[1][i / act.group].scale == 0.16f / 127.0f);
            CHECK_NEAR((float)codes[MOST + i] * groups[1][i / act.group].scale, x[i], 0.0007);
        }
    }
}

static void quantize_pads_with_zeros_and_keeps_sums(void **state) {
    (void)state;
    static const int lengths[] = {0, 32, 64, 128};
    EACH_TABLE(k)
    for (int g = 0; g < 4; g++) {
        const int n = 333, length = lengths[g] ? lengths[g] : 512;
        fct_made_up_floats(x, MOST, 5);
        memset(codes, 0x55, sizeof codes);
        memset(groups, 0x55, sizeof groups);
        act.group = lengths[g];
        k->quantize(x, n, 0.0f, &act, 2);
        for (int i = n; i < 512; i++) assert_int_equal(codes[2 * MOST + i], 0);
        for (int i = 0; i < 512; i += length) {
            int sum = 0;
            for (int j = 0; j < length; j++) sum += codes[2 * MOST + i + j];
            assert_int_equal(groups[2][i / length].minus_8_sum, -8 * sum);
            assert_true((groups[2][i / length].scale > 0) == (i < n));
        }
        assert_int_equal(groups[2][512 / length].minus_8_sum, 0x55555555);
    }
}

static void quantize_of_zeros_or_almost_gives_scale_zero(void **state) {
    (void)state;
    act.group = 32;
    EACH_TABLE(k)
    for (int tiny = 0; tiny < 2; tiny++) {
        for (int i = 0; i < 64; i++) x[i] = tiny ? 1e-40f : -0.0f;
        k->quantize(x, 64, 0.0f, &act, 0);
        assert_true(groups[0][0].scale == 0.0f && groups[0][1].scale == 0.0f);
        for (int i = 0; i < 64; i++) assert_int_equal(codes[i], 0);
    }
}

/* ---- matrices ---- */

enum { ROWS = 37, COLUMNS = 416 };

/* Numbers and their place in memory, after the words of blocks.h. */
static int8_t weight_codes[48][512];
static float weight_scales[48][512];
static _Alignas(64) uint8_t packed[48 * 512 * 4 + 65536];

static const struct {
    enum fct_scheme scheme;
    int group, lowest, highest;
} schemes[] = {{FCT_Q4, 32, -8, 7}, {FCT_Q4, 64, -8, 7},     {FCT_Q4, 128, -8, 7},
               {FCT_Q4, 0, -8, 7},  {FCT_Q8, 32, -128, 127}, {FCT_Q8, 0, -128, 127},
               {FCT_Q2, 0, -2, 1}};
enum { N_SCHEMES = sizeof schemes / sizeof *schemes };

static void put_code(uint8_t *units, enum fct_scheme scheme, int row, int input, int code) {
    int per_unit = scheme == FCT_Q8 ? 4 : scheme == FCT_Q4 ? 8 : 16;
    uint8_t *byte = units + input / per_unit * 64 + 4 * row + input % 4;
    if (scheme == FCT_Q8) *byte = (uint8_t)code;
    if (scheme == FCT_Q4) *byte |= (uint8_t)((code + 8) << (input % 8 / 4 * 4));
    if (scheme == FCT_Q2) *byte |= (uint8_t)((code + 2) << (input % 16 / 4 * 2));
}

static struct fct_matrix pack_weights(int s) {
    enum fct_scheme scheme = schemes[s].scheme;
    int group = schemes[s].group, bits = fct_scheme_bits(scheme),
        padded = fct_padded_columns(scheme, group, COLUMNS);
    struct fct_matrix matrix = {scheme, group, ROWS, COLUMNS, packed};
    uint32_t seed = 77;
    memset(packed, 0, sizeof packed);
    assert_true(fct_matrix_bytes(&matrix) <= sizeof packed);
    for (int row = 0; row < 48; row++)
        for (int input = 0; input < padded; input++) {
            bool real = row < ROWS && input < COLUMNS;
            seed = seed * 1664525 + 1013904223;
            int code = real ? schemes[s].lowest +
                                  (int)(seed >> 16) % (schemes[s].highest - schemes[s].lowest + 1)
                            : 0;
            float scale =
                real ? 0.25f + (float)(row % 5) + (float)(group ? input / group % 3 : 0) : 0.0f;
            uint8_t *strip = packed + (size_t)(row / 16) * fct_strip_bytes(scheme, group, COLUMNS);
            weight_codes[row][input] = (int8_t)code;
            weight_scales[row][input] = scale;
            if (group) {
                uint8_t *tile =
                    strip + (size_t)(input / (2 * group)) * fct_tile_bytes(scheme, group);
                int which = input / group % 2;
                if (real) ((uint16_t *)tile)[16 * which + row % 16] = fct_float_half(scale);
                put_code(tile + 64 + which * group * 16 * bits / 8, scheme, row % 16, input % group,
                         code);
            } else {
                put_code(strip, scheme, row % 16, input, code);
                if (real) ((float *)(strip + padded * 16 * bits / 8))[row % 16] = scale;
            }
        }
    return matrix;
}

static void check_product(const struct fct_kernels *k, const struct fct_matrix *matrix) {
    for (int t = 0; t < TOKENS; t++)
        k->quantize(x + t * MOST, COLUMNS, t == 1 ? 0.01f : 0.0f, &act, t);
    k->matmul(matrix, &act, TOKENS, 0, 3, y, MOST);
    for (int t = 0; t < TOKENS; t++)
        for (int row = 0; row < 48; row++) {
            double expected = 0, size = 0;
            for (int i = 0; i < COLUMNS; i++) {
                double scale = groups[t][act.group ? i / act.group : 0].scale;
                double product = (double)weight_codes[row][i] * weight_scales[row][i] *
                                 codes[t * MOST + i] * scale;
                expected += product;
                size += fabs(product);
            }
            CHECK_NEAR(y[t * MOST + row], expected, 1e-6 * size); /* some 16 roundings of 6e-8 */
        }
}

static void matmul_multiplies_what_blocks_h_describes(void **state) {
    (void)state;
    for (int s = 0; s < N_SCHEMES; s++) {
        struct fct_matrix matrix = pack_weights(s);
        fct_made_up_floats(x, TOKENS * MOST, 6);
        EACH_TABLE(k) {
            act.group = matrix.group ? matrix.group : 32;
            check_product(k, &matrix);
            if (matrix.group) continue;
            act.group = 0;
            check_product(k, &matrix);
        }
    }
}

/* As small as an activation may get, beside a row of large ones: each group counts. */
static void a_group_of_small_activations_is_not_lost(void **state) {
    (void)state;
    struct fct_matrix matrix = pack_weights(0);
    EACH_TABLE(k) {
        act.group = 32;
        memset(x, 0, sizeof x);
        x[0] = 1e4f;
        k->quantize(x, COLUMNS, 0.0f, &act, 0);
        k->matmul(&matrix, &act, 1, 0, 3, y, MOST);
        x[40] = 1e-3f;
        k->quantize(x, COLUMNS, 0.0f, &act, 0);
        k->matmul(&matrix, &act, 1, 0, 3, y + MOST, MOST);
        for (int row = 0; row < ROWS; row++)
            if (weight_codes[row][0] == 0 && weight_codes[row][40] != 0)
                assert_true(y[row] == 0.0f && y[MOST + row] != 0.0f);
    }
}

static void matmul_f32_multiplies_floats(void **state) {
    (void)state;
    for (int s = 0; s < N_SCHEMES; s++) {
        struct fct_matrix matrix = pack_weights(s);
        EACH_TABLE(k) {
            fct_made_up_floats(x, TOKENS * MOST, 7);
            k->matmul_f32(&matrix, x, MOST, TOKENS, 0, 3, y, MOST);
            for (int t = 0; t < TOKENS; t++)
                for (int row = 0; row < ROWS; row++) {
                    double expected = 0, size = 0;
                    for (int i = 0; i < COLUMNS; i++) {
                        double product =
                            (double)weight_codes[row][i] * weight_scales[row][i] * x[t * MOST + i];
                        expected += product;
                        size += fabs(product);
                    }
                    CHECK_NEAR(y[t * MOST + row], expected,
                               3e-6 * size); /* at most 416 roundings, of either sign */
                }
        }
    }
}

static void a_nan_scale_of_a_weight_shows(void **state) {
    (void)state;
    struct fct_matrix matrix = pack_weights(0);
    ((uint16_t *)packed)[5] = 0x7E00;
    fct_made_up_floats(x, MOST, 6);
    act.group = 32;
    EACH_TABLE(k) {
        k->quantize(x, COLUMNS, 0.0f, &act, 0);
        k->matmul(&matrix, &act, 1, 0, 3, y, MOST);
        assert_true(isnan(y[5]) && isfinite(y[4]) && isfinite(y[6]));
    }
}

static void lookup_reads_rows_in_blocks(void **state) {
    (void)state;
    static _Alignas(64) uint8_t data[4096];
    for (int scheme = FCT_Q8; scheme <= FCT_Q2; scheme++) EACH_TABLE(k) {
            enum { BLOCKS = 3, WIDTH = 20 };
            struct fct_table table = {(enum fct_scheme)scheme, BLOCKS, 4, BLOCKS * WIDTH, data};
            size_t row_bytes = fct_table_row_bytes(table.scheme, BLOCKS, table.columns);
            for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(i * 37 + i / 11);
            uint8_t *row = data + 2 * row_bytes;
            for (int b = 0; b < BLOCKS; b++) ((float *)row)[b] = 0.5f * (float)(b + 1);
            k->lookup(&table, 2, 1, 2, 3.0f, y);
            for (int i = 0; i < 2 * WIDTH; i++) {
                int input = WIDTH + i,
                    byte = row[4 * BLOCKS + input * fct_scheme_bits(table.scheme) / 8];
                int code = scheme == FCT_Q8   ? (int8_t)byte
                           : scheme == FCT_Q4 ? (byte >> (input % 2 * 4) & 15) - 8
                                              : (byte >> (input % 4 * 2) & 3) - 2;
                assert_true(y[i] == (float)code * 0.5f * (float)(1 + input / WIDTH) * 3.0f);
            }
        }
}

/* ---- attention ---- */

enum { HEAD = 32, QUERIES = 9, POSITIONS = 300 };

static _Alignas(64) char key_cache[3][FCT_KV_CHUNK * HEAD * 4],
    value_cache[3][FCT_KV_CHUNK * HEAD * 4];
static float key_scales[3][FCT_KV_CHUNK], value_scales[3][FCT_KV_CHUNK];
static float keys[POSITIONS][HEAD], values[POSITIONS][HEAD], queries[QUERIES][HEAD],
    answer[QUERIES][HEAD];

static void fill_cache(const struct fct_kernels *k, enum fct_kv_type type) {
    size_t block_bytes = HEAD * FCT_KV_BLOCK * fct_kv_type_bytes(type);
    memset(key_cache, 0xFF, sizeof key_cache); /* NaN where nothing is stored */
    memset(value_cache, 0xFF, sizeof value_cache);
    memset(key_scales, 0, sizeof key_scales);
    memset(value_scales, 0, sizeof value_scales);
    for (int p = 0; p < POSITIONS; p++) {
        int chunk = p / FCT_KV_CHUNK, at = p % FCT_KV_CHUNK;
        size_t block = (size_t)(at / FCT_KV_BLOCK) * block_bytes;
        k->store_key(type, keys[p], HEAD, key_cache[chunk] + block, at % FCT_KV_BLOCK,
                     &key_scales[chunk][at]);
        k->store_value(type, values[p], HEAD, value_cache[chunk] + block, at % FCT_KV_BLOCK,
                       &value_scales[chunk][at]);
    }
}

/* All chunks from position `begin` on, merged. */
static void attend_all(const struct fct_kernels *k, enum fct_kv_type type, int begin) {
    static float max[2][QUERIES], sum[2][QUERIES], out[2][QUERIES * HEAD];
    struct fct_partial total = {max[0], sum[0], out[0]}, part = {max[1], sum[1], out[1]};
    memset(sum, 0, sizeof sum);
    for (int chunk = begin / FCT_KV_CHUNK; chunk * FCT_KV_CHUNK < POSITIONS; chunk++) {
        int first = chunk * FCT_KV_CHUNK, last = first + FCT_KV_CHUNK;
        struct fct_attend job = {type,
                                 HEAD,
                                 key_cache[chunk],
                                 value_cache[chunk],
                                 key_scales[chunk],
                                 value_scales[chunk],
                                 begin > first ? begin - first : 0,
                                 last > POSITIONS ? POSITIONS - first : FCT_KV_CHUNK,
                                 queries[0],
                                 QUERIES};
        k->attend(&job, part);
        k->merge(QUERIES, HEAD, total, part);
    }
    k->finish(QUERIES, HEAD, total, answer[0]);
}

static void softmax_in_double(int q, int begin, double *expected) {
    double weights[POSITIONS], max = -INFINITY, total = 0;
    for (int p = begin; p < POSITIONS; p++) {
        weights[p] = 0;
        for (int d = 0; d < HEAD; d++) weights[p] += (double)queries[q][d] * keys[p][d];
        max = fmax(max, weights[p]);
    }
    for (int p = begin; p < POSITIONS; p++) total += weights[p] = exp(weights[p] - max);
    for (int d = 0; d < HEAD; d++) {
        expected[d] = 0;
        for (int p = begin; p < POSITIONS; p++) expected[d] += weights[p] / total * values[p][d];
    }
}

static void make_attention(void) {
    fct_made_up_floats(keys[0], POSITIONS * HEAD, 8);
    fct_made_up_floats(values[0], POSITIONS * HEAD, 9);
    fct_made_up_floats(queries[0], QUERIES * HEAD, 10);
    for (int q = 0; q < QUERIES; q++)
        for (int d = 0; d < HEAD; d++) queries[q][d] *= 0.1f;
}

/* Values reach 16; float16 keeps 11 bits, int8 about 7 of the largest. */
static void attention_is_softmax_over_the_visible_positions(void **state) {
    (void)state;
    static const double bounds[] = {2e-5, 2e-2, 0.6};
    double expected[HEAD];
    make_attention();
    EACH_TABLE(k)
    for (int type = FCT_KV_TYPE_F32; type <= FCT_KV_TYPE_Q8; type++) {
        fill_cache(k, (enum fct_kv_type)type);
        for (int begin = 0; begin < POSITIONS; begin += 23) {
            attend_all(k, (enum fct_kv_type)type, begin);
            for (int q = 0; q < QUERIES; q++) {
                softmax_in_double(q, begin, expected);
                for (int d = 0; d < HEAD; d++) CHECK_NEAR(answer[q][d], expected[d], bounds[type]);
            }
        }
    }
}

static void what_lies_outside_the_window_has_no_influence(void **state) {
    (void)state;
    float before[QUERIES][HEAD];
    make_attention();
    EACH_TABLE(k)
    for (int type = FCT_KV_TYPE_F32; type <= FCT_KV_TYPE_Q8; type++) {
        fill_cache(k, (enum fct_kv_type)type);
        attend_all(k, (enum fct_kv_type)type, 200);
        memcpy(before, answer, sizeof before);
        for (int p = 0; p < 200; p++) keys[p][p % HEAD] = NAN, values[p][p % HEAD] = INFINITY;
        fill_cache(k, (enum fct_kv_type)type);
        attend_all(k, (enum fct_kv_type)type, 200);
        assert_memory_equal(before, answer, sizeof before);
        make_attention();
    }
}

static void a_nan_in_the_cache_shows(void **state) {
    (void)state;
    make_attention();
    EACH_TABLE(k)
    for (int type = FCT_KV_TYPE_F32; type <= FCT_KV_TYPE_Q8; type++)
        for (int which = 0; which < 2; which++) {
            float *bad = which ? &keys[210][3] : &values[210][3], kept = *bad;
            *bad = NAN;
            fill_cache(k, (enum fct_kv_type)type);
            attend_all(k, (enum fct_kv_type)type, 0);
            for (int q = 0; q < QUERIES; q++) assert_true(isnan(answer[q][3]));
            *bad = kept;
        }
}

static void a_static_scale_of_the_cache_stays(void **state) {
    (void)state;
    char block[HEAD * FCT_KV_BLOCK];
    EACH_TABLE(k) {
        float scale = 0.25f;
        for (int d = 0; d < HEAD; d++) x[d] = (float)(d - 16) * 0.5f;
        k->store_key(FCT_KV_TYPE_Q8, x, HEAD, block, 3, &scale);
        assert_true(scale == 0.25f);
        for (int d = 0; d < HEAD; d++)
            assert_int_equal(((int8_t *)block)[d * 16 + 3], (d - 16) * 2);
        k->store_value(FCT_KV_TYPE_Q8, x, HEAD, block, 3, &scale);
        for (int d = 0; d < HEAD; d++)
            assert_int_equal(((int8_t *)block)[d / 16 * 256 + 3 * 16 + d % 16], (d - 16) * 2);
    }
}

/* ---- the tables themselves ---- */

static void unknown_tables_are_refused(void **state) {
    (void)state;
    assert_null(fct_kernels_select("mmx"));
    assert_non_null(fct_kernels_select("portable"));
    assert_string_equal(fct_kernels_select(NULL)->name, fct_kernels_names()[0]);
}

/* A table that is wrong in one place must not pass. */
static void scale_wrong(const float *a, float factor, int n, float *to) {
    for (int i = 0; i < n; i++) to[i] = a[i] * factor;
    to[n - 1] = nextafterf(to[n - 1], INFINITY);
}
static void matmul_wrong(const struct fct_matrix *m, const struct fct_act *a, int n_tokens,
                         int begin, int end, float *to, size_t stride) {
    fct_kernels_select("portable")->matmul(m, a, n_tokens, begin, end, to, stride);
    if (n_tokens == 7 && m->group == 64) to[6 * stride + 17] = nextafterf(to[6 * stride + 17], 0);
}
static void check_finds_a_wrong_bit(void **state) {
    (void)state;
    char what[200] = "";
    struct fct_kernels broken = *fct_kernels_select("portable");
    assert_true(fct_kernels_check(&broken, what, sizeof what));
    broken.scale = scale_wrong;
    assert_false(fct_kernels_check(&broken, what, sizeof what));
    assert_non_null(strstr(what, "scale"));
    broken = *fct_kernels_select("portable");
    broken.matmul = matmul_wrong;
    assert_false(fct_kernels_check(&broken, what, sizeof what));
    assert_non_null(strstr(what, "q4 group 64"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exponential_is_within_2_ulp),
        cmocka_unit_test(hyperbolic_tangent_is_within_4_ulp_also_of_small_numbers),
        cmocka_unit_test(gelu_is_within_4e_7_of_its_size),
        cmocka_unit_test(softcap_saturates_at_the_cap),
        cmocka_unit_test(norm_divides_by_the_root_of_the_mean_square),
        cmocka_unit_test(norm_of_zeros_is_zero),
        cmocka_unit_test(rope_turns_lane_i_with_lane_i_plus_half),
        cmocka_unit_test(argmax_takes_the_first_of_equals_and_never_nan),
        cmocka_unit_test(nan_and_infinity_show_in_every_result),
        cmocka_unit_test(quantize_rounds_to_nearest_even),
        cmocka_unit_test(quantize_with_a_static_scale_clamps),
        cmocka_unit_test(each_group_has_a_scale_of_its_own),
        cmocka_unit_test(quantize_pads_with_zeros_and_keeps_sums),
        cmocka_unit_test(quantize_of_zeros_or_almost_gives_scale_zero),
        cmocka_unit_test(matmul_multiplies_what_blocks_h_describes),
        cmocka_unit_test(a_group_of_small_activations_is_not_lost),
        cmocka_unit_test(matmul_f32_multiplies_floats),
        cmocka_unit_test(a_nan_scale_of_a_weight_shows),
        cmocka_unit_test(lookup_reads_rows_in_blocks),
        cmocka_unit_test(attention_is_softmax_over_the_visible_positions),
        cmocka_unit_test(what_lies_outside_the_window_has_no_influence),
        cmocka_unit_test(a_nan_in_the_cache_shows),
        cmocka_unit_test(a_static_scale_of_the_cache_stays),
        cmocka_unit_test(unknown_tables_are_refused),
        cmocka_unit_test(check_finds_a_wrong_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
