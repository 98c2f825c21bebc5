/* cmd_bench.c - `facet bench`: how fast this machine runs the model, and what bounds it. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "cli/commands.h"
#include "cli/folded.h"
#include "cli/json_output.h"
#include "cli/model_choice.h"
#include "cli/progress.h"
#include "cli/protocol.h"
#include "cli/run_rates.h"
#include "cli/run_verdict.h"
#include "cli/style.h"
#include "cli/tame.h"

enum { N_PROMPT = 512, N_TOKENS = 64, REPEATS = 3, COOL_DOWN = 120, NAME_COLUMNS = 15 };

struct bench_options {
    struct fct_model_choice model;
    int n_prompt, n_tokens, depth, repeats, cool_down;
    bool json, protocol, compare;
    const char *out, *power_command, *root;
};

#define AT(field) offsetof(struct bench_options, field)
static const struct fct_option own_options[] = {
    {NULL, 'p', FCT_OPTION_INTEGER, AT(n_prompt), "N", "tokens of the prompt; 0: no prompt", "512",
     0, 1 << 24, NULL},
    {NULL, 'n', FCT_OPTION_INTEGER, AT(n_tokens), "N",
     "tokens of the answer: the first comes from the prompt, N-1 steps are measured", "64", 0,
     1 << 24, NULL},
    {NULL, 'd', FCT_OPTION_INTEGER, AT(depth), "DEPTH", "tokens that the cache holds before", "0",
     0, 1 << 24, NULL},
    {NULL, 'r', FCT_OPTION_INTEGER, AT(repeats), "R",
     "runs behind two that warm up; the median counts", "3", 1, FCT_MOST_RUNS, NULL},
    {"json", 0, FCT_OPTION_FLAG, AT(json), NULL, "print one object", NULL, 0, 0, NULL},
    {"protocol", 0, FCT_OPTION_FLAG, AT(protocol), NULL,
     "measure five prompts, three times each, and what happened to the machine meanwhile", NULL, 0,
     0, NULL},
    {NULL, 'o', FCT_OPTION_TEXT, AT(out), "NAME", "write the protocol's NAME.json and NAME.md",
     NULL, 0, 0, NULL},
    {"power-command", 0, FCT_OPTION_TEXT, AT(power_command), "CMD",
     "a shell command that prints watts, for a meter of your own", NULL, 0, 0, NULL},
    {"cool-down", 0, FCT_OPTION_INTEGER, AT(cool_down), "SECONDS",
     "wait at most so long for a warm machine to cool down, before each prompt", "120", 0, 3600,
     NULL},
    {"root", 0, FCT_OPTION_TEXT, AT(root), "DIR", "read sensors below DIR instead of /, for tests",
     NULL, 0, 0, NULL},
    {"compare", 0, FCT_OPTION_FLAG, AT(compare), NULL,
     "set the protocol's result B beside A, both NAME.json", NULL, 0, 0, NULL},
    {0},
};
static const struct fct_option_group groups[] = {
    {"Options", own_options, 0},
    FCT_MODEL_GROUP(struct bench_options, model),
    {0},
};

struct bench {
    const struct bench_options *options;
    const fct_model *model;
    fct_session *session;
    int *ids;                   /* [depth + n_prompt + n_tokens] */
    struct fct_run_times *runs; /* [repeats] */
    struct fct_progress progress;
    double first_token_seconds; /* the very first prompt, wherever the weights lie by then */
    double settle_seconds;      /* after the first run, until the weights lay where they stay */
    uint64_t peak_bytes;
    double bandwidth; /* the best bytes a second that plain reads reached; 0: not measured */
    struct fct_run_facts facts;
};

static int n_steps(const struct bench_options *options) {
    return options->n_tokens > 0 ? options->n_tokens - 1 : 0;
}

/* The same ids each time, any but control tokens. (The generator is splitmix64.) */
static void choose_ids(struct bench *bench, size_t n_ids) {
    uint64_t state = 42, vocab_size = (uint64_t)fct_model_describe(bench->model).vocab_size;
    for (size_t i = 0; i < n_ids;) {
        uint64_t x = state += 0x9E3779B97F4A7C15u;
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
        x = (x ^ x >> 27) * 0x94D049BB133111EBu;
        int id = (int)((x ^ x >> 31) % vocab_size);
        if (!fct_is_control_id(bench->model, id)) bench->ids[i++] = id;
    }
}

