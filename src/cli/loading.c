/* loading.c - what a cold start waits for, on the bar of progress. */
#include "cli/loading.h"

void fct_loading_update(struct fct_progress *progress, const fct_model *model, int n_done,
                        int n_total) {
    fct_model_info info = fct_model_describe(model);
    progress->bytes = info.hot_bytes_read < info.hot_bytes;
    if (progress->bytes)
        fct_progress_update(progress, "reading the model", info.hot_bytes_read, info.hot_bytes);
    else
        fct_progress_update(progress, "reading the prompt", (uint64_t)n_done, (uint64_t)n_total);
}
