/* error.h - failing in one line. */
#ifndef FCT_BASE_ERROR_H
#define FCT_BASE_ERROR_H

#include "facet.h"

/* Fills *err (may be NULL) and returns code, so that failing is one line. The message names the
 * thing and the fault; bytes that are not valid UTF-8 or are control characters become '?'. */
fct_status fct_fail(fct_error *err, fct_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As fct_fail with FCT_ERR_IO, and the text of errno behind ": ". */
fct_status fct_fail_errno(fct_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same for functions that return a pointer. */
#define fct_fail_null(...) (fct_fail(__VA_ARGS__), (void *)0)

#endif
