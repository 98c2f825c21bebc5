/* run_rates.h - what the times of a run say: reading, answering and waiting, each apart. */
#ifndef FCT_CLI_RUN_RATES_H
#define FCT_CLI_RUN_RATES_H

#include "cli/energy.h"

/* One prompt and its answer, in seconds from the call on. Loading is no part of it. The first token
 * of an answer comes from the prompt, so an answer of n tokens takes n - 1 steps. */
struct fct_run_times {
    double began;                    /* as fct_seconds tells it */
    double prompt_seconds;           /* reading the prompt, up to the first token's logits */
    double first_token_seconds;      /* up to that token being chosen */
    double decode_seconds;           /* the steps alone: nothing of choosing and telling tokens */
    double whole_seconds;            /* up to the end of the answer */
    int n_prompt, n_steps, n_tokens; /* read, of the answer's steps, and of the answer */
    double bandwidth; /* bytes a second that plain reads reached around the run; 0: not measured */
};
/* Of an answer; began is the caller's to add. */
struct fct_run_times fct_run_times_of(const fct_generation *generation);

/* Tokens a second; NAN if there were none. */
double fct_rate(long n, double seconds);
double fct_prompt_rate(const struct fct_run_times *times);
double fct_answer_rate(const struct fct_run_times *times);
double fct_whole_rate(const struct fct_run_times *times); /* of the answer, the prompt's time too */
const char *fct_rate_text(double rate, char text[32]);    /* "41.3 tok/s" */

/* Of several runs (at least 1, at most FCT_MOST_RUNS); NAN if one of them has no value. */
enum { FCT_MOST_RUNS = 1000 };
struct fct_spread {
    double least, median, most;
};
struct fct_spread fct_spread_of(const struct fct_run_times *runs, int n_runs,
                                double (*value)(const struct fct_run_times *run));

/* Joules for a step of the answers, or (fct_prompt_joules) for a token of the prompts, over all
 * runs. NAN if the samples do not cover them, or a run's part took less than `least` seconds: a
 * meter that looks once a second knows nothing about less than some seconds. */
double fct_answer_joules(const struct fct_energy_samples *samples, const struct fct_run_times *runs,
                         int n_runs, double least);
double fct_prompt_joules(const struct fct_energy_samples *samples, const struct fct_run_times *runs,
                         int n_runs, double least);

#endif
