/* protocol_page.c - a result of the measuring protocol as a page: Markdown that is aligned, so that
 * it reads on a terminal too. */
#include <math.h>
#include <string.h>

#include "base/buffer.h"
#include "cli/page_table.h"
#include "cli/progress.h"
#include "cli/protocol.h"
#include "cli/sensors.h"
#include "cli/tame.h"

static double number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static const char *text(const json_t *object, const char *key) {
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : "";
}

static void add_tame(struct fct_text *page, const char *string) {
    fct_tame_add(page, string, strlen(string));
}

/* ---- what it ran on ---- */

static void add_machine(struct fct_text *page, const json_t *result) {
    const json_t *machine = json_object_get(result, "machine");
    double memory = number(machine, "memory_bytes");
    char size[32];
    fct_text_puts(page, "- machine: ");
    add_tame(page, *text(machine, "name") ? text(machine, "name") : "unknown");
    fct_text_printf(page, ", %.0f CPUs, ", number(machine, "cpus"));
    if (memory > 0) fct_text_printf(page, "%s, ", fct_size_text(memory, size));
    add_tame(page, text(machine, "architecture"));
    fct_text_printf(page, ", pages of %.0f KiB", number(machine, "page_bytes") / 1024);
    fct_text_puts(page, *text(machine, "kernel") ? ", Linux " : "");
    add_tame(page, text(machine, "kernel"));
    fct_text_puts(page, "\n");
}

static void add_model(struct fct_text *page, const json_t *result) {
    const json_t *model = json_object_get(result, "model");
    char size[32], bytes[32];
    fct_text_puts(page, "- model: ");
    add_tame(page, text(model, "source"));
    fct_text_puts(page, ", ");
    add_tame(page, text(model, "weights"));
    fct_text_printf(page, ", %s, %s a token, checksum ",
                    fct_size_text(number(model, "file_bytes"), size),
                    fct_size_text(number(model, "bytes_per_token"), bytes));
    add_tame(page, *text(model, "checksum") ? text(model, "checksum") : "none");
    fct_text_puts(page, "\n");
}

static void add_settings(struct fct_text *page, const json_t *result) {
    const json_t *settings = json_object_get(result, "settings");
    static const char *const keys[] = {"memory", "kv", "activations"};
    fct_text_puts(page, "- runs with: facet ");
    add_tame(page, text(result, "facet"));
    fct_text_puts(page, ", on the CPU, kernels ");
    add_tame(page, text(settings, "kernels"));
    for (size_t i = 0; i < 3; i++) {
        fct_text_printf(page, ", %s ", keys[i]);
        add_tame(page, text(settings, keys[i]));
    }
    fct_text_printf(page, ", threads %.0f (prompt %.0f), context %.0f\n",
                    number(settings, "decode_threads"), number(settings, "prefill_threads"),
                    number(settings, "context"));
}

/* ---- what was seen meanwhile ---- */

static void add_celsius(struct fct_text *page, const json_t *sensors) {
    double before = number(sensors, "celsius_before"), most = number(sensors, "celsius_at_most");
    if (isnan(most)) {
        fct_text_puts(page, "- temperature: no sensor\n");
        return;
    }
    fct_text_printf(page, "- temperature: %.0f °C before, %.0f °C at most\n", before, most);
}

static void add_clock(struct fct_text *page, const json_t *result, const json_t *sensors) {
    const char *governor = text(json_object_get(result, "machine"), "governor");
    double least = number(sensors, "clock_hz_at_least"),
           hardware = number(sensors, "clock_hz_of_hardware");
    fct_text_puts(page, "- clock:");
    if (!isnan(least)) fct_text_printf(page, " %.2f GHz at least", least * 1e-9);
    if (!isnan(hardware)) fct_text_printf(page, " of %.2f GHz", hardware * 1e-9);
    if (isnan(least) && isnan(hardware)) fct_text_puts(page, " unknown");
    fct_text_puts(page, ", governor ");
    add_tame(page, *governor ? governor : "unknown");
    fct_text_puts(page, "\n");
}

static void add_throttling(struct fct_text *page, const json_t *sensors) {
    char words[96];
    double slowed = number(sensors, "slowed_bits"),
           before = number(sensors, "throttled_bits_before"),
           events = number(sensors, "throttle_events");
    fct_text_puts(page, "- throttling: ");
    if (isnan(slowed)) {
        fct_text_puts(page, "unknown\n");
        return;
    }
    fct_throttle_words((unsigned)slowed, words);
    fct_text_puts(page, *words ? words : "none");
    if (events > 0) fct_text_printf(page, ", %.0f events", events);
    if (before > 0) fct_text_printf(page, " (0x%x before the run)", (unsigned)before);
    fct_text_puts(page, "\n");
}

