/* protocol.c - runs the measuring protocol: five prompts, three times each, watched. */
#include "cli/protocol.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "cli/progress.h"
#include "cli/protocol_result.h"
#include "cli/run_prompt.h"

/* The first run is what a person waits for who starts the program. Behind it the weights come to
 * rest, and the second run follows them there. */
enum { WARM_UPS = 2, LEAST_CONTEXT = 2048 };

struct bench {
    const struct fct_protocol_options *options;
    fct_model *model;
    fct_session *session;
    fct_power_meter *meter;
    fct_watch *watch;
    struct fct_progress progress;
    struct fct_protocol_figures figures;
    uint64_t done, total; /* units of work, for the bar */
    const char *doing;
};

/* ---- prompts ---- */

/* In the model's chat format, or as plain text behind BOS if it has none. */
static fct_status read_prompt(const fct_model *model, const char *text, struct fct_id_list *ids,
                              fct_error *err) {
    struct fct_conversation conversation = {0};
    fct_status status = fct_conversation_init(&conversation, err);
    if (!status)
        status = fct_run_prompt_turn(&conversation, model, false, text, strlen(text), ids, err);
    fct_conversation_free(&conversation);
    if (status != FCT_ERR_UNSUPPORTED) return status;
    return fct_run_prompt_raw(model, text, strlen(text), ids, err);
}

/* Reading sixteen tokens counts as much as writing one. */
static uint64_t work_of(const struct fct_protocol_prompt_figures *prompt) {
    return (uint64_t)prompt->prompt.n_ids / 16 + FCT_PROTOCOL_TOKENS;
}

static fct_status read_prompts(struct bench *bench, int *n_longest, fct_error *err) {
    *n_longest = 0;
    for (int i = 0; i < FCT_PROTOCOL_PROMPTS; i++) {
        struct fct_protocol_prompt_figures *prompt = &bench->figures.prompts[i];
        fct_status status =
            read_prompt(bench->model, fct_protocol_prompts[i].text, &prompt->prompt, err);
        if (status) return status;
        if (prompt->prompt.n_ids > *n_longest) *n_longest = prompt->prompt.n_ids;
        bench->total += FCT_PROTOCOL_RUNS * work_of(prompt);
    }
    bench->total += WARM_UPS * work_of(&bench->figures.prompts[0]);
    return FCT_OK;
}

/* ---- one run ---- */

struct answering {
    struct bench *bench;
    bool began;      /* its first token was told */
    uint64_t before; /* bench->done when the run began */
};

static bool show_token(void *user, int id, const char *text, size_t n_bytes) {
    struct answering *answering = user;
    struct bench *bench = answering->bench;
    (void)text, (void)n_bytes;
    if (id < 0) return true;
    if (!answering->began) fct_watch_split(bench->watch);
    answering->began = true;
    bench->done++;
    fct_progress_update(&bench->progress, bench->doing, bench->done, bench->total);
    return true;
}

static bool show_reading(void *user, int n_done, int n_total) {
    struct answering *answering = user;
    (void)n_total;
    answering->bench->done = answering->before + (uint64_t)n_done / 16;
    fct_progress_update(&answering->bench->progress, answering->bench->doing,
                        answering->bench->done, answering->bench->total);
    return true;
}

/* Always the likeliest token, always as many of them, always from a cold cache: the same work each
 * time. The caller frees *generation. */
static fct_status answer(struct bench *bench, const struct fct_id_list *prompt,
                         struct fct_run_times *times, fct_generation *generation, fct_error *err) {
    struct answering answering = {.bench = bench, .before = bench->done};
    fct_generate_options options = {.sampling = {.top_p = 1, .repeat_penalty = 1},
                                    .max_tokens = FCT_PROTOCOL_TOKENS,
                                    .ignore_end = true,
                                    .token = show_token,
                                    .reading = show_reading,
                                    .user = &answering};
    fct_session_rewind(bench->session, 0);
    double began = fct_seconds();
    fct_status status =
        fct_generate(bench->session, prompt->ids, prompt->n_ids, &options, generation, err);
    if (status) return status;
    *times = fct_run_times_of(generation);
    times->began = began;
    if (times->n_prompt != prompt->n_ids || times->n_steps != FCT_PROTOCOL_TOKENS - 1)
        return fct_fail(err, FCT_ERR_ARGUMENT,
                        "the session read %d tokens and wrote %d where %d and %d were to be "
                        "measured",
                        times->n_prompt, generation->n_ids, prompt->n_ids, FCT_PROTOCOL_TOKENS);
    return FCT_OK;
}

/* ---- a prompt ---- */

static fct_status keep_answer(struct fct_protocol_prompt_figures *prompt, int run,
                              const fct_generation *generation, fct_error *err) {
    size_t n_bytes = sizeof(int) * (size_t)generation->n_ids;
    if (run > 0) {
        prompt->same = prompt->same && memcmp(prompt->answer, generation->ids, n_bytes) == 0;
        return FCT_OK;
    }
    prompt->same = true;
    prompt->answer = fct_new_array((size_t)generation->n_ids, sizeof(int), err);
    if (!prompt->answer) return FCT_ERR_MEMORY;
    memcpy(prompt->answer, generation->ids, n_bytes);
    prompt->n_answer = generation->n_ids;
    return FCT_OK;
}

