/* test_error.c - failing in one line: what the message keeps, and what it does not let through. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

static void a_failure_names_the_thing_and_the_fault(void **state) {
    (void)state;
    fct_error err;
    assert_int_equal(fct_fail(&err, FCT_ERR_FORMAT, "%s: version %d", "a.facet", 7),
                     FCT_ERR_FORMAT);
    assert_int_equal(err.code, FCT_ERR_FORMAT);
    assert_string_equal(err.message, "a.facet: version 7");
}

static void without_a_place_to_describe_it_only_the_code_is_returned(void **state) {
    (void)state;
    assert_int_equal(fct_fail(NULL, FCT_ERR_MEMORY, "%s", "x"), FCT_ERR_MEMORY);
    errno = ENOENT;
    assert_int_equal(fct_fail_errno(NULL, "%s", "x"), FCT_ERR_IO);
    assert_null(fct_fail_null(NULL, FCT_ERR_IO, "x"));
}

static void the_systems_reason_stands_behind_the_thing(void **state) {
    (void)state;
    fct_error err;
    errno = ENOSPC;
    assert_int_equal(fct_fail_errno(&err, "%s", "out"), FCT_ERR_IO);
    assert_string_equal(err.message, "out: No space left on device");
    assert_int_equal(errno, ENOSPC);
}

static void a_message_may_wrap_itself(void **state) {
    (void)state;
    fct_error err;
    fct_fail(&err, FCT_ERR_IO, "inner");
    fct_fail(&err, FCT_ERR_FORMAT, "outer: %s", err.message);
    assert_string_equal(err.message, "outer: inner");
}

static void control_characters_and_broken_text_become_question_marks(void **state) {
    (void)state;
    fct_error err;
    fct_fail(&err, FCT_ERR_IO, "%s",
             "a\nb\x1B[2Jc\x7F"
             "d\xC2\x9B"
             "e\xFF\xE3\x81"
             "f\xE2\x80\xA8g\xC3\xBC");
    assert_string_equal(err.message, "a?b?[2Jc?d?e??f?g\xC3\xBC");
}

static void a_long_message_is_cut_at_a_whole_character(void **state) {
    (void)state;
    char text[3000];
    fct_error err;
    for (int shift = 0; shift < 3; shift++) {
        memset(text, 'x', sizeof text);
        for (size_t i = (size_t)shift; i + 3 < sizeof text; i += 3)
            memcpy(text + i, "\xE2\x82\xAC", 3);
        text[sizeof text - 1] = 0;
        fct_fail(&err, FCT_ERR_IO, "%s", text);
        size_t length = strlen(err.message);
        assert_true(length < sizeof err.message && length > sizeof err.message - 5);
        assert_true(fct_utf8_valid(err.message, length));
        assert_int_equal(memcmp(err.message, text, length), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_names_the_thing_and_the_fault),
        cmocka_unit_test(without_a_place_to_describe_it_only_the_code_is_returned),
        cmocka_unit_test(the_systems_reason_stands_behind_the_thing),
        cmocka_unit_test(a_message_may_wrap_itself),
        cmocka_unit_test(control_characters_and_broken_text_become_question_marks),
        cmocka_unit_test(a_long_message_is_cut_at_a_whole_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
