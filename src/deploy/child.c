/* child.c - a program of the system, run with pipes at its ends. */
#include "deploy/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/threads.h"

extern char **environ;

static void close_both(int ends[2]) {
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0) close(ends[i]);
}

/* Signals that we ignore or catch are the program's own again. */
static int spawn(pid_t *pid, const char *const *arguments, const int ends[3]) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE);
    if (posix_spawn_file_actions_init(&actions)) return ENOMEM;
    if (posix_spawnattr_init(&attributes)) {
        posix_spawn_file_actions_destroy(&actions);
        return ENOMEM;
    }
    int number = posix_spawnattr_setsigdefault(&attributes, &signals);
    if (!number) number = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    for (int i = 0; !number && i < 3; i++)
        if (ends[i] >= 0) number = posix_spawn_file_actions_adddup2(&actions, ends[i], i);
    if (!number)
        number = posix_spawnp(pid, arguments[0], &actions, &attributes,
                              (char *const *)(uintptr_t)arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return number;
}

fct_status fct_child_start(struct fct_child *child, const char *const *arguments, bool with_err,
                           fct_error *err) {
    int in[2] = {-1, -1}, out[2] = {-1, -1}, fail[2] = {-1, -1};
    *child = FCT_CHILD_NONE;
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || (with_err && pipe2(fail, O_CLOEXEC))) {
        fct_status status = fct_fail_errno(err, "%s: cannot be started", arguments[0]);
        close_both(in);
        close_both(out);
        return status;
    }
    const int ends[3] = {in[0], out[1], fail[1]};
    int number = spawn(&child->pid, arguments, ends);
    if (number) {
        close_both(in);
        close_both(out);
        close_both(fail);
        *child = FCT_CHILD_NONE;
        errno = number;
        return fct_fail_errno(err, "%s: cannot be started", arguments[0]);
    }
    close(in[0]);
    close(out[1]);
    if (with_err) close(fail[1]);
    child->in = in[1];
    child->out = out[0];
    child->err = fail[0];
    return FCT_OK;
}

static int exit_code(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int fct_child_end(struct fct_child *child, double seconds) {
    const struct timespec moment = {0, 10000000};
    double until = fct_seconds() + seconds;
    pid_t pid = child->pid, ended = 0;
    int status = 0;
    if (child->in >= 0) close(child->in);
    if (child->out >= 0) close(child->out);
    if (child->err >= 0) close(child->err);
    *child = FCT_CHILD_NONE;
    if (pid <= 0) return -1;
    while ((ended = waitpid(pid, &status, WNOHANG)) == 0 && fct_seconds() < until)
        nanosleep(&moment, NULL);
    if (ended == 0) {
        kill(pid, SIGKILL);
        while ((ended = waitpid(pid, &status, 0)) < 0 && errno == EINTR) continue;
    }
    return ended == pid ? exit_code(status) : -1;
}
