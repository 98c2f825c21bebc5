/* safetensors.c - the header of a safetensors file: names, types, shapes and places, all checked at
 * the door. */
#include "pack/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "pack/stand_in.h"

static const struct {
    const char *name;
    size_t n_bytes;
} dtypes[] = {
    [FCT_DTYPE_F32] = {"F32", 4},   [FCT_DTYPE_F16] = {"F16", 2},
    [FCT_DTYPE_BF16] = {"BF16", 2}, [FCT_DTYPE_F64] = {"F64", 8},
    [FCT_DTYPE_I8] = {"I8", 1},     [FCT_DTYPE_U8] = {"U8", 1},
    [FCT_DTYPE_I16] = {"I16", 2},   [FCT_DTYPE_U16] = {"U16", 2},
    [FCT_DTYPE_I32] = {"I32", 4},   [FCT_DTYPE_U32] = {"U32", 4},
    [FCT_DTYPE_I64] = {"I64", 8},   [FCT_DTYPE_U64] = {"U64", 8},
    [FCT_DTYPE_BOOL] = {"BOOL", 1}, [FCT_DTYPE_OTHER] = {"other", 0},
};

size_t fct_dtype_bytes(enum fct_dtype dtype) { return dtypes[dtype].n_bytes; }
const char *fct_dtype_name(enum fct_dtype dtype) { return dtypes[dtype].name; }

static enum fct_dtype dtype_of(const char *name) {
    for (int i = 0; i < FCT_DTYPE_OTHER; i++)
        if (!strcmp(name, dtypes[i].name)) return (enum fct_dtype)i;
    return FCT_DTYPE_OTHER;
}

static fct_status read_json(struct fct_safetensors *header, const char *path, const uint8_t *data,
                            size_t size, fct_error *err) {
    struct fct_cursor cursor = fct_cursor_over(data, size);
    uint64_t length = fct_cursor_u64(&cursor);
    if (cursor.failed)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: %zu bytes are too few for a safetensors file",
                        path, size);
    if (length < 2 || length > FCT_SAFETENSORS_MAX_HEADER)
        return fct_fail(err, FCT_ERR_FORMAT,
                        "%s: no safetensors file: its header would have %llu bytes", path,
                        (unsigned long long)length);
    const char *text = (const char *)fct_cursor_take(&cursor, (size_t)length);
    if (!text)
        return fct_fail(err, FCT_ERR_FORMAT,
                        "%s: truncated, or no safetensors file: its header alone takes %llu bytes, "
                        "the file has %zu",
                        path, (unsigned long long)length + 8, size);
    if (*text != '{')
        return fct_fail(err, FCT_ERR_FORMAT, "%s: no safetensors file: its header is not JSON",
                        path);
    size_t n_text = (size_t)length; /* padding can be megabytes, which jansson reads byte by byte */
    while (text[n_text - 1] == ' ') n_text--;
    json_error_t error;
    header->json = json_loadb(text, n_text, JSON_REJECT_DUPLICATES, &error);
    if (!header->json)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: header is not valid JSON: %s at byte %d", path,
                        error.text, error.position);
    header->data_start = 8 + length;
    return FCT_OK;
}

static fct_status read_metadata(struct fct_safetensors *header, const char *path, fct_error *err) {
    header->metadata = json_object_get(header->json, "__metadata__");
    if (!header->metadata) return FCT_OK;
    if (!json_is_object(header->metadata))
        return fct_fail(err, FCT_ERR_FORMAT, "%s: __metadata__ is not an object", path);
    const char *key;
    json_t *value;
    json_object_foreach(header->metadata, key, value) {
        if (!json_is_string(value))
            return fct_fail(err, FCT_ERR_FORMAT, "%s: metadata %s is not a string", path, key);
    }
    return FCT_OK;
}

static bool read_count(const json_t *value, uint64_t *count) {
    if (!json_is_integer(value) || json_integer_value(value) < 0) return false;
    *count = (uint64_t)json_integer_value(value);
    return true;
}

static fct_status read_shape(struct fct_tensor *tensor, const char *path, const json_t *shape,
                             fct_error *err) {
    if (!json_is_array(shape) || json_array_size(shape) > FCT_MAX_DIMS)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: tensor %s: no shape of up to %d dimensions", path,
                        tensor->name, FCT_MAX_DIMS);
    tensor->n_dims = (int)json_array_size(shape);
    for (int i = 0; i < tensor->n_dims; i++)
        if (!read_count(json_array_get(shape, (size_t)i), &tensor->dims[i]))
            return fct_fail(err, FCT_ERR_FORMAT, "%s: tensor %s: dimension %d is not a count", path,
                            tensor->name, i);
    return FCT_OK;
}

