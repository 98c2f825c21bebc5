/* text_input.c - text that a command is given: joined, read, tidied, repaired. */
#include "cli/text_input.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/utf8.h"

#define INPUT_LIMIT ((size_t)1 << 30)

static fct_status read_standard_input(const char *command, struct fct_text *text, fct_error *err) {
    char piece[65536];
    if (isatty(STDIN_FILENO))
        fprintf(stderr, "facet %s: reading from the terminal; Ctrl+D ends the text\n", command);
    for (;;) {
        ssize_t n = read(STDIN_FILENO, piece, sizeof piece);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fct_fail_errno(err, "standard input");
        if (n == 0) return FCT_OK;
        if (text->size + (size_t)n > INPUT_LIMIT)
            return fct_fail(err, FCT_ERR_ARGUMENT, "standard input: longer than 1 GiB");
        fct_text_add(text, piece, (size_t)n);
        if (text->failed) return fct_fail(err, FCT_ERR_MEMORY, "standard input: no memory for it");
    }
}

fct_status fct_input_read(const char *command, struct fct_arguments arguments, char **text,
                          size_t *n_bytes, fct_error *err) {
    struct fct_text joined = {0};
    fct_status status = FCT_OK;
    for (int i = 0; i < arguments.n_values; i++) {
        if (i > 0) fct_text_puts(&joined, " ");
        fct_text_puts(&joined, arguments.values[i]);
    }
    if (arguments.n_values == 0) status = read_standard_input(command, &joined, err);
    if (!status) {
        fct_text_add(&joined, "", 0);
        *text = fct_text_finish(&joined, n_bytes, err);
        if (!*text) status = FCT_ERR_MEMORY;
    }
    fct_text_free(&joined);
    return status;
}

void fct_input_tidy(char *text, size_t *n_bytes) {
    size_t from = 0, to = 0;
    if (*n_bytes >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) from = 3;
    for (; from < *n_bytes; from++) {
        bool before_newline = from + 1 < *n_bytes && text[from + 1] == '\n';
        if (text[from] != '\r' || !before_newline) text[to++] = text[from];
    }
    text[to] = '\0';
    *n_bytes = to;
}

fct_status fct_input_repair(const char *command, const char *what, char **text, size_t *n_bytes,
                            fct_error *err) {
    int n_replaced;
    char *repaired = fct_utf8_repair(*text, *n_bytes, n_bytes, &n_replaced, err);
    if (!repaired) return FCT_ERR_MEMORY;
    fct_free(*text);
    *text = repaired;
    if (n_replaced)
        fprintf(stderr, "facet %s: %s is not valid UTF-8: %d bad part%s became U+FFFD\n", command,
                what, n_replaced, n_replaced == 1 ? "" : "s");
    return FCT_OK;
}
