/* writer.c - writes a packed file: the tensors are declared first, then given in that order, piece
 * by piece. */
#include "pack/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "pack/checksum.h"

struct fct_pack_writer {
    json_t *metadata, *matrices, *tables, *tensors;
    uint64_t *lengths; /* [n_tensors] bytes of the declared ones, without padding */
    size_t n_tensors, capacity;
    int n_paddings;
    uint64_t data_bytes; /* so far declared, with padding */
    uint64_t hot_bytes;
    bool cold; /* a tensor outside the hot part was declared */

    fct_output *output; /* once begun */
    char *header;       /* its text, checksums still zero */
    size_t header_bytes;
    XXH3_state_t *hash;
    size_t current; /* the tensor being given, and */
    uint64_t given; /* how much of it was */
};

fct_pack_writer *fct_pack_writer_new(fct_error *err) {
    fct_pack_writer *writer = fct_new(sizeof *writer, err);
    if (!writer) return NULL;
    writer->metadata = json_object();
    writer->matrices = json_object();
    writer->tables = json_object();
    writer->tensors = json_object();
    writer->hash = XXH3_createState();
    if (writer->metadata && writer->matrices && writer->tables && writer->tensors && writer->hash)
        return writer;
    fct_pack_writer_free(writer);
    return fct_fail_null(err, FCT_ERR_MEMORY, "no memory for a packed file's header");
}

void fct_pack_writer_free(fct_pack_writer *writer) {
    if (!writer) return;
    fct_output_free(writer->output);
    json_decref(writer->metadata);
    json_decref(writer->matrices);
    json_decref(writer->tables);
    json_decref(writer->tensors);
    XXH3_freeState(writer->hash);
    fct_free(writer->header);
    fct_free(writer->lengths);
    fct_free(writer);
}

static fct_status no_memory(fct_error *err) {
    return fct_fail(err, FCT_ERR_MEMORY, "no memory for a packed file's header");
}

static fct_status put_text(json_t *object, const char *key, const char *value, fct_error *err) {
    json_t *text = json_string(value);
    if (!text) return fct_fail(err, FCT_ERR_ARGUMENT, "metadata %s is not valid UTF-8", key);
    return json_object_set_new(object, key, text)
               ? fct_fail(err, FCT_ERR_ARGUMENT, "metadata key %s is not possible", key)
               : FCT_OK;
}

fct_status fct_pack_writer_metadata(fct_pack_writer *writer, const char *key, const char *value,
                                    fct_error *err) {
    static const char *const own[] = {"matrices", "tables", "hot_bytes", FCT_KEY_CHECKSUM,
                                      FCT_KEY_HEADER_CHECKSUM};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!strcmp(key, own[i]))
            return fct_fail(err, FCT_ERR_ARGUMENT, "metadata %s is the writer's own", key);
    if (writer->output)
        return fct_fail(err, FCT_ERR_ARGUMENT, "metadata %s comes after the header", key);
    return put_text(writer->metadata, key, value, err);
}

static fct_status put_tensor(fct_pack_writer *writer, const char *name, const char *dtype,
                             json_t *shape, uint64_t n_bytes, fct_error *err) {
    json_t *tensor = shape ? json_pack("{s:s, s:o, s:[I, I]}", "dtype", dtype, "shape", shape,
                                       "data_offsets", (json_int_t)writer->data_bytes,
                                       (json_int_t)(writer->data_bytes + n_bytes))
                           : NULL;
    if (!tensor) return no_memory(err);
    if (json_object_set_new(writer->tensors, name, tensor))
        return fct_fail(err, FCT_ERR_ARGUMENT, "tensor name %s is not valid UTF-8", name);
    writer->data_bytes += n_bytes;
    return FCT_OK;
}

/* Fills up to a whole line: a safetensors file has no holes, so the filling is a tensor too. */
static fct_status put_padding(fct_pack_writer *writer, uint64_t n_bytes, fct_error *err) {
    char name[32];
    if (n_bytes == 0) return FCT_OK;
    snprintf(name, sizeof name, FCT_PACK_PADDING "%d", writer->n_paddings++);
    return put_tensor(writer, name, "U8", json_pack("[I]", (json_int_t)n_bytes), n_bytes, err);
}

static uint64_t padding_of(uint64_t n_bytes) { return (FCT_LINE - n_bytes % FCT_LINE) % FCT_LINE; }

