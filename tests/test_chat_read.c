/* test_chat_read.c - answers in text form come back as the messages of the reference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "json_lines.h"
#include "text/chat.h"

static void check_vector(int line, const json_t *vector) {
    fct_error err = {0};
    char warning[256] = "?";
    json_t *message =
        fct_chat_read(json_string_value(json_object_get(vector, "prefix")),
                      json_string_value(json_object_get(vector, "answer")), warning, &err);
    if (!message) fail_msg("line %d: %s", line, err.message);
    if (!json_equal(message, json_object_get(vector, "message")))
        fail_msg("line %d is %s", line, json_dumps(message, 0));
    assert_string_equal(warning, "");
    json_decref(message);
}

static void every_vector_is_read_back(void **state) {
    (void)state;
    assert_int_equal(for_each_line("chat/parse_vectors.jsonl", check_vector), 39);
}

/* The message of an answer behind a plain prompt, as JSON text; *warning is set. */
static char message_text[4096], warning[256];
static const char *read_answer(const char *answer) {
    json_t *message =
        fct_chat_read("<bos><|turn>user\nHi<turn|>\n<|turn>model\n", answer, warning, NULL);
    assert_non_null(message);
    char *text = fct_json_write(message, JSON_COMPACT | JSON_SORT_KEYS, NULL, NULL);
    assert_non_null(text);
    snprintf(message_text, sizeof message_text, "%s", text);
    fct_free(text);
    json_decref(message);
    return message_text;
}

/* The arguments of the only call of f with this body, as JSON text. */
static const char *arguments_of(const char *body) {
    char answer[2048];
    snprintf(answer, sizeof answer, "<|tool_call>call:f%s<tool_call|><|tool_response>", body);
    const char *text = read_answer(answer), *start = strstr(text, "\"arguments\":");
    assert_string_equal(warning, "");
    assert_non_null(start);
    start += strlen("\"arguments\":");
    *strstr(start, ",\"name\":\"f\"") = 0;
    return start;
}

/* F17 */
static void nested_arguments_with_every_sign_are_read(void **state) {
    (void)state;
    assert_string_equal(
        arguments_of(
            "{path:<|\"|>a}b.txt<|\"|>,body:<|\"|>say \"hi\"\n{x:[1,2]}<|\"|>,n:-3.5e2,ok:true,"
            "z:null,o:{k:[<|\"|>q<|\"|>,2]}}"),
        "{\"body\":\"say \\\"hi\\\"\\n{x:[1,2]}\",\"n\":-350.0,\"o\":{\"k\":[\"q\",2]},\"ok\":true,"
        "\"path\":\"a}b.txt\",\"z\":null}");
}

static void integers_of_any_length_are_read(void **state) {
    (void)state;
    assert_string_equal(
        arguments_of("{n:12345678901234567890,m:-98765432109876543210,k:9223372036854775807}"),
        "{\"k\":9223372036854775807,\"m\":-98765432109876543210,\"n\":12345678901234567890}");
}

static void keys_with_spaces_are_read_as_they_are_written(void **state) {
    (void)state;
    assert_string_equal(arguments_of("{Key with space:<|\"|>v<|\"|>, \xC3\xA9 : 1}"),
                        "{\"Key with space\":\"v\",\"\xC3\xA9\":1}");
}

static void a_broken_call_stays_content_with_a_warning(void **state) {
    (void)state;
    assert_string_equal(
        read_answer("So:<|tool_call>call:f{x:}<tool_call|><turn|>"),
        "{\"content\":\"So:<|tool_call>call:f{x:}<tool_call|>\",\"role\":\"assistant\"}");
    assert_non_null(strstr(warning, "call of f"));
    assert_string_equal(
        read_answer("<|tool_call>call:f{x:<|\"|>never closed<turn|>"),
        "{\"content\":\"<|tool_call>call:f{x:<|\\\"|>never closed\",\"role\":\"assistant\"}");
    assert_non_null(strstr(warning, "not closed"));
    assert_string_equal(
        read_answer("the token <|tool_call> opens<|channel>thought\nhm<channel|> a call"),
        "{\"content\":\"the token <|tool_call> opens a "
        "call\",\"role\":\"assistant\",\"thinking\":\"hm\"}");
    assert_string_not_equal(warning, "");
    assert_string_equal(
        read_answer("<|tool_call>call:f[1]<tool_call|>"),
        "{\"content\":\"<|tool_call>call:f[1]<tool_call|>\",\"role\":\"assistant\"}");
    assert_non_null(strstr(warning, "no object"));
}

