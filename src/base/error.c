/* error.c - failing in one line. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* Copies text into out[size], one line of valid UTF-8: what is not, and control characters, become
 * '?'. */
static void copy_clean(char *out, size_t size, const char *text, size_t n_bytes) {
    size_t n = 0;
    for (size_t i = 0; i < n_bytes;) {
        int length;
        bool valid;
        uint32_t c = fct_utf8_read(text + i, n_bytes - i, &length, &valid);
        bool control = c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029;
        char one[4];
        int n_one = valid && !control ? fct_utf8_write(c, one) : fct_utf8_write('?', one);
        if (n + (size_t)n_one >= size) break;
        memcpy(out + n, one, (size_t)n_one);
        n += (size_t)n_one;
        i += (size_t)length;
    }
    out[n] = 0;
}

/* The arguments may point into *err itself (a message that wraps another), so it is filled last. */
static void fill(fct_error *err, fct_status code, const char *behind, const char *format,
                 va_list arguments) {
    char text[2 * sizeof err->message]; /* longer than what is kept: cut at a whole character */
    int n = vsnprintf(text, sizeof text, format, arguments);
    if (n < 0) n = snprintf(text, sizeof text, "%s", format);
    size_t n_bytes = (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    if (behind) {
        size_t room = sizeof text - n_bytes;
        int more = snprintf(text + n_bytes, room, ": %s", behind);
        n_bytes += (size_t)more < room ? (size_t)more : room - 1;
    }
    err->code = code;
    copy_clean(err->message, sizeof err->message, text, n_bytes);
}

fct_status fct_fail(fct_error *err, fct_status code, const char *format, ...) {
    if (!err) return code;
    va_list arguments;
    va_start(arguments, format);
    fill(err, code, NULL, format, arguments);
    va_end(arguments);
    return code;
}

fct_status fct_fail_errno(fct_error *err, const char *format, ...) {
    int number = errno;
    if (!err) return FCT_ERR_IO;
    char buffer[128];
    va_list arguments;
    va_start(arguments, format);
    fill(err, FCT_ERR_IO, strerror_r(number, buffer, sizeof buffer), format, arguments);
    va_end(arguments);
    errno = number;
    return FCT_ERR_IO;
}
