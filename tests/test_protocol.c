/* test_protocol.c - what the measuring protocol makes of its figures: verdicts, pages. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/cooling.h"
#include "cli/machine_watch.h"
#include "cli/other_load.h"
#include "cli/protocol.h"
#include "cli/run_verdict.h"
#include "machine_tree.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-9)

/* ---- watching ---- */

static struct fct_sensors seen(double celsius, double clock_hz, unsigned throttle) {
    return (struct fct_sensors){.celsius = celsius,
                                .clock_hz = clock_hz,
                                .max_clock_hz = 2.4e9,
                                .throttle_known = true,
                                .throttle = throttle,
                                .n_throttled = -1};
}

static void watch(struct fct_watched *watched, struct fct_sensors now, bool measuring) {
    fct_watched_take(watched, &now, measuring);
}

static void a_watch_keeps_the_warmest_and_the_slowest_moment(void **state) {
    (void)state;
    struct fct_watched watched = {0};
    watch(&watched, seen(50, 0.6e9, 0), false); /* at rest */
    watch(&watched, seen(64, 2.4e9, 0), true);
    watch(&watched, seen(61, 2.1e9, 0), true);
    NEAR(watched.max_celsius, 64);
    NEAR(watched.min_clock_hz, 2.1e9);
    assert_int_equal(watched.slowed, 0);
}

static struct fct_run_facts facts_of(struct fct_watched watched) {
    return (struct fct_run_facts){.watched = watched,
                                  .load = {60, 0.001, 0},
                                  .worst = {10, 0.002, 0},
                                  .n_cpus = 4,
                                  .cooled = true};
}

/* Sentences joined by ';'. */
static const char *joined(json_t *list) {
    static char text[1024];
    size_t i;
    json_t *sentence;
    text[0] = 0;
    json_array_foreach(list, i, sentence) {
        if (i) strcat(text, ";");
        strcat(text, json_string_value(sentence));
    }
    json_decref(list);
    return text;
}
static const char *reasons(struct fct_run_facts facts) { return joined(fct_run_reasons(&facts)); }
static const char *notes(struct fct_run_facts facts) { return joined(fct_run_notes(&facts)); }

static void cooling_ends_where_it_is_cool_or_no_cooler(void **state) {
    (void)state;
    struct fct_cooling cooling = {0};
    assert_false(fct_cooling_done(&cooling, 75, 0));
    assert_false(fct_cooling_done(&cooling, 70, 10));
    assert_true(fct_cooling_done(&cooling, 60, 11));
    cooling = (struct fct_cooling){0};
    assert_false(fct_cooling_done(&cooling, 75, 0));
    assert_false(fct_cooling_done(&cooling, 74.2, 19)); /* not a degree, but not long yet */
    assert_false(fct_cooling_done(&cooling, 74, 19.5));
    assert_false(fct_cooling_done(&cooling, 73.5, 39));
    assert_true(fct_cooling_done(&cooling, 73.5, 39.5));
    cooling = (struct fct_cooling){0};
    assert_true(fct_cooling_done(&cooling, NAN, 0)); /* no sensor: nothing to wait for */
}

static void a_quiet_run_is_clean(void **state) {
    (void)state;
    struct fct_watched watched = {0};
    watch(&watched, seen(50, 2.4e9, 0), false);
    assert_string_equal(reasons(facts_of(watched)), "");
    assert_string_equal(notes(facts_of(watched)), "");
}

/* F75: under-voltage (bit 0) and throttled (bit 2) are seen in what the firmware says of now. */
static void a_throttled_run_is_not_clean(void **state) {
    (void)state;
    struct fct_watched watched = {0};
    watch(&watched, seen(50, 2.4e9, 0), false);
    watch(&watched, seen(82, 1.5e9, 0x50005), true);
    watch(&watched, seen(80, 2.4e9, 0x50000), true);
    assert_string_equal(reasons(facts_of(watched)),
                        "the board was slowed down while it ran: under-voltage, throttled");
}

/* Between two looks: only the firmware's memory shows it. */
static void throttling_between_two_looks_is_noticed(void **state) {
    (void)state;
    struct fct_watched watched = {0};
    watch(&watched, seen(50, 2.4e9, 0x10000), false);
    watch(&watched, seen(60, 2.4e9, 0x90000), true);
    assert_string_equal(reasons(facts_of(watched)),
                        "the board was slowed down while it ran: soft temperature limit");
    assert_string_equal(notes(facts_of(watched)),
                        "slowed down before the run, some time since boot: under-voltage");
}

