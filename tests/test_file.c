/* test_file.c - files in, whole; files out, whole or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "scratch_folder.h"

enum { PIECE = 2 << 20 };

static uint8_t byte_at(size_t i) { return (uint8_t)(i * 2654435761u >> 13); }

static fct_status write_counting(fct_output *out, size_t n_bytes, size_t piece, fct_error *err) {
    uint8_t *bytes = malloc(n_bytes);
    fct_status status = FCT_OK;
    for (size_t i = 0; i < n_bytes; i++) bytes[i] = byte_at(i);
    for (size_t i = 0; i < n_bytes && !status; i += piece)
        status = fct_output_write(out, bytes + i, n_bytes - i < piece ? n_bytes - i : piece, err);
    free(bytes);
    return status;
}

static void check_text(const char *path, const char *expected) {
    char *text = fct_file_read(path, 1000, NULL, NULL);
    assert_non_null(text);
    assert_string_equal(text, expected);
    fct_free(text);
}

static void what_is_written_is_mapped_again(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 4096, PIECE - 1, PIECE, PIECE + 1, 5 * PIECE + 12345};
    static const size_t pieces[] = {1000, PIECE - 7, 3 * PIECE + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const char *path = scratch_path("out");
        fct_output *out = fct_output_new(path, sizes[i], NULL);
        assert_non_null(out);
        assert_int_equal(write_counting(out, sizes[i], pieces[i % 3], NULL), FCT_OK);
        assert_int_equal(fct_output_position(out), sizes[i]);
        assert_int_equal(fct_output_finish(out, NULL), FCT_OK);
        assert_false(fct_is_file(scratch_path("out.part")));
        struct fct_mapping mapping;
        assert_int_equal(fct_map_open(&mapping, path, NULL), FCT_OK);
        assert_int_equal(mapping.size, sizes[i]);
        assert_true(mapping.fd >= 0);
        if (sizes[i] == 0) assert_null(mapping.data);
        if (sizes[i] >= PIECE) assert_int_equal((uintptr_t)mapping.data % PIECE, 0);
        for (size_t j = 0; j < sizes[i]; j++)
            if (mapping.data[j] != byte_at(j)) fail_msg("byte %zu of %zu", j, sizes[i]);
        fct_map_close(&mapping);
        fct_map_close(&mapping); /* twice is once */
    }
}

static void what_cannot_be_mapped_is_named(void **state) {
    (void)state;
    struct fct_mapping mapping;
    fct_error err;
    assert_int_equal(fct_map_open(&mapping, scratch_folder, &err), FCT_ERR_IO);
    assert_non_null(strstr(err.message, ": is a folder, not a file"));
    assert_int_equal(fct_map_open(&mapping, "/dev/null", &err), FCT_ERR_IO);
    assert_string_equal(err.message, "/dev/null: is not a regular file");
    const char *pipe = scratch_path("pipe");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(fct_map_open(&mapping, pipe, &err),
                     FCT_ERR_IO); /* and does not wait for a writer */
    assert_int_equal(fct_map_open(&mapping, scratch_path("absent"), &err), FCT_ERR_IO);
    assert_non_null(strstr(err.message, "absent: No such file or directory"));
    fct_map_close(&mapping);
}

static void a_small_file_is_read_whole(void **state) {
    (void)state;
    size_t n_bytes;
    fct_error err;
    const char *path = scratch_put("small", "ab\0cd", 5);
    char *bytes = fct_file_read(path, 5, &n_bytes, NULL);
    assert_int_equal(n_bytes, 5);
    assert_int_equal(memcmp(bytes, "ab\0cd", 6), 0); /* with a NUL behind it */
    fct_free(bytes);
    assert_null(fct_file_read(path, 4, &n_bytes, &err));
    assert_int_equal(err.code, FCT_ERR_FORMAT);
    assert_null(fct_file_read("/dev/zero", 100000, &n_bytes, &err)); /* a device without end */
    assert_int_equal(err.code, FCT_ERR_FORMAT);
    assert_null(fct_file_read(scratch_folder, 100, &n_bytes, &err));
    bytes =
        fct_file_read("/proc/self/status", 100000, &n_bytes, NULL); /* says that it has 0 bytes */
    assert_non_null(bytes);
    assert_true(n_bytes > 100 && strlen(bytes) == n_bytes);
    fct_free(bytes);
    bytes = fct_file_read("/dev/null", 0, &n_bytes, NULL);
    assert_string_equal(bytes, "");
    fct_free(bytes);
}

