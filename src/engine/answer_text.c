/* answer_text.c - the ids of an answer made text: parts told apart, stop strings found, and handed
 * on as soon as it is certain. */
#include "engine/answer_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "text/exact_json.h"

/* ---- stop strings ---- */

/* Does a stop string occur in the content from `checked` on? Sets *at to where. Else moves checked
 * up to where one may still begin. */
static bool find_stop(struct fct_answer_text *t, size_t *at) {
    const struct fct_text *content = &t->content;
    size_t open = content->size;
    bool found = false;
    for (int i = 0; i < t->options->n_stops; i++) {
        const char *stop = t->options->stops[i];
        size_t n = strlen(stop);
        for (size_t from = t->checked; n && from < content->size; from++) {
            size_t left = content->size - from, same = left < n ? left : n;
            if (memcmp(content->data + from, stop, same) != 0) continue;
            if (same == n && (!found || from < *at)) {
                *at = from;
                found = true;
            }
            if (from < open) open = from;
            break;
        }
    }
    if (!found) t->checked = open;
    return found;
}

/* Cuts the content off at a stop string, if there is one. */
static void look_for_stop(struct fct_answer_text *t) {
    size_t at = 0;
    if (t->stopped || t->content.failed || !find_stop(t, &at)) return;
    t->stopped = true;
    t->content.size = t->checked = at;
    t->content.data[at] = 0;
}

/* ---- handing on ---- */

/* Hands on the content up to `end` that was not yet, with the id that made it certain. */
static void say(struct fct_answer_text *t, int id, size_t end) {
    if (!t->options->token || t->cancelled) return;
    const char *text = t->content.data ? t->content.data + t->said : "";
    size_t n_bytes = end > t->said ? end - t->said : 0;
    if (!t->options->token(t->options->user, id, text, n_bytes)) t->cancelled = true;
    t->said += n_bytes;
}

void fct_answer_text_say_id(struct fct_answer_text *t, int id) { say(t, id, t->said); }

static void take_thought(struct fct_answer_text *t, const struct fct_answer_event *event) {
    fct_text_add(&t->thought, event->text, event->n_bytes);
    if (t->options->thought && !t->cancelled &&
        !t->options->thought(t->options->user, event->text, event->n_bytes))
        t->cancelled = true;
}

static void take_call(struct fct_answer_text *t, const struct fct_answer_event *event) {
    json_t *call = fct_chat_call_object(event->name, event->text, event->n_bytes);
    if (!t->calls) t->calls = json_array();
    if (json_array_append_new(t->calls, call) != 0)
        fct_fail(&t->fault, FCT_ERR_MEMORY, "no memory for a call");
    if (t->options->call && !t->cancelled &&
        !t->options->call(t->options->user, event->name, event->text, event->n_bytes))
        t->cancelled = true;
}

static bool take_event(void *user, const struct fct_answer_event *event) {
    struct fct_answer_text *t = user;
    if (t->in_prompt) return true;
    if (event->part == FCT_ANSWER_THOUGHT)
        take_thought(t, event);
    else if (event->part == FCT_ANSWER_CALL)
        take_call(t, event);
    else
        fct_text_add(&t->content, event->text, event->n_bytes);
    return true;
}

/* ---- ids ---- */

static fct_status read_id(struct fct_answer_text *t, int id, fct_error *err) {
    size_t n_bytes;
    if (!t->decoder) return FCT_OK;
    if (t->reader)
        return fct_answer_reader_push_id(t->reader, t->model->vocabulary, t->decoder, id, err);
    const char *text = fct_decoder_push(t->decoder, id, &n_bytes);
    if (!text) return fct_fail(err, FCT_ERR_MEMORY, "no memory for a token's text");
    fct_text_add(&t->content, text, n_bytes);
    return FCT_OK;
}

static fct_status read_rest(struct fct_answer_text *t, fct_error *err) {
    size_t n_bytes;
    if (!t->decoder) return FCT_OK;
    const char *text = fct_decoder_finish(t->decoder, &n_bytes);
    if (!text) return fct_fail(err, FCT_ERR_MEMORY, "no memory for the end of the text");
    if (!t->reader) {
        fct_text_add(&t->content, text, n_bytes);
        return FCT_OK;
    }
    fct_status status = fct_answer_reader_push(t->reader, text, n_bytes, false, err);
    return status ? status : fct_answer_reader_finish(t->reader, err);
}

