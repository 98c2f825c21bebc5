/* reference_case.h - a reference implementation's answers, and how far a session is from them. */
#ifndef FCT_ENGINE_REFERENCE_CASE_H
#define FCT_ENGINE_REFERENCE_CASE_H

#include "base/file.h"
#include "engine/session.h"
#include "pack/safetensors.h"

/* reference.safetensors of a case folder: input_ids and greedy_ids int64, logits [n][vocab]
 * float32, and perhaps quantized_logits of the same shape. */
struct fct_reference_case {
    struct fct_mapping map;
    struct fct_safetensors header;
    int n_ids, n_greedy, vocab_size;
    int *ids, *greedy;             /* owned */
    const float *logits;           /* [n_ids][vocab_size], in the map */
    const float *quantized_logits; /* the same, or NULL */
};
fct_status fct_reference_case_open(struct fct_reference_case *out, const char *folder,
                                   int vocab_size, fct_error *err);
void fct_reference_case_close(struct fct_reference_case *reference);

struct fct_distance {
    float max_difference;        /* of any logit */
    double mean_divergence;      /* mean over positions of KL(reference || facet), natural log */
    double quantized_divergence; /* the same of the reference's own quantized logits; -1 without
                                    them */
    int n_best_equal;            /* positions whose likeliest id is the reference's */
};
fct_status fct_reference_case_compare(const struct fct_reference_case *reference,
                                      fct_session *session, struct fct_distance *out,
                                      fct_error *err);

#endif
