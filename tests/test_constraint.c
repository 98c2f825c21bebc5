/* test_constraint.c - answers held to a form: whatever the model wants to say, what comes
 * validates; what is valid anyway comes unchanged. Fault F61. */
#include "demo_session.h"
#include "rounds.h"
#include "schema_check.h"

#include "base/memory.h"
#include "engine/generate.h"

enum { MOST = 400, N_SEEDS = 12 };

static int set_up(void **state) {
    (void)state;
    return open_demo(2048);
}

static fct_constraint *constraint_of(const char *schema) {
    fct_error err = {0};
    fct_constraint *constraint = schema ? fct_constraint_schema(demo, schema, strlen(schema), &err)
                                        : fct_constraint_json(demo, &err);
    if (!constraint) fail_msg("%s: %s", schema, err.message);
    return constraint;
}

static fct_generate_options greedy(const fct_constraint *constraint) {
    return (fct_generate_options){.sampling = {.top_p = 1, .repeat_penalty = 1},
                                  .constraint = constraint};
}

/* ---- a model that wants to say something ---- */

struct script {
    int ids[MOST], n;
};

static int next_of(void *user, int n_chosen) {
    const struct script *script = user;
    return script->ids[n_chosen < script->n ? n_chosen : script->n - 1];
}

static struct script wants(const char *text) {
    fct_error err = {0};
    struct script script = {.n = 0};
    int *ids;
    MUST(fct_tokenize(demo, text, strlen(text), FCT_TOKENIZE_CONTROL, &ids, &script.n, NULL, &err));
    assert_true(script.n > 0 && script.n <= MOST);
    memcpy(script.ids, ids, sizeof(int) * (size_t)script.n);
    fct_free(ids);
    return script;
}

static int control(const char *name) {
    struct script script = wants(name);
    assert_int_equal(script.n, 1);
    return script.ids[0];
}

/* Answers a question as the demo, which wants to say `text` (NULL: what it really would). */
static void answer(const char *text, bool think, const fct_generate_options *options,
                   fct_generation *out) {
    fct_error err = {0};
    char request[300];
    struct script script;
    int *ids, n;
    if (text) script = wants(text);
    const struct fct_chooser chooser = {next_of, &script};
    snprintf(request, sizeof request,
             "{\"messages\": [{\"role\": \"user\", \"content\": \"The capital of France is\"}],"
             " \"kwargs\": {\"add_generation_prompt\": true, \"enable_thinking\": %s}}",
             think ? "true" : "false");
    MUST(fct_chat_render(demo, request, strlen(request), false, NULL, NULL, &ids, &n, &err));
    MUST(fct_generate_chosen(session, ids, n, options, text ? &chooser : NULL, out, &err));
    fct_free(ids);
}

static void check_valid(const char *schema, const fct_generation *out) {
    json_error_t fault;
    json_t *value = json_loadb(out->text, out->n_bytes, JSON_DECODE_ANY | JSON_ALLOW_NUL, &fault);
    if (!value) fail_msg("no JSON: %s: %s", out->text, fault.text);
    json_t *read = json_loads(schema ? schema : "{}", 0, &fault);
    assert_non_null(read);
    if (!fits(value, read, read)) fail_msg("%s does not fit %s", out->text, schema);
    json_decref(read);
    json_decref(value);
}

/* ---- F61 ---- */

static const char number_schema[] = "{\"type\": \"object\", \"properties\": {\"n\": {\"type\": "
                                    "\"integer\"}}, \"required\": [\"n\"],"
                                    " \"additionalProperties\": false}";

static void a_model_that_wants_to_write_prose_writes_json(void **state) {
    (void)state;
    static const char *const prose[] = {
        "Sure! Here is the JSON you asked for:\n```json\n{\"n\": 3}\n```<turn|>",
        "The capital of France is **Paris**.<turn|>",
        "{\"n\": \"three\", \"m\": 4}<turn|>",
        "<turn|>",
        "{<turn|>",
        "{\"n\": 12<|tool_call>call:f{}<tool_call|>",
        "<eos>",
        "{\"n\"<|turn>user\n: 1}<turn|>",
    };
    fct_constraint *constraint = constraint_of(number_schema);
    fct_generate_options options = greedy(constraint);
    for (size_t i = 0; i < sizeof prose / sizeof *prose; i++) {
        fct_generation out;
        answer(prose[i], false, &options, &out);
        assert_int_equal(out.reason, FCT_REASON_END);
        assert_true(out.complete);
        assert_null(out.calls);
        check_valid(number_schema, &out);
        fct_generation_free(&out);
    }
    fct_constraint_free(constraint);
}

