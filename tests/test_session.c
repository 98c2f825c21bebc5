/* test_session.c - however a session comes to hold a prefix, its logits are the same bits. */
#include "made_model.h"

#include "base/memory.h"
#include "rounds.h"

/* N_LONG is many windows; fewer where every token takes long. */
enum { N_PROMPT = 100, N_LONG = TEST_EMULATED ? 150 : 400, MOST = 400, VOCAB = 512 };

static fct_model *model;
static int prompt[MOST];
static float expected[VOCAB];

static int set_up(void **state) {
    (void)state;
    model = made_model("e2b-like", "q4", NULL); /* its window is 16 */
    uint32_t x = 12345;
    prompt[0] = 2;
    for (int i = 1; i < MOST; i++) {
        x = x * 1664525u + 1013904223u;
        prompt[i] = 3 + (int)(x >> 8) % (VOCAB - 3);
    }
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    fct_model_free(model);
    return 0;
}

static fct_session *session_of(int batch, int threads) {
    return made_session(model, &(fct_session_options){.context = MOST,
                                                      .batch = batch,
                                                      .decode_threads = threads,
                                                      .prefill_threads = threads});
}

static void prefill(fct_session *session, const int *ids, int n) {
    fct_error err = {0};
    MUST(fct_session_prefill(session, ids, n, &err));
}

static void keep_cold_logits(const int *ids, int n) {
    fct_session *cold = session_of(64, 1);
    prefill(cold, ids, n);
    memcpy(expected, fct_session_logits(cold), sizeof expected);
    fct_session_free(cold);
}

static void check_logits(fct_session *session) {
    assert_memory_equal(fct_session_logits(session), expected, sizeof expected);
}

/* F28 among others: all tokens at once or one by one, layers that share keys and values too. */
static void batch_and_threads_change_no_bit(void **state) {
    (void)state;
    static const int batches[] = {1, 2, 7, 15, 16, 17, 31, 64, 100, MOST};
    for (int n = 1; n <= N_LONG; n += 133) {
        keep_cold_logits(prompt, n);
        for (size_t i = 0; i < sizeof batches / sizeof *batches; i++)
            for (int threads = 1; threads <= 5; threads += 2) {
                fct_session *session = session_of(batches[i], threads);
                prefill(session, prompt, n);
                check_logits(session);
                fct_session_free(session);
            }
    }
}

/* F30, around the window's size: 15 to 18 tokens see all, or lose the first. */
static void prompts_around_the_window_agree_with_reading_one_by_one(void **state) {
    (void)state;
    fct_error err = {0};
    for (int n = 14; n <= 19; n++) {
        keep_cold_logits(prompt, n);
        fct_session *session = session_of(MOST, 2);
        prefill(session, prompt, 1);
        for (int i = 1; i < n; i++) MUST(fct_session_append(session, prompt[i], &err));
        check_logits(session);
        fct_session_free(session);
    }
}

static void rewinding_gives_the_same_logits(void **state) {
    (void)state;
    fct_error err = {0};
    fct_session *session = session_of(32, 2);
    keep_cold_logits(prompt, N_PROMPT);
    prefill(session, prompt, N_PROMPT);
    for (int i = 0; i < 7; i++) MUST(fct_session_append(session, prompt[300 + i], &err));
    fct_session_rewind(session, N_PROMPT - 1);
    prefill(session, prompt, N_PROMPT);
    check_logits(session);
    assert_int_equal(fct_session_describe(session).n_reused, N_PROMPT - 1);
    fct_session_free(session);
}

static void appending_reuses_everything(void **state) {
    (void)state;
    fct_session *session = session_of(32, 2);
    prefill(session, prompt, N_LONG - 30);
    prefill(session, prompt, N_LONG);
    keep_cold_logits(prompt, N_LONG);
    check_logits(session);
    assert_int_equal(fct_session_describe(session).n_reused, N_LONG - 30);
    assert_int_equal(fct_session_describe(session).n_read, 30);
    fct_session_free(session);
}

/* What the window has lost is read again, and said so. */
static void editing_far_back_equals_a_cold_run(void **state) {
    (void)state;
    int edited[MOST];
    fct_session *session = session_of(32, 2);
    for (int at = 1; at < N_LONG - 10; at += 43) {
        prefill(session, prompt, N_LONG);
        memcpy(edited, prompt, sizeof edited);
        edited[at] = prompt[at] == 7 ? 8 : 7;
        keep_cold_logits(edited, N_LONG);
        prefill(session, edited, N_LONG);
        check_logits(session);
        assert_true(fct_session_describe(session).n_reused <= at);
    }
    fct_session_free(session);
}

