/* run_rates.h - what the times of a run say: reading, answering and waiting, each apart. */
#ifndef FCT_CLI_RUN_RATES_H
#define FCT_CLI_RUN_RATES_H

#include "cli/energy.h"

/* One prompt and its answer. Loading is no part of it. The first token of an answer comes from the
 * prompt, so an answer of n tokens takes n - 1 steps. */
struct fct_run_times {
    double began;               /* as fct_seconds tells it */
    double prompt_seconds;      /* reading the prompt, up to the first token's logits */
    double first_token_seconds; /* up to that token being told */
    double decode_seconds;      /* from the end of reading to the end */
    int n_prompt, n_steps;
};

/* Tokens a second; NAN if there were none. */
double fct_prompt_rate(const struct fct_run_times *times);
double fct_answer_rate(const struct fct_run_times *times);
double fct_whole_rate(const struct fct_run_times *times); /* of the answer, the prompt's time too */

/* Joules for a step of the answers, or (fct_prompt_joules) for a token of the prompts, over all
 * runs. NAN if the samples do not cover them, or a run's part took less than `least` seconds: a
 * meter that looks once a second knows nothing about less than some seconds. */
double fct_answer_joules(const struct fct_energy_samples *samples, const struct fct_run_times *runs,
                         int n_runs, double least);
double fct_prompt_joules(const struct fct_energy_samples *samples, const struct fct_run_times *runs,
                         int n_runs, double least);

void fct_sort_numbers(double *values, int n);
double fct_median_of_sorted(const double *values, int n); /* n >= 1 */

#endif
