/* run_rates.c - tokens a second, joules a token, medians. */
#include "cli/run_rates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct fct_run_times fct_run_times_of(const fct_generation *generation) {
    return (struct fct_run_times){.prompt_seconds = generation->prompt_seconds,
                                  .first_token_seconds = generation->first_token_seconds,
                                  .decode_seconds = generation->decode_seconds,
                                  .whole_seconds = generation->whole_seconds,
                                  .n_prompt = generation->n_prompt - generation->n_reused,
                                  .n_steps = generation->n_decoded,
                                  .n_tokens = generation->n_ids};
}

double fct_rate(long n, double seconds) { return n > 0 && seconds > 0 ? (double)n / seconds : NAN; }

double fct_prompt_rate(const struct fct_run_times *times) {
    return fct_rate(times->n_prompt, times->prompt_seconds);
}

double fct_answer_rate(const struct fct_run_times *times) {
    return fct_rate(times->n_steps, times->decode_seconds);
}

double fct_whole_rate(const struct fct_run_times *times) {
    return fct_rate(times->n_tokens, times->whole_seconds);
}

const char *fct_rate_text(double rate, char text[32]) {
    if (isnan(rate))
        snprintf(text, 32, "? tok/s");
    else
        snprintf(text, 32, "%.*f tok/s", rate < 1000 ? 1 : 0, rate);
    return text;
}

/* ---- several runs ---- */

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct fct_spread fct_spread_of(const struct fct_run_times *runs, int n_runs,
                                double (*value)(const struct fct_run_times *run)) {
    double values[FCT_MOST_RUNS];
    size_t n = (size_t)n_runs;
    for (size_t i = 0; i < n; i++) {
        values[i] = value(&runs[i]);
        if (isnan(values[i])) return (struct fct_spread){NAN, NAN, NAN};
    }
    qsort(values, n, sizeof *values, compare);
    double median = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
    return (struct fct_spread){values[0], median, values[n - 1]};
}

/* ---- energy ---- */

double fct_answer_joules(const struct fct_energy_samples *samples, const struct fct_run_times *runs,
                         int n_runs, double least) {
    double joules = 0;
    int n_steps = 0;
    for (int i = 0; i < n_runs; i++) {
        const struct fct_run_times *run = &runs[i];
        if (run->decode_seconds < least) return NAN;
        joules += fct_energy_between(samples, run->began + run->prompt_seconds,
                                     run->began + run->whole_seconds);
        n_steps += run->n_steps;
    }
    return n_steps > 0 ? joules / n_steps : NAN;
}

double fct_prompt_joules(const struct fct_energy_samples *samples, const struct fct_run_times *runs,
                         int n_runs, double least) {
    double joules = 0;
    int n_prompt = 0;
    for (int i = 0; i < n_runs; i++) {
        if (runs[i].prompt_seconds < least) return NAN;
        joules +=
            fct_energy_between(samples, runs[i].began, runs[i].began + runs[i].prompt_seconds);
        n_prompt += runs[i].n_prompt;
    }
    return n_prompt > 0 ? joules / n_prompt : NAN;
}
