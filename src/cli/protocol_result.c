/* protocol_result.c - the result of the measuring protocol as JSON (docs/PROTOCOL.md). */
#include "cli/protocol_result.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/utf8.h"
#include "cli/json_output.h"
#include "cli/run_verdict.h"

/* What a machine or a user wrote need not be UTF-8. */
static json_t *repaired(const char *text) {
    char *copy = fct_utf8_repair(text, strlen(text), NULL, NULL, NULL);
    json_t *string = copy ? json_string(copy) : NULL;
    fct_free(copy);
    return string;
}

static json_t *machine_object(const struct fct_protocol_figures *figures) {
    const struct fct_machine_facts *machine = &figures->machine;
    return json_pack("{s:o, s:s, s:o, s:i, s:i, s:I, s:I, s:o, s:o}", "name",
                     repaired(machine->name), "architecture", machine->architecture, "kernel",
                     repaired(machine->kernel), "cpus", machine->n_cpus, "all_cpus",
                     figures->n_cpus, "memory_bytes", (json_int_t)machine->memory_bytes,
                     "page_bytes", (json_int_t)machine->page_bytes, "governor",
                     repaired(figures->governor.name), "governor_driver",
                     repaired(figures->governor.driver));
}

static json_t *model_object(const fct_model *model) {
    fct_model_info info = fct_model_describe(model);
    return json_pack("{s:s, s:s, s:s?, s:I, s:I}", "source", info.source, "weights", info.weights,
                     "checksum", info.checksum, "file_bytes", (json_int_t)info.file_bytes,
                     "bytes_per_token", (json_int_t)info.bytes_per_token);
}

static json_t *settings_object(const fct_model *model, const fct_session *session) {
    fct_model_info info = fct_model_describe(model);
    fct_session_info state = fct_session_describe(session);
    return json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i}", "kernels", info.kernels,
                     "memory", info.memory, "kv", state.kv, "activations", state.activations,
                     "decode_threads", state.decode_threads, "prefill_threads",
                     state.prefill_threads, "batch", state.batch, "context", state.context,
                     "answer_tokens", FCT_PROTOCOL_TOKENS, "runs", FCT_PROTOCOL_RUNS);
}

static json_t *sensors_object(const struct fct_protocol_figures *figures) {
    const struct fct_watched *watched = &figures->watched;
    bool known = watched->throttle_known;
    json_t *meter = figures->meter ? repaired(figures->meter) : json_null();
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "celsius_before",
                     fct_json_number(watched->first.celsius), "celsius_at_most",
                     fct_json_number(watched->max_celsius), "clock_hz_at_least",
                     fct_json_number(watched->min_clock_hz), "clock_hz_of_hardware",
                     fct_json_number(watched->first.max_clock_hz), "throttled_bits_before",
                     known ? json_integer(watched->first.throttle) : json_null(), "slowed_bits",
                     known ? json_integer(watched->slowed) : json_null(), "throttle_events",
                     watched->n_throttled >= 0 ? json_integer(watched->n_throttled) : json_null(),
                     "others_share", fct_json_number(figures->load.others), "stolen_share",
                     fct_json_number(figures->load.stolen), "power_meter", meter);
}

/* ---- prompts ---- */

static json_t *median_of(const struct fct_run_times *runs,
                         double (*value)(const struct fct_run_times *run)) {
    return fct_json_number(fct_spread_of(runs, FCT_PROTOCOL_RUNS, value).median);
}

static double first_token(const struct fct_run_times *run) { return run->first_token_seconds; }

static json_t *runs_array(const struct fct_run_times *runs) {
    json_t *array = json_array();
    for (int i = 0; i < FCT_PROTOCOL_RUNS; i++)
        json_array_append_new(
            array, json_pack("{s:f, s:f, s:f, s:f}", "prompt_seconds", runs[i].prompt_seconds,
                             "first_token_seconds", runs[i].first_token_seconds, "decode_seconds",
                             runs[i].decode_seconds, "whole_seconds", runs[i].whole_seconds));
    return array;
}

/* The text up to where the model would have ended. */
static json_t *answer_text(const fct_model *model, const struct fct_protocol_prompt_figures *p) {
    char *text = NULL;
    int n = 0;
    while (n < p->n_answer && !fct_is_end_id(model, p->answer[n])) n++;
    if (fct_detokenize(model, p->answer, n, &text, NULL, NULL) != FCT_OK) return NULL;
    json_t *string = json_string(text);
    fct_free(text);
    return string ? string : json_string("");
}

/* A counter was read at the ends of each part, watts once in a while. */
static double least_seconds(const struct fct_protocol_figures *figures) {
    return figures->samples->counts ? 0.1 : 2 * FCT_WATCH_SECONDS;
}

