/* reference_case.c - a reference implementation's answers, and how far a session is from them. */
#include "engine/reference_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "engine/distribution.h"

static const struct fct_tensor *find(const struct fct_reference_case *c, const char *path,
                                     const char *name, enum fct_dtype dtype, int n_dims,
                                     fct_error *err) {
    const struct fct_tensor *tensor = fct_safetensors_find(&c->header, name);
    if (tensor && tensor->dtype == dtype && tensor->n_dims == n_dims) return tensor;
    return fct_fail_null(err, FCT_ERR_FORMAT, "%s: %s is missing or not %s with %d dimensions",
                         path, name, fct_dtype_name(dtype), n_dims);
}

static int *read_ids(const struct fct_reference_case *c, const struct fct_tensor *tensor, int *n,
                     fct_error *err) {
    if (tensor->dims[0] > (1 << 20))
        return fct_fail_null(err, FCT_ERR_FORMAT, "%s has too many ids", tensor->name);
    *n = (int)tensor->dims[0];
    int *ids = fct_new_array((size_t)*n + 1, sizeof *ids, err);
    for (int i = 0; ids && i < *n; i++) {
        int64_t id;
        memcpy(&id, c->map.data + tensor->offset + (size_t)i * sizeof id, sizeof id);
        ids[i] = id >= 0 && id < (1 << 24) ? (int)id : -1;
    }
    return ids;
}

static fct_status read_all(struct fct_reference_case *c, const char *path, int vocab_size,
                           fct_error *err) {
    const struct fct_tensor *ids = find(c, path, "input_ids", FCT_DTYPE_I64, 1, err);
    const struct fct_tensor *greedy =
        ids ? find(c, path, "greedy_ids", FCT_DTYPE_I64, 1, err) : NULL;
    const struct fct_tensor *logits =
        greedy ? find(c, path, "logits", FCT_DTYPE_F32, 2, err) : NULL;
    if (!logits) return FCT_ERR_FORMAT;
    if (logits->dims[0] != ids->dims[0] || logits->dims[1] != (uint64_t)vocab_size ||
        logits->offset % sizeof(float))
        return fct_fail(err, FCT_ERR_FORMAT,
                        "%s: the logits are not one row of %d for each input id", path, vocab_size);
    c->ids = read_ids(c, ids, &c->n_ids, err);
    c->greedy = read_ids(c, greedy, &c->n_greedy, err);
    c->vocab_size = vocab_size;
    c->logits = (const float *)(const void *)(c->map.data + logits->offset);
    const struct fct_tensor *quantized = fct_safetensors_find(&c->header, "quantized_logits");
    if (quantized && quantized->dtype == FCT_DTYPE_F32 && quantized->n_bytes == logits->n_bytes &&
        quantized->offset % sizeof(float) == 0)
        c->quantized_logits = (const float *)(const void *)(c->map.data + quantized->offset);
    return c->ids && c->greedy ? FCT_OK : FCT_ERR_MEMORY;
}

fct_status fct_reference_case_open(struct fct_reference_case *out, const char *folder,
                                   int vocab_size, fct_error *err) {
    memset(out, 0, sizeof *out);
    out->map.fd = -1;
    char *path = fct_path_join(folder, "reference.safetensors", err);
    if (!path) return FCT_ERR_MEMORY;
    fct_status status = fct_map_open(&out->map, path, err);
    if (status == FCT_OK)
        status = fct_safetensors_parse(&out->header, path, out->map.data, out->map.size, err);
    if (status == FCT_OK) status = read_all(out, path, vocab_size, err);
    free(path);
    if (status != FCT_OK) fct_reference_case_close(out);
    return status;
}

void fct_reference_case_close(struct fct_reference_case *reference) {
    free(reference->ids);
    free(reference->greedy);
    reference->ids = reference->greedy = NULL;
    fct_safetensors_free(&reference->header);
    fct_map_close(&reference->map);
}

struct comparison {
    const struct fct_reference_case *reference;
    struct fct_distance *out;
};

static bool compare_row(void *user, int position, const float *logits) {
    struct comparison *c = user;
    int n = c->reference->vocab_size;
    const float *wanted = c->reference->logits + (size_t)position * (size_t)n;
    for (int i = 0; i < n; i++) {
        float difference = fabsf(logits[i] - wanted[i]);
        if (!(difference <= c->out->max_difference)) c->out->max_difference = difference;
    }
    c->out->mean_divergence += fct_divergence(wanted, logits, n) / c->reference->n_ids;
    c->out->n_best_equal += fct_best_of(logits, n) == fct_best_of(wanted, n);
    return true;
}

fct_status fct_reference_case_compare(const struct fct_reference_case *reference,
                                      fct_session *session, struct fct_distance *out,
                                      fct_error *err) {
    struct comparison c = {reference, out};
    *out = (struct fct_distance){.quantized_divergence = -1};
    fct_status status =
        fct_session_score(session, reference->ids, reference->n_ids, compare_row, &c, err);
    if (status != FCT_OK || !reference->quantized_logits) return status;
    size_t n = (size_t)reference->vocab_size;
    out->quantized_divergence = 0;
    for (int i = 0; i < reference->n_ids; i++)
        out->quantized_divergence +=
            fct_divergence(reference->logits + (size_t)i * n,
                           reference->quantized_logits + (size_t)i * n, (int)n) /
            reference->n_ids;
    return FCT_OK;
}
