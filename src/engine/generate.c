/* generate.c - the one loop behind run, chat, serve, bench and verify: choose an id, say its text,
 * read it. */
#include "engine/generate.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "engine/answer_text.h"
#include "engine/constraint.h"
#include "engine/guide.h"
#include "engine/session.h"

fct_generate_options fct_generate_defaults(const fct_model *model) {
    return (fct_generate_options){.sampling = model->sampling};
}

void fct_generation_free(fct_generation *generation) {
    if (!generation) return;
    free(generation->ids);
    free(generation->text);
    free(generation->thought);
    free(generation->calls);
    generation->ids = NULL;
    generation->text = generation->thought = generation->calls = NULL;
}

/* An answer in the making. */
struct answer {
    fct_session *session;
    const fct_generate_options *options;
    const struct fct_chooser *chooser; /* NULL: the sampler */
    fct_generation *out;
    struct fct_answer_text text;
    fct_guide *guide; /* NULL: no constraint */
    double began;
    int limit;         /* of ids */
    int thought_close; /* id that ends a thought; -1: it cannot be ended */
};

static bool thought_is_too_long(const struct answer *a) {
    return a->options->max_thought && a->out->n_thought >= a->options->max_thought &&
           a->thought_close >= 0 && fct_answer_text_thinking(&a->text);
}

/* What the model says, whether it may or not. */
static int propose(const struct answer *a) {
    fct_session *s = a->session;
    if (a->chooser) return a->chooser->choose(a->chooser->user, a->out->n_ids);
    if (fct_sampling_is_greedy(&a->options->sampling)) return s->best;
    return fct_sampler_choose(&s->sampler, &a->options->sampling, s->scratch.logits, s->ids,
                              a->out->n_prompt, s->n_ids);
}

/* With a constraint, sampling is done among what it allows; a choice that is not left to chance is
 * made first, and kept if it is allowed. */
static fct_status choose(const struct answer *a, int *id, fct_error *err) {
    const fct_sampling *sampling = &a->options->sampling;
    if (thought_is_too_long(a)) {
        *id = a->thought_close;
        return FCT_OK;
    }
    bool chance = a->guide && !a->chooser && sampling->temperature > 0;
    *id = chance ? -1 : propose(a);
    if (!a->guide) return FCT_OK;
    return fct_guide_choose(a->guide, a->session, sampling, a->out->n_prompt, id, err);
}

/* Takes an id into the answer. *over: it was the last one. */
static fct_status take(struct answer *a, int id, bool *over, fct_error *err) {
    fct_generation *out = a->out;
    out->ids[out->n_ids++] = id;
    out->n_thought += fct_answer_text_thinking(&a->text);
    if (a->guide) fct_guide_take(a->guide, id);
    *over = true;
    if (!a->options->ignore_end && fct_is_end_id(a->session->model, id)) {
        out->reason = FCT_REASON_END;
        return FCT_OK;
    }
    fct_status status = fct_answer_text_take(&a->text, id, err);
    if (status != FCT_OK) return status;
    *over = a->text.stopped || a->text.cancelled;
    return FCT_OK;
}

/* What a token costs is told apart from choosing it and from what the callbacks do. */
static fct_status append(struct answer *a, int id, fct_error *err) {
    double began = fct_seconds();
    fct_status status = fct_session_append(a->session, id, err);
    if (status != FCT_OK) return status;
    a->out->decode_seconds += fct_seconds() - began;
    a->out->n_decoded++;
    return FCT_OK;
}

static fct_status loop(struct answer *a, fct_error *err) {
    fct_generation *out = a->out;
    out->reason = a->limit == a->options->max_tokens ? FCT_REASON_LENGTH : FCT_REASON_CONTEXT;
    while (out->n_ids < a->limit) {
        bool over;
        int id;
        fct_status status = choose(a, &id, err);
        if (out->n_ids == 0) out->first_token_seconds = fct_seconds() - a->began;
        if (status == FCT_OK) status = take(a, id, &over, err);
        if (status != FCT_OK || over) return status;
        if (out->n_ids == a->limit) return FCT_OK; /* nobody will ask what comes behind it */
        status = append(a, id, err);
        if (status != FCT_OK) return status;
    }
    return FCT_OK;
}

