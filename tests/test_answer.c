/* test_answer.c - an answer is told apart while it is written, and nothing of its markers shows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "json_lines.h"
#include "text/answer.h"
#include "text/chat.h"

static const char *const names[] = {"<|channel>",   "<channel|>", "<|tool_call>",
                                    "<tool_call|>", "<|\"|>",     "<|tool_response>",
                                    "<turn|>",      "<eos>"};
enum { N_NAMES = sizeof names / sizeof names[0] };

/* What a reader reported, joined. */
struct heard {
    struct fct_text thought, content, calls; /* calls as NAME ARGUMENTS; */
    int n_events, limit;                     /* limit: stop after so many; 0: never */
};

static bool hear(void *user, const struct fct_answer_event *event) {
    struct heard *heard = user;
    assert_int_equal(strlen(event->text), event->n_bytes);
    assert_true(event->n_bytes > 0);
    if (event->part == FCT_ANSWER_CALL)
        fct_text_printf(&heard->calls, "%s %s;", event->name, event->text);
    else
        fct_text_add(event->part == FCT_ANSWER_THOUGHT ? &heard->thought : &heard->content,
                     event->text, event->n_bytes);
    return ++heard->n_events != heard->limit;
}

static void forget(struct heard *heard) {
    fct_text_free(&heard->thought);
    fct_text_free(&heard->content);
    fct_text_free(&heard->calls);
    *heard = (struct heard){0};
}

static const char *text_of(const struct fct_text *text) { return text->data ? text->data : ""; }

/* Writes an answer to a reader: names as control tokens, the rest a character at a time. Stops
 * after max_pieces. */
static void write_pieces(fct_answer_reader *reader, const char *answer, int max_pieces) {
    while (*answer && max_pieces-- > 0) {
        size_t length = 1;
        bool control = false;
        while (((unsigned char)answer[length] & 0xC0) == 0x80) length++;
        for (int i = 0; i < N_NAMES; i++)
            if (strncmp(answer, names[i], strlen(names[i])) == 0)
                control = true, length = strlen(names[i]);
        assert_int_equal(fct_answer_reader_push(reader, answer, length, control, NULL), FCT_OK);
        answer += length;
    }
}

static struct heard heard;
static char warning[256];

/* Reads an answer as it streams, for a server: no markers. */
static void stream(const char *answer, int max_pieces) {
    forget(&heard);
    fct_answer_reader *reader = fct_answer_reader_new(false, hear, &heard, NULL);
    write_pieces(reader, answer, max_pieces);
    assert_int_equal(fct_answer_reader_finish(reader, NULL), FCT_OK);
    strcpy(warning, fct_answer_reader_warning(reader));
    fct_answer_reader_free(reader);
}

/* F14 */
static void a_thought_cut_anywhere_shows_no_label(void **state) {
    (void)state;
    const char *answer = "<|channel>thought\nTwo and two.\n<channel|>\nFour. <turn|>";
    for (int n = 0; n < 50; n++) {
        stream(answer, n);
        assert_int_equal(strncmp("Two and two.", text_of(&heard.thought), heard.thought.size), 0);
        assert_int_equal(strncmp("Four.", text_of(&heard.content), heard.content.size), 0);
    }
    assert_string_equal(text_of(&heard.thought), "Two and two.");
    assert_string_equal(text_of(&heard.content), "Four.");
}

static void the_label_may_come_in_any_pieces(void **state) {
    (void)state;
    const char *const pieces[][3] = {{"thought\nhm", "", ""},
                                     {"tho", "ught\nh", "m"},
                                     {"thought", "\n", "hm"},
                                     {"thought\n", "h", "m"}};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        forget(&heard);
        fct_answer_reader *reader = fct_answer_reader_new(false, hear, &heard, NULL);
        fct_answer_reader_push(reader, "<|channel>", 10, true, NULL);
        for (int k = 0; k < 3; k++)
            fct_answer_reader_push(reader, pieces[i][k], strlen(pieces[i][k]), false, NULL);
        fct_answer_reader_push(reader, "<channel|>", 10, true, NULL);
        fct_answer_reader_push(reader, "Hi", 2, false, NULL);
        assert_int_equal(fct_answer_reader_finish(reader, NULL), FCT_OK);
        assert_string_equal(text_of(&heard.thought), "hm");
        assert_string_equal(text_of(&heard.content), "Hi");
        fct_answer_reader_free(reader);
    }
}

static void an_empty_thought_closed_early_shows_nothing(void **state) {
    (void)state;
    stream("<|channel>thought<channel|>Four.<turn|>", 100);
    assert_string_equal(text_of(&heard.content), "Four.");
    assert_int_equal(heard.thought.size, 0);
    stream("<|channel>thought\n<channel|><|channel>thought\n\n<channel|>Four.<turn|>", 100);
    assert_string_equal(text_of(&heard.content), "Four.");
    assert_int_equal(heard.thought.size, 0);
}

/* F18 */
static void stray_markers_show_in_no_field(void **state) {
    (void)state;
    stream(
        "a<channel|>b<|\"|>c<|\"|><|channel>analysis\nd<channel|><|tool_response><|tool_response>",
        100);
    assert_string_equal(text_of(&heard.content), "ab\"c\"analysis\nd");
    stream("<|channel>thought\nx<|\"|>y<|tool_call>z<turn|>", 100);
    assert_string_equal(text_of(&heard.thought), "x\"yz");
    assert_int_equal(heard.content.size, 0);
    stream("<|tool_call>call:f{x:<|\"|>open<|tool_response>", 100);
    assert_string_equal(text_of(&heard.content), "call:f{x:\"open");
    assert_int_equal(heard.calls.size, 0);
    assert_string_equal(warning, "kept as content: call: it is not closed");
}

