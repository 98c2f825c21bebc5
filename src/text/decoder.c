/* decoder.c - ids to text, one at a time: runs of byte pieces wait until it is known whether they
 * are UTF-8. */
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/tokenizer.h"

#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */
#define SPACE_PIECE "\xE2\x96\x81" /* U+2581, how the vocabulary writes a space */

struct fct_decoder {
    const fct_vocabulary *vocabulary;
    bool skip_control;
    struct fct_text held; /* the run of bytes so far */
    struct fct_text out;  /* what the last call gave */
};

/* Makes room, so that pushing allocates only for a run of bytes far longer than a line. */
static fct_status reserve(struct fct_text *text, fct_error *err) {
    static const char nothing[1024];
    fct_text_add(text, nothing, sizeof nothing);
    text->size = 0;
    return text->failed ? fct_fail(err, FCT_ERR_MEMORY, "no memory for a decoder") : FCT_OK;
}

fct_decoder *fct_decoder_new(const fct_vocabulary *vocabulary, bool skip_control, fct_error *err) {
    fct_decoder *decoder = fct_new(sizeof *decoder, err);
    if (!decoder) return NULL;
    decoder->vocabulary = vocabulary;
    decoder->skip_control = skip_control;
    if (reserve(&decoder->held, err) == FCT_OK && reserve(&decoder->out, err) == FCT_OK)
        return decoder;
    fct_decoder_free(decoder);
    return NULL;
}

void fct_decoder_free(fct_decoder *decoder) {
    if (!decoder) return;
    fct_text_free(&decoder->held);
    fct_text_free(&decoder->out);
    fct_free(decoder);
}

static void add_piece(struct fct_text *out, const char *piece, size_t n_bytes) {
    const char *end = piece + n_bytes, *space;
    while ((space = memmem(piece, (size_t)(end - piece), SPACE_PIECE, 3))) {
        fct_text_add(out, piece, (size_t)(space - piece));
        fct_text_add(out, " ", 1);
        piece = space + 3;
    }
    fct_text_add(out, piece, (size_t)(end - piece));
}

/* The run ends here. */
static void release(fct_decoder *decoder, struct fct_text *out) {
    struct fct_text *held = &decoder->held;
    if (held->failed) out->failed = true;
    if (held->size == 0) return;
    if (fct_utf8_valid(held->data, held->size))
        fct_text_add(out, held->data, held->size);
    else
        for (size_t i = 0; i < held->size; i++) fct_text_add(out, REPLACEMENT, 3);
    held->size = 0;
}

static void decode_id(fct_decoder *decoder, int id, struct fct_text *out) {
    const fct_vocabulary *v = decoder->vocabulary;
    if (decoder->skip_control && fct_vocabulary_is_control(v, id)) return;
    int byte = fct_vocabulary_byte(v, id);
    if (byte >= 0) {
        char c = (char)byte;
        fct_text_add(&decoder->held, &c, 1);
        return;
    }
    size_t n;
    const char *piece = fct_vocabulary_piece(v, id, &n);
    if (!piece) return;
    release(decoder, out);
    add_piece(out, piece, n);
}

/* The text of one call; what could not be stored fails the call and is lost. */
static const char *result(fct_decoder *decoder, size_t *n_bytes) {
    struct fct_text *out = &decoder->out;
    bool failed = out->failed || decoder->held.failed;
    out->failed = decoder->held.failed = false;
    *n_bytes = failed ? 0 : out->size;
    if (failed) return NULL;
    return out->size ? out->data : "";
}

const char *fct_decoder_push(fct_decoder *decoder, int id, size_t *n_bytes) {
    decoder->out.size = 0;
    decode_id(decoder, id, &decoder->out);
    return result(decoder, n_bytes);
}

const char *fct_decoder_finish(fct_decoder *decoder, size_t *n_bytes) {
    decoder->out.size = 0;
    release(decoder, &decoder->out);
    return result(decoder, n_bytes);
}

fct_status fct_decode(const fct_vocabulary *vocabulary, const int *ids, size_t n_ids,
                      bool skip_control, char **text, size_t *n_bytes, fct_error *err) {
    fct_decoder decoder = {.vocabulary = vocabulary, .skip_control = skip_control};
    struct fct_text out = {0};
    for (size_t i = 0; i < n_ids; i++) decode_id(&decoder, ids[i], &out);
    release(&decoder, &out);
    fct_text_free(&decoder.held);
    *text = fct_text_finish(&out, n_bytes, err);
    return *text ? FCT_OK : FCT_ERR_MEMORY;
}