/* Reads the prompt behind what is there; all of it must have been read, or the figure would
 * flatter. */
static fct_status time_prompt(struct bench *bench, struct fct_run_times *times, fct_error *err) {
    int depth = bench->options->depth, n_prompt = bench->options->n_prompt;
    fct_status status = fct_session_prefill(bench->session, bench->ids, depth + n_prompt, err);
    times->prompt_seconds = times->first_token_seconds = fct_seconds() - times->began;
    times->n_prompt = n_prompt;
    int n_read = fct_session_describe(bench->session).n_read;
    if (!status && n_read != n_prompt)
        return fct_fail(err, FCT_ERR_ARGUMENT,
                        "the session read %d tokens where %d were to be measured", n_read,
                        n_prompt);
    return status;
}

static fct_status time_answer(struct bench *bench, struct fct_run_times *times, fct_error *err) {
    const int *id = bench->ids + bench->options->depth + bench->options->n_prompt;
    double began = fct_seconds();
    for (int i = 0; i < n_steps(bench->options); i++) {
        fct_status status = fct_session_append(bench->session, id[i], err);
        if (status) return status;
        fct_session_logits(bench->session);
    }
    times->decode_seconds = fct_seconds() - began;
    times->n_steps = n_steps(bench->options);
    return FCT_OK;
}

static fct_status run_once(struct bench *bench, struct fct_run_times *times, fct_error *err) {
    int depth = bench->options->depth;
    fct_status status = FCT_OK;
    fct_session_rewind(bench->session, depth);
    /* Also where the cache holds these tokens: what its window has lost is read again outside of
     * the measurement. */
    if (depth > 0) status = fct_session_prefill(bench->session, bench->ids, depth, err);
    *times = (struct fct_run_times){.began = fct_seconds()};
    if (!status && bench->options->n_prompt > 0) status = time_prompt(bench, times, err);
    if (!status && n_steps(bench->options) > 0) status = time_answer(bench, times, err);
    times->whole_seconds = times->prompt_seconds + times->decode_seconds;
    times->n_tokens = times->n_steps + (times->n_prompt > 0);
    return status;
}

static double bandwidth_now(struct bench *bench) {
    double now = fct_measure_bandwidth(fct_session_describe(bench->session).decode_threads);
    if (now > bench->bandwidth) bench->bandwidth = now;
    return now;
}

static void settle(struct bench *bench) {
    double began = fct_seconds();
    fct_model_settle(bench->model);
    bench->settle_seconds = fct_seconds() - began;
}

static void look(struct bench *bench, bool measuring) {
    struct fct_sensors now;
    fct_sensors_read(bench->options->root, &now);
    fct_watched_take(&bench->facts.watched, &now, measuring);
}

/* The first run is what a person waits for who starts the program. Behind it the weights come to
 * rest, the second run follows them there, and the others count. */
enum { WARM_UPS = 2 };

static fct_status measure(struct bench *bench, fct_error *err) {
    const struct bench_options *options = bench->options;
    size_t n_ids = (size_t)options->depth + (size_t)options->n_prompt + (size_t)options->n_tokens;
    bench->ids = fct_new_array(n_ids, sizeof(int), err);
    bench->runs = fct_new_array((size_t)options->repeats, sizeof *bench->runs, err);
    if (!bench->ids || !bench->runs) return FCT_ERR_MEMORY;
    choose_ids(bench, n_ids);
    fct_progress_begin(&bench->progress, options->model.quiet, false);
    fct_governor_read(options->root, &bench->facts.governor);
    look(bench, false);
    double after = 0;
    for (int run = 0; run < WARM_UPS + options->repeats; run++) {
        struct fct_run_times warm_up, *times = &warm_up;
        if (run >= WARM_UPS) times = &bench->runs[run - WARM_UPS];
        fct_status status = run_once(bench, times, err);
        if (status) return status;
        look(bench, true);
        if (run == WARM_UPS - 1) /* later, the memory of these reads would count, too */
            bench->peak_bytes = fct_peak_resident_bytes();
        if (run >= WARM_UPS - 1) {
            double before = after;
            after = bandwidth_now(bench);
            times->bandwidth = before > 0 && after > 0 ? (before + after) / 2 : 0;
        }
        if (run == 0) {
            bench->first_token_seconds = times->first_token_seconds;
            settle(bench);
        }
        fct_progress_update(&bench->progress, "bench", (uint64_t)run + 1,
                            WARM_UPS + (uint64_t)options->repeats);
    }
    return FCT_OK;
}

