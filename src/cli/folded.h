/* folded.h - text folded at spaces. */
#ifndef FCT_CLI_FOLDED_H
#define FCT_CLI_FOLDED_H

#include <stdio.h>

/* Prints text and a newline, at most `width` columns wide, with `indent` columns before every line
 * but the first; the cursor stands at `column`. Newlines in text are kept. */
void fct_folded_print(FILE *out, const char *text, int indent, int column, int width);

#endif
