/* cgroup.h - how many CPUs and how much memory the control groups of this process leave it. */
#ifndef FCT_BASE_CGROUP_H
#define FCT_BASE_CGROUP_H

/* Whole CPUs that the quotas allow, at least 1; 0 if there is no quota. groups is the text of
 * /proc/self/cgroup, mount where the control groups are mounted (/sys/fs/cgroup). */
int fct_cgroup_cpus(const char *groups, const char *mount);
/* Bytes below the lowest memory limit of the group and of those above it (memory.max and
 * memory.high of version 2, memory.limit_in_bytes of version 1), what is cached of files not
 * counted as used; -1 if there is no limit. */
long long fct_cgroup_memory_left(const char *groups, const char *mount);
/* The lowest memory limit itself; -1 if there is none. */
long long fct_cgroup_memory_limit(const char *groups, const char *mount);

#endif
