/* fuzz_pack.c - what a packed file that was accepted gives out can be read to its last byte. */
#include <stdlib.h>
#include <string.h>

#include "pack/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sink; /* so that the reads happen */

static void touch(const uint8_t *bytes, size_t n_bytes) {
    if ((uintptr_t)bytes % FCT_LINE) abort();
    for (size_t i = 0; i < n_bytes; i++) sink ^= bytes[i];
}

static void read_matrices(const fct_pack *pack) {
    json_t *matrices = fct_pack_metadata_json(pack, "matrices", NULL), *entry;
    const char *name;
    json_object_foreach(matrices, name, entry) {
        int rows = (int)json_integer_value(json_object_get(entry, "rows"));
        int columns = (int)json_integer_value(json_object_get(entry, "columns"));
        struct fct_matrix matrix;
        if (fct_pack_matrix(pack, name, rows, columns, &matrix, NULL)) abort();
        touch(matrix.data, fct_matrix_bytes(&matrix));
    }
    json_decref(matrices);
}

static void read_tables(const fct_pack *pack) {
    json_t *tables = fct_pack_metadata_json(pack, "tables", NULL), *entry;
    const char *name;
    json_object_foreach(tables, name, entry) {
        int rows = (int)json_integer_value(json_object_get(entry, "rows"));
        int columns = (int)json_integer_value(json_object_get(entry, "columns"));
        struct fct_table table;
        if (fct_pack_table(pack, name, rows, columns, &table, NULL)) abort();
        touch(table.data, (size_t)rows * fct_table_row_bytes(table.scheme, table.blocks, columns));
    }
    json_decref(tables);
}

static void read_tensors(const fct_pack *pack) {
    const struct fct_safetensors *header = fct_pack_header(pack);
    for (size_t i = 0; i < header->n_tensors; i++) {
        const struct fct_tensor *tensor = &header->tensors[i];
        size_t n_bytes;
        const uint8_t *bytes = fct_pack_bytes(pack, tensor->name, &n_bytes, NULL);
        if (bytes && tensor->offset % FCT_LINE == 0) touch(bytes, n_bytes);
        if (tensor->n_bytes / sizeof(float) > INT32_MAX) continue;
        int n = (int)(tensor->n_bytes / sizeof(float));
        const float *vector = fct_pack_vector(pack, tensor->name, n, NULL);
        if (vector) touch((const uint8_t *)vector, (size_t)n * sizeof(float));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fct_error err = {0};
    void *copy; /* aligned, and of this very size, so that a sanitizer sees reads behind it */
    if (posix_memalign(&copy, FCT_LINE, size ? size : 1)) return 0;
    if (size) memcpy(copy, data, size);
    fct_pack *pack = fct_pack_open_memory(copy, size, "fuzz", &err);
    if (pack) {
        const uint8_t *hot;
        size_t n_bytes;
        fct_pack_hot(pack, &hot, &n_bytes);
        touch(hot, n_bytes);
        read_matrices(pack);
        read_tables(pack);
        read_tensors(pack);
        fct_pack_verify(pack, NULL, NULL, &err);
    } else if (!err.message[0]) {
        abort();
    }
    fct_pack_free(pack);
    free(copy);
    return 0;
}
