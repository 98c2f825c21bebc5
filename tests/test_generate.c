/* test_generate.c - the loop that answers: ends, limits, stop strings, streams, and what the demo
 * knows. */
#include "demo_session.h"

#include <jansson.h>

#include "rounds.h"

static int set_up(void **state) {
    (void)state;
    return open_demo(256);
}

static int *prompt_of(const char *question, int *n) {
    fct_error err = {0};
    char request[512];
    int *ids;
    snprintf(request, sizeof request,
             "{\"messages\": [{\"role\": \"user\", \"content\": \"%s\"}], \"kwargs\": "
             "{\"add_generation_prompt\": true}}",
             question);
    MUST(fct_chat_render(demo, request, strlen(request), false, NULL, NULL, &ids, n, &err));
    return ids;
}

static fct_generate_options greedy(void) {
    return (fct_generate_options){.sampling = {.top_p = 1, .repeat_penalty = 1}};
}

/* What the callback was told. */
struct heard {
    char text[1024];
    size_t size;
    int n_ids, ids[128], cancel_after;
};
static bool hear(void *user, int id, const char *text, size_t n_bytes) {
    struct heard *h = user;
    memcpy(h->text + h->size, text, n_bytes);
    h->size += n_bytes;
    h->text[h->size] = 0;
    if (id >= 0) h->ids[h->n_ids++] = id;
    return !h->cancel_after || h->n_ids < h->cancel_after;
}

static void answer(const char *question, const fct_generate_options *options, fct_generation *out) {
    fct_error err = {0};
    int n, *ids = prompt_of(question, &n);
    MUST(fct_generate(session, ids, n, options, out, &err));
    fct_free(ids);
}

static void the_capital_of_france_is_paris(void **state) {
    (void)state;
    struct heard heard = {.size = 0};
    fct_generate_options options = greedy();
    options.token = hear, options.user = &heard;
    fct_generation out;
    answer("The capital of France is", &options, &out);
    assert_string_equal(out.text, "The capital of France is **Paris**.");
    assert_string_equal(heard.text, out.text);
    assert_int_equal(heard.n_ids, out.n_ids);
    assert_memory_equal(heard.ids, out.ids, sizeof(int) * (size_t)out.n_ids);
    assert_int_equal(out.reason, FCT_REASON_END);
    assert_true(fct_is_end_id(demo, out.ids[out.n_ids - 1]));
    assert_int_equal(out.n_prompt, 14);
    assert_int_equal(out.n_decoded, out.n_ids - 1);
    fct_generation_free(&out);
}

static void a_limit_ends_with_length(void **state) {
    (void)state;
    fct_generate_options options = greedy();
    options.max_tokens = 3;
    fct_generation out;
    answer("The capital of France is", &options, &out);
    assert_int_equal(out.n_ids, 3);
    assert_int_equal(out.reason, FCT_REASON_LENGTH);
    assert_int_equal(out.n_decoded, 2);
    fct_generation_free(&out);
}

static void an_answer_without_end_stops_at_the_context(void **state) {
    (void)state;
    fct_error err = {0};
    fct_session *small = made_session(demo, &(fct_session_options){.context = 40});
    fct_generate_options options = greedy();
    options.ignore_end = true;
    fct_generation out;
    int n, *ids = prompt_of("The capital of France is", &n);
    MUST(fct_generate(small, ids, n, &options, &out, &err));
    assert_int_equal(out.reason, FCT_REASON_CONTEXT);
    assert_int_equal(out.n_ids, 40 - n + 1);
    fct_generation_free(&out);
    fct_free(ids);
    fct_session_free(small);
}

