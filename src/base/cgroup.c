/* cgroup.c - how many CPUs and how much memory the control groups of this process leave it. */
#include "base/cgroup.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"

/* Whole CPUs of a quota; what is left over is not counted, as threads that wait for each other all
 * stand still once the quota of a period is used up. */
static long long whole_cpus(long long quota, long long period) {
    if (quota <= 0 || period <= 0) return -1;
    long long n = quota / period;
    return n < 1 ? 1 : n > INT_MAX ? INT_MAX : n;
}

static char *read_value(const char *folder, const char *name) {
    char *path = fct_path_join(folder, name, NULL);
    char *text = path ? fct_file_read(path, 1 << 16, NULL, NULL) : NULL;
    fct_free(path);
    return text;
}

/* Version 2: cpu.max holds "quota period", or "max period". */
static long long group_cpus_2(const char *folder) {
    char *text = read_value(folder, "cpu.max");
    long long quota, period;
    long long n =
        text && sscanf(text, "%lld %lld", &quota, &period) == 2 ? whole_cpus(quota, period) : -1;
    fct_free(text);
    return n;
}

/* Version 1: a file each; a quota of -1 is none. */
static long long group_cpus_1(const char *folder) {
    char *quota = read_value(folder, "cpu.cfs_quota_us");
    char *period = read_value(folder, "cpu.cfs_period_us");
    long long n = quota && period ? whole_cpus(atoll(quota), atoll(period)) : -1;
    fct_free(quota);
    fct_free(period);
    return n;
}

/* A number, or -1 for "max" and where there is none. */
static long long number_in(const char *folder, const char *name) {
    char *text = read_value(folder, name);
    char *end = text;
    long long value = text ? strtoll(text, &end, 10) : -1;
    if (text && end == text) value = -1;
    fct_free(text);
    return value;
}

/* The number behind key at the start of a line of memory.stat; 0 if there is none. */
static long long statistic(const char *text, const char *key) {
    size_t n = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (!strncmp(line, key, n) && line[n] == ' ') return atoll(line + n);
    return 0;
}

/* What is cached of files counts as used, though the kernel gives it back when memory runs short:
 * not only the inactive part of it, also what was read twice. */
static long long cached_files(const char *folder, const char *inactive, const char *active) {
    char *text = read_value(folder, "memory.stat");
    long long value = statistic(text, inactive) + statistic(text, active);
    fct_free(text);
    return value;
}

static long long left_of(long long limit, long long used, long long cached) {
    if (limit < 0 || used < 0) return -1;
    return used - cached >= limit ? 0 : cached > used ? limit : limit - used + cached;
}

static long long smaller(long long a, long long b) { return a < 0 || (b >= 0 && b < a) ? b : a; }

/* Version 2: a number or "max". Above memory.high nobody is killed, but everything is held up until
 * enough was given back: for weights that every token reads that is no better. */
static long long group_limit_2(const char *folder) {
    return smaller(number_in(folder, "memory.max"), number_in(folder, "memory.high"));
}

static long long group_memory_2(const char *folder) {
    return left_of(group_limit_2(folder), number_in(folder, "memory.current"),
                   cached_files(folder, "inactive_file", "active_file"));
}

/* Version 1 writes no limit as the largest number of whole pages. What groups above allow stands in
 * memory.stat also where a container does not see them. */
static long long group_limit_1(const char *folder) {
    long long own = number_in(folder, "memory.limit_in_bytes");
    char *text = read_value(folder, "memory.stat");
    long long above = statistic(text, "hierarchical_memory_limit");
    fct_free(text);
    if (own >= LLONG_MAX / 2) own = -1;
    return above <= 0 || above >= LLONG_MAX / 2 ? own : smaller(own, above);
}

static long long group_memory_1(const char *folder) {
    return left_of(group_limit_1(folder), number_in(folder, "memory.usage_in_bytes"),
                   cached_files(folder, "total_inactive_file", "total_active_file"));
}

/* What a controller's group says: -1 for no limit. */
typedef long long group_value(const char *folder);

/* The smallest value of a group and the groups above it. In a container the group's path may be the
 * host's and not be found below mount; its mount's own files then count. */
static long long path_value(const char *mount, const char *group, group_value *value) {
    char folder[PATH_MAX];
    int n = snprintf(folder, sizeof folder, "%s%s", mount, group);
    if (n < 0 || (size_t)n >= sizeof folder) return -1;
    size_t top = strlen(mount);
    for (long long smallest = -1;;) {
        smallest = smaller(smallest, value(folder));
        char *slash = strrchr(folder + top, '/');
        if (!slash) return smallest;
        *slash = 0;
    }
}

static bool lists(const char *controllers, const char *name) {
    size_t n = strlen(name);
    for (const char *at = controllers; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (!strncmp(at, name, n) && (at[n] == 0 || at[n] == ',')) return true;
    return false;
}

struct controller {
    const char *name;
    const char *places[3]; /* where version 1 mounts it */
    group_value *value_1, *value_2;
};
static const struct controller cpu = {
    "cpu", {"/cpu", "/cpu,cpuacct", "/cpuacct,cpu"}, group_cpus_1, group_cpus_2};
static const struct controller memory = {"memory", {"/memory"}, group_memory_1, group_memory_2};
static const struct controller memory_limit = {"memory", {"/memory"}, group_limit_1, group_limit_2};

/* One line of /proc/self/cgroup, "number:controllers:path". */
static long long line_value(char *line, const char *mount, const struct controller *controller) {
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path) return -1;
    *controllers++ = *path++ = 0;
    bool second = !*controllers; /* version 2 names no controllers */
    if (!second && !lists(controllers, controller->name)) return -1;
    static const char *const places_2[3] = {"", "/unified"};
    const char *const *places = second ? places_2 : controller->places;
    long long smallest = -1;
    for (int i = 0; i < 3 && places[i]; i++) {
        char place[PATH_MAX];
        int n = snprintf(place, sizeof place, "%s%s", mount, places[i]);
        if (n < 0 || (size_t)n >= sizeof place) continue;
        smallest = smaller(
            smallest, path_value(place, path, second ? controller->value_2 : controller->value_1));
    }
    return smallest;
}

static long long value_of(const char *groups, const char *mount,
                          const struct controller *controller) {
    char *copy = fct_copy_text(groups, strlen(groups), NULL), *rest = NULL;
    long long smallest = -1;
    for (char *line = copy ? strtok_r(copy, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest))
        smallest = smaller(smallest, line_value(line, mount, controller));
    fct_free(copy);
    return smallest;
}

int fct_cgroup_cpus(const char *groups, const char *mount) {
    long long cpus = value_of(groups, mount, &cpu);
    return cpus < 0 ? 0 : (int)cpus;
}

long long fct_cgroup_memory_left(const char *groups, const char *mount) {
    return value_of(groups, mount, &memory);
}

long long fct_cgroup_memory_limit(const char *groups, const char *mount) {
    return value_of(groups, mount, &memory_limit);
}