/* Says what was held back, and the id that ended the answer. */
static fct_status end(struct answer *a, fct_error *err) {
    fct_generation *out = a->out;
    fct_status status = fct_answer_text_finish(&a->text, err);
    if (status != FCT_OK) return status;
    if (out->reason == FCT_REASON_END) fct_answer_text_say_id(&a->text, out->ids[out->n_ids - 1]);
    out->complete = a->guide && fct_guide_complete(a->guide) && !a->text.stopped;
    if (a->text.stopped)
        out->reason = FCT_REASON_STOP;
    else if (a->text.cancelled)
        out->reason = FCT_REASON_CANCELLED;
    return FCT_OK;
}

/* Room for everything up front, so that the loop itself allocates next to nothing. */
static fct_status prepare(struct answer *a, const int *prompt, int n_prompt, fct_error *err) {
    fct_session *s = a->session;
    int room = s->context - n_prompt + 1; /* the last id need not be read */
    a->limit =
        a->options->max_tokens && a->options->max_tokens < room ? a->options->max_tokens : room;
    a->thought_close =
        s->model->vocabulary ? fct_vocabulary_control(s->model->vocabulary, "<channel|>") : -1;
    a->out->n_prompt = n_prompt;
    a->out->ids = fct_new_array((size_t)a->limit + 1, sizeof *a->out->ids, err);
    if (!a->out->ids) return FCT_ERR_MEMORY;
    fct_status status =
        fct_answer_text_begin(&a->text, s->model, a->options, prompt, n_prompt, a->limit, err);
    if (status != FCT_OK || !a->options->constraint) return status;
    a->guide = fct_guide_new(a->options->constraint, prompt, n_prompt, a->text.reader,
                             fct_answer_text_thinking(&a->text), err);
    return a->guide ? FCT_OK : FCT_ERR_MEMORY;
}

static fct_status generate(struct answer *a, const int *prompt, int n_prompt, fct_error *err) {
    fct_session *s = a->session;
    fct_generation *out = a->out;
    fct_status status = fct_session_check(s, prompt, n_prompt, err);
    if (status == FCT_OK) status = prepare(a, prompt, n_prompt, err);
    if (status != FCT_OK) return status;
    a->began = fct_seconds();
    status = fct_session_read(s, prompt, n_prompt, a->options->reading, a->options->user, err);
    out->n_reused = s->n_reused;
    out->prompt_seconds = out->whole_seconds = fct_seconds() - a->began;
    if (status == FCT_ERR_CANCELLED) {
        out->reason = FCT_REASON_CANCELLED;
        return FCT_OK;
    }
    if (status != FCT_OK) return status;
    fct_session_mark(s); /* the answer may be asked for again */
    out->seed = fct_sampler_seed(&s->sampler, a->options->sampling.seed);
    status = loop(a, err);
    if (status == FCT_OK) status = end(a, err);
    out->whole_seconds = fct_seconds() - a->began;
    fct_session_mark(s); /* the conversation goes on from here, perhaps more than once */
    return status;
}

fct_status fct_generate_chosen(fct_session *session, const int *prompt, int n_prompt,
                               const fct_generate_options *options,
                               const struct fct_chooser *chooser, fct_generation *out,
                               fct_error *err) {
    fct_generate_options defaults = fct_generate_defaults(session->model);
    struct answer a = {.session = session,
                       .options = options ? options : &defaults,
                       .chooser = chooser,
                       .out = out};
    memset(out, 0, sizeof *out);
    if (a.options->max_tokens < 0 || a.options->max_thought < 0)
        return fct_fail(err, FCT_ERR_ARGUMENT,
                        "a limit of %d tokens: it must be 0 (no limit) or more",
                        a.options->max_tokens < 0 ? a.options->max_tokens : a.options->max_thought);
    if (a.options->constraint && a.options->constraint->model != session->model)
        return fct_fail(err, FCT_ERR_ARGUMENT,
                        "the constraint was made for another model than the session's");
    fct_status status =
        fct_sampling_check(&a.options->sampling, session->model->config.vocab_size, err);
    if (status == FCT_OK) status = generate(&a, prompt, n_prompt, err);
    if (status == FCT_OK) status = fct_answer_text_give(&a.text, out, err);
    fct_answer_text_free(&a.text);
    fct_guide_free(a.guide);
    if (status != FCT_OK) fct_generation_free(out);
    return status;
}

fct_status fct_generate(fct_session *session, const int *prompt, int n_prompt,
                        const fct_generate_options *options, fct_generation *out, fct_error *err) {
    return fct_generate_chosen(session, prompt, n_prompt, options, NULL, out, err);
}
