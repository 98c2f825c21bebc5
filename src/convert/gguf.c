/* gguf.c - one GGUF file: its metadata and where its tensors lie, all checked at the door. */
#include "convert/gguf.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "pack/stand_in.h"

enum {
    MAX_NAME = 1 << 10, /* bytes of a key or a tensor's name; real ones have less than 100 */
    DEFAULT_ALIGN = 32  /* where general.alignment is missing */
};

struct parsing {
    struct fct_gguf *gguf;
    const char *path;
    const uint8_t *data;
    size_t size;
    struct fct_cursor at;
    fct_error *err;
};

static fct_status cut_off(const struct parsing *p, const char *what) {
    return fct_fail(p->err, FCT_ERR_FORMAT, "%s: is cut off in %s (it has %zu bytes)", p->path,
                    what, p->size);
}

/* ---- values ---- */

static const struct {
    const char *name;
    size_t bytes;
} kinds[FCT_GGUF_KINDS] = {[FCT_GGUF_U8] = {"u8", 1},         [FCT_GGUF_I8] = {"i8", 1},
                           [FCT_GGUF_U16] = {"u16", 2},       [FCT_GGUF_I16] = {"i16", 2},
                           [FCT_GGUF_U32] = {"u32", 4},       [FCT_GGUF_I32] = {"i32", 4},
                           [FCT_GGUF_F32] = {"f32", 4},       [FCT_GGUF_BOOL] = {"bool", 1},
                           [FCT_GGUF_STRING] = {"string", 0}, [FCT_GGUF_ARRAY] = {"array", 0},
                           [FCT_GGUF_U64] = {"u64", 8},       [FCT_GGUF_I64] = {"i64", 8},
                           [FCT_GGUF_F64] = {"f64", 8}};

const char *fct_gguf_kind_name(enum fct_gguf_kind kind) { return kinds[kind].name; }

/* A length, and so many bytes; NULL if there are fewer. */
static const uint8_t *take_string(struct fct_cursor *at, size_t *n_bytes) {
    uint64_t n = fct_cursor_u64(at);
    if (n > at->left) at->failed = true;
    *n_bytes = at->failed ? 0 : (size_t)n;
    return at->failed ? NULL : fct_cursor_take(at, *n_bytes);
}

/* Reads a key or a tensor's name, as new text. */
static fct_status read_name(struct parsing *p, const char *what, char **name) {
    size_t n;
    const uint8_t *text = take_string(&p->at, &n);
    if (!text) return cut_off(p, what);
    if (n == 0 || n > MAX_NAME || memchr(text, 0, n))
        return fct_fail(p->err, FCT_ERR_FORMAT,
                        "%s: %s is empty, longer than %d bytes or has a NUL", p->path, what,
                        MAX_NAME);
    *name = fct_copy_text((const char *)text, n, p->err);
    return *name ? FCT_OK : FCT_ERR_MEMORY;
}

/* Passes over the elements of a value, whose key, kind and n are known. */
static fct_status skip_elements(struct parsing *p, struct fct_gguf_value *value) {
    value->at = p->at.at;
    size_t left = p->at.left, n_bytes;
    if (value->kind == FCT_GGUF_STRING) {
        for (uint64_t i = 0; i < value->n && !p->at.failed; i++) take_string(&p->at, &n_bytes);
    } else if (value->n > left / kinds[value->kind].bytes) {
        p->at.failed = true;
    } else {
        fct_cursor_take(&p->at, (size_t)value->n * kinds[value->kind].bytes);
    }
    if (p->at.failed) return cut_off(p, value->key);
    value->n_bytes = left - p->at.left;
    return FCT_OK;
}

static fct_status read_value(struct parsing *p, struct fct_gguf_value *value) {
    uint32_t kind = fct_cursor_u32(&p->at);
    value->n = 1;
    value->is_array = kind == FCT_GGUF_ARRAY;
    if (value->is_array) {
        kind = fct_cursor_u32(&p->at);
        value->n = fct_cursor_u64(&p->at);
    }
    if (p->at.failed) return cut_off(p, value->key);
    if (kind >= FCT_GGUF_KINDS || kind == FCT_GGUF_ARRAY)
        return fct_fail(p->err, FCT_ERR_FORMAT, "%s: %s has type %u, which does not exist%s",
                        p->path, value->key, kind, value->is_array ? " in an array" : "");
    value->kind = kind;
    return skip_elements(p, value);
}

static int compare_keys(const void *a, const void *b) {
    return strcmp(((const struct fct_gguf_value *)a)->key, ((const struct fct_gguf_value *)b)->key);
}

