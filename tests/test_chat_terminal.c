/* test_chat_terminal.c - facet chat on a terminal: typing, history, pasting, Ctrl+C and Ctrl+D,
 * other sizes. Faults F65 and F66 among others. */
#include "chat_pty.h"

#include <jansson.h>
#include <sys/stat.h>

#define PARIS "The capital of France is **Paris**."
#define FRANCE "The capital of France is"
#define UP "\033[A"

static char kept[96];

static int set_up(void **state) {
    (void)state;
    make_home();
    snprintf(kept, sizeof kept, "%s/kept.json", home);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    return remove_home();
}

#define CHAT "facet", "chat", "-t", "1", "-m", MODELS "/demo.facet", "--temperature", "0"
#define START(columns, ...)                                                                        \
    pty_start(columns, NULL, (char *const[]){CHAT, __VA_ARGS__ __VA_OPT__(, ) NULL})
#define ENDLESS "-n", "0", "--logit-bias", "1500=1000"

/* Waits for the prompt of a block that goes on. */
static void more(struct pty *pty) {
    pty_expect(pty, "\033[2m.");
    pty_expect_keys(pty);
}

/* The content of the n-th message, by way of /save; static memory. */
static const char *message(struct pty *pty, size_t n) {
    static char content[4096];
    char command[128];
    snprintf(command, sizeof command, "/save %s", kept);
    type(pty, command);
    pty_expect(pty, "saved as");
    prompt(pty);
    json_t *file = json_load_file(kept, 0, NULL);
    json_t *one = json_array_get(json_object_get(file, "messages"), n);
    const char *text = json_string_value(json_object_get(one, "content"));
    if (!text) fail_msg("there is no message %zu", n);
    snprintf(content, sizeof content, "%s", text);
    json_decref(file);
    return content;
}

static void what_is_typed_is_answered(void **state) {
    (void)state;
    struct pty pty = START(80);
    prompt(&pty);
    type(&pty, FRANCE);
    pty_expect(&pty, PARIS "\r\n");
    pty_expect(&pty, "7 tok · ");
    pty_expect(&pty, "tok/s · 0 reused · context 20/4096");
    prompt(&pty);
    type(&pty, "The capital of Peru is");
    pty_expect(&pty, "**Lima**");
    pty_expect(&pty, " · 20 reused · ");
    prompt(&pty);
    pty_send(&pty, "\004");
    assert_int_equal(pty_finish(&pty), 0);
}

static void the_history_is_kept_from_run_to_run(void **state) {
    (void)state;
    struct pty pty = START(80);
    prompt(&pty);
    type(&pty, FRANCE);
    pty_expect(&pty, PARIS);
    prompt(&pty);
    pty_send(&pty, UP "\r");
    pty_expect(&pty, "context 41/4096");
    prompt(&pty);
    assert_string_equal(message(&pty, 2), FRANCE);
    end(&pty);
    pty = START(80);
    prompt(&pty);
    pty_send(&pty, UP UP UP); /* over /quit and /save */
    pty_send(&pty, "\r");
    pty_expect(&pty, PARIS);
    prompt(&pty);
    end(&pty);
}

static void pasted_lines_are_one_prompt(void **state) {
    (void)state;
    struct pty pty = START(80);
    prompt(&pty);
    pty_send(&pty, "\033[200~one\rtwo\rthree \033x\tfour\r\033[201~");
    pty_send(&pty, " five\r");
    pty_expect(&pty, " tok · ");
    prompt(&pty);
    assert_string_equal(message(&pty, 0), "one\ntwo\nthree x\tfour five");
    end(&pty);
}

static void several_lines_can_be_typed(void **state) {
    (void)state;
    struct pty pty = START(80);
    prompt(&pty);
    type(&pty, "\"\"\"one");
    more(&pty);
    type(&pty, "two");
    more(&pty);
    type(&pty, "three\"\"\"");
    pty_expect(&pty, " tok · ");
    prompt(&pty);
    assert_string_equal(message(&pty, 0), "one\ntwo\nthree");
    pty_send(&pty, "four\033\rfive\r"); /* Alt+Enter */
    pty_expect(&pty, " tok · ");
    prompt(&pty);
    assert_string_equal(message(&pty, 2), "four\nfive");
    end(&pty);
}

static void characters_are_characters_not_bytes(void **state) {
    (void)state;
    struct pty pty = START(80);
    prompt(&pty);
    type(&pty, "日本語\177 wörd\033[D\033[Dö\b\177r x\U0001F600\177y");
    pty_expect(&pty, " tok · ");
    prompt(&pty);
    assert_string_equal(message(&pty, 0), "日本 wr xyrd");
    end(&pty);
}

