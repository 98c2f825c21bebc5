/* fuzz_gguf.c - whatever a GGUF header says, its values and tensors lie in the file, and what is
 * made of them is a configuration and a vocabulary or an error. */
#include <stdlib.h>
#include <string.h>

#include "convert/gguf_config.h"
#include "convert/gguf_vocabulary.h"
#include "text/vocabulary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct fct_gguf_tensor *find(const void *gguf, const char *name) {
    return fct_gguf_find_tensor(gguf, name);
}

static fct_status read_none(const void *gguf, const struct fct_gguf_tensor *tensor, float *out,
                            uint64_t n, fct_error *err) {
    (void)gguf, (void)tensor, (void)err;
    for (uint64_t i = 0; i < n; i++) out[i] = i < n / 4 ? 1.0f : 1e30f;
    return FCT_OK;
}

static void check_tensors(const struct fct_gguf *gguf, const uint8_t *data, size_t size) {
    float values[FCT_GGUF_MAX_BLOCK];
    uint64_t sum = 0;
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        const struct fct_gguf_tensor *tensor = &gguf->tensors[i];
        if (tensor->offset > size || tensor->n_bytes > size - tensor->offset) abort();
        if (fct_gguf_find_tensor(gguf, tensor->name) != tensor) abort();
        sum += tensor->n_bytes;
        if (!tensor->type || !tensor->type->unpack) continue;
        tensor->type->unpack(data + tensor->offset, values);
        tensor->type->unpack(
            data + tensor->offset + tensor->n_bytes - (size_t)tensor->type->block_bytes, values);
    }
    if (sum > size) abort();
}

static void check_values(const struct fct_gguf *gguf, const uint8_t *data, size_t size) {
    for (size_t i = 0; i < gguf->n_values; i++) {
        const struct fct_gguf_value *value = &gguf->values[i];
        double number;
        const uint8_t *at = NULL;
        const char *text;
        size_t n;
        uint64_t n_texts = 0;
        if (value->at < data || value->n_bytes > size - (size_t)(value->at - data)) abort();
        if (value->n && value->kind != FCT_GGUF_STRING)
            fct_gguf_number(value, value->n - 1, &number);
        while (fct_gguf_next_text(value, &at, &text, &n)) n_texts++;
        if (value->kind == FCT_GGUF_STRING && n_texts != value->n) abort();
    }
}

static void make(const struct fct_gguf *gguf) {
    const struct fct_gguf_tensors tensors = {find, read_none, gguf};
    fct_error err = {0};
    uint8_t *block;
    size_t n_bytes;
    int n_restored;
    json_t *config = fct_gguf_config(gguf, &tensors, "fuzz", &err);
    if (!config && !err.message[0]) abort();
    json_decref(config);
    json_decref(fct_gguf_generation(gguf));
    fct_gguf_find_token(gguf, "<bos>");
    err = (fct_error){0};
    fct_status status = fct_gguf_vocabulary_read(gguf, "fuzz", &block, &n_bytes, &n_restored, &err);
    if (status != FCT_OK && !err.message[0]) abort();
    if (status == FCT_OK && block) {
        fct_vocabulary *vocabulary = fct_vocabulary_open(block, n_bytes, NULL);
        if (!vocabulary) abort();
        fct_vocabulary_free(vocabulary);
    }
    if (status == FCT_OK) fct_free(block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct fct_gguf gguf;
    fct_error err = {0};
    fct_status status = fct_gguf_parse(&gguf, "fuzz", data, size, &err);
    if (status == FCT_OK) {
        check_values(&gguf, data, size);
        check_tensors(&gguf, data, size);
        make(&gguf);
    } else if (!err.message[0] || err.code != status) {
        abort();
    }
    fct_gguf_free(&gguf);
    return 0;
}
