/* utf8.h - reading UTF-8 that may be wrong. */
#ifndef FCT_BASE_UTF8_H
#define FCT_BASE_UTF8_H

#include "facet.h"

#define FCT_UTF8_REPLACEMENT 0xFFFDu

/* The character at text (left >= 1 bytes) and in *n_bytes how many bytes it takes. A bad part gives
 * FCT_UTF8_REPLACEMENT with *valid false and *n_bytes the length of its maximal subpart (Unicode
 * 3.9, table 3-8). */
uint32_t fct_utf8_read(const char *text, size_t left, int *n_bytes, bool *valid);
int fct_utf8_write(uint32_t c, char out[4]); /* number of bytes; c is a scalar value */
bool fct_utf8_valid(const char *text, size_t n_bytes);
/* A copy in which each bad part is U+FFFD; *n_replaced (may be NULL) counts them. The caller frees.
 * NUL-terminated. */
char *fct_utf8_repair(const char *text, size_t n_bytes, size_t *n_out, int *n_replaced,
                      fct_error *err);

#endif
