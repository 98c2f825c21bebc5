/* chat_call.c - a call as the model writes it, and its arguments as JSON. */
#include "text/chat_call.h"

#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "text/exact_json.h"
#include "text/python_space.h"

static const char head[] = "call:";
enum { HEAD_BYTES = sizeof head - 1 };

/* Word characters for the reference; real tools also have names with '-', '.', '/' and ':'. */
static bool in_name(char c) {
    return (unsigned char)c > ' ' && c != FCT_CALL_QUOTE && !strchr("{}[]\",", c);
}

bool fct_call_begins(const char *text, size_t n_bytes) {
    size_t shared = n_bytes < HEAD_BYTES ? n_bytes : HEAD_BYTES;
    if (shared > 0 && memcmp(text, head, shared) != 0) return false;
    return n_bytes <= HEAD_BYTES || in_name(text[HEAD_BYTES]);
}

static void write_string(struct fct_text *out, const char *text, size_t n_bytes) {
    fct_text_puts(out, "\"");
    for (size_t i = 0; i < n_bytes; i++) {
        if ((unsigned char)text[i] < 0x20)
            fct_text_printf(out, "\\u%04x", text[i]);
        else if (text[i] == '"' || text[i] == '\\')
            fct_text_printf(out, "\\%c", text[i]);
        else
            fct_text_add(out, text + i, 1);
    }
    fct_text_puts(out, "\"");
}

/* A string between quote tokens, raw. Returns its length in the notation, or 0 if it is not closed.
 */
static size_t translate_quoted(const char *text, size_t n_bytes, struct fct_text *out) {
    const char *end = memchr(text + 1, FCT_CALL_QUOTE, n_bytes - 1);
    if (!end) return 0;
    write_string(out, text + 1, (size_t)(end - text) - 1);
    return (size_t)(end - text) + 1;
}

/* A string as JSON has it, copied. */
static size_t copy_string(const char *text, size_t n_bytes, struct fct_text *out) {
    size_t at = 1;
    while (at < n_bytes && text[at] != '"') at += text[at] == '\\' && at + 1 < n_bytes ? 2 : 1;
    if (at == n_bytes) return 0;
    fct_text_add(out, text, at + 1);
    return at + 1;
}

/* Text up to the next sign: a key without quotes if that is a colon, else a number, a word or
 * space, which JSON has too. */
static size_t translate_bare(const char *text, size_t n_bytes, struct fct_text *out) {
    size_t length = 0;
    while (length < n_bytes && text[length] != FCT_CALL_QUOTE &&
           !memchr("{}[]:,\"", text[length], 7))
        length++;
    struct fct_text_span key = fct_python_strip(text, length);
    if (length < n_bytes && text[length] == ':' && key.n_bytes > 0)
        write_string(out, key.text, key.n_bytes);
    else
        fct_text_add(out, text, length);
    return length;
}

/* The notation made JSON: only what differs is looked at, the rest is left to the reader of JSON to
 * accept or refuse. */
static bool translate(const char *text, size_t n_bytes, struct fct_text *out) {
    for (size_t at = 0, length; at < n_bytes; at += length) {
        const char *here = text + at;
        if (*here == FCT_CALL_QUOTE)
            length = translate_quoted(here, n_bytes - at, out);
        else if (*here == '"')
            length = copy_string(here, n_bytes - at, out);
        else if (memchr("{}[]:,", *here, 6))
            fct_text_add(out, here, length = 1);
        else
            length = translate_bare(here, n_bytes - at, out);
        if (length == 0) return false;
    }
    return true;
}

static fct_status read_arguments(const char *body, size_t n_bytes, struct fct_call *call,
                                 fct_error *err) {
    struct fct_text text = {0};
    bool closed = translate(body, n_bytes, &text);
    call->arguments = fct_text_finish(&text, &call->n_bytes, err);
    if (!call->arguments) return FCT_ERR_MEMORY;
    if (!closed)
        return fct_fail(err, FCT_ERR_FORMAT, "call of %s: a string is not closed", call->name);
    fct_error fault;
    json_t *value = fct_json_read(call->arguments, call->n_bytes, "its arguments", &fault);
    bool is_object = json_is_object(value);
    json_decref(value);
    if (!value) return fct_fail(err, FCT_ERR_FORMAT, "call of %s: %s", call->name, fault.message);
    if (!is_object)
        return fct_fail(err, FCT_ERR_FORMAT, "call of %s: its arguments are no object", call->name);
    return FCT_OK;
}

fct_status fct_call_read(const char *text, size_t n_bytes, struct fct_call *call, fct_error *err) {
    *call = (struct fct_call){0};
    size_t end = HEAD_BYTES;
    while (end < n_bytes && in_name(text[end])) end++;
    if (end == HEAD_BYTES || !fct_call_begins(text, n_bytes))
        return fct_fail(err, FCT_ERR_FORMAT, "call: it does not begin with call: and a name");
    call->name = fct_copy_text(text + HEAD_BYTES, end - HEAD_BYTES, err);
    if (!call->name) return FCT_ERR_MEMORY;
    struct fct_text_span body = fct_python_strip(text + end, n_bytes - end);
    fct_status status = read_arguments(body.text, body.n_bytes, call, err);
    if (status) fct_call_free(call);
    return status;
}

void fct_call_free(struct fct_call *call) {
    fct_free(call->name);
    fct_free(call->arguments);
    *call = (struct fct_call){0};
}
