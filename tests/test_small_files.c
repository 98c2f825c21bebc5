/* test_small_files.c - a malformed file of 100 bytes takes no time and no memory, whatever it
 * claims. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "facet.h"
#include "scratch_folder.h"

enum { MAX_BYTES = 100, N_ROUNDS = 60, ALLOWED_MB = 50 };
#define ALLOWED_SECONDS 0.1

/* ---- what a file may take ---- */

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* From here on the process cannot get more than 50 MB: what asks for more fails with
 * FCT_ERR_MEMORY. The sanitizers need the room for themselves. */
static void limit_memory(void) {
#if !defined(__SANITIZE_ADDRESS__)
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    rlim_t now = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
    struct rlimit limit = {now + ((rlim_t)ALLOWED_MB << 20), RLIM_INFINITY};
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
#endif
}

static void check_status(fct_status status, const fct_error *err) {
    if (status == FCT_ERR_MEMORY) fail_msg("more than %d MB: %s", ALLOWED_MB, err->message);
    assert_true(status == FCT_OK || err->message[0]);
}

static void check_describe(const char *path) {
    fct_error err = {0};
    char *text = NULL;
    double begin = cpu_seconds();
    check_status(fct_describe(path, &text, &err), &err);
    fct_free(text);
    assert_true(cpu_seconds() - begin < ALLOWED_SECONDS);
}

static void check_convert(const char *path) {
    fct_error err = {0};
    fct_convert_options options = {.n_threads = 1};
    double begin = cpu_seconds();
    fct_status status = fct_convert(path, scratch_path("out.facet"), &options, &err);
    check_status(status, &err);
    assert_true(status != FCT_OK);
    assert_true(cpu_seconds() - begin < ALLOWED_SECONDS);
}

static void check_open(const char *path) {
    fct_error err = {0};
    double begin = cpu_seconds();
    fct_model *model = fct_model_open(path, NULL, &err);
    assert_null(model);
    check_status(err.code, &err);
    assert_true(cpu_seconds() - begin < ALLOWED_SECONDS);
}

/* ---- files that claim much ---- */

static uint64_t random_state = 20261130; /* always the same files */
static unsigned next_random(unsigned n) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % n;
}

/* Numbers that are too large, or just not, in places where a length or a count may stand. */
static void damage(uint8_t *bytes, size_t n) {
    static const uint64_t claims[] = {1ull << 62, UINT64_MAX, 1ull << 32, 100 << 20, 1 << 24, 1000};
    for (unsigned k = 1 + next_random(3); k > 0; k--) {
        size_t at = next_random((unsigned)n);
        uint64_t claim = claims[next_random(6)];
        size_t width = next_random(2) ? 8 : 4;
        if (next_random(3) == 0)
            bytes[at] = (uint8_t)next_random(256);
        else if (at + width <= n)
            memcpy(bytes + at, &claim, width);
    }
}

/* The start of a file, whole and damaged, under a name: what reads such files has to get over it.
 */
static void check_starts(const void *start, size_t n, const char *name,
                         void (*check)(const char *path), const char *opened) {
    uint8_t bytes[MAX_BYTES];
    for (int round = 0; round < N_ROUNDS; round++) {
        size_t size = n < MAX_BYTES ? n : MAX_BYTES;
        memcpy(bytes, start, size);
        if (round) damage(bytes, size);
        scratch_put(name, bytes, size);
        check(scratch_path(opened));
    }
}
#define BYTES(text) text, sizeof text - 1

static const char gguf[] = "GGUF\3\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0"
                           "\25\0\0\0\0\0\0\0tokenizer.ggml.tokens\11\0\0\0\10\0\0\0"
                           "\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0a\1\0\0\0\0\0\0\0b\1\0\0\0";
static const char safetensors[] =
    "\x40\0\0\0\0\0\0\0{\"w\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]}}        "
    "0123456789abcdef";

static void a_gguf_file(void **state) {
    (void)state;
    limit_memory();
    check_starts(BYTES(gguf), "m.gguf", check_describe, "m.gguf");
    check_starts(BYTES(gguf), "m.gguf", check_convert, "m.gguf");
    check_starts(BYTES(gguf), "m.gguf", check_open, "m.gguf");
}

static void a_safetensors_or_packed_file(void **state) {
    (void)state;
    limit_memory();
    check_starts(BYTES(safetensors), "m.safetensors", check_describe, "m.safetensors");
    check_starts(BYTES(safetensors), "m.facet", check_open, "m.facet");
}

static void a_checkpoint_folder(void **state) {
    (void)state;
    limit_memory();
    scratch_put("config.json", BYTES("{\"model_type\":\"gemma4_text\"}"));
    check_starts(BYTES(safetensors), "model.safetensors", check_describe, "");
    check_starts(BYTES(safetensors), "model.safetensors", check_convert, "");
}

static void a_configuration(void **state) {
    (void)state;
    static const char config[] = "{\"model_type\":\"gemma4_text\",\"vocab_size\":2000000000,"
                                 "\"hidden_size\":2000000000,\"num_hidden_layers\":99}";
    limit_memory();
    scratch_put("model.safetensors", BYTES(safetensors));
    check_starts(BYTES(config), "config.json", check_describe, "");
    check_starts(BYTES(config), "config.json", check_convert, "");
}

static void an_index_of_shards(void **state) {
    (void)state;
    static const char index[] =
        "{\"metadata\":{\"total_size\":1e300},\"weight_map\":{\"a\":\"x\"}}";
    limit_memory();
    scratch_put("config.json", BYTES("{\"model_type\":\"gemma4_text\"}"));
    check_starts(BYTES(index), "model.safetensors.index.json", check_describe, "");
    check_starts(BYTES(index), "model.safetensors.index.json", check_convert, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(a_gguf_file),         SCRATCH_TEST(a_safetensors_or_packed_file),
        SCRATCH_TEST(a_checkpoint_folder), SCRATCH_TEST(a_configuration),
        SCRATCH_TEST(an_index_of_shards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
