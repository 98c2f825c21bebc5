/* conversion.h - converting a checkpoint, with its options, its bar and its notes: what convert and
 * pull share. */
#ifndef FCT_CLI_CONVERSION_H
#define FCT_CLI_CONVERSION_H

#include "cli/options.h"

struct fct_conversion {
    const char *expected, *statistics;
    int weights, tables, rounding; /* -1: not given */
    int threads;
};

extern const struct fct_option fct_conversion_options[];
#define FCT_CONVERSION_GROUP(command_options, field)                                               \
    { "Conversion options", fct_conversion_options, offsetof(command_options, field) }

void fct_conversion_defaults(struct fct_conversion *conversion);

/* --weights as it was given, or NULL. */
const char *fct_conversion_weights(const struct fct_conversion *conversion);

/* Converts source into the file out and says on stderr, unless quiet, what came of it. An interrupt
 * ends the program and leaves no half file. */
fct_status fct_conversion_run(const struct fct_conversion *conversion, const char *source,
                              const char *out, bool quiet, fct_error *err);

#endif
