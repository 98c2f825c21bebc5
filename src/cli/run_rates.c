/* run_rates.c - tokens a second, joules a token, medians. */
#include "cli/run_rates.h"

#include <math.h>
#include <stdlib.h>

static double rate(int n, double seconds) { return n > 0 && seconds > 0 ? n / seconds : NAN; }

double fct_prompt_rate(const struct fct_run_times *times) {
    return rate(times->n_prompt, times->prompt_seconds);
}

double fct_answer_rate(const struct fct_run_times *times) {
    return rate(times->n_steps, times->decode_seconds);
}

double fct_whole_rate(const struct fct_run_times *times) {
    return rate(times->n_steps + 1, times->prompt_seconds + times->decode_seconds);
}

double fct_answer_joules(const struct fct_energy_samples *samples, const struct fct_run_times *runs,
                         int n_runs, double least) {
    double joules = 0;
    int n_steps = 0;
    for (int i = 0; i < n_runs; i++) {
        double begin = runs[i].began + runs[i].prompt_seconds;
        if (runs[i].decode_seconds < least) return NAN;
        joules += fct_energy_between(samples, begin, begin + runs[i].decode_seconds);
        n_steps += runs[i].n_steps;
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

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void fct_sort_numbers(double *values, int n) { qsort(values, (size_t)n, sizeof *values, compare); }

double fct_median_of_sorted(const double *values, int n) {
    const double *middle = values + n / 2;
    return n % 2 ? *middle : (middle[-1] + middle[0]) / 2;
}
