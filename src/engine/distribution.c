/* distribution.c - what logits say as probabilities, and how far two of them are apart; all in
 * double. */
#include "engine/distribution.h"

#include <math.h>

int fct_best_of(const float *logits, int n) {
    int best = 0;
    for (int i = 1; i < n; i++)
        if (logits[i] > logits[best]) best = i;
    return best;
}

/* Relative to the largest: nothing overflows, and at least one term is 1. */
double fct_log_sum(const float *logits, int n) {
    double max = (double)logits[fct_best_of(logits, n)], sum = 0;
    for (int i = 0; i < n; i++) sum += exp((double)logits[i] - max);
    return max + log(sum);
}

double fct_divergence_of(const float *p, double p_sum, const float *q, double q_sum, int n) {
    double total = 0;
    for (int i = 0; i < n; i++) {
        double log_p = (double)p[i] - p_sum;
        total += exp(log_p) * (log_p - ((double)q[i] - q_sum));
    }
    return total;
}

double fct_divergence(const float *p, const float *q, int n) {
    return fct_divergence_of(p, fct_log_sum(p, n), q, fct_log_sum(q, n), n);
}
