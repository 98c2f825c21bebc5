/* prompt_input.h - prompts from a pipe or a file, one a line. */
#ifndef FCT_CLI_PROMPT_INPUT_H
#define FCT_CLI_PROMPT_INPUT_H

#include "base/buffer.h"
#include "cli/line_edit.h"

/* Prompts of standard input end with `end`: a newline or a NUL. */
struct fct_prompt_input {
    char end;
    struct fct_text waiting; /* read, but not handed out */
    size_t used;             /* of it, was */
    bool at_end, begun;
};
void fct_prompt_input_free(struct fct_prompt_input *input);

/* The next prompt, as fct_line_edit_read gives it; the last one needs no end. A byte order mark in
 * front of the first, and a CR before a newline, are dropped. Ctrl+C counts while it waits. */
enum fct_line fct_prompt_input_read(struct fct_prompt_input *input, char **text, fct_error *err);

#endif
