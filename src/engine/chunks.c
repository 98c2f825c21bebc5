/* chunks.c - a text cut into pieces that are read each from a cold cache. */
#include "engine/chunks.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

enum { MIN_CHUNK = 4 };

fct_status fct_chunks_cut(struct fct_chunks *c, const int *ids, int n_ids, int bos, int chunk,
                          int max_chunks, fct_error *err) {
    int n_bos = bos >= 0 && (n_ids == 0 || ids[0] != bos);
    *c = (struct fct_chunks){0};
    if (n_ids > INT32_MAX - 1) return fct_fail(err, FCT_ERR_ARGUMENT, "the text is too long");
    int n = n_ids + n_bos;
    c->chunk = chunk < n ? chunk : n;
    if (c->chunk < MIN_CHUNK)
        return fct_fail(err, FCT_ERR_ARGUMENT, "%d tokens are too few: at least %d are needed",
                        c->chunk, MIN_CHUNK);
    c->n_chunks = n / c->chunk;
    c->n_left_out = n - c->n_chunks * c->chunk;
    if (max_chunks && c->n_chunks > max_chunks) c->n_chunks = max_chunks;
    c->ids = fct_new_array((size_t)n, sizeof *c->ids, err);
    if (!c->ids) return FCT_ERR_MEMORY;
    memcpy(c->ids + n_bos, ids, (size_t)n_ids * sizeof *ids);
    if (n_bos) c->ids[0] = bos;
    for (int i = 0; bos >= 0 && i < c->n_chunks; i++) c->ids[(size_t)i * (size_t)c->chunk] = bos;
    return FCT_OK;
}

fct_status fct_chunks_fit(const struct fct_chunks *chunks, int context, fct_error *err) {
    if (chunks->chunk <= context) return FCT_OK;
    return fct_fail(err, FCT_ERR_CONTEXT,
                    "chunks of %d tokens do not fit the context of %d: make it larger with -c, or "
                    "them smaller",
                    chunks->chunk, context);
}

void fct_chunks_free(struct fct_chunks *chunks) {
    fct_free(chunks->ids);
    chunks->ids = NULL;
}
