/* memory.h - checked allocation. */
#ifndef FCT_BASE_MEMORY_H
#define FCT_BASE_MEMORY_H

#include "facet.h"

/* a * b, or false if it does not fit. */
static inline bool fct_mul(size_t a, size_t b, size_t *product) {
    return !__builtin_mul_overflow(a, b, product);
}
static inline size_t fct_round_up(size_t n, size_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

/* Zeroed memory for one object, or for n of them; NULL and FCT_ERR_MEMORY if there is none. Freed
 * by free or fct_free, which is the same. */
void *fct_new(size_t bytes, fct_error *err);
void *fct_new_array(size_t n, size_t bytes_each, fct_error *err);
/* Makes room for n elements in a growing array (doubles *capacity); the old array stays valid on
 * failure. */
fct_status fct_grow(void **array, size_t *capacity, size_t n, size_t bytes_each, fct_error *err);
char *fct_copy_text(const char *text, size_t n_bytes, fct_error *err); /* NUL-terminated copy */

/* Zeroed anonymous pages, 2 MiB pages asked for when it is large enough; for scratch and the KV
 * cache. Physical memory is taken as it is touched. */
void *fct_pages_new(size_t bytes, fct_error *err);
void fct_pages_free(void *pages, size_t bytes);
/* Puts pages of fct_pages_new where something else is mapped, read only: `at` then has their bytes,
 * and they have left their own address. Whoever reads there meanwhile waits. Both addresses and
 * bytes are multiples of a page. False: it failed, and what was at `at` may no longer be mapped. */
bool fct_pages_lay_over(void *at, void *pages, size_t bytes);

/* Counts every allocation of this file since the start: the tests prove with it that decoding
 * allocates nothing. */
uint64_t fct_allocation_count(void);

#endif
