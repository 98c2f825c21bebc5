/* test_cold_start.c - a model that comes from slow storage: read in order, with progress, to be
 * stopped at any time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/mman.h>

#include "pty.h"
#include "sized_model.h"
#include "slow_mount.h"

enum { N_PROMPT = 40, N_TOKENS = 6, BATCH = 4 };
static int prompt[N_PROMPT];

static int make_prompt(void **state) {
    (void)state;
    for (int i = 0; i < N_PROMPT; i++) prompt[i] = (i * 2477 + 11) % SIZED_VOCAB;
    return 0;
}

static struct slow_mount mount_or_skip(double bytes_per_second) {
    struct slow_mount m;
    if (strstr(FACET_PROGRAM, "run-facet")) skip(); /* qemu takes no advice to read pages in */
    if (!slow_mount(&m, sized_model(), bytes_per_second)) {
        puts("SKIP: this process may not mount a file system of its own");
        skip();
    }
    return m;
}

/* What the callback of a generation saw. */
struct watch {
    const fct_model *model;
    uint64_t first, last; /* bytes read at the first and at the last call */
    int n_calls, n_back;  /* calls that saw less than the one before */
    int stop_at;          /* call at which it says stop; 0: never */
    uint64_t first_pass;  /* bytes read when the prompt's first pass was done */
    fct_reason reason;    /* the end of the answer */
};

static bool watch_reading(void *user, int n_done, int n_total) {
    struct watch *watch = user;
    fct_model_info info = fct_model_describe(watch->model);
    (void)n_total;
    assert_true(info.hot_bytes_read <= info.hot_bytes);
    if (watch->n_calls++ == 0) watch->first = info.hot_bytes_read;
    if (n_done > 0 && !watch->first_pass) watch->first_pass = info.hot_bytes_read;
    watch->n_back += info.hot_bytes_read < watch->last;
    watch->last = info.hot_bytes_read;
    return watch->n_calls != watch->stop_at;
}

/* Opens the model at path and answers the prompt; *ids gets the answer's. */
static fct_status answer(const char *path, struct watch *watch, int ids[N_TOKENS],
                         fct_model_info *info, fct_error *err) {
    fct_model *model = fct_model_open(path, NULL, err);
    if (!model) fail_msg("%s", err->message);
    fct_session_options sizes = {
        .context = 256, .batch = BATCH, .decode_threads = 2, .prefill_threads = 2};
    fct_session *session = made_session(model, &sizes);
    fct_generate_options options = fct_generate_defaults(model);
    fct_generation generation = {0};
    options.raw = options.ignore_end = true;
    options.max_tokens = N_TOKENS;
    options.reading = watch_reading;
    options.user = watch;
    watch->model = model;
    fct_status status = fct_generate(session, prompt, N_PROMPT, &options, &generation, err);
    for (int i = 0; !status && i < N_TOKENS && i < generation.n_ids; i++)
        ids[i] = generation.ids[i];
    watch->reason = generation.reason;
    *info = fct_model_describe(model);
    fct_generation_free(&generation);
    fct_session_free(session);
    fct_model_free(model);
    return status;
}

/* Bytes of the hot part that were read, and how many of them out of order: not where an earlier
 * read of it ended. */
static void sum_up(const struct slow_log *log, uint64_t hot_bytes, uint64_t *total,
                   uint64_t *out_of_order) {
    enum { HOT_START = 2 << 20 };
    uint64_t end = HOT_START;
    *total = *out_of_order = 0;
    for (uint32_t i = 0; i < log->n_reads; i++) {
        uint64_t offset = log->reads[i].offset, size = log->reads[i].size;
        if (offset < HOT_START || offset >= HOT_START + hot_bytes) continue;
        *total += size;
        bool follows = offset == end;
        /* or what lies between has been read before: small vectors, when the file was opened */
        for (uint32_t j = 0; !follows && j < i; j++)
            follows = log->reads[j].offset <= end &&
                      log->reads[j].offset + log->reads[j].size >= offset && offset > end;
        if (!follows) *out_of_order += size;
        if (follows) end = offset + size;
    }
}