static void what_happened_before_the_run_is_only_a_note(void **state) {
    (void)state;
    struct fct_watched watched = {0};
    watch(&watched, seen(50, 2.4e9, 0x50000), false);
    watch(&watched, seen(60, 2.4e9, 0x50000), true);
    assert_string_equal(reasons(facts_of(watched)), "");
    assert_string_equal(notes(facts_of(watched)),
                        "slowed down before the run, some time since boot: under-voltage, "
                        "throttled");
}

static void an_x86_that_throttled_is_not_clean(void **state) {
    (void)state;
    struct fct_watched watched = {0};
    struct fct_sensors before = seen(50, 3e9, 0), after = before;
    before.n_throttled = 7;
    after.n_throttled = 9;
    watch(&watched, before, false);
    assert_string_equal(reasons(facts_of(watched)), "");
    watch(&watched, after, true);
    assert_string_equal(reasons(facts_of(watched)), "the CPU throttled 2 times while it ran");
}

/* F75 */
static void a_governor_that_holds_the_clock_down_is_not_clean(void **state) {
    (void)state;
    struct fct_watched watched = {0};
    watch(&watched, seen(50, 2.4e9, 0), false);
    struct fct_run_facts facts = facts_of(watched);
    facts.governor = (struct fct_governor){"powersave", "cpufreq-dt", true};
    assert_string_equal(reasons(facts), "the governor \"powersave\" holds the clock down");
}

static void a_run_beside_others_is_not_clean(void **state) {
    (void)state;
    struct fct_watched watched = {0};
    watch(&watched, seen(50, 2.4e9, 0), false);
    struct fct_run_facts facts = facts_of(watched);
    facts.load.others = 0.05;
    assert_string_equal(reasons(facts), "others used 5.0 % of the CPUs while it ran");
    facts.load.seconds = 0.5; /* the clock of /proc/stat cannot tell 5 % of half a second */
    assert_string_equal(reasons(facts), "");
    facts.load.others = 0.5;
    assert_string_equal(reasons(facts), "others used 50.0 % of the CPUs while it ran");
    facts.load = (struct fct_load_shares){60, 0, 0.1};
    assert_string_equal(reasons(facts), "the hypervisor took 10.0 % of the CPUs while it ran");
    facts.load = (struct fct_load_shares){60, 0.01, 0};
    facts.worst = (struct fct_load_shares){5, 0.2, 0};
    assert_string_equal(reasons(facts), "one prompt shared 20.0 % of the CPUs with others");
    facts.n_cpus = 64; /* one busy CPU of many */
    facts.worst.others = 0;
    facts.load.others = 1.0 / 64;
    assert_string_equal(reasons(facts), "others used 1.6 % of the CPUs while it ran");
}

static void what_nobody_can_tell_is_said(void **state) {
    (void)state;
    struct fct_watched watched = {0};
    struct fct_sensors blind = {
        .celsius = NAN, .clock_hz = NAN, .max_clock_hz = NAN, .n_throttled = -1};
    watch(&watched, blind, false);
    assert_true(isnan(watched.max_celsius) && isnan(watched.min_clock_hz));
    struct fct_run_facts facts = facts_of(watched);
    facts.load.others = facts.load.stolen = NAN;
    facts.cooled = false;
    assert_string_equal(reasons(facts), "");
    assert_string_equal(notes(facts),
                        "nothing here tells whether the CPU was throttled;"
                        "it was still warm when a prompt began: waiting to cool down took too long;"
                        "nothing here tells whether others used the CPUs");
}

static void others_used_what_the_program_did_not(void **state) {
    (void)state;
    uint64_t busy, stolen;
    assert_true(fct_load_parse("cpu  10 20 30 4000 50 6 7 8 0 0\ncpu0 1 2\n", &busy, &stolen));
    assert_true(busy == 73 && stolen == 8);
    assert_false(fct_load_parse("cpu 1 2 3\n", &busy, &stolen));
    assert_false(fct_load_parse("", &busy, &stolen));
    struct fct_load_mark begin = {true, 100, 50, 1, 5}, end = {true, 110, 72, 2, 20}, unknown = {0};
    struct fct_load_shares shares = fct_load_between(&begin, &end, 4);
    NEAR(shares.seconds, 10);
    NEAR(shares.others, 7.0 / 40); /* 22 s of CPUs, 15 of them its own */
    NEAR(shares.stolen, 1.0 / 40);
    assert_true(isnan(fct_load_between(&unknown, &end, 4).others));
}

/* ---- results ---- */

