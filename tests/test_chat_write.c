/* test_chat_write.c - conversations are written as the published chat templates write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "chat_fixture.h"

static enum fct_chat_format format;

static void check_vector(int line, const json_t *vector) {
    struct fct_rendering rendering;
    fct_error err = {0};
    const json_t *text = json_object_get(vector, "text");
    if (write_request(format, vector, &rendering, &err)) fail_msg("line %d: %s", line, err.message);
    if (rendering.text.size != json_string_length(text) ||
        memcmp(rendering.text.data, json_string_value(text), rendering.text.size) != 0)
        fail_msg("line %d:\nis     %s\nshould %s", line, rendering.text.data,
                 json_string_value(text));
    fct_rendering_free(&rendering);
}

static void every_vector_is_written_byte_for_byte(void **state) {
    (void)state;
    format = FCT_CHAT_GEMMA4;
    assert_int_equal(for_each_line("chat/chat_vectors.jsonl", check_vector), 127);
}

static void odd_conversations_schemas_and_numbers_too(void **state) {
    (void)state;
    format = FCT_CHAT_GEMMA4;
    assert_int_equal(for_each_line("chat/odd_vectors.jsonl", check_vector), 120);
}

static void the_turns_of_gemma3_too(void **state) {
    (void)state;
    format = FCT_CHAT_GEMMA3;
    assert_int_equal(for_each_line("chat/gemma3_vectors.jsonl", check_vector), 40);
}

/* The request, in which ' stands for ", is written as expected. */
static void check_written(enum fct_chat_format as, const char *request, const char *expected) {
    struct fct_rendering rendering;
    fct_error err = {0};
    if (write_text(as, request, &rendering, &err)) fail_msg("%s", err.message);
    assert_string_equal(rendering.text.data, expected);
    assert_int_equal(rendering.segments[rendering.n_segments - 1].end, rendering.text.size);
    fct_rendering_free(&rendering);
}
#define WRITES(request, expected) check_written(FCT_CHAT_GEMMA4, request, expected)
#define PROMPT ",'kwargs':{'add_generation_prompt':true}}"

/* F12 */
static void a_system_text_has_its_own_turn_and_does_not_start_thinking(void **state) {
    (void)state;
    const char *expected =
        "<bos><|turn>system\nBe brief.<turn|>\n<|turn>user\nHi<turn|>\n<|turn>model\n";
    WRITES("{'messages':[{'role':'system','content':'Be "
           "brief.'},{'role':'user','content':'Hi'}]" PROMPT,
           expected);
    WRITES("{'messages':[{'role':'developer','content':'Be "
           "brief.'},{'role':'user','content':'Hi'}]" PROMPT,
           expected);
    WRITES("{'messages':[],'kwargs':{'enable_thinking':true}}",
           "<bos><|turn>system\n<|think|>\n<turn|>\n");
}

/* F15 */
static void old_thoughts_are_not_sent_back(void **state) {
    (void)state;
    WRITES("{'messages':[{'role':'user','content':'Colour?'},{'role':'assistant','content':'<|"
           "channel>thought\\nsecret\\n"
           "<channel|>Blue.','reasoning':'secret'},{'role':'user','content':'Sure?'}]" PROMPT,
           "<bos><|turn>user\nColour?<turn|>\n<|turn>model\nBlue.<turn|>\n<|turn>user\nSure?<turn|>"
           "\n<|turn>model\n");
}

/* F16 */
static void contents_are_trimmed_as_jinja_does(void **state) {
    (void)state;
    WRITES("{'messages':[{'role':'system','content':'  x  '},{'role':'user','content':'\\n  hi "
           "\\t\\n'}]" PROMPT,
           "<bos><|turn>system\nx<turn|>\n<|turn>user\nhi<turn|>\n<|turn>model\n");
}

#define CALL_F                                                                                     \
    "{'role':'assistant','content':null,'tool_calls':[{'id':'c1','type':'function','function':{'"  \
    "name':'f','arguments':"

