/* command_output.c - runs a program of the system, with a limit on its time and its output. */
#include "cli/command_output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"

extern char **environ;

/* In a process group of its own, so that all of it can be killed; Ctrl+C does not reach it. */
static int start(const char *const *argv, int out, pid_t *child) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    int code = posix_spawn_file_actions_init(&files);
    if (code) return code;
    code = posix_spawnattr_init(&attributes);
    if (!code) {
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
        posix_spawnattr_setpgroup(&attributes, 0);
        posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
        posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        code = posix_spawnp(child, argv[0], &files, &attributes, (char *const *)(uintptr_t)argv,
                            environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&files);
    return code;
}

/* Up to the end of the output, or FCT_COMMAND_OUTPUT bytes of it. False: too late. */
static bool read_output(int in, double deadline, char *text) {
    for (size_t n = 0; n < FCT_COMMAND_OUTPUT;) {
        double left = deadline - fct_seconds();
        struct pollfd waiting = {.fd = in, .events = POLLIN};
        int ready = left > 0 ? poll(&waiting, 1, (int)(left * 1000) + 1) : 0;
        if (ready == 0) return false;
        if (ready < 0 && errno != EINTR) return true;
        if (ready < 0) continue;
        ssize_t got = read(in, text + n, FCT_COMMAND_OUTPUT - n);
        if (got <= 0) return true;
        n += (size_t)got;
    }
    return true;
}

/* Its exit code, or -1 if it is not over by the deadline or was killed. */
static int end_of(pid_t child, double deadline) {
    int state;
    for (;;) {
        pid_t ended = waitpid(child, &state, WNOHANG);
        if (ended == child) return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
        if ((ended < 0 && errno != EINTR) || fct_seconds() > deadline) return -1;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static void kill_group(pid_t child) {
    kill(-child, SIGKILL);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
}

char *fct_command_output(const char *const *argv, double seconds, fct_error *err) {
    int ends[2];
    pid_t child;
    double deadline = fct_seconds() + seconds;
    char *text = fct_new(FCT_COMMAND_OUTPUT + 1, err);
    if (!text) return NULL;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        fct_fail_errno(err, "%s: no pipe", argv[0]);
        fct_free(text);
        return NULL;
    }
    int code = start(argv, ends[1], &child);
    close(ends[1]);
    bool in_time = !code && read_output(ends[0], deadline, text);
    close(ends[0]);
    int ended = in_time ? end_of(child, deadline) : -1;
    if (!code && ended < 0) kill_group(child);
    if (!code && ended == 0) return text;
    fct_free(text);
    if (code) return fct_fail_null(err, FCT_ERR_IO, "%s: %s", argv[0], strerror(code));
    if (ended < 0)
        return fct_fail_null(err, FCT_ERR_IO, "%s: no answer within %g seconds", argv[0], seconds);
    return fct_fail_null(err, FCT_ERR_IO, "%s: ended with %d", argv[0], ended);
}
