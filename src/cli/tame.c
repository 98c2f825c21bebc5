/* tame.c - control characters out of what a terminal is shown. */
#include "cli/tame.h"

#include <string.h>

/* The bytes of the control character that text begins with, 0 if it begins with another. */
static size_t control_bytes(const char *text, size_t left) {
    unsigned char c = (unsigned char)text[0];
    if (c < 0x20 || c == 0x7F) return 1;
    return c == 0xC2 && left > 1 && (unsigned char)text[1] < 0xA0 ? 2 : 0;
}

void fct_tame_add(struct fct_text *out, const char *text, size_t n_bytes) {
    for (size_t i = 0; i < n_bytes;) {
        size_t control = control_bytes(text + i, n_bytes - i);
        fct_text_add(out, control ? "?" : text + i, 1);
        i += control ? control : 1;
    }
}

void fct_tame_lines_add(struct fct_text *out, const char *text, size_t n_bytes) {
    for (size_t at = 0; at < n_bytes;) {
        size_t plain = at;
        while (plain < n_bytes && text[plain] != '\n' && text[plain] != '\t') plain++;
        fct_tame_add(out, text + at, plain - at);
        if (plain < n_bytes) fct_text_add(out, text + plain, 1);
        at = plain + 1;
    }
}

void fct_tame_copy(char *out, size_t size, const char *text) {
    size_t n_bytes = strlen(text), n = 0;
    for (size_t i = 0; i < n_bytes && n + 1 < size;) {
        size_t control = control_bytes(text + i, n_bytes - i);
        out[n++] = control ? '?' : text[i];
        i += control ? control : 1;
    }
    bool cut = n + 1 >= size;
    while (cut && n > 0 && ((unsigned char)out[n - 1] & 0xC0) == 0x80) n--;
    if (cut && n > 0 && (unsigned char)out[n - 1] >= 0xC0) n--;
    out[n] = '\0';
}
