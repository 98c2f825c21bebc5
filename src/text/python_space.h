/* python_space.h - white space as Python's str.strip() sees it. */
#ifndef FCT_TEXT_PYTHON_SPACE_H
#define FCT_TEXT_PYTHON_SPACE_H

#include "facet.h"

/* A stretch of someone else's UTF-8. */
struct fct_text_span {
    const char *text;
    size_t n_bytes;
};

/* How many bytes of white space text begins with, or ends in. The text is valid UTF-8. */
size_t fct_leading_space(const char *text, size_t n_bytes);
size_t fct_trailing_space(const char *text, size_t n_bytes);

/* The text without the white space at both ends. */
struct fct_text_span fct_python_strip(const char *text, size_t n_bytes);

#endif
