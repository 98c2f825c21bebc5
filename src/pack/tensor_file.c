/* tensor_file.c - a safetensors file of our own making: metadata and tensors are declared first,
 * then the data is given in that order; two checksums guard it. */
#include "pack/tensor_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "pack/checksum.h"
#include "pack/layout.h"

struct fct_tensor_file {
    json_t *all, *metadata; /* all owns metadata */
    uint64_t data_bytes;    /* declared */
    fct_output *output;     /* once begun */
    char *header;           /* its text, checksums still zero */
    size_t header_bytes;
    XXH3_state_t *hash;
    uint64_t given; /* bytes of the data so far */
};

fct_tensor_file *fct_tensor_file_new(fct_error *err) {
    fct_tensor_file *file = fct_new(sizeof *file, err);
    if (!file) return NULL;
    file->metadata = json_object();
    file->all = json_pack("{s:O}", "__metadata__", file->metadata);
    json_decref(file->metadata);
    file->hash = XXH3_createState();
    if (file->all && file->hash) return file;
    fct_tensor_file_free(file);
    return fct_fail_null(err, FCT_ERR_MEMORY, "no memory for a safetensors header");
}

void fct_tensor_file_free(fct_tensor_file *file) {
    if (!file) return;
    fct_output_free(file->output);
    json_decref(file->all);
    XXH3_freeState(file->hash);
    fct_free(file->header);
    fct_free(file);
}

fct_status fct_tensor_file_metadata(fct_tensor_file *file, const char *key, const char *value,
                                    fct_error *err) {
    json_t *text = json_string(value);
    if (!text) return fct_fail(err, FCT_ERR_ARGUMENT, "metadata %s is not valid UTF-8", key);
    return json_object_set_new(file->metadata, key, text)
               ? fct_fail(err, FCT_ERR_ARGUMENT, "metadata key %s is not possible", key)
               : FCT_OK;
}

fct_status fct_tensor_file_number(fct_tensor_file *file, const char *key, uint64_t value,
                                  fct_error *err) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    return fct_tensor_file_metadata(file, key, text, err);
}

fct_status fct_tensor_file_declare(fct_tensor_file *file, const char *name, enum fct_dtype dtype,
                                   const uint64_t *dims, int n_dims, fct_error *err) {
    uint64_t n_bytes = fct_dtype_bytes(dtype), end;
    json_t *shape = json_array();
    for (int i = 0; i < n_dims; i++) {
        json_array_append_new(shape, json_integer((json_int_t)dims[i]));
        if (__builtin_mul_overflow(n_bytes, dims[i], &n_bytes)) n_bytes = UINT64_MAX;
    }
    if (__builtin_add_overflow(file->data_bytes, n_bytes, &end) || end > INT64_MAX) {
        json_decref(shape);
        return fct_fail(err, FCT_ERR_ARGUMENT, "tensor %s is too large", name);
    }
    json_t *entry = json_pack("{s:s, s:o, s:[I, I]}", "dtype", fct_dtype_name(dtype), "shape",
                              shape, "data_offsets", (json_int_t)file->data_bytes, (json_int_t)end);
    if (json_object_get(file->all, name)) {
        json_decref(entry);
        return fct_fail(err, FCT_ERR_ARGUMENT, "tensor %s is declared twice", name);
    }
    if (!entry || json_object_set_new(file->all, name, entry))
        return fct_fail(err, FCT_ERR_ARGUMENT, "tensor %s cannot be declared", name);
    file->data_bytes = end;
    return FCT_OK;
}

/* The header's text, padded so that the data starts where it should. */
static fct_status make_header(fct_tensor_file *file, size_t align, fct_error *err) {
    fct_status status = fct_tensor_file_metadata(file, FCT_KEY_CHECKSUM, FCT_CHECKSUM_ZERO, err);
    if (!status)
        status = fct_tensor_file_metadata(file, FCT_KEY_HEADER_CHECKSUM, FCT_CHECKSUM_ZERO, err);
    if (status) return status;
    char *text = json_dumps(file->all, JSON_COMPACT);
    if (!text) return fct_fail(err, FCT_ERR_MEMORY, "no memory for a safetensors header");
    size_t length = strlen(text);
    file->header_bytes = fct_round_up(length + 8, align) - 8;
    file->header = fct_new(file->header_bytes, err);
    if (file->header) {
        memset(file->header, ' ', file->header_bytes);
        memcpy(file->header, text, length);
    }
    free(text);
    return file->header ? FCT_OK : FCT_ERR_MEMORY;
}

fct_status fct_tensor_file_begin(fct_tensor_file *file, const char *path, size_t align,
                                 fct_error *err) {
    fct_status status = make_header(file, align, err);
    if (status) return status;
    if (file->header_bytes > FCT_SAFETENSORS_MAX_HEADER)
        return fct_fail(err, FCT_ERR_ARGUMENT, "%s: a header of %zu bytes is too large", path,
                        file->header_bytes);
    fct_error local;
    if (!err) err = &local;
    file->output = fct_output_new(path, 8 + file->header_bytes + file->data_bytes, err);
    if (!file->output) return err->code;
    uint8_t length[8];
    for (int i = 0; i < 8; i++) length[i] = (uint8_t)((uint64_t)file->header_bytes >> 8 * i);
    XXH3_64bits_reset(file->hash);
    status = fct_output_write(file->output, length, sizeof length, err);
    return status ? status : fct_output_write(file->output, file->header, file->header_bytes, err);
}

fct_status fct_tensor_file_write(fct_tensor_file *file, const void *bytes, size_t n_bytes,
                                 fct_error *err) {
    if (!file->output || n_bytes > file->data_bytes - file->given)
        return fct_fail(err, FCT_ERR_ARGUMENT, "more data than was declared");
    file->given += n_bytes;
    XXH3_64bits_update(file->hash, bytes, n_bytes);
    return fct_output_write(file->output, bytes, n_bytes, err);
}

static fct_status put_checksum(fct_tensor_file *file, const char *key, uint64_t hash,
                               fct_error *err) {
    char text[FCT_CHECKSUM_DIGITS + 1];
    size_t position;
    fct_checksum_text(hash, text);
    if (!fct_checksum_find(file->header, file->header_bytes, key, &position))
        return fct_fail(err, FCT_ERR_ARGUMENT, "the header has no place for %s", key);
    return fct_output_patch(file->output, 8 + position, text, FCT_CHECKSUM_DIGITS, err);
}

fct_status fct_tensor_file_finish(fct_tensor_file *file, fct_error *err) {
    if (!file->output || file->given < file->data_bytes)
        return fct_fail(err, FCT_ERR_ARGUMENT, "less data than was declared");
    uint64_t header_hash = XXH3_64bits(file->header, file->header_bytes);
    fct_status status = put_checksum(file, FCT_KEY_CHECKSUM, XXH3_64bits_digest(file->hash), err);
    if (!status) status = put_checksum(file, FCT_KEY_HEADER_CHECKSUM, header_hash, err);
    if (status) return status;
    fct_output *output = file->output;
    file->output = NULL;
    return fct_output_finish(output, err);
}

uint64_t fct_tensor_file_data_bytes(const fct_tensor_file *file) { return file->data_bytes; }
