/* protocol_compare.c - two results of the measuring protocol side by side, if they compare. */
#include <math.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "cli/page_table.h"
#include "cli/protocol.h"
#include "cli/tame.h"

/* What was read by fct_protocol_read has these keys, of these kinds. */
static double number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static const char *text(const json_t *object, const char *part, const char *key) {
    if (part) object = json_object_get(object, part);
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : "none";
}

static const json_t *prompt_at(const json_t *result, size_t i) {
    return json_array_get(json_object_get(result, "prompts"), i);
}

static size_t n_prompts(const json_t *result) {
    return json_array_size(json_object_get(result, "prompts"));
}

/* ---- do they compare? ---- */

static fct_status check_versions(const json_t *a, const json_t *b, fct_error *err) {
    double version = number(a, "facet_protocol"), other = number(b, "facet_protocol");
    if (version != other)
        return fct_fail(err, FCT_ERR_ARGUMENT,
                        "not comparable: A is of protocol %.0f, B of protocol %.0f", version,
                        other);
    if (n_prompts(a) != n_prompts(b))
        return fct_fail(err, FCT_ERR_ARGUMENT, "not comparable: A has %zu prompts, B has %zu",
                        n_prompts(a), n_prompts(b));
    return FCT_OK;
}

static fct_status check_work(const json_t *a, const json_t *b, fct_error *err) {
    for (size_t i = 0; i < n_prompts(a); i++) {
        const json_t *one = prompt_at(a, i), *other = prompt_at(b, i);
        const char *name = text(one, NULL, "name"), *name_of_other = text(other, NULL, "name");
        if (strcmp(name, name_of_other) != 0)
            return fct_fail(err, FCT_ERR_ARGUMENT,
                            "not comparable: prompt %zu is \"%s\" in A and \"%s\" in B", i + 1,
                            name, name_of_other);
        static const char *const keys[] = {"prompt_tokens", "answer_steps"};
        for (size_t key = 0; key < 2; key++)
            if (number(one, keys[key]) != number(other, keys[key]))
                return fct_fail(
                    err, FCT_ERR_ARGUMENT,
                    "not comparable: \"%s\" has %.0f %s in A and %.0f in B (models with "
                    "other tokenizers do other work)",
                    name, number(one, keys[key]), key ? "steps of its answer" : "tokens",
                    number(other, keys[key]));
    }
    return FCT_OK;
}

/* ---- what a reader has to know ---- */

static void add_line(struct fct_text *page, const char *words) {
    fct_tame_add(page, words, strlen(words));
}

static void add_side(struct fct_text *page, const char *side, const json_t *result) {
    size_t i;
    const json_t *reason;
    static const char *const parts[][2] = {
        {"machine", "name"}, {"model", "source"}, {"model", "weights"}, {NULL, "date"}};
    fct_text_printf(page, "- %s: facet ", side);
    add_line(page, text(result, NULL, "facet"));
    for (size_t part = 0; part < 4; part++) {
        fct_text_puts(page, ", ");
        add_line(page, text(result, parts[part][0], parts[part][1]));
    }
    fct_text_puts(page, "\n");
    if (json_is_true(json_object_get(result, "clean"))) return;
    fct_text_printf(page, "- %s IS NOT CLEAN", side);
    json_array_foreach(json_object_get(result, "not_clean"), i, reason) {
        fct_text_puts(page, i ? "; " : ": ");
        add_line(page, json_string_value(reason) ? json_string_value(reason) : "?");
    }
    fct_text_puts(page, "\n");
}

static void add_difference(struct fct_text *page, const char *what, const char *a, const char *b) {
    if (strcmp(a, b) == 0) return;
    fct_text_printf(page, "- %s: ", what);
    add_line(page, a);
    fct_text_puts(page, " in A, ");
    add_line(page, b);
    fct_text_puts(page, " in B\n");
}

