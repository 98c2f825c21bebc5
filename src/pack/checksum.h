/* checksum.h - the two checksums of a packed file as text, and where they stand in its header. */
#ifndef FCT_PACK_CHECKSUM_H
#define FCT_PACK_CHECKSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FCT_CHECKSUM_DIGITS = 16 };

void fct_checksum_text(uint64_t hash, char text[FCT_CHECKSUM_DIGITS + 1]);
/* Finds where the value of `"key": "0123456789abcdef"` begins in a header's text. Quotes inside a
 * JSON string are escaped, so this can only be a key. */
bool fct_checksum_find(const char *header, size_t n_bytes, const char *key, size_t *position);

#endif
