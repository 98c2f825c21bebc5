/* mobile_fixture.h - copies of a checkpoint folder of codes, to be broken as a test likes. */
#ifndef TESTS_MOBILE_FIXTURE_H
#define TESTS_MOBILE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "facet.h"
#include "pack/safetensors.h"
#include "scratch_folder.h"

/* A folder's configuration and its one file of tensors, in memory. */
struct copied {
    json_t *config;
    uint8_t *bytes;
    size_t n_bytes;
};

static inline uint8_t *read_all(const char *path, size_t *n) {
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("%s is not there", path);
    fseek(file, 0, SEEK_END);
    *n = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*n);
    assert_int_equal(fread(bytes, 1, *n, file), *n);
    fclose(file);
    return bytes;
}

static inline struct copied copy_folder(const char *folder) {
    struct copied copy;
    char path[512];
    snprintf(path, sizeof path, "%s/config.json", folder);
    copy.config = json_load_file(path, 0, NULL);
    assert_non_null(copy.config);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    copy.bytes = read_all(path, &copy.n_bytes);
    return copy;
}

/* A text of the header becomes another of the same length. */
static inline void replace_text(struct copied *copy, const char *old, const char *new) {
    size_t n = strlen(old);
    assert_int_equal(n, strlen(new));
    uint8_t *at = memmem(copy->bytes, copy->n_bytes, old, n);
    if (!at) fail_msg("%s is not in the header", old);
    memcpy(at, new, n);
}

/* The data of a tensor. */
static inline uint8_t *tensor_data(const struct copied *copy, const char *name, size_t *n) {
    struct fct_safetensors header;
    fct_error err = {0};
    assert_int_equal(fct_safetensors_parse(&header, "copy", copy->bytes, copy->n_bytes, &err),
                     FCT_OK);
    const struct fct_tensor *tensor = fct_safetensors_find(&header, name);
    if (!tensor) fail_msg("%s is not there", name);
    uint8_t *data = copy->bytes + tensor->offset;
    *n = (size_t)tensor->n_bytes;
    fct_safetensors_free(&header);
    return data;
}

struct noted {
    char text[16384];
};
static inline void take_note(void *user, const char *line) {
    struct noted *noted = user;
    size_t used = strlen(noted->text);
    snprintf(noted->text + used, sizeof noted->text - used, "%s\n", line);
}

/* Writes the copy into the scratch folder, gives it up, and converts it to out.facet there. */
static inline fct_status convert_copy(struct copied *copy, const char *weights, struct noted *noted,
                                      fct_error *err) {
    char *text = json_dumps(copy->config, 0);
    scratch_put("config.json", text, strlen(text));
    scratch_put("model.safetensors", copy->bytes, copy->n_bytes);
    free(text);
    json_decref(copy->config);
    free(copy->bytes);
    fct_convert_options options = {.weights = weights, .n_threads = 1};
    if (noted) {
        noted->text[0] = 0;
        options.note = take_note;
        options.user = noted;
    }
    return fct_convert(scratch_folder, scratch_path("out.facet"), &options, err);
}

static inline json_t *quantization_of(struct copied *copy) {
    return json_object_get(copy->config, "quantization_config");
}

#endif
