/* sampling_choice.c - sampling options, laid over what the model's file says. */
#include "cli/sampling_choice.h"

#include <math.h>

#include "cli/model_choice.h"

#define AT(field) offsetof(struct fct_sampling_choice, field)
const struct fct_option fct_sampling_choice_options[] = {
    {"temperature", 0, FCT_OPTION_NUMBER, AT(temperature), "T",
     "0 always takes the likeliest token", NULL, 0, 100, NULL},
    {"top-k", 0, FCT_OPTION_INTEGER, AT(top_k), "K", "draw from the K likeliest tokens; 0: off",
     NULL, 0, INT32_MAX, NULL},
    {"top-p", 0, FCT_OPTION_NUMBER, AT(top_p), "P",
     "draw from the likeliest tokens that together reach probability P; 1: off", NULL, 0, 1, NULL},
    {"min-p", 0, FCT_OPTION_NUMBER, AT(min_p), "P",
     "drop tokens less likely than P times the likeliest; 0: off", NULL, 0, 1, NULL},
    {"repeat-penalty", 0, FCT_OPTION_NUMBER, AT(repeat_penalty), "X",
     "make ids seen before less likely; 1: off", NULL, 0.01, 100, NULL},
    {"presence-penalty", 0, FCT_OPTION_NUMBER, AT(presence_penalty), "X",
     "subtract X from the logit of each id that the answer holds; 0: off", NULL, -100, 100, NULL},
    {"frequency-penalty", 0, FCT_OPTION_NUMBER, AT(frequency_penalty), "X",
     "subtract X for each time that the answer holds an id; 0: off", NULL, -100, 100, NULL},
    {"logit-bias", 0, FCT_OPTION_BIASES, AT(biases), "ID=B",
     "add B to the logit of ID; may be given several times", NULL, 0, 0, NULL},
    {"seed", 0, FCT_OPTION_SEED, AT(seed), "S",
     "where the random numbers begin; 0: another one each time", "0", 0, 0, NULL},
    {0},
};
void fct_sampling_choice_defaults(struct fct_sampling_choice *choice) {
    *choice = (struct fct_sampling_choice){NAN, NAN, NAN, NAN, NAN, NAN, -1, 0, {0}};
}

static void lay_over(float *value, float given) {
    if (!isnan(given)) *value = given;
}

fct_status fct_sampling_choice_apply(const struct fct_sampling_choice *choice,
                                     const fct_model *model, fct_sampling *sampling,
                                     fct_error *err) {
    const struct fct_bias_list *biases = &choice->biases;
    lay_over(&sampling->temperature, choice->temperature);
    lay_over(&sampling->top_p, choice->top_p);
    lay_over(&sampling->min_p, choice->min_p);
    lay_over(&sampling->repeat_penalty, choice->repeat_penalty);
    lay_over(&sampling->presence_penalty, choice->presence_penalty);
    lay_over(&sampling->frequency_penalty, choice->frequency_penalty);
    if (choice->top_k >= 0) sampling->top_k = choice->top_k;
    sampling->seed = choice->seed;
    sampling->bias_ids = biases->ids;
    sampling->bias_values = biases->values;
    sampling->n_biases = (int)biases->n_biases;
    return fct_ids_check(model, "--logit-bias", biases->ids, biases->n_biases, err);
}
