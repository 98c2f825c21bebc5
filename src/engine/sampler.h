/* sampler.h - choosing the next id from logits. */
#ifndef FCT_ENGINE_SAMPLER_H
#define FCT_ENGINE_SAMPLER_H

#include "facet.h"

struct fct_candidate {
    float logit, probability;
    int id;
};

/* Room for choosing, allocated once a session. */
struct fct_sampler {
    int vocab_size, context;
    struct fct_candidate *candidates; /* [vocab_size] */
    float *adjusted;                  /* [vocab_size]: logits with penalties and biases */
    uint8_t *seen;                    /* [vocab_size] */
    uint64_t state;                   /* of the random numbers */
    const uint32_t *allowed;          /* a bit an id: only these are chosen; NULL: all may be */
};
fct_status fct_sampler_init(struct fct_sampler *sampler, int vocab_size, int context,
                            fct_error *err);
void fct_sampler_free(struct fct_sampler *sampler);

/* Starts the random numbers; seed 0 takes one from the system. Returns the seed used. */
uint64_t fct_sampler_seed(struct fct_sampler *sampler, uint64_t seed);

/* Does choosing under these settings need more than the largest logit? */
bool fct_sampling_is_greedy(const fct_sampling *sampling);

/* The next id: biases and penalties (repeat: over all ids so far; presence, frequency: over the
 * answer, ids[n_prompt .. n_ids)), then temperature, top-k, top-p, min-p, and a draw; temperature
 * 0: the largest, the first of equals. */
int fct_sampler_choose(struct fct_sampler *sampler, const fct_sampling *sampling,
                       const float *logits, const int *ids, int n_prompt, int n_ids);

/* Checks the ranges. */
fct_status fct_sampling_check(const fct_sampling *sampling, int vocab_size, fct_error *err);

#endif