/* The terminal's buffer is small: what is not read soon stops the program in mid-answer. */
static void ctrl_c_stops_the_answer_and_keeps_the_conversation(void **state) {
    (void)state;
    struct pty pty = START(80, ENDLESS);
    prompt(&pty);
    type(&pty, "hello");
    pty_expect(&pty, "Territories Territories Territories");
    pty_send(&pty, "\003");
    pty_expect(&pty, " · stopped");
    prompt(&pty);
    assert_string_equal(message(&pty, 0), "hello");
    assert_int_equal(strncmp(message(&pty, 1), "Territories Territories", 23), 0);
    type(&pty, "and again");
    pty_expect(&pty, "Territories Territories");
    pty_send(&pty, "\003");
    pty_expect(&pty, " · stopped");
    prompt(&pty);
    pty_send(&pty, "\003"); /* the second one, at the prompt */
    assert_int_equal(pty_finish(&pty), 130);
}

static void ctrl_c_gives_a_line_up_and_twice_ends(void **state) {
    (void)state;
    struct pty pty = START(80);
    prompt(&pty);
    pty_send(&pty, "half a line");
    pty_expect(&pty, "half a line");
    pty_send(&pty, "\003");
    prompt(&pty);
    type(&pty, FRANCE);
    pty_expect(&pty, PARIS);
    prompt(&pty);
    assert_string_equal(message(&pty, 0), FRANCE);
    pty_send(&pty, "\003");
    pty_expect(&pty, "Ctrl+C once more");
    prompt(&pty);
    pty_send(&pty, "\003");
    assert_int_equal(pty_finish(&pty), 130);
}

/* The answer goes into a pipe that nobody reads: nothing but the handler can end the program. */
static void ctrl_c_twice_ends_a_program_that_is_stuck(void **state) {
    (void)state;
    char path[96];
    snprintf(path, sizeof path, "%s/pipe", home);
    assert_int_equal(mkfifo(path, 0600), 0);
    int unread = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), n_bytes = 0;
    int capacity = fcntl(unread, F_SETPIPE_SZ, 4096);
    struct pty pty = pty_start(80, path, (char *const[]){CHAT, ENDLESS, NULL});
    prompt(&pty);
    type(&pty, "hello");
    for (int n_waits = 0; n_bytes < capacity - 16 && n_waits < PTY_WAITS; n_waits++) {
        usleep(1000 * PTY_WAIT);
        assert_int_equal(ioctl(unread, FIONREAD, &n_bytes), 0);
    }
    assert_true(n_bytes >= capacity - 16);
    assert_int_equal(pty_finish_sending(&pty, "\003"), 130); /* two that come at once are one */
    close(unread);
}

static void a_resized_terminal_keeps_the_line(void **state) {
    (void)state;
    struct pty pty = START(100);
    struct winsize narrow = {.ws_row = 12, .ws_col = 40};
    prompt(&pty);
    pty_send(&pty, "a line that is longer than forty columns, so that it has to wrap");
    pty_expect(&pty, "wrap");
    ioctl(pty.fd, TIOCSWINSZ, &narrow);
    pty_expect(&pty, "\033[J");
    pty_expect(&pty, "wrap");
    pty_send(&pty, "\177\177\177\177 fold\r");
    pty_expect(&pty, " tok · ");
    prompt(&pty);
    assert_string_equal(message(&pty, 0),
                        "a line that is longer than forty columns, so that it has to  fold");
    end(&pty);
}

static void a_narrow_terminal_gets_a_short_line(void **state) {
    (void)state;
    struct pty pty = START(40);
    prompt(&pty);
    type(&pty, FRANCE);
    pty_expect(&pty, PARIS);
    pty_expect(&pty, " · 20/4096");
    prompt(&pty);
    type(&pty, "/help");
    pty_expect(&pty, "/quit");
    prompt(&pty);
    assert_false(pty_showed(&pty, "reused"));
    end(&pty);
}

static void edit_brings_the_question_back(void **state) {
    (void)state;
    struct pty pty = START(80);
    prompt(&pty);
    type(&pty, FRANCE);
    pty_expect(&pty, PARIS);
    prompt(&pty);
    type(&pty, "/edit");
    prompt(&pty);
    pty_expect(&pty, FRANCE);
    type(&pty, "\177\177\177\177\177\177\177\177\177Peru is");
    pty_expect(&pty, "**Lima**");
    prompt(&pty);
    assert_string_equal(message(&pty, 0), "The capital of Peru is");
    end(&pty);
}