static void a_schema_beyond_the_subset_is_no_constraint(void **state) {
    (void)state;
    static const char schema[] =
        "{\"type\": \"object\", \"properties\": {\"n\": {\"type\": \"string\","
        " \"pattern\": \"^a\"}}}";
    fct_error err = {0};
    assert_null(fct_constraint_schema(demo, schema, strlen(schema), &err));
    assert_int_equal(err.code, FCT_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.message, "'pattern'"));
    assert_non_null(strstr(err.message, "#/properties/n"));
}

/* ---- what is valid anyway ---- */

static void what_is_valid_comes_as_the_model_wants_it(void **state) {
    (void)state;
    static const struct {
        const char *schema, *text;
    } cases[] = {
        {NULL, "{\"a\": [1, 2.5e3, true, null], \"b\": {\"c\": \"d\\n\\u00e9\"}}<turn|>"},
        {NULL, "\n\n  [\n    {\"x\":\t-1}\n  ]\n<turn|>"},
        {NULL, "\"na\xC3\xAFve \xE6\xBC\xA2 \xF0\x9F\x98\x80 \\ud83d\\ude00\"<turn|>"},
        {NULL, "12<eos>"},
        {number_schema, "{ \"\\u006e\" : -12 }<turn|>"},
        {"{\"type\": \"object\", \"properties\": {\"a\": {}, \"b\": {\"enum\": [\"x y\", "
         "\"xz\"]}}}",
         "{\"b\":\"x y\",\"c\":[],\"a\":\"b\"}<turn|>"},
        {"{\"anyOf\": [{\"type\": \"array\", \"items\": {\"type\": \"integer\"}}, {\"type\": "
         "\"array\","
         " \"items\": {\"type\": [\"string\", \"integer\"]}, \"minItems\": 2}]}",
         "[1, 2, \"3\"]<turn|>"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fct_constraint *constraint = constraint_of(cases[i].schema);
        fct_generate_options options = greedy(constraint), free_options = greedy(NULL);
        fct_generation held, unheld;
        answer(cases[i].text, false, &options, &held);
        answer(cases[i].text, false, &free_options, &unheld);
        assert_int_equal(held.n_ids, unheld.n_ids);
        assert_memory_equal(held.ids, unheld.ids, sizeof(int) * (size_t)held.n_ids);
        assert_string_equal(held.text, unheld.text);
        fct_generation_free(&unheld);
        check_valid(cases[i].schema, &held);
        fct_generation_free(&held);
        fct_constraint_free(constraint);
    }
}

/* Greedily, an id other than the likeliest is taken only where that one was not allowed: told by
 * giving the model its own likeliest id again and again and looking where the answer leaves it. */
static void greedy_departs_only_from_what_is_not_allowed(void **state) {
    (void)state;
    fct_error err = {0};
    static const char schema[] = "{\"type\": \"string\", \"minLength\": 15, \"maxLength\": 30}";
    fct_constraint *constraint = constraint_of(schema);
    fct_generate_options options = greedy(constraint);
    fct_generation out;
    int n, *ids;
    static const char request[] = "{\"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}],"
                                  " \"kwargs\": {\"add_generation_prompt\": true}}";
    MUST(fct_chat_render(demo, request, strlen(request), false, NULL, NULL, &ids, &n, &err));
    MUST(fct_generate(session, ids, n, &options, &out, &err));
    check_valid(schema, &out);
    int *all = calloc((size_t)(n + out.n_ids), sizeof *all), n_kept = 0,
        vocab_size = fct_model_describe(demo).vocab_size;
    memcpy(all, ids, sizeof(int) * (size_t)n);
    for (int i = 0; i < out.n_ids; i++) {
        MUST(fct_session_prefill(session, all, n + i, &err));
        const float *logits = fct_session_logits(session);
        int best = 0;
        for (int id = 1; id < vocab_size; id++)
            if (logits[id] > logits[best]) best = id;
        n_kept += best == out.ids[i];
        if (best != out.ids[i]) {
            /* The same beginning, then the likeliest: it is not what comes next. */
            fct_generation again;
            struct script script = {.n = i + 1};
            memcpy(script.ids, out.ids, sizeof(int) * (size_t)i);
            script.ids[i] = best;
            const struct fct_chooser chooser = {next_of, &script};
            options.max_tokens = i + 1;
            MUST(fct_generate_chosen(session, ids, n, &options, &chooser, &again, &err));
            assert_int_equal(again.ids[i], out.ids[i]);
            fct_generation_free(&again);
        }
        all[n + i] = out.ids[i];
    }
    assert_true(n_kept > 0 && n_kept < out.n_ids);
    free(all);
    fct_free(ids);
    fct_generation_free(&out);
    fct_constraint_free(constraint);
}

/* ---- chance ---- */

static const char *const schemas[] = {
    NULL,
    number_schema,
    "{\"type\": \"array\", \"items\": {\"type\": \"integer\", \"minimum\": -5, \"maximum\": 300},"
    " \"minItems\": 2, \"maxItems\": 5}",
    "{\"type\": \"object\", \"properties\": {\"name\": {\"type\": \"string\", \"minLength\": 3,"
    " \"maxLength\": 12}, \"mood\": {\"enum\": [\"good\", \"goodish\", \"b\\u00e4d\", null, 7]}, "
    "\"p\":"
    " {\"type\": \"number\", \"exclusiveMinimum\": 0, \"maximum\": 1}}, \"required\": [\"p\", "
    "\"name\"],"
    " \"additionalProperties\": {\"type\": \"boolean\"}}",
    "{\"anyOf\": [{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"string\", "
    "\"maxLength\":"
    " 4}}, \"required\": [\"a\"], \"additionalProperties\": false}, {\"type\": \"object\","
    " \"properties\": {\"a\": {\"type\": \"integer\"}, \"b\": {\"type\": \"null\"}}, \"required\": "
    "[\"a\","
    " \"b\"]}]}",
    "{\"oneOf\": [{\"const\": \"yes\"}, {\"type\": \"string\", \"minLength\": 5, \"maxLength\": 9},"
    " {\"type\": \"array\", \"prefixItems\": [{\"type\": \"boolean\"}], \"items\": false}]}",
    "{\"$ref\": \"#/$defs/tree\", \"$defs\": {\"tree\": {\"type\": \"object\", \"properties\": "
    "{\"v\":"
    " {\"type\": \"integer\", \"minimum\": 0}, \"l\": {\"$ref\": \"#/$defs/tree\"}, \"r\": "
    "{\"anyOf\":"
    " [{\"type\": \"null\"}, {\"$ref\": \"#/$defs/tree\"}]}}, \"required\": [\"v\"],"
    " \"additionalProperties\": false}}}",
    "{\"type\": [\"string\", \"number\", \"null\"]}",
};

static void chance_never_leaves_the_schema(void **state) {
    (void)state;
    int n_complete = 0, n_answers = 0;
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
        fct_constraint *constraint = constraint_of(schemas[i]);
        for (uint64_t seed = N_SEEDS; seed > N_SEEDS - ROUNDS(N_SEEDS); seed--) {
            fct_generate_options options = greedy(constraint);
            options.sampling.temperature = 2;
            options.sampling.seed = seed;
            options.sampling.top_k = seed % 3 == 0 ? 20 : 0;
            options.sampling.top_p = seed % 4 == 0 ? 0.9f : 1;
            options.max_tokens = 300;
            fct_generation out;
            answer(NULL, false, &options, &out);
            assert_true(out.reason == FCT_REASON_END || out.reason == FCT_REASON_LENGTH);
            if (out.reason == FCT_REASON_END) assert_true(out.complete);
            if (out.complete) check_valid(schemas[i], &out);
            n_complete += out.complete;
            n_answers++;
            fct_generation_free(&out);
        }
        fct_constraint_free(constraint);
    }
    assert_true(n_complete > n_answers * 6 / 10);
}

