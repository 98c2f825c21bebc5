/* stand_in.h - what people most often save under a model's name without noticing. */
#ifndef FCT_PACK_STAND_IN_H
#define FCT_PACK_STAND_IN_H

#include <stddef.h>

#include "facet.h"

/* Is the file at path, whose first n_bytes are given, a Git LFS pointer or a web page?
 * FCT_ERR_FORMAT if so: says which, and how to get the file itself. path is for messages. */
fct_status fct_stand_in_check(const char *path, const void *bytes, size_t n_bytes, fct_error *err);

#endif
