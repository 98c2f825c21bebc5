/* fuzz_coded.c - whatever a folder says about the codes of its weights, what it lists can be read
 * to the last row, or it is refused. An input is config.json, a NUL, and model.safetensors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convert/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_ROW_BYTES = 1 << 20, MAX_ROWS = 64 };
static char folder[] = "/tmp/facet-fuzz-XXXXXX", config_path[64], tensors_path[64];

static void clean_up(void) {
    unlink(config_path);
    unlink(tensors_path);
    rmdir(folder);
}

static void set_up(void) {
    if (!mkdtemp(folder)) abort();
    snprintf(config_path, sizeof config_path, "%s/config.json", folder);
    snprintf(tensors_path, sizeof tensors_path, "%s/model.safetensors", folder);
    atexit(clean_up);
}

static void put(const char *path, const uint8_t *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file)) abort();
}

/* Memory of just the size, so that a sanitizer sees what is written behind it. */
static void *room(uint64_t n_bytes) {
    void *bytes = n_bytes <= MAX_ROW_BYTES ? malloc((size_t)n_bytes + !n_bytes) : NULL;
    return bytes;
}

static void check(fct_status status, const fct_error *err) {
    if (status != FCT_OK && !err->message[0]) abort();
}

static void read_floats(const fct_source *source, const struct fct_source_tensor *tensor) {
    uint64_t columns = 1;
    fct_error err = {0};
    for (int d = 1; d < tensor->n_dims; d++)
        if (__builtin_mul_overflow(columns, tensor->dims[d], &columns)) abort();
    float *out = columns < MAX_ROW_BYTES ? room(columns * sizeof *out) : NULL;
    for (uint64_t row = 0; out && row < MAX_ROWS && tensor->n_dims && row < tensor->dims[0]; row++)
        check(source->read_rows(source, tensor, row, 1, out, &err), &err);
    free(out);
}

static void read_strips(const fct_source *source, const struct fct_source_tensor *tensor) {
    fct_error err = {0};
    int rows = (int)tensor->dims[0], n = rows < FCT_STRIP ? rows : FCT_STRIP;
    uint8_t *out = room(fct_strip_bytes(tensor->scheme, tensor->group, (int)tensor->dims[1]));
    if (out) check(source->read_strip(source, tensor, (uint64_t)(rows - n), n, out, &err), &err);
    free(out);
}

static void read_table(const fct_source *source, const struct fct_source_tensor *tensor) {
    fct_error err = {0};
    uint8_t *out =
        room(fct_table_row_bytes(tensor->table_scheme, tensor->table_blocks, (int)tensor->dims[1]));
    if (out)
        check(source->read_table_rows(source, tensor, tensor->dims[0] - 1, 1, out, &err), &err);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *end = size ? memchr(data, 0, size) : NULL;
    fct_error err = {0};
    if (!end) return 0;
    if (!config_path[0]) set_up();
    put(config_path, data, (size_t)(end - data));
    put(tensors_path, end + 1, size - (size_t)(end + 1 - data));
    fct_source *source = fct_source_open(folder, &err);
    if (!source && !err.message[0]) abort();
    for (size_t i = 0; source && !source->refusal && i < source->n_tensors; i++) {
        const struct fct_source_tensor *tensor = &source->tensors[i];
        if (tensor->readable) read_floats(source, tensor);
        if (tensor->exact) read_strips(source, tensor);
        if (tensor->table_blocks) read_table(source, tensor);
    }
    fct_source_free(source);
    return 0;
}