static void paths_are_joined_with_one_slash(void **state) {
    (void)state;
    static const char *const cases[][3] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"", "b", "b"}, {"/", "b", "/b"}};
    for (int i = 0; i < 4; i++) {
        char *path = fct_path_join(cases[i][0], cases[i][1], NULL);
        assert_string_equal(path, cases[i][2]);
        fct_free(path);
    }
    assert_true(fct_is_folder(scratch_folder) && !fct_is_file(scratch_folder));
    assert_true(!fct_is_folder("/dev/null") && !fct_is_file("/dev/null"));
}

static void a_patch_reaches_what_is_on_disk_and_what_is_not(void **state) {
    (void)state;
    const char *path = scratch_path("out");
    fct_output *out = fct_output_new(path, 0, NULL);
    assert_int_equal(write_counting(out, PIECE + 10, PIECE, NULL), FCT_OK);
    assert_int_equal(fct_output_patch(out, 3, "early", 5, NULL), FCT_OK);
    assert_int_equal(fct_output_patch(out, PIECE - 2, "across", 6, NULL), FCT_OK);
    assert_int_equal(fct_output_patch(out, PIECE + 6, "late", 4, NULL), FCT_OK);
    assert_int_equal(fct_output_patch(out, PIECE + 7, "late", 4, NULL), FCT_ERR_ARGUMENT);
    assert_int_equal(fct_output_patch(out, UINT64_MAX, "late", 4, NULL), FCT_ERR_ARGUMENT);
    assert_int_equal(fct_output_finish(out, NULL), FCT_OK);
    size_t size;
    char *bytes = fct_file_read(path, 2 * PIECE, &size, NULL);
    assert_int_equal(size, PIECE + 10);
    assert_int_equal(memcmp(bytes + 3, "early", 5), 0);
    assert_int_equal(memcmp(bytes + PIECE - 2, "across", 6), 0);
    assert_int_equal(memcmp(bytes + PIECE + 6, "late", 4), 0);
    assert_int_equal((uint8_t)bytes[8], byte_at(8));
    fct_free(bytes);
}

static void an_unfinished_file_leaves_the_old_one(void **state) {
    (void)state;
    const char *path = scratch_put("out", "old", 3);
    fct_output *out = fct_output_new(path, 0, NULL);
    fct_output_write(out, "new", 3, NULL);
    assert_true(fct_is_file(scratch_path("out.part")));
    check_text(path, "old");
    fct_output_free(out);
    assert_false(fct_is_file(scratch_path("out.part")));
    check_text(path, "old");
    out = fct_output_new(path, 0, NULL);
    fct_output_write(out, "new", 3, NULL);
    assert_int_equal(fct_output_finish(out, NULL), FCT_OK);
    check_text(path, "new");
    fct_output_free(NULL);
}

/* F47: what is not a regular file is refused before anything is replaced. */
static void what_is_not_a_regular_file_is_not_replaced(void **state) {
    (void)state;
    fct_error err;
    struct stat status;
    assert_null(fct_output_new("/dev/full", 0, &err));
    assert_string_equal(err.message, "/dev/full: is not a regular file; nothing was written");
    assert_true(!stat("/dev/full", &status) && S_ISCHR(status.st_mode));
    assert_false(fct_is_file("/dev/full.part"));
    assert_null(fct_output_new(scratch_folder, 0, &err));
    assert_non_null(strstr(err.message, "is a folder"));
    assert_null(fct_output_new(scratch_path("new/"), 0, &err));
    assert_null(fct_output_new(scratch_path("no/such/folder"), 0, &err));
    assert_non_null(strstr(err.message, "No such file or directory"));
    assert_null(fct_output_new("", 0, &err));
    assert_int_equal(err.code, FCT_ERR_ARGUMENT);
}