static void cutting_the_end_off_equals_a_cold_run(void **state) {
    (void)state;
    fct_session *session = session_of(32, 2);
    for (int kept = N_LONG - 1; kept > 0; kept -= 57) {
        prefill(session, prompt, N_LONG);
        keep_cold_logits(prompt, kept);
        prefill(session, prompt, kept);
        check_logits(session);
    }
    fct_session_free(session);
}

/* The rewound positions may be read anew several times: the rings must not believe in what was
 * overwritten. */
static void random_prefixes_equal_cold_runs(void **state) {
    (void)state;
    uint32_t x = 99;
    int ids[MOST];
    fct_session *session = session_of(24, 2);
    memcpy(ids, prompt, sizeof ids);
    for (int round = 0; round < ROUNDS(90); round++) {
        x = x * 1664525u + 1013904223u;
        int n = 1 + (int)(x >> 8) % N_LONG;
        x = x * 1664525u + 1013904223u;
        int from = n - (int)(x >> 8) % 60;
        for (int i = from < 1 ? 1 : from; i < n; i++) {
            x = x * 1664525u + 1013904223u;
            ids[i] = 3 + (int)(x >> 8) % (VOCAB - 3);
        }
        keep_cold_logits(ids, n);
        prefill(session, ids, n);
        check_logits(session);
        if (round % 3 == 0) fct_session_mark(session);
    }
    fct_session_free(session);
}

/* A mark brings back what the rings have lost: only what changed behind it is read. */
static void marks_save_reading_again(void **state) {
    (void)state;
    static const fct_kv kinds[] = {FCT_KV_F16, FCT_KV_Q8, FCT_KV_F32};
    for (int i = 0; i < 3; i++) {
        int edited[MOST];
        fct_session_options options = {.context = MOST,
                                       .batch = 16,
                                       .decode_threads = 1,
                                       .prefill_threads = 2,
                                       .kv = kinds[i]};
        fct_session *session = made_session(model, &options), *cold = made_session(model, &options);
        prefill(session, prompt, 37);
        fct_session_mark(session);
        prefill(session, prompt, 90);
        fct_session_mark(session);
        prefill(session, prompt, N_LONG);
        for (int at = 95; at >= 30; at -= TEST_EMULATED ? 32 : 13) {
            memcpy(edited, prompt, sizeof edited);
            edited[at] = prompt[at] == 7 ? 8 : 7;
            prefill(session, edited, N_LONG - 50);
            prefill(cold, edited, N_LONG - 50);
            assert_memory_equal(fct_session_logits(session), fct_session_logits(cold),
                                sizeof expected);
            fct_session_info info = fct_session_describe(session);
            assert_true(info.n_reused >= (at >= 90   ? 90
                                          : at >= 37 ? 37
                                                     : 30) &&
                        info.n_reused <= at);
            prefill(session, prompt, 37);
            fct_session_mark(session);
            prefill(session, prompt, 90);
            fct_session_mark(session);
            prefill(session, prompt, N_LONG);
        }
        fct_session_free(session);
        fct_session_free(cold);
    }
}

static void the_same_prompt_again_reads_nothing(void **state) {
    (void)state;
    fct_session *session = session_of(32, 2);
    keep_cold_logits(prompt, N_PROMPT);
    prefill(session, prompt, N_PROMPT);
    prefill(session, prompt, N_PROMPT);
    check_logits(session);
    assert_int_equal(fct_session_describe(session).n_read, 0);
    fct_session_free(session);
}

struct last_row {
    float logits[VOCAB];
};
static bool keep_last(void *user, int position, const float *logits) {
    (void)position;
    memcpy(user, logits, sizeof(struct last_row));
    return true;
}

/* F27: layers that share keys and values see the same with and without a cache: the whole stack for
 * all, or only the last token. */
static void scoring_agrees_with_prefill(void **state) {
    (void)state;
    fct_error err = {0};
    struct last_row last;
    fct_session *session = session_of(32, 2);
    keep_cold_logits(prompt, N_PROMPT);
    MUST(fct_session_score(session, prompt, N_PROMPT, keep_last, &last, &err));
    assert_memory_equal(last.logits, expected, sizeof expected);
    prefill(session, prompt, N_PROMPT);
    check_logits(session);
    fct_session_free(session);
}

static void decoding_allocates_nothing(void **state) {
    (void)state;
    fct_error err = {0};
    fct_session *session = session_of(32, 2);
    prefill(session, prompt, N_PROMPT);
    MUST(fct_session_append(session, 9, &err));
    uint64_t before = fct_allocation_count();
    for (int i = 0; i < 50; i++) MUST(fct_session_append(session, prompt[200 + i], &err));
    assert_int_equal(fct_allocation_count() - before, 0);
    fct_session_free(session);
}

