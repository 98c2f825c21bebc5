/* tame.h - text from files that must not steer the terminal. */
#ifndef FCT_CLI_TAME_H
#define FCT_CLI_TAME_H

#include "base/buffer.h"

/* Adds text with '?' for each control character (C0, DEL, C1). */
void fct_tame_add(struct fct_text *out, const char *text, size_t n_bytes);

/* The same, but lines and tabs stay. */
void fct_tame_lines_add(struct fct_text *out, const char *text, size_t n_bytes);

/* The first into out[0 .. size), cut to fit between characters. */
void fct_tame_copy(char *out, size_t size, const char *text);

#endif
