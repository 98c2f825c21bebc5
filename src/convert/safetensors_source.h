/* safetensors_source.h - the tensors of a checkpoint folder: one safetensors file, or shards with
 * an index. */
#ifndef FCT_CONVERT_SAFETENSORS_SOURCE_H
#define FCT_CONVERT_SAFETENSORS_SOURCE_H

#include "convert/source.h"

/* Opens the files of folder and sets the tensors, read_rows, holds_file and own of source. Missing
 * shards, tensors that are not where the index says, and tensors that occur twice are errors that
 * list them. After a failure, too, close. */
fct_status fct_shards_open(fct_source *source, const char *folder, fct_error *err);
/* Bytes of a tensor as they lie in its file. */
fct_status fct_shards_read_bytes(const fct_source *source, const struct fct_source_tensor *tensor,
                                 uint64_t offset, void *out, size_t n_bytes, fct_error *err);
void fct_shards_close(fct_source *source);

#endif