static void what_does_not_fit_is_refused_and_nothing_is_lost(void **state) {
    (void)state;
    fct_error err = {0};
    int bad[3] = {2, VOCAB, 5};
    fct_session *session = made_session(model, &(fct_session_options){.context = 20});
    prefill(session, prompt, 20);
    assert_int_equal(fct_session_append(session, 5, &err), FCT_ERR_CONTEXT);
    assert_int_equal(fct_session_prefill(session, prompt, 21, &err), FCT_ERR_CONTEXT);
    assert_non_null(strstr(err.message, "21"));
    assert_non_null(strstr(err.message, "20"));
    assert_int_equal(fct_session_prefill(session, bad, 3, &err), FCT_ERR_ARGUMENT);
    assert_int_equal(fct_session_prefill(session, bad, 0, &err), FCT_ERR_ARGUMENT);
    keep_cold_logits(prompt, 20);
    prefill(session, prompt, 20);
    check_logits(session);
    assert_null(fct_session_new(model, &(fct_session_options){.context = 1 << 20}, &err));
    assert_null(fct_session_new(model, &(fct_session_options){.batch = -1}, &err));
    fct_session_free(session);
}

/* The weights move while the session runs: no bit may change, before, during or after. */
static void moving_the_weights_changes_nothing(void **state) {
    (void)state;
    fct_error err = {0};
    float before[VOCAB];
    fct_model_free(made_model("two-kv-heads", "f32", NULL));
    const char *path = made_path("two-kv-heads-f32.facet");
    for (int memory = FCT_MEMORY_AUTO; memory <= FCT_MEMORY_HUGE; memory++) {
        fct_model *placed =
            fct_model_open(path, &(fct_model_options){.memory = (fct_memory)memory}, &err);
        assert_non_null(placed);
        fct_session *session = made_session(placed, &(fct_session_options){.context = MOST});
        for (int n = 1; n <= 40; n++) {
            if (n == 20) fct_model_settle(placed);
            MUST(fct_session_prefill(session, prompt, n, &err));
        }
        if (memory == FCT_MEMORY_AUTO) memcpy(before, fct_session_logits(session), sizeof before);
        assert_memory_equal(fct_session_logits(session), before, sizeof before);
        if (memory == FCT_MEMORY_MAP) assert_string_equal(fct_model_describe(placed).memory, "map");
        fct_session_free(session);
        fct_model_free(placed);
    }
}

/* float16 and int8 caches are close to a float32 one; they are not the same. */
static void smaller_caches_stay_close(void **state) {
    (void)state;
    float logits[3][VOCAB];
    static const fct_kv kinds[] = {FCT_KV_F32, FCT_KV_F16, FCT_KV_Q8};
    for (int i = 0; i < 3; i++) {
        fct_session *session = made_session(
            model, &(fct_session_options){
                       .context = MOST, .kv = kinds[i], .activations = FCT_ACTIVATIONS_F32});
        prefill(session, prompt, 60);
        memcpy(logits[i], fct_session_logits(session), sizeof logits[i]);
        fct_session_free(session);
    }
    double error[3] = {0}, power = 0;
    for (int j = 0; j < VOCAB; j++) {
        power += logits[0][j] * logits[0][j];
        for (int i = 1; i < 3; i++)
            error[i] += (logits[i][j] - logits[0][j]) * (logits[i][j] - logits[0][j]);
    }
    assert_true(error[1] > 0 && error[1] < 1e-4 * power);
    assert_true(error[2] > error[1] && error[2] < 3e-2 * power);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batch_and_threads_change_no_bit),
        cmocka_unit_test(prompts_around_the_window_agree_with_reading_one_by_one),
        cmocka_unit_test(rewinding_gives_the_same_logits),
        cmocka_unit_test(appending_reuses_everything),
        cmocka_unit_test(editing_far_back_equals_a_cold_run),
        cmocka_unit_test(cutting_the_end_off_equals_a_cold_run),
        cmocka_unit_test(random_prefixes_equal_cold_runs),
        cmocka_unit_test(marks_save_reading_again),
        cmocka_unit_test(the_same_prompt_again_reads_nothing),
        cmocka_unit_test(scoring_agrees_with_prefill),
        cmocka_unit_test(decoding_allocates_nothing),
        cmocka_unit_test(what_does_not_fit_is_refused_and_nothing_is_lost),
        cmocka_unit_test(moving_the_weights_changes_nothing),
        cmocka_unit_test(smaller_caches_stay_close),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
