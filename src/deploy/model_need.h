/* model_need.h - how much memory a packed model takes where it runs. */
#ifndef FCT_DEPLOY_MODEL_NEED_H
#define FCT_DEPLOY_MODEL_NEED_H

#include "facet.h"

struct fct_model_need {
    uint64_t weights_bytes; /* that every token reads */
    uint64_t session_bytes; /* cache and scratch of a session with the default context */
};

/* Opens the model here: what is no packed model fails. */
fct_status fct_model_need_of(const char *path, struct fct_model_need *need, fct_error *err);

/* FCT_ERR_MEMORY, with the arithmetic, if a machine with so much memory (0: unknown) cannot hold
 * the weights. *tight: it can, but not without taking from the rest. */
fct_status fct_model_need_check(const struct fct_model_need *need, uint64_t memory_bytes,
                                uint64_t available_bytes, char tight[256], fct_error *err);

#endif
