/* verify.c - is this file whole, do these kernels compute what they should, are the answers the
 * expected ones? */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "engine/reference_case.h"

static const double float_bound =
    5e-4; /* of a logit, float weights against the reference in float32 */
static const double quantized_slack =
    1.10; /* divergence allowed, over that of the reference's own quantization */

struct verifying {
    fct_check_fn check;
    void *user;
    bool passed;
};

static void report(struct verifying *v, const char *name, fct_verdict verdict, const char *format,
                   ...) __attribute__((format(printf, 4, 5)));
static void report(struct verifying *v, const char *name, fct_verdict verdict, const char *format,
                   ...) {
    char detail[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    if (verdict == FCT_FAILED) v->passed = false;
    if (v->check) v->check(v->user, name, verdict, detail);
}

static void verify_checksum(struct verifying *v, const fct_model *model, fct_progress_fn progress) {
    fct_error fault;
    if (fct_pack_verify(model->pack, progress, v->user, &fault) == FCT_OK)
        report(v, "checksum", FCT_PASSED, "%llu bytes",
               (unsigned long long)fct_pack_size(model->pack));
    else
        report(v, "checksum", FCT_FAILED, "%s", fault.message);
}

static void verify_kernels(struct verifying *v, const fct_model *model) {
    char what[256] = "";
    if (fct_kernels_check(model->kernels, what, sizeof what))
        report(v, "kernels", FCT_PASSED, "%s computes the same bits as portable",
               model->kernels->name);
    else
        report(v, "kernels", FCT_FAILED, "%s: %s", model->kernels->name, what);
}

/* A JSON list of ids; NULL if it is none. The caller frees. */
static int *ids_of(const json_t *list, int *n) {
    int *ids =
        json_is_array(list) ? fct_new_array(json_array_size(list) + 1, sizeof *ids, NULL) : NULL;
    *n = 0;
    for (size_t i = 0; ids && i < json_array_size(list); i++)
        ids[(*n)++] = (int)json_integer_value(json_array_get(list, i));
    return ids;
}

/* Where the greedy answer to prompt first differs from answer; n_answer if nowhere, -1 on failure.
 */
static int first_difference(fct_session *session, const int *prompt, int n_prompt,
                            const int *answer, int n_answer, fct_error *err) {
    fct_generation made;
    fct_generate_options options = {
        .sampling = {.top_p = 1, .repeat_penalty = 1}, .max_tokens = n_answer, .ignore_end = true};
    if (fct_generate(session, prompt, n_prompt, &options, &made, err) != FCT_OK) return -1;
    int same = 0;
    while (same < n_answer && same < made.n_ids && made.ids[same] == answer[same]) same++;
    fct_generation_free(&made);
    return same;
}

static void verify_expected(struct verifying *v, const fct_model *model, fct_session *session) {
    json_t *expected = fct_pack_metadata_json(model->pack, "expected", NULL), *entry;
    size_t i, n_same = 0, n = json_array_size(expected);
    if (!n) {
        report(v, "expected answers", FCT_SKIPPED,
               "the file carries none: convert with --expected to have them checked");
        json_decref(expected);
        return;
    }
    json_array_foreach(expected, i, entry) {
        fct_error fault = {0};
        int n_prompt, n_answer;
        int *prompt = ids_of(json_object_get(entry, "prompt_ids"), &n_prompt),
            *answer = ids_of(json_object_get(entry, "answer_ids"), &n_answer);
        int same = prompt && answer
                       ? first_difference(session, prompt, n_prompt, answer, n_answer, &fault)
                       : -1;
        if (same == n_answer)
            n_same++;
        else if (same < 0)
            report(v, "expected answers", FCT_FAILED, "number %zu: %s", i + 1,
                   fault.message[0] ? fault.message : "no lists of ids");
        else
            report(v, "expected answers", FCT_FAILED,
                   "number %zu: id %d of the answer differs from the expected %d", i + 1, same + 1,
                   answer[same]);
        free(prompt);
        free(answer);
    }
    if (n_same == n) report(v, "expected answers", FCT_PASSED, "%zu of %zu, id for id", n_same, n);
    json_decref(expected);
}

static void verify_greedy(struct verifying *v, const struct fct_reference_case *reference,
                          const fct_model *model, fct_session *session) {
    fct_error fault = {0};
    int same = first_difference(session, reference->ids, reference->n_ids, reference->greedy,
                                reference->n_greedy, &fault);
    fct_verdict differs = model->float_weights
                              ? FCT_FAILED
                              : FCT_SKIPPED; /* quantized weights may choose otherwise */
    if (same < 0)
        report(v, "reference greedy ids", FCT_FAILED, "%s", fault.message);
    else if (same == reference->n_greedy)
        report(v, "reference greedy ids", FCT_PASSED, "all %d", same);
    else
        report(v, "reference greedy ids", differs, "the first %d of %d are equal", same,
               reference->n_greedy);
}

static void verify_case(struct verifying *v, const fct_model *model, fct_session *session,
                        const char *folder) {
    struct fct_reference_case reference;
    struct fct_distance distance;
    fct_error fault = {0};
    if (fct_reference_case_open(&reference, folder, model->config.vocab_size, &fault) != FCT_OK) {
        report(v, "reference logits", FCT_FAILED, "%s", fault.message);
        return;
    }
    if (fct_reference_case_compare(&reference, session, &distance, &fault) != FCT_OK)
        report(v, "reference logits", FCT_FAILED, "%s", fault.message);
    else if (model->float_weights)
        report(v, "reference logits",
               (double)distance.max_difference <= float_bound ? FCT_PASSED : FCT_FAILED,
               "largest difference %.3g, allowed %.3g", (double)distance.max_difference,
               float_bound);
    else if (distance.quantized_divergence >= 0)
        report(v, "reference logits",
               distance.mean_divergence <= quantized_slack * distance.quantized_divergence
                   ? FCT_PASSED
                   : FCT_FAILED,
               "mean KL divergence %.4g, the reference's own quantization has %.4g",
               distance.mean_divergence, distance.quantized_divergence);
    else
        report(v, "reference logits", FCT_SKIPPED,
               "mean KL divergence %.4g, nothing to compare it with", distance.mean_divergence);
    verify_greedy(v, &reference, model, session);
    fct_reference_case_close(&reference);
}

fct_status fct_verify(const char *path, const fct_model_options *options,
                      const fct_session_options *session_options, const char *case_folder,
                      fct_check_fn check, fct_progress_fn progress, void *user, bool *passed,
                      fct_error *err) {
    struct verifying v = {check, user, true};
    fct_error fault = {0};
    fct_model *model = fct_model_open(path, options, &fault);
    *passed = false;
    if (!model && fault.code == FCT_ERR_FORMAT) {
        report(&v, "file", FCT_FAILED, "%s", fault.message);
        return FCT_OK;
    }
    if (!model) return fct_fail(err, fault.code, "%s", fault.message);
    report(&v, "file", FCT_PASSED, "%s, %s weights", model->kernels->name,
           fct_pack_metadata(model->pack, "weights"));
    verify_checksum(&v, model, progress);
    verify_kernels(&v, model);
    fct_session *session = v.passed ? fct_session_new(model, session_options, err) : NULL;
    fct_status status = session || !v.passed ? FCT_OK : FCT_ERR_MEMORY;
    if (session) verify_expected(&v, model, session);
    if (session && case_folder) verify_case(&v, model, session, case_folder);
    *passed = status == FCT_OK && v.passed;
    fct_session_free(session);
    fct_model_free(model);
    return status;
}