static const char result_text[] =
    "{\"facet_protocol\": 1, \"facet\": \"0.1.0\", \"date\": \"2026-11-30T12:00:00Z\",\n"
    " \"clean\": true, \"not_clean\": [], \"notes\": [], \"machine\": {\"name\": \"board\"},\n"
    " \"model\": {\"source\": \"m\", \"weights\": \"q4\", \"checksum\": \"0123456789abcdef\"},\n"
    " \"settings\": {\"kernels\": \"neon\", \"memory\": \"map\", \"kv\": \"f16\",\n"
    "  \"activations\": \"q8\", \"decode_threads\": 2, \"prefill_threads\": 4, \"context\": "
    "2048},\n"
    " \"peak_resident_bytes\": 1300000000, \"load_seconds\": 0.5,\n"
    " \"cold_first_token_seconds\": null, \"bandwidth_bytes_per_second\": 1e10,\n"
    " \"prompts\": [{\"name\": \"fact\", \"prompt_tokens\": 30, \"answer_steps\": 63,\n"
    "  \"prefill_tokens_per_second\": 100, \"decode_tokens_per_second\": 8,\n"
    "  \"first_token_seconds\": 0.3, \"joules_per_token\": null, \"answer_ids\": [1, 2]}]}\n";

static json_t *made(void) {
    json_t *result = json_loads(result_text, 0, NULL);
    assert_non_null(result);
    return result;
}

static json_t *read_back(const char *text) {
    fct_error err = {0};
    return fct_protocol_read(scratch_put("r.json", text, strlen(text)), &err);
}

static void a_result_is_read_whole_or_not_at_all(void **state) {
    (void)state;
    json_t *result = read_back(result_text), *wanted = made();
    assert_true(json_equal(result, wanted));
    json_decref(result);
    json_decref(wanted);
    char cut[sizeof result_text];
    strcpy(cut, result_text);
    for (size_t n = strlen(cut) - 2; n > 0; n--) { /* the last byte is a newline */
        cut[n] = 0;
        assert_null(read_back(cut));
    }
    assert_null(read_back(""));
    fct_error err = {0};
    assert_null(fct_protocol_read(scratch_path("none.json"), &err));
}

static const char *fault_of(const char *text) {
    static fct_error err;
    assert_null(fct_protocol_read(scratch_put("r.json", text, strlen(text)), &err));
    return strrchr(err.message, '/') + 1;
}

static void what_is_no_result_is_named(void **state) {
    (void)state;
    assert_string_equal(fault_of("{\"decode_tokens_per_second\": 8}"),
                        "r.json: no result of facet bench --protocol (there is no "
                        "\"facet_protocol\")");
    assert_string_equal(fault_of("[1]"), "r.json: no result of facet bench --protocol (there is no "
                                         "\"facet_protocol\")");
    json_t *result = made();
    json_object_set_new(result, "clean", json_string("yes"));
    char *text = json_dumps(result, 0);
    assert_string_equal(fault_of(text), "r.json: \"clean\" has to be true or false");
    free(text);
    json_object_set_new(result, "clean", json_true());
    json_t *prompts = json_object_get(result, "prompts");
    json_object_set_new(json_array_get(prompts, 0), "joules_per_token", json_string("few"));
    text = json_dumps(result, 0);
    assert_string_equal(fault_of(text),
                        "r.json: in a prompt, \"joules_per_token\" has to be a number or null");
    free(text);
    json_object_set_new(result, "prompts", json_array());
    text = json_dumps(result, 0);
    assert_string_equal(fault_of(text), "r.json: 0 prompts");
    free(text);
    json_decref(result);
}

/* Each value in turn is replaced by one of another kind: read or refused, never more. */
static void a_damaged_result_never_does_harm(void **state) {
    (void)state;
    static const char *const others[] = {"null", "-1", "\"\"", "[]", "{}", "[null]", "1e308"};
    fct_error err;
    const char *const keys[] = {"facet_protocol",      "facet",        "date",   "clean",
                                "not_clean",           "machine",      "model",  "settings",
                                "peak_resident_bytes", "load_seconds", "prompts"};
    for (size_t key = 0; key < sizeof keys / sizeof keys[0]; key++)
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
            json_t *a = made(), *b = made();
            json_object_set_new(b, keys[key], json_loads(others[i], JSON_DECODE_ANY, NULL));
            char *text = json_dumps(b, 0);
            json_t *read = read_back(text);
            char *page = read ? fct_protocol_compare(a, read, &err) : NULL;
            if (read) fct_free(fct_protocol_page(read, true, &err));
            fct_free(page);
            free(text);
            json_decref(read);
            json_decref(b);
            json_decref(a);
        }
}