/* ---- ends ---- */

static void an_answer_that_is_cut_off_says_so(void **state) {
    (void)state;
    fct_constraint *constraint = constraint_of(number_schema);
    fct_generate_options options = greedy(constraint);
    fct_generation out;
    options.max_tokens = 3;
    answer("{\"n\": 12345}<turn|>", false, &options, &out);
    assert_int_equal(out.reason, FCT_REASON_LENGTH);
    assert_false(out.complete);
    fct_generation_free(&out);
    /* All of it, but for the end: that is complete. */
    options.max_tokens = wants("{\"n\": 12345}").n;
    answer("{\"n\": 12345}<turn|>", false, &options, &out);
    assert_int_equal(out.reason, FCT_REASON_LENGTH);
    assert_true(out.complete);
    assert_string_equal(out.text, "{\"n\": 12345}");
    fct_generation_free(&out);
    const char *stop = "34";
    options.max_tokens = 0;
    options.stops = &stop, options.n_stops = 1;
    answer("{\"n\": 12345}<turn|>", false, &options, &out);
    assert_int_equal(out.reason, FCT_REASON_STOP);
    assert_false(out.complete);
    fct_generation_free(&out);
    fct_constraint_free(constraint);
}

static void without_a_constraint_nothing_is_called_complete(void **state) {
    (void)state;
    fct_generate_options options = greedy(NULL);
    fct_generation out;
    answer("{}<turn|>", false, &options, &out);
    assert_false(out.complete);
    fct_generation_free(&out);
}

