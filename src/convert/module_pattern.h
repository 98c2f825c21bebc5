/* module_pattern.h - regular expressions over the names of modules, as Python means them. */
#ifndef FCT_CONVERT_MODULE_PATTERN_H
#define FCT_CONVERT_MODULE_PATTERN_H

#include <regex.h>

#include "facet.h"

/* Compiles what Python and POSIX extended expressions share: literals, . ^ $ | * + ? [...] (...),
 * also (?:...), escaped signs, \d \D \w \W \s \S \b \B, and {m,n} up to 99 behind anything but a
 * group. All else (lazy repetition, look-around, back references, escapes in brackets) is
 * FCT_ERR_UNSUPPORTED by name. On success the caller frees with regfree. */
fct_status fct_pattern_compile(regex_t *pattern, const char *text, fct_error *err);
/* Is it anywhere in name? */
bool fct_pattern_matches(const regex_t *pattern, const char *name);

#endif
