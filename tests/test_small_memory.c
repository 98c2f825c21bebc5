/* test_small_memory.c - little memory: the right answer, only slower, or a refusal with the
 * arithmetic; never killed, never a swap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "memory_group.h"
#include "sized_model.h"

enum { PROCESS = 8 << 20 }; /* what the program takes besides: itself, its stacks, what it reads */

static fct_memory_needs needs;

static char *slurp(const char *path) {
    static char text[4096];
    FILE *file = fopen(path, "rb");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    text[n] = 0;
    if (file) fclose(file);
    return text;
}

/* Runs the model in a group of so many bytes (0: in none), cold. */
static int run_within(long long bytes, const char *memory, const char *context,
                      struct memory_group *group) {
    char *argv[] = {FACET_PROGRAM,
                    "run",
                    "-m",
                    (char *)(uintptr_t)sized_model(),
                    "--prompt-ids",
                    "2,77,1234,8000,5,6,7,8,9,10",
                    "--ids",
                    "-n",
                    "12",
                    "-c",
                    (char *)(uintptr_t)context,
                    "--batch",
                    "16",
                    "-t",
                    "2",
                    "--temperature",
                    "0",
                    "--memory",
                    (char *)(uintptr_t)memory,
                    NULL};
    char out[300];
    snprintf(out, sizeof out, "%s", made_path("out"));
    if (!sized_drop(sized_model())) skip(); /* kept in memory anyway */
    return group_run(bytes ? group : NULL, argv, out, made_path("err"));
}

/* A group to run in, or the test is skipped. */
static struct memory_group limit_or_skip(long long bytes) {
    struct memory_group group;
#ifdef __SANITIZE_ADDRESS__
    puts("SKIP: the sanitizer takes more memory than the model");
    skip();
#endif
    if (TEST_EMULATED) {
        puts("SKIP: the emulator takes more memory than the model");
        skip();
    }
    if (!group_make(&group, bytes)) {
        puts("SKIP: this process may not make a control group with a limit of memory");
        skip();
    }
    return group;
}

static char expected[256]; /* ids, without a limit */

static int find_needs(void **state) {
    (void)state;
    fct_error err = {0};
    fct_model *model = fct_model_open(sized_model(), NULL, &err);
    fct_session_options sizes = {
        .context = 256, .batch = 16, .decode_threads = 2, .prefill_threads = 2};
    if (!model || fct_model_needs(model, &sizes, &needs, &err) != FCT_OK) return -1;
    fct_model_free(model);
    if (run_within(0, "auto", "256", NULL) != 0) return -1;
    snprintf(expected, sizeof expected, "%s", slurp(made_path("out")));
    return strlen(expected) > 20 ? 0 : -1;
}

static void needs_are_those_of_the_session(void **state) {
    (void)state;
    fct_error err = {0};
    fct_model *model = fct_model_open(sized_model(), NULL, &err);
    fct_session_options sizes = {
        .context = 256, .batch = 16, .decode_threads = 2, .prefill_threads = 2};
    fct_session *session = made_session(model, &sizes);
    fct_session_info info = fct_session_describe(session);
    fct_model_info described = fct_model_describe(model);
    assert_int_equal(needs.scratch, info.scratch_bytes);
    assert_true(needs.kv >= info.kv_bytes); /* copies to go back to are in it */
    assert_int_equal(needs.weights, described.hot_bytes);
    assert_true(needs.weights >= described.bytes_per_token);
    assert_int_equal(needs.together, needs.weights + needs.rows + needs.kv + needs.scratch);
    assert_true(needs.tables + needs.weights < described.file_bytes);
    assert_true(needs.tables + needs.weights > described.file_bytes * 8 / 10);
    assert_int_equal(needs.context, 256);
    assert_true(needs.available > 0);
    fct_session_free(session);
    fct_model_free(model);
}

/* As a q4 E2B in 2 GB: weights and cache fit, the file with its tables does not. */
static void just_enough_memory_gives_the_same_answer(void **state) {
    (void)state;
    static const char *const ways[] = {"auto", "map", "huge"};
    for (int i = 0; i < 3; i++) {
        long long limit = (long long)needs.together + PROCESS;
        struct memory_group group = limit_or_skip(limit);
        int code = run_within(limit, ways[i], "256", &group);
        long long peak = group_peak(&group), at_limit = group_times_at_limit(&group);
        group_remove(&group);
        print_message("%s: %.1f MB allowed, %.1f MB at most, %lld times at the limit\n", ways[i],
                      (double)limit / 1e6, (double)peak / 1e6, at_limit);
        if (code) fail_msg("--memory %s ended with %d: %s", ways[i], code, slurp(made_path("err")));
        assert_string_equal(slurp(made_path("out")), expected);
        assert_true(peak <= limit);
    }
}

/* F74: refused before it runs, with numbers, instead of being killed or thrashing. */
static void too_little_memory_is_refused_with_the_arithmetic(void **state) {
    (void)state;
    long long limit = (long long)needs.weights * 8 / 10;
    struct memory_group group = limit_or_skip(limit);
    int code = run_within(limit, "auto", "256", &group);
    group_remove(&group);
    const char *said = slurp(made_path("err"));
    char weights[64];
    snprintf(weights, sizeof weights, "%.2f GB of weights + ", (double)needs.weights / 1e9);
    assert_int_equal(code, 1);
    if (!strstr(said, weights) || !strstr(said, "are available in its control group") ||
        !strstr(said, "--memory map"))
        fail_msg("no arithmetic in: %s", said);
    assert_string_equal(slurp(made_path("out")), "");
}

/* Who asks for the map gets the answer all the same: what does not fit is read again and again. */
static void a_map_that_does_not_fit_is_slower_but_right(void **state) {
    (void)state;
    long long limit = (long long)needs.weights * 8 / 10;
    struct memory_group group = limit_or_skip(limit);
    int code = run_within(limit, "map", "256", &group);
    long long peak = group_peak(&group), at_limit = group_times_at_limit(&group);
    group_remove(&group);
    print_message("%.1f MB allowed, %.1f MB at most, %lld times at the limit\n",
                  (double)limit / 1e6, (double)peak / 1e6, at_limit);
    if (code) fail_msg("ended with %d: %s", code, slurp(made_path("err")));
    assert_string_equal(slurp(made_path("out")), expected);
    assert_true(peak <= limit);
    assert_true(at_limit > 0);
}

/* Weights may come from the file again and again; keys and values may not. */
static void a_cache_that_does_not_fit_is_refused_also_with_the_map(void **state) {
    (void)state;
    long long limit = 100 << 20;
    struct memory_group group = limit_or_skip(limit);
    int code = run_within(limit, "map", "131072", &group);
    group_remove(&group);
    const char *said = slurp(made_path("err"));
    assert_int_equal(code, 1);
    if (!strstr(said, "keys and values of 131072 positions need 0."))
        fail_msg("no arithmetic in: %s", said);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(needs_are_those_of_the_session),
        cmocka_unit_test(just_enough_memory_gives_the_same_answer),
        cmocka_unit_test(too_little_memory_is_refused_with_the_arithmetic),
        cmocka_unit_test(a_map_that_does_not_fit_is_slower_but_right),
        cmocka_unit_test(a_cache_that_does_not_fit_is_refused_also_with_the_map),
    };
    return cmocka_run_group_tests(tests, find_needs, NULL);
}