/* NAN if there was nothing to measure. */
static struct fct_spread spread(const struct bench *bench,
                                double (*value)(const struct fct_run_times *times)) {
    return fct_spread_of(bench->runs, bench->options->repeats, value);
}

static double read_rate(const struct bench *bench) {
    double tokens = spread(bench, fct_answer_rate).median;
    return tokens * (double)fct_model_describe(bench->model).bytes_per_token;
}

static double tokens_a_byte(const struct fct_run_times *times) {
    return fct_rate(1, times->bandwidth) * fct_answer_rate(times);
}

/* What the answers read of what plain reads reached right before and after each: a virtual
 * machine's memory may be half as fast a second later. */
static struct fct_spread bandwidth_share(const struct bench *bench) {
    double bytes = (double)fct_model_describe(bench->model).bytes_per_token;
    struct fct_spread share = spread(bench, tokens_a_byte);
    return (struct fct_spread){share.least * bytes, share.median * bytes, share.most * bytes};
}

/* Throttling alone is judged here: whether others used the CPUs, only the protocol looks at. */
static json_t *board(const struct bench *bench) {
    const struct fct_watched *watched = &bench->facts.watched;
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "governor", bench->facts.governor.name,
                     "celsius_at_most", fct_json_number(watched->max_celsius), "clock_hz_at_least",
                     fct_json_number(watched->min_clock_hz), "slowed_bits",
                     watched->throttle_known ? json_integer(watched->slowed) : json_null(),
                     "not_clean", fct_run_reasons(&bench->facts));
}

/* What was measured; null where there was nothing to measure. */
static json_t *results(const struct bench *bench) {
    const struct bench_options *options = bench->options;
    fct_model_info info = fct_model_describe(bench->model);
    double read = read_rate(bench);
    double first_token = options->n_prompt > 0 ? bench->first_token_seconds : NAN;
    return json_pack(
        "{s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o}", "prefill_tokens_per_second",
        fct_json_number(spread(bench, fct_prompt_rate).median), "decode_tokens_per_second",
        fct_json_number(spread(bench, fct_answer_rate).median), "whole_tokens_per_second",
        fct_json_number(spread(bench, fct_whole_rate).median), "bytes_per_token",
        (json_int_t)info.bytes_per_token, "read_bytes_per_second", fct_json_number(read),
        "bandwidth_share", fct_json_number(bandwidth_share(bench).median), "load_seconds",
        fct_json_number(info.load_seconds), "settle_seconds",
        fct_json_number(bench->settle_seconds), "first_token_seconds", fct_json_number(first_token),
        "peak_resident_bytes", (json_int_t)bench->peak_bytes, "bandwidth_bytes_per_second",
        fct_json_number(bench->bandwidth > 0 ? bench->bandwidth : NAN), "board", board(bench));
}

/* What it was measured with. */
static json_t *conditions(const struct bench *bench) {
    const struct bench_options *options = bench->options;
    fct_model_info info = fct_model_describe(bench->model);
    fct_session_info session = fct_session_describe(bench->session);
    return json_pack("{s:i, s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:s, s:s, s:s, s:s}", "threads",
                     session.decode_threads, "kernels", info.kernels, "memory", info.memory,
                     "prefill_threads", session.prefill_threads, "prompt_tokens", options->n_prompt,
                     "decode_steps", n_steps(options), "depth", options->depth, "repeats",
                     options->repeats, "weights", info.weights, "kv", session.kv, "activations",
                     session.activations, "source", info.source);
}

static int print_json(const struct bench *bench) {
    json_t *all = results(bench), *more = conditions(bench);
    if (all && json_object_update(all, more) < 0) {
        json_decref(all);
        all = NULL;
    }
    json_decref(more);
    return fct_json_print("bench", all);
}

/* A row of the table: a name, and what is told of it, folded to the terminal's width. */
__attribute__((format(printf, 2, 3))) static void print_row(const char *name, const char *format,
                                                            ...) {
    char text[512], tame[512];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    fct_tame_copy(tame, sizeof tame, text);
    printf("%-*s", NAME_COLUMNS, name);
    fct_folded_print(stdout, tame, NAME_COLUMNS, NAME_COLUMNS, fct_line_columns(STDOUT_FILENO));
}

