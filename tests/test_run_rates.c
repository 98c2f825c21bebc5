/* test_run_rates.c - the figures of a run: told apart by run, bench and the protocol, under a clock
 * that only the stubs move.
 *
 * CMakeLists.txt links this test so that calls of fct_seconds, of passes of the network, of the
 * sampler and of fct_measure_bandwidth come here first (ld's --wrap). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <math.h>
#include <stdatomic.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/protocol.h"
#include "cli/run_rates.h"
#include "cli/run_report.h"
#include "engine/session.h"
#include "scratch_folder.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-9 * fmax(1, b))

/* ---- a clock, and work that takes so long on it ---- */

/* F78: 100 ms a prompt, 10 ms a token. Choosing a token and telling it take 1 and 2 ms, which are
 * no part of decoding. */
enum { PROMPT = 100000, STEP = 10000, CHOICE = 1000, TELLING = 2000 };
static atomic_llong microseconds; /* a thread of the protocol looks, too */

double __wrap_fct_seconds(void);
double __wrap_fct_seconds(void) { return 1000 + (double)microseconds / 1e6; }

fct_status __real_fct_session_read(fct_session *s, const int *ids, int n_ids,
                                   bool (*reading)(void *user, int n_done, int n_total), void *user,
                                   fct_error *err);
fct_status __wrap_fct_session_read(fct_session *s, const int *ids, int n_ids,
                                   bool (*reading)(void *user, int n_done, int n_total), void *user,
                                   fct_error *err);
fct_status __wrap_fct_session_read(fct_session *s, const int *ids, int n_ids,
                                   bool (*reading)(void *user, int n_done, int n_total), void *user,
                                   fct_error *err) {
    microseconds += PROMPT;
    return __real_fct_session_read(s, ids, n_ids, reading, user, err);
}

fct_status __real_fct_session_prefill(fct_session *s, const int *ids, int n_ids, fct_error *err);
fct_status __wrap_fct_session_prefill(fct_session *s, const int *ids, int n_ids, fct_error *err);
fct_status __wrap_fct_session_prefill(fct_session *s, const int *ids, int n_ids, fct_error *err) {
    microseconds += PROMPT;
    return __real_fct_session_prefill(s, ids, n_ids, err);
}

fct_status __real_fct_session_append(fct_session *s, int id, fct_error *err);
fct_status __wrap_fct_session_append(fct_session *s, int id, fct_error *err);
fct_status __wrap_fct_session_append(fct_session *s, int id, fct_error *err) {
    microseconds += STEP;
    return __real_fct_session_append(s, id, err);
}

int __real_fct_sampler_choose(struct fct_sampler *sampler, const fct_sampling *sampling,
                              const float *logits, const int *ids, int n_prompt, int n_ids);
int __wrap_fct_sampler_choose(struct fct_sampler *sampler, const fct_sampling *sampling,
                              const float *logits, const int *ids, int n_prompt, int n_ids);
int __wrap_fct_sampler_choose(struct fct_sampler *sampler, const fct_sampling *sampling,
                              const float *logits, const int *ids, int n_prompt, int n_ids) {
    microseconds += CHOICE;
    return __real_fct_sampler_choose(sampler, sampling, logits, ids, n_prompt, n_ids);
}

double __wrap_fct_measure_bandwidth(int n_threads);
double __wrap_fct_measure_bandwidth(int n_threads) { /* it would wait for the clock */
    (void)n_threads;
    return 1e10;
}

/* ---- an answer ---- */

static fct_model *demo;
static fct_session *session;

static int open_demo(void **state) {
    (void)state;
    fct_session_options sizes = {.context = 256, .decode_threads = 1, .prefill_threads = 1};
    demo = fct_model_open(NULL, NULL, NULL);
    session = demo ? fct_session_new(demo, &sizes, NULL) : NULL;
    return session ? 0 : -1;
}

static int close_demo(void **state) {
    (void)state;
    fct_session_free(session);
    fct_model_free(demo);
    return 0;
}

static bool tell(void *user, int id, const char *text, size_t n_bytes) {
    (void)user, (void)id, (void)text, (void)n_bytes;
    microseconds += TELLING;
    return true;
}