/* Arrays grow with what was really read, not with the number that the file claims. */
static fct_status read_values(struct parsing *p, uint64_t n_values) {
    struct fct_gguf *g = p->gguf;
    for (uint64_t i = 0; i < n_values; i++) {
        fct_status status = fct_grow((void **)&g->values, &g->values_capacity, g->n_values + 1,
                                     sizeof *g->values, p->err);
        if (status != FCT_OK) return status;
        struct fct_gguf_value *value = &g->values[g->n_values];
        *value = (struct fct_gguf_value){0};
        status = read_name(p, "a metadata key", &value->key);
        if (status != FCT_OK) return status;
        g->n_values++;
        status = read_value(p, value);
        if (status != FCT_OK) return status;
    }
    if (g->n_values) qsort(g->values, g->n_values, sizeof *g->values, compare_keys);
    for (size_t i = 1; i < g->n_values; i++)
        if (compare_keys(&g->values[i - 1], &g->values[i]) == 0)
            return fct_fail(p->err, FCT_ERR_FORMAT, "%s: the metadata key %s is there twice",
                            p->path, g->values[i].key);
    return FCT_OK;
}

static fct_status read_alignment(struct parsing *p) {
    const struct fct_gguf_value *value = fct_gguf_find(p->gguf, "general.alignment");
    int64_t alignment = DEFAULT_ALIGN;
    if (value && (value->is_array || !fct_gguf_int(value, 0, &alignment) || alignment <= 0 ||
                  alignment > 1 << 30 || (alignment & (alignment - 1))))
        return fct_fail(p->err, FCT_ERR_FORMAT,
                        "%s: general.alignment must be a power of two up to 2^30", p->path);
    p->gguf->alignment = (uint64_t)alignment;
    return FCT_OK;
}

/* ---- tensors ---- */

static fct_status read_dims(struct parsing *p, struct fct_gguf_tensor *tensor,
                            uint64_t *n_elements) {
    uint32_t n_dims = fct_cursor_u32(&p->at);
    if (p->at.failed) return cut_off(p, tensor->name);
    if (n_dims < 1 || n_dims > FCT_GGUF_MAX_DIMS)
        return fct_fail(p->err, FCT_ERR_FORMAT, "%s: %s has %u dimensions, not 1 to %d", p->path,
                        tensor->name, n_dims, FCT_GGUF_MAX_DIMS);
    tensor->n_dims = (int)n_dims;
    *n_elements = 1;
    for (uint32_t d = 0; d < n_dims; d++) {
        tensor->dims[d] = fct_cursor_u64(&p->at);
        if (p->at.failed) return cut_off(p, tensor->name);
        if (tensor->dims[d] == 0)
            return fct_fail(p->err, FCT_ERR_FORMAT, "%s: %s has a dimension of 0", p->path,
                            tensor->name);
        if (__builtin_mul_overflow(*n_elements, tensor->dims[d], n_elements) ||
            *n_elements > INT64_MAX)
            return fct_fail(p->err, FCT_ERR_FORMAT,
                            "%s: the dimensions of %s multiply to more than 2^63", p->path,
                            tensor->name);
    }
    return FCT_OK;
}

static fct_status measure(const struct parsing *p, struct fct_gguf_tensor *tensor,
                          uint64_t n_elements) {
    const struct fct_gguf_type *type = tensor->type;
    if (!type) return FCT_OK;
    if (tensor->dims[0] % (uint64_t)type->block)
        return fct_fail(p->err, FCT_ERR_FORMAT,
                        "%s: rows of %s have %llu values, %s packs blocks of %d", p->path,
                        tensor->name, (unsigned long long)tensor->dims[0], type->name, type->block);
    if (__builtin_mul_overflow(n_elements / (uint64_t)type->block, (uint64_t)type->block_bytes,
                               &tensor->n_bytes))
        return fct_fail(p->err, FCT_ERR_FORMAT, "%s: %s has more than 2^64 bytes", p->path,
                        tensor->name);
    return FCT_OK;
}

static fct_status read_tensor(struct parsing *p, struct fct_gguf_tensor *tensor) {
    uint64_t n_elements = 1;
    fct_status status = read_dims(p, tensor, &n_elements);
    if (status != FCT_OK) return status;
    tensor->type_id = fct_cursor_u32(&p->at);
    tensor->offset = fct_cursor_u64(&p->at); /* from the start of the data, until place_tensors */
    if (p->at.failed) return cut_off(p, tensor->name);
    tensor->type = fct_gguf_type_find(tensor->type_id);
    if (tensor->offset % p->gguf->alignment)
        return fct_fail(p->err, FCT_ERR_FORMAT, "%s: %s does not begin on a multiple of %llu",
                        p->path, tensor->name, (unsigned long long)p->gguf->alignment);
    return measure(p, tensor, n_elements);
}