static fct_status run_prompt(struct bench *bench, int place, fct_error *err) {
    struct fct_protocol_prompt_figures *prompt = &bench->figures.prompts[place];
    struct fct_load_mark begin, end;
    char doing[64];
    fct_progress_clear(&bench->progress);
    fct_cool_down(bench->options->root, bench->options->cool_down, bench->options->model->quiet,
                  &prompt->cooled);
    fct_progress_begin(&bench->progress, bench->options->model->quiet, false); /* a new estimate */
    fct_load_mark_set(bench->options->root, &begin);
    for (int run = 0; run < FCT_PROTOCOL_RUNS; run++) {
        fct_generation generation = {0};
        snprintf(doing, sizeof doing, "%s, run %d of %d", fct_protocol_prompts[place].name, run + 1,
                 FCT_PROTOCOL_RUNS);
        bench->doing = doing;
        fct_status status = fct_watch_begin(bench->watch, err);
        if (!status) status = answer(bench, &prompt->prompt, &prompt->runs[run], &generation, err);
        if (!status) status = fct_watch_end(bench->watch, err);
        if (!status) status = keep_answer(prompt, run, &generation, err);
        fct_generation_free(&generation);
        if (status) return status;
    }
    fct_load_mark_set(bench->options->root, &end);
    prompt->load = fct_load_between(&begin, &end, bench->figures.n_cpus);
    return FCT_OK;
}

/* ---- all of it ---- */

static fct_status warm_up(struct bench *bench, fct_error *err) {
    fct_generation generation = {0};
    struct fct_run_times times;
    bench->doing = "warming up";
    for (int run = 0; run < WARM_UPS; run++) {
        fct_status status =
            answer(bench, &bench->figures.prompts[0].prompt, &times, &generation, err);
        fct_generation_free(&generation);
        if (status) return status;
        if (run > 0) continue;
        bench->figures.cold_first_token_seconds = times.first_token_seconds;
        double began = fct_seconds();
        fct_model_settle(bench->model);
        bench->figures.settle_seconds = fct_seconds() - began;
    }
    return FCT_OK;
}

static fct_status open_all(struct bench *bench, fct_error *err) {
    const struct fct_protocol_options *options = bench->options;
    fct_session_options session = fct_model_choice_session(options->model);
    bool failed;
    int n_longest;
    bench->meter = fct_power_meter_open(options->root, options->power_command, &failed, err);
    if (failed) return err->code;
    bench->watch = fct_watch_new(options->root, bench->meter, err);
    if (!bench->watch) return err->code;
    bench->model = fct_model_choice_open(options->model, "bench", err);
    if (!bench->model) return err->code;
    fct_status status = fct_tokenizer_check(bench->model, "measure it with -p and -n instead", err);
    if (!status) status = read_prompts(bench, &n_longest, err);
    if (status) return status;
    int n_needed = n_longest + FCT_PROTOCOL_TOKENS;
    if (session.context == 0) session.context = n_needed > LEAST_CONTEXT ? n_needed : LEAST_CONTEXT;
    if (session.context < n_needed)
        return fct_fail(err, FCT_ERR_CONTEXT,
                        "a context of %d is too short: with this model the protocol takes %d",
                        session.context, n_needed);
    bench->session = fct_session_new(bench->model, &session, err);
    return bench->session ? FCT_OK : err->code;
}

static fct_status measure(struct bench *bench, fct_error *err) {
    struct fct_load_mark begin, end;
    struct fct_protocol_figures *figures = &bench->figures;
    fct_progress_begin(&bench->progress, bench->options->model->quiet, false);
    fct_load_mark_set(bench->options->root, &begin);
    fct_status status = warm_up(bench, err);
    for (int i = 0; i < FCT_PROTOCOL_PROMPTS && !status; i++) status = run_prompt(bench, i, err);
    fct_progress_clear(&bench->progress);
    if (status) return status;
    fct_load_mark_set(bench->options->root, &end);
    fct_watch_stop(bench->watch);
    figures->load = fct_load_between(&begin, &end, figures->n_cpus);
    figures->peak_bytes = fct_peak_resident_bytes(); /* before the bandwidth's own memory counts */
    figures->bandwidth = fct_measure_bandwidth(fct_session_describe(bench->session).decode_threads);
    figures->watched = fct_watch_seen(bench->watch);
    figures->samples = fct_watch_samples(bench->watch);
    figures->meter = bench->meter ? fct_power_meter_name(bench->meter) : NULL;
    return FCT_OK;
}

static void close_all(struct bench *bench) {
    fct_session_free(bench->session);
    fct_model_free(bench->model);
    fct_watch_free(bench->watch);
    fct_power_meter_free(bench->meter);
    for (int i = 0; i < FCT_PROTOCOL_PROMPTS; i++) {
        fct_free(bench->figures.prompts[i].prompt.ids);
        fct_free(bench->figures.prompts[i].answer);
    }
}

fct_status fct_protocol_run(const struct fct_protocol_options *options, json_t **result,
                            fct_error *err) {
    struct bench bench = {.options = options};
    *result = NULL;
    fct_machine_facts_read(options->root, &bench.figures.machine);
    fct_governor_read(options->root, &bench.figures.governor);
    bench.figures.n_cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
    fct_status status = open_all(&bench, err);
    if (!status) status = measure(&bench, err);
    if (!status) *result = fct_protocol_result(bench.model, bench.session, &bench.figures, err);
    if (!status && !*result) status = FCT_ERR_MEMORY;
    close_all(&bench);
    return status;
}