/* The length that type and shape ask for. A type we do not know is believed. */
static fct_status check_length(const struct fct_tensor *tensor, const char *path, fct_error *err) {
    if (tensor->dtype == FCT_DTYPE_OTHER) return FCT_OK;
    uint64_t length = fct_dtype_bytes(tensor->dtype);
    bool fits = true;
    for (int i = 0; i < tensor->n_dims && fits; i++)
        fits = !__builtin_mul_overflow(length, tensor->dims[i], &length);
    if (!fits)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: tensor %s: shape is too large", path,
                        tensor->name);
    if (length != tensor->n_bytes)
        return fct_fail(
            err, FCT_ERR_FORMAT, "%s: tensor %s: has %llu bytes, type and shape need %llu", path,
            tensor->name, (unsigned long long)tensor->n_bytes, (unsigned long long)length);
    return FCT_OK;
}

static fct_status read_tensor(struct fct_tensor *tensor, const char *path, const json_t *entry,
                              uint64_t data_start, fct_error *err) {
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    const json_t *offsets = json_object_get(entry, "data_offsets");
    uint64_t begin, end;
    if (!dtype)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: tensor %s: has no type", path, tensor->name);
    tensor->dtype = dtype_of(dtype);
    strncpy(tensor->dtype_name, dtype, sizeof tensor->dtype_name - 1);
    fct_status status = read_shape(tensor, path, json_object_get(entry, "shape"), err);
    if (status) return status;
    if (json_array_size(offsets) != 2 || !read_count(json_array_get(offsets, 0), &begin) ||
        !read_count(json_array_get(offsets, 1), &end) || begin > end)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: tensor %s: data_offsets are not a range", path,
                        tensor->name);
    tensor->offset = data_start + begin; /* at most 2^63 each: no overflow */
    tensor->n_bytes = end - begin;
    return check_length(tensor, path, err);
}

static fct_status read_tensors(struct fct_safetensors *header, const char *path, fct_error *err) {
    size_t n = json_object_size(header->json) - (header->metadata ? 1 : 0);
    header->tensors = fct_new_array(n, sizeof *header->tensors, err);
    if (!header->tensors) return FCT_ERR_MEMORY;
    const char *name;
    json_t *entry;
    json_object_foreach(header->json, name, entry) {
        if (entry == header->metadata) continue;
        struct fct_tensor *tensor = &header->tensors[header->n_tensors++];
        tensor->name = name;
        fct_status status = read_tensor(tensor, path, entry, header->data_start, err);
        if (status) return status;
    }
    return FCT_OK;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct fct_tensor *)a)->name, ((const struct fct_tensor *)b)->name);
}

static int by_place(const void *a, const void *b) {
    const struct fct_tensor *x = *(const struct fct_tensor *const *)a;
    const struct fct_tensor *y = *(const struct fct_tensor *const *)b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return x->n_bytes < y->n_bytes ? -1 : x->n_bytes > y->n_bytes;
}

/* No byte belongs to two tensors, and the last one ends where the file does. */
static fct_status check_places(struct fct_safetensors *header, const char *path, size_t size,
                               fct_error *err) {
    const struct fct_tensor **order = fct_new_array(header->n_tensors, sizeof *order, err);
    if (!order) return FCT_ERR_MEMORY;
    for (size_t i = 0; i < header->n_tensors; i++) order[i] = &header->tensors[i];
    qsort(order, header->n_tensors, sizeof *order, by_place);
    fct_status status = FCT_OK;
    header->data_end = header->data_start;
    const struct fct_tensor *last = NULL;
    for (size_t i = 0; i < header->n_tensors && !status; i++) {
        if (order[i]->n_bytes > 0 && order[i]->offset < header->data_end)
            status = fct_fail(err, FCT_ERR_FORMAT, "%s: tensors %s and %s overlap", path,
                              last ? last->name : "", order[i]->name);
        uint64_t end = order[i]->offset + order[i]->n_bytes;
        if (end > header->data_end) header->data_end = end, last = order[i];
    }
    fct_free(order);
    if (status || header->data_end == size) return status;
    return fct_fail(err, FCT_ERR_FORMAT,
                    "%s: %s: its header describes %llu bytes, the file has %zu", path,
                    size < header->data_end ? "truncated" : "too long",
                    (unsigned long long)header->data_end, size);
}

fct_status fct_safetensors_parse(struct fct_safetensors *header, const char *path,
                                 const uint8_t *data, size_t size, fct_error *err) {
    *header = (struct fct_safetensors){0};
    fct_status status = fct_stand_in_check(path, data, size, err);
    if (!status) status = read_json(header, path, data, size, err);
    if (!status) status = read_metadata(header, path, err);
    if (!status) status = read_tensors(header, path, err);
    if (!status) status = check_places(header, path, size, err);
    if (!status) qsort(header->tensors, header->n_tensors, sizeof *header->tensors, by_name);
    if (status) fct_safetensors_free(header);
    return status;
}

void fct_safetensors_free(struct fct_safetensors *header) {
    fct_free(header->tensors);
    json_decref(header->json);
    *header = (struct fct_safetensors){0};
}

const struct fct_tensor *fct_safetensors_find(const struct fct_safetensors *header,
                                              const char *name) {
    struct fct_tensor wanted = {.name = name};
    if (header->n_tensors == 0) return NULL;
    return bsearch(&wanted, header->tensors, header->n_tensors, sizeof wanted, by_name);
}