static int compare_names(const void *a, const void *b) {
    return strcmp(((const struct fct_gguf_tensor *)a)->name,
                  ((const struct fct_gguf_tensor *)b)->name);
}

static fct_status read_tensors(struct parsing *p, uint64_t n_tensors) {
    struct fct_gguf *g = p->gguf;
    for (uint64_t i = 0; i < n_tensors; i++) {
        fct_status status = fct_grow((void **)&g->tensors, &g->tensors_capacity, g->n_tensors + 1,
                                     sizeof *g->tensors, p->err);
        if (status != FCT_OK) return status;
        struct fct_gguf_tensor *tensor = &g->tensors[g->n_tensors];
        *tensor = (struct fct_gguf_tensor){0};
        status = read_name(p, "a tensor's name", &tensor->name);
        if (status != FCT_OK) return status;
        g->n_tensors++;
        status = read_tensor(p, tensor);
        if (status != FCT_OK) return status;
    }
    return FCT_OK;
}

static int compare_offsets(const void *a, const void *b) {
    uint64_t x = ((const struct fct_gguf_tensor *)a)->offset,
             y = ((const struct fct_gguf_tensor *)b)->offset;
    return (x > y) - (x < y);
}

/* Where the last tensor ends. Padding behind it may be missing: not every writer puts it there. */
static uint64_t end_of_data(const struct fct_gguf *g) {
    uint64_t end = 0, last;
    for (size_t i = 0; i < g->n_tensors; i++) {
        if (__builtin_add_overflow(g->tensors[i].offset, g->tensors[i].n_bytes, &last) ||
            __builtin_add_overflow(last, g->data_start, &last))
            return UINT64_MAX;
        if (last > end) end = last;
    }
    return end;
}

/* Every tensor within the file, and none in another. */
static fct_status place_tensors(const struct parsing *p) {
    struct fct_gguf *g = p->gguf;
    if (end_of_data(g) > p->size)
        return fct_fail(p->err, FCT_ERR_FORMAT,
                        "%s: is cut off: its header describes %llu bytes, the file has %zu",
                        p->path, (unsigned long long)end_of_data(g), p->size);
    if (g->n_tensors) qsort(g->tensors, g->n_tensors, sizeof *g->tensors, compare_offsets);
    uint64_t end = 0;
    for (size_t i = 0; i < g->n_tensors; i++) {
        struct fct_gguf_tensor *tensor = &g->tensors[i];
        if (tensor->offset < end)
            return fct_fail(p->err, FCT_ERR_FORMAT, "%s: %s overlaps another tensor", p->path,
                            tensor->name);
        end = tensor->offset + tensor->n_bytes;
        tensor->offset += g->data_start;
    }
    if (g->n_tensors) qsort(g->tensors, g->n_tensors, sizeof *g->tensors, compare_names);
    for (size_t i = 1; i < g->n_tensors; i++)
        if (compare_names(&g->tensors[i - 1], &g->tensors[i]) == 0)
            return fct_fail(p->err, FCT_ERR_FORMAT, "%s: the tensor %s is there twice", p->path,
                            g->tensors[i].name);
    return FCT_OK;
}

/* ---- the file ---- */

bool fct_gguf_is_start(const uint8_t *data, size_t size) {
    return size >= 4 && memcmp(data, "GGUF", 4) == 0;
}

static fct_status read_start(struct parsing *p, uint64_t *n_tensors, uint64_t *n_values) {
    fct_status status = fct_stand_in_check(p->path, p->data, p->size, p->err);
    if (status != FCT_OK) return status;
    if (!fct_gguf_is_start(p->data, p->size))
        return fct_fail(p->err, FCT_ERR_FORMAT, "%s: is no GGUF file", p->path);
    fct_cursor_take(&p->at, 4);
    uint32_t version = fct_cursor_u32(&p->at);
    *n_tensors = fct_cursor_u64(&p->at);
    *n_values = fct_cursor_u64(&p->at);
    p->gguf->version = version;
    if (p->at.failed) return cut_off(p, "its first 24 bytes");
    if (version == 2 || version == 3) return FCT_OK;
    return fct_fail(p->err, FCT_ERR_UNSUPPORTED,
                    version && (version & 0xFFFF) == 0
                        ? "%s: is a big-endian GGUF file, which facet cannot read"
                        : "%s: is GGUF version %u; facet reads 2 and 3",
                    p->path, version);
}

