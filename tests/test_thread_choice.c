/* test_thread_choice.c - the number of decoding threads settles on what was fastest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/thread_choice.h"

/* Decodes until the choice is made on a machine where n threads take seconds[n] a token, every
 * third time twice that. */
static int settle(int most, const double *seconds, int *n_tokens) {
    struct fct_thread_choice choice;
    fct_thread_choice_init(&choice, most);
    for (*n_tokens = 0; !choice.chosen && *n_tokens < 100; ++*n_tokens)
        fct_thread_choice_note(&choice, seconds[fct_thread_choice_next(&choice)] *
                                            (*n_tokens % 3 == 0 ? 2 : 1));
    return fct_thread_choice_next(&choice);
}

static void all_threads_win_where_they_are_fastest(void **state) {
    (void)state;
    int n;
    assert_int_equal(settle(2, (double[]){0, 2, 1}, &n), 2);
    assert_int_equal(n, 6);
    assert_int_equal(settle(4, (double[]){0, 4, 2, 1.4, 1}, &n), 4);
}

static void fewer_threads_win_where_memory_is_the_bound(void **state) {
    (void)state;
    int n;
    assert_int_equal(settle(4, (double[]){0, 1.4, 1, 1.1, 1.2}, &n), 2);
    assert_int_equal(n, 12);
    assert_int_equal(settle(16, (double[]){0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4}, &n),
                     4);
}

static void a_tie_stays_with_more_threads(void **state) {
    (void)state;
    int n;
    assert_int_equal(settle(4, (double[]){0, 1, 1, 0.99, 1}, &n), 4);
}

static void one_thread_needs_no_trial(void **state) {
    (void)state;
    int n;
    assert_int_equal(settle(1, (double[]){0, 1}, &n), 1);
    assert_int_equal(n, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_threads_win_where_they_are_fastest),
        cmocka_unit_test(fewer_threads_win_where_memory_is_the_bound),
        cmocka_unit_test(a_tie_stays_with_more_threads),
        cmocka_unit_test(one_thread_needs_no_trial),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
