/* cgroup.c - how many CPUs the control groups of this process leave it. */
#include "base/cgroup.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"

/* Whole CPUs of a quota; what is left over is not counted, as threads that wait for each other all
 * stand still once the quota of a period is used up. */
static int whole_cpus(long long quota, long long period) {
    if (quota <= 0 || period <= 0) return 0;
    long long n = quota / period;
    return n < 1 ? 1 : n > INT_MAX ? INT_MAX : (int)n;
}

static char *read_value(const char *folder, const char *name) {
    char *path = fct_path_join(folder, name, NULL);
    char *text = path ? fct_file_read(path, 4096, NULL, NULL) : NULL;
    fct_free(path);
    return text;
}

/* Version 2: cpu.max holds "quota period", or "max period". */
static int group_cpus_2(const char *folder) {
    char *text = read_value(folder, "cpu.max");
    long long quota, period;
    int n = text && sscanf(text, "%lld %lld", &quota, &period) == 2 ? whole_cpus(quota, period) : 0;
    fct_free(text);
    return n;
}

/* Version 1: a file each; a quota of -1 is none. */
static int group_cpus_1(const char *folder) {
    char *quota = read_value(folder, "cpu.cfs_quota_us");
    char *period = read_value(folder, "cpu.cfs_period_us");
    int n = quota && period ? whole_cpus(atoll(quota), atoll(period)) : 0;
    fct_free(quota);
    fct_free(period);
    return n;
}

/* The smallest quota of a group and the groups above it. In a container the group's path may be the
 * host's and not be found below mount; its mount's own files then count. */
static int path_cpus(const char *mount, const char *group, int (*group_cpus)(const char *folder)) {
    char folder[PATH_MAX];
    int n = snprintf(folder, sizeof folder, "%s%s", mount, group);
    if (n < 0 || (size_t)n >= sizeof folder) return 0;
    size_t top = strlen(mount);
    for (int smallest = 0;;) {
        int cpus = group_cpus(folder);
        if (cpus && (!smallest || cpus < smallest)) smallest = cpus;
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

/* One line of /proc/self/cgroup, "number:controllers:path". */
static int line_cpus(char *line, const char *mount) {
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path) return 0;
    *controllers++ = *path++ = 0;
    bool second = !*controllers; /* version 2 names no controllers */
    if (!second && !lists(controllers, "cpu")) return 0;
    static const char *const places_1[] = {"/cpu", "/cpu,cpuacct", "/cpuacct,cpu"};
    static const char *const places_2[] = {"", "/unified"};
    int smallest = 0;
    for (int i = 0; i < (second ? 2 : 3); i++) {
        char place[PATH_MAX];
        int n = snprintf(place, sizeof place, "%s%s", mount, second ? places_2[i] : places_1[i]);
        if (n < 0 || (size_t)n >= sizeof place) continue;
        int cpus = path_cpus(place, path, second ? group_cpus_2 : group_cpus_1);
        if (cpus && (!smallest || cpus < smallest)) smallest = cpus;
    }
    return smallest;
}

int fct_cgroup_cpus(const char *groups, const char *mount) {
    char *copy = fct_copy_text(groups, strlen(groups), NULL), *rest = NULL;
    int smallest = 0;
    for (char *line = copy ? strtok_r(copy, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest)) {
        int cpus = line_cpus(line, mount);
        if (cpus && (!smallest || cpus < smallest)) smallest = cpus;
    }
    fct_free(copy);
    return smallest;
}