fct_status fct_gguf_parse(struct fct_gguf *gguf, const char *path, const uint8_t *data, size_t size,
                          fct_error *err) {
    struct parsing p = {gguf, path, data, size, fct_cursor_over(data, size), err};
    uint64_t n_tensors = 0, n_values = 0;
    *gguf = (struct fct_gguf){0};
    fct_status status = read_start(&p, &n_tensors, &n_values);
    if (status == FCT_OK) status = read_values(&p, n_values);
    if (status == FCT_OK) status = read_alignment(&p);
    if (status == FCT_OK) status = read_tensors(&p, n_tensors);
    if (status == FCT_OK) {
        uint64_t header = (uint64_t)(p.at.at - data), a = gguf->alignment;
        gguf->data_start = (header + a - 1) / a * a;
        status = place_tensors(&p);
    }
    if (status != FCT_OK) fct_gguf_free(gguf);
    return status;
}

void fct_gguf_free(struct fct_gguf *gguf) {
    for (size_t i = 0; i < gguf->n_values; i++) fct_free(gguf->values[i].key);
    for (size_t i = 0; i < gguf->n_tensors; i++) fct_free(gguf->tensors[i].name);
    fct_free(gguf->values);
    fct_free(gguf->tensors);
    *gguf = (struct fct_gguf){0};
}

const struct fct_gguf_value *fct_gguf_find(const struct fct_gguf *gguf, const char *key) {
    const struct fct_gguf_value wanted = {.key = (char *)key};
    if (gguf->n_values == 0) return NULL;
    return bsearch(&wanted, gguf->values, gguf->n_values, sizeof *gguf->values, compare_keys);
}

const struct fct_gguf_tensor *fct_gguf_find_tensor(const struct fct_gguf *gguf, const char *name) {
    const struct fct_gguf_tensor wanted = {.name = (char *)name};
    if (gguf->n_tensors == 0) return NULL;
    return bsearch(&wanted, gguf->tensors, gguf->n_tensors, sizeof *gguf->tensors, compare_names);
}

/* ---- reading values ---- */

bool fct_gguf_int(const struct fct_gguf_value *value, uint64_t i, int64_t *number) {
    if (!value || i >= value->n || value->kind == FCT_GGUF_STRING || value->kind == FCT_GGUF_F32 ||
        value->kind == FCT_GGUF_F64)
        return false;
    size_t n = kinds[value->kind].bytes;
    uint64_t bits = 0;
    memcpy(&bits, value->at + (size_t)i * n, n); /* little-endian, as the machine */
    bool is_signed = value->kind == FCT_GGUF_I8 || value->kind == FCT_GGUF_I16 ||
                     value->kind == FCT_GGUF_I32 || value->kind == FCT_GGUF_I64;
    int unused = 64 - 8 * (int)n;
    if (!is_signed && bits > INT64_MAX) return false;
    *number = is_signed ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
    return true;
}

bool fct_gguf_number(const struct fct_gguf_value *value, uint64_t i, double *number) {
    int64_t whole;
    float single;
    if (fct_gguf_int(value, i, &whole)) {
        *number = (double)whole;
        return true;
    }
    if (!value || i >= value->n) return false;
    if (value->kind == FCT_GGUF_F32) {
        memcpy(&single, value->at + (size_t)i * sizeof single, sizeof single);
        *number = (double)single;
    } else if (value->kind == FCT_GGUF_F64) {
        memcpy(number, value->at + (size_t)i * sizeof *number, sizeof *number);
    } else {
        return false;
    }
    return true;
}

bool fct_gguf_next_text(const struct fct_gguf_value *value, const uint8_t **at, const char **text,
                        size_t *n_bytes) {
    if (!value || value->kind != FCT_GGUF_STRING) return false;
    if (!*at) *at = value->at;
    size_t left = value->n_bytes - (size_t)(*at - value->at);
    if (left == 0) return false;
    struct fct_cursor cursor = fct_cursor_over(*at, left);
    *text = (const char *)take_string(&cursor, n_bytes);
    *at = cursor.at;
    return *text != NULL;
}

const char *fct_gguf_text(const struct fct_gguf_value *value, size_t *n_bytes) {
    const uint8_t *at = NULL;
    const char *text;
    if (!value || value->is_array || !fct_gguf_next_text(value, &at, &text, n_bytes)) return NULL;
    return text;
}
