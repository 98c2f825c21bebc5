/* test_chat_killed.c - the program killed at any moment of a save: the file is the old one or the
 * new one, byte for byte, and the program goes on from either. */
#include "made_model.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>

#include "base/file.h"
#include "rounds.h"

enum { N_KILLS = ROUNDS(24), MOST = 64 << 20 };

#define DEMO MODELS "/demo.facet"
#define FRANCE "The capital of France is"
#define PERU "The capital of Peru is"
#define LIMA "The capital of Peru is **Lima**.\n"

/* Words that make the session's file so large that writing it takes a while. */
static char long_system[4000];

static int set_up(void **state) {
    (void)state;
    for (size_t i = 0; i + 6 < sizeof long_system; i += 6) memcpy(long_system + i, "Lima. ", 7);
    setenv("HOME", made_path(""), 1);
    return 0;
}

struct program {
    pid_t pid;
    int in, out; /* ends of pipes; -1: closed */
};

static struct program start(char *const *arguments) {
    int in[2], out[2];
    assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
    struct program program = {fork(), in[1], out[0]};
    assert_true(program.pid >= 0);
    if (program.pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        execv(FACET_PROGRAM, arguments);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    return program;
}

static void say(struct program *program, const char *text) {
    assert_int_equal(write(program->in, text, strlen(text)), (ssize_t)strlen(text));
}

static void close_input(struct program *program) {
    if (program->in >= 0) close(program->in);
    program->in = -1;
}

/* Reads to this line's end: what is asked next begins now. */
static void expect_answer(struct program *program, const char *answer) {
    char text[512];
    size_t n = 0;
    while (n < strlen(answer)) {
        ssize_t got = read(program->out, text + n, strlen(answer) - n);
        if (got <= 0) fail_msg("the answer never came");
        n += (size_t)got;
    }
    text[n] = '\0';
    assert_string_equal(text, answer);
}

static int end(struct program *program) {
    int status;
    close_input(program);
    assert_int_equal(waitpid(program->pid, &status, 0), program->pid);
    close(program->out);
    return status;
}

/* ---- the ways to save ---- */

static char path[300];

#define ARGUMENTS(command, ...)                                                                    \
    (char *const[]) {                                                                              \
        "facet", command, "--quiet", "-t", "1", "-m", DEMO, "--temperature", "0", __VA_ARGS__,     \
            NULL                                                                                   \
    }

/* Each begins with the conversation in the file, asks of Peru, and is about to save. */
static struct program by_command(void) {
    char command[320];
    struct program program = start(ARGUMENTS("chat", "--load", path));
    say(&program, PERU "\n");
    expect_answer(&program, LIMA);
    snprintf(command, sizeof command, "/save %s\n", path);
    say(&program, command);
    return program;
}
static struct program at_the_end(void) {
    struct program program = start(ARGUMENTS("chat", "--session", path));
    say(&program, PERU "\n");
    close_input(&program);
    expect_answer(&program, LIMA);
    return program;
}
static struct program by_run(void) {
    struct program program = start(ARGUMENTS("run", "--session", path, PERU));
    expect_answer(&program, LIMA);
    return program;
}

/* ---- files ---- */

struct bytes {
    char *data;
    size_t n;
};

static struct bytes bytes_of(const char *file) {
    struct bytes bytes;
    fct_error err;
    bytes.data = fct_file_read(file, MOST, &bytes.n, &err);
    if (!bytes.data) fail_msg("%s", err.message);
    return bytes;
}

static bool are(struct bytes a, struct bytes b) {
    return a.n == b.n && memcmp(a.data, b.data, a.n) == 0;
}

static void put(struct bytes bytes) {
    FILE *file = fopen(path, "w");
    assert_int_equal(fwrite(bytes.data, 1, bytes.n, file), bytes.n);
    assert_int_equal(fclose(file), 0);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The program was asked to save; it is left alone so long, then killed. */
static void kill_after(struct program *program, double delay) {
    struct timespec left = {(time_t)delay, (long)(1e9 * (delay - (double)(time_t)delay))};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
    kill(program->pid, SIGKILL);
    end(program);
}

static void check_that_it_goes_on(void) {
    struct program program = start(ARGUMENTS("chat", "--load", path));
    say(&program, PERU "\n");
    expect_answer(&program, LIMA);
    assert_int_equal(end(&program), 0);
}

/* The file before, with one question in it. */
static struct bytes make_old(const char *name) {
    char command[320];
    snprintf(path, sizeof path, "%s", made_path(name));
    struct program program = start(ARGUMENTS("chat", "--system", long_system));
    snprintf(command, sizeof command, "/save %s\n", path);
    say(&program, FRANCE "\n");
    say(&program, command);
    assert_int_equal(end(&program), 0);
    return bytes_of(path);
}

/* Delays go from none to more than a whole save takes. What the last kill leaves behind must not
 * be in the way of the next save. */
static void killed_at_any_moment(const char *name, struct program (*save)(void)) {
    int n_old = 0, n_new = 0;
    struct bytes old = make_old(name);
    struct program whole = save();
    double before = seconds();
    assert_int_equal(end(&whole), 0);
    double took = seconds() - before;
    struct bytes new = bytes_of(path);
    assert_false(are(old, new));
    for (int round = 0; round < N_KILLS; round++) {
        put(old);
        struct program program = save();
        kill_after(&program, 1.25 * took * round / (N_KILLS - 1));
        struct bytes left = bytes_of(path);
        bool is_old = are(left, old), is_new = are(left, new);
        if (!is_old && !is_new) fail_msg("round %d: neither the old file nor the new one", round);
        n_old += is_old;
        n_new += is_new;
        fct_free(left.data);
    }
    put(old);
    check_that_it_goes_on();
    whole = save();
    assert_int_equal(end(&whole), 0);
    struct bytes last = bytes_of(path);
    assert_true(are(last, new));
    check_that_it_goes_on();
    printf("%s: %d times the old file, %d times the new one\n", name, n_old, n_new);
    assert_true(n_old > 0);
    fct_free(old.data);
    fct_free(new.data);
    fct_free(last.data);
}

static void a_killed_save_leaves_the_old_session_or_the_new_one(void **state) {
    (void)state;
    killed_at_any_moment("by-command", by_command);
}

static void a_killed_save_of_text_leaves_the_old_text_or_the_new_one(void **state) {
    (void)state;
    killed_at_any_moment("by-command.json", by_command);
}

static void a_chat_killed_at_its_end_leaves_the_old_session_or_the_new_one(void **state) {
    (void)state;
    killed_at_any_moment("at-the-end", at_the_end);
}

static void a_run_killed_at_its_end_leaves_the_old_session_or_the_new_one(void **state) {
    (void)state;
    killed_at_any_moment("by-run", by_run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_save_leaves_the_old_session_or_the_new_one),
        cmocka_unit_test(a_killed_save_of_text_leaves_the_old_text_or_the_new_one),
        cmocka_unit_test(a_chat_killed_at_its_end_leaves_the_old_session_or_the_new_one),
        cmocka_unit_test(a_run_killed_at_its_end_leaves_the_old_session_or_the_new_one),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
