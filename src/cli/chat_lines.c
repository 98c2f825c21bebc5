/* chat_lines.c - what chat tells the person beside the answers: on stderr, dimmed. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/chat_state.h"
#include "cli/folded.h"
#include "cli/progress.h"
#include "cli/run_rates.h"
#include "cli/tame.h"

#define NAME_COLUMN 20
#define FULL_LINE 56 /* columns that the line behind an answer wants */

static int width(void) { return fct_line_columns(STDERR_FILENO); }

static void print_line(const char *before, const char *after, const char *format, va_list values) {
    struct fct_text tamed = {0};
    char *text = NULL;
    int n = vasprintf(&text, format, values);
    if (n >= 0) fct_tame_lines_add(&tamed, text, (size_t)n);
    if (n >= 0 && tamed.data) {
        fputs(before, stderr);
        fct_folded_print(stderr, tamed.data, 0, 0, width());
        fputs(after, stderr);
    }
    free(text);
    fct_text_free(&tamed);
}

void fct_chat_note(const struct fct_chat *chat, const char *format, ...) {
    va_list values;
    if (chat->options.model.quiet) return;
    va_start(values, format);
    print_line(chat->style.dim, chat->style.off, format, values);
    va_end(values);
}

void fct_chat_show(const struct fct_chat *chat, const char *format, ...) {
    va_list values;
    (void)chat;
    va_start(values, format);
    print_line("", "", format, values);
    va_end(values);
}

void fct_chat_warn(const struct fct_chat *chat, const char *format, ...) {
    va_list values;
    va_start(values, format);
    print_line(chat->style.warning, chat->style.off, format, values);
    va_end(values);
}

void fct_chat_explain(const struct fct_chat *chat, const char *name, const char *format, ...) {
    char text[512];
    int columns = width() < 100 ? width() : 100, column = 2 + (int)strlen(name);
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    bool narrow = columns < 3 * NAME_COLUMN;
    bool fits = column < NAME_COLUMN && (!narrow || NAME_COLUMN + (int)strlen(text) <= columns);
    int indent = narrow && !fits ? 4 : NAME_COLUMN;
    fprintf(stderr, "  %s%s%s", chat->style.bold, name, chat->style.off);
    if (fits)
        fprintf(stderr, "%*s", indent - column, "");
    else
        fprintf(stderr, "\n%*s", indent, "");
    fct_folded_print(stderr, text, indent, indent, columns);
}

/* Why an answer ended, unless it just did. */
static const char *ending(fct_reason reason) {
    switch (reason) {
    case FCT_REASON_LENGTH:
        return "cut by -n";
    case FCT_REASON_CONTEXT:
        return "cut at the end of the context";
    case FCT_REASON_CANCELLED:
        return "stopped";
    case FCT_REASON_STOP:
        return "stop string";
    case FCT_REASON_END:
        break;
    }
    return NULL;
}

void fct_chat_report(const struct fct_chat *chat, const fct_generation *generation) {
    fct_session_info state = fct_session_describe(chat->session);
    bool narrow = isatty(STDERR_FILENO) && fct_terminal_columns(STDERR_FILENO) < FULL_LINE;
    const char *why = ending(generation->reason);
    struct fct_text line = {0};
    char rate[32];
    fct_rate_text(fct_rate(generation->n_decoded, generation->decode_seconds), rate);
    fct_text_printf(&line, "%d tok", generation->n_ids);
    if (generation->n_decoded > 0) fct_text_printf(&line, " · %s", rate);
    if (!narrow) fct_text_printf(&line, " · %d reused", generation->n_reused);
    fct_text_printf(&line, " · %s%d/%d", narrow ? "" : "context ", state.n_tokens, state.context);
    if (generation->n_thought && !narrow)
        fct_text_printf(&line, " · %d thought", generation->n_thought);
    if (why) fct_text_printf(&line, " · %s", why);
    if (!line.failed) fct_chat_note(chat, "%s", line.data);
    fct_text_free(&line);
}

void fct_chat_stats(const struct fct_chat *chat) {
    fct_model_info model = fct_model_describe(chat->model);
    fct_session_info state = fct_session_describe(chat->session);
    const struct fct_conversation *conversation = &chat->conversation;
    size_t n_turns = fct_conversation_turns(conversation, true),
           n_sent = fct_conversation_turns(conversation, false);
    char rate[32], size[32];
    fct_rate_text(fct_rate(chat->totals.n_decoded, chat->totals.decode_seconds), rate);
    fct_chat_explain(chat, "context", "%d of %d positions used, %d left", state.n_tokens,
                     state.context, state.context - state.n_tokens);
    fct_chat_explain(chat, "turns", "%zu%s", n_turns,
                     conversation->system ? " and a system message" : "");
    if (n_sent < n_turns)
        fct_chat_explain(chat, "", "%zu of them no longer fit and are not sent", n_turns - n_sent);
    fct_chat_explain(chat, "answers", "%d, %ld tokens, %s", chat->totals.n_answers,
                     chat->totals.n_tokens, rate);
    fct_chat_explain(chat, "prompts", "%ld tokens read, %ld reused; the last one %d and %d",
                     chat->totals.n_read, chat->totals.n_reused, chat->totals.last_read,
                     chat->totals.last_reused);
    fct_chat_explain(chat, "model", "%s, %s", model.source, model.weights);
    fct_chat_explain(chat, "running on", "%s, %d thread%s, memory %s, %s of keys and values (%s)",
                     model.kernels, state.decode_threads, state.decode_threads == 1 ? "" : "s",
                     model.memory, fct_size_text((double)state.kv_bytes, size), state.kv);
}