static void add_differences(struct fct_text *page, const json_t *a, const json_t *b) {
    static const char *const texts[] = {"kernels", "memory", "kv", "activations"};
    static const char *const numbers[] = {"decode_threads", "prefill_threads", "context"};
    char one[32], other[32];
    add_difference(page, "OTHER MODEL, checksum", text(a, "model", "checksum"),
                   text(b, "model", "checksum"));
    for (size_t i = 0; i < 4; i++)
        add_difference(page, texts[i], text(a, "settings", texts[i]),
                       text(b, "settings", texts[i]));
    for (size_t i = 0; i < 3; i++) {
        snprintf(one, 32, "%.0f", number(json_object_get(a, "settings"), numbers[i]));
        snprintf(other, 32, "%.0f", number(json_object_get(b, "settings"), numbers[i]));
        add_difference(page, numbers[i], one, other);
    }
}

/* The same file answers the same on every machine; other files need not. */
static void add_answers(struct fct_text *page, const json_t *a, const json_t *b) {
    int n_differ = 0;
    for (size_t i = 0; i < n_prompts(a); i++) {
        const json_t *one = prompt_at(a, i), *other = prompt_at(b, i);
        if (json_equal(json_object_get(one, "answer_ids"), json_object_get(other, "answer_ids")))
            continue;
        fct_text_puts(page, n_differ++ ? ", " : "- answers differ: ");
        add_line(page, text(one, NULL, "name"));
    }
    fct_text_puts(page, n_differ ? "\n" : "- answers: the same\n");
}

/* ---- figures ---- */

static void add_row(struct fct_page_table *table, const char *what, const char *prompt, double a,
                    double b, int digits, double unit) {
    double ratio = b / a;
    if (isnan(a) && isnan(b)) return;
    fct_page_cell(table, "%s", what);
    fct_page_cell(table, "%s", prompt);
    fct_page_cell(table, isnan(a) ? "-" : "%.*f", digits, a / unit);
    fct_page_cell(table, isnan(b) ? "-" : "%.*f", digits, b / unit);
    fct_page_cell(table, isfinite(ratio) ? "%.3f" : "-", ratio);
}

struct figure {
    const char *what, *key;
    int digits;
    double unit;
};

static void add_prompts(struct fct_page_table *table, const json_t *a, const json_t *b) {
    static const struct figure figures[] = {{"prompt, tok/s", "prefill_tokens_per_second", 1, 1},
                                            {"answer, tok/s", "decode_tokens_per_second", 2, 1},
                                            {"first token, ms", "first_token_seconds", 1, 1e-3},
                                            {"answer, J/token", "joules_per_token", 3, 1}};
    for (size_t f = 0; f < sizeof figures / sizeof figures[0]; f++)
        for (size_t i = 0; i < n_prompts(a); i++) {
            const json_t *one = prompt_at(a, i), *other = prompt_at(b, i);
            add_row(table, figures[f].what, text(one, NULL, "name"), number(one, figures[f].key),
                    number(other, figures[f].key), figures[f].digits, figures[f].unit);
        }
}

static void add_table(struct fct_text *page, const json_t *a, const json_t *b) {
    struct fct_page_table table = {.n_columns = 5, .n_left = 2};
    static const char *const heads[] = {"figure", "prompt", "A", "B", "B / A"};
    static const struct figure once[] = {
        {"load, ms", "load_seconds", 1, 1e-3},
        {"first token of all, ms", "cold_first_token_seconds", 1, 1e-3},
        {"peak memory, MB", "peak_resident_bytes", 1, 1e6},
        {"memory reads, GB/s", "bandwidth_bytes_per_second", 1, 1e9}};
    for (size_t i = 0; i < 5; i++) fct_page_cell(&table, "%s", heads[i]);
    add_prompts(&table, a, b);
    for (size_t f = 0; f < sizeof once / sizeof once[0]; f++)
        add_row(&table, once[f].what, "", number(a, once[f].key), number(b, once[f].key),
                once[f].digits, once[f].unit);
    fct_page_table_add(&table, page);
}

char *fct_protocol_compare(const json_t *a, const json_t *b, fct_error *err) {
    struct fct_text page = {0};
    if (check_versions(a, b, err) != FCT_OK || check_work(a, b, err) != FCT_OK) return NULL;
    fct_text_printf(&page, "# facet bench, protocol %.0f: B beside A\n\n",
                    number(a, "facet_protocol"));
    add_side(&page, "A", a);
    add_side(&page, "B", b);
    add_differences(&page, a, b);
    add_answers(&page, a, b);
    fct_text_puts(&page, "\n");
    add_table(&page, a, b);
    return fct_text_finish(&page, NULL, err);
}
