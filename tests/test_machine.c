/* test_machine.c - how much memory there is, by /proc/meminfo and by control groups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cgroup.h"
#include "base/machine.h"
#include "scratch_folder.h"

static void put(const char *path, const char *text) {
    char command[512];
    snprintf(command, sizeof command, "mkdir -p \"$(dirname '%s/%s')\"", scratch_folder, path);
    if (system(command) != 0) abort();
    scratch_put(path, text, strlen(text));
}

static const char meminfo[] = "MemTotal:        8000000 kB\nMemFree:          100000 kB\n"
                              "MemAvailable:    6000000 kB\nSwapCached:            7 kB\n"
                              "SwapTotal:       2000000 kB\nSwapFree:        1500000 kB\n";

static void without_groups_the_machine_counts(void **state) {
    (void)state;
    struct fct_memory_state memory;
    put("proc/meminfo", meminfo);
    fct_memory_read(scratch_folder, &memory);
    assert_int_equal(memory.total, 8000000ull << 10);
    assert_int_equal(memory.available, 6000000ull << 10);
    assert_int_equal(memory.swap_total, 2000000ull << 10);
    assert_int_equal(memory.swap_free, 1500000ull << 10);
    assert_int_equal(memory.group_limit, 0);
    assert_false(memory.bound_by_group);
}

static void what_is_not_there_is_zero(void **state) {
    (void)state;
    struct fct_memory_state memory;
    fct_memory_read(scratch_folder, &memory);
    assert_int_equal(memory.total | memory.available | memory.group_limit | memory.swap_total, 0);
    put("proc/meminfo", "NoMemTotal: 5 kB\nMemAvailable: much\n");
    fct_memory_read(scratch_folder, &memory);
    assert_int_equal(memory.total | memory.available, 0);
}

/* Files that are cached can be given back, whether they were read once or twice. */
static void cached_files_of_a_group_are_not_counted_as_used(void **state) {
    (void)state;
    struct fct_memory_state memory;
    put("proc/meminfo", meminfo);
    put("proc/self/cgroup", "0::/a/b\n");
    put("sys/fs/cgroup/a/memory.max", "2000000000\n");
    put("sys/fs/cgroup/a/memory.current", "1900000000\n");
    put("sys/fs/cgroup/a/memory.stat", "anon 300000000\ninactive_anon 1\nactive_anon 2\n"
                                       "inactive_file 600000000\nactive_file 900000000\n");
    put("sys/fs/cgroup/a/b/memory.max", "max\n");
    put("sys/fs/cgroup/a/b/memory.current", "1800000000\n");
    fct_memory_read(scratch_folder, &memory);
    assert_int_equal(memory.group_limit, 2000000000);
    assert_int_equal(memory.available, 1600000000); /* 2000 - 1900 + 600 + 900 */
    assert_true(memory.bound_by_group);
}

static void version_1_of_control_groups_is_read_too(void **state) {
    (void)state;
    struct fct_memory_state memory;
    put("proc/meminfo", meminfo);
    put("proc/self/cgroup", "5:cpu:/\n4:memory:/job\n0::/\n");
    put("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1000000000\n");
    put("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "500000000\n");
    put("sys/fs/cgroup/memory/job/memory.stat",
        "inactive_file 1\nactive_file 1\ntotal_inactive_file 100000000\n"
        "total_active_file 200000000\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory/memory.usage_in_bytes", "7000000000\n");
    fct_memory_read(scratch_folder, &memory);
    assert_int_equal(memory.group_limit, 1000000000);
    assert_int_equal(memory.available, 800000000);
    put("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
    fct_memory_read(scratch_folder, &memory);
    assert_int_equal(memory.group_limit, 0); /* what version 1 writes for no limit */
    assert_int_equal(memory.available, 6000000ull << 10);
    assert_false(memory.bound_by_group);
}

/* A limit above what the machine has is none. */
static void a_limit_beyond_the_machine_is_none(void **state) {
    (void)state;
    struct fct_memory_state memory;
    put("proc/meminfo", meminfo);
    put("proc/self/cgroup", "0::/\n");
    put("sys/fs/cgroup/memory.max", "99000000000\n");
    put("sys/fs/cgroup/memory.current", "1000\n");
    fct_memory_read(scratch_folder, &memory);
    assert_int_equal(memory.group_limit, 0);
    assert_int_equal(memory.available, 6000000ull << 10);
}

static void this_machine_has_memory(void **state) {
    (void)state;
    struct fct_memory_state memory;
    fct_memory_read("", &memory);
    assert_true(memory.total > 0);
    assert_true(memory.available > 0 && memory.available <= memory.total);
    assert_true(fct_memory_available() > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(without_groups_the_machine_counts),
        SCRATCH_TEST(what_is_not_there_is_zero),
        SCRATCH_TEST(cached_files_of_a_group_are_not_counted_as_used),
        SCRATCH_TEST(version_1_of_control_groups_is_read_too),
        SCRATCH_TEST(a_limit_beyond_the_machine_is_none),
        cmocka_unit_test(this_machine_has_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
