/* pty.h - for tests: the program on a terminal that the test types on. */
#ifndef PTY_H
#define PTY_H

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

/* Patience is counted in short waits, not by the clock: a test that is stopped for a while with its
 * program has not waited. */
enum {
    PTY_WAIT = 50, /* milliseconds */
    PTY_WAITS = TEST_EMULATED ? 12000 : 1200,
    PTY_MOST = 1 << 20 /* bytes */
};

struct pty {
    int fd;
    pid_t pid;
    char *shown;          /* everything that came */
    size_t n_shown, seen; /* the test has looked at the first `seen` bytes */
};

/* The child's side: the terminal becomes its own, on all streams but one that goes to a file. Keys
 * that are signals are so also where the test runs in the background of a script, whose children
 * are born to ignore Ctrl+C. */
static void pty_run(const char *terminal, const char *out_path, char *const *arguments) {
    static const int keys[] = {SIGINT, SIGQUIT, SIGTSTP, SIGHUP};
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) signal(keys[i], SIG_DFL);
    setsid();
    int fd = open(terminal, O_RDWR);
    int out = out_path ? open(out_path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : fd;
    ioctl(fd, TIOCSCTTY, 0);
    dup2(fd, 0);
    dup2(out, 1);
    dup2(fd, 2);
    close(fd);
    execv(FACET_PROGRAM, arguments);
    _exit(127);
}

/* Starts the program with its standard output on the terminal, or in a file. */
static struct pty pty_start(int columns, const char *out_path, char *const *arguments) {
    struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns};
    struct pty pty = {.fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)};
    if (pty.fd < 0 || grantpt(pty.fd) != 0 || unlockpt(pty.fd) != 0) {
        print_message("SKIP: there are no terminals here (is /dev/pts mounted?)\n");
        skip();
    }
    char terminal[64];
    assert_int_equal(ptsname_r(pty.fd, terminal, sizeof terminal), 0);
    assert_int_equal(ioctl(pty.fd, TIOCSWINSZ, &size), 0);
    pty.shown = calloc(PTY_MOST + 1, 1);
    pty.pid = fork();
    assert_true(pty.pid >= 0);
    if (pty.pid == 0) pty_run(terminal, out_path, arguments);
    return pty;
}

static void pty_send(const struct pty *pty, const char *keys) {
    assert_int_equal(write(pty->fd, keys, strlen(keys)), (ssize_t)strlen(keys));
}

/* Reads what there is, waiting for it a little. False: nothing came. */
static bool pty_read(struct pty *pty) {
    struct pollfd readable = {pty->fd, POLLIN, 0};
    if (poll(&readable, 1, PTY_WAIT) <= 0) return false;
    ssize_t n = read(pty->fd, pty->shown + pty->n_shown, PTY_MOST - pty->n_shown);
    if (n <= 0) return false;
    pty->n_shown += (size_t)n;
    assert_true(pty->n_shown < PTY_MOST);
    return true;
}

static void pty_fail(const struct pty *pty, const char *what) {
    kill(pty->pid, SIGKILL);
    fail_msg("%s; behind what was expected before there was:\n%s", what, pty->shown + pty->seen);
}

/* Waits until the text shows behind what was looked at before. */
__attribute__((unused)) static void pty_expect(struct pty *pty, const char *text) {
    char *found, what[128];
    snprintf(what, sizeof what, "\"%.100s\" never came", text);
    for (int n_waits = 0;; n_waits += !pty_read(pty)) {
        found = memmem(pty->shown + pty->seen, pty->n_shown - pty->seen, text, strlen(text));
        if (found) break;
        if (n_waits == PTY_WAITS) pty_fail(pty, what);
    }
    pty->seen = (size_t)(found - pty->shown) + strlen(text);
}

/* Waits until the program reads keys one by one: what is typed before, the terminal would still
 * turn into lines, and Ctrl+D into an end. The master tells the settings of the other side. */
__attribute__((unused)) static void pty_expect_keys(struct pty *pty) {
    struct termios settings;
    for (int n_waits = 0;; n_waits += !pty_read(pty)) {
        assert_int_equal(tcgetattr(pty->fd, &settings), 0);
        if (!(settings.c_lflag & ICANON)) return;
        if (n_waits == PTY_WAITS) pty_fail(pty, "the program never read single keys");
    }
}

/* Did the text come anywhere so far? */
__attribute__((unused)) static bool pty_showed(const struct pty *pty, const char *text) {
    return memmem(pty->shown, pty->n_shown, text, strlen(text)) != NULL;
}

/* Reads to the end of the program, sending keys until it comes; returns its exit code. */
static int pty_finish_sending(struct pty *pty, const char *keys) {
    int status;
    for (int n_waits = 0; waitpid(pty->pid, &status, WNOHANG) == 0;) {
        if (*keys) pty_send(pty, keys);
        if (!pty_read(pty)) usleep(1000 * PTY_WAIT), n_waits++;
        if (n_waits == PTY_WAITS) pty_fail(pty, "the program did not end");
    }
    close(pty->fd);
    free(pty->shown);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

__attribute__((unused)) static int pty_finish(struct pty *pty) {
    return pty_finish_sending(pty, "");
}

#endif
