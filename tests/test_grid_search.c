/* test_grid_search.c - weights trained for 4 bits and stored as bfloat16 come out as they were
 * trained. */
#include "mobile_fixture.h"

#include <math.h>

#include "base/half.h"
#include "convert/grid_search.h"
#include "pack/reader.h"

enum { GROUP = 32, TRIES = 4000 };

static float to_bf16(float x) {
    uint32_t bits = fct_float_bits(x);
    return fct_bits_float((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000u);
}
static float to_half(float x) { return fct_half_float(fct_float_half(x)); }
static float as_it_is(float x) { return x; }

static float random_share(void) { return (float)rand() / (float)RAND_MAX; }

/* 1e-4 .. 0.3 */
static float random_scale(float (*store)(float)) {
    return store(expf(-9.2f + 8.0f * random_share()));
}

/* Sixteen groups: codes lowest .. highest times a scale each, as bfloat16. */
static void make_groups(float x[GROUP][FCT_LANES], int lowest, int highest, float (*store)(float),
                        float sign) {
    for (int lane = 0; lane < FCT_LANES; lane++) {
        float scale = sign * random_scale(store);
        for (int i = 0; i < GROUP; i++) {
            int code = lowest + rand() % (highest - lowest + 1);
            x[i][lane] = to_bf16((float)code * scale);
        }
        x[rand() % GROUP][lane] = to_bf16((float)(highest ? highest : lowest) * scale);
    }
}

/* How many of the groups are found; those that are come out bit for bit. */
static int count_found(float x[GROUP][FCT_LANES]) {
    float scale[FCT_LANES], code[GROUP][FCT_LANES];
    int n = 0;
    for (int lane = 0; lane < FCT_LANES; lane++) scale[lane] = 1e9f;
    unsigned found = fct_find_grid((const float(*)[FCT_LANES])x, GROUP, scale);
    fct_round_codes((const float(*)[FCT_LANES])x, GROUP, scale, -8, 7, code);
    for (int lane = 0; lane < FCT_LANES; lane++) {
        if (!(found >> lane & 1)) {
            assert_true(scale[lane] == 1e9f);
            continue;
        }
        n++;
        assert_true(to_half(scale[lane]) == scale[lane]);
        for (int i = 0; i < GROUP; i++)
            assert_true(to_bf16(code[i][lane] * scale[lane]) == x[i][lane]);
    }
    return n;
}

static int count_tries(int lowest, int highest, float (*store)(float), float sign) {
    float x[GROUP][FCT_LANES];
    int n = 0;
    for (int i = 0; i < TRIES / FCT_LANES; i++) {
        make_groups(x, lowest, highest, store, sign);
        n += count_found(x);
    }
    return n;
}

static void every_group_with_a_half_scale_is_recovered(void **state) {
    (void)state;
    srand(1);
    assert_int_equal(count_tries(-8, 7, to_half, 1), TRIES);
    assert_int_equal(count_tries(-8, 7, to_bf16, 1), TRIES);
    assert_int_equal(count_tries(-8, 7, to_half, -1), TRIES); /* as Q4_0 may have it */
}

/* Without the extreme codes, with gaps, or with one code alone. */
static void groups_that_lack_codes_are_recovered(void **state) {
    (void)state;
    static const int ranges[][2] = {{-7, 7}, {-3, 4}, {-1, 1}, {0, 5}, {-8, 0}, {3, 3}, {-2, 7}};
    srand(2);
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        assert_int_equal(count_tries(ranges[i][0], ranges[i][1], to_bf16, 1), TRIES);
        assert_int_equal(count_tries(ranges[i][0], ranges[i][1], to_half, 1), TRIES);
    }
}

/* A float32 scale need not have a float16 near enough that all weights round to what they were. */
static void most_groups_with_a_float_scale_are_recovered(void **state) {
    (void)state;
    srand(3);
    assert_true(count_tries(-8, 7, as_it_is, 1) > TRIES * 9 / 10);
    assert_true(count_tries(-2, 2, as_it_is, 1) > TRIES * 99 / 100);
}

static void other_weights_have_no_grid(void **state) {
    (void)state;
    float x[GROUP][FCT_LANES];
    int n = 0;
    srand(4);
    for (int i = 0; i < TRIES / FCT_LANES; i++) {
        for (int j = 0; j < GROUP * FCT_LANES; j++)
            x[j / FCT_LANES][j % FCT_LANES] = to_bf16((random_share() - 0.5f) / 10);
        n += count_found(x);
    }
    assert_int_equal(n, 0);
    memset(x, 0, sizeof x);
    assert_int_equal(count_found(x), 0); /* zeros are no grid */
}

