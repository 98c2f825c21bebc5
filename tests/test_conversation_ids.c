/* test_conversation_ids.c - conversations of ids with the reference case of E2B's structure, whose
 * window of 16 is left behind in every turn: appended to, edited, retried and rolled, every answer
 * is the one of a cold run. Faults F29, F31, F32 and F35 among others. */
#include "made_model.h"
#include "rounds.h"

enum {
    N_CONVERSATIONS = ROUNDS(50),
    N_STEPS = 12,
    CONTEXT = 150,
    VOCAB = 512,
    MOST_TURNS = N_STEPS
};
enum { BOS = 2, MOST_ASKED = 24, MOST_ANSWERED = 12, MOST_SYSTEM = 20 };

struct turn {
    int asked[MOST_ASKED], answered[MOST_ANSWERED];
    int n_asked, n_answered;
};
struct conversation {
    int system[MOST_SYSTEM];
    int n_system, n_turns, first; /* turns before the first are no longer sent */
    struct turn turns[MOST_TURNS];
};

static uint32_t state_of_chance = 77;
static int chance(int n) {
    state_of_chance = state_of_chance * 1664525u + 1013904223u;
    return (int)(state_of_chance >> 8) % n;
}

static int put_random(int *ids, int most) {
    int n = 1 + chance(most);
    for (int i = 0; i < n; i++) ids[i] = 3 + chance(VOCAB - 3);
    return n;
}

/* What is sent: the system's ids, then the turns; the last one waits for its answer. */
static int write_ids(const struct conversation *c, int *ids) {
    int n = 0;
    ids[n++] = BOS;
    for (int i = 0; i < c->n_system; i++) ids[n++] = c->system[i];
    for (const struct turn *t = c->turns + c->first; t < c->turns + c->n_turns; t++) {
        for (int i = 0; i < t->n_asked; i++) ids[n++] = t->asked[i];
        for (int i = 0; i < t->n_answered; i++) ids[n++] = t->answered[i];
    }
    return n;
}

static int rolled_ids(struct conversation *c, int *ids) {
    int n = write_ids(c, ids);
    while (n + MOST_ANSWERED > CONTEXT) {
        c->first++;
        n = write_ids(c, ids);
    }
    return n;
}

static fct_generation generation_of(fct_session *session, const fct_model *model, const int *ids,
                                    int n_ids, bool greedy) {
    fct_error err = {0};
    fct_generation generation;
    fct_generate_options options = fct_generate_defaults(model);
    options.raw = true;
    options.max_tokens = MOST_ANSWERED;
    options.sampling.temperature = greedy ? 0.0f : 1.5f;
    options.sampling.seed = 11;
    MUST(fct_generate(session, ids, n_ids, &options, &generation, &err));
    return generation;
}

/* The last turn's answer, by the session and by one that holds nothing. Returns how many ids the
 * session had to read. */
static int answer(struct conversation *c, const fct_model *model, fct_session *session,
                  const fct_session_options *sizes) {
    int ids[CONTEXT + MOST_ASKED + MOST_ANSWERED];
    int n_ids = rolled_ids(c, ids), greedy = chance(2);
    struct turn *turn = c->turns + c->n_turns - 1;
    fct_session *fresh = made_session(model, sizes);
    fct_generation cold = generation_of(fresh, model, ids, n_ids, greedy);
    fct_generation warm = generation_of(session, model, ids, n_ids, greedy);
    assert_int_equal(warm.n_ids, cold.n_ids);
    assert_memory_equal(warm.ids, cold.ids, sizeof(int) * (size_t)cold.n_ids);
    assert_int_equal(cold.n_reused, 0);
    turn->n_answered = cold.n_ids;
    memcpy(turn->answered, cold.ids, sizeof(int) * (size_t)cold.n_ids);
    int n_read = warm.n_prompt - warm.n_reused;
    fct_generation_free(&cold);
    fct_generation_free(&warm);
    fct_session_free(fresh);
    return n_read;
}

static void ask(struct conversation *c) {
    struct turn *turn = c->turns + c->n_turns++;
    turn->n_asked = put_random(turn->asked, MOST_ASKED);
    turn->n_answered = 0;
}

/* Goes back to an earlier turn, the last one most often. */
static void go_back(struct conversation *c) {
    int kept = chance(2) ? c->n_turns - 1 : chance(c->n_turns);
    c->n_turns = kept;
    if (c->first > kept) c->first = kept;
}

/* What was done of each kind, so that the test can tell that it did something. */
struct tally {
    int n_appended, n_edited, n_retried, n_rolled;
};

static void step(struct conversation *c, const fct_model *model, fct_session *session,
                 const fct_session_options *sizes, struct tally *tally) {
    int what = c->n_turns ? chance(4) : 0, first = c->first;
    struct turn *last = c->turns + c->n_turns - 1;
    bool ended_at_once = what == 2 && last->n_answered == 1;
    if (what == 1) {
        go_back(c);
        tally->n_edited++;
    }
    if (what == 2) {
        last->n_answered = 0;
        tally->n_retried++;
    } else {
        ask(c);
    }
    int n_read = answer(c, model, session, sizes);
    tally->n_rolled += c->first > first;
    if (c->first > first || what == 1 || c->n_turns == 1) return;
    /* The id chosen last was not read yet, and behind a retry the last of the prompt is wanted, but
     * where nothing was read behind it. */
    if (what == 2)
        assert_int_equal(n_read, !ended_at_once);
    else
        assert_int_equal(n_read, c->turns[c->n_turns - 1].n_asked + 1);
    tally->n_appended += what != 2;
}

static void converse(const char *weights, fct_session_options sizes) {
    fct_model *model = made_model("e2b-like", weights, NULL);
    fct_session *session = made_session(model, &sizes);
    struct tally tally = {0};
    for (int i = 0; i < N_CONVERSATIONS; i++) {
        struct conversation c = {0};
        if (chance(2)) c.n_system = put_random(c.system, MOST_SYSTEM);
        for (int n = 0; n < N_STEPS; n++) step(&c, model, session, &sizes, &tally);
    }
    assert_true(tally.n_appended > 2 * N_CONVERSATIONS && tally.n_edited > N_CONVERSATIONS);
    assert_true(tally.n_retried > N_CONVERSATIONS && tally.n_rolled > 2 * N_CONVERSATIONS / 5);
    fct_session_free(session);
    fct_model_free(model);
}

static void every_answer_of_q4_is_that_of_a_cold_run(void **state) {
    (void)state;
    converse("q4", (fct_session_options){.context = CONTEXT, .batch = 16});
}

static void every_answer_in_float_is_that_of_a_cold_run(void **state) {
    (void)state;
    converse("f32", (fct_session_options){.context = CONTEXT, .batch = 7, .kv = FCT_KV_F32});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_answer_of_q4_is_that_of_a_cold_run),
        cmocka_unit_test(every_answer_in_float_is_that_of_a_cold_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
