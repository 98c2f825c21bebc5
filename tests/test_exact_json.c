/* test_exact_json.c - JSON comes back as it was: integers of any length, short reals, NULs, order
 * of keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "text/exact_json.h"

static void check_round_trip(const char *text) {
    fct_error err = {0};
    json_t *value = fct_json_read(text, strlen(text), "text", &err);
    if (!value) fail_msg("%s", err.message);
    size_t n_bytes;
    char *back = fct_json_write(value, JSON_COMPACT, &n_bytes, NULL);
    assert_string_equal(back, text);
    assert_int_equal(n_bytes, strlen(text));
    fct_free(back);
    json_decref(value);
}

static void numbers_come_back_as_they_were(void **state) {
    (void)state;
    check_round_trip(
        "[9223372036854775807,9223372036854775808,-9223372036854775808,-9223372036854775809,0]");
    check_round_trip("{\"n\":123456789012345678901234567890123456789012345678901234567890}");
    check_round_trip(
        "[0.1,1.0,-0.0,1e+22,1e-07,1200.5,5e-324,1.7976931348623157e+308,5.684341886080802e-14]");
}

static void what_only_looks_like_a_number_stays_text(void **state) {
    (void)state;
    check_round_trip("[\"12345678901234567890\",\"a\\\"12345678901234567890\",\"\\\\\",\"0."
                     "10000000000000001\"]");
    check_round_trip("{\"12345678901234567890\":\"\\\"\\u0000integer:5\\\"\",\"b\":true,\"a\":null,"
                     "\"e\":false}");
    check_round_trip(
        "[\"\\u0000\",\"\\u0000integer:\",\"\\u0000integer:x\",\"\\u0000integer:1.5\"]");
}

static void long_integers_are_known_by_their_digits(void **state) {
    (void)state;
    json_t *list = fct_json_read("[-12345678901234567890, 5, \"5\"]", 31, "list", NULL);
    assert_string_equal(fct_json_long_integer(json_array_get(list, 0)), "-12345678901234567890");
    assert_null(fct_json_long_integer(json_array_get(list, 1)));
    assert_null(fct_json_long_integer(json_array_get(list, 2)));
    json_decref(list);
}

static void bad_texts_are_refused_by_name_and_place(void **state) {
    (void)state;
    static const char *const bad[] = {"",
                                      "5",
                                      "[01234567890123456789]",
                                      "[12345678901234567890.]",
                                      "[+12345678901234567890]",
                                      "[1e999]",
                                      "{\"a\":",
                                      "[\"",
                                      "[\"\\ud83d\"]",
                                      "[\"\xFF\"]",
                                      "[--12345678901234567890]"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        fct_error err = {0};
        assert_null(fct_json_read(bad[i], strlen(bad[i]), "body", &err));
        assert_int_equal(err.code, FCT_ERR_ARGUMENT);
        assert_memory_equal(err.message, "body: not valid JSON: line 1, column ", 37);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_come_back_as_they_were),
        cmocka_unit_test(what_only_looks_like_a_number_stays_text),
        cmocka_unit_test(long_integers_are_known_by_their_digits),
        cmocka_unit_test(bad_texts_are_refused_by_name_and_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
