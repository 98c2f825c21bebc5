/* memory_group.h - a control group of its own with a limit of memory, page cache included, for a
 * program that a test starts: version 1 or 2, where this process may make one. */
#ifndef TESTS_MEMORY_GROUP_H
#define TESTS_MEMORY_GROUP_H

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct memory_group {
    char folder[PATH_MAX];
    bool second; /* version 2 */
};

static inline bool group_write(const struct memory_group *g, const char *name, long long value) {
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%s", g->folder, name);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool written = fd >= 0 && dprintf(fd, "%lld\n", value) > 0;
    if (fd >= 0) close(fd);
    return written;
}

/* The number in a file of the group, or behind a key in it; -1 if there is none. */
static inline long long group_read(const struct memory_group *g, const char *name,
                                   const char *key) {
    char path[PATH_MAX + 64], line[256];
    long long value = -1;
    snprintf(path, sizeof path, "%s/%s", g->folder, name);
    FILE *file = fopen(path, "re");
    while (file && value < 0 && fgets(line, sizeof line, file))
        if (!strncmp(line, key, strlen(key))) value = atoll(line + strlen(key));
    if (file) fclose(file);
    return value;
}

/* Where groups of version 1 hang below: this process's own, "" if it cannot be told. */
static inline void group_own_path(char out[PATH_MAX]) {
    char line[PATH_MAX];
    FILE *file = fopen("/proc/self/cgroup", "re");
    *out = 0;
    while (file && fgets(line, sizeof line, file)) {
        char *at = strstr(line, ":memory:");
        if (at) snprintf(out, PATH_MAX, "%.*s", (int)strcspn(at + 8, "\n"), at + 8);
    }
    if (file) fclose(file);
}

static inline bool group_made_at(struct memory_group *g, const char *parent, bool second,
                                 long long bytes) {
    g->second = second;
    int n = snprintf(g->folder, sizeof g->folder, "%s/facet-test-%d", parent, (int)getpid());
    if (n < 0 || (size_t)n >= sizeof g->folder || mkdir(g->folder, 0755) != 0) return false;
    if (second) group_write(g, "memory.swap.max", 0);
    if (!second) group_write(g, "memory.swappiness", 0);
    if (group_write(g, second ? "memory.max" : "memory.limit_in_bytes", bytes)) return true;
    rmdir(g->folder);
    return false;
}

/* False: this process may make none. */
static inline bool group_make(struct memory_group *g, long long bytes) {
    char own[PATH_MAX], parent[PATH_MAX + 64];
    group_own_path(own);
    snprintf(parent, sizeof parent, "/sys/fs/cgroup/memory%s", own);
    return group_made_at(g, parent, false, bytes) ||
           group_made_at(g, "/sys/fs/cgroup/memory", false, bytes) ||
           group_made_at(g, "/sys/fs/cgroup", true, bytes);
}

static inline void group_remove(const struct memory_group *g) {
    for (int i = 0; i < 100 && rmdir(g->folder) != 0; i++) usleep(10000);
}

/* The most it ever held; -1: this kernel does not say. */
static inline long long group_peak(const struct memory_group *g) {
    return group_read(g, g->second ? "memory.peak" : "memory.max_usage_in_bytes", "");
}

/* How often something had to go because the limit was reached. */
static inline long long group_times_at_limit(const struct memory_group *g) {
    return g->second ? group_read(g, "memory.events", "max ") : group_read(g, "memory.failcnt", "");
}

/* Runs a program in the group (NULL: in none), its output and errors in files; its exit code, or
 * 128 + the signal that killed it. */
static inline int group_run(const struct memory_group *g, char *const *argv, const char *out,
                            const char *err) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        if (g && !group_write(g, "cgroup.procs", (long long)getpid())) _exit(126);
        int files[2] = {open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600),
                        open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600)};
        dup2(files[0], 1);
        dup2(files[1], 2);
        execv(argv[0], argv);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#endif
