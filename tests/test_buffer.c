/* test_buffer.c - a cursor never runs past its end; a text grows and fails once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"

static void numbers_are_little_endian(void **state) {
    (void)state;
    static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0xF0};
    struct fct_cursor c = fct_cursor_over(bytes, sizeof bytes);
    assert_int_equal(fct_cursor_u8(&c), 1);
    assert_int_equal(fct_cursor_u16(&c), 0x0302);
    assert_int_equal(fct_cursor_u32(&c), 0x07060504);
    assert_true(fct_cursor_u64(&c) == 0x0F0E0D0C0B0A0908);
    assert_int_equal(c.left, 1);
    assert_int_equal(*fct_cursor_take(&c, 1), 0xF0);
    assert_false(c.failed);
    assert_non_null(fct_cursor_take(&c, 0));
    assert_null(fct_cursor_take(&c, 1));
    assert_true(c.failed);
}

static void once_failed_everything_is_zero(void **state) {
    (void)state;
    uint8_t *bytes = malloc(3); /* of its own, so that a sanitizer sees reads behind it */
    memset(bytes, 0xFF, 3);
    struct fct_cursor c = fct_cursor_over(bytes, 3);
    assert_int_equal(fct_cursor_u32(&c), 0);
    assert_true(c.failed);
    assert_int_equal(fct_cursor_u8(&c), 0); /* though there would be a byte */
    assert_null(fct_cursor_take(&c, 0));
    free(bytes);
    c = fct_cursor_over("abc", 3);
    assert_null(fct_cursor_take(&c, SIZE_MAX));
    c = fct_cursor_over(NULL, 0);
    assert_int_equal(fct_cursor_u64(&c), 0);
}

static void a_text_grows_by_its_parts(void **state) {
    (void)state;
    struct fct_text text = {0};
    for (int i = 0; i < 1000; i++) {
        fct_text_puts(&text, "ab");
        fct_text_add(&text, "\0c", 2);
        fct_text_printf(&text, "%d;", i);
        assert_int_equal(text.data[text.size], 0);
    }
    assert_int_equal(memcmp(text.data, "ab\0c0;ab\0c1;", 12), 0);
    size_t n_bytes;
    char *data = fct_text_finish(&text, &n_bytes, NULL);
    assert_int_equal(n_bytes, 1000 * 5 + 10 + 180 + 2700);
    assert_string_equal(data + n_bytes - 5, "c999;");
    assert_null(text.data);
    fct_free(data);
}

static void an_empty_text_is_a_text(void **state) {
    (void)state;
    struct fct_text text = {0};
    char *data = fct_text_finish(&text, NULL, NULL);
    assert_string_equal(data, "");
    fct_free(data);
    fct_text_free(&text);
}

static void a_failed_addition_sticks(void **state) {
    (void)state;
    struct fct_text text = {0};
    fct_error err;
    fct_text_puts(&text, "good");
    fct_text_add(&text, "x", SIZE_MAX - 2); /* more than there can be: nothing is read */
    assert_true(text.failed);
    fct_text_puts(&text, "more");
    fct_text_printf(&text, "%d", 5);
    assert_null(fct_text_finish(&text, NULL, &err));
    assert_int_equal(err.code, FCT_ERR_MEMORY);
    assert_null(text.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_little_endian),
        cmocka_unit_test(once_failed_everything_is_zero),
        cmocka_unit_test(a_text_grows_by_its_parts),
        cmocka_unit_test(an_empty_text_is_a_text),
        cmocka_unit_test(a_failed_addition_sticks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
