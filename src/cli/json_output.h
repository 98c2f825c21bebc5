/* json_output.h - one JSON value on standard output. */
#ifndef FCT_CLI_JSON_OUTPUT_H
#define FCT_CLI_JSON_OUTPUT_H

#include <jansson.h>

#include "cli/options.h"

/* Prints value and a newline, and drops the reference. NULL (no memory while it was made) is told
 * on stderr; returns the exit code. */
int fct_json_print(const char *command, json_t *value);

json_t *fct_json_ids(const int *ids, int n_ids);

/* value, or null where a measurement is not a finite number, which JSON cannot hold. */
json_t *fct_json_number(double value);

#endif
