/* energy.c - sums up what a power meter said. */
#include "cli/energy.h"

#include <math.h>

#include "base/memory.h"

fct_status fct_energy_add(struct fct_energy_samples *samples, double seconds, double value,
                          fct_error *err) {
    fct_status status = fct_grow((void **)&samples->samples, &samples->capacity,
                                 samples->n_samples + 1, sizeof *samples->samples, err);
    if (status) return status;
    samples->samples[samples->n_samples++] = (struct fct_energy_sample){seconds, value};
    return FCT_OK;
}

void fct_energy_free(struct fct_energy_samples *samples) {
    fct_free(samples->samples);
    *samples = (struct fct_energy_samples){.counts = samples->counts};
}

/* The value at a time between two samples. */
static double value_at(struct fct_energy_sample a, struct fct_energy_sample b, double seconds) {
    double length = b.seconds - a.seconds;
    return length > 0 ? a.value + (b.value - a.value) * (seconds - a.seconds) / length : b.value;
}

/* Joules of the part of [begin, end] that lies between two samples that follow each other. */
static double between_two(struct fct_energy_sample a, struct fct_energy_sample b, double begin,
                          double end, bool counts) {
    double from = fmax(a.seconds, begin), to = fmin(b.seconds, end);
    if (to <= from) return 0;
    double first = value_at(a, b, from), last = value_at(a, b, to);
    return counts ? last - first : (first + last) / 2 * (to - from);
}

double fct_energy_between(const struct fct_energy_samples *samples, double begin, double end) {
    size_t n = samples->n_samples;
    const struct fct_energy_sample *all = samples->samples;
    if (n < 2 || !(begin <= end) || all[0].seconds > begin || all[n - 1].seconds < end) return NAN;
    double joules = 0;
    for (size_t i = 1; i < n; i++)
        joules += between_two(all[i - 1], all[i], begin, end, samples->counts);
    return joules;
}

uint64_t fct_counter_step(uint64_t before, uint64_t now, uint64_t range) {
    return now >= before ? now - before : range - before + now + 1;
}