static void an_edit_that_is_given_up_changes_nothing(void **state) {
    (void)state;
    struct pty pty = START(80);
    prompt(&pty);
    type(&pty, FRANCE);
    pty_expect(&pty, PARIS);
    prompt(&pty);
    type(&pty, "/edit");
    prompt(&pty);
    pty_expect(&pty, FRANCE);
    pty_send(&pty, "\003");
    pty_expect(&pty, "the question stays as it was");
    prompt(&pty);
    type(&pty, "The capital of Peru is");
    pty_expect(&pty, "**Lima**");
    prompt(&pty);
    assert_string_equal(message(&pty, 0), FRANCE);
    assert_string_equal(message(&pty, 2), "The capital of Peru is");
    end(&pty);
}

static void tab_completes_commands_and_files(void **state) {
    (void)state;
    struct pty pty = START(80);
    char line[128], path[96];
    snprintf(path, sizeof path, "%s/a text.txt", home);
    FILE *file = fopen(path, "w");
    fputs("The capital of France is", file);
    fclose(file);
    prompt(&pty);
    snprintf(line, sizeof line, "/rea\t%s/a\t", home);
    type(&pty, line);
    pty_expect(&pty, "in front of the next question");
    prompt(&pty);
    type(&pty, "yes");
    pty_expect(&pty, PARIS);
    prompt(&pty);
    end(&pty);
}

static void without_colours_there_are_none(void **state) {
    (void)state;
    setenv("NO_COLOR", "1", 1);
    struct pty pty = START(80);
    prompt(&pty);
    type(&pty, FRANCE);
    pty_expect(&pty, "context 20/4096");
    prompt(&pty);
    assert_false(pty_showed(&pty, "\033[2m"));
    assert_false(pty_showed(&pty, "\033[1m"));
    end(&pty);
    unsetenv("NO_COLOR");
}

/* What is typed while an answer is written is not mixed into it, and comes to the next prompt. */
static void typing_ahead_is_not_lost(void **state) {
    (void)state;
    struct pty pty = START(80, ENDLESS, "-c", "1024");
    prompt(&pty);
    type(&pty, "hello");
    pty_expect(&pty, "Territories Territories");
    pty_send(&pty, "/quit\r");
    pty_expect(&pty, "cut at the end");
    assert_int_equal(pty_finish(&pty), 0);
}

static void only_answers_go_to_a_file(void **state) {
    (void)state;
    char path[96], text[128];
    snprintf(path, sizeof path, "%s/answers", home);
    struct pty pty = pty_start(80, path, (char *const[]){CHAT, NULL});
    prompt(&pty);
    type(&pty, FRANCE);
    pty_expect(&pty, "context 20/4096");
    prompt(&pty);
    end(&pty);
    FILE *file = fopen(path, "r");
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = '\0';
    assert_string_equal(text, PARIS "\n");
}

static void a_terminal_that_goes_away_keeps_the_session(void **state) {
    (void)state;
    char path[96];
    snprintf(path, sizeof path, "%s/session", home);
    struct pty pty = START(80, "--session", path);
    prompt(&pty);
    type(&pty, FRANCE);
    pty_expect(&pty, "context 20/4096");
    prompt(&pty);
    kill(pty.pid, SIGHUP);
    assert_int_equal(pty_finish(&pty), 0);
    pty = START(80, "--session", path);
    pty_expect(&pty, "1 turn, 20 tokens are held");
    prompt(&pty);
    end(&pty);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_typed_is_answered),
        cmocka_unit_test(the_history_is_kept_from_run_to_run),
        cmocka_unit_test(pasted_lines_are_one_prompt),
        cmocka_unit_test(several_lines_can_be_typed),
        cmocka_unit_test(characters_are_characters_not_bytes),
        cmocka_unit_test(ctrl_c_stops_the_answer_and_keeps_the_conversation),
        cmocka_unit_test(ctrl_c_gives_a_line_up_and_twice_ends),
        cmocka_unit_test(ctrl_c_twice_ends_a_program_that_is_stuck),
        cmocka_unit_test(a_resized_terminal_keeps_the_line),
        cmocka_unit_test(a_narrow_terminal_gets_a_short_line),
        cmocka_unit_test(edit_brings_the_question_back),
        cmocka_unit_test(an_edit_that_is_given_up_changes_nothing),
        cmocka_unit_test(tab_completes_commands_and_files),
        cmocka_unit_test(without_colours_there_are_none),
        cmocka_unit_test(typing_ahead_is_not_lost),
        cmocka_unit_test(only_answers_go_to_a_file),
        cmocka_unit_test(a_terminal_that_goes_away_keeps_the_session),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
