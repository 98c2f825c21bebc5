/* test_answer_parts.c - what is heard of an answer while it is made: thoughts, content and calls,
 * with ids that a script chooses. Faults F14, F18, F36, F48 and F49 among others. */
#include "demo_session.h"

#include "engine/generate.h"

enum { MOST = 400 };

static int set_up(void **state) {
    (void)state;
    return open_demo(512);
}

/* ---- a model that says what it is told to ---- */

struct script {
    int ids[MOST], n;
    bool repeats; /* the last id, for ever */
};

static int next_of(void *user, int n_chosen) {
    const struct script *script = user;
    if (n_chosen < script->n) return script->ids[n_chosen];
    if (!script->repeats) fail_msg("an id was asked for behind the end");
    return script->ids[script->n - 1];
}

static struct script says(const char *text) {
    fct_error err = {0};
    struct script script = {.n = 0};
    int *ids;
    MUST(fct_tokenize(demo, text, strlen(text), FCT_TOKENIZE_CONTROL, &ids, &script.n, NULL, &err));
    assert_true(script.n <= MOST);
    memcpy(script.ids, ids, sizeof(int) * (size_t)script.n);
    fct_free(ids);
    return script;
}

static int control(const char *name) {
    struct script script = says(name);
    assert_int_equal(script.n, 1);
    return script.ids[0];
}

/* ---- what is heard ---- */

struct heard {
    char content[4096], thought[4096], calls[4096];
    size_t n_content, n_thought, n_calls;
    int n_ids, n_with_text, cancel_after, n_readings, cancel_reading;
};

static void add(char *to, size_t *size, const char *text, size_t n_bytes) {
    assert_true(*size + n_bytes < 4096);
    assert_null(memmem(text, n_bytes, "\xEF\xBF\xBD", 3)); /* no half characters */
    memcpy(to + *size, text, n_bytes);
    *size += n_bytes;
    to[*size] = 0;
}

static bool hear_token(void *user, int id, const char *text, size_t n_bytes) {
    struct heard *heard = user;
    add(heard->content, &heard->n_content, text, n_bytes);
    heard->n_ids += id >= 0;
    heard->n_with_text += n_bytes > 0;
    return !heard->cancel_after || heard->n_ids < heard->cancel_after;
}

static bool hear_thought(void *user, const char *text, size_t n_bytes) {
    struct heard *heard = user;
    add(heard->thought, &heard->n_thought, text, n_bytes);
    return true;
}

static bool hear_call(void *user, const char *name, const char *arguments, size_t n_bytes) {
    struct heard *heard = user;
    add(heard->calls, &heard->n_calls, name, strlen(name));
    add(heard->calls, &heard->n_calls, arguments, n_bytes);
    return true;
}

static bool hear_reading(void *user, int n_done, int n_total) {
    struct heard *heard = user;
    assert_true(n_done >= 0 && n_done < n_total);
    heard->n_readings++;
    return heard->n_readings != heard->cancel_reading;
}

static fct_generate_options listening(struct heard *heard) {
    *heard = (struct heard){.n_content = 0};
    return (fct_generate_options){.sampling = {.top_p = 1, .repeat_penalty = 1},
                                  .token = hear_token,
                                  .thought = hear_thought,
                                  .call = hear_call,
                                  .user = heard};
}

static void play(const char *prompt, struct script *script, const fct_generate_options *options,
                 fct_generation *out) {
    fct_error err = {0};
    const struct fct_chooser chooser = {next_of, script};
    int *ids, n;
    MUST(fct_tokenize(demo, prompt, strlen(prompt), FCT_TOKENIZE_CONTROL, &ids, &n, NULL, &err));
    MUST(fct_generate_chosen(session, ids, n, options, &chooser, out, &err));
    fct_free(ids);
}

#define PROMPT "<bos><|turn>user\nHi<turn|>\n<|turn>model\n"

/* Plays at most `most` ids of the script: what was heard, joined, is what came out. */
static void check_heard(const char *prompt, struct script *script, int most, struct heard *heard) {
    fct_generation out;
    fct_generate_options options = listening(heard);
    options.max_tokens = most;
    play(prompt, script, &options, &out);
    assert_int_equal(heard->n_ids, out.n_ids);
    assert_string_equal(heard->content, out.text);
    assert_string_equal(heard->thought, out.thought ? out.thought : "");
    fct_generation_free(&out);
}

static void check_whole(const char *prompt, const char *text, const char *content,
                        const char *thought, const char *calls) {
    struct script script = says(text);
    struct heard heard;
    check_heard(prompt, &script, script.n, &heard);
    assert_string_equal(heard.content, content);
    assert_string_equal(heard.thought, thought);
    assert_string_equal(heard.calls, calls);
}

/* Also cut after every id. */
static void check_every_cut(const char *prompt, const char *text, const char *content,
                            const char *thought) {
    struct script script = says(text);
    check_whole(prompt, text, content, thought, "");
    for (int cut = 1; cut < script.n; cut++) {
        struct heard heard;
        check_heard(prompt, &script, cut, &heard);
        assert_memory_equal(heard.content, content, heard.n_content);
        assert_memory_equal(heard.thought, thought, heard.n_thought);
    }
}