static void a_cold_start_reads_in_order_and_answers_the_same(void **state) {
    (void)state;
    int fast[N_TOKENS] = {0}, slow[N_TOKENS] = {0};
    struct watch watch = {.n_calls = 0}, warm = {.n_calls = 0};
    fct_model_info info;
    fct_error err = {0};
    MUST(answer(sized_model(), &warm, fast, &info, &err));
    struct slow_mount m = mount_or_skip(30e6);
    MUST(answer(m.path, &watch, slow, &info, &err));
    uint64_t total, out_of_order;
    sum_up(m.log, info.hot_bytes, &total, &out_of_order);
    print_message("%u reads; %.1f MB of %.1f MB that tokens read, %.2f MB of it out of order\n",
                  m.log->n_reads, (double)total / 1e6, (double)info.hot_bytes / 1e6,
                  (double)out_of_order / 1e6);
    slow_unmount(&m);
    assert_memory_equal(fast, slow, sizeof fast);
    assert_true(info.hot_bytes > 15000000);
    assert_true(total >= info.hot_bytes * 9 / 10);
    assert_true(total <= info.hot_bytes * 11 / 10); /* once */
    /* The vectors of each layer are looked at when the file is opened: 128 KiB around each. */
    assert_true(out_of_order <= SIZED_LAYERS * 2 * (128 << 10));
    /* Progress was told on the way, from near nothing, never backwards. */
    assert_true(watch.n_calls >= 5);
    assert_true(watch.first < info.hot_bytes / 2);
    assert_int_equal(watch.n_back, 0);
    assert_int_equal(info.hot_bytes_read, info.hot_bytes);
}

/* The layers that own keys and values are not all: a prompt but for its end is on its way before
 * the last layer has come. */
static void a_prompt_begins_before_all_has_come(void **state) {
    (void)state;
    int ids[N_TOKENS];
    struct watch watch = {.n_calls = 0};
    fct_model_info info;
    fct_error err = {0};
    struct slow_mount m = mount_or_skip(20e6);
    MUST(answer(m.path, &watch, ids, &info, &err));
    slow_unmount(&m);
    assert_true(watch.first_pass > 0);
    assert_true(watch.first_pass < info.hot_bytes);
}

/* Ctrl+C does not wait for the storage. */
static void a_cold_start_can_be_stopped(void **state) {
    (void)state;
    int ids[N_TOKENS];
    struct watch watch = {.stop_at = 4};
    fct_model_info info;
    fct_error err = {0};
    struct slow_mount m = mount_or_skip(5e6); /* five seconds for all of it */
    fct_status status = answer(m.path, &watch, ids, &info, &err);
    slow_unmount(&m);
    assert_true(status == FCT_ERR_CANCELLED || watch.reason == FCT_REASON_CANCELLED);
    assert_int_equal(watch.n_calls, 4);
    assert_true(info.hot_bytes_read < info.hot_bytes / 2);
}

/* The kernel says what is in memory only to the file's owner; to others all of it seems to be. */
static void who_does_not_own_the_file_waits_in_order_too(void **state) {
    (void)state;
    int ids[N_TOKENS];
    struct watch watch = {.stop_at = 0};
    fct_model_info info;
    fct_error err = {0};
    struct slow_mount m = mount_or_skip(20e6);
    enum { NOBODY = 65534 };
    if (seteuid(NOBODY) != 0) {
        slow_unmount(&m);
        skip();
    }
    fct_status status = answer(m.path, &watch, ids, &info, &err);
    assert_int_equal(seteuid(0), 0);
    slow_unmount(&m);
    if (status) fail_msg("%s", err.message);
    assert_true(watch.n_calls > N_PROMPT / BATCH);
    assert_int_equal(watch.last, info.hot_bytes);
}

static void a_file_in_memory_is_not_waited_for(void **state) {
    (void)state;
    int ids[N_TOKENS];
    struct watch watch = {.n_calls = 0};
    fct_model_info info;
    fct_error err = {0};
    MUST(answer(sized_model(), &watch, ids, &info, &err)); /* now it is there */
    watch = (struct watch){.n_calls = 0};
    MUST(answer(sized_model(), &watch, ids, &info, &err));
    assert_int_equal(watch.first, info.hot_bytes);
    assert_int_equal(watch.n_calls, N_PROMPT / BATCH);
}

static void the_terminal_shows_how_the_model_comes(void **state) {
    (void)state;
    struct slow_mount m = mount_or_skip(6e6);
    char *arguments[] = {"facet", "run", "-m", m.path, "--prompt-ids", "2,5,6,7",
                         "--ids", "-n",  "2",  "-c",   "64",           NULL};
    struct pty pty = pty_start(100, NULL, arguments);
    pty_expect(&pty, "MB/s");
    pty_expect(&pty, "reading the model");
    pty_expect(&pty, "2 tokens");
    assert_int_equal(pty_finish(&pty), 0);
    slow_unmount(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cold_start_reads_in_order_and_answers_the_same),
        cmocka_unit_test(a_prompt_begins_before_all_has_come),
        cmocka_unit_test(a_cold_start_can_be_stopped),
        cmocka_unit_test(who_does_not_own_the_file_waits_in_order_too),
        cmocka_unit_test(a_file_in_memory_is_not_waited_for),
        cmocka_unit_test(the_terminal_shows_how_the_model_comes),
    };
    return cmocka_run_group_tests(tests, make_prompt, NULL);
}
