/* gguf_config.h - a GGUF file's hyperparameters under the names of a checkpoint's configuration. */
#ifndef FCT_CONVERT_GGUF_CONFIG_H
#define FCT_CONVERT_GGUF_CONFIG_H

#include <jansson.h>

#include "convert/gguf.h"

/* What is asked of the tensors of a file, or of all files of a split one. */
struct fct_gguf_tensors {
    const struct fct_gguf_tensor *(*find)(const void *files, const char *name); /* or NULL */
    /* The first n values of a float tensor of one dimension. */
    fct_status (*read)(const void *files, const struct fct_gguf_tensor *tensor, float *out,
                       uint64_t n, fct_error *err);
    const void *files;
};

/* What config.json would say, for fct_config_parse; new. NULL if the architecture is not one that
 * facet knows, or a number that the configuration needs is missing or no number. */
json_t *fct_gguf_config(const struct fct_gguf *gguf, const struct fct_gguf_tensors *tensors,
                        const char *path, fct_error *err);
/* What generation_config.json would say; new, or NULL without memory. */
json_t *fct_gguf_generation(const struct fct_gguf *gguf);

#endif