static fct_status check_new(const fct_pack_writer *writer, const char *name, uint64_t n_bytes,
                            bool hot, fct_error *err) {
    const char *why = NULL;
    if (writer->output)
        why = "is declared after the header";
    else if (!strncmp(name, FCT_PACK_PADDING, strlen(FCT_PACK_PADDING)) ||
             !strcmp(name, "__metadata__"))
        why = "has a reserved name";
    else if (json_object_get(writer->tensors, name))
        why = "is declared twice";
    else if (hot && writer->cold)
        why = "belongs to the hot part, before tables and bytes";
    else if (n_bytes > INT64_MAX / 2 - writer->data_bytes)
        why = "is too large";
    return why ? fct_fail(err, FCT_ERR_ARGUMENT, "tensor %s %s", name, why) : FCT_OK;
}

/* Takes the shape. */
static fct_status declare(fct_pack_writer *writer, const char *name, const char *dtype,
                          json_t *shape, uint64_t n_bytes, bool hot, fct_error *err) {
    void *lengths = writer->lengths;
    fct_status status = check_new(writer, name, n_bytes, hot, err);
    if (!status)
        status = fct_grow(&lengths, &writer->capacity, writer->n_tensors + 1,
                          sizeof *writer->lengths, err);
    if (status) {
        json_decref(shape);
        return status;
    }
    writer->lengths = lengths;
    status = put_tensor(writer, name, dtype, shape, n_bytes, err);
    if (!status) status = put_padding(writer, padding_of(n_bytes), err);
    if (status) return status;
    writer->lengths[writer->n_tensors++] = n_bytes;
    if (hot)
        writer->hot_bytes = writer->data_bytes;
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
    json_t *shape = json_pack("[I, I]", (json_int_t)fct_strips(rows),
                              (json_int_t)fct_strip_bytes(scheme, group, columns));
    fct_status status = declare(writer, name, "U8", shape, n_bytes, true, err);
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
    json_t *shape = json_pack("[I, I]", (json_int_t)rows,
                              (json_int_t)fct_table_row_bytes(scheme, blocks, columns));
    fct_status status = declare(writer, name, "U8", shape, n_bytes, false, err);
    if (status) return status;
    return note(writer->tables, name, scheme, "blocks", blocks, rows, columns, err);
}

fct_status fct_pack_writer_vector(fct_pack_writer *writer, const char *name, int n,
                                  fct_error *err) {
    if (n < 1) return fct_fail(err, FCT_ERR_ARGUMENT, "vector %s: %d elements", name, n);
    return declare(writer, name, "F32", json_pack("[i]", n), (uint64_t)n * sizeof(float), true,
                   err);
}

fct_status fct_pack_writer_bytes(fct_pack_writer *writer, const char *name, size_t n_bytes,
                                 fct_error *err) {
    return declare(writer, name, "U8", json_pack("[I]", (json_int_t)n_bytes), n_bytes, false, err);
}

static fct_status put_json(json_t *object, const char *key, const json_t *value, fct_error *err) {
    char *text = json_dumps(value, JSON_COMPACT);
    if (!text) return no_memory(err);
    fct_status status = put_text(object, key, text, err);
    free(text);
    return status;
}

static fct_status fill_metadata(fct_pack_writer *writer, fct_error *err) {
    char number[24];
    json_t *metadata = writer->metadata;
    fct_status status = put_text(metadata, "format", FCT_PACK_FORMAT, err);
    snprintf(number, sizeof number, "%d", FCT_PACK_VERSION);
    if (!status) status = put_text(metadata, "format_version", number, err);
    if (!status) status = put_json(metadata, "matrices", writer->matrices, err);
    if (!status) status = put_json(metadata, "tables", writer->tables, err);
    snprintf(number, sizeof number, "%" PRIu64, writer->hot_bytes);
    if (!status) status = put_text(metadata, "hot_bytes", number, err);
    if (!status) status = put_text(metadata, FCT_KEY_CHECKSUM, FCT_CHECKSUM_ZERO, err);
    if (!status) status = put_text(metadata, FCT_KEY_HEADER_CHECKSUM, FCT_CHECKSUM_ZERO, err);
    return status;
}

/* The header's text, padded so that the data starts where it should. */
static fct_status make_header(fct_pack_writer *writer, fct_error *err) {
    fct_status status = fill_metadata(writer, err);
    if (status) return status;
    json_t *all = json_pack("{s:O}", "__metadata__", writer->metadata);
    char *text = NULL;
    if (all && !json_object_update(all, writer->tensors)) text = json_dumps(all, JSON_COMPACT);
    json_decref(all);
    if (!text) return no_memory(err);
    size_t align = writer->data_bytes < FCT_PACK_LARGE ? FCT_PACK_ALIGN_SMALL : FCT_PACK_ALIGN;
    size_t length = strlen(text);
    writer->header_bytes = fct_round_up(length + 8, align) - 8;
    writer->header = fct_new(writer->header_bytes, err);
    if (writer->header) {
        memset(writer->header, ' ', writer->header_bytes);
        memcpy(writer->header, text, length);
    }
    free(text);
    return writer->header ? FCT_OK : FCT_ERR_MEMORY;
}

