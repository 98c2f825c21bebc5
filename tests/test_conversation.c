/* test_conversation.c - conversations that are appended to, edited, retried and rolled: every
 * answer is the one of a cold run. Faults F15, F31, F32, F35 and F69 among others. */
#include "made_model.h"

#include "cli/conversation.h"
#include "rounds.h"
#include "scripted_answer.h"

enum { N_CONVERSATIONS = ROUNDS(50), N_TURNS = 10, CONTEXT = 100 };

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
    assert_true(n_rolled > N_CONVERSATIONS / 10); /* else nothing was tested of it */
    fct_session_free(session);
    fct_model_free(model);
}

static int shared_beginning(const int *a, int n_a, const int *b, int n_b) {
    int n = 0;
    while (n < n_a && n < n_b && a[n] == b[n]) n++;
    return n;
}

/* An answer whose ids a script chooses: its thought is not sent back, its spaces are other pieces
 * than the text gives. Returns the ids that the session then holds, and how many. */
static int *answer_by_script(struct fct_conversation *c, const fct_model *model,
                             fct_session *session, int *n) {
    fct_error err = {0};
    fct_generation out;
    struct script script = {.model = model};
    float biases[SCRIPT_MOST];
    script_say(&script, "<|channel>thought\nNorway<channel|>  two  spaces<turn|>");
    for (int i = 0; i < script.n; i++) biases[i] = script_bias(&script, i);
    fct_generate_options options = fct_generate_defaults(model);
    options.sampling = (fct_sampling){.top_p = 1,
                                      .repeat_penalty = 100,
                                      .bias_ids = script.ids,
                                      .bias_values = biases,
                                      .n_biases = script.n};
    int *ids = prompt_of(c, model, n);
    MUST(fct_generate(session, ids, *n, &options, &out, &err));
    assert_int_equal(out.n_ids, script.n);
    assert_string_equal(out.thought, "Norway");
    assert_string_equal(out.text, "two  spaces");
    add(c, "assistant", out.text);
    ids = realloc(ids, sizeof *ids * (size_t)(*n + out.n_ids));
    memcpy(ids + *n, out.ids, sizeof *ids * (size_t)out.n_ids);
    *n += out.n_ids;
    fct_generation_free(&out);
    return ids;
}

/* F32 */
static void what_the_history_leaves_out_is_not_in_the_cache(void **unused) {
    (void)unused;
    fct_error err = {0};
    struct fct_conversation c;
    fct_generation warm, cold;
    fct_model *model = fct_model_open(NULL, NULL, &err);
    if (!model) fail_msg("%s", err.message);
    fct_session *session = made_session(model, &(fct_session_options){.context = 200});
    fct_session *fresh = made_session(model, &(fct_session_options){.context = 200});
    fct_generate_options greedy = fct_generate_defaults(model);
    greedy.sampling.temperature = 0;
    MUST(fct_conversation_init(&c, &err));
    add(&c, "user", "Hi");
    int n_held, *held = answer_by_script(&c, model, session, &n_held);
    add(&c, "user", "The capital of France is");
    int n, *ids;
    MUST(fct_conversation_render(&c, model, false, true, &ids, &n, &err));
    MUST(fct_generate(session, ids, n, &greedy, &warm, &err));
    MUST(fct_generate(fresh, ids, n, &greedy, &cold, &err));
    int shared = shared_beginning(held, n_held, ids, n);
    assert_true(shared < n_held - 1); /* the thought is gone */
    assert_int_equal(warm.n_reused, shared);
    assert_int_equal(warm.n_ids, cold.n_ids);
    assert_memory_equal(warm.ids, cold.ids, sizeof(int) * (size_t)cold.n_ids);
    assert_memory_equal(fct_session_logits(session), fct_session_logits(fresh),
                        sizeof(float) * (size_t)fct_model_describe(model).vocab_size);
    fct_generation_free(&warm);
    fct_generation_free(&cold);
    fct_free(ids);
    free(held);
    fct_conversation_free(&c);
    fct_session_free(session);
    fct_session_free(fresh);
    fct_model_free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_answer_is_that_of_a_cold_run),
        cmocka_unit_test(what_the_history_leaves_out_is_not_in_the_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
