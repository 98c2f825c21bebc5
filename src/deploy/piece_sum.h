/* piece_sum.h - SHA-256 of a part of a file, by the system's sha256sum. */
#ifndef FCT_DEPLOY_PIECE_SUM_H
#define FCT_DEPLOY_PIECE_SUM_H

#include "facet.h"

enum { FCT_SUM_BYTES = 65 }; /* 64 hexadecimal digits and a NUL */

/* The sum of n_bytes at offset of the open file called name. */
fct_status fct_piece_sum(int fd, const char *name, uint64_t offset, uint64_t n_bytes,
                         char sum[FCT_SUM_BYTES], fct_error *err);

/* Is it 64 digits, as sha256sum writes them? */
bool fct_is_sum(const char *text);

#endif