static json_t *prompt_object(const fct_model *model, const struct fct_protocol_figures *figures,
                             int i) {
    const struct fct_protocol_prompt_figures *p = &figures->prompts[i];
    double least = least_seconds(figures);
    json_t *speed = json_pack(
        "{s:s, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "name", fct_protocol_prompts[i].name,
        "prompt_tokens", p->prompt.n_ids, "answer_steps", p->runs[0].n_steps,
        "prefill_tokens_per_second", median_of(p->runs, fct_prompt_rate),
        "decode_tokens_per_second", median_of(p->runs, fct_answer_rate), "first_token_seconds",
        median_of(p->runs, first_token), "whole_tokens_per_second",
        median_of(p->runs, fct_whole_rate), "prompt_joules_per_token",
        fct_json_number(fct_prompt_joules(figures->samples, p->runs, FCT_PROTOCOL_RUNS, least)),
        "joules_per_token",
        fct_json_number(fct_answer_joules(figures->samples, p->runs, FCT_PROTOCOL_RUNS, least)));
    json_t *more = json_pack(
        "{s:b, s:f, s:o, s:o, s:o, s:o, s:o}", "same_each_time", p->same, "cool_down_seconds",
        p->cooled.seconds, "begin_celsius", fct_json_number(p->cooled.celsius), "others_share",
        fct_json_number(p->load.others), "runs", runs_array(p->runs), "answer",
        answer_text(model, p), "answer_ids", fct_json_ids(p->answer, p->n_answer));
    if (speed && (!more || json_object_update(speed, more) != 0)) {
        json_decref(speed);
        speed = NULL;
    }
    json_decref(more);
    return speed;
}

static json_t *prompts_array(const fct_model *model, const struct fct_protocol_figures *figures) {
    json_t *array = json_array();
    for (int i = 0; i < FCT_PROTOCOL_PROMPTS; i++)
        if (json_array_append_new(array, prompt_object(model, figures, i)) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

/* ---- verdict ---- */

static struct fct_run_facts facts_of(const struct fct_protocol_figures *figures) {
    struct fct_run_facts facts = {.watched = figures->watched,
                                  .governor = figures->governor,
                                  .load = figures->load,
                                  .worst = figures->prompts[0].load,
                                  .n_cpus = figures->n_cpus,
                                  .cooled = true};
    for (int i = 0; i < FCT_PROTOCOL_PROMPTS; i++) {
        const struct fct_load_shares *load = &figures->prompts[i].load;
        if (load->others + load->stolen > facts.worst.others + facts.worst.stolen)
            facts.worst = *load;
        facts.cooled = facts.cooled && figures->prompts[i].cooled.done;
    }
    return facts;
}

static void add_own_notes(json_t *notes, const struct fct_protocol_figures *figures) {
    bool too_short = false;
    for (int i = 0; i < FCT_PROTOCOL_PROMPTS; i++) {
        const struct fct_protocol_prompt_figures *p = &figures->prompts[i];
        too_short = too_short || p->runs[0].decode_seconds < least_seconds(figures);
        if (!p->same)
            json_array_append_new(notes,
                                  json_sprintf("the answer to \"%s\" was not the same each time",
                                               fct_protocol_prompts[i].name));
    }
    if (figures->meter && too_short)
        json_array_append_new(
            notes, json_sprintf("answers took less than %.1f seconds: too short for this meter",
                                least_seconds(figures)));
}

static json_t *whole_object(const fct_model *model, const fct_session *session,
                            const struct fct_protocol_figures *figures) {
    struct fct_run_facts facts = facts_of(figures);
    json_t *reasons = fct_run_reasons(&facts), *notes = fct_run_notes(&facts);
    char date[32];
    time_t now = time(NULL);
    struct tm parts;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
    if (notes) add_own_notes(notes, figures);
    return json_pack(
        "{s:i, s:s, s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o}",
        "facet_protocol", FCT_PROTOCOL_VERSION, "facet", FCT_VERSION, "date", date, "clean",
        json_array_size(reasons) == 0, "not_clean", reasons, "notes", notes, "machine",
        machine_object(figures), "model", model_object(model), "settings",
        settings_object(model, session), "load_seconds",
        fct_json_number(fct_model_describe(model).load_seconds), "settle_seconds",
        fct_json_number(figures->settle_seconds), "cold_first_token_seconds",
        fct_json_number(figures->cold_first_token_seconds), "bandwidth_bytes_per_second",
        fct_json_number(figures->bandwidth), "peak_resident_bytes", (json_int_t)figures->peak_bytes,
        "sensors", sensors_object(figures), "prompts", prompts_array(model, figures));
}

json_t *fct_protocol_result(const fct_model *model, const fct_session *session,
                            const struct fct_protocol_figures *figures, fct_error *err) {
    json_t *result = whole_object(model, session, figures);
    if (!result) fct_fail(err, FCT_ERR_MEMORY, "no memory for the result");
    return result;
}
