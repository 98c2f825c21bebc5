/* sampling_choice.h - the options that say how the next token is drawn. */
#ifndef FCT_CLI_SAMPLING_CHOICE_H
#define FCT_CLI_SAMPLING_CHOICE_H

#include "cli/options.h"

/* A negative top_k and NAN elsewhere stand for what the model's file says. */
struct fct_sampling_choice {
    float temperature, top_p, min_p, repeat_penalty, presence_penalty, frequency_penalty;
    int top_k;
    uint64_t seed;
    struct fct_bias_list biases;
};

extern const struct fct_option fct_sampling_choice_options[];
#define FCT_SAMPLING_GROUP(command_options, field)                                                 \
    {                                                                                              \
        "Sampling options (by default the model's own)", fct_sampling_choice_options,              \
            offsetof(command_options, field)                                                       \
    }

void fct_sampling_choice_defaults(struct fct_sampling_choice *choice);

/* Puts what was given into *sampling, which holds the model's defaults. The biases live as long as
 * choice. */
fct_status fct_sampling_choice_apply(const struct fct_sampling_choice *choice,
                                     const fct_model *model, fct_sampling *sampling,
                                     fct_error *err);

#endif
