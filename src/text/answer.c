/* answer.c - an answer read while it is being written: thoughts, content and calls, told apart
 * token by token. */
#include "text/answer.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/chat_call.h"
#include "text/python_space.h"

enum region { CONTENT, LABEL, THOUGHT, CALL };

/* A part that is trimmed while it is written. */
struct part {
    bool begun;           /* something that is not white space was there */
    struct fct_text held; /* white space that may turn out to be the end */
};

struct fct_answer_reader {
    bool keep_markers;
    fct_answer_fn event;
    void *user;
    enum region region;
    struct part content, thought;
    bool thought_before; /* an earlier thought was not empty: a newline goes between */
    struct fct_text raw; /* of a label or a call that is not complete yet */
    size_t raw_end;      /* where the first end marker stands in raw; SIZE_MAX: nowhere */
    char warning[256];
    fct_error fault; /* the first failure; its code sticks */
};

static const char label[] = "thought\n";
enum { LABEL_BYTES = sizeof label - 1 };

static const char *const markers[] = {"<|channel>",   "<channel|>", "<|tool_call>",
                                      "<tool_call|>", "<|\"|>",     "<|tool_response>",
                                      "<turn|>",      "<eos>"};
enum { N_MARKERS = sizeof markers / sizeof markers[0] };

static bool is(struct fct_text_span piece, const char *name) {
    return piece.n_bytes == strlen(name) && memcmp(piece.text, name, piece.n_bytes) == 0;
}

static bool ends_answer(struct fct_text_span name) {
    return is(name, "<turn|>") || is(name, "<|tool_response>") || is(name, "<eos>");
}

/* ---- reporting ---- */

static void report(fct_answer_reader *r, enum fct_answer_part part, const char *text,
                   size_t n_bytes, const char *name) {
    if (r->fault.code) return;
    const struct fct_answer_event event = {part, text, n_bytes, name};
    if (!r->event(r->user, &event))
        fct_fail(&r->fault, FCT_ERR_CANCELLED, "answer: reading was stopped");
}

static void add(fct_answer_reader *r, struct fct_text *text, const char *bytes, size_t n_bytes) {
    fct_text_add(text, bytes, n_bytes);
    if (text->failed && !r->fault.code) fct_fail(&r->fault, FCT_ERR_MEMORY, "answer: no memory");
}

/* Reports what is certain: everything but white space at the beginning, and at the end as far as is
 * known. */
static void write_part(fct_answer_reader *r, struct part *part, enum fct_answer_part name,
                       const char *text, size_t n_bytes) {
    if (n_bytes == 0) return;
    if (!part->begun) {
        size_t space = fct_leading_space(text, n_bytes);
        text += space;
        n_bytes -= space;
    }
    if (n_bytes == 0) return;
    size_t certain = n_bytes - fct_trailing_space(text, n_bytes);
    if (certain > 0) {
        bool joint = !part->begun && part == &r->thought && r->thought_before;
        if (joint) add(r, &part->held, "\n", 1);
        part->begun = true;
        add(r, &part->held, text, certain);
        if (!r->fault.code) report(r, name, part->held.data, part->held.size, NULL);
        part->held.size = 0;
    }
    add(r, &part->held, text + certain, n_bytes - certain);
}

static void write_content(fct_answer_reader *r, const char *text, size_t n_bytes) {
    write_part(r, &r->content, FCT_ANSWER_CONTENT, text, n_bytes);
}

static void write_thought(fct_answer_reader *r, const char *text, size_t n_bytes) {
    write_part(r, &r->thought, FCT_ANSWER_THOUGHT, text, n_bytes);
}

/* What shows of a marker that means nothing where it stands. */
static struct fct_text_span plain(const fct_answer_reader *r, struct fct_text_span name) {
    if (r->keep_markers) return name;
    return is(name, "<|\"|>") ? (struct fct_text_span){"\"", 1} : (struct fct_text_span){"", 0};
}

static void write_plain(fct_answer_reader *r, const char *name) {
    struct fct_text_span shown = plain(r, (struct fct_text_span){name, strlen(name)});
    write_content(r, shown.text, shown.n_bytes);
}

/* ---- content ---- */

static void enter(fct_answer_reader *r, enum region region) {
    r->region = region;
    r->raw.size = 0;
    r->raw_end = SIZE_MAX;
}

static void content_marker(fct_answer_reader *r, struct fct_text_span name) {
    struct fct_text_span shown = plain(r, name);
    if (is(name, "<|channel>"))
        enter(r, LABEL);
    else if (is(name, "<|tool_call>"))
        enter(r, CALL);
    else if (!ends_answer(name))
        write_content(r, shown.text, shown.n_bytes);
}

/* ---- thoughts ---- */

