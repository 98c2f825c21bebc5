/* statistics.h - how large the inputs of each matrix are, column by column. */
#ifndef FCT_TRANSFORMER_STATISTICS_H
#define FCT_TRANSFORMER_STATISTICS_H

#include "base/threads.h"
#include "transformer/weights.h"

struct fct_input_sums {
    const struct fct_matrix *matrix; /* in the weights that were given */
    double *squares;                 /* [columns] sums over tokens */
    uint64_t n_tokens;
};

struct fct_statistics {
    struct fct_input_sums *inputs; /* in the order of fct_weights_matrices */
    int n_inputs;
    int n_skipped; /* so many tokens at the beginning of what is multiplied do not count */
};

fct_status fct_statistics_init(struct fct_statistics *statistics, const struct fct_weights *weights,
                               int n_layers, fct_error *err);
void fct_statistics_free(struct fct_statistics *statistics); /* zeroed is fine */

/* x [n_tokens][stride] is about to be multiplied with w, or with its first rows. Every member of
 * the team calls it and adds its share of the columns, token by token: no sum depends on their
 * number. */
void fct_statistics_add(struct fct_statistics *statistics, struct fct_team team,
                        const struct fct_matrix *w, const float *x, int stride, int n_tokens);

#endif