/* "prompt         512 tokens at depth 0: 5210.3 tok/s (5100.2 to 5222.8)" */
static void print_speed(const char *what, int n, const char *unit, struct fct_spread rate,
                        int depth) {
    print_row(what, "%d %s at depth %d: %.1f tok/s (%.1f to %.1f)", n, unit, depth, rate.median,
              rate.least, rate.most);
}

static void print_reading(const struct bench *bench, int n_threads) {
    char bytes[32], read[32], best[32];
    fct_size_text((double)fct_model_describe(bench->model).bytes_per_token, bytes);
    struct fct_spread share = bandwidth_share(bench);
    if (bench->bandwidth <= 0 || (n_steps(bench->options) > 0 && isnan(share.median))) {
        print_row("weights", "%s a token; too little memory to measure the bandwidth", bytes);
        return;
    }
    fct_size_text(bench->bandwidth, best);
    if (n_steps(bench->options) == 0) {
        print_row("weights", "%s a token; %d thread%s read%s %s/s", bytes, n_threads,
                  n_threads == 1 ? "" : "s", n_threads == 1 ? "s" : "", best);
        return;
    }
    print_row(
        "weights",
        "%s a token, %s/s: %.0f %% (%.0f to %.0f) of what %d thread%s read%s right before and "
        "after, %s/s at best%s",
        bytes, fct_size_text(read_rate(bench), read), share.median * 100, share.least * 100,
        share.most * 100, n_threads, n_threads == 1 ? "" : "s", n_threads == 1 ? "s" : "", best,
        share.median > 1 ? " (the CPU's caches help)" : "");
}

static void print_board(const struct bench *bench) {
    const struct fct_watched *watched = &bench->facts.watched;
    const char *governor = bench->facts.governor.name;
    json_t *reasons = fct_run_reasons(&bench->facts);
    size_t i;
    const json_t *reason;
    char celsius[32] = "", clock[32] = "";
    if (watched->max_celsius > 0)
        snprintf(celsius, sizeof celsius, "%.0f °C at most, ", watched->max_celsius);
    if (watched->min_clock_hz > 0)
        snprintf(clock, sizeof clock, "%.2f GHz at least, ", watched->min_clock_hz * 1e-9);
    print_row("board", "%s%s%s%s%s%s", celsius, clock, *governor ? "governor " : "", governor,
              *governor ? ", " : "",
              !watched->throttle_known ? "throttling unknown"
              : watched->slowed        ? "throttled"
                                       : "not throttled");
    json_array_foreach(reasons, i, reason) print_row("NOT CLEAN", "%s", json_string_value(reason));
    json_decref(reasons);
}

static int print_table(const struct bench *bench) {
    const struct bench_options *options = bench->options;
    fct_model_info info = fct_model_describe(bench->model);
    fct_session_info session = fct_session_describe(bench->session);
    char size[32], time[32];
    print_row("model", "%s, %s, %s", info.source, info.weights,
              fct_size_text((double)info.file_bytes, size));
    print_row("runs on",
              "CPU, kernels %s, memory %s, kv %s, activations %s, threads %d (prompt %d)",
              info.kernels, info.memory, session.kv, session.activations, session.decode_threads,
              session.prefill_threads);
    if (bench->settle_seconds >= 0.01)
        print_row("load", "%s, and %s behind the first run until the weights lay in place",
                  fct_duration_text(info.load_seconds, time),
                  fct_duration_text(bench->settle_seconds, size));
    else
        print_row("load", "%s", fct_duration_text(info.load_seconds, time));
    if (options->n_prompt > 0) {
        print_speed("prompt", options->n_prompt, "tokens", spread(bench, fct_prompt_rate),
                    options->depth);
        print_row("first token", "%s, load not counted",
                  fct_duration_text(bench->first_token_seconds, time));
    }
    if (n_steps(options) > 0)
        print_speed("answer", n_steps(options), "steps", spread(bench, fct_answer_rate),
                    options->depth + options->n_prompt);
    if (options->n_prompt > 0 && n_steps(options) > 0)
        print_speed("together", options->n_tokens, "tokens", spread(bench, fct_whole_rate),
                    options->depth);
    print_reading(bench, session.decode_threads);
    print_board(bench);
    print_row("memory", "%s resident at most", fct_size_text((double)bench->peak_bytes, size));
    print_row("method",
              "median of %d after two runs, random tokens; in brackets slowest and fastest",
              options->repeats);
    return FCT_EXIT_GOOD;
}

