/* writer.c - writes a packed file: the tensors are declared first, then given in that order, piece
 * by piece. */
#include "pack/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "pack/tensor_file.h"

struct fct_pack_writer {
    fct_tensor_file *file;
    json_t *matrices, *tables;
    uint64_t *lengths; /* [n_tensors] bytes of the declared ones, without padding */
    size_t n_tensors, capacity;
    int n_paddings;
    uint64_t hot_bytes;
    bool cold;      /* a tensor outside the hot part was declared */
    bool begun;     /* nothing more can be declared */
    size_t current; /* the tensor being given, and */
    uint64_t given; /* how much of it was */
};

static fct_status no_memory(fct_error *err) {
    return fct_fail(err, FCT_ERR_MEMORY, "no memory for a packed file's header");
}

fct_pack_writer *fct_pack_writer_new(fct_error *err) {
    fct_pack_writer *writer = fct_new(sizeof *writer, err);
    if (!writer) return NULL;
    writer->file = fct_tensor_file_new(err);
    writer->matrices = json_object();
    writer->tables = json_object();
    if (writer->file && writer->matrices && writer->tables) return writer;
    fct_pack_writer_free(writer);
    return no_memory(err), NULL;
}

void fct_pack_writer_free(fct_pack_writer *writer) {
    if (!writer) return;
    fct_tensor_file_free(writer->file);
    json_decref(writer->matrices);
    json_decref(writer->tables);
    fct_free(writer->lengths);
    fct_free(writer);
}

fct_status fct_pack_writer_metadata(fct_pack_writer *writer, const char *key, const char *value,
                                    fct_error *err) {
    static const char *const own[] = {"matrices", "tables", "hot_bytes", FCT_KEY_CHECKSUM,
                                      FCT_KEY_HEADER_CHECKSUM};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!strcmp(key, own[i]))
            return fct_fail(err, FCT_ERR_ARGUMENT, "metadata %s is the writer's own", key);
    if (writer->begun)
        return fct_fail(err, FCT_ERR_ARGUMENT, "metadata %s comes after the header", key);
    return fct_tensor_file_metadata(writer->file, key, value, err);
}

static uint64_t padding_of(uint64_t n_bytes) { return (FCT_LINE - n_bytes % FCT_LINE) % FCT_LINE; }

/* Fills up to a whole line: a safetensors file has no holes, so the filling is a tensor too. */
static fct_status put_padding(fct_pack_writer *writer, uint64_t n_bytes, fct_error *err) {
    char name[32];
    uint64_t padding = padding_of(n_bytes);
    if (padding == 0) return FCT_OK;
    snprintf(name, sizeof name, FCT_PACK_PADDING "%d", writer->n_paddings++);
    return fct_tensor_file_declare(writer->file, name, FCT_DTYPE_U8, &padding, 1, err);
}

static fct_status check_new(const fct_pack_writer *writer, const char *name, bool hot,
                            fct_error *err) {
    const char *why = NULL;
    if (writer->begun)
        why = "is declared after the header";
    else if (!strncmp(name, FCT_PACK_PADDING, strlen(FCT_PACK_PADDING)) ||
             !strcmp(name, "__metadata__"))
        why = "has a reserved name";
    else if (hot && writer->cold)
        why = "belongs to the hot part, before tables and bytes";
    return why ? fct_fail(err, FCT_ERR_ARGUMENT, "tensor %s %s", name, why) : FCT_OK;
}

static fct_status declare(fct_pack_writer *writer, const char *name, enum fct_dtype dtype,
                          const uint64_t *dims, int n_dims, bool hot, fct_error *err) {
    uint64_t before = fct_tensor_file_data_bytes(writer->file);
    fct_status status = check_new(writer, name, hot, err);
    if (!status)
        status = fct_grow((void **)&writer->lengths, &writer->capacity, writer->n_tensors + 1,
                          sizeof *writer->lengths, err);
    if (!status) status = fct_tensor_file_declare(writer->file, name, dtype, dims, n_dims, err);
    if (status) return status;
    uint64_t n_bytes = fct_tensor_file_data_bytes(writer->file) - before;
    status = put_padding(writer, n_bytes, err);
    if (status) return status;
    writer->lengths[writer->n_tensors++] = n_bytes;
    if (hot)
        writer->hot_bytes = fct_tensor_file_data_bytes(writer->file);
    else
        writer->cold = true;
    return FCT_OK;
}

/* Notes what a matrix or table is. */
static fct_status note(json_t *list, const char *name, enum fct_scheme scheme, const char *key,
                       int parts, int rows, int columns, fct_error *err) {
    json_t *entry = json_pack("{s:s, s:i, s:i, s:i}", "scheme", fct_scheme_name(scheme), key, parts,
                              "rows", rows, "columns", columns);
    if (!entry || json_object_set_new(list, name, entry)) return no_memory(err);
    return FCT_OK;
}

