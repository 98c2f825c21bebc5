/* python_space.c - white space as Python's str.strip() sees it. */
#include "text/python_space.h"

#include "base/utf8.h"

static bool is_space(uint32_t c) {
    return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
           c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

size_t fct_leading_space(const char *text, size_t n_bytes) {
    size_t at = 0;
    while (at < n_bytes) {
        int length;
        bool valid;
        if (!is_space(fct_utf8_read(text + at, n_bytes - at, &length, &valid))) break;
        at += (size_t)length;
    }
    return at;
}

size_t fct_trailing_space(const char *text, size_t n_bytes) {
    size_t end = n_bytes;
    while (end > 0) {
        size_t start = end - 1;
        while (start > 0 && ((unsigned char)text[start] & 0xC0) == 0x80) start--;
        int length;
        bool valid;
        if (!is_space(fct_utf8_read(text + start, end - start, &length, &valid))) break;
        end = start;
    }
    return n_bytes - end;
}

struct fct_text_span fct_python_strip(const char *text, size_t n_bytes) {
    size_t head = fct_leading_space(text, n_bytes);
    n_bytes -= head;
    return (struct fct_text_span){text + head, n_bytes - fct_trailing_space(text + head, n_bytes)};
}