/* Behind a whole value a model may go on with white space, but not for ever, and with nothing else.
 * */
static void behind_the_value_comes_the_end(void **state) {
    (void)state;
    fct_constraint *constraint = constraint_of(number_schema);
    fct_generate_options options = greedy(constraint);
    fct_generation out;
    answer("{\"n\": 1}\n\n\n\n\n\n\n\n\n\n and more", false, &options, &out);
    assert_int_equal(out.reason, FCT_REASON_END);
    assert_string_equal(out.text, "{\"n\": 1}");
    fct_generation_free(&out);
    fct_constraint_free(constraint);
}

/* ---- thoughts ---- */

static void a_thought_is_free_and_the_content_held(void **state) {
    (void)state;
    fct_constraint *constraint = constraint_of(number_schema);
    fct_generate_options options = greedy(constraint);
    fct_generation out;
    answer("<|channel>thought\nFrance? {1, 2, Paris}.<channel|>\n{\"n\": 4}<turn|>", true, &options,
           &out);
    assert_string_equal(out.thought, "France? {1, 2, Paris}.");
    assert_string_equal(out.text, "{\"n\": 4}");
    assert_int_equal(out.reason, FCT_REASON_END);
    fct_generation_free(&out);
    /* An end within the thought would leave no content. */
    options.max_tokens = 60;
    answer("<|channel>thought\nHm<turn|>", true, &options, &out);
    assert_true(out.complete || out.reason == FCT_REASON_LENGTH);
    assert_true(out.n_ids > wants("<|channel>thought\nHm<turn|>").n);
    fct_generation_free(&out);
    options.max_tokens = 0;
    options.max_thought = 12;
    answer("<|channel>thought\nHm hm hm hm hm hm hm hm hm hm hm hm hm hm hm hm", true, &options,
           &out);
    assert_int_equal(out.reason, FCT_REASON_END);
    assert_true(out.complete && out.thought);
    check_valid(number_schema, &out);
    fct_generation_free(&out);
    /* Another channel's name would be content. */
    answer("<|channel>final\nIt is {\"n\": 4}", true, &options, &out);
    assert_true(out.complete);
    check_valid(number_schema, &out);
    fct_generation_free(&out);
    fct_constraint_free(constraint);
}

