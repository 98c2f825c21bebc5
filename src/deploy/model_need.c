/* model_need.c - how much memory a packed model takes where it runs. */
#include "deploy/model_need.h"

#include <stdio.h>

#include "base/error.h"

fct_status fct_model_need_of(const char *path, struct fct_model_need *need, fct_error *err) {
    fct_model_options options = {.memory = FCT_MEMORY_MAP};
    *need = (struct fct_model_need){0};
    fct_model *model = fct_model_open(path, &options, err);
    if (!model) return FCT_ERR_FORMAT;
    need->weights_bytes = fct_model_describe(model).bytes_per_token;
    /* Its memory is only taken as it is touched, so that a small machine can ask too. */
    fct_session *session = fct_session_new(model, NULL, NULL);
    if (session) {
        fct_session_info info = fct_session_describe(session);
        need->session_bytes = info.kv_bytes + info.scratch_bytes;
    }
    fct_session_free(session);
    fct_model_free(model);
    return FCT_OK;
}

static double gigabytes(uint64_t n_bytes) { return (double)n_bytes / 1e9; }

fct_status fct_model_need_check(const struct fct_model_need *need, uint64_t memory_bytes,
                                uint64_t available_bytes, char tight[256], fct_error *err) {
    uint64_t all = need->weights_bytes + need->session_bytes;
    *tight = 0;
    if (memory_bytes == 0) return FCT_OK;
    if (need->weights_bytes > memory_bytes)
        return fct_fail(err, FCT_ERR_MEMORY,
                        "the model does not fit: every token reads %.2f GB of weights, and the "
                        "machine there has %.2f GB of memory",
                        gigabytes(need->weights_bytes), gigabytes(memory_bytes));
    if (available_bytes && all > available_bytes)
        snprintf(tight, 256,
                 "warning: memory is short there: %.2f GB of weights and %.2f GB for a context of "
                 "the default size, but %.2f of %.2f GB are available; see -c",
                 gigabytes(need->weights_bytes), gigabytes(need->session_bytes),
                 gigabytes(available_bytes), gigabytes(memory_bytes));
    return FCT_OK;
}