/* Stop strings lie across tokens, and are no part of the answer, streamed or not. */
static void stop_strings_end_the_answer_wherever_they_lie(void **state) {
    (void)state;
    static const struct {
        const char *stop, *text;
    } cases[] = {
        {"capital of", "The "},
        {" of France", "The capital"},
        {"**Paris**", "The capital of France is "},
        {"T", ""},
        {"s **P", "The capital of France i"},
        {".", "The capital of France is **Paris**"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct heard heard = {.size = 0};
        const char *stops[] = {"no such thing", cases[i].stop};
        fct_generate_options options = greedy();
        options.token = hear, options.user = &heard, options.stops = stops, options.n_stops = 2;
        fct_generation out;
        answer("The capital of France is", &options, &out);
        assert_string_equal(out.text, cases[i].text);
        assert_string_equal(heard.text, cases[i].text);
        assert_int_equal(out.reason, FCT_REASON_STOP);
        fct_generation_free(&out);
    }
}

static void the_earliest_of_several_stops_counts(void **state) {
    (void)state;
    const char *stops[] = {"France", "of France", "capital of F"};
    fct_generate_options options = greedy();
    options.stops = stops, options.n_stops = 3;
    fct_generation out;
    answer("The capital of France is", &options, &out);
    assert_string_equal(out.text, "The ");
    fct_generation_free(&out);
}

/* What only looked like a stop string is said in the end. */
static void a_stop_that_never_comes_costs_no_text(void **state) {
    (void)state;
    struct heard heard = {.size = 0};
    const char *stops[] = {"**Paris**. And more", "is **Lyon"};
    fct_generate_options options = greedy();
    options.token = hear, options.user = &heard, options.stops = stops, options.n_stops = 2;
    fct_generation out;
    answer("The capital of France is", &options, &out);
    assert_string_equal(out.text, "The capital of France is **Paris**.");
    assert_string_equal(heard.text, out.text);
    assert_int_equal(out.reason, FCT_REASON_END);
    fct_generation_free(&out);
}

static void a_callback_can_cancel_and_the_session_goes_on(void **state) {
    (void)state;
    struct heard heard = {.cancel_after = 3};
    fct_generate_options options = greedy();
    options.token = hear, options.user = &heard;
    fct_generation out;
    answer("The capital of France is", &options, &out);
    assert_int_equal(out.reason, FCT_REASON_CANCELLED);
    assert_int_equal(out.n_ids, 3);
    fct_generation_free(&out);
    the_capital_of_france_is_paris(state);
}

static void the_same_request_again_is_the_same_bytes(void **state) {
    (void)state;
    fct_generate_options options = greedy();
    fct_generation first, again;
    answer("Which continent is Peru in?", &options, &first);
    for (int i = 0; i < 2; i++) {
        answer("Which continent is Peru in?", &options, &again);
        assert_int_equal(again.n_ids, first.n_ids);
        assert_memory_equal(again.ids, first.ids, sizeof(int) * (size_t)first.n_ids);
        assert_true(again.n_reused >= again.n_prompt - 1);
        fct_generation_free(&again);
    }
    fct_generation_free(&first);
}

static void a_seed_repeats_a_sampled_answer(void **state) {
    (void)state;
    fct_generate_options options = fct_generate_defaults(demo);
    assert_true(options.sampling.temperature == 1 && options.sampling.top_k == 64);
    options.sampling.temperature = 3;
    options.sampling.seed = 11;
    fct_generation first, again;
    answer("Hello", &options, &first);
    answer("Hello", &options, &again);
    assert_int_equal(first.seed, 11);
    assert_string_equal(first.text, again.text);
    fct_generation_free(&first);
    fct_generation_free(&again);
}

static void nonsense_is_refused(void **state) {
    (void)state;
    fct_error err = {0};
    int ids[2] = {2, 1 << 20};
    fct_generation out;
    fct_generate_options options = greedy();
    assert_int_equal(fct_generate(session, ids, 2, &options, &out, &err), FCT_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "1048576"));
    options.max_tokens = -1;
    assert_int_equal(fct_generate(session, ids, 1, &options, &out, &err), FCT_ERR_ARGUMENT);
}

static int *ids_of(const json_t *list, int *n) {
    int *ids = malloc(sizeof *ids * (json_array_size(list) + 1));
    *n = (int)json_array_size(list);
    for (int i = 0; i < *n; i++) ids[i] = (int)json_integer_value(json_array_get(list, (size_t)i));
    return ids;
}

/* One entry of `every` through the chat format, the conversations turn by turn in one
 * session. */
static void answer_expected(const fct_model *model, size_t every) {
    fct_error err = {0};
    json_error_t fault;
    json_t *file = json_load_file(TEST_DATA "/demo/expected.json", 0, &fault), *entry;
    size_t i;
    fct_session *s = made_session(model, &(fct_session_options){.context = 256});
    assert_int_equal(json_array_size(json_object_get(file, "entries")), 80);
    json_array_foreach(json_object_get(file, "entries"), i, entry) {
        if (i % every) continue;
        json_t *request =
            json_pack("{s:O, s:{s:b}}", "messages", json_object_get(entry, "messages"), "kwargs",
                      "add_generation_prompt", 1);
        char *text = json_dumps(request, 0);
        int n_ids, n_prompt, n_answer, *ids,
            *prompt = ids_of(json_object_get(entry, "prompt_ids"), &n_prompt),
            *wanted = ids_of(json_object_get(entry, "answer_ids"), &n_answer);
        MUST(fct_chat_render(model, text, strlen(text), false, NULL, NULL, &ids, &n_ids, &err));
        assert_int_equal(n_ids, n_prompt);
        assert_memory_equal(ids, prompt, sizeof(int) * (size_t)n_ids);
        fct_generate_options options = greedy();
        fct_generation out;
        MUST(fct_generate(s, ids, n_ids, &options, &out, &err));
        assert_int_equal(out.n_ids, n_answer);
        assert_memory_equal(out.ids, wanted, sizeof(int) * (size_t)n_answer);
        assert_string_equal(out.text, json_string_value(json_object_get(entry, "answer")));
        fct_generation_free(&out);
        fct_free(ids);
        free(prompt);
        free(wanted);
        free(text);
        json_decref(request);
    }
    fct_session_free(s);
    json_decref(file);
}

static void the_demo_gives_all_expected_answers_in_every_scheme(void **state) {
    (void)state;
    static const char *const schemes[] = {"f32", "q8", "q4", "q4-g64", "q4-g128"};
    answer_expected(demo, 1);
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        fct_model *model = made_model(TEST_DATA "/demo/checkpoint", schemes[i], NULL);
        answer_expected(model, ROUNDS_PART);
        fct_model_free(model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_capital_of_france_is_paris),
        cmocka_unit_test(a_limit_ends_with_length),
        cmocka_unit_test(an_answer_without_end_stops_at_the_context),
        cmocka_unit_test(stop_strings_end_the_answer_wherever_they_lie),
        cmocka_unit_test(the_earliest_of_several_stops_counts),
        cmocka_unit_test(a_stop_that_never_comes_costs_no_text),
        cmocka_unit_test(a_callback_can_cancel_and_the_session_goes_on),
        cmocka_unit_test(the_same_request_again_is_the_same_bytes),
        cmocka_unit_test(a_seed_repeats_a_sampled_answer),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(the_demo_gives_all_expected_answers_in_every_scheme),
    };
    return cmocka_run_group_tests(tests, set_up, close_demo);
}
