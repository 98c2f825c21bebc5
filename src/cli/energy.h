/* energy.h - joules between two moments, from samples of a power meter. */
#ifndef FCT_CLI_ENERGY_H
#define FCT_CLI_ENERGY_H

#include "facet.h"

/* A sample: the power at that time, or what a counter of energy had counted by then. */
struct fct_energy_sample {
    double seconds, value; /* watts, or joules since some moment */
};

/* In order of time. */
struct fct_energy_samples {
    struct fct_energy_sample *samples;
    size_t n_samples, capacity;
    bool counts; /* joules; else watts */
};
fct_status fct_energy_add(struct fct_energy_samples *samples, double seconds, double value,
                          fct_error *err);
void fct_energy_free(struct fct_energy_samples *samples);

/* Joules from `begin` to `end`, between samples as if the power changed evenly from one to the next
 * (trapezoids). NAN if the samples do not reach over all of it. */
double fct_energy_between(const struct fct_energy_samples *samples, double begin, double end);

/* How far a counter that starts again at 0 behind `range` went from `before` to `now`; it must not
 * have gone round twice. */
uint64_t fct_counter_step(uint64_t before, uint64_t now, uint64_t range);

#endif
