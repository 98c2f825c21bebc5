/* text_input.h - text that a command is given: arguments, or standard input. */
#ifndef FCT_CLI_TEXT_INPUT_H
#define FCT_CLI_TEXT_INPUT_H

#include "cli/options.h"

/* The arguments joined by spaces, or all of standard input if there are none; *text is the
 * caller's, NUL-terminated. */
fct_status fct_input_read(const char *command, struct fct_arguments arguments, char **text,
                          size_t *n_bytes, fct_error *err);

/* What a person means by a text file: no byte order mark in front, LF for CR LF. In place. */
void fct_input_tidy(char *text, size_t *n_bytes);

/* Puts U+FFFD for each bad part of *text (replaced, the old one freed), with a warning on stderr.
 */
fct_status fct_input_repair(const char *command, const char *what, char **text, size_t *n_bytes,
                            fct_error *err);

#endif