fct_status fct_pack_writer_matrix(fct_pack_writer *writer, const char *name, enum fct_scheme scheme,
                                  int group, int rows, int columns, fct_error *err) {
    size_t n_bytes;
    if (!fct_matrix_fits(scheme, group, rows, columns, &n_bytes))
        return fct_fail(err, FCT_ERR_ARGUMENT,
                        "matrix %s: %d x %d by %s and group %d is not possible", name, rows,
                        columns, fct_scheme_name(scheme), group);
    const uint64_t dims[] = {(uint64_t)fct_strips(rows), fct_strip_bytes(scheme, group, columns)};
    fct_status status = declare(writer, name, FCT_DTYPE_U8, dims, 2, true, err);
    if (status) return status;
    return note(writer->matrices, name, scheme, "group", group, rows, columns, err);
}

fct_status fct_pack_writer_table(fct_pack_writer *writer, const char *name, enum fct_scheme scheme,
                                 int blocks, int rows, int columns, fct_error *err) {
    size_t n_bytes;
    if (!fct_table_fits(scheme, blocks, rows, columns, &n_bytes))
        return fct_fail(err, FCT_ERR_ARGUMENT,
                        "table %s: %d x %d by %s and blocks %d is not possible", name, rows,
                        columns, fct_scheme_name(scheme), blocks);
    const uint64_t dims[] = {(uint64_t)rows, fct_table_row_bytes(scheme, blocks, columns)};
    fct_status status = declare(writer, name, FCT_DTYPE_U8, dims, 2, false, err);
    if (status) return status;
    return note(writer->tables, name, scheme, "blocks", blocks, rows, columns, err);
}

fct_status fct_pack_writer_vector(fct_pack_writer *writer, const char *name, int n,
                                  fct_error *err) {
    if (n < 1) return fct_fail(err, FCT_ERR_ARGUMENT, "vector %s: %d elements", name, n);
    return declare(writer, name, FCT_DTYPE_F32, &(uint64_t){(uint64_t)n}, 1, true, err);
}

fct_status fct_pack_writer_bytes(fct_pack_writer *writer, const char *name, size_t n_bytes,
                                 fct_error *err) {
    return declare(writer, name, FCT_DTYPE_U8, &(uint64_t){n_bytes}, 1, false, err);
}

static fct_status put_json(fct_pack_writer *writer, const char *key, const json_t *value,
                           fct_error *err) {
    char *text = json_dumps(value, JSON_COMPACT);
    if (!text) return no_memory(err);
    fct_status status = fct_tensor_file_metadata(writer->file, key, text, err);
    free(text);
    return status;
}

fct_status fct_pack_writer_begin(fct_pack_writer *writer, const char *path, fct_error *err) {
    fct_tensor_file *file = writer->file;
    if (writer->begun) return fct_fail(err, FCT_ERR_ARGUMENT, "%s: begun already", path);
    writer->begun = true;
    fct_status status = fct_tensor_file_metadata(file, "format", FCT_PACK_FORMAT, err);
    if (!status) status = fct_tensor_file_number(file, "format_version", FCT_PACK_VERSION, err);
    if (!status) status = put_json(writer, "matrices", writer->matrices, err);
    if (!status) status = put_json(writer, "tables", writer->tables, err);
    if (!status) status = fct_tensor_file_number(file, "hot_bytes", writer->hot_bytes, err);
    if (status) return status;
    bool large = fct_tensor_file_data_bytes(file) >= FCT_PACK_LARGE;
    return fct_tensor_file_begin(file, path, large ? FCT_PACK_ALIGN : FCT_PACK_ALIGN_SMALL, err);
}

/* Goes on to the next tensor that is not complete. */
static fct_status pass_complete(fct_pack_writer *writer, fct_error *err) {
    static const uint8_t zeros[FCT_LINE];
    while (writer->current < writer->n_tensors &&
           writer->given == writer->lengths[writer->current]) {
        size_t padding = (size_t)padding_of(writer->given);
        fct_status status =
            padding ? fct_tensor_file_write(writer->file, zeros, padding, err) : FCT_OK;
        if (status) return status;
        writer->current++;
        writer->given = 0;
    }
    return FCT_OK;
}

fct_status fct_pack_writer_write(fct_pack_writer *writer, const void *bytes, size_t n_bytes,
                                 fct_error *err) {
    const uint8_t *from = bytes;
    if (!writer->begun) return fct_fail(err, FCT_ERR_ARGUMENT, "data comes before the header");
    while (n_bytes > 0) {
        fct_status status = pass_complete(writer, err);
        if (status) return status;
        if (writer->current == writer->n_tensors)
            return fct_fail(err, FCT_ERR_ARGUMENT, "more data than was declared");
        uint64_t left = writer->lengths[writer->current] - writer->given;
        size_t n = n_bytes < left ? n_bytes : (size_t)left;
        status = fct_tensor_file_write(writer->file, from, n, err);
        if (status) return status;
        writer->given += n;
        from += n;
        n_bytes -= n;
    }
    return FCT_OK;
}

fct_status fct_pack_writer_finish(fct_pack_writer *writer, fct_error *err) {
    if (!writer->begun) return fct_fail(err, FCT_ERR_ARGUMENT, "the file was not begun");
    fct_status status = pass_complete(writer, err);
    if (status) return status;
    if (writer->current < writer->n_tensors)
        return fct_fail(err, FCT_ERR_ARGUMENT, "data ends in tensor %zu of %zu",
                        writer->current + 1, writer->n_tensors);
    return fct_tensor_file_finish(writer->file, err);
}
