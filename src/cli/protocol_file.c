/* protocol_file.c - results of the measuring protocol as files: written, read with suspicion. */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/file.h"
#include "cli/part_file.h"
#include "cli/protocol.h"

#define FILE_LIMIT ((size_t)4 << 20)
enum { MAX_PROMPTS = 64 };

/* ---- out ---- */

static fct_status write_text(const char *name, const char *suffix, const char *text,
                             fct_error *err) {
    struct fct_text joined = {0};
    fct_text_printf(&joined, "%s%s", name, suffix);
    char *path = fct_text_finish(&joined, NULL, err);
    fct_status status = path ? fct_part_guard(path, err) : FCT_ERR_MEMORY;
    if (!status) status = fct_file_write(path, text, strlen(text), err);
    fct_free(path);
    return status;
}

fct_status fct_protocol_write(const json_t *result, const char *name, fct_error *err) {
    char *json = json_dumps(result, JSON_INDENT(1) | JSON_REAL_PRECISION(7));
    char *page = fct_protocol_page(result, true, err);
    fct_status status = FCT_OK;
    if (!json || !page) status = fct_fail(err, FCT_ERR_MEMORY, "no memory for the result's text");
    if (!status) status = write_text(name, ".json", json, err);
    if (!status) status = write_text(name, ".md", page, err);
    free(json);
    fct_free(page);
    return status;
}

/* ---- in ---- */

enum kind { TEXT, TEXT_OR_NULL, NUMBER, NUMBER_OR_NULL, TRUTH, LIST, OBJECT };
static const char *const kind_names[] = {
    "text", "text or null", "a number", "a number or null", "true or false", "a list", "an object"};

static bool is_kind(const json_t *value, enum kind kind) {
    switch (kind) {
    case TEXT:
        return json_is_string(value);
    case TEXT_OR_NULL:
        return json_is_string(value) || json_is_null(value);
    case NUMBER:
        return json_is_number(value);
    case NUMBER_OR_NULL:
        return json_is_number(value) || json_is_null(value);
    case TRUTH:
        return json_is_boolean(value);
    case LIST:
        return json_is_array(value);
    case OBJECT:
        return json_is_object(value);
    }
    return false;
}

struct field {
    const char *key;
    enum kind kind;
};
static const struct field whole_fields[] = {{"facet", TEXT},
                                            {"date", TEXT},
                                            {"clean", TRUTH},
                                            {"not_clean", LIST},
                                            {"machine", OBJECT},
                                            {"model", OBJECT},
                                            {"settings", OBJECT},
                                            {"peak_resident_bytes", NUMBER},
                                            {"load_seconds", NUMBER_OR_NULL},
                                            {"cold_first_token_seconds", NUMBER_OR_NULL},
                                            {"bandwidth_bytes_per_second", NUMBER_OR_NULL},
                                            {"prompts", LIST},
                                            {0}};
static const struct field machine_fields[] = {{"name", TEXT}, {0}};
static const struct field model_fields[] = {
    {"source", TEXT}, {"weights", TEXT}, {"checksum", TEXT_OR_NULL}, {0}};
static const struct field settings_fields[] = {{"kernels", TEXT},
                                               {"memory", TEXT},
                                               {"kv", TEXT},
                                               {"activations", TEXT},
                                               {"decode_threads", NUMBER},
                                               {"prefill_threads", NUMBER},
                                               {"context", NUMBER},
                                               {0}};
static const struct field prompt_fields[] = {{"name", TEXT},
                                             {"prompt_tokens", NUMBER},
                                             {"answer_steps", NUMBER},
                                             {"prefill_tokens_per_second", NUMBER_OR_NULL},
                                             {"decode_tokens_per_second", NUMBER_OR_NULL},
                                             {"first_token_seconds", NUMBER_OR_NULL},
                                             {"joules_per_token", NUMBER_OR_NULL},
                                             {"answer_ids", LIST},
                                             {0}};

static fct_status check_fields(const json_t *object, const struct field *fields, const char *path,
                               const char *where, fct_error *err) {
    for (; fields->key; fields++)
        if (!is_kind(json_object_get(object, fields->key), fields->kind))
            return fct_fail(err, FCT_ERR_FORMAT, "%s: %s\"%s\" has to be %s", path, where,
                            fields->key, kind_names[fields->kind]);
    return FCT_OK;
}

static fct_status check_prompts(const json_t *prompts, const char *path, fct_error *err) {
    size_t i, j;
    const json_t *prompt, *other;
    if (json_array_size(prompts) < 1 || json_array_size(prompts) > MAX_PROMPTS)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: %zu prompts", path, json_array_size(prompts));
    json_array_foreach(prompts, i, prompt) {
        fct_status status = check_fields(prompt, prompt_fields, path, "in a prompt, ", err);
        if (status) return status;
        json_array_foreach(json_object_get(prompt, "answer_ids"), j, other) {
            if (!json_is_integer(other))
                return fct_fail(err, FCT_ERR_FORMAT, "%s: an id of an answer is no number", path);
        }
    }
    return FCT_OK;
}

static fct_status check_all(const json_t *result, const char *path, fct_error *err) {
    if (!json_is_integer(json_object_get(result, "facet_protocol")))
        return fct_fail(err, FCT_ERR_FORMAT,
                        "%s: no result of facet bench --protocol (there is no \"facet_protocol\")",
                        path);
    fct_status status = check_fields(result, whole_fields, path, "", err);
    if (!status)
        status = check_fields(json_object_get(result, "machine"), machine_fields, path,
                              "of the machine, ", err);
    if (!status)
        status = check_fields(json_object_get(result, "model"), model_fields, path,
                              "of the model, ", err);
    if (!status)
        status = check_fields(json_object_get(result, "settings"), settings_fields, path,
                              "of the settings, ", err);
    return status ? status : check_prompts(json_object_get(result, "prompts"), path, err);
}

json_t *fct_protocol_read(const char *path, fct_error *err) {
    json_error_t fault;
    size_t n_bytes;
    char *text = fct_file_read(path, FILE_LIMIT, &n_bytes, err);
    if (!text) return NULL;
    json_t *result = json_loadb(text, n_bytes, JSON_REJECT_DUPLICATES, &fault);
    fct_free(text);
    if (!result)
        return fct_fail_null(err, FCT_ERR_FORMAT, "%s: line %d: %s", path, fault.line, fault.text);
    if (check_all(result, path, err) == FCT_OK) return result;
    json_decref(result);
    return NULL;
}