/* F11: what ordinary tokens spell is text. */
static void spelt_markers_are_text(void **state) {
    (void)state;
    const char *text = "<end_of_turn> is old, <|channel>thought\n and <turn|> are text";
    forget(&heard);
    fct_answer_reader *reader = fct_answer_reader_new(false, hear, &heard, NULL);
    for (size_t i = 0; text[i]; i++) fct_answer_reader_push(reader, text + i, 1, false, NULL);
    fct_answer_reader_finish(reader, NULL);
    assert_string_equal(text_of(&heard.content), text);
    fct_answer_reader_free(reader);
}

static void a_spelt_closer_inside_an_argument_does_not_end_the_call(void **state) {
    (void)state;
    forget(&heard);
    fct_answer_reader *reader = fct_answer_reader_new(false, hear, &heard, NULL);
    write_pieces(reader, "<|tool_call>call:f{x:<|\"|>", 100);
    fct_answer_reader_push(reader, "<tool_call|>", 12, false, NULL);
    write_pieces(reader, "<|\"|>}<tool_call|>", 100);
    fct_answer_reader_finish(reader, NULL);
    assert_string_equal(text_of(&heard.calls), "f {\"x\":\"<tool_call|>\"};");
    fct_answer_reader_free(reader);
}

/* F17 */
static void a_call_comes_whole_with_its_numbers_as_written(void **state) {
    (void)state;
    stream("<|tool_call>call:get-weather.v2{n:-3.5e2,f:0.1,big:12345678901234567890,s:<|\"|>{\n\\}<"
           "|\"|>}<tool_call|>"
           "<|tool_call>call:g{}<tool_call|><|tool_response>",
           1000);
    assert_string_equal(text_of(&heard.calls),
                        "get-weather.v2 {\"n\":-3.5e2,\"f\":0.1,\"big\":12345678901234567890,"
                        "\"s\":\"{\\u000a\\\\}\"};g {};");
    assert_int_equal(heard.content.size, 0);
}

/* The fields of an answer read piece by piece are those of the answer read whole. */
static void check_vector(int line, const json_t *vector) {
    (void)line;
    const char *prefix = json_string_value(json_object_get(vector, "prefix"));
    const json_t *message = json_object_get(vector, "message");
    const char *thought = json_string_value(json_object_get(message, "thinking"));
    const char *content = json_string_value(json_object_get(message, "content"));
    forget(&heard);
    fct_answer_reader *reader = fct_answer_reader_new(true, hear, &heard, NULL);
    assert_int_equal(fct_answer_reader_prompt(reader, prefix, strlen(prefix), NULL), FCT_OK);
    write_pieces(reader, json_string_value(json_object_get(vector, "answer")), 1000);
    assert_int_equal(fct_answer_reader_finish(reader, NULL), FCT_OK);
    fct_answer_reader_free(reader);
    assert_string_equal(text_of(&heard.thought), thought ? thought : "");
    assert_string_equal(text_of(&heard.content), content ? content : "");
    assert_int_equal(heard.calls.size > 0, json_object_get(message, "tool_calls") != NULL);
}

static void deltas_joined_are_the_whole_fields(void **state) {
    (void)state;
    assert_int_equal(for_each_line("chat/parse_vectors.jsonl", check_vector), 39);
}

static void white_space_waits_for_what_follows(void **state) {
    (void)state;
    stream("\xC2\xA0 a \n", 100);
    assert_string_equal(text_of(&heard.content), "a");
    stream("\xC2\xA0 a \n\xE3\x80\x80"
           "b \xE2\x80\xA8",
           100);
    assert_string_equal(text_of(&heard.content), "a \n\xE3\x80\x80"
                                                 "b");
}

static void thoughts_are_joined_by_a_newline(void **state) {
    (void)state;
    stream("<|channel>thought\none\n<channel|>a<|channel>thought\n\n<channel|><|channel>thought\n "
           "two <channel|> b",
           100);
    assert_string_equal(text_of(&heard.thought), "one\ntwo");
    assert_string_equal(text_of(&heard.content), "a b");
}

static void a_listener_may_stop_the_reading(void **state) {
    (void)state;
    fct_error err = {0};
    forget(&heard);
    heard.limit = 1;
    fct_answer_reader *reader = fct_answer_reader_new(false, hear, &heard, NULL);
    assert_int_equal(fct_answer_reader_push(reader, "a", 1, false, &err), FCT_ERR_CANCELLED);
    assert_int_equal(fct_answer_reader_push(reader, "b", 1, false, &err), FCT_ERR_CANCELLED);
    assert_int_equal(fct_answer_reader_finish(reader, &err), FCT_ERR_CANCELLED);
    assert_int_equal(err.code, FCT_ERR_CANCELLED);
    assert_string_equal(text_of(&heard.content), "a");
    fct_answer_reader_free(reader);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thought_cut_anywhere_shows_no_label),
        cmocka_unit_test(the_label_may_come_in_any_pieces),
        cmocka_unit_test(an_empty_thought_closed_early_shows_nothing),
        cmocka_unit_test(stray_markers_show_in_no_field),
        cmocka_unit_test(spelt_markers_are_text),
        cmocka_unit_test(a_spelt_closer_inside_an_argument_does_not_end_the_call),
        cmocka_unit_test(a_call_comes_whole_with_its_numbers_as_written),
        cmocka_unit_test(deltas_joined_are_the_whole_fields),
        cmocka_unit_test(white_space_waits_for_what_follows),
        cmocka_unit_test(thoughts_are_joined_by_a_newline),
        cmocka_unit_test(a_listener_may_stop_the_reading),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    forget(&heard);
    return failed;
}
