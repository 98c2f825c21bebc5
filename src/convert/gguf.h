/* gguf.h - one GGUF file: its metadata and where its tensors lie, all checked at the door. */
#ifndef FCT_CONVERT_GGUF_H
#define FCT_CONVERT_GGUF_H

#include "convert/gguf_types.h"

/* Types of metadata values, as numbered in the file. */
enum fct_gguf_kind {
    FCT_GGUF_U8,
    FCT_GGUF_I8,
    FCT_GGUF_U16,
    FCT_GGUF_I16,
    FCT_GGUF_U32,
    FCT_GGUF_I32,
    FCT_GGUF_F32,
    FCT_GGUF_BOOL,
    FCT_GGUF_STRING,
    FCT_GGUF_ARRAY,
    FCT_GGUF_U64,
    FCT_GGUF_I64,
    FCT_GGUF_F64,
    FCT_GGUF_KINDS
};
const char *fct_gguf_kind_name(enum fct_gguf_kind kind);

/* A value, or an array of values of one kind; they lie in the file one behind the other. */
struct fct_gguf_value {
    char *key;
    enum fct_gguf_kind kind; /* never FCT_GGUF_ARRAY */
    bool is_array;
    uint64_t n; /* 1 unless it is an array */
    const uint8_t *at;
    size_t n_bytes;
};

enum { FCT_GGUF_MAX_DIMS = 4 };
struct fct_gguf_tensor {
    char *name;
    uint32_t type_id;
    const struct fct_gguf_type *type; /* NULL: not known */
    int n_dims;
    uint64_t dims[FCT_GGUF_MAX_DIMS]; /* as in the file: the one along a row first */
    uint64_t offset;                  /* from the start of the file */
    uint64_t n_bytes;                 /* 0 if the type is not known */
};

struct fct_gguf {
    uint32_t version;
    uint64_t alignment, data_start;
    struct fct_gguf_value *values; /* sorted by key, each key once */
    size_t n_values, values_capacity;
    struct fct_gguf_tensor *tensors; /* sorted by name, each name once */
    size_t n_tensors, tensors_capacity;
};

/* Reads the header of a file of `size` bytes at data, which must outlive it. Whatever is cut off,
 * out of range, twice there or overlapping is an error; path is for messages. After a failure there
 * is nothing to free. */
fct_status fct_gguf_parse(struct fct_gguf *gguf, const char *path, const uint8_t *data, size_t size,
                          fct_error *err);
void fct_gguf_free(struct fct_gguf *gguf);
/* Does a file that starts so claim to be one? */
bool fct_gguf_is_start(const uint8_t *data, size_t size);

const struct fct_gguf_value *fct_gguf_find(const struct fct_gguf *gguf,
                                           const char *key); /* or NULL */
const struct fct_gguf_tensor *fct_gguf_find_tensor(const struct fct_gguf *gguf,
                                                   const char *name); /* or NULL */

/* Element i of a value that holds whole numbers (bool too), or numbers; false if it holds none or
 * has no such element, or if value is NULL. */
bool fct_gguf_int(const struct fct_gguf_value *value, uint64_t i, int64_t *number);
bool fct_gguf_number(const struct fct_gguf_value *value, uint64_t i, double *number);
/* A single string, not NUL-terminated, of any bytes; NULL if it is none. */
const char *fct_gguf_text(const struct fct_gguf_value *value, size_t *n_bytes);
/* Strings of an array, one after the other: begin with *at = NULL; false behind the last one. */
bool fct_gguf_next_text(const struct fct_gguf_value *value, const uint8_t **at, const char **text,
                        size_t *n_bytes);

#endif