static void a_good_call_behind_a_broken_one_is_read(void **state) {
    (void)state;
    assert_non_null(strstr(
        read_answer("<|tool_call>call:f{x}<tool_call|><|tool_call>call:g{}<tool_call|>"),
        "\"tool_calls\":[{\"function\":{\"arguments\":{},\"name\":\"g\"},\"type\":\"function\"}]"));
    assert_non_null(strstr(warning, "call of f"));
}

static void several_thoughts_and_contents_are_kept(void **state) {
    (void)state;
    assert_string_equal(
        read_answer(" a <|channel>thought\n one \n<channel|>b<|channel>thought\n \n<channel|>"
                    "<|channel>thought\ntwo\n<channel|> c <turn|>"),
        "{\"content\":\"a b c\",\"role\":\"assistant\",\"thinking\":\"one\\ntwo\"}");
}

/* F60 */
static void deep_nesting_is_refused_not_followed(void **state) {
    (void)state;
    enum { DEPTH = 100000 };
    char *answer = malloc(2 * DEPTH + 64), *at = answer;
    at += sprintf(at, "<|tool_call>call:f{a:");
    memset(at, '[', DEPTH), at += DEPTH;
    memset(at, ']', DEPTH), at += DEPTH;
    strcpy(at, "}<tool_call|>");
    json_t *message = fct_chat_read("", answer, warning, NULL);
    assert_non_null(message);
    assert_string_equal(json_string_value(json_object_get(message, "content")), answer);
    assert_string_not_equal(warning, "");
    json_decref(message);
    free(answer);
}

static void an_answer_that_is_not_utf8_is_refused(void **state) {
    (void)state;
    fct_error err = {0};
    assert_null(fct_chat_read("", "a\xFF", warning, &err));
    assert_int_equal(err.code, FCT_ERR_ARGUMENT);
}

/* Every beginning of every answer is read without a fault, and no field of it has more than the
 * answer. */
static void check_beginnings(int line, const json_t *vector) {
    (void)line;
    const char *prefix = json_string_value(json_object_get(vector, "prefix"));
    char *answer = strdup(json_string_value(json_object_get(vector, "answer")));
    for (size_t n = strlen(answer); n-- > 0;) {
        if (((unsigned char)answer[n] & 0xC0) == 0x80) continue;
        answer[n] = 0;
        json_t *message = fct_chat_read(prefix, answer, warning, NULL);
        assert_non_null(message);
        assert_true(json_string_length(json_object_get(message, "content")) <= n);
        json_decref(message);
    }
    free(answer);
}

static void answers_may_be_cut_anywhere(void **state) {
    (void)state;
    for_each_line("chat/parse_vectors.jsonl", check_beginnings);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_vector_is_read_back),
        cmocka_unit_test(nested_arguments_with_every_sign_are_read),
        cmocka_unit_test(integers_of_any_length_are_read),
        cmocka_unit_test(keys_with_spaces_are_read_as_they_are_written),
        cmocka_unit_test(a_broken_call_stays_content_with_a_warning),
        cmocka_unit_test(a_good_call_behind_a_broken_one_is_read),
        cmocka_unit_test(several_thoughts_and_contents_are_kept),
        cmocka_unit_test(deep_nesting_is_refused_not_followed),
        cmocka_unit_test(an_answer_that_is_not_utf8_is_refused),
        cmocka_unit_test(answers_may_be_cut_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
