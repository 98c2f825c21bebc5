/* test_utf8.c - good UTF-8 returns, bad UTF-8 is one U+FFFD for each maximal subpart (Unicode 3.9,
 * table 3-8). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"

static void every_character_returns(void **state) {
    (void)state;
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        if (c == 0xD800) c = 0xE000;
        char bytes[4];
        int n = fct_utf8_write(c, bytes), n_read;
        bool valid;
        assert_true(fct_utf8_read(bytes, (size_t)n, &n_read, &valid) == c);
        assert_true(valid && n_read == n);
        assert_int_equal(n, c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4);
        for (int left = 1; left < n; left++) { /* cut: one bad part of what is there */
            assert_true(fct_utf8_read(bytes, (size_t)left, &n_read, &valid) ==
                        FCT_UTF8_REPLACEMENT);
            assert_true(!valid && n_read == left);
        }
    }
}

/* Bad bytes in hexadecimal, and what comes of them, R standing for U+FFFD. */
static void check_repair(const char *hex, const char *expected, int n_bad) {
    char wanted[64] = "", *end;
    size_t n_bytes = 0, n_out;
    char *bytes = malloc((strlen(hex) + 1) /
                         3); /* of their own, so that a sanitizer sees reads behind them */
    for (const char *at = hex; *at; at = *end ? end + 1 : end)
        bytes[n_bytes++] = (char)strtol(at, &end, 16);
    for (const char *at = expected; *at; at++) {
        char character[2] = {*at, 0};
        strcat(wanted, *at == 'R' ? "\xEF\xBF\xBD" : character);
    }
    int n_replaced = -1;
    char *repaired = fct_utf8_repair(bytes, n_bytes, &n_out, &n_replaced, NULL);
    assert_string_equal(repaired, wanted);
    assert_int_equal(n_out, strlen(wanted));
    assert_int_equal(n_replaced, n_bad);
    assert_int_equal(fct_utf8_valid(bytes, n_bytes), n_bad == 0);
    assert_true(fct_utf8_valid(repaired, n_out));
    fct_free(repaired);
    free(bytes);
}

/* F08, and the examples of the standard (tables 3-8 to 3-11). */
static void each_bad_part_becomes_one_replacement(void **state) {
    (void)state;
    check_repair("61 E3 81", "aR", 1);
    check_repair("C0 80", "RR", 2);
    check_repair("ED A0 80", "RRR", 3);
    check_repair("F8 88 80 80 80", "RRRRR", 5);
    check_repair("FF", "R", 1);
    check_repair("C0 AF E0 80 BF F0 81 82 41", "RRRRRRRRA", 8);
    check_repair("ED A0 80 ED BF BF ED AF 41", "RRRRRRRRA", 8);
    check_repair("F4 91 92 93 FF 41 80 BF 42", "RRRRRARRB", 7);
    check_repair("E1 80 E2 F0 91 92 F1 BF 41", "RRRRA", 4);
    check_repair("61 F1 80 80 E1 80 C2 62 80 63 80 BF 64", "aRRRbRcRRd", 6);
    check_repair("F0 9F 98 F0 9F 98", "RR", 2);
    check_repair("61 62", "ab", 0);
}

static void zeros_are_characters(void **state) {
    (void)state;
    size_t n_out;
    char *repaired = fct_utf8_repair("a\0b", 3, &n_out, NULL, NULL);
    assert_int_equal(n_out, 3);
    assert_int_equal(memcmp(repaired, "a\0b", 4), 0);
    fct_free(repaired);
    repaired = fct_utf8_repair(NULL, 0, &n_out, NULL, NULL);
    assert_string_equal(repaired, "");
    assert_true(fct_utf8_valid(NULL, 0));
    fct_free(repaired);
}

/* Whatever three bytes there are: every part is at least a byte, and the copy is good. */
static void any_three_bytes_are_repaired(void **state) {
    (void)state;
    char bytes[3];
    for (uint32_t i = 0; i < 1 << 24; i += 7) {
        for (int j = 0; j < 3; j++) bytes[j] = (char)(i >> 8 * j);
        size_t at = 0;
        int n_bad = 0;
        while (at < 3) {
            int n;
            bool valid;
            fct_utf8_read(bytes + at, 3 - at, &n, &valid);
            if (n < 1 || at + (size_t)n > 3) fail();
            n_bad += !valid;
            at += (size_t)n;
        }
        if ((n_bad == 0) != fct_utf8_valid(bytes, 3)) fail();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_character_returns),
        cmocka_unit_test(each_bad_part_becomes_one_replacement),
        cmocka_unit_test(zeros_are_characters),
        cmocka_unit_test(any_three_bytes_are_repaired),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
