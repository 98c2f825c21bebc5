/* buffer.c - a cursor over bytes from outside that cannot run past its end, and a text that grows.
 */
#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

const uint8_t *fct_cursor_take(struct fct_cursor *c, size_t n_bytes) {
    if (c->failed || n_bytes > c->left) {
        c->failed = true;
        return NULL;
    }
    const uint8_t *taken = c->at;
    c->at += n_bytes;
    c->left -= n_bytes;
    return taken;
}

static uint64_t take_number(struct fct_cursor *c, size_t n_bytes) {
    const uint8_t *bytes = fct_cursor_take(c, n_bytes);
    uint64_t number = 0;
    for (size_t i = 0; bytes && i < n_bytes; i++) number |= (uint64_t)bytes[i] << 8 * i;
    return number;
}

uint8_t fct_cursor_u8(struct fct_cursor *c) { return (uint8_t)take_number(c, 1); }
uint16_t fct_cursor_u16(struct fct_cursor *c) { return (uint16_t)take_number(c, 2); }
uint32_t fct_cursor_u32(struct fct_cursor *c) { return (uint32_t)take_number(c, 4); }
uint64_t fct_cursor_u64(struct fct_cursor *c) { return take_number(c, 8); }

/* Room for n more bytes and the NUL. */
static bool make_room(struct fct_text *text, size_t n_bytes) {
    size_t needed;
    if (text->failed || __builtin_add_overflow(text->size, n_bytes, &needed) ||
        __builtin_add_overflow(needed, 1, &needed))
        return text->failed = true, false;
    void *data = text->data;
    if (fct_grow(&data, &text->capacity, needed, 1, NULL)) return text->failed = true, false;
    text->data = data;
    return true;
}

void fct_text_add(struct fct_text *text, const char *bytes, size_t n_bytes) {
    if (!make_room(text, n_bytes)) return;
    if (n_bytes) memcpy(text->data + text->size, bytes, n_bytes);
    text->size += n_bytes;
    text->data[text->size] = 0;
}

void fct_text_puts(struct fct_text *text, const char *string) {
    fct_text_add(text, string, strlen(string));
}

void fct_text_printf(struct fct_text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (n < 0) text->failed = true;
    if (n < 0 || !make_room(text, (size_t)n)) return;
    va_start(arguments, format);
    vsnprintf(text->data + text->size, (size_t)n + 1, format, arguments);
    va_end(arguments);
    text->size += (size_t)n;
}

void fct_text_free(struct fct_text *text) {
    fct_free(text->data);
    *text = (struct fct_text){0};
}

char *fct_text_finish(struct fct_text *text, size_t *n_bytes, fct_error *err) {
    fct_text_add(text, "", 0); /* an empty text is a text */
    if (text->failed) {
        fct_text_free(text);
        return fct_fail_null(err, FCT_ERR_MEMORY, "no memory for a text");
    }
    char *data = text->data;
    if (n_bytes) *n_bytes = text->size;
    *text = (struct fct_text){0};
    return data;
}
