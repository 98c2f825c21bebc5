/* exact_json.c - JSON in and out with integers of any length, which jansson alone refuses beyond 64
 * bits. */
#include "text/exact_json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "text/python_repr.h"

#define MARK "\0integer:"
#define MARK_ESCAPED "\\u0000integer:"
enum { MARK_BYTES = sizeof MARK - 1 };

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* How many bytes of an integer (a sign, digits, no zero in front, nothing of a real behind) text
 * begins with, or 0. */
static size_t integer_length(const char *text, size_t n_bytes) {
    size_t at = n_bytes > 0 && text[0] == '-', first = at;
    while (at < n_bytes && is_digit(text[at])) at++;
    if (at == first || (text[first] == '0' && at > first + 1)) return 0;
    if (at < n_bytes && (text[at] == '.' || text[at] == 'e' || text[at] == 'E')) return 0;
    return at;
}

static bool fits_64_bits(const char *integer, size_t n_bytes) {
    char digits[24] = "";
    if (n_bytes >= sizeof digits) return false;
    memcpy(digits, integer, n_bytes);
    errno = 0;
    strtoll(digits, NULL, 10);
    return errno == 0;
}

/* The length of the string that begins with the quote at text, both quotes included. */
static size_t string_length(const char *text, size_t n_bytes) {
    size_t at = 1;
    while (at < n_bytes && text[at] != '"') at += text[at] == '\\' && at + 1 < n_bytes ? 2 : 1;
    return at < n_bytes ? at + 1 : n_bytes;
}

/* The length of what stands at text and has to stay together: a string, or a run that may be a
 * number; else one byte. */
static size_t token_length(const char *text, size_t n_bytes) {
    if (*text == '"') return string_length(text, n_bytes);
    size_t at = 0;
    while (at < n_bytes && (is_digit(text[at]) || memchr("+-.eE", text[at], 5))) at++;
    return at ? at : 1;
}

static void mark_long_integers(const char *text, size_t n_bytes, struct fct_text *out) {
    for (size_t at = 0, length; at < n_bytes; at += length) {
        length = token_length(text + at, n_bytes - at);
        bool long_integer = text[at] != '"' && integer_length(text + at, length) == length &&
                            !fits_64_bits(text + at, length);
        if (long_integer) fct_text_puts(out, "\"" MARK_ESCAPED);
        fct_text_add(out, text + at, length);
        if (long_integer) fct_text_puts(out, "\"");
    }
}

json_t *fct_json_read(const char *text, size_t n_bytes, const char *what, fct_error *err) {
    struct fct_text marked = {0};
    mark_long_integers(text, n_bytes, &marked);
    char *source = fct_text_finish(&marked, &n_bytes, err);
    if (!source) return NULL;
    json_error_t fault;
    json_t *value = json_loadb(source, n_bytes, JSON_ALLOW_NUL, &fault);
    fct_free(source);
    if (!value)
        return fct_fail_null(err, FCT_ERR_ARGUMENT, "%s: not valid JSON: line %d, column %d: %s",
                             what, fault.line, fault.column, fault.text);
    if (fct_json_deeper(value, FCT_JSON_DEPTH)) {
        json_decref(value);
        return fct_fail_null(err, FCT_ERR_ARGUMENT, "%s: nested deeper than %d levels", what,
                             FCT_JSON_DEPTH);
    }
    return value;
}

static bool is_real(const char *token, size_t n_bytes) {
    return (*token == '-' || is_digit(*token)) && integer_length(token, n_bytes) != n_bytes;
}

/* A real with its fewest digits; jansson writes 0.1 as 0.10000000000000001. Its point is moved out
 * of the way first, since strtod wants the locale's. */
static void write_real(const char *token, size_t n_bytes, struct fct_text *out) {
    char digits[64];
    size_t n = 0;
    long exponent = 0;
    bool fraction = false;
    for (size_t i = 0; i < n_bytes && n + 8 < sizeof digits; i++) {
        if (token[i] == 'e' || token[i] == 'E') {
            exponent += strtol(token + i + 1, NULL, 10);
            break;
        }
        if (token[i] == '.')
            fraction = true;
        else
            digits[n++] = token[i], exponent -= fraction;
    }
    snprintf(digits + n, sizeof digits - n, "e%ld", exponent);
    fct_python_float(out, strtod(digits, NULL));
}

/* Writes JSON text anew: marked integers as numbers, reals short. */
static void rewrite_numbers(const char *text, size_t n_bytes, struct fct_text *out) {
    const size_t head = sizeof "\"" MARK_ESCAPED - 1;
    for (size_t at = 0, length; at < n_bytes; at += length) {
        length = token_length(text + at, n_bytes - at);
        const char *token = text + at;
        if (length > head + 1 && memcmp(token, "\"" MARK_ESCAPED, head) == 0 &&
            integer_length(token + head, length - head - 1) == length - head - 1)
            fct_text_add(out, token + head, length - head - 1);
        else if (is_real(token, length))
            write_real(token, length, out);
        else
            fct_text_add(out, token, length);
    }
}

char *fct_json_write(const json_t *value, size_t flags, size_t *n_bytes, fct_error *err) {
    char *text = json_dumps(value, flags);
    if (!text) return fct_fail_null(err, FCT_ERR_MEMORY, "no memory for JSON text");
    struct fct_text out = {0};
    rewrite_numbers(text, strlen(text), &out);
    free(text);
    return fct_text_finish(&out, n_bytes, err);
}

const char *fct_json_long_integer(const json_t *value) {
    if (!json_is_string(value) || json_string_length(value) <= MARK_BYTES) return NULL;
    const char *text = json_string_value(value);
    size_t n_digits = json_string_length(value) - MARK_BYTES;
    if (memcmp(text, MARK, MARK_BYTES) != 0) return NULL;
    return integer_length(text + MARK_BYTES, n_digits) == n_digits ? text + MARK_BYTES : NULL;
}

bool fct_json_truthy(const json_t *value) {
    if (json_is_string(value)) return json_string_length(value) > 0;
    if (json_is_number(value)) return json_number_value(value) != 0;
    return json_is_true(value) || json_array_size(value) > 0 || json_object_size(value) > 0;
}

bool fct_json_deeper(const json_t *value, int limit) {
    if (!json_is_array(value) && !json_is_object(value)) return false;
    if (limit == 0) return true;
    for (size_t i = 0; i < json_array_size(value); i++)
        if (fct_json_deeper(json_array_get(value, i), limit - 1)) return true;
    json_t *members = (json_t *)value; /* jansson iterates only over what it may change */
    for (void *at = json_object_iter(members); at; at = json_object_iter_next(members, at))
        if (fct_json_deeper(json_object_iter_value(at), limit - 1)) return true;
    return false;
}