/* An answer of n tokens to twenty; sampled and told if it is to take its time. */
static void answer(int n, bool slowly, fct_generation *out) {
    fct_error err = {0};
    int prompt[20];
    fct_generate_options options = {.sampling = {.top_p = 1, .repeat_penalty = 1, .seed = 7},
                                    .max_tokens = n,
                                    .ignore_end = true};
    if (slowly) options.sampling.temperature = 1, options.token = tell;
    for (int i = 0; i < 20; i++) prompt[i] = 300 + i;
    fct_session_rewind(session, 0);
    if (fct_generate(session, prompt, 20, &options, out, &err)) fail_msg("%s", err.message);
    assert_int_equal(out->n_ids, n);
}

/* F78: n against n - 1 tokens, prompt and answer apart. */
static void eleven_tokens_are_ten_steps_behind_the_prompt(void **state) {
    (void)state;
    fct_generation generation;
    answer(11, false, &generation);
    struct fct_run_times times = fct_run_times_of(&generation);
    assert_int_equal(times.n_tokens, 11);
    assert_int_equal(times.n_steps, 10);
    assert_int_equal(times.n_prompt, 20);
    NEAR(times.first_token_seconds, 0.100);
    NEAR(times.decode_seconds, 0.100);
    NEAR(times.whole_seconds, 0.200);
    NEAR(fct_answer_rate(&times), 100);
    NEAR(fct_prompt_rate(&times), 200);
    NEAR(fct_whole_rate(&times), 55);
    fct_generation_free(&generation);
}

/* F78: no sampling, and no waiting for whoever reads the answer, in the speed of decoding. */
static void choosing_and_telling_are_no_part_of_decoding(void **state) {
    (void)state;
    fct_generation generation;
    answer(11, true, &generation);
    struct fct_run_times times = fct_run_times_of(&generation);
    NEAR(times.prompt_seconds, 0.100);
    NEAR(times.first_token_seconds, 0.101);
    NEAR(fct_answer_rate(&times), 100);
    assert_true(times.whole_seconds > 0.200 + 11 * 0.001 + 11 * 0.002 - 1e-9);
    NEAR(fct_whole_rate(&times), 11 / times.whole_seconds);
    fct_generation_free(&generation);
}

static void what_was_reused_is_not_counted_as_read(void **state) {
    (void)state;
    fct_generation generation;
    fct_generate_options options = {
        .sampling = {.top_p = 1, .repeat_penalty = 1}, .max_tokens = 1, .ignore_end = true};
    int prompt[4] = {300, 301, 302, 303};
    fct_session_rewind(session, 0);
    assert_int_equal(fct_session_prefill(session, prompt, 3, NULL), FCT_OK);
    assert_int_equal(fct_generate(session, prompt, 4, &options, &generation, NULL), FCT_OK);
    struct fct_run_times times = fct_run_times_of(&generation);
    assert_int_equal(times.n_prompt, 1);
    NEAR(fct_prompt_rate(&times), 10);
    assert_int_equal(times.n_steps, 0);
    assert_true(isnan(fct_answer_rate(&times)));
    fct_generation_free(&generation);
}

/* ---- what the commands print of it ---- */

static int saved = -1, stream;

static void capture(FILE *file) {
    fflush(file);
    stream = fileno(file);
    saved = dup(stream);
    assert_non_null(freopen(scratch_path("captured"), "w", file));
}

static const char *captured(FILE *file) {
    static char text[1 << 14];
    fflush(file);
    dup2(saved, stream);
    close(saved);
    FILE *got = fopen(scratch_path("captured"), "r");
    text[fread(text, 1, sizeof text - 1, got)] = 0;
    fclose(got);
    return text;
}

static double number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value)) fail_msg("no number \"%s\"", key);
    return json_number_value(value);
}

