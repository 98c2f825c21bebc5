/* statistics.c - how large the inputs of each matrix are, column by column. */
#include "transformer/statistics.h"

#include "base/memory.h"

fct_status fct_statistics_init(struct fct_statistics *statistics, const struct fct_weights *weights,
                               int n_layers, fct_error *err) {
    *statistics = (struct fct_statistics){0};
    int n = fct_weights_matrices(weights, n_layers, NULL);
    const struct fct_matrix **matrices = fct_new_array((size_t)n, sizeof *matrices, err);
    statistics->inputs = fct_new_array((size_t)n, sizeof *statistics->inputs, err);
    fct_status status = matrices && statistics->inputs ? FCT_OK : FCT_ERR_MEMORY;
    if (!status) fct_weights_matrices(weights, n_layers, matrices);
    for (int i = 0; i < n && !status; i++) {
        struct fct_input_sums *input = &statistics->inputs[statistics->n_inputs++];
        input->matrix = matrices[i];
        input->squares = fct_new_array((size_t)matrices[i]->columns, sizeof(double), err);
        if (!input->squares) status = FCT_ERR_MEMORY;
    }
    fct_free(matrices);
    if (status) fct_statistics_free(statistics);
    return status;
}

void fct_statistics_free(struct fct_statistics *statistics) {
    for (int i = 0; i < statistics->n_inputs; i++) fct_free(statistics->inputs[i].squares);
    fct_free(statistics->inputs);
    *statistics = (struct fct_statistics){0};
}

/* A matrix is known by where it lies; what begins inside of one is the rest of it. */
static struct fct_input_sums *sums_of(struct fct_statistics *statistics,
                                      const struct fct_matrix *w) {
    for (int i = 0; i < statistics->n_inputs; i++)
        if (statistics->inputs[i].matrix->data == w->data) return &statistics->inputs[i];
    return NULL;
}

void fct_statistics_add(struct fct_statistics *statistics, struct fct_team team,
                        const struct fct_matrix *w, const float *x, int stride, int n_tokens) {
    struct fct_input_sums *sums = sums_of(statistics, w);
    int begin, end, first = statistics->n_skipped;
    if (!sums || !w->rows) return;
    fct_team_share(team, w->columns, 16, &begin, &end);
    for (int t = first; t < n_tokens; t++) {
        const float *row = x + (size_t)t * (size_t)stride;
        for (int i = begin; i < end; i++) sums->squares[i] += (double)row[i] * (double)row[i];
    }
    if (team.index == 0 && n_tokens > first) sums->n_tokens += (uint64_t)(n_tokens - first);
}
