/* rendering.c - a conversation being written: scaffold and contents kept apart, and encoded apart.
 */
#include "text/rendering.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

static void end_segment(struct fct_rendering *out, bool control) {
    if (out->text.failed) return;
    bool goes_on = !control && out->n_segments > 0 && !out->segments[out->n_segments - 1].control;
    if (!goes_on) {
        void *segments = out->segments;
        if (fct_grow(&segments, &out->capacity, out->n_segments + 1, sizeof *out->segments, NULL)) {
            out->text.failed = true;
            return;
        }
        out->segments = segments;
        out->segments[out->n_segments++].control = control;
    }
    out->segments[out->n_segments - 1].end = out->text.size;
}

void fct_rendering_control(struct fct_rendering *out, const char *name) {
    fct_text_puts(&out->text, name);
    end_segment(out, true);
}

void fct_rendering_plain(struct fct_rendering *out, const char *bytes, size_t n_bytes) {
    if (n_bytes == 0) return;
    fct_text_add(&out->text, bytes, n_bytes);
    end_segment(out, false);
}

void fct_rendering_puts(struct fct_rendering *out, const char *string) {
    fct_rendering_plain(out, string, strlen(string));
}

void fct_rendering_span(struct fct_rendering *out, struct fct_text_span span) {
    fct_rendering_plain(out, span.text, span.n_bytes);
}

void fct_rendering_string(struct fct_rendering *out, const json_t *string) {
    fct_rendering_plain(out, json_string_value(string), json_string_length(string));
}

void fct_rendering_free(struct fct_rendering *rendering) {
    if (!rendering) return;
    fct_text_free(&rendering->text);
    fct_free(rendering->segments);
    *rendering = (struct fct_rendering){0};
}

/* A control segment is one token, or the model has never seen such a thing. */
static fct_status add_control(const fct_vocabulary *vocabulary, const char *text, size_t n_bytes,
                              struct fct_ids *ids, fct_error *err) {
    size_t length = 0;
    int id = fct_vocabulary_match(vocabulary, text, n_bytes, true, &length);
    if (id < 0 || length != n_bytes || !fct_vocabulary_is_control(vocabulary, id))
        return fct_fail(err, FCT_ERR_UNSUPPORTED,
                        "chat: the model's tokenizer has no control token %.*s", (int)n_bytes,
                        text);
    return fct_ids_add(ids, id, err);
}

static fct_status encode_apart(const struct fct_rendering *rendering,
                               const fct_vocabulary *vocabulary, struct fct_ids *ids,
                               fct_error *err) {
    for (size_t i = 0, start = 0; i < rendering->n_segments; i++) {
        const char *text = rendering->text.data + start;
        size_t n_bytes = rendering->segments[i].end - start;
        fct_status status = rendering->segments[i].control
                                ? add_control(vocabulary, text, n_bytes, ids, err)
                                : fct_encode(vocabulary, text, n_bytes, false, ids, err);
        if (status) return status;
        start += n_bytes;
    }
    return FCT_OK;
}

fct_status fct_chat_encode(const struct fct_rendering *rendering, const fct_vocabulary *vocabulary,
                           bool reference, struct fct_ids *ids, fct_error *err) {
    if (reference)
        return fct_encode(vocabulary, rendering->text.data, rendering->text.size, true, ids, err);
    size_t before = ids->size;
    fct_status status = encode_apart(rendering, vocabulary, ids, err);
    if (status) ids->size = before;
    return status;
}
