/* generate.c - the one loop behind run, chat, serve, bench and verify: choose an id, say its text,
 * read it. */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "engine/session.h"

fct_generate_options fct_generate_defaults(const fct_model *model) {
    return (fct_generate_options){.sampling = model->sampling};
}

void fct_generation_free(fct_generation *generation) {
    if (!generation) return;
    free(generation->ids);
    free(generation->text);
    generation->ids = NULL;
    generation->text = NULL;
}

/* An answer in the making. */
struct answer {
    fct_session *session;
    const fct_generate_options *options;
    fct_generation *out;
    fct_detokenizer *detokenizer; /* NULL: the model has no tokenizer, there is no text */
    struct fct_text text;
    size_t said;    /* bytes of text that were handed on */
    size_t checked; /* bytes in which no stop string begins */
    bool cancelled;
};

/* Does a stop string occur from `checked` on? Sets *at to where. Else moves checked up to where one
 * may still begin. */
static bool find_stop(struct answer *a, size_t *at) {
    size_t open = a->text.size;
    bool found = false;
    for (int i = 0; i < a->options->n_stops; i++) {
        const char *stop = a->options->stops[i];
        size_t n = strlen(stop);
        for (size_t from = a->checked; n && from < a->text.size; from++) {
            size_t left = a->text.size - from, same = left < n ? left : n;
            if (memcmp(a->text.data + from, stop, same) != 0) continue;
            if (same == n && (!found || from < *at)) {
                *at = from;
                found = true;
            }
            if (from < open) open = from;
            break;
        }
    }
    if (!found) a->checked = open;
    return found;
}

/* Hands on the text up to `end` that was not yet, with the id that made it certain. */
static void say(struct answer *a, int id, size_t end) {
    if (!a->options->token || a->cancelled) return;
    const char *text = a->text.data ? a->text.data + a->said : "";
    if (!a->options->token(a->options->user, id, text, end - a->said)) a->cancelled = true;
    a->said = end;
}

/* Takes new text into the answer. True if a stop string ends it here. */
static bool take_text(struct answer *a, int id, const char *text, size_t n_bytes) {
    size_t stop_at;
    fct_text_add(&a->text, text, n_bytes);
    if (!find_stop(a, &stop_at)) {
        if (id >= 0 || a->checked > a->said) say(a, id, a->checked);
        return false;
    }
    a->text.size = stop_at;
    a->text.data[stop_at] = 0;
    say(a, id, stop_at > a->said ? stop_at : a->said);
    return true;
}

static bool take_id(struct answer *a, int id) {
    size_t n_bytes = 0;
    const char *text = a->detokenizer ? fct_detokenizer_push(a->detokenizer, id, &n_bytes) : "";
    a->out->ids[a->out->n_ids++] = id;
    return take_text(a, id, text, n_bytes);
}

/* What was held back by the detokenizer or for a stop string belongs to the answer after all. */
static void take_rest(struct answer *a) {
    size_t n_bytes = 0, stop_at;
    const char *text = a->detokenizer ? fct_detokenizer_finish(a->detokenizer, &n_bytes) : "";
    fct_text_add(&a->text, text, n_bytes);
    if (find_stop(a, &stop_at)) {
        a->text.size = stop_at;
        a->text.data[stop_at] = 0;
        a->out->reason = FCT_REASON_STOP;
    }
    if (a->text.size > a->said) say(a, -1, a->text.size);
}

static int choose(struct answer *a) {
    fct_session *s = a->session;
    if (fct_sampling_is_greedy(&a->options->sampling)) return s->best;
    return fct_sampler_choose(&s->sampler, &a->options->sampling, s->scratch.logits, s->ids,
                              a->out->n_prompt, s->n_ids);
}

