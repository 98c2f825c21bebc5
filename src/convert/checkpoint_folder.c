/* checkpoint_folder.c - a checkpoint as Hugging Face keeps it: a folder of safetensors, JSON files
 * and a tokenizer. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "convert/quantization.h"
#include "convert/safetensors_source.h"
#include "convert/source.h"
#include "convert/tokenizer_json.h"
#include "pack/config.h"
#include "pack/stand_in.h"

enum { JSON_LIMIT = 16 << 20, README_LIMIT = 4 << 20, TEMPLATE_LIMIT = 4 << 20 };

/* ---- small files of the folder ---- */

/* The text of folder/name, NUL-terminated; NULL and FCT_OK if there is no such file. The caller
 * frees. */
static fct_status read_text(const fct_source *source, const char *name, size_t limit, char **text,
                            size_t *n_bytes, fct_error *err) {
    *text = NULL;
    char *path = fct_path_join(source->path, name, err);
    if (!path) return FCT_ERR_MEMORY;
    fct_error failure = {.code = FCT_OK};
    if (fct_is_file(path)) *text = fct_file_read(path, limit, n_bytes, &failure);
    fct_free(path);
    if (failure.code == FCT_OK) return FCT_OK;
    return fct_fail(err, failure.code, "%s", failure.message);
}

static fct_status not_json(const char *folder, const char *name, const char *text, size_t n_bytes,
                           const json_error_t *at, fct_error *err) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    fct_status status = fct_stand_in_check(path, text, n_bytes, err);
    if (status != FCT_OK) return status;
    return fct_fail(err, FCT_ERR_FORMAT, "%s: line %d: %s", path, at->line, at->text);
}

/* The object in folder/name; NULL and FCT_OK if there is no such file. */
static fct_status read_object(const fct_source *source, const char *name, json_t **object,
                              fct_error *err) {
    char *text;
    size_t n_bytes = 0;
    *object = NULL;
    fct_status status = read_text(source, name, JSON_LIMIT, &text, &n_bytes, err);
    if (status != FCT_OK || !text) return status;
    json_error_t at;
    *object = json_loadb(text, n_bytes, 0, &at);
    if (!*object) status = not_json(source->path, name, text, n_bytes, &at, err);
    fct_free(text);
    if (status != FCT_OK) return status;
    if (!json_is_object(*object)) {
        json_decref(*object);
        *object = NULL;
        return fct_fail(err, FCT_ERR_FORMAT, "%s/%s: is not a JSON object", source->path, name);
    }
    return FCT_OK;
}

static fct_status read_configuration(fct_source *source, fct_error *err) {
    fct_status status = read_object(source, "config.json", &source->config, err);
    if (status != FCT_OK) return status;
    if (!source->config)
        return fct_fail(err, FCT_ERR_IO, "%s: there is no config.json in this folder",
                        source->path);
    status = read_object(source, "generation_config.json", &source->generation, err);
    if (status == FCT_OK && !source->generation) source->generation = json_object();
    return status;
}

/* The value of `license:` in the front matter of a README: what stands between two lines of three
 * dashes. */
static fct_status read_licence(fct_source *source, fct_error *err) {
    char *text, *rest, *line;
    size_t n_bytes = 0;
    fct_status status = read_text(source, "README.md", README_LIMIT, &text, &n_bytes, err);
    if (status != FCT_OK || !text) return status;
    line = strtok_r(text, "\r\n", &rest);
    if (line && strcmp(line, "---") == 0)
        while ((line = strtok_r(NULL, "\r\n", &rest)) && strcmp(line, "---") != 0) {
            if (strncmp(line, "license:", 8) != 0) continue;
            const char *value = line + 8 + strspn(line + 8, " \t\"'");
            size_t length = strcspn(value, " \t\"'#");
            if (length == 0 || source->licence) continue;
            source->licence = fct_copy_text(value, length, err);
            if (!source->licence) status = FCT_ERR_MEMORY;
        }
    fct_free(text);
    return status;
}

/* In newer checkpoints a file of its own, in older ones a string in tokenizer_config.json. */
static fct_status read_chat_template(fct_source *source, fct_error *err) {
    size_t n_bytes = 0;
    fct_status status = read_text(source, "chat_template.jinja", TEMPLATE_LIMIT,
                                  &source->chat_template, &n_bytes, err);
    if (status != FCT_OK || source->chat_template) return status;
    json_t *config;
    status = read_object(source, "tokenizer_config.json", &config, err);
    if (status != FCT_OK || !config) return status;
    const char *text = json_string_value(json_object_get(config, "chat_template"));
    if (text) source->chat_template = fct_copy_text(text, strlen(text), err);
    if (text && !source->chat_template) status = FCT_ERR_MEMORY;
    json_decref(config);
    return status;
}

/* ---- the source ---- */

/* Gemma 3 stores its norms' weights less one. */
static float norm_shift(const fct_source *source) {
    const json_t *type = json_object_get(fct_config_text_part(source->config), "model_type");
    return json_is_string(type) && strcmp(json_string_value(type), "gemma3_text") == 0 ? 1.0f
                                                                                       : 0.0f;
}

static fct_status read_vocabulary(const fct_source *source, uint8_t **block, size_t *n_bytes,
                                  int *n_restored, fct_error *err) {
    *block = NULL;
    *n_bytes = 0;
    *n_restored = 0;
    char *path = fct_path_join(source->path, "tokenizer.json", err);
    if (!path) return FCT_ERR_MEMORY;
    fct_status status = FCT_OK;
    if (fct_is_file(path)) status = fct_tokenizer_json_read(path, block, n_bytes, NULL, err);
    fct_free(path);
    return status;
}

static void free_folder(fct_source *source) {
    fct_shards_close(source);
    fct_source_free_common(source);
}

/* The folder's own name, also for "." and paths through links. */
static char *folder_name(const char *path, fct_error *err) {
    char *real = realpath(path, NULL);
    if (!real) return fct_fail_errno(err, "%s", path), NULL;
    const char *slash = strrchr(real, '/');
    char *name = fct_copy_text(slash + 1, strlen(slash + 1), err);
    free(real);
    return name;
}

fct_source *fct_source_open_folder(const char *path, fct_error *err) {
    fct_source *source = fct_new(sizeof *source, err);
    if (!source) return NULL;
    source->kind = "safetensors";
    source->free = free_folder;
    source->read_vocabulary = read_vocabulary;
    source->path = fct_copy_text(path, strlen(path), err);
    source->name = folder_name(path, err);
    if (!source->path || !source->name) goto failed;
    if (read_configuration(source, err) != FCT_OK) goto failed;
    source->norm_shift = norm_shift(source);
    if (read_licence(source, err) != FCT_OK) goto failed;
    if (read_chat_template(source, err) != FCT_OK) goto failed;
    if (fct_shards_open(source, path, err) != FCT_OK) goto failed;
    if (fct_quantization_open(source, err) != FCT_OK) goto failed;
    return source;
failed:
    fct_source_free(source);
    return NULL;
}
