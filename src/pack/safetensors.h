/* safetensors.h - the header of a safetensors file: names, types, shapes and places, all checked at
 * the door. */
#ifndef FCT_PACK_SAFETENSORS_H
#define FCT_PACK_SAFETENSORS_H

#include <jansson.h>

#include "facet.h"

enum fct_dtype {
    FCT_DTYPE_F32,
    FCT_DTYPE_F16,
    FCT_DTYPE_BF16,
    FCT_DTYPE_F64,
    FCT_DTYPE_I8,
    FCT_DTYPE_U8,
    FCT_DTYPE_I16,
    FCT_DTYPE_U16,
    FCT_DTYPE_I32,
    FCT_DTYPE_U32,
    FCT_DTYPE_I64,
    FCT_DTYPE_U64,
    FCT_DTYPE_BOOL,
    FCT_DTYPE_OTHER
};
size_t fct_dtype_bytes(enum fct_dtype dtype); /* of one element; 0 for FCT_DTYPE_OTHER */
const char *fct_dtype_name(enum fct_dtype dtype);

enum { FCT_SAFETENSORS_MAX_HEADER = 100000000 }; /* bytes: the format's own limit */
enum { FCT_MAX_DIMS = 8 };
struct fct_tensor {
    const char *name; /* the header's */
    enum fct_dtype dtype;
    char dtype_name[12]; /* as written in the file */
    int n_dims;
    uint64_t dims[FCT_MAX_DIMS];
    uint64_t offset, n_bytes; /* from the start of the file */
};

struct fct_safetensors {
    struct fct_tensor *tensors; /* sorted by name */
    size_t n_tensors;
    json_t *json;     /* owns the names */
    json_t *metadata; /* __metadata__, an object of strings, or NULL; part of json */
    uint64_t data_start, data_end;
};

/* Reads and checks the header of a file of `size` bytes that begins at data: length, JSON, types,
 * shapes, offsets within the file, lengths that equal shape x type, no overlaps. Git LFS pointers
 * and HTML pages are named as such. path is for messages. */
fct_status fct_safetensors_parse(struct fct_safetensors *header, const char *path,
                                 const uint8_t *data, size_t size, fct_error *err);
void fct_safetensors_free(struct fct_safetensors *header);
/* The tensor called name, or NULL. */
const struct fct_tensor *fct_safetensors_find(const struct fct_safetensors *header,
                                              const char *name);

#endif
