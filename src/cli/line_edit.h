/* line_edit.h - a prompt on the terminal: editing, history, pasting, several lines. */
#ifndef FCT_CLI_LINE_EDIT_H
#define FCT_CLI_LINE_EDIT_H

#include "facet.h"

enum fct_line {
    FCT_LINE_READ,
    FCT_LINE_END,         /* of the input: Ctrl+D */
    FCT_LINE_INTERRUPTED, /* Ctrl+C */
    FCT_LINE_FAILED
};

/* On standard input and standard error, which must be terminals. history_path: of the file that
 * keeps it, NULL for none. words: NULL-terminated, what Tab completes where a line begins with '/'.
 * Both are the caller's and outlive the editor. */
typedef struct fct_line_edit fct_line_edit;
fct_line_edit *fct_line_edit_new(const char *history_path, const char *const *words,
                                 fct_error *err);
void fct_line_edit_free(fct_line_edit *edit);

/* Reads a line, or several: what is pasted keeps its line ends, Alt+Enter makes one. begin: what
 * already stands there, or NULL. *text is the caller's (fct_free), valid UTF-8. *was_empty: nothing
 * stood there when Ctrl+C came. */
enum fct_line fct_line_edit_read(fct_line_edit *edit, const char *prompt, const char *begin,
                                 char **text, bool *was_empty, fct_error *err);

/* Puts text into the history and its file. */
void fct_line_edit_remember(fct_line_edit *edit, const char *text);

#endif
