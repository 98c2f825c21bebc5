/* tensor_file.h - a safetensors file of our own making: metadata and tensors are declared first,
 * then the data is given in that order; two checksums guard it. */
#ifndef FCT_PACK_TENSOR_FILE_H
#define FCT_PACK_TENSOR_FILE_H

#include "pack/safetensors.h"

typedef struct fct_tensor_file fct_tensor_file;

fct_tensor_file *fct_tensor_file_new(fct_error *err);
void fct_tensor_file_free(fct_tensor_file *file); /* without finish: leaves nothing behind */

/* Metadata and tensors stand in the file in the order in which they are declared. */
fct_status fct_tensor_file_metadata(fct_tensor_file *file, const char *key, const char *value,
                                    fct_error *err);
fct_status fct_tensor_file_number(fct_tensor_file *file, const char *key, uint64_t value,
                                  fct_error *err);
fct_status fct_tensor_file_declare(fct_tensor_file *file, const char *name, enum fct_dtype dtype,
                                   const uint64_t *dims, int n_dims, fct_error *err);

/* All is declared: the file is begun beside path, its data at a multiple of align. Checks free
 * space. */
fct_status fct_tensor_file_begin(fct_tensor_file *file, const char *path, size_t align,
                                 fct_error *err);
fct_status fct_tensor_file_write(fct_tensor_file *file, const void *bytes, size_t n_bytes,
                                 fct_error *err);
/* Checks that everything was given, puts in the checksums, and makes the file appear under its
 * name. */
fct_status fct_tensor_file_finish(fct_tensor_file *file, fct_error *err);

uint64_t fct_tensor_file_data_bytes(const fct_tensor_file *file); /* declared so far */

#endif
