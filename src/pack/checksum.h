/* checksum.h - the two checksums of a file of ours: as text, where they stand in its header, and
 * whether they are right. */
#ifndef FCT_PACK_CHECKSUM_H
#define FCT_PACK_CHECKSUM_H

#include "pack/safetensors.h"

enum { FCT_CHECKSUM_DIGITS = 16 };

void fct_checksum_text(uint64_t hash, char text[FCT_CHECKSUM_DIGITS + 1]);
/* Finds where the value of `"key": "0123456789abcdef"` begins in a header's text. Quotes inside a
 * JSON string are escaped, so this can only be a key. */
bool fct_checksum_find(const char *header, size_t n_bytes, const char *key, size_t *position);

/* Reads the whole file that begins at data and compares with both; progress may be NULL.
 * FCT_ERR_FORMAT if one differs or is missing. */
fct_status fct_checksum_verify(const struct fct_safetensors *header, const char *path,
                               const uint8_t *data, fct_progress_fn progress, void *user,
                               fct_error *err);

#endif
