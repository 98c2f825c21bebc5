/* test_module_pattern.c - regular expressions over names of modules mean what Python means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "convert/module_pattern.h"

/* Python's re.search(pattern, name). */
static bool found(const char *pattern, const char *name) {
    regex_t compiled;
    fct_error err = {0};
    if (fct_pattern_compile(&compiled, pattern, &err) != FCT_OK) fail_msg("%s", err.message);
    bool matches = fct_pattern_matches(&compiled, name);
    regfree(&compiled);
    return matches;
}

static void a_pattern_is_found_anywhere_in_a_name(void **state) {
    (void)state;
    static const char up[] = "model.language_model.layers.15.mlp.up_proj";
    assert_true(found("mlp", up));
    assert_true(found("layers\\.(1[5-9]|2\\d|3[0-4])\\.mlp\\.", up));
    assert_true(found("layers\\.(?:1[0-5])\\.", up));
    assert_true(found("^model\\.", up));
    assert_true(found("up_proj$", up));
    assert_true(found("layers\\.\\d{1,2}\\.mlp", up));
    assert_true(found("\\bmlp\\b", up));
    assert_true(found("layers\\.[^.]+\\.mlp", up));
    assert_true(found("(gate|up)_proj", up));
    assert_true(found("", up));
    assert_false(found("layers\\.5\\.", up));
    assert_false(found("^layers", up));
    assert_false(found("layers.[5-9].mlp", up));
    assert_false(found("\\D5\\.", up));
    assert_false(found("layers\\.\\d{3}\\.", up));
}

static void what_posix_reads_otherwise_is_refused_by_name(void **state) {
    (void)state;
    static const char *const patterns[] = {
        "a+?",   "a*?",     "(?!mlp)", "(?i)mlp", "(?<=a)b", "(a)\\1",    "\\Zmlp",
        "[\\d]", "[[:d:]]", "a{100}",  "(ab){2}", "a{2}{3}", "a{,3}",     "a{1,",
        "*mlp",  "[abc",    "a\\",     "a**",     "x{2,1}",  "a{99}{99}", "(((a",
    };
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        regex_t compiled;
        fct_error err = {0};
        fct_status status = fct_pattern_compile(&compiled, patterns[i], &err);
        if (status == FCT_OK) fail_msg("%s is taken", patterns[i]);
        assert_non_null(strstr(err.message, patterns[i]));
    }
}

static void a_long_pattern_is_refused(void **state) {
    (void)state;
    char pattern[600];
    regex_t compiled;
    fct_error err = {0};
    memset(pattern, 'a', sizeof pattern - 1);
    pattern[sizeof pattern - 1] = 0;
    assert_int_equal(fct_pattern_compile(&compiled, pattern, &err), FCT_ERR_UNSUPPORTED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pattern_is_found_anywhere_in_a_name),
        cmocka_unit_test(what_posix_reads_otherwise_is_refused_by_name),
        cmocka_unit_test(a_long_pattern_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