/* A grid whose scale float16 cannot hold is left to the search. */
static void scales_beyond_float16_are_not_found(void **state) {
    (void)state;
    float x[GROUP][FCT_LANES];
    static const float scales[] = {1e-9f, 1e6f};
    for (int s = 0; s < 2; s++) {
        for (int j = 0; j < GROUP * FCT_LANES; j++)
            x[j / FCT_LANES][j % FCT_LANES] = to_bf16((float)(j % 16 - 8) * scales[s]);
        assert_int_equal(count_found(x), 0);
    }
}

/* ---- a whole checkpoint ---- */

/* Every group of 32 of a tensor's bfloat16 becomes codes times a float16. */
static void put_on_grids(struct copied *copy, const char *name) {
    size_t n;
    uint8_t *data = tensor_data(copy, name, &n);
    float scale = 0;
    for (size_t i = 0; i < n / 2; i++) {
        if (i % GROUP == 0) scale = to_half(0.005f + 0.01f * random_share());
        uint32_t bits = fct_float_bits(to_bf16((float)(rand() % 16 - 8) * scale));
        memcpy(data + 2 * i, (const char *)&bits + 2, 2);
    }
}

static void a_trained_checkpoint_says_how_many_groups_are_exact(void **state) {
    (void)state;
    static struct noted noted;
    fct_error err = {0};
    struct copied copy = copy_folder(TEST_DATA "/cases/dense");
    struct fct_safetensors header;
    srand(5);
    assert_int_equal(fct_safetensors_parse(&header, "", copy.bytes, copy.n_bytes, &err), FCT_OK);
    for (size_t i = 0; i < header.n_tensors; i++)
        if (header.tensors[i].n_dims == 2 && !strstr(header.tensors[i].name, "down_proj"))
            put_on_grids(&copy, header.tensors[i].name);
    size_t n;
    uint8_t *source = tensor_data(&copy, "model.layers.0.mlp.up_proj.weight", &n);
    uint8_t *kept = malloc(n);
    memcpy(kept, source, n);
    fct_safetensors_free(&header);
    if (convert_copy(&copy, NULL, &noted, &err) != FCT_OK) fail_msg("%s", err.message);
    assert_non_null(strstr(noted.text, "mlp.up_proj.weight: 2"));
    assert_non_null(
        strstr(noted.text, "groups lie on a 4-bit grid and are kept exactly (100.00 %)"));
    assert_non_null(strstr(noted.text, "mlp.down_proj.weight: 0 of "));
    assert_non_null(strstr(noted.text, "all matrices: "));

    fct_pack *pack = fct_pack_open(scratch_path("out.facet"), &err);
    struct fct_matrix w;
    int columns = 64, rows = (int)(n / 2) / columns;
    assert_int_equal(fct_pack_matrix(pack, "layers.0.mlp.up_proj.weight", rows, columns, &w, &err),
                     FCT_OK);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < columns; i++) {
            const uint8_t *tile = w.data + (size_t)(r / 16) * fct_strip_bytes(FCT_Q4, 32, columns);
            uint16_t half;
            memcpy(&half, tile + i / 32 * 32 + r % 16 * 2, 2);
            uint8_t byte = tile[64 + i / 32 * 256 + i % 32 / 8 * 64 + r % 16 * 4 + i % 4];
            int code = (byte >> i % 8 / 4 * 4 & 15) - 8;
            uint32_t bits = fct_float_bits(to_bf16((float)code * fct_half_float(half)));
            assert_memory_equal((const char *)&bits + 2, kept + 2 * (r * columns + i), 2);
        }
    fct_pack_free(pack);
    free(kept);
}

static void an_untrained_checkpoint_is_silent(void **state) {
    (void)state;
    static struct noted noted;
    fct_error err = {0};
    struct copied copy = copy_folder(TEST_DATA "/cases/dense");
    if (convert_copy(&copy, NULL, &noted, &err) != FCT_OK) fail_msg("%s", err.message);
    assert_null(strstr(noted.text, "grid"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_group_with_a_half_scale_is_recovered),
        cmocka_unit_test(groups_that_lack_codes_are_recovered),
        cmocka_unit_test(most_groups_with_a_float_scale_are_recovered),
        cmocka_unit_test(other_weights_have_no_grid),
        cmocka_unit_test(scales_beyond_float16_are_not_found),
        SCRATCH_TEST(a_trained_checkpoint_says_how_many_groups_are_exact),
        SCRATCH_TEST(an_untrained_checkpoint_is_silent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
