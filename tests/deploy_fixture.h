/* deploy_fixture.h - `facet deploy` run as a program, with what it said; files to send. */
#ifndef TESTS_DEPLOY_FIXTURE_H
#define TESTS_DEPLOY_FIXTURE_H

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scratch_folder.h"

extern char **environ;

enum {
    DEPLOY_ARGUMENTS = 48,
    DEPLOY_FAILURE = 1,
    DEPLOY_USAGE = 2,
    DEPLOY_INTERRUPTED = 130,
    DEPLOY_KILLED = 137
};

static char told[1 << 16];

/* Starts FACET_PROGRAM deploy with these arguments, the last of them NULL; what it says goes into
 * the scratch file "told". */
static inline pid_t deploy_start(const char *first, va_list more) {
    const char *arguments[DEPLOY_ARGUMENTS] = {FACET_PROGRAM, "deploy"};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int n = 2;
    for (const char *at = first; at; at = va_arg(more, const char *)) {
        assert_true(n < DEPLOY_ARGUMENTS - 1);
        arguments[n++] = at;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, scratch_path("told"),
                                     O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    assert_int_equal(posix_spawn(&pid, FACET_PROGRAM, &actions, NULL,
                                 (char *const *)(uintptr_t)arguments, environ),
                     0);
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

/* Waits for its end; told holds what it said. */
static inline int deploy_wait(pid_t pid) {
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    FILE *file = fopen(scratch_path("told"), "r");
    assert_non_null(file);
    told[fread(told, 1, sizeof told - 1, file)] = 0;
    fclose(file);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline int deploy(const char *first, ...) {
    va_list more;
    va_start(more, first);
    pid_t pid = deploy_start(first, more);
    va_end(more);
    return deploy_wait(pid);
}

/* For deploy(...) that has to end with this code. */
static inline void assert_ended(int code, int wanted) {
    if (code != wanted) fail_msg("it ended with %d instead of %d and said: %s", code, wanted, told);
}

static inline void assert_told(const char *words) {
    if (!strstr(told, words)) fail_msg("\"%s\" is not in: %s", words, told);
}

/* The program itself, also where it is run through an emulator. */
static inline const char *deploy_program(void) {
    static char path[1024];
    const char *slash = strrchr(FACET_PROGRAM, '/');
    snprintf(path, sizeof path, "%.*s/facet", (int)(slash - FACET_PROGRAM), FACET_PROGRAM);
    return path;
}

/* A program that runs, n_bytes long: this one with noise behind it. */
static inline const char *deploy_big_program(const char *name, uint64_t n_bytes) {
    static char path[1024];
    strcpy(path, scratch_path(name));
    FILE *from = fopen(deploy_program(), "rb"), *to = fopen(path, "wb");
    uint64_t noise[1 << 13], n = 0, x = 88172645463325252u;
    size_t got;
    assert_non_null(from);
    assert_non_null(to);
    for (; (got = fread(noise, 1, sizeof noise, from)) > 0; n += got)
        assert_int_equal(fwrite(noise, 1, got, to), got);
    assert_true(n < n_bytes);
    for (; n < n_bytes; n += got) {
        for (size_t i = 0; i < sizeof noise / sizeof *noise; i++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            noise[i] = x;
        }
        got = n_bytes - n < sizeof noise ? (size_t)(n_bytes - n) : sizeof noise;
        assert_int_equal(fwrite(noise, 1, got, to), got);
    }
    fclose(from);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(chmod(path, 0755), 0);
    return path;
}

static inline int64_t size_of(const char *path) {
    struct stat info;
    return stat(path, &info) ? -1 : (int64_t)info.st_size;
}

static inline void assert_same_file(const char *a, const char *b) {
    static char left[1 << 16], right[1 << 16];
    FILE *x = fopen(a, "rb"), *y = fopen(b, "rb");
    if (!x || !y) fail_msg("%s and %s: one is missing", a, b);
    for (;;) {
        size_t n = fread(left, 1, sizeof left, x), m = fread(right, 1, sizeof right, y);
        if (n != m || memcmp(left, right, n) != 0) fail_msg("%s and %s differ", a, b);
        if (n == 0) break;
    }
    fclose(x);
    fclose(y);
}

/* The first n_bytes of a file. */
static inline void copy_begin(const char *from, const char *to, size_t n_bytes) {
    char command[3000];
    snprintf(command, sizeof command, "head -c %zu '%s' >'%s'", n_bytes, from, to);
    assert_int_equal(system(command), 0);
}

static inline void flip_byte(const char *path, int64_t offset) {
    unsigned char byte;
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, offset), 1);
    byte ^= 0x40;
    assert_int_equal(pwrite(fd, &byte, 1, offset), 1);
    close(fd);
}

#endif