static int run_free(const struct bench_options *options) {
    struct bench bench = {
        .options = options,
        .facts = {.load = {0, NAN, NAN}, .worst = {0, NAN, NAN}, .n_cpus = 1, .cooled = true}};
    fct_error err = {0};
    int code = FCT_EXIT_FAILURE, n_needed = options->depth + options->n_prompt + n_steps(options);
    if (options->n_prompt == 0 && n_steps(options) == 0)
        return fct_usage_error("bench", "-p 0 and -n %d leave nothing to measure",
                               options->n_tokens);
    fct_model *model = fct_model_choice_open(&options->model, "bench", &err);
    if (!model) goto failed;
    fct_session_options session_options = fct_model_choice_session(&options->model);
    if (session_options.context == 0) session_options.context = n_needed;
    bench.model = model;
    bench.session = fct_session_new(model, &session_options, &err);
    if (!bench.session || measure(&bench, &err) != FCT_OK) goto failed;
    fct_progress_clear(&bench.progress);
    code = options->json ? print_json(&bench) : print_table(&bench);
    goto done;
failed:
    fct_progress_clear(&bench.progress);
    fct_failure("bench", &err);
done:
    fct_session_free(bench.session);
    fct_model_free(model);
    fct_free(bench.ids);
    fct_free(bench.runs);
    return code;
}

static bool has_own_sizes(const struct bench_options *options) {
    return options->n_prompt != N_PROMPT || options->n_tokens != N_TOKENS || options->depth != 0 ||
           options->repeats != REPEATS;
}

static int run_protocol(const struct bench_options *options, const char *path) {
    struct fct_model_choice model = options->model;
    if (path) model.path = path;
    struct fct_protocol_options protocol = {.model = &model,
                                            .root = options->root,
                                            .power_command = options->power_command,
                                            .cool_down = options->cool_down};
    return fct_protocol_command(&protocol, options->out, options->json);
}

static int run(const void *command_options, struct fct_arguments arguments) {
    const struct bench_options *options = command_options;
    bool protocol = options->protocol;
    if (options->compare && (protocol || options->out || options->json))
        return fct_usage_error("bench", "--compare reads two results and measures nothing");
    if (options->compare && arguments.n_values != 2)
        return fct_usage_error("bench", "--compare takes two results, A.json and B.json");
    if (options->compare) return fct_protocol_compare_command(arguments.values);
    if (!protocol && (options->out || options->power_command))
        return fct_usage_error("bench", "-o and --power-command belong to --protocol");
    if (protocol && has_own_sizes(options))
        return fct_usage_error("bench", "the protocol has its own prompts: -p, -n, -d and -r do "
                                        "not go with it");
    if (arguments.n_values > protocol)
        return fct_usage_error("bench", "unexpected \"%s\"", arguments.values[protocol]);
    if (protocol && options->model.path && arguments.n_values)
        return fct_usage_error("bench", "the model is named twice, by -m and by \"%s\"",
                               arguments.values[0]);
    return protocol ? run_protocol(options, arguments.values[0]) : run_free(options);
}

static void set_defaults(void *command_options) {
    struct bench_options *options = command_options;
    options->n_prompt = N_PROMPT;
    options->n_tokens = N_TOKENS;
    options->repeats = REPEATS;
    options->cool_down = COOL_DOWN;
    options->root = "";
}

const struct fct_command fct_cmd_bench = {
    .name = "bench",
    .synopsis = "[OPTIONS] | --protocol [MODEL] [OPTIONS] | --compare A B",
    .summary = "measure speed, and what bounds it",
    .about =
        "Measures reading a prompt and writing an answer apart: tokens a second, time to the first "
        "token, weights read for a token and their share of the memory bandwidth that is measured "
        "in "
        "the same run, load time and peak memory.\n\n"
        "With --protocol it measures what compares between machines and versions: five prompts "
        "that the program brings along, three runs each, from a cold cache, 64 tokens an answer; "
        "and joules for a token where something measures power (--power-command, the PMIC of a "
        "Raspberry Pi 5, RAPL, a hwmon sensor). It watches temperature, clock, throttling and "
        "other load, and a run that was disturbed is not called clean: it says why and ends with "
        "exit code 1. --compare prints two results side by side.",
    .groups = groups,
    .max_arguments = 2,
    .options_bytes = sizeof(struct bench_options),
    .set_defaults = set_defaults,
    .run = run,
};
