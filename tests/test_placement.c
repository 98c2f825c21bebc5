/* test_placement.c - weights that move into huge pages under those who read them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/machine.h"
#include "base/memory.h"
#include "engine/placement.h"
#include "sized_model.h"

static fct_pack *pack;
static const uint8_t *hot;
static size_t n_bytes;
static atomic_bool stop;
static atomic_size_t n_wrong, n_rounds, most_resident;

static uint64_t sum_of(const uint8_t *bytes, size_t n) {
    uint64_t sum = 0, word;
    for (size_t i = 0; i + 8 <= n; i += 8) {
        memcpy(&word, bytes + i, 8);
        sum = sum * 31 + word;
    }
    return sum;
}

static size_t resident_bytes(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file || fscanf(file, "%*u %lu", &pages) != 1) pages = 0;
    if (file) fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* As a session does that generates: it goes through all weights, again and again. */
static void *read_again_and_again(void *user) {
    uint64_t right = *(const uint64_t *)user;
    while (!atomic_load(&stop)) {
        n_wrong += sum_of(hot, n_bytes) != right;
        n_rounds++;
    }
    return NULL;
}

static void *watch_memory(void *user) {
    (void)user;
    while (!atomic_load(&stop)) {
        size_t now = resident_bytes();
        if (now > atomic_load(&most_resident)) atomic_store(&most_resident, now);
    }
    return NULL;
}

static void weights_move_under_a_reader_without_a_second_copy(void **state) {
    (void)state;
    enum { SLACK = 3 * FCT_HUGE_PAGE };
    pthread_t reader, watcher;
    uint64_t right = sum_of(hot, n_bytes);
    if (!fct_huge_pages_possible()) skip();
    size_t before = resident_bytes();
    assert_int_equal(pthread_create(&reader, NULL, read_again_and_again, &right), 0);
    assert_int_equal(pthread_create(&watcher, NULL, watch_memory, NULL), 0);
    fct_placement *placement = fct_placement_new(pack, FCT_MEMORY_HUGE, NULL);
    assert_non_null(placement);
    fct_placement_settle(placement);
    for (size_t rounds = n_rounds; n_rounds < rounds + 3;) sched_yield();
    atomic_store(&stop, true);
    pthread_join(reader, NULL);
    pthread_join(watcher, NULL);
    assert_string_equal(fct_placement_name(placement), "huge");
    assert_true(fct_placement_moved(placement) > n_bytes - 2 * (size_t)FCT_HUGE_PAGE);
    assert_int_equal(n_wrong, 0);
#ifndef __SANITIZE_ADDRESS__ /* which keeps memory of its own */
    if (!strstr(FACET_PROGRAM, "run-facet")) assert_true(most_resident < before + SLACK);
#endif
    (void)before;
    fct_placement_free(placement);
    assert_int_equal(sum_of(hot, n_bytes), right); /* they stay there as long as the pack does */
}

static int open_pack(void **state) {
    (void)state;
    fct_error err = {0};
    pack = fct_pack_open(sized_model(), &err);
    if (!pack) return -1;
    fct_pack_hot(pack, &hot, &n_bytes);
    return n_bytes > 4 * (size_t)FCT_HUGE_PAGE ? 0 : -1;
}

static int close_pack(void **state) {
    (void)state;
    fct_pack_free(pack);
    return 0;
}

static void a_placement_can_be_freed_while_it_moves(void **state) {
    (void)state;
    uint64_t right = sum_of(hot, n_bytes);
    close_pack(state);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(open_pack(state), 0);
        fct_placement *placement = fct_placement_new(pack, FCT_MEMORY_HUGE, NULL);
        assert_non_null(placement);
        while (i % 2 && !fct_placement_moved(placement) && !fct_placement_done(placement))
            sched_yield();
        fct_placement_free(placement);
        assert_int_equal(sum_of(hot, n_bytes), right);
        if (i < 19) close_pack(state);
    }
}

/* Pages of the file below [at, at + n) that are in memory. */
static int n_resident(const uint8_t *at, size_t n, int *n_pages) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (uintptr_t)at % page;
    unsigned char there[64];
    int count = 0;
    *n_pages = (int)((n + before + page - 1) / page);
    assert_true(*n_pages <= 64);
    assert_int_equal(mincore((void *)(uintptr_t)(at - before), n + before, there), 0);
    for (int i = 0; i < *n_pages; i++) count += there[i] & 1;
    return count;
}

static void rows_that_are_expected_come_from_storage(void **state) {
    enum { ROW = 4321 };
    if (TEST_EMULATED) skip(); /* an emulator counts pages of another size */
    struct fct_table table;
    fct_error err;
    int n_pages;
    close_pack(state);
    assert_int_equal(open_pack(state), 0);
    assert_int_equal(fct_pack_table(pack, "embed_tokens_per_layer.weight", SIZED_VOCAB,
                                    SIZED_LAYERS * SIZED_PER_LAYER, &table, &err),
                     FCT_OK);
    size_t n_row = fct_table_row_bytes(table.scheme, table.blocks, table.columns);
    const uint8_t *row = table.data + ROW * n_row;
    fct_placement *placement = fct_placement_new(pack, FCT_MEMORY_MAP, NULL);
    assert_non_null(placement);
    fct_placement_settle(placement);
    fdatasync(fct_pack_fd(pack));
    if (posix_fadvise(fct_pack_fd(pack), 0, 0, POSIX_FADV_DONTNEED) ||
        n_resident(row, n_row, &n_pages) > 0) {
        print_message("SKIP: this file system keeps files in memory\n");
        fct_placement_free(placement);
        return;
    }
    fct_placement_expect_row(placement, &table, ROW);
    for (int i = 0; i < 5000 && n_resident(row, n_row, &n_pages) < n_pages; i++) usleep(1000);
    assert_int_equal(n_resident(row, n_row, &n_pages), n_pages);
    assert_int_equal(n_resident(row + 1000 * n_row, n_row, &n_pages), 0);
    /* what is no row of the tables is nobody's business here */
    fct_placement_expect_row(placement, &(struct fct_table){FCT_Q8, 1, 10, 64, hot}, 3);
    fct_placement_free(placement);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_move_under_a_reader_without_a_second_copy),
        cmocka_unit_test(a_placement_can_be_freed_while_it_moves),
        cmocka_unit_test(rows_that_are_expected_come_from_storage),
    };
    return cmocka_run_group_tests(tests, open_pack, close_pack);
}
