/* test_any_threads.c - the same bits with any number of threads and any batch, in a model that is
 * large enough for members to round parts of their own, and behind several chunks of the cache. */
#include "rounds.h"
#include "sized_model.h"

enum { N_PROMPT = ROUNDS(300), N_STEPS = 3, MOST_THREADS = 5 };

/* Logits of the end of a prompt, and of each step behind it. */
static void logits_with(const fct_model *model, int n_threads, int batch,
                        float (*logits)[SIZED_VOCAB]) {
    fct_session_options sizes = {
        .context = 512, .batch = batch, .decode_threads = n_threads, .prefill_threads = n_threads};
    fct_session *session = made_session(model, &sizes);
    int ids[N_PROMPT];
    fct_error err;
    for (int i = 0; i < N_PROMPT; i++) ids[i] = 2 + i * 37 % (SIZED_VOCAB - 2);
    MUST(fct_session_prefill(session, ids, N_PROMPT, &err));
    memcpy(logits[0], fct_session_logits(session), sizeof logits[0]);
    for (int i = 1; i <= N_STEPS; i++) {
        MUST(fct_session_append(session, 100 * i, &err));
        memcpy(logits[i], fct_session_logits(session), sizeof logits[0]);
    }
    fct_session_free(session);
}

static void check_weights(const char *weights) {
    static float alone[N_STEPS + 1][SIZED_VOCAB], now[N_STEPS + 1][SIZED_VOCAB];
    static const int batches[] = {3, 64, 2, 256, 4};
    fct_model *model = made_model(sized_checkpoint(), weights, NULL);
    logits_with(model, 1, 16, alone);
    for (int n_threads = 1; n_threads <= MOST_THREADS; n_threads++) {
        int batch = batches[n_threads - 1];
        logits_with(model, n_threads, batch, now);
        for (int i = 0; i <= N_STEPS; i++)
            if (memcmp(now[i], alone[i], sizeof now[i]) != 0)
                fail_msg("%s, %d threads, batch %d: other logits at step %d", weights, n_threads,
                         batch, i);
    }
    fct_model_free(model);
}

static void groups_of_32(void **state) {
    (void)state;
    check_weights("q4");
}

static void groups_of_128(void **state) {
    (void)state;
    check_weights("q4-g128");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_of_32),
        cmocka_unit_test(groups_of_128),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