static void add_sensors(struct fct_text *page, const json_t *result) {
    const json_t *sensors = json_object_get(result, "sensors");
    double others = number(sensors, "others_share"), stolen = number(sensors, "stolen_share");
    add_celsius(page, sensors);
    add_clock(page, result, sensors);
    add_throttling(page, sensors);
    if (!isnan(others))
        fct_text_printf(page, "- others used %.1f %% of the CPUs, the hypervisor %.1f %%\n",
                        others * 100, stolen * 100);
    fct_text_puts(page, "- power: ");
    add_tame(page, *text(sensors, "power_meter") ? text(sensors, "power_meter") : "no sensor");
    fct_text_puts(page, "\n");
}

/* ---- figures ---- */

static void add_figures(struct fct_text *page, const json_t *result) {
    struct fct_page_table table = {.n_columns = 7, .n_left = 1};
    size_t i;
    const json_t *prompt;
    static const char *const heads[] = {"prompt",       "tokens", "prompt tok/s", "first token",
                                        "answer tok/s", "J/tok",  "ids"};
    char time[32];
    for (size_t column = 0; column < 7; column++) fct_page_cell(&table, "%s", heads[column]);
    json_array_foreach(json_object_get(result, "prompts"), i, prompt) {
        double joules = number(prompt, "joules_per_token");
        bool same = json_is_true(json_object_get(prompt, "same_each_time"));
        fct_page_cell(&table, "%s", text(prompt, "name"));
        fct_page_cell(&table, "%.0f", number(prompt, "prompt_tokens"));
        fct_page_cell(&table, "%.1f", number(prompt, "prefill_tokens_per_second"));
        fct_page_cell(&table, "%s", fct_duration_text(number(prompt, "first_token_seconds"), time));
        fct_page_cell(&table, "%.1f", number(prompt, "decode_tokens_per_second"));
        if (isnan(joules))
            fct_page_cell(&table, "-");
        else
            fct_page_cell(&table, "%.2f", joules);
        fct_page_cell(&table, "%s", same ? "same" : "DIFFER");
    }
    fct_page_table_add(&table, page);
}

static void add_once(struct fct_text *page, const json_t *result) {
    char size[32], load[32], cold[32], settle[32];
    fct_text_printf(page,
                    "\n- load: %s; first token of the first run: %s; weights in place %s later\n",
                    fct_duration_text(number(result, "load_seconds"), load),
                    fct_duration_text(number(result, "cold_first_token_seconds"), cold),
                    fct_duration_text(number(result, "settle_seconds"), settle));
    fct_text_printf(page, "- memory: %s resident at most",
                    fct_size_text(number(result, "peak_resident_bytes"), size));
    fct_text_printf(page, "; it reads at %s/s\n",
                    fct_size_text(number(result, "bandwidth_bytes_per_second"), size));
}

static void add_list(struct fct_text *page, const char *what, const json_t *list) {
    size_t i;
    const json_t *sentence;
    json_array_foreach(list, i, sentence) {
        fct_text_printf(page, "- %s: ", what);
        add_tame(page, json_string_value(sentence) ? json_string_value(sentence) : "");
        fct_text_puts(page, "\n");
    }
}

static void add_answers(struct fct_text *page, const json_t *result) {
    size_t i;
    const json_t *prompt;
    fct_text_puts(page, "\n## Answers\n\n");
    json_array_foreach(json_object_get(result, "prompts"), i, prompt) {
        fct_text_printf(page, "- %s: ", text(prompt, "name"));
        add_tame(page, text(prompt, "answer"));
        fct_text_puts(page, "\n");
    }
}

char *fct_protocol_page(const json_t *result, bool answers, fct_error *err) {
    struct fct_text page = {0};
    bool clean = json_is_true(json_object_get(result, "clean"));
    fct_text_printf(&page, "# facet bench, protocol %.0f: %s\n\n", number(result, "facet_protocol"),
                    clean ? "a clean run" : "NOT A CLEAN RUN");
    add_list(&page, "not clean", json_object_get(result, "not_clean"));
    add_list(&page, "note", json_object_get(result, "notes"));
    fct_text_printf(&page, "- date: ");
    add_tame(&page, text(result, "date"));
    fct_text_puts(&page, "\n");
    add_machine(&page, result);
    add_model(&page, result);
    add_settings(&page, result);
    add_sensors(&page, result);
    fct_text_printf(&page, "\nMedians of %d runs; %d tokens an answer, whatever it says.\n\n",
                    FCT_PROTOCOL_RUNS, FCT_PROTOCOL_TOKENS);
    add_figures(&page, result);
    add_once(&page, result);
    if (answers) add_answers(&page, result);
    return fct_text_finish(&page, NULL, err);
}