static void end_thought(fct_answer_reader *r) {
    r->thought_before |= r->thought.begun;
    r->thought.begun = false;
    r->thought.held.size = 0;
    enter(r, CONTENT);
}

static void thought_marker(fct_answer_reader *r, struct fct_text_span name) {
    struct fct_text_span shown = plain(r, name);
    if (is(name, "<channel|>") || (ends_answer(name) && !r->keep_markers))
        end_thought(r);
    else
        write_thought(r, shown.text, shown.n_bytes);
}

/* A channel of another name is no thought: what was held is content. */
static void give_up_label(fct_answer_reader *r) {
    enter(r, CONTENT); /* leaves the bytes of raw in place */
    write_plain(r, "<|channel>");
}

static void label_text(fct_answer_reader *r, struct fct_text_span text) {
    size_t before = r->raw.size;
    add(r, &r->raw, text.text, text.n_bytes);
    size_t size = r->raw.size, shared = size < LABEL_BYTES ? size : LABEL_BYTES;
    if (r->fault.code) return;
    if (memcmp(r->raw.data, label, shared) != 0) {
        give_up_label(r);
        write_content(r, r->raw.data, size);
    } else if (size >= LABEL_BYTES) {
        size_t used = LABEL_BYTES - before;
        enter(r, THOUGHT);
        write_thought(r, text.text + used, text.n_bytes - used);
    }
}

static void label_marker(fct_answer_reader *r, struct fct_text_span name) {
    if (!r->keep_markers && r->raw.size == LABEL_BYTES - 1) { /* closed without its newline */
        enter(r, THOUGHT);
        thought_marker(r, name);
        return;
    }
    size_t size = r->raw.size;
    give_up_label(r);
    write_content(r, r->raw.data, size);
    content_marker(r, name);
}

/* ---- calls ---- */

static void warn(fct_answer_reader *r, const char *why) {
    if (r->warning[0]) return;
    snprintf(r->warning, sizeof r->warning, "kept as content: %s", why);
    while (!fct_utf8_valid(r->warning, strlen(r->warning))) r->warning[strlen(r->warning) - 1] = 0;
}

/* The call's text as content, as it was written. */
static void give_up_call(fct_answer_reader *r, size_t n_bytes, bool closed, const char *why) {
    warn(r, why);
    enter(r, CONTENT);
    write_plain(r, "<|tool_call>");
    for (size_t at = 0; at < n_bytes;) {
        const char *text = r->raw.data + at;
        if (*text == FCT_CALL_QUOTE) {
            write_plain(r, "<|\"|>");
            at++;
            continue;
        }
        const char *quote = memchr(text, FCT_CALL_QUOTE, n_bytes - at);
        size_t length = quote ? (size_t)(quote - text) : n_bytes - at;
        write_content(r, text, length);
        at += length;
    }
    if (closed) write_plain(r, "<tool_call|>");
}

static void end_call(fct_answer_reader *r) {
    struct fct_call call;
    fct_error why;
    fct_status status = fct_call_read(r->raw.data, r->raw.size, &call, &why);
    if (status == FCT_ERR_MEMORY) {
        r->fault = why;
    } else if (status) {
        give_up_call(r, r->raw.size, true, why.message);
    } else {
        enter(r, CONTENT);
        report(r, FCT_ANSWER_CALL, call.arguments, call.n_bytes, call.name);
        fct_call_free(&call);
    }
}

static void abandon_call(fct_answer_reader *r) {
    size_t n_bytes = r->raw.size < r->raw_end ? r->raw.size : r->raw_end;
    give_up_call(r, n_bytes, false, "call: it is not closed");
}

static void call_text(fct_answer_reader *r, struct fct_text_span text) {
    add(r, &r->raw, text.text, text.n_bytes);
    if (!r->fault.code && !fct_call_begins(r->raw.data, r->raw.size))
        give_up_call(r, r->raw.size, false, "call: it does not begin with call: and a name");
}

static void call_marker(fct_answer_reader *r, struct fct_text_span name) {
    const char quote = FCT_CALL_QUOTE;
    struct fct_text_span shown =
        is(name, "<|\"|>") ? (struct fct_text_span){&quote, 1} : plain(r, name);
    if (is(name, "<tool_call|>")) {
        end_call(r);
    } else if (ends_answer(name) && !r->keep_markers) {
        abandon_call(r);
    } else {
        if (ends_answer(name) && r->raw_end == SIZE_MAX) r->raw_end = r->raw.size;
        call_text(r, shown);
    }
}

/* ---- the reader ---- */

fct_answer_reader *fct_answer_reader_new(bool keep_markers, fct_answer_fn event, void *user,
                                         fct_error *err) {
    fct_answer_reader *reader = fct_new(sizeof *reader, err);
    if (!reader) return NULL;
    reader->keep_markers = keep_markers;
    reader->event = event;
    reader->user = user;
    reader->raw_end = SIZE_MAX;
    return reader;
}

