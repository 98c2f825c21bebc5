/* test_many_threads.c - more threads than CPUs, and CPUs that others use too: slower, not a
 * hundred times slower. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/threads.h"
#include "sized_model.h"

enum { RUNS = 4, STEPS = 4 };

/* Tokens a second of the fastest of some short runs with so many threads: what else happens on the
 * machine only makes runs slower. */
static double fastest(const fct_model *model, int n_threads) {
    fct_session_options sizes = {
        .context = 256, .batch = 16, .decode_threads = n_threads, .prefill_threads = n_threads};
    fct_session *session = made_session(model, &sizes);
    double best = 0;
    fct_error err;
    MUST(fct_session_prefill(session, (int[]){2, 77, 1234}, 3, &err));
    for (int run = 0; run < RUNS; run++) {
        double began = fct_seconds();
        for (int i = 0; i < STEPS; i++) MUST(fct_session_append(session, 5 + i, &err));
        double rate = STEPS / (fct_seconds() - began);
        if (rate > best) best = rate;
    }
    fct_session_free(session);
    return best;
}

/* F77: twice as many threads as CPUs give at least a quarter of the best. */
static void check_twice_as_many(const char *what) {
    fct_error err = {0};
    int n_cpus = fct_cpu_count();
    /* Kernels that take their time: between two barriers lies as much work as in a large model. */
    fct_model_options options = {.kernels = "portable"};
    fct_model *model = fct_model_open(sized_model(), &options, &err);
    if (!model) fail_msg("%s", err.message);
    double best = 0, twice = 0;
    for (int attempt = 0; attempt < 3 && (best == 0 || twice < best / 4); attempt++) {
        best = 0;
        for (int n = n_cpus; n >= 1; n = n > 2 ? n / 2 : n - 1) {
            double rate = fastest(model, n);
            if (rate > best) best = rate;
        }
        twice = fastest(model, 2 * n_cpus);
    }
    print_message("%s: %.0f tok/s at best, %.0f with %d threads on %d CPUs\n", what, best, twice,
                  2 * n_cpus, n_cpus);
    assert_true(twice >= best / 4);
    fct_model_free(model);
}

static void twice_as_many_threads_as_cpus(void **state) {
    (void)state;
    check_twice_as_many("alone");
}

static void beside_two_that_are_busy(void **state) {
    (void)state;
    pid_t busy[2];
    for (int i = 0; i < 2; i++)
        if ((busy[i] = fork()) == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL); /* not longer than the test, however that ends */
            for (;;) continue;
        }
    check_twice_as_many("beside two busy loops");
    for (int i = 0; i < 2; i++) {
        kill(busy[i], SIGKILL);
        waitpid(busy[i], NULL, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twice_as_many_threads_as_cpus),
        cmocka_unit_test(beside_two_that_are_busy),
    };
    bool slowed = TEST_EMULATED;
#ifdef __SANITIZE_ADDRESS__
    slowed = true;
#endif
    if (slowed) {
        printf("SKIP: an emulator or a sanitizer takes the time\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