static char *compare(const json_t *a, const json_t *b, fct_error *err) {
    char *page = fct_protocol_compare(a, b, err);
    json_decref((json_t *)(uintptr_t)a);
    json_decref((json_t *)(uintptr_t)b);
    return page;
}

static json_t *prompt_of(json_t *result) {
    return json_array_get(json_object_get(result, "prompts"), 0);
}

static void two_results_are_set_side_by_side(void **state) {
    (void)state;
    json_t *b = made();
    json_object_set_new(prompt_of(b), "decode_tokens_per_second", json_real(12));
    json_object_set_new(prompt_of(b), "joules_per_token", json_real(0.75));
    char *page = compare(made(), b, NULL);
    assert_non_null(strstr(page, "- answers: the same\n"));
    assert_non_null(strstr(page, "| answer, tok/s      | fact   |   8.00 |  12.00 | 1.500 |"));
    assert_non_null(strstr(page, "| answer, J/token    | fact   |      - |  0.750 |     - |"));
    assert_null(strstr(page, "OTHER MODEL"));
    assert_null(strstr(page, "NOT CLEAN"));
    fct_free(page);
}

static void another_protocol_or_other_work_does_not_compare(void **state) {
    (void)state;
    fct_error err = {0};
    json_t *b = made();
    json_object_set_new(b, "facet_protocol", json_integer(2));
    assert_null(compare(made(), b, &err));
    assert_string_equal(err.message, "not comparable: A is of protocol 1, B of protocol 2");
    b = made();
    json_object_set_new(prompt_of(b), "prompt_tokens", json_integer(31));
    assert_null(compare(made(), b, &err));
    assert_string_equal(err.message, "not comparable: \"fact\" has 30 tokens in A and 31 in B "
                                     "(models with other tokenizers do other work)");
    b = made();
    json_object_set_new(prompt_of(b), "name", json_string("list"));
    assert_null(compare(made(), b, &err));
    b = made();
    json_array_append(json_object_get(b, "prompts"), prompt_of(b));
    assert_null(compare(made(), b, &err));
}

static void what_differs_is_told(void **state) {
    (void)state;
    json_t *b = made();
    json_object_set_new(json_object_get(b, "model"), "checksum", json_string("fedc"));
    json_object_set_new(json_object_get(b, "settings"), "kv", json_string("q8"));
    json_object_set_new(json_object_get(b, "settings"), "decode_threads", json_integer(4));
    json_object_set_new(prompt_of(b), "answer_ids", json_array());
    char *page = compare(made(), b, NULL);
    assert_non_null(strstr(page, "- OTHER MODEL, checksum: 0123456789abcdef in A, fedc in B\n"));
    assert_non_null(strstr(page, "- kv: f16 in A, q8 in B\n"));
    assert_non_null(strstr(page, "- decode_threads: 2 in A, 4 in B\n"));
    assert_non_null(strstr(page, "- answers differ: fact\n"));
    fct_free(page);
}

static void a_throttled_result_is_marked(void **state) {
    (void)state;
    json_t *b = made();
    json_object_set_new(b, "clean", json_false());
    json_array_append_new(json_object_get(b, "not_clean"), json_string("slowed\033[2J down"));
    char *page = compare(made(), b, NULL);
    assert_non_null(strstr(page, "- B IS NOT CLEAN: slowed?[2J down\n"));
    assert_null(strstr(page, "A IS NOT CLEAN"));
    fct_free(page);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_watch_keeps_the_warmest_and_the_slowest_moment),
        cmocka_unit_test(cooling_ends_where_it_is_cool_or_no_cooler),
        cmocka_unit_test(a_quiet_run_is_clean),
        cmocka_unit_test(a_throttled_run_is_not_clean),
        cmocka_unit_test(throttling_between_two_looks_is_noticed),
        cmocka_unit_test(what_happened_before_the_run_is_only_a_note),
        cmocka_unit_test(an_x86_that_throttled_is_not_clean),
        cmocka_unit_test(a_governor_that_holds_the_clock_down_is_not_clean),
        cmocka_unit_test(a_run_beside_others_is_not_clean),
        cmocka_unit_test(what_nobody_can_tell_is_said),
        cmocka_unit_test(others_used_what_the_program_did_not),
        SCRATCH_TEST(a_result_is_read_whole_or_not_at_all),
        SCRATCH_TEST(what_is_no_result_is_named),
        SCRATCH_TEST(a_damaged_result_never_does_harm),
        cmocka_unit_test(two_results_are_set_side_by_side),
        cmocka_unit_test(another_protocol_or_other_work_does_not_compare),
        cmocka_unit_test(what_differs_is_told),
        cmocka_unit_test(a_throttled_result_is_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