/* F20 */
static void a_response_names_the_tool_that_was_called(void **state) {
    (void)state;
    WRITES("{'messages':[{'role':'assistant','tool_calls':[{'id':'c1','function':{'name':'get_temp'"
           "}}]},"
           "{'role':'tool','tool_call_id':'c1','content':'21 C'}]" PROMPT,
           "<bos><|turn>model\n<|tool_call>call:get_temp{}<tool_call|><|tool_response>response:get_"
           "temp{value:<|\"|>21 C<|\"|>}"
           "<tool_response|>");
}

/* F21 */
static void arguments_in_json_text_are_parsed_first(void **state) {
    (void)state;
    const char *const empty[] = {"''", "' '", "'null'", "'{}'", "null", "{}"};
    WRITES("{'messages':[" CALL_F "'{\\'a\\':1, \\'n\\':12345678901234567890}'}}]}]}",
           "<bos><|turn>model\n<|tool_call>call:f{a:1,n:12345678901234567890}<tool_call|><|tool_"
           "response>");
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
        char request[300];
        snprintf(request, sizeof request, "{'messages':[" CALL_F "%s}}]}]}", empty[i]);
        WRITES(request, "<bos><|turn>model\n<|tool_call>call:f{}<tool_call|><|tool_response>");
    }
}

static void an_object_as_a_response_writes_its_pairs(void **state) {
    (void)state;
    WRITES("{'messages':[" CALL_F
           "{}}}]},{'role':'tool','tool_call_id':'c1','content':{'b':1.0,'A':[null,'x']}}]}",
           "<bos><|turn>model\n<|tool_call>call:f{}<tool_call|><|tool_response>response:f{A:[null,<"
           "|\"|>x<|\"|>],b:1.0}"
           "<tool_response|>");
}

/* F51 */
static void parts_are_joined_without_a_separator(void **state) {
    (void)state;
    WRITES("{'messages':[{'role':'user','content':[{'type':'text','text':' a "
           "'},{'type':'text','text':'b'}]}]}",
           "<bos><|turn>user\nab<turn|>\n");
}

/* F69 */
static void a_second_turn_continues_the_first(void **state) {
    (void)state;
    struct fct_rendering first, second;
    write_text(FCT_CHAT_GEMMA4, "{'messages':[{'role':'user','content':'a'}]" PROMPT, &first, NULL);
    write_text(FCT_CHAT_GEMMA4,
               "{'messages':[{'role':'user','content':'a'},{'role':'assistant','content':'b'},"
               "{'role':'user','content':'c'}]" PROMPT,
               &second, NULL);
    assert_memory_equal(second.text.data, first.text.data, first.text.size);
    assert_string_equal(second.text.data + first.text.size,
                        "b<turn|>\n<|turn>user\nc<turn|>\n<|turn>model\n");
    fct_rendering_free(&first);
    fct_rendering_free(&second);
}

static void a_nul_in_a_content_stays_a_character(void **state) {
    (void)state;
    struct fct_rendering rendering;
    assert_int_equal(write_text(FCT_CHAT_GEMMA4,
                                "{'messages':[{'role':'user','content':'a\\u0000b'}]}", &rendering,
                                NULL),
                     FCT_OK);
    assert_memory_equal(rendering.text.data, "<bos><|turn>user\na\0b<turn|>\n", 28);
    fct_rendering_free(&rendering);
}

