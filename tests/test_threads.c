/* test_threads.c - the pool runs every member, the barrier holds, also with more threads than CPUs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/threads.h"
#include "scratch_folder.h"

enum { MAX_MEMBERS = 32, ROUNDS = 2000 };

struct meeting {
    int members, rounds;
    int at[MAX_MEMBERS]; /* the round each member is in: plain memory, the barrier makes it visible
                          */
    _Atomic int n_wrong, n_calls;
};

/* Writes its own place, meets, reads everybody's, meets. */
static void meet_often(void *user, struct fct_team team) {
    struct meeting *meeting = user;
    atomic_fetch_add(&meeting->n_calls, 1);
    for (int round = 1; round <= meeting->rounds; round++) {
        meeting->at[team.index] = round;
        fct_team_wait(team);
        for (int i = 0; i < team.size; i++)
            if (meeting->at[i] != round) atomic_fetch_add(&meeting->n_wrong, 1);
        fct_team_wait(team);
    }
}

static void check_meeting(fct_pool *pool, int members, int rounds) {
    struct meeting meeting = {.members = members, .rounds = rounds};
    fct_pool_run(pool, members, meet_often, &meeting);
    assert_int_equal(meeting.n_calls, members);
    assert_int_equal(meeting.n_wrong, 0);
    for (int i = 0; i < members; i++) assert_int_equal(meeting.at[i], rounds);
}

static void a_barrier_shows_everyone_what_was_written_before(void **state) {
    (void)state;
    for (int members = 1; members <= 4; members++) {
        fct_pool *pool = fct_pool_new(members, NULL);
        assert_non_null(pool);
        assert_int_equal(fct_pool_size(pool), members);
        check_meeting(pool, members, ROUNDS);
        fct_pool_free(pool);
    }
}

/* F77: whoever waits at a barrier lets the others have the CPU. */
static void more_threads_than_cpus_still_meet(void **state) {
    (void)state;
    int members = 4 * fct_cpu_count() < MAX_MEMBERS ? 4 * fct_cpu_count() : MAX_MEMBERS;
    fct_pool *pool = fct_pool_new(members, NULL);
    double begin = fct_seconds();
    check_meeting(pool, members, ROUNDS);
    /* 4000 barriers; a scheduler's time slice (3 ms) for each would be 12 s and more. */
    assert_true(fct_seconds() - begin < 12.0);
    fct_pool_free(pool);
}

static void teams_of_different_sizes_follow_each_other(void **state) {
    (void)state;
    fct_pool *pool = fct_pool_new(5, NULL);
    for (int i = 0; i < 500; i++) check_meeting(pool, 1 + i * 7 % 5, i % 4);
    fct_pool_free(pool);
}

static void pause_between_runs(void *user, struct fct_team team) {
    (void)team;
    atomic_fetch_add((_Atomic int *)user, 1);
}

static void workers_that_fell_asleep_are_woken(void **state) {
    (void)state;
    _Atomic int n = 0;
    fct_pool *pool = fct_pool_new(3, NULL);
    for (int i = 0; i < 20; i++) {
        fct_pool_run(pool, 3, pause_between_runs, &n);
        usleep(2000);
    }
    assert_int_equal(n, 60);
    fct_pool_free(pool);
}

static double cpu_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void late_caller(void *user, struct fct_team team) {
    (void)user;
    if (team.index == 0) usleep(200000);
    fct_team_wait(team);
}

static void idle_and_waiting_threads_take_no_cpu(void **state) {
    (void)state;
    fct_pool *pool = fct_pool_new(3, NULL);
    _Atomic int n = 0;
    fct_pool_run(pool, 3, pause_between_runs, &n);
    double before = cpu_seconds();
    usleep(200000);
    fct_pool_run(pool, 3, late_caller, NULL);
    assert_true(cpu_seconds() - before < 0.05); /* spinning would be 0.8 s */
    fct_pool_free(pool);
}

static void a_team_of_one_is_the_caller_itself(void **state) {
    (void)state;
    fct_pool *pool = fct_pool_new(1, NULL);
    check_meeting(pool, 1, 10);
    fct_pool_free(pool);
    fct_pool_free(NULL);
    fct_error err;
    assert_null(fct_pool_new(0, &err));
    assert_int_equal(err.code, FCT_ERR_ARGUMENT);
    assert_null(fct_pool_new(-3, &err));
}

