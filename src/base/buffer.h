/* buffer.h - a cursor over bytes from outside that cannot run past its end, and a text that
 * grows. */
#ifndef FCT_BASE_BUFFER_H
#define FCT_BASE_BUFFER_H

#include "facet.h"

struct fct_cursor {
    const uint8_t *at;
    size_t left;
    bool failed; /* something was read past the end; what was read since is zero */
};
static inline struct fct_cursor fct_cursor_over(const void *data, size_t size) {
    return (struct fct_cursor){data, size, false};
}
/* NULL and failed if there are fewer */
const uint8_t *fct_cursor_take(struct fct_cursor *c, size_t n_bytes);
uint8_t fct_cursor_u8(struct fct_cursor *c); /* little-endian; zero once failed */
uint16_t fct_cursor_u16(struct fct_cursor *c);
uint32_t fct_cursor_u32(struct fct_cursor *c);
uint64_t fct_cursor_u64(struct fct_cursor *c);

/* Growing text, always NUL-terminated once something was added. A failed addition sticks: check
 * failed once at the end. */
struct fct_text {
    char *data;
    size_t size, capacity;
    bool failed;
};
void fct_text_add(struct fct_text *text, const char *bytes, size_t n_bytes);
void fct_text_puts(struct fct_text *text, const char *string);
void fct_text_printf(struct fct_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void fct_text_free(struct fct_text *text);
/* The finished text (the caller frees it with fct_free), or NULL and FCT_ERR_MEMORY if an addition
 * failed. Empties *text. */
char *fct_text_finish(struct fct_text *text, size_t *n_bytes, fct_error *err);

#endif