fct_status fct_answer_text_take(struct fct_answer_text *t, int id, fct_error *err) {
    fct_status status = read_id(t, id, err);
    if (status) return status;
    look_for_stop(t);
    say(t, id, t->checked);
    return FCT_OK;
}

fct_status fct_answer_text_finish(struct fct_answer_text *t, fct_error *err) {
    if (t->stopped) return FCT_OK;
    fct_status status = read_rest(t, err);
    if (status) return status;
    look_for_stop(t);
    if (t->content.size > t->said) say(t, -1, t->content.size);
    return FCT_OK;
}

bool fct_answer_text_thinking(const struct fct_answer_text *t) {
    return t->reader && fct_answer_reader_thinking(t->reader);
}

/* ---- begin and end ---- */

static bool has_newline(const fct_model *model, int id) {
    size_t n_bytes;
    const char *piece = fct_vocabulary_piece(model->vocabulary, id, &n_bytes);
    return piece && memchr(piece, '\n', n_bytes);
}

/* Where the answer begins in the prompt: behind the header of its last turn, or its last tool
 * response. */
static int answer_begins(const fct_model *model, const int *prompt, int n_prompt) {
    int turn = fct_vocabulary_control(model->vocabulary, "<|turn>"),
        response = fct_vocabulary_control(model->vocabulary, "<tool_response|>");
    int at = n_prompt - 1;
    while (at >= 0 && prompt[at] != turn && prompt[at] != response) at--;
    if (at < 0) return n_prompt;
    bool header = prompt[at] == turn;
    while (header && at < n_prompt && !has_newline(model, prompt[at])) at++;
    return at < n_prompt ? at + 1 : n_prompt;
}

static fct_status read_prompt(struct fct_answer_text *t, const int *prompt, int n_prompt,
                              fct_error *err) {
    fct_status status = FCT_OK;
    t->in_prompt = true;
    for (int i = answer_begins(t->model, prompt, n_prompt); i < n_prompt && !status; i++)
        status = read_id(t, prompt[i], err);
    t->in_prompt = false;
    return status;
}

fct_status fct_answer_text_begin(struct fct_answer_text *t, const fct_model *model,
                                 const fct_generate_options *options, const int *prompt,
                                 int n_prompt, int limit, fct_error *err) {
    t->model = model;
    t->options = options;
    size_t room = (size_t)limit * 16 + 256;
    fct_status status = fct_grow((void **)&t->content.data, &t->content.capacity, room, 1, err);
    if (status) return status;
    t->content.data[0] = 0;
    if (!model->vocabulary) return FCT_OK;
    bool has_parts = model->chat == FCT_CHAT_GEMMA4 && !options->raw;
    t->decoder = fct_decoder_new(model->vocabulary, !has_parts, err);
    if (t->decoder && has_parts) t->reader = fct_answer_reader_new(false, take_event, t, err);
    if (!t->decoder || (has_parts && !t->reader)) return FCT_ERR_MEMORY;
    return has_parts ? read_prompt(t, prompt, n_prompt, err) : FCT_OK;
}

void fct_answer_text_free(struct fct_answer_text *t) {
    fct_answer_reader_free(t->reader);
    fct_decoder_free(t->decoder);
    fct_text_free(&t->content);
    fct_text_free(&t->thought);
    json_decref(t->calls);
}

fct_status fct_answer_text_give(struct fct_answer_text *t, fct_generation *out, fct_error *err) {
    if (t->fault.code) return fct_fail(err, t->fault.code, "%s", t->fault.message);
    if (t->calls && !(out->calls = fct_json_write(t->calls, JSON_COMPACT, NULL, err)))
        return FCT_ERR_MEMORY;
    if (t->thought.size > 0 && !(out->thought = fct_text_finish(&t->thought, NULL, err)))
        return FCT_ERR_MEMORY;
    if (t->reader)
        snprintf(out->warning, sizeof out->warning, "%s", fct_answer_reader_warning(t->reader));
    out->text = fct_text_finish(&t->content, &out->n_bytes, err);
    return out->text ? FCT_OK : FCT_ERR_MEMORY;
}