static fct_status loop(struct answer *a, int limit, fct_error *err) {
    fct_generation *out = a->out;
    for (;;) {
        if (out->n_ids >= limit) {
            out->reason = a->options->max_tokens && limit == a->options->max_tokens
                              ? FCT_REASON_LENGTH
                              : FCT_REASON_CONTEXT;
            return FCT_OK;
        }
        int id = choose(a);
        if (!a->options->ignore_end && fct_is_end_id(a->session->model, id)) {
            out->ids[out->n_ids++] = id;
            take_rest(a);
            say(a, id, a->text.size);
            if (out->reason != FCT_REASON_STOP)
                out->reason = a->cancelled ? FCT_REASON_CANCELLED : FCT_REASON_END;
            return FCT_OK;
        }
        bool stopped = take_id(a, id);
        out->reason = stopped ? FCT_REASON_STOP : FCT_REASON_CANCELLED;
        if (stopped || a->cancelled) return FCT_OK;
        if (out->n_ids >= limit) continue; /* nobody will ask what comes behind it */
        fct_status status = fct_session_append(a->session, id, err);
        if (status != FCT_OK) return status;
        out->n_decoded++;
    }
}

/* Room for everything up front, so that the loop itself allocates nothing. */
static fct_status prepare(struct answer *a, int limit, fct_error *err) {
    a->out->ids = fct_new_array((size_t)limit + 1, sizeof *a->out->ids, err);
    if (!a->out->ids) return FCT_ERR_MEMORY;
    fct_status status =
        fct_grow((void **)&a->text.data, &a->text.capacity, (size_t)limit * 16 + 256, 1, err);
    if (status != FCT_OK) return status;
    a->text.data[0] = 0;
    if (!a->session->model->vocabulary) return FCT_OK;
    a->detokenizer = fct_detokenizer_new(a->session->model, true, err);
    return a->detokenizer ? FCT_OK : FCT_ERR_MEMORY;
}

static fct_status generate(struct answer *a, const int *prompt, int n_prompt, fct_error *err) {
    fct_session *s = a->session;
    fct_generation *out = a->out;
    int room = s->context - n_prompt + 1; /* the last id need not be read */
    int limit =
        a->options->max_tokens && a->options->max_tokens < room ? a->options->max_tokens : room;
    double start = fct_seconds();
    fct_status status = fct_session_prefill(s, prompt, n_prompt, err);
    if (status == FCT_OK) status = prepare(a, limit, err);
    if (status != FCT_OK) return status;
    fct_session_mark(s); /* the answer may be asked for again */
    out->n_prompt = n_prompt;
    out->n_reused = s->n_reused;
    out->seed = fct_sampler_seed(&s->sampler, a->options->sampling.seed);
    double first = fct_seconds();
    out->prompt_seconds = first - start;
    status = loop(a, limit, err);
    if (status == FCT_OK && out->reason != FCT_REASON_END && out->reason != FCT_REASON_STOP)
        take_rest(a);
    out->decode_seconds = fct_seconds() - first;
    fct_session_mark(s); /* the conversation goes on from here, perhaps more than once */
    if (status == FCT_OK && a->text.failed)
        status = fct_fail(err, FCT_ERR_MEMORY, "no memory for the answer's text");
    return status;
}

fct_status fct_generate(fct_session *session, const int *prompt, int n_prompt,
                        const fct_generate_options *options, fct_generation *out, fct_error *err) {
    fct_generate_options defaults = fct_generate_defaults(session->model);
    struct answer a = {.session = session, .options = options ? options : &defaults, .out = out};
    memset(out, 0, sizeof *out);
    if (a.options->max_tokens < 0)
        return fct_fail(err, FCT_ERR_ARGUMENT,
                        "a limit of %d tokens: it must be 0 (no limit) or more",
                        a.options->max_tokens);
    fct_status status =
        fct_sampling_check(&a.options->sampling, session->model->config.vocab_size, err);
    if (status == FCT_OK) status = generate(&a, prompt, n_prompt, err);
    fct_detokenizer_free(a.detokenizer);
    if (status != FCT_OK) {
        fct_text_free(&a.text);
        fct_generation_free(out);
        return status;
    }
    out->n_bytes = a.text.size;
    out->text = a.text.data;
    return FCT_OK;
}
