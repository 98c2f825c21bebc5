/* rendering.c - a conversation being written: scaffold and contents kept apart, and encoded apart.
 */
#include "text/rendering.h"

#include <string.h>

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

void fct_rendering_span(struct fct_rendering *out, struct fct_span span) {
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

fct_status fct_chat_encode(const struct fct_rendering *rendering, const fct_vocabulary *vocabulary,
                           bool reference, struct fct_ids *ids, fct_error *err) {
    const char *text = rendering->text.data;
    if (reference) return fct_encode(vocabulary, text, rendering->text.size, true, ids, err);
    for (size_t i = 0, start = 0; i < rendering->n_segments; i++) {
        const struct fct_segment *segment = &rendering->segments[i];
        fct_status status =
            fct_encode(vocabulary, text + start, segment->end - start, segment->control, ids, err);
        if (status) return status;
        start = segment->end;
    }
    return FCT_OK;
}