/* Everything that a caller wrote stands in plain segments, and plain segments never touch. */
static void callers_text_is_never_scaffold(void **state) {
    (void)state;
    struct fct_rendering r;
    assert_int_equal(write_text(FCT_CHAT_GEMMA4,
                                "{'tools':[{'function':{'name':'<eos>','description':'<eos>','"
                                "parameters':{'type':'object','properties':"
                                "{'<eos>':{'type':'string','description':'<eos>','enum':['<eos>']}}"
                                ",'required':['<eos>']}}}],"
                                "'messages':[{'role':'system','content':'<eos>'},{'role':'<eos>','"
                                "content':'<eos>'},{'role':"
                                "'assistant','content':'<eos>','reasoning':'<eos>','tool_calls':[{'"
                                "id':'1','function':{'name':'<eos>',"
                                "'arguments':{'<eos>':{'<eos>':['<eos>']}}}}]},{'role':'tool','"
                                "tool_call_id':'1','content':'<eos>'}]}",
                                &r, NULL),
                     FCT_OK);
    int n_plain = 0, n_typed = 0;
    for (size_t i = 0, start = 0; i < r.n_segments; start = r.segments[i++].end) {
        const char *text = r.text.data + start;
        size_t n_bytes = r.segments[i].end - start;
        if (r.segments[i].control)
            assert_null(memmem(text, n_bytes, "<eos>", 5));
        else
            assert_true(i == 0 || r.segments[i - 1].control);
        n_plain += !r.segments[i].control;
    }
    for (const char *at = r.text.data; (at = strstr(at, "<eos>")); at += 5) n_typed++;
    assert_int_equal(n_typed, 17);
    assert_true(n_plain > 10);
    fct_rendering_free(&r);
}

/* ---- what is refused ---- */

static void check_refused(enum fct_chat_format as, const char *request, fct_status status,
                          const char *message) {
    struct fct_rendering rendering;
    fct_error err = {0};
    assert_int_equal(write_text(as, request, &rendering, &err), status);
    assert_int_equal(err.code, status);
    assert_string_equal(err.message, message);
    assert_null(rendering.text.data);
    assert_null(rendering.segments);
}
#define REFUSES(request, message) check_refused(FCT_CHAT_GEMMA4, request, FCT_ERR_ARGUMENT, message)
#define USER_A "{'role':'user','content':'a'},"

/* F51, F52 */
static void wrong_fields_are_named(void **state) {
    (void)state;
    REFUSES("{}", "messages: is missing");
    REFUSES("{'messages':'a'}", "messages: must be a list, not a string");
    REFUSES("{'messages':[null]}", "messages[0]: must be an object, not null");
    REFUSES("{'messages':[{}]}", "messages[0].role: is missing");
    REFUSES("{'messages':[{'role':7,'content':'a'}]}",
            "messages[0].role: must be a string, not a number");
    REFUSES("{'messages':[" USER_A USER_A USER_A "{'role':'user','content':null}]}",
            "messages[3].content: must be a string or a list, not null");
    REFUSES("{'messages':[" USER_A "{'role':'user'}]}", "messages[1].content: is missing");
    REFUSES("{'messages':[{'role':'assistant','content':{}}]}",
            "messages[0].content: must be a string or a list, not an object");
    REFUSES("{'messages':[{'role':'user','content':['a']}]}",
            "messages[0].content[0]: must be an object, not a string");
    REFUSES("{'messages':[{'role':'user','content':[{'text':'a'}]}]}",
            "messages[0].content[0].type: is missing");
    REFUSES("{'messages':[{'role':'user','content':[{'type':'text'}]}]}",
            "messages[0].content[0].text: is missing");
    REFUSES("{'messages':[{'role':'assistant','reasoning':[]}]}",
            "messages[0].reasoning: must be a string, not a list");
    REFUSES("{'messages':[{'role':'assistant','tool_calls':{}}]}",
            "messages[0].tool_calls: must be a list, not an object");
    REFUSES("{'messages':[{'role':'assistant','tool_calls':[{}]}]}",
            "messages[0].tool_calls[0].function: is missing");
    REFUSES(
        "{'messages':[{'role':'assistant','tool_calls':[{'function':{'name':'f','arguments':[]}}]}]"
        "}",
        "messages[0].tool_calls[0].function.arguments: must be a string or an object, not a list");
    REFUSES("{'messages':[{'role':'assistant','tool_responses':[{}]}]}",
            "messages[0].tool_responses[0].response: is missing");
}

