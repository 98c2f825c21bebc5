/* test_energy.c - joules from samples of a power meter. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/energy.h"

static struct fct_energy_samples recorded;

static void record(bool counts, const double samples[][2], size_t n) {
    recorded.counts = counts;
    for (size_t i = 0; i < n; i++)
        assert_int_equal(fct_energy_add(&recorded, samples[i][0], samples[i][1], NULL), FCT_OK);
}
#define RECORD(counts, samples) record(counts, samples, sizeof samples / sizeof samples[0])

static int forget(void **state) {
    (void)state;
    fct_energy_free(&recorded);
    return 0;
}

#define CHECK_JOULES(begin, end, joules)                                                           \
    assert_true(fabs(fct_energy_between(&recorded, begin, end) - (joules)) < 1e-9)

static void steady_watts_times_seconds_are_joules(void **state) {
    (void)state;
    static const double samples[][2] = {{10, 5}, {11, 5}, {13, 5}};
    RECORD(false, samples);
    CHECK_JOULES(10, 13, 15.0);
    CHECK_JOULES(10.5, 12, 7.5);
}

static void watts_that_change_are_summed_as_trapezoids(void **state) {
    (void)state;
    static const double samples[][2] = {{0, 4}, {1, 8}, {3, 6}};
    RECORD(false, samples);
    CHECK_JOULES(0, 3, 6.0 + 14.0);
    CHECK_JOULES(0.5, 1, 3.5);       /* from 6 to 8 watts in half a second */
    CHECK_JOULES(0.5, 2, 3.5 + 7.5); /* and from 8 to 7 in a second */
}

static void a_counter_is_read_between_its_samples(void **state) {
    (void)state;
    static const double samples[][2] = {{0, 100}, {2, 110}, {4, 140}};
    RECORD(true, samples);
    CHECK_JOULES(0, 4, 40.0);
    CHECK_JOULES(1, 3, 5.0 + 15.0);
    CHECK_JOULES(3, 3, 0.0);
}

static void nothing_is_said_about_times_without_samples(void **state) {
    (void)state;
    assert_true(isnan(fct_energy_between(&recorded, 0, 1)));
    static const double samples[][2] = {{1, 5}, {2, 5}};
    RECORD(false, samples);
    assert_true(isnan(fct_energy_between(&recorded, 0.5, 2)));
    assert_true(isnan(fct_energy_between(&recorded, 1, 2.5)));
    assert_true(isnan(fct_energy_between(&recorded, 2, 1)));
    CHECK_JOULES(1, 2, 5.0);
}

static void a_counter_that_goes_round_goes_on(void **state) {
    (void)state;
    assert_true(fct_counter_step(100, 350, 262143328850) == 250);
    assert_true(fct_counter_step(262143328849, 10, 262143328850) == 12);
    assert_true(fct_counter_step(7, 7, 1000) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(steady_watts_times_seconds_are_joules, forget),
        cmocka_unit_test_teardown(watts_that_change_are_summed_as_trapezoids, forget),
        cmocka_unit_test_teardown(a_counter_is_read_between_its_samples, forget),
        cmocka_unit_test_teardown(nothing_is_said_about_times_without_samples, forget),
        cmocka_unit_test(a_counter_that_goes_round_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
