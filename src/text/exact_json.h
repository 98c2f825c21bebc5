/* exact_json.h - JSON in and out with integers of any length, which jansson alone refuses beyond 64
 * bits. */
#ifndef FCT_TEXT_EXACT_JSON_H
#define FCT_TEXT_EXACT_JSON_H

#include <jansson.h>

#include "facet.h"

#define FCT_JSON_DEPTH 200 /* arrays and objects inside each other; deeper ones are refused */

/* Reads an object or array; NUL characters in strings are kept. An integer beyond 64 bits becomes a
 * string that starts with a NUL and "integer:", which the chat format and fct_json_write write as
 * the number. what names the text in the message. */
json_t *fct_json_read(const char *text, size_t n_bytes, const char *what, fct_error *err);

/* The text of a value (an object or array), with jansson's flags, reals with the fewest digits; the
 * caller's, freed with fct_free. n_bytes may be NULL. */
char *fct_json_write(const json_t *value, size_t flags, size_t *n_bytes, fct_error *err);

/* The digits (and sign) if value stands for an integer beyond 64 bits, else NULL. */
const char *fct_json_long_integer(const json_t *value);

/* Python's idea of true: NULL, null, false, zero and what is empty are not. */
bool fct_json_truthy(const json_t *value);

/* Are arrays and objects nested deeper than limit? Looks no deeper than that. */
bool fct_json_deeper(const json_t *value, int limit);

#endif