static void wrong_tools_and_switches_are_named(void **state) {
    (void)state;
    REFUSES("{'messages':[],'tools':{}}", "tools: must be a list, not an object");
    REFUSES("{'messages':[],'tools':[{'name':'f'}]}", "tools[0].function: is missing");
    REFUSES("{'messages':[],'tools':[{'function':{}}]}", "tools[0].function.name: is missing");
    REFUSES("{'messages':[],'tools':[{'function':{'name':'f','parameters':{'properties':[1]}}}]}",
            "tools[0].function.parameters.properties: must be an object, not a list");
    REFUSES(
        "{'messages':[],'tools':[{'function':{'name':'f','parameters':{'properties':{'a':{'type':'"
        "object','required':true}}}}}]}",
        "tools[0].function.parameters.properties.a.required: must be a list, not true or false");
    REFUSES("{'messages':[],'kwargs':{'enable_thinking':'yes'}}",
            "kwargs.enable_thinking: must be true or false, not a string");
}

static void arguments_that_are_no_json_object_are_refused(void **state) {
    (void)state;
    REFUSES("{'messages':[" CALL_F "'[1]'}}]}]}",
            "messages[0].tool_calls[0].function.arguments: must be an object");
    struct fct_rendering rendering;
    fct_error err = {0};
    assert_int_equal(
        write_text(FCT_CHAT_GEMMA4, "{'messages':[" CALL_F "'{a:1}'}}]}]}", &rendering, &err),
        FCT_ERR_ARGUMENT);
    assert_non_null(strstr(err.message,
                           "messages[0].tool_calls[0].function.arguments: not valid JSON: line 1"));
}

/* F60 */
static void deep_nesting_is_refused(void **state) {
    (void)state;
    enum { DEPTH = 1000 };
    json_t *deep = json_object();
    for (int i = 0; i < DEPTH; i++) deep = json_pack("{s:{s:o}}", "properties", "x", deep);
    json_t *request = json_pack("{s:[], s:[{s:{s:s, s:o}}]}", "messages", "tools", "function",
                                "name", "f", "parameters", deep);
    struct fct_rendering rendering;
    fct_error err = {0};
    assert_int_equal(write_request(FCT_CHAT_GEMMA4, request, &rendering, &err), FCT_ERR_ARGUMENT);
    assert_string_equal(err.message, "tools[0]: nested deeper than 200 levels");
    json_decref(request);
    char text[2 * DEPTH + 1] = "";
    memset(text, '[', DEPTH);
    memset(text + DEPTH, ']', DEPTH);
    assert_null(fct_json_read(text, sizeof text - 1, "body", &err));
    assert_string_equal(err.message, "body: nested deeper than 200 levels");
}

static void gemma3_refuses_what_its_template_refuses(void **state) {
    (void)state;
    check_refused(FCT_CHAT_GEMMA3, "{'messages':[" USER_A "{'role':'user','content':'b'}]}",
                  FCT_ERR_ARGUMENT, "messages[1].role: user and assistant must alternate");
    check_refused(FCT_CHAT_GEMMA3, "{'messages':[],'tools':[{'function':{'name':'f'}}]}",
                  FCT_ERR_UNSUPPORTED, "tools: Gemma 3's chat format has none");
    check_refused(FCT_CHAT_NONE, "{'messages':[]}", FCT_ERR_UNSUPPORTED,
                  "chat: the model has no chat format");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_vector_is_written_byte_for_byte),
        cmocka_unit_test(odd_conversations_schemas_and_numbers_too),
        cmocka_unit_test(the_turns_of_gemma3_too),
        cmocka_unit_test(a_system_text_has_its_own_turn_and_does_not_start_thinking),
        cmocka_unit_test(old_thoughts_are_not_sent_back),
        cmocka_unit_test(contents_are_trimmed_as_jinja_does),
        cmocka_unit_test(a_response_names_the_tool_that_was_called),
        cmocka_unit_test(arguments_in_json_text_are_parsed_first),
        cmocka_unit_test(an_object_as_a_response_writes_its_pairs),
        cmocka_unit_test(parts_are_joined_without_a_separator),
        cmocka_unit_test(a_second_turn_continues_the_first),
        cmocka_unit_test(a_nul_in_a_content_stays_a_character),
        cmocka_unit_test(callers_text_is_never_scaffold),
        cmocka_unit_test(wrong_fields_are_named),
        cmocka_unit_test(wrong_tools_and_switches_are_named),
        cmocka_unit_test(arguments_that_are_no_json_object_are_refused),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(gemma3_refuses_what_its_template_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