void fct_answer_reader_free(fct_answer_reader *reader) {
    if (!reader) return;
    fct_text_free(&reader->content.held);
    fct_text_free(&reader->thought.held);
    fct_text_free(&reader->raw);
    fct_free(reader);
}

static fct_status status_of(const fct_answer_reader *reader, fct_error *err) {
    if (reader->fault.code && err) *err = reader->fault;
    return reader->fault.code;
}

fct_status fct_answer_reader_push(fct_answer_reader *reader, const char *text, size_t n_bytes,
                                  bool control, fct_error *err) {
    static void (*const on_text[])(fct_answer_reader *, struct fct_text_span) = {
        [LABEL] = label_text, [CALL] = call_text};
    static void (*const on_marker[])(fct_answer_reader *, struct fct_text_span) = {
        content_marker, label_marker, thought_marker, call_marker};
    struct fct_text_span piece = {text, n_bytes};
    if (reader->fault.code || n_bytes == 0) return status_of(reader, err);
    if (control)
        on_marker[reader->region](reader, piece);
    else if (reader->region == CONTENT)
        write_content(reader, text, n_bytes);
    else if (reader->region == THOUGHT)
        write_thought(reader, text, n_bytes);
    else
        on_text[reader->region](reader, piece);
    return status_of(reader, err);
}

fct_status fct_answer_reader_push_id(fct_answer_reader *reader, const fct_vocabulary *vocabulary,
                                     fct_decoder *decoder, int id, fct_error *err) {
    bool control = fct_vocabulary_is_control(vocabulary, id);
    size_t n_bytes = 0;
    /* A control token ends a run of bytes; its own name comes from the vocabulary. */
    const char *text =
        control ? fct_decoder_finish(decoder, &n_bytes) : fct_decoder_push(decoder, id, &n_bytes);
    if (!text) return fct_fail(err, FCT_ERR_MEMORY, "answer: no memory for a token's text");
    fct_status status = fct_answer_reader_push(reader, text, n_bytes, false, err);
    if (status || !control) return status;
    text = fct_vocabulary_piece(vocabulary, id, &n_bytes);
    return fct_answer_reader_push(reader, text, n_bytes, true, err);
}

/* The marker that text begins with, or NULL. */
static const char *marker_at(const char *text, size_t n_bytes) {
    for (int i = 0; i < N_MARKERS; i++) {
        size_t length = strlen(markers[i]);
        if (length <= n_bytes && memcmp(text, markers[i], length) == 0) return markers[i];
    }
    return NULL;
}

fct_status fct_answer_reader_push_names(fct_answer_reader *reader, const char *text, size_t n_bytes,
                                        fct_error *err) {
    size_t start = 0;
    for (size_t at = 0; at < n_bytes;) {
        const char *name = text[at] == '<' ? marker_at(text + at, n_bytes - at) : NULL;
        if (!name) {
            at++;
            continue;
        }
        fct_answer_reader_push(reader, text + start, at - start, false, NULL);
        fct_answer_reader_push(reader, name, strlen(name), true, NULL);
        start = at += strlen(name);
    }
    return fct_answer_reader_push(reader, text + start, n_bytes - start, false, err);
}

/* Where text goes on behind the last name in it; 0 if there is none. */
static size_t behind_last(const char *text, size_t n_bytes, const char *name) {
    size_t length = strlen(name), behind = 0;
    for (const char *at = text; (at = memmem(at, n_bytes - (size_t)(at - text), name, length));) {
        at += length;
        behind = (size_t)(at - text);
    }
    return behind;
}

fct_status fct_answer_reader_prompt(fct_answer_reader *reader, const char *prompt, size_t n_bytes,
                                    fct_error *err) {
    size_t turn = behind_last(prompt, n_bytes, "<|turn>model\n");
    size_t response = behind_last(prompt, n_bytes, "<tool_response|>");
    size_t start = turn > response ? turn : response;
    return fct_answer_reader_push_names(reader, prompt + start, n_bytes - start, err);
}

fct_status fct_answer_reader_finish(fct_answer_reader *reader, fct_error *err) {
    if (reader->region == CALL) abandon_call(reader);
    if (reader->region == LABEL && reader->keep_markers) {
        size_t size = reader->raw.size;
        give_up_label(reader);
        write_content(reader, reader->raw.data, size);
    }
    return status_of(reader, err);
}

bool fct_answer_reader_thinking(const fct_answer_reader *reader) {
    return reader->region == THOUGHT;
}

const char *fct_answer_reader_warning(const fct_answer_reader *reader) { return reader->warning; }