/* F78: each figure has its label. F79: and what ran is named, the path and its instructions. */
static void run_labels_each_figure_and_names_what_ran(void **state) {
    (void)state;
    fct_generation generation;
    char ran[64];
    answer(11, false, &generation);
    capture(stderr);
    fct_report_print(demo, session, &generation);
    const char *line = captured(stderr);
    const char *said = "11 tokens · first after 100 ms, then 100.0 tok/s, 55.0 tok/s with the "
                       "prompt · prompt 20 at 200.0 tok/s · 0 reused · context ";
    if (strncmp(line, said, strlen(said)) != 0) fail_msg("%s", line);
    snprintf(ran, sizeof ran, " · CPU, kernels %s, memory ", fct_model_describe(demo).kernels);
    if (!strstr(line, ran)) fail_msg("\"%s\" is not in: %s", ran, line);

    json_t *json = fct_report_json(demo, session, &generation);
    NEAR(number(json, "prompt_seconds"), 0.1);
    NEAR(number(json, "first_token_seconds"), 0.1);
    NEAR(number(json, "decode_seconds"), 0.1);
    NEAR(number(json, "whole_seconds"), 0.2);
    NEAR(number(json, "prompt_tokens_per_second"), 200);
    NEAR(number(json, "decode_tokens_per_second"), 100);
    NEAR(number(json, "whole_tokens_per_second"), 55);
    assert_non_null(json_object_get(json, "load_seconds"));
    assert_string_equal(json_string_value(json_object_get(json, "kernels")),
                        fct_model_describe(demo).kernels);
    json_decref(json);
    fct_generation_free(&generation);
}

/* The command as main.c runs it; what it prints on stdout. */
static const char *run_bench(char *const *arguments) {
    const struct fct_command *command = &fct_cmd_bench;
    int n = 0;
    while (arguments[n]) n++;
    void *options = calloc(1, command->options_bytes);
    struct fct_arguments rest = {calloc((size_t)n + 1, sizeof(char *)), 0};
    command->set_defaults(options);
    assert_int_equal(fct_options_parse(command, n, (char **)(uintptr_t)arguments, options, &rest),
                     FCT_PARSED_RUN);
    capture(stdout);
    int code = command->run(options, rest);
    const char *text = captured(stdout);
    fct_options_free(command, options);
    free(options);
    free(rest.values);
    if (code) fail_msg("facet bench ended with %d: %s", code, text);
    return text;
}

static void has(const char *text, const char *wanted) {
    if (!strstr(text, wanted)) fail_msg("\"%s\" is not in: %s", wanted, text);
}

#define BENCH                                                                                      \
    "-m", (char *)(uintptr_t)MODELS "/demo.facet", "--memory", "map", "-t", "1", "-p", "20", "-n", \
        "11", "--root", scratch_folder, "--quiet"

/* F78 and F79 for facet bench. */
static void bench_tells_the_same_figures_apart(void **state) {
    (void)state;
    json_t *json = json_loads(run_bench((char *[]){BENCH, "--json", NULL}), 0, NULL);
    NEAR(number(json, "prefill_tokens_per_second"), 200);
    NEAR(number(json, "decode_tokens_per_second"), 100);
    NEAR(number(json, "whole_tokens_per_second"), 55);
    NEAR(number(json, "first_token_seconds"), 0.1);
    NEAR(number(json, "load_seconds"), 0); /* apart: the stubs let no time pass there */
    json_decref(json);
    const char *table = run_bench((char *[]){BENCH, "-r", "2", NULL});
    has(table, "\nprompt         20 tokens at depth 0: 200.0 tok/s (200.0 to 200.0)\n");
    has(table, "\nfirst token    100 ms, load not counted\n");
    has(table, "\nanswer         10 steps at depth 20: 100.0 tok/s (100.0 to 100.0)\n");
    has(table, "\ntogether       11 tokens at depth 0: 55.0 tok/s (55.0 to 55.0)\n");
    has(table, "\nload           0.0 ms");
    char ran[64];
    snprintf(ran, sizeof ran, "\nruns on        CPU, kernels %s, ",
             fct_model_describe(demo).kernels);
    has(table, ran);
}

