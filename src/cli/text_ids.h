/* text_ids.h - the text that a command measures with: a file, or ids. */
#ifndef FCT_CLI_TEXT_IDS_H
#define FCT_CLI_TEXT_IDS_H

#include "cli/options.h"

struct fct_text_choice {
    const char *path;       /* --text */
    struct fct_id_list ids; /* --ids */
};

extern const struct fct_option fct_text_choice_options[];
#define FCT_TEXT_GROUP(command_options, field)                                                     \
    { "Text options", fct_text_choice_options, offsetof(command_options, field) }

/* Both, or (if one is needed) neither: tells so and returns the exit code for bad usage; else 0. */
int fct_text_choice_check(const struct fct_text_choice *choice, const char *command, bool needed);

/* The text's ids, without BOS, into *ids, the caller's, to be freed with fct_free; NULL if nothing
 * was chosen. What is not UTF-8 is repaired, with a warning. */
fct_status fct_text_choice_read(const struct fct_text_choice *choice, const char *command,
                                const fct_model *model, int **ids, int *n_ids, fct_error *err);

#endif
