/* utf8.c - reading UTF-8 that may be wrong. */
#include "base/utf8.h"

#include "base/buffer.h"
#include "base/memory.h"

/* What may follow a lead byte (Unicode 3.9, table 3-7): how many bytes, and the range of the first
 * of them. */
struct lead {
    int n_more;
    uint8_t low, high;
};
static struct lead lead_of(uint8_t byte) {
    if (byte < 0x80) return (struct lead){0, 0, 0};
    if (byte >= 0xC2 && byte <= 0xDF) return (struct lead){1, 0x80, 0xBF};
    if (byte == 0xE0) return (struct lead){2, 0xA0, 0xBF}; /* else it would fit in two bytes */
    if (byte == 0xED) return (struct lead){2, 0x80, 0x9F}; /* else it would be a surrogate */
    if (byte >= 0xE1 && byte <= 0xEF) return (struct lead){2, 0x80, 0xBF};
    if (byte == 0xF0) return (struct lead){3, 0x90, 0xBF}; /* else it would fit in three bytes */
    if (byte >= 0xF1 && byte <= 0xF3) return (struct lead){3, 0x80, 0xBF};
    if (byte == 0xF4) return (struct lead){3, 0x80, 0x8F}; /* up to U+10FFFF */
    return (struct lead){-1, 0, 0};
}

uint32_t fct_utf8_read(const char *text, size_t left, int *n_bytes, bool *valid) {
    const uint8_t *bytes = (const uint8_t *)text;
    struct lead lead = lead_of(bytes[0]);
    *n_bytes = 1;
    *valid = lead.n_more >= 0;
    if (lead.n_more < 0) return FCT_UTF8_REPLACEMENT;
    uint32_t c = lead.n_more == 0 ? bytes[0] : bytes[0] & (0x3Fu >> lead.n_more);
    for (int i = 1; i <= lead.n_more; i++) {
        uint8_t low = i == 1 ? lead.low : 0x80, high = i == 1 ? lead.high : 0xBF;
        if ((size_t)i >= left || bytes[i] < low || bytes[i] > high) {
            *valid = false;
            return FCT_UTF8_REPLACEMENT;
        }
        c = c << 6 | (bytes[i] & 0x3F);
        *n_bytes = i + 1;
    }
    return c;
}

int fct_utf8_write(uint32_t c, char out[4]) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    int n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (int i = n - 1; i > 0; i--, c >>= 6) out[i] = (char)(0x80 | (c & 0x3F));
    out[0] = (char)((0xF00 >> n & 0xFF) | c);
    return n;
}

bool fct_utf8_valid(const char *text, size_t n_bytes) {
    bool valid = true;
    int length;
    for (size_t i = 0; i < n_bytes && valid; i += (size_t)length)
        fct_utf8_read(text + i, n_bytes - i, &length, &valid);
    return valid;
}

char *fct_utf8_repair(const char *text, size_t n_bytes, size_t *n_out, int *n_replaced,
                      fct_error *err) {
    struct fct_text out = {0};
    int replaced = 0;
    size_t begin = 0; /* of the good stretch not copied yet */
    for (size_t i = 0; i < n_bytes;) {
        int length;
        bool valid;
        fct_utf8_read(text + i, n_bytes - i, &length, &valid);
        if (!valid) {
            fct_text_add(&out, text + begin, i - begin);
            fct_text_puts(&out, "\xEF\xBF\xBD");
            begin = i + (size_t)length;
            if (replaced < INT32_MAX) replaced++;
        }
        i += (size_t)length;
    }
    fct_text_add(&out, text + begin, n_bytes - begin);
    if (n_replaced) *n_replaced = replaced;
    return fct_text_finish(&out, n_out, err);
}
