/* test_scratch.c - what a pass finds prepared: the frequencies of RoPE. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "transformer/scratch.h"

static void check_near(double value, double expected) {
    if (fabs(value - expected) > 2e-6 * fabs(expected)) fail_msg("%g, not %g", value, expected);
}

/* F26: lanes that do not rotate count in the denominator, and lane i pairs with i + 256. */
static void full_layers_rotate_a_quarter_of_512_lanes(void **state) {
    (void)state;
    json_t *json = json_load_file(TEST_DATA "/cases/e2b-like/config.json", 0, NULL);
    json_t *text = json_object_get(json, "text_config");
    json_object_set_new(text, "head_dim", json_integer(256));
    json_object_set_new(text, "global_head_dim", json_integer(512));
    fct_error err = {0};
    struct fct_config config;
    struct fct_scratch scratch;
    assert_int_equal(fct_config_parse(&config, json, "config.json", &err), FCT_OK);
    json_decref(json);
    assert_int_equal(fct_scratch_init(&scratch, &config, 1, 1, 128, &err), FCT_OK);

    assert_int_equal(scratch.n_pairs[1], 64);
    assert_int_equal(scratch.half[1], 256);
    check_near(scratch.inverse_frequencies[1][0], 1);
    check_near(scratch.inverse_frequencies[1][1], 0.947464);
    check_near(scratch.inverse_frequencies[1][63], 0.0333762);

    assert_int_equal(scratch.n_pairs[0], 128);
    assert_int_equal(scratch.half[0], 128);
    for (int i = 0; i < 128; i++)
        check_near(scratch.inverse_frequencies[0][i], pow(1e4, -2.0 * i / 256));
    fct_scratch_free(&scratch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_layers_rotate_a_quarter_of_512_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
