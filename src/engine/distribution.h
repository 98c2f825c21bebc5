/* distribution.h - what logits say as probabilities, and how far two of them are apart; all in
 * double. */
#ifndef FCT_ENGINE_DISTRIBUTION_H
#define FCT_ENGINE_DISTRIBUTION_H

/* log(sum(e^logit)): a logit minus this is a log-probability. */
double fct_log_sum(const float *logits, int n);
/* The largest; the first of equals. */
int fct_best_of(const float *logits, int n);

/* KL(softmax(p) || softmax(q)) in nats; */
double fct_divergence(const float *p, const float *q, int n);
/* the same when their log sums are known. */
double fct_divergence_of(const float *p, double p_sum, const float *q, double q_sum, int n);

#endif