static void shares_cover_everything_once_in_order(void **state) {
    (void)state;
    for (int n = 0; n < 100; n++)
        for (int size = 1; size <= 7; size++)
            for (int grain = 1; grain <= 16; grain++) {
                int at = 0;
                for (int index = 0; index < size; index++) {
                    int begin, end;
                    fct_team_share((struct fct_team){NULL, index, size}, n, grain, &begin, &end);
                    assert_int_equal(begin, at);
                    assert_true(end >= begin && end <= n);
                    assert_true(begin % grain == 0 || begin == n);
                    at = end;
                }
                assert_int_equal(at, n);
            }
    int begin, end;
    fct_team_share((struct fct_team){NULL, 6, 7}, INT32_MAX, 1, &begin, &end);
    assert_int_equal(end, INT32_MAX);
    assert_true(begin > 1840000000 && begin < 1841000000); /* 6/7 of it: no overflow on the way */
}

/* F77: taskset and a container's quota count. */
static void affinity_limits_the_cpu_count(void **state) {
    (void)state;
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    assert_true(fct_cpu_count() >= 1 && fct_cpu_count() <= CPU_COUNT(&all));
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(fct_cpu_count(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

/* A tree of control groups in the scratch folder. */
static void put(const char *group, const char *name, const char *text) {
    char path[256], command[400];
    snprintf(command, sizeof command, "mkdir -p '%s%s'", scratch_folder, group);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/%s", group, name);
    scratch_put(path, text, strlen(text));
}

/* F77 */
static void a_quota_of_version_2_limits_the_cpu_count(void **state) {
    (void)state;
    put("/a/b", "cpu.max", "400000 100000\n");
    put("/a", "cpu.max", "250000 100000\n");
    assert_int_equal(fct_cgroup_cpus("0::/a/b\n", scratch_folder), 2); /* the parent's 2.5 */
    put("/a", "cpu.max", "max 100000\n");
    assert_int_equal(fct_cgroup_cpus("0::/a/b\n", scratch_folder), 4);
    put("/a", "cpu.max", "10000 100000\n");
    assert_int_equal(fct_cgroup_cpus("0::/a/b\n", scratch_folder), 1); /* at least one */
    assert_int_equal(fct_cgroup_cpus("0::/elsewhere\n", scratch_folder), 0);
}

static void a_quota_of_version_1_limits_the_cpu_count(void **state) {
    (void)state;
    const char *groups = "4:memory:/x\n2:cpu,cpuacct:/docker/17\n1:name=systemd:/\n0::/\n";
    put("/cpu,cpuacct/docker/17", "cpu.cfs_quota_us", "-1\n");
    put("/cpu,cpuacct/docker/17", "cpu.cfs_period_us", "100000\n");
    assert_int_equal(fct_cgroup_cpus(groups, scratch_folder), 0);
    put("/cpu,cpuacct/docker/17", "cpu.cfs_quota_us", "300000\n");
    assert_int_equal(fct_cgroup_cpus(groups, scratch_folder), 3);
    /* In a container only the mount's own files are seen. */
    put("/cpu,cpuacct", "cpu.cfs_quota_us", "200000\n");
    put("/cpu,cpuacct", "cpu.cfs_period_us", "100000\n");
    assert_int_equal(fct_cgroup_cpus("2:cpu,cpuacct:/host/path\n", scratch_folder), 2);
    assert_int_equal(fct_cgroup_cpus("2:cpuset:/docker/17\n", scratch_folder), 0);
}

static void nonsense_in_control_groups_is_no_quota(void **state) {
    (void)state;
    put("", "cpu.max", "soon\n");
    assert_int_equal(fct_cgroup_cpus("", scratch_folder), 0);
    assert_int_equal(fct_cgroup_cpus("0::/\n", scratch_folder), 0);
    assert_int_equal(fct_cgroup_cpus("no colon\n::\n0:\n\n", scratch_folder), 0);
    put("", "cpu.max", "-5 0\n");
    assert_int_equal(fct_cgroup_cpus("0::/\n", scratch_folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_barrier_shows_everyone_what_was_written_before),
        cmocka_unit_test(more_threads_than_cpus_still_meet),
        cmocka_unit_test(teams_of_different_sizes_follow_each_other),
        cmocka_unit_test(workers_that_fell_asleep_are_woken),
        cmocka_unit_test(idle_and_waiting_threads_take_no_cpu),
        cmocka_unit_test(a_team_of_one_is_the_caller_itself),
        cmocka_unit_test(shares_cover_everything_once_in_order),
        cmocka_unit_test(affinity_limits_the_cpu_count),
        SCRATCH_TEST(a_quota_of_version_2_limits_the_cpu_count),
        SCRATCH_TEST(a_quota_of_version_1_limits_the_cpu_count),
        SCRATCH_TEST(nonsense_in_control_groups_is_no_quota),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