static void no_piece_of_a_marker_is_heard(void **state) {
    (void)state;
    check_every_cut(PROMPT, "<|channel>thought\nHm,  two\nlines.\n<channel|>\nThe answer.<turn|>",
                    "The answer.", "Hm,  two\nlines.");
    check_every_cut(PROMPT,
                    "A<|channel>thought\none<channel|>B<|channel>thought\ntwo<channel|>C<eos>",
                    "ABC", "one\ntwo");
    check_every_cut(PROMPT, "No thought  at all.<turn|>", "No thought  at all.", "");
}

/* With thinking on, a prompt behind a tool's response ends in an open thought. */
static void a_thought_that_the_prompt_opened_is_a_thought(void **state) {
    (void)state;
    check_every_cut(PROMPT "<|channel>thought\n", "Still thinking.<channel|>Done.<turn|>", "Done.",
                    "Still thinking.");
    check_every_cut(PROMPT "The beginning is the prompt's,", " the end is ours.<turn|>",
                    " the end is ours.", "");
}

static void calls_are_heard_when_they_are_complete(void **state) {
    (void)state;
    check_whole(PROMPT,
                "Let me see.<|tool_call>call:put{path:<|\"|>a}b.txt<|\"|>,n:-3.5e2,ok:true,"
                "o:{k:[1,null]}}<tool_call|><|tool_response>",
                "Let me see.", "",
                "put{\"path\":\"a}b.txt\",\"n\":-3.5e2,\"ok\":true,"
                "\"o\":{\"k\":[1,null]}}");
}

/* F18: the model that waits for a result is not asked to go on. */
static void a_call_ends_at_the_response_it_waits_for(void **state) {
    (void)state;
    struct script script = says("<|tool_call>call:now{}<tool_call|><|tool_response>");
    struct heard heard;
    fct_generation out;
    fct_generate_options options = listening(&heard);
    script.repeats = true;
    play(PROMPT, &script, &options, &out);
    assert_int_equal(out.reason, FCT_REASON_END);
    assert_int_equal(out.n_ids, script.n);
    assert_string_equal(out.text, "");
    assert_string_equal(
        out.calls, "[{\"type\":\"function\",\"function\":{\"name\":\"now\",\"arguments\":{}}}]");
    fct_generation_free(&out);
}

static void a_broken_call_is_text_with_a_warning(void **state) {
    (void)state;
    struct script script = says("<|tool_call>call:now{a:<tool_call|>.<turn|>");
    struct heard heard;
    fct_generation out;
    fct_generate_options options = listening(&heard);
    play(PROMPT, &script, &options, &out);
    assert_string_equal(out.text, "call:now{a:.");
    assert_string_equal(heard.content, out.text);
    assert_null(out.calls);
    assert_non_null(strstr(out.warning, "kept as content"));
    fct_generation_free(&out);
}

/* F36 */
static void an_answer_without_end_stops_at_the_context(void **state) {
    (void)state;
    struct script script = {.ids = {control("<unk>")}, .n = 1, .repeats = true};
    struct heard heard;
    fct_generation out;
    fct_generate_options options = listening(&heard);
    play(PROMPT, &script, &options, &out);
    assert_int_equal(out.reason, FCT_REASON_CONTEXT);
    assert_int_equal(out.n_ids, 512 - out.n_prompt + 1);
    assert_int_equal(heard.n_ids, out.n_ids);
    fct_generation_free(&out);
    for (int after = 1; after <= 40; after += 13) { /* and at each token it can be interrupted */
        options = listening(&heard);
        heard.cancel_after = after;
        play(PROMPT, &script, &options, &out);
        assert_int_equal(out.reason, FCT_REASON_CANCELLED);
        assert_int_equal(out.n_ids, after);
        fct_generation_free(&out);
    }
}

/* F48: hear_token fails on U+FFFD; what is no byte of a character waits for nothing. */
static void a_character_of_several_tokens_is_never_cut(void **state) {
    (void)state;
    check_whole(PROMPT, "\U0001B002abc \U0001B002\U0001B002 x<turn|>",
                "\U0001B002abc \U0001B002\U0001B002 x", "", "");
    struct script script = says("one two three four<turn|>");
    struct heard heard;
    fct_generation out;
    fct_generate_options options = listening(&heard);
    play(PROMPT, &script, &options, &out);
    assert_true(heard.n_with_text >= script.n - 2); /* each but the end and trailing white space */
    fct_generation_free(&out);
}

/* F49: stop strings count in the content; what they cut off is never heard. */
static void a_stop_string_ends_the_content_only(void **state) {
    (void)state;
    const char *stops[] = {"coat of"};
    struct script script =
        says("<|channel>thought\nA coat of arms?<channel|>The coat of arms.<turn|>");
    struct heard heard;
    fct_generation out;
    fct_generate_options options = listening(&heard);
    options.stops = stops, options.n_stops = 1;
    play(PROMPT, &script, &options, &out);
    assert_int_equal(out.reason, FCT_REASON_STOP);
    assert_string_equal(out.text, "The ");
    assert_string_equal(heard.content, "The ");
    assert_string_equal(out.thought, "A coat of arms?");
    fct_generation_free(&out);
}