/* F78 for the protocol: 63 steps behind the first of 64 tokens. */
static void the_protocol_tells_the_same_figures_apart(void **state) {
    (void)state;
    if (TEST_EMULATED) skip(); /* seventeen runs, and nothing in them depends on the CPU */
    fct_error err = {0};
    struct fct_model_choice choice = {
        .path = MODELS "/demo.facet", .memory = FCT_MEMORY_MAP, .threads = 1, .quiet = true};
    const struct fct_protocol_options options = {.model = &choice, .root = scratch_folder};
    json_t *result;
    if (fct_protocol_run(&options, &result, &err)) fail_msg("%s", err.message);
    size_t i;
    const json_t *prompt;
    json_array_foreach(json_object_get(result, "prompts"), i, prompt) {
        assert_int_equal(number(prompt, "answer_steps"), 63);
        NEAR(number(prompt, "prefill_tokens_per_second"), number(prompt, "prompt_tokens") / 0.1);
        NEAR(number(prompt, "first_token_seconds"), 0.1);
        NEAR(number(prompt, "decode_tokens_per_second"), 100);
        NEAR(number(prompt, "whole_tokens_per_second"), 64 / 0.73);
    }
    assert_int_equal(i, FCT_PROTOCOL_PROMPTS);
    NEAR(number(result, "load_seconds"), 0);
    json_decref(result);
}

/* ---- the arithmetic ---- */

static void nothing_done_has_no_rate(void **state) {
    (void)state;
    struct fct_run_times none = {.prompt_seconds = 0.1, .whole_seconds = 0.1};
    char text[32];
    assert_true(isnan(fct_answer_rate(&none)) && isnan(fct_prompt_rate(&none)));
    assert_true(isnan(fct_whole_rate(&none)));
    assert_true(isnan(fct_rate(5, 0)));
    assert_string_equal(fct_rate_text(NAN, text), "? tok/s");
    assert_string_equal(fct_rate_text(7.25, text), "7.2 tok/s");
    assert_string_equal(fct_rate_text(1234.5, text), "1234 tok/s");
}

static double prompt_seconds(const struct fct_run_times *run) { return run->prompt_seconds; }

static void the_median_is_in_the_middle(void **state) {
    (void)state;
    const struct fct_run_times runs[] = {
        {.prompt_seconds = 4}, {.prompt_seconds = 1}, {.prompt_seconds = 3}, {.prompt_seconds = 9}};
    struct fct_spread odd = fct_spread_of(runs, 3, prompt_seconds);
    struct fct_spread even = fct_spread_of(runs, 4, prompt_seconds);
    assert_true(odd.least == 1 && odd.median == 3 && odd.most == 4);
    assert_true(even.least == 1 && even.median == 3.5 && even.most == 9);
    assert_true(isnan(fct_spread_of(runs, 4, fct_answer_rate).median));
}

/* 4 watts until second 10, then 6: a prompt of 2 s (to second 10), an answer of 4 s. */
static void joules_are_of_the_part_that_drew_them(void **state) {
    (void)state;
    static struct fct_energy_sample samples[] = {{7, 4}, {10, 4}, {10, 6}, {15, 6}};
    const struct fct_energy_samples recorded = {.samples = samples, .n_samples = 4};
    const struct fct_run_times run = {.began = 8,
                                      .prompt_seconds = 2,
                                      .decode_seconds = 4,
                                      .whole_seconds = 6,
                                      .n_prompt = 16,
                                      .n_steps = 48};
    NEAR(fct_prompt_joules(&recorded, &run, 1, 2), 8.0 / 16);
    NEAR(fct_answer_joules(&recorded, &run, 1, 2), 24.0 / 48);
    const struct fct_run_times both[] = {run, run};
    NEAR(fct_answer_joules(&recorded, both, 2, 2), 48.0 / 96);
    assert_true(isnan(fct_answer_joules(&recorded, &run, 1, 4.5))); /* too short for the meter */
    const struct fct_energy_samples none = {0};
    assert_true(isnan(fct_answer_joules(&none, &run, 1, 2)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eleven_tokens_are_ten_steps_behind_the_prompt),
        cmocka_unit_test(choosing_and_telling_are_no_part_of_decoding),
        cmocka_unit_test(what_was_reused_is_not_counted_as_read),
        SCRATCH_TEST(run_labels_each_figure_and_names_what_ran),
        SCRATCH_TEST(bench_tells_the_same_figures_apart),
        SCRATCH_TEST(the_protocol_tells_the_same_figures_apart),
        cmocka_unit_test(nothing_done_has_no_rate),
        cmocka_unit_test(the_median_is_in_the_middle),
        cmocka_unit_test(joules_are_of_the_part_that_drew_them),
    };
    return cmocka_run_group_tests(tests, open_demo, close_demo);
}
