/* python_repr.c - JSON values as Python prints them. */
#include "text/python_repr.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "text/exact_json.h"

enum { MOST_DIGITS = 17 };

/* 0.d1d2d3... times 10^point; digits has no zero at its end. */
struct decimal {
    char digits[MOST_DIGITS + 2];
    int point;
};

/* The decimal with n digits that is nearest to value. */
static struct decimal nearest(double value, int n) {
    char text[40];
    snprintf(text, sizeof text, "%.*e", n - 1, value);
    struct decimal d = {.point = 1 + atoi(strchr(text, 'e') + 1)};
    int length = 0;
    for (const char *c = text; *c != 'e';
         c++) /* the point may be the locale's: only digits count */
        if (*c >= '0' && *c <= '9') d.digits[length++] = *c;
    return d;
}

/* The next larger decimal with as many digits. */
static struct decimal next(struct decimal d) {
    int i = (int)strlen(d.digits) - 1;
    while (i >= 0 && d.digits[i] == '9') d.digits[i--] = '0';
    if (i >= 0) {
        d.digits[i]++;
    } else {
        d.digits[0] = '1'; /* 999 became 000; it is 100 with the point one further */
        d.point++;
    }
    return d;
}

static bool reads_back(const struct decimal *d, double value) {
    char text[40];
    snprintf(text, sizeof text, "%se%d", d->digits, d->point - (int)strlen(d->digits));
    return strtod(text, NULL) == value;
}

/* The shortest decimal that reads back as value. The doubles below a power of two stand closer than
 * those above, so that the nearest decimal of a length can fail where the next larger one does not.
 */
static struct decimal shortest(double value) {
    for (int n = 1; n < MOST_DIGITS; n++) {
        struct decimal d = nearest(value, n), above = next(d);
        if (reads_back(&d, value)) return d;
        if (reads_back(&above, value)) return above;
    }
    return nearest(value, MOST_DIGITS);
}

void fct_python_float(struct fct_text *out, double value) {
    if (signbit(value)) fct_text_puts(out, "-");
    value = fabs(value);
    if (value == 0) {
        fct_text_puts(out, "0.0");
        return;
    }
    struct decimal d = shortest(value);
    int length = (int)strlen(d.digits);
    while (length > 1 && d.digits[length - 1] == '0') d.digits[--length] = 0;
    if (d.point <= -4 || d.point > 16)
        fct_text_printf(out, "%c%s%se%+03d", d.digits[0], length > 1 ? "." : "", d.digits + 1,
                        d.point - 1);
    else if (d.point <= 0)
        fct_text_printf(out, "0.%.*s%s", -d.point, "0000", d.digits);
    else if (d.point < length)
        fct_text_printf(out, "%.*s.%s", d.point, d.digits, d.digits + d.point);
    else
        fct_text_printf(out, "%s%.*s.0", d.digits, d.point - length, "0000000000000000");
}

static void write_character(struct fct_text *out, uint32_t c, char quote) {
    char bytes[4];
    if (c == '\n' || c == '\r' || c == '\t')
        fct_text_puts(out, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
    else if (c == '\\' || c == (uint32_t)quote)
        fct_text_printf(out, "\\%c", (char)c);
    else if (c < 0x20 || (c >= 0x7F && c <= 0xA0) || c == 0xAD)
        fct_text_printf(out, "\\x%02x", c);
    else
        fct_text_add(out, bytes, (size_t)fct_utf8_write(c, bytes));
}

/* A quoted string. Beyond Latin-1 every character is taken for printable. */
static void write_string(struct fct_text *out, const char *text, size_t n_bytes) {
    bool single = memchr(text, '\'', n_bytes), twice = memchr(text, '"', n_bytes);
    char quote = single && !twice ? '"' : '\'';
    fct_text_add(out, &quote, 1);
    for (size_t at = 0; at < n_bytes;) {
        int length;
        bool valid;
        write_character(out, fct_utf8_read(text + at, n_bytes - at, &length, &valid), quote);
        at += (size_t)length;
    }
    fct_text_add(out, &quote, 1);
}

static void write_repr(struct fct_text *out, const json_t *value);

static void write_list(struct fct_text *out, const json_t *list) {
    fct_text_puts(out, "[");
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (i > 0) fct_text_puts(out, ", ");
        write_repr(out, json_array_get(list, i));
    }
    fct_text_puts(out, "]");
}

static void write_dictionary(struct fct_text *out, const json_t *object) {
    json_t *members = (json_t *)object; /* jansson iterates only over what it may change */
    void *first = json_object_iter(members);
    fct_text_puts(out, "{");
    for (void *at = first; at; at = json_object_iter_next(members, at)) {
        const char *key = json_object_iter_key(at);
        if (at != first) fct_text_puts(out, ", ");
        write_string(out, key, strlen(key));
        fct_text_puts(out, ": ");
        write_repr(out, json_object_iter_value(at));
    }
    fct_text_puts(out, "}");
}

static void write_repr(struct fct_text *out, const json_t *value) {
    const char *digits = fct_json_long_integer(value);
    if (digits)
        fct_text_puts(out, digits);
    else if (json_is_string(value))
        write_string(out, json_string_value(value), json_string_length(value));
    else if (json_is_integer(value))
        fct_text_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        fct_python_float(out, json_real_value(value));
    else if (json_is_boolean(value))
        fct_text_puts(out, json_is_true(value) ? "True" : "False");
    else if (json_is_array(value))
        write_list(out, value);
    else if (json_is_object(value))
        write_dictionary(out, value);
    else
        fct_text_puts(out, "None");
}

void fct_python_str(struct fct_text *out, const json_t *value) {
    if (json_is_string(value) && !fct_json_long_integer(value))
        fct_text_add(out, json_string_value(value), json_string_length(value));
    else
        write_repr(out, value);
}