/* F11: old markers are text like any other. */
static void the_name_of_an_old_marker_ends_nothing(void **state) {
    (void)state;
    check_every_cut(PROMPT, "<end_of_turn> is old, and so is <start_of_turn>.<turn|>",
                    "<end_of_turn> is old, and so is <start_of_turn>.", "");
}

/* F19: each of the ends ends. */
static void every_end_ends(void **state) {
    (void)state;
    static const char *const ends[] = {"<turn|>", "<eos>", "<|tool_response>"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char text[64];
        struct heard heard;
        fct_generation out;
        fct_generate_options options = listening(&heard);
        snprintf(text, sizeof text, "Yes.%s", ends[i]);
        struct script script = says(text);
        play(PROMPT, &script, &options, &out);
        assert_int_equal(out.reason, FCT_REASON_END);
        assert_string_equal(out.text, "Yes.");
        fct_generation_free(&out);
    }
}

static void a_thought_is_closed_at_its_budget(void **state) {
    (void)state;
    struct script script =
        says("<|channel>thought\nOne two three four five six<channel|>Yes.<turn|>");
    struct heard heard;
    fct_generation out;
    fct_generate_options options = listening(&heard);
    play(PROMPT, &script, &options, &out);
    int whole = out.n_thought, opening = 0, close = control("<channel|>");
    while (script.ids[opening + whole - 1] != close) opening++;
    fct_generation_free(&out);
    for (int budget = 1; budget <= whole + 1; budget++) {
        options = listening(&heard);
        options.max_thought = budget;
        options.max_tokens = script.n;
        play(PROMPT, &script, &options, &out);
        bool cut = budget < whole - 1;
        assert_int_equal(out.n_thought, cut ? budget + 1 : whole);
        assert_int_equal(out.ids[opening + out.n_thought - 1], close);
        if (!cut) assert_string_equal(out.text, "Yes.");
        fct_generation_free(&out);
    }
}

/* Raw: the text is what the ids say, markers left out. */
static void without_the_chat_format_all_is_text(void **state) {
    (void)state;
    struct script script = says("<|channel>thought\n Hm. <channel|> Yes. <turn|>");
    struct heard heard;
    fct_generation out;
    fct_generate_options options = listening(&heard);
    options.raw = true;
    play("<bos>", &script, &options, &out);
    assert_string_equal(out.text, "thought\n Hm.  Yes. ");
    assert_string_equal(heard.content, out.text);
    assert_null(out.thought);
    fct_generation_free(&out);
}

static void reading_a_prompt_can_be_stopped_and_goes_on_from_there(void **state) {
    (void)state;
    fct_error err = {0};
    int ids[300];
    for (int i = 0; i < 300; i++) ids[i] = 300 + i;
    fct_session *slow = made_session(demo, &(fct_session_options){.context = 512, .batch = 32});
    struct heard heard;
    fct_generation out, cold;
    fct_generate_options options = listening(&heard);
    options.max_tokens = 8;
    options.reading = hear_reading;
    heard.cancel_reading = 4;
    MUST(fct_generate(slow, ids, 300, &options, &out, &err));
    assert_int_equal(out.reason, FCT_REASON_CANCELLED);
    assert_int_equal(out.n_ids, 0);
    assert_string_equal(out.text, "");
    assert_int_equal(fct_session_describe(slow).n_tokens, 96);
    fct_generation_free(&out);
    heard.cancel_reading = 0;
    MUST(fct_generate(slow, ids, 300, &options, &out, &err));
    assert_int_equal(out.n_reused, 96);
    MUST(fct_generate(session, ids, 300, &options, &cold, &err));
    assert_int_equal(out.n_ids, cold.n_ids);
    assert_memory_equal(out.ids, cold.ids, sizeof(int) * (size_t)cold.n_ids);
    fct_generation_free(&out);
    fct_generation_free(&cold);
    fct_session_free(slow);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_piece_of_a_marker_is_heard),
        cmocka_unit_test(a_thought_that_the_prompt_opened_is_a_thought),
        cmocka_unit_test(calls_are_heard_when_they_are_complete),
        cmocka_unit_test(a_call_ends_at_the_response_it_waits_for),
        cmocka_unit_test(a_broken_call_is_text_with_a_warning),
        cmocka_unit_test(an_answer_without_end_stops_at_the_context),
        cmocka_unit_test(a_character_of_several_tokens_is_never_cut),
        cmocka_unit_test(a_stop_string_ends_the_content_only),
        cmocka_unit_test(the_name_of_an_old_marker_ends_nothing),
        cmocka_unit_test(every_end_ends),
        cmocka_unit_test(a_thought_is_closed_at_its_budget),
        cmocka_unit_test(without_the_chat_format_all_is_text),
        cmocka_unit_test(reading_a_prompt_can_be_stopped_and_goes_on_from_there),
    };
    return cmocka_run_group_tests(tests, set_up, close_demo);
}
