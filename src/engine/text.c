/* text.c - the public calls for text: tokenizing, detokenizing, and the chat format, by the model's
 * own vocabulary. */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "engine/model.h"
#include "text/exact_json.h"

static fct_status need_vocabulary(const fct_model *model, fct_error *err) {
    if (model->vocabulary) return FCT_OK;
    return fct_fail(err, FCT_ERR_UNSUPPORTED, "%s carries no tokenizer: only ids go in and out",
                    fct_pack_path(model->pack));
}

static fct_status hand_over(struct fct_ids *list, int **ids, int *n_ids, fct_error *err) {
    *ids = list->data ? list->data : fct_new(sizeof **ids, err);
    *n_ids = (int)list->size;
    return *ids ? FCT_OK : FCT_ERR_MEMORY;
}

fct_status fct_tokenize(const fct_model *model, const char *text, size_t n_bytes, unsigned flags,
                        int **ids, int *n_ids, int *n_replaced, fct_error *err) {
    fct_status status = need_vocabulary(model, err);
    if (status != FCT_OK) return status;
    size_t n_good;
    char *good = fct_utf8_repair(text, n_bytes, &n_good, n_replaced, err);
    if (!good) return FCT_ERR_MEMORY;
    struct fct_ids list = {0};
    status = fct_encode(model->vocabulary, good, n_good, flags & FCT_TOKENIZE_CONTROL, &list, err);
    free(good);
    if (status == FCT_OK)
        status = hand_over(&list, ids, n_ids, err);
    else
        fct_ids_free(&list);
    return status;
}

fct_status fct_detokenize(const fct_model *model, const int *ids, int n_ids, char **text,
                          size_t *n_bytes, fct_error *err) {
    fct_status status = need_vocabulary(model, err);
    if (status != FCT_OK) return status;
    for (int i = 0; i < n_ids; i++)
        if (ids[i] < 0 || ids[i] >= fct_vocabulary_size(model->vocabulary))
            return fct_fail(err, FCT_ERR_ARGUMENT, "id %d: the vocabulary has ids 0 to %d", ids[i],
                            fct_vocabulary_size(model->vocabulary) - 1);
    return fct_decode(model->vocabulary, ids, (size_t)n_ids, false, text, n_bytes, err);
}

struct fct_detokenizer {
    fct_decoder *decoder;
};

fct_detokenizer *fct_detokenizer_new(const fct_model *model, bool skip_control, fct_error *err) {
    if (need_vocabulary(model, err) != FCT_OK) return NULL;
    fct_detokenizer *d = fct_new(sizeof *d, err);
    if (d) d->decoder = fct_decoder_new(model->vocabulary, skip_control, err);
    if (d && d->decoder) return d;
    free(d);
    return NULL;
}

void fct_detokenizer_free(fct_detokenizer *d) {
    if (!d) return;
    fct_decoder_free(d->decoder);
    free(d);
}

const char *fct_detokenizer_push(fct_detokenizer *d, int id, size_t *n_bytes) {
    const char *text = fct_decoder_push(d->decoder, id, n_bytes);
    if (!text) *n_bytes = 0;
    return text ? text : "";
}

const char *fct_detokenizer_finish(fct_detokenizer *d, size_t *n_bytes) {
    const char *text = fct_decoder_finish(d->decoder, n_bytes);
    if (!text) *n_bytes = 0;
    return text ? text : "";
}

/* The request's parts, each of the type it must have. */
static fct_status render_request(const fct_model *model, const json_t *request,
                                 struct fct_rendering *out, fct_error *err) {
    if (!json_is_object(request))
        return fct_fail(err, FCT_ERR_ARGUMENT, "the request is no JSON object");
    const json_t *messages = json_object_get(request, "messages"),
                 *tools = json_object_get(request, "tools");
    const json_t *kwargs = json_object_get(request, "kwargs");
    return fct_chat_write(model->chat, messages, json_is_null(tools) ? NULL : tools,
                          json_is_null(kwargs) ? NULL : kwargs, out, err);
}

fct_status fct_chat_render(const fct_model *model, const char *request, size_t n_bytes,
                           bool reference, char **text, size_t *text_bytes, int **ids, int *n_ids,
                           fct_error *err) {
    fct_status status = need_vocabulary(model, err);
    if (status != FCT_OK) return status;
    json_t *json = fct_json_read(request, n_bytes, "the request", err);
    if (!json) return FCT_ERR_ARGUMENT;
    struct fct_rendering rendering = {0};
    struct fct_ids list = {0};
    char *copy = NULL;
    status = render_request(model, json, &rendering, err);
    if (status == FCT_OK)
        status = fct_chat_encode(&rendering, model->vocabulary, reference, &list, err);
    if (status == FCT_OK && text &&
        !(copy = fct_copy_text(rendering.text.data ? rendering.text.data : "", rendering.text.size,
                               err)))
        status = FCT_ERR_MEMORY;
    if (status == FCT_OK) status = hand_over(&list, ids, n_ids, err);
    if (status == FCT_OK && text_bytes) *text_bytes = rendering.text.size;
    if (status == FCT_OK && text)
        *text = copy;
    else
        free(copy);
    if (status != FCT_OK) fct_ids_free(&list);
    fct_rendering_free(&rendering);
    json_decref(json);
    return status;
}

fct_status fct_chat_parse(const char *prefix, const char *answer, char **message, char warning[256],
                          fct_error *err) {
    char unused[256];
    json_t *json = fct_chat_read(prefix, answer, warning ? warning : unused, err);
    if (!json) return err ? err->code : FCT_ERR_MEMORY;
    *message = fct_json_write(json, JSON_COMPACT, NULL, err);
    json_decref(json);
    return *message ? FCT_OK : FCT_ERR_MEMORY;
}
