/* test_known_threads.c - what one run finds out about threads, later runs know. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/stat.h>

#include "base/threads.h"
#include "cli/known_threads.h"
#include "scratch_folder.h"
#include "sized_model.h"

static const struct fct_thread_case board = {"neon-dot", 4, 1282};

static int use_scratch(void **state) {
    if (scratch_make(state)) return -1;
    return setenv("XDG_CACHE_HOME", scratch_folder, 1);
}

static void what_two_runs_in_a_row_find_is_known(void **state) {
    (void)state;
    assert_int_equal(fct_known_threads(&board), 0);
    fct_known_threads_note(&board, 2);
    assert_int_equal(fct_known_threads(&board), 0);
    fct_known_threads_note(&board, 2);
    assert_int_equal(fct_known_threads(&board), 2);
    fct_known_threads_note(&board, 2);
    assert_int_equal(fct_known_threads(&board), 2);
    fct_known_threads_note(&board, 3); /* another number puts it in doubt */
    assert_int_equal(fct_known_threads(&board), 0);
    fct_known_threads_note(&board, 3);
    assert_int_equal(fct_known_threads(&board), 3);
}

static void other_kernels_cpus_and_models_are_other_cases(void **state) {
    (void)state;
    const struct fct_thread_case others[] = {
        {"neon", 4, 1282}, {"neon-dot", 2, 1282}, {"neon-dot", 4, 1175}};
    for (int i = 0; i < 2; i++) fct_known_threads_note(&board, 2);
    for (size_t i = 0; i < 3; i++) assert_int_equal(fct_known_threads(&others[i]), 0);
    for (int i = 0; i < 2; i++) fct_known_threads_note(&others[0], 4);
    assert_int_equal(fct_known_threads(&others[0]), 4);
    assert_int_equal(fct_known_threads(&board), 2);
}

static void a_file_that_makes_no_sense_is_as_good_as_none(void **state) {
    (void)state;
    static const char *const nonsense[] = {
        "",
        "{",
        "[1, 2]",
        "{\"neon-dot, 4 CPUs, 1282 bytes a token\": 3}",
        "{\"neon-dot, 4 CPUs, 1282 bytes a token\": {\"threads\": 1000000, \"runs\": 2}}",
        "{\"neon-dot, 4 CPUs, 1282 bytes a token\": {\"threads\": -1, \"runs\": 2}}",
        "{\"neon-dot, 4 CPUs, 1282 bytes a token\": {\"threads\": 5, \"runs\": 2}}",
        "{\"neon-dot, 4 CPUs, 1282 bytes a token\": {\"threads\": \"2\", \"runs\": 2}}"};
    assert_int_equal(mkdir(scratch_path("facet"), 0700), 0);
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        scratch_put("facet/threads.json", nonsense[i], strlen(nonsense[i]));
        assert_int_equal(fct_known_threads(&board), 0);
        for (int n = 0; n < 2; n++) fct_known_threads_note(&board, 2);
        assert_int_equal(fct_known_threads(&board), 2);
    }
}

static void a_folder_that_cannot_be_made_is_no_fault(void **state) {
    (void)state;
    scratch_put("file", "", 0);
    setenv("XDG_CACHE_HOME", scratch_path("file"), 1);
    fct_known_threads_note(&board, 2);
    assert_int_equal(fct_known_threads(&board), 0);
}

/* The whole way: sessions that try, then one that need not. */
static void sessions_try_until_it_is_known(void **state) {
    (void)state;
    fct_error err = {0};
    fct_model *model = fct_model_open(sized_model(), NULL, &err);
    assert_non_null(model);
    if (fct_cpu_count() < 2) skip();
    for (int run = 0; run < 6; run++) {
        fct_session_options options = {.context = 64};
        fct_known_threads_use(model, &options);
        if (run < 2) assert_int_equal(options.decode_threads, 0);
        fct_session *session = made_session(model, &options);
        int id = 5;
        MUST(fct_session_prefill(session, &id, 1, &err));
        for (int i = 0; i < 40; i++) MUST(fct_session_append(session, id, &err));
        fct_session_info info = fct_session_describe(session);
        assert_int_equal(info.decode_threads_found, options.decode_threads == 0);
        fct_known_threads_keep(model, session);
        if (options.decode_threads) assert_int_equal(info.decode_threads, options.decode_threads);
        fct_session_free(session);
    }
    fct_session_options forced = {.decode_threads = 1};
    fct_known_threads_use(model, &forced);
    assert_int_equal(forced.decode_threads, 1);
    fct_known_threads_keep(model, NULL);
    fct_model_free(model);
}

#define KEPT_TEST(test) cmocka_unit_test_setup_teardown(test, use_scratch, scratch_remove)

int main(void) {
    const struct CMUnitTest tests[] = {
        KEPT_TEST(what_two_runs_in_a_row_find_is_known),
        KEPT_TEST(other_kernels_cpus_and_models_are_other_cases),
        KEPT_TEST(a_file_that_makes_no_sense_is_as_good_as_none),
        KEPT_TEST(a_folder_that_cannot_be_made_is_no_fault),
        KEPT_TEST(sessions_try_until_it_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