static void no_thought_comes_once_the_content_has_begun(void **state) {
    (void)state;
    fct_constraint *constraint = constraint_of(number_schema);
    fct_generate_options options = greedy(constraint);
    fct_generation out;
    int open = control("<|channel>");
    answer("{\"n\": <|channel>thought\nHm<channel|>4}<turn|>", true, &options, &out);
    assert_null(out.thought);
    for (int i = 0; i < out.n_ids; i++) assert_int_not_equal(out.ids[i], open);
    check_valid(number_schema, &out);
    fct_generation_free(&out);
    fct_constraint_free(constraint);
}

/* Text that is no conversation has no thoughts: their markers are not allowed at all. */
static void raw_text_is_held_from_its_first_token(void **state) {
    (void)state;
    fct_error err = {0};
    fct_constraint *constraint = constraint_of(number_schema);
    fct_generate_options options = greedy(constraint);
    options.raw = true;
    fct_generation out;
    struct script script = wants("<|channel>thought\nHm<channel|>Paris");
    const struct fct_chooser chooser = {next_of, &script};
    int prompt[] = {2, 277};
    MUST(fct_generate_chosen(session, prompt, 2, &options, &chooser, &out, &err));
    assert_int_equal(out.reason, FCT_REASON_END);
    check_valid(number_schema, &out);
    fct_generation_free(&out);
    fct_constraint_free(constraint);
}

/* ---- the rest ---- */

static void a_constraint_belongs_to_its_model(void **state) {
    (void)state;
    fct_error err = {0};
    fct_model *other = fct_model_open(NULL, NULL, &err);
    fct_constraint *constraint = fct_constraint_json(other, &err);
    fct_generate_options options = greedy(constraint);
    fct_generation out;
    int id = 2;
    assert_int_equal(fct_generate(session, &id, 1, &options, &out, &err), FCT_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "another model"));
    fct_constraint_free(constraint);
    fct_model_free(other);
}

static void a_model_without_tokenizer_has_no_constraints(void **state) {
    (void)state;
    fct_error err = {0};
    fct_model *model = made_model("dense", "f32", NULL);
    assert_false(fct_model_describe(model).has_tokenizer);
    assert_null(fct_constraint_json(model, &err));
    assert_non_null(strstr(err.message, "no tokenizer"));
    fct_model_free(model);
}

static void biases_that_forbid_everything_are_an_error(void **state) {
    (void)state;
    fct_error err = {0};
    enum { VOCABULARY = 4096 };
    static int ids[VOCABULARY];
    static float values[VOCABULARY];
    int vocab_size = fct_model_describe(demo).vocab_size, prompt[] = {2, 277};
    assert_true(vocab_size <= VOCABULARY);
    for (int i = 0; i < vocab_size; i++) ids[i] = i, values[i] = -(float)INFINITY;
    fct_constraint *constraint = constraint_of(number_schema);
    fct_generate_options options = greedy(constraint);
    options.sampling.bias_ids = ids, options.sampling.bias_values = values;
    options.sampling.n_biases = vocab_size;
    options.sampling.temperature = 1;
    fct_generation out;
    assert_int_equal(fct_generate(session, prompt, 2, &options, &out, &err), FCT_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.message, "no token is left"));
    fct_constraint_free(constraint);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_that_wants_to_write_prose_writes_json),
        cmocka_unit_test(a_schema_beyond_the_subset_is_no_constraint),
        cmocka_unit_test(what_is_valid_comes_as_the_model_wants_it),
        cmocka_unit_test(greedy_departs_only_from_what_is_not_allowed),
        cmocka_unit_test(chance_never_leaves_the_schema),
        cmocka_unit_test(an_answer_that_is_cut_off_says_so),
        cmocka_unit_test(without_a_constraint_nothing_is_called_complete),
        cmocka_unit_test(behind_the_value_comes_the_end),
        cmocka_unit_test(a_thought_is_free_and_the_content_held),
        cmocka_unit_test(no_thought_comes_once_the_content_has_begun),
        cmocka_unit_test(raw_text_is_held_from_its_first_token),
        cmocka_unit_test(a_constraint_belongs_to_its_model),
        cmocka_unit_test(a_model_without_tokenizer_has_no_constraints),
        cmocka_unit_test(biases_that_forbid_everything_are_an_error),
    };
    return cmocka_run_group_tests(tests, set_up, close_demo);
}
