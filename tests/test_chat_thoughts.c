/* test_chat_thoughts.c - facet chat with a model that thinks: thoughts dimmed, folded and hidden,
 * their budget, and that none of them is kept. The demo is made to think by a script. */
#include "chat_pty.h"
#include "scripted_answer.h"

#include <jansson.h>

#define DEMO MODELS "/demo.facet"
#define THOUGHT "Norway in Asia is country."
#define CONTENT "France of Peru one"
#define DIM "\033[2m"
#define PLAIN "\033[0m"

static fct_model *demo;
static struct script thinker, endless;

static void make_scripts(void) {
    thinker.model = endless.model = demo;
    script_say(&thinker, "<|channel>thought\n Norway in Asia is country.<channel|>");
    script_say(&thinker, " France of Peru one<turn|>");
    script_say(&endless, "<|channel>thought\n Norway");
}

static int set_up(void **state) {
    (void)state;
    fct_error err;
    demo = fct_model_open(DEMO, NULL, &err);
    if (!demo) fail_msg("%s", err.message);
    make_scripts();
    make_home();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    fct_model_free(demo);
    return remove_home();
}

static struct pty start(struct script *script, char *first, char *second) {
    char *arguments[160] = {"facet", "chat", "-t", "1", "-m", DEMO, "--think"};
    size_t n = 7;
    for (char *const *option = script_options(script); *option;) arguments[n++] = *option++;
    if (first) arguments[n++] = first;
    if (second) arguments[n++] = second;
    return pty_start(80, NULL, arguments);
}

static void command(struct pty *pty, const char *line, const char *answer) {
    type(pty, line);
    pty_expect(pty, answer);
    prompt(pty);
}

static void a_thought_is_dimmed_and_the_answer_is_not(void **state) {
    (void)state;
    struct pty pty = start(&thinker, NULL, NULL);
    prompt(&pty);
    type(&pty, "Hi");
    pty_expect(&pty, DIM "Norway");
    pty_expect(&pty, " country." PLAIN "\r\n\r\n" CONTENT "\r\n");
    pty_expect(&pty, "18 tok · ");
    pty_expect(&pty, "5 thought");
    prompt(&pty);
    assert_false(pty_showed(&pty, "channel"));
    end(&pty);
}

/* Its line counts while it grows, then says how long it was; /thought unfolds it. */
static void a_folded_thought_is_one_line(void **state) {
    (void)state;
    struct pty pty = start(&thinker, "--thoughts", "fold");
    prompt(&pty);
    type(&pty, "Hi");
    pty_expect(&pty, "\r\033[K" DIM "thinking ... 1" PLAIN);
    pty_expect(&pty, "\r\033[K" DIM "thought for 5 tokens" PLAIN "\r\n\r\n" CONTENT "\r\n");
    prompt(&pty);
    assert_false(pty_showed(&pty, "Norway"));
    command(&pty, "/thought", THOUGHT);
    command(&pty, "/think show", "thoughts are shown");
    type(&pty, "/retry");
    pty_expect(&pty, " country." PLAIN "\r\n\r\n" CONTENT "\r\n");
    prompt(&pty);
    end(&pty);
}

static void a_hidden_thought_leaves_nothing(void **state) {
    (void)state;
    struct pty pty = start(&thinker, NULL, NULL);
    prompt(&pty);
    command(&pty, "/think hide", "thoughts are hidden");
    type(&pty, "Hi");
    pty_expect(&pty, PLAIN " Hi\r\n\033[?2004l" CONTENT "\r\n");
    prompt(&pty);
    assert_false(pty_showed(&pty, "Norway"));
    end(&pty);
}

/* The thought is closed by the token that ends it, which counts as one of it. The script's label
 * ends in a byte token, which is certain only with the token behind it: that one does not count. */
static void a_budget_closes_the_thought(void **state) {
    (void)state;
    struct pty pty = start(&thinker, "--think-tokens", "2");
    prompt(&pty);
    type(&pty, "Hi");
    pty_expect(&pty, DIM "Norway in Asia" PLAIN "\r\n\r\n");
    pty_expect(&pty, "3 thought");
    prompt(&pty);
    command(&pty, "/thought", "Norway in Asia\r\n");
    command(&pty, "/think 3", "thinking is on, at most 3 tokens; thoughts are shown");
    type(&pty, "/retry");
    pty_expect(&pty, "4 thought");
    prompt(&pty);
    command(&pty, "/thought", "Norway in Asia is\r\n");
    end(&pty);
}

/* The model is asked to think by a token in the system turn. */
static void thinking_is_switched_on_and_off(void **state) {
    (void)state;
    struct pty pty = start(&thinker, NULL, NULL);
    prompt(&pty);
    command(&pty, "/think off", "thinking is off");
    type(&pty, "Hi");
    pty_expect(&pty, "context 27/4096");
    prompt(&pty);
    command(&pty, "/think on",
            "thinking is on; thoughts are shown; the conversation is read again");
    type(&pty, "/retry");
    pty_expect(&pty, "context 34/4096"); /* <|turn>system\n<|think|>\n<turn|>\n */
    prompt(&pty);
    end(&pty);
}

static void a_thought_is_not_kept(void **state) {
    (void)state;
    char path[96], save[128];
    struct pty pty = start(&thinker, NULL, NULL);
    prompt(&pty);
    type(&pty, "Hi");
    pty_expect(&pty, "5 thought");
    prompt(&pty);
    snprintf(path, sizeof path, "%s/talk.json", home);
    snprintf(save, sizeof save, "/save %s", path);
    command(&pty, save, "saved as");
    end(&pty);
    json_t *file = json_load_file(path, 0, NULL);
    json_t *answer = json_array_get(json_object_get(file, "messages"), 1);
    assert_string_equal(json_string_value(json_object_get(answer, "content")), CONTENT);
    assert_int_equal(json_object_size(answer), 2);
    json_decref(file);
}

/* The colour ends with the thought, and the question goes with its answer that never began. */
static void ctrl_c_stops_a_thought(void **state) {
    (void)state;
    struct pty pty = start(&endless, "-n", "0");
    prompt(&pty);
    type(&pty, "Hi");
    pty_expect(&pty, DIM "Norway");
    pty_send(&pty, "\003");
    pty_expect(&pty, PLAIN "\r\n\r\n" DIM "stopped before an answer: the question is taken back");
    prompt(&pty);
    type(&pty, "/undo");
    pty_expect(&pty, "nothing was asked yet");
    prompt(&pty);
    end(&pty);
}

static void without_colours_a_thought_is_plain(void **state) {
    (void)state;
    setenv("NO_COLOR", "1", 1);
    struct pty pty = start(&thinker, NULL, NULL);
    prompt(&pty);
    type(&pty, "Hi");
    pty_expect(&pty, THOUGHT "\r\n\r\n" CONTENT "\r\n");
    prompt(&pty);
    assert_false(pty_showed(&pty, DIM));
    end(&pty);
    unsetenv("NO_COLOR");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thought_is_dimmed_and_the_answer_is_not),
        cmocka_unit_test(a_folded_thought_is_one_line),
        cmocka_unit_test(a_hidden_thought_leaves_nothing),
        cmocka_unit_test(a_budget_closes_the_thought),
        cmocka_unit_test(thinking_is_switched_on_and_off),
        cmocka_unit_test(a_thought_is_not_kept),
        cmocka_unit_test(ctrl_c_stops_a_thought),
        cmocka_unit_test(without_colours_a_thought_is_plain),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
