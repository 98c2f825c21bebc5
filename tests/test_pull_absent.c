/* test_pull_absent.c - what stands for the downloader in a build without it says so by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "fetch/fetch.h"

static void it_names_what_is_missing_and_how_to_get_it(void **state) {
    (void)state;
    fct_error err = {0};
    struct fct_fetch_options options = {.source = "google/gemma-4-E2B-it"};
    assert_null(fct_fetch_open(&options, &err));
    assert_int_equal(err.code, FCT_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.message, "google/gemma-4-E2B-it"));
    assert_non_null(strstr(err.message, "FACET_PULL"));
    assert_non_null(strstr(err.message, "libcurl4-openssl-dev"));
    fct_fetch_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_names_what_is_missing_and_how_to_get_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
