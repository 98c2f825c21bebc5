/* quantization.h - what config.json says about the codes of a folder's weights, method by method.
 */
#ifndef FCT_CONVERT_QUANTIZATION_H
#define FCT_CONVERT_QUANTIZATION_H

#include "convert/coded.h"

/* Reads the source's quantization_config, if it has one: then the tensors listed are whole matrices
 * and tables, codes and scales together. What cannot be read so stands in source->refusal. */
fct_status fct_quantization_open(fct_source *source, fct_error *err);

/* The methods: each goes through the raw tensors once and puts into the list what it knows. */
void fct_quantization_mobile(struct fct_coding *c, const json_t *config); /* "gemma" */
void fct_quantization_compressed(struct fct_coding *c,
                                 const json_t *config); /* "compressed-tensors" */

/* Every key of object must be among `known` (NULL-terminated), or say nothing: null, false, an
 * empty list or object. */
void fct_quantization_check_keys(struct fct_coding *c, const json_t *object, const char *where,
                                 const char *const known[]);
/* The raw tensor's name as the file has it, and the part of it before the last dot. */
const char *fct_quantization_full_name(const struct fct_source_tensor *raw);

#endif