static void a_link_stays_and_its_target_is_replaced(void **state) {
    (void)state;
    const char *target = scratch_put("target", "old", 3), *name = scratch_path("link");
    struct stat status;
    assert_int_equal(symlink("target", name), 0);
    fct_output *out = fct_output_new(name, 0, NULL);
    fct_output_write(out, "new", 3, NULL);
    assert_int_equal(fct_output_finish(out, NULL), FCT_OK);
    check_text(target, "new");
    assert_true(!lstat(name, &status) && S_ISLNK(status.st_mode));
    /* but a link in the place of the part file is a trap */
    scratch_put("bystander", "mine", 4);
    assert_int_equal(symlink("bystander", scratch_path("x.part")), 0);
    assert_null(fct_output_new(scratch_path("x"), 0, NULL));
    check_text(scratch_path("bystander"), "mine");
}

static void two_writers_do_not_meet_in_one_part_file(void **state) {
    (void)state;
    fct_error err;
    const char *path = scratch_path("out");
    fct_output *first = fct_output_new(path, 0, NULL);
    fct_output_write(first, "first", 5, NULL);
    assert_null(fct_output_new(path, 0, &err));
    assert_non_null(strstr(err.message, "out.part: another process is writing it"));
    assert_int_equal(fct_output_finish(first, NULL), FCT_OK);
    check_text(path, "first");
    /* what a killed process left is taken over */
    scratch_put("out.part", "a long leftover", 15);
    fct_output *second = fct_output_new(path, 0, &err);
    assert_non_null(second);
    fct_output_write(second, "second", 6, NULL);
    assert_int_equal(fct_output_finish(second, NULL), FCT_OK);
    check_text(path, "second");
}

static void too_little_space_is_found_before_writing(void **state) {
    (void)state;
    fct_error err;
    assert_null(fct_output_new(scratch_path("out"), (uint64_t)1 << 60, &err));
    assert_int_equal(err.code, FCT_ERR_IO);
    assert_non_null(
        strstr(err.message, "not enough space: needs 1152921504606.8 MB, its disk has "));
    assert_false(fct_is_file(scratch_path("out.part")));
}

/* F47: the disk fills while writing. */
static void check_full_disk(const char *path, const char *part, const char *reason) {
    fct_error err = {0};
    fct_output *out = fct_output_new(path, 0, &err);
    assert_non_null(out);
    fct_status status = write_counting(out, 3 * PIECE, 100000, &err);
    assert_int_equal(status, FCT_ERR_IO);
    if (!strstr(err.message, reason)) fail_msg("%s", err.message);
    assert_int_equal(fct_output_write(out, "more", 4, &err), FCT_ERR_IO); /* failing sticks */
    assert_int_equal(fct_output_finish(out, &err), FCT_ERR_IO);
    assert_false(fct_is_file(path));
    assert_false(fct_is_file(part));
}

static void a_full_disk_leaves_no_file(void **state) {
    (void)state;
    const char *disk = scratch_path("disk");
    assert_int_equal(mkdir(disk, 0700), 0);
    if (mount("tmpfs", disk, "tmpfs", 0, "size=1m")) skip(); /* only root may */
    check_full_disk(scratch_path("disk/out"), scratch_path("disk/out.part"),
                    "No space left on device");
    assert_null(fct_output_new(scratch_path("disk/out"), PIECE, NULL));
    assert_int_equal(umount(disk), 0);
}

static void a_limit_of_file_size_leaves_no_file(void **state) {
    (void)state;
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){PIECE + PIECE / 2, old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    check_full_disk(scratch_path("out"), scratch_path("out.part"), "File too large");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, SIG_DFL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(what_is_written_is_mapped_again),
        SCRATCH_TEST(what_cannot_be_mapped_is_named),
        SCRATCH_TEST(a_small_file_is_read_whole),
        SCRATCH_TEST(paths_are_joined_with_one_slash),
        SCRATCH_TEST(a_patch_reaches_what_is_on_disk_and_what_is_not),
        SCRATCH_TEST(an_unfinished_file_leaves_the_old_one),
        SCRATCH_TEST(what_is_not_a_regular_file_is_not_replaced),
        SCRATCH_TEST(a_link_stays_and_its_target_is_replaced),
        SCRATCH_TEST(two_writers_do_not_meet_in_one_part_file),
        SCRATCH_TEST(too_little_space_is_found_before_writing),
        SCRATCH_TEST(a_full_disk_leaves_no_file),
        SCRATCH_TEST(a_limit_of_file_size_leaves_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
