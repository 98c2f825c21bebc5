/* folded.c - text folded at spaces. */
#include "cli/folded.h"

#include <string.h>

/* Columns of UTF-8 text, one a character: what is folded here has no wide ones of its own. */
static int columns_of(const char *text, size_t n_bytes) {
    int columns = 0;
    for (size_t i = 0; i < n_bytes; i++) columns += ((unsigned char)text[i] & 0xC0) != 0x80;
    return columns;
}

void fct_folded_print(FILE *out, const char *text, int indent, int column, int width) {
    const char *at = text;
    while (*at) {
        size_t word = strcspn(at, " \n");
        int columns = columns_of(at, word);
        if (column > indent && column + 1 + columns > width) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", (int)word, at);
        column += columns;
        at += word;
        if (*at == '\n') {
            fprintf(out, "\n%*s", at[1] && at[1] != '\n' ? indent : 0, "");
            column = indent;
        }
        if (*at) at++;
    }
    fputc('\n', out);
}
