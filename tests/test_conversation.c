/* test_conversation.c - conversations that are appended to, edited, retried and rolled: every
 * answer is the one of a cold run. Faults F15, F31, F32, F35 and F69 among others. */
#include "made_model.h"

#include "cli/conversation.h"

enum { N_CONVERSATIONS = 50, N_TURNS = 10, CONTEXT = 100 };

static const char *const questions[] = {"The capital of France is",
                                        "Which continent is Peru in?",
                                        "Hello",
                                        "  What is\n\nthe currency of Chile? ",
                                        "The capital of Norway is",
                                        "Thanks!",
                                        "<turn|> is text"};
enum { N_QUESTIONS = sizeof questions / sizeof *questions };

static uint32_t state_of_chance = 2024;
static int chance(int n) {
    state_of_chance = state_of_chance * 1664525u + 1013904223u;
    return (int)(state_of_chance >> 8) % n;
}

static void add(struct fct_conversation *c, const char *role, const char *text) {
    fct_error err = {0};
    MUST(fct_conversation_add(c, role, text, strlen(text), &err));
}

/* The ids that ask for an answer; the oldest turns are dropped until they fit. */
static int *prompt_of(struct fct_conversation *c, const fct_model *model, int *n) {
    fct_error err = {0};
    int *ids;
    MUST(fct_conversation_render(c, model, false, true, &ids, n, &err));
    while (*n + 24 > CONTEXT && fct_conversation_drop_turn(c)) {
        fct_free(ids);
        MUST(fct_conversation_render(c, model, false, true, &ids, n, &err));
    }
    return ids;
}

/* Answers by the session and from cold; a sampled answer gives other ids than its text would. */
static void answer(struct fct_conversation *c, const fct_model *model, fct_session *session) {
    fct_error err = {0};
    fct_generation warm, cold;
    fct_generate_options options = fct_generate_defaults(model);
    int n, *ids = prompt_of(c, model, &n);
    options.max_tokens = 20;
    options.sampling.temperature = chance(2) ? 0.0f : 1.5f;
    options.sampling.seed = 7;
    fct_session *fresh = made_session(model, &(fct_session_options){.context = CONTEXT});
    MUST(fct_generate(session, ids, n, &options, &warm, &err));
    MUST(fct_generate(fresh, ids, n, &options, &cold, &err));
    assert_int_equal(warm.n_ids, cold.n_ids);
    assert_memory_equal(warm.ids, cold.ids, sizeof(int) * (size_t)cold.n_ids);
    assert_string_equal(warm.text, cold.text);
    add(c, "assistant", warm.text);
    fct_generation_free(&warm);
    fct_generation_free(&cold);
    fct_session_free(fresh);
    fct_free(ids);
}

static void every_answer_is_that_of_a_cold_run(void **unused) {
    (void)unused;
    fct_error err = {0};
    fct_model *model = fct_model_open(NULL, NULL, &err);
    if (!model) fail_msg("%s", err.message);
    fct_session *session = made_session(model, &(fct_session_options){.context = CONTEXT});
    int n_rolled = 0;
    for (int i = 0; i < N_CONVERSATIONS; i++) {
        struct fct_conversation c;
        MUST(fct_conversation_init(&c, &err));
        if (chance(2)) MUST(fct_conversation_set_system(&c, "Be brief.", &err));
        for (int turn = 0; turn < N_TURNS; turn++) {
            int what = chance(6);
            if (what == 0) fct_conversation_undo(&c); /* an edit: another question instead */
            if (what == 1 && fct_conversation_undo(&c)) fct_conversation_undo(&c);
            if (what != 2 || !fct_conversation_reopen(&c)) /* else a retry */
                add(&c, "user", questions[chance(N_QUESTIONS)]);
            answer(&c, model, session);
        }
        n_rolled += c.first > 0;
        fct_conversation_free(&c);
    }
    assert_true(n_rolled > 5); /* else nothing was tested of it */
    fct_session_free(session);
    fct_model_free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_answer_is_that_of_a_cold_run)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
