/* format_choice.h - the options that say what form an answer has to have. */
#ifndef FCT_CLI_FORMAT_CHOICE_H
#define FCT_CLI_FORMAT_CHOICE_H

#include "cli/options.h"

struct fct_format_choice {
    int format;         /* 0 text, 1 JSON */
    const char *schema; /* a file, or NULL */
};

extern const struct fct_option fct_format_choice_options[];
#define FCT_FORMAT_GROUP(command_options, field)                                                   \
    { "Format options", fct_format_choice_options, offsetof(command_options, field) }

/* *constraint is the caller's; NULL: none was asked for. */
fct_status fct_format_choice_constraint(const struct fct_format_choice *choice,
                                        const fct_model *model, fct_constraint **constraint,
                                        fct_error *err);

/* Fails, saying why it ended, if there is a constraint and the answer is not whole. */
fct_status fct_format_check(const fct_constraint *constraint, const fct_generation *generation,
                            fct_error *err);

#endif
