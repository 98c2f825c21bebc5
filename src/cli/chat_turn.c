/* chat_turn.c - one turn: a question asked, its answer printed and kept. */
#include <stdio.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "cli/chat_state.h"
#include "cli/interrupt.h"
#include "cli/loading.h"
#include "cli/progress.h"

/* What the callbacks of the generation need. */
struct turn {
    struct fct_chat *chat;
    struct fct_answer_stream stream;
    struct fct_progress progress;
};

static bool write_text(void *user, int id, const char *text, size_t n_bytes) {
    struct turn *turn = user;
    (void)id;
    fct_progress_clear(&turn->progress);
    return fct_answer_stream_text(&turn->stream, text, n_bytes) && !fct_interrupted();
}

static bool write_thought(void *user, const char *text, size_t n_bytes) {
    struct turn *turn = user;
    fct_progress_clear(&turn->progress);
    return fct_answer_stream_thought(&turn->stream, text, n_bytes) && !fct_interrupted();
}

static bool show_reading(void *user, int n_done, int n_total) {
    struct turn *turn = user;
    fct_loading_update(&turn->progress, turn->chat->model, n_done, n_total);
    return !fct_interrupted();
}

static fct_status generate(struct fct_chat *chat, struct turn *turn, fct_generation *generation,
                           fct_error *err) {
    const struct fct_chat_options *options = &chat->options;
    fct_generate_options generate = fct_generate_defaults(chat->model);
    int *ids = NULL, n_ids;
    generate.max_tokens = options->max_tokens;
    generate.max_thought = options->max_thought;
    generate.constraint = chat->constraint;
    generate.stops = options->stops.texts;
    generate.n_stops = (int)options->stops.n_texts;
    generate.token = write_text;
    generate.thought = write_thought;
    generate.reading = show_reading;
    generate.user = turn;
    fct_status status =
        fct_sampling_choice_apply(&options->sampling, chat->model, &generate.sampling, err);
    if (!status) status = fct_chat_fit(chat, &ids, &n_ids, err);
    if (!status) status = fct_generate(chat->session, ids, n_ids, &generate, generation, err);
    fct_free(ids);
    return status;
}

static void add_up(struct fct_chat *chat, fct_generation *generation) {
    chat->totals.n_answers++;
    chat->totals.n_tokens += generation->n_ids;
    chat->totals.n_decoded += generation->n_decoded;
    chat->totals.last_reused = generation->n_reused;
    chat->totals.last_read = generation->n_prompt - generation->n_reused;
    chat->totals.n_reused += chat->totals.last_reused;
    chat->totals.n_read += chat->totals.last_read;
    chat->totals.decode_seconds += generation->decode_seconds;
    fct_free(chat->thought);
    chat->thought = generation->thought;
    generation->thought = NULL;
}

static void tell(struct fct_chat *chat, const fct_generation *generation) {
    if (generation->calls)
        fct_chat_note(chat, "the model calls tools, which chat has none of: %s", generation->calls);
    if (generation->warning[0]) fct_chat_note(chat, "%s", generation->warning);
    fct_chat_report(chat, generation);
    fct_chat_warn_of_end(chat);
}

/* An answer that was stopped before it began is none: the question is taken back too. */
static fct_status keep(struct fct_chat *chat, const fct_generation *generation, fct_error *err) {
    if (generation->reason == FCT_REASON_CANCELLED && generation->n_bytes == 0) {
        fct_conversation_undo(&chat->conversation);
        fct_chat_note(chat, "stopped before an answer: the question is taken back");
        return FCT_OK;
    }
    return fct_conversation_add(&chat->conversation, "assistant", generation->text,
                                generation->n_bytes, err);
}

void fct_chat_answer(struct fct_chat *chat) {
    struct turn turn = {.chat = chat};
    fct_generation generation = {0};
    fct_error err = {0};
    fct_interrupt_forget();
    fct_interrupt_catch();
    if (chat->edit) fct_echo_off();
    fct_answer_stream_begin(&turn.stream, chat->options.model.quiet && !chat->edit
                                              ? FCT_THOUGHTS_HIDDEN
                                              : (enum fct_thoughts)chat->options.thoughts);
    fct_progress_begin(&turn.progress, chat->options.model.quiet, false);
    fct_status status = generate(chat, &turn, &generation, &err);
    fct_progress_clear(&turn.progress);
    fct_answer_stream_end(&turn.stream);
    fct_echo_restore();
    if (!status) {
        add_up(chat, &generation);
        status = keep(chat, &generation, &err);
        tell(chat, &generation);
        if (!status) status = fct_format_check(chat->constraint, &generation, &err);
    } else {
        fct_conversation_undo(&chat->conversation);
    }
    chat->stopped = fct_interrupted();
    if (status) {
        chat->failed = true;
        fct_chat_warn(chat, "%s", err.message);
    }
    if (turn.stream.broken) chat->over = true;
    fct_answer_stream_free(&turn.stream);
    fct_generation_free(&generation);
}

void fct_chat_ask(struct fct_chat *chat, const char *text) {
    struct fct_text whole = {0};
    fct_error err = {0};
    if (chat->attached) fct_text_printf(&whole, "%s\n\n", chat->attached);
    fct_text_puts(&whole, text);
    fct_status status = FCT_ERR_MEMORY;
    if (!whole.failed)
        status = fct_conversation_add(&chat->conversation, "user", whole.data, whole.size, &err);
    fct_text_free(&whole);
    if (status) {
        fct_chat_warn(chat, "no memory for the question");
        return;
    }
    fct_free(chat->attached);
    chat->attached = NULL;
    fct_chat_answer(chat);
}
