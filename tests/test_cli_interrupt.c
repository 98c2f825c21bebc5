/* test_cli_interrupt.c - Ctrl+C while an answer is written. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "facet.h"

extern char **environ;

#define MODEL MODELS "/demo.facet"
#define PIPE_BYTES 4096   /* the least that Linux gives: what is not read soon stops the writer */
#define MOST_WRITTEN 32   /* bytes at once, which wait for room for all of them */
#define PATIENCE 60000000 /* microseconds */

/* A program that writes the longest word it knows, a capital's 18 bytes, until its context is full:
 * more than the pipe holds. */
struct run {
    pid_t pid;
    int out, err;
};

static struct run start(void) {
    static const char *const arguments[] = {
        "facet", "run",           "-m", MODEL,          "-t",        "1",     "-c",
        "400",   "--temperature", "0",  "--logit-bias", "1988=1000", "hello", NULL};
    int out[2], err[2];
    struct run run;
    posix_spawn_file_actions_t actions;
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    assert_true(fcntl(out[1], F_SETPIPE_SZ, PIPE_BYTES) > 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_adddup2(&actions, err[1], 2);
    assert_int_equal(
        posix_spawn(&run.pid, FACET_PROGRAM, &actions, NULL, (char *const *)arguments, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    close(err[1]);
    run.out = out[0];
    run.err = err[0];
    return run;
}

/* Waits until the program stands still because nobody reads what it has written. */
static void wait_until_stuck(const struct run *run) {
    int n_bytes = 0, capacity = fcntl(run->out, F_GETPIPE_SZ);
    for (int waited = 0; n_bytes < capacity - MOST_WRITTEN && waited < PATIENCE; waited += 10000) {
        usleep(10000);
        assert_int_equal(ioctl(run->out, FIONREAD, &n_bytes), 0);
    }
    assert_true(n_bytes >= capacity - MOST_WRITTEN);
    usleep(200000);
}

/* Reads all that is left of both streams, and returns the exit code; *told gets what was on stderr.
 */
static int finish(struct run *run, char *told, size_t told_bytes) {
    char piece[4096];
    size_t used = 0;
    ssize_t n;
    int status;
    while (read(run->out, piece, sizeof piece) > 0) {
    }
    while ((n = read(run->err, told + used, told_bytes - 1 - used)) > 0) used += (size_t)n;
    told[used] = '\0';
    close(run->out);
    close(run->err);
    assert_int_equal(waitpid(run->pid, &status, 0), run->pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void one_interrupt_ends_the_answer(void **state) {
    (void)state;
    char told[4096];
    struct run run = start();
    wait_until_stuck(&run);
    kill(run.pid, SIGINT);
    assert_int_equal(finish(&run, told, sizeof told), 0);
    assert_non_null(strstr(told, "ended by cancelled"));
}

/* Has the program not been told yet? Two signals that wait are one. */
static bool waits(pid_t pid, int signal_number) {
    char path[64], line[256];
    unsigned long long waiting = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "ShdPnd: %llx", &waiting) == 1) break;
    fclose(file);
    return waiting >> (signal_number - 1) & 1;
}

static void a_second_interrupt_ends_the_program(void **state) {
    (void)state;
    int status;
    struct run run = start();
    wait_until_stuck(&run);
    kill(run.pid, SIGINT);
    while (waits(run.pid, SIGINT)) usleep(1000);
    assert_int_equal(waitpid(run.pid, &status, WNOHANG),
                     0); /* stuck, so it could not end by itself */
    kill(run.pid, SIGINT);
    assert_int_equal(waitpid(run.pid, &status, 0), run.pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 130);
    close(run.out);
    close(run.err);
}

static void without_an_interrupt_the_answer_fills_the_context(void **state) {
    (void)state;
    char told[4096];
    struct run run = start();
    assert_int_equal(finish(&run, told, sizeof told), 0);
    assert_non_null(strstr(told, "ended by context"));
}

/* As in the background of a script, where Ctrl+C is meant for the foreground. */
static void an_ignored_interrupt_stays_ignored(void **state) {
    (void)state;
    char told[4096];
    signal(SIGINT, SIG_IGN);
    struct run run = start();
    signal(SIGINT, SIG_DFL);
    wait_until_stuck(&run);
    kill(run.pid, SIGINT);
    kill(run.pid, SIGINT);
    int code = finish(&run, told, sizeof told);
    /* qemu catches what the program ignores, and now and then its write() ends with EINTR. */
    if (TEST_EMULATED && code == 1 && strstr(told, "Interrupted system call")) skip();
    if (code != 0) fail_msg("it ended early: %s", told);
    assert_non_null(strstr(told, "ended by context"));
}

int main(void) {
    signal(SIGINT, SIG_DFL); /* a script's background jobs are born to ignore it */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_interrupt_ends_the_answer),
        cmocka_unit_test(a_second_interrupt_ends_the_program),
        cmocka_unit_test(without_an_interrupt_the_answer_fills_the_context),
        cmocka_unit_test(an_ignored_interrupt_stays_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