fct_status fct_pack_writer_begin(fct_pack_writer *writer, const char *path, fct_error *err) {
    if (writer->header) return fct_fail(err, FCT_ERR_ARGUMENT, "%s: begun already", path);
    fct_status status = make_header(writer, err);
    if (status) return status;
    writer->output = fct_output_new(path, fct_pack_writer_total(writer), err);
    if (!writer->output) return err ? err->code : FCT_ERR_IO;
    uint8_t length[8];
    for (int i = 0; i < 8; i++) length[i] = (uint8_t)((uint64_t)writer->header_bytes >> 8 * i);
    XXH3_64bits_reset(writer->hash);
    status = fct_output_write(writer->output, length, sizeof length, err);
    if (!status)
        status = fct_output_write(writer->output, writer->header, writer->header_bytes, err);
    return status;
}

static fct_status write_data(fct_pack_writer *writer, const void *bytes, size_t n_bytes,
                             fct_error *err) {
    XXH3_64bits_update(writer->hash, bytes, n_bytes);
    return fct_output_write(writer->output, bytes, n_bytes, err);
}

/* Goes on to the next tensor that is not complete. */
static fct_status pass_complete(fct_pack_writer *writer, fct_error *err) {
    static const uint8_t zeros[FCT_LINE];
    while (writer->current < writer->n_tensors &&
           writer->given == writer->lengths[writer->current]) {
        size_t padding = (size_t)padding_of(writer->given);
        fct_status status = padding ? write_data(writer, zeros, padding, err) : FCT_OK;
        if (status) return status;
        writer->current++;
        writer->given = 0;
    }
    return FCT_OK;
}

fct_status fct_pack_writer_write(fct_pack_writer *writer, const void *bytes, size_t n_bytes,
                                 fct_error *err) {
    const uint8_t *from = bytes;
    if (!writer->output) return fct_fail(err, FCT_ERR_ARGUMENT, "data comes before the header");
    while (n_bytes > 0) {
        fct_status status = pass_complete(writer, err);
        if (status) return status;
        if (writer->current == writer->n_tensors)
            return fct_fail(err, FCT_ERR_ARGUMENT, "more data than was declared");
        uint64_t left = writer->lengths[writer->current] - writer->given;
        size_t n = n_bytes < left ? n_bytes : (size_t)left;
        status = write_data(writer, from, n, err);
        if (status) return status;
        writer->given += n;
        from += n;
        n_bytes -= n;
    }
    return FCT_OK;
}

static fct_status put_checksum(fct_pack_writer *writer, const char *key, uint64_t hash,
                               fct_error *err) {
    char text[FCT_CHECKSUM_DIGITS + 1];
    size_t position;
    fct_checksum_text(hash, text);
    if (!fct_checksum_find(writer->header, writer->header_bytes, key, &position))
        return fct_fail(err, FCT_ERR_ARGUMENT, "the header has no place for %s", key);
    return fct_output_patch(writer->output, 8 + position, text, FCT_CHECKSUM_DIGITS, err);
}

fct_status fct_pack_writer_finish(fct_pack_writer *writer, fct_error *err) {
    if (!writer->output) return fct_fail(err, FCT_ERR_ARGUMENT, "the file was not begun");
    fct_status status = pass_complete(writer, err);
    if (status) return status;
    if (writer->current < writer->n_tensors)
        return fct_fail(err, FCT_ERR_ARGUMENT, "data ends in tensor %zu of %zu",
                        writer->current + 1, writer->n_tensors);
    uint64_t header_hash = XXH3_64bits(writer->header, writer->header_bytes);
    status = put_checksum(writer, FCT_KEY_CHECKSUM, XXH3_64bits_digest(writer->hash), err);
    if (!status) status = put_checksum(writer, FCT_KEY_HEADER_CHECKSUM, header_hash, err);
    if (status) return status;
    fct_output *output = writer->output;
    writer->output = NULL;
    return fct_output_finish(output, err);
}

uint64_t fct_pack_writer_total(const fct_pack_writer *writer) {
    return 8 + writer->header_bytes + writer->data_bytes;
}
