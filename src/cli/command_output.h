/* command_output.h - what a program of the system prints, if it answers in time. */
#ifndef FCT_CLI_COMMAND_OUTPUT_H
#define FCT_CLI_COMMAND_OUTPUT_H

#include "facet.h"

/* Runs argv (NULL-terminated, argv[0] looked up in $PATH) without standard input and stderr, and
 * gives what it prints: NUL-terminated, at most FCT_COMMAND_OUTPUT bytes, the rest cut off; the
 * caller's, to be freed with fct_free. NULL if it cannot be started, is not done after `seconds`
 * (it is killed, and what it started), or ends with another code than 0. */
enum { FCT_COMMAND_OUTPUT = 1 << 16 };
char *fct_command_output(const char *const *argv, double seconds, fct_error *err);

#endif
