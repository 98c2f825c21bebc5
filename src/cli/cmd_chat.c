/* cmd_chat.c - `facet chat`: a conversation, typed or piped. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "cli/chat_state.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/known_threads.h"
#include "cli/prompt_input.h"
#include "cli/text_input.h"
#include "cli/user_folder.h"

static const char *const on_full_names[] = {"stop", "roll", NULL};
static const char *const thoughts_names[] = {"hide", "fold", "show", NULL};

#define AT(field) offsetof(struct fct_chat_options, field)
const struct fct_option fct_chat_own_options[] = {
    {"tokens", 'n', FCT_OPTION_INTEGER, AT(max_tokens), "N",
     "at most N tokens an answer; 0: up to the context", "1024", 0, INT32_MAX, NULL},
    {"system", 0, FCT_OPTION_TEXT, AT(system), "TEXT", "the system message", NULL, 0, 0, NULL},
    {"load", 0, FCT_OPTION_TEXT, AT(load), "NAME", "begin with a conversation that /save kept",
     NULL, 0, 0, NULL},
    {"session", 0, FCT_OPTION_TEXT, AT(session_path), "FILE",
     "take the conversation in FILE up, if there is one, and keep it there at the end", NULL, 0, 0,
     NULL},
    {"on-full", 0, FCT_OPTION_CHOICE, AT(on_full), "HOW",
     "when the context is full: stop, or roll (the oldest turns are no longer sent)", "stop", 0, 0,
     on_full_names},
    {"think", 0, FCT_OPTION_FLAG, AT(think), NULL,
     "let the model think before it answers; thoughts go to stderr", NULL, 0, 0, NULL},
    {"think-tokens", 0, FCT_OPTION_INTEGER, AT(max_thought), "N",
     "at most N tokens of thinking, then the model has to answer; 0: no limit", "0", 0, INT32_MAX,
     NULL},
    {"thoughts", 0, FCT_OPTION_CHOICE, AT(thoughts), "HOW",
     "thoughts on the terminal: show, fold (to one line), hide", "show", 0, 0, thoughts_names},
    {"stop", 0, FCT_OPTION_TEXTS, AT(stops), "TEXT",
     "end an answer before TEXT; may be given several times", NULL, 0, 0, NULL},
    {NULL, '0', FCT_OPTION_FLAG, AT(zero), NULL,
     "piped prompts end with a NUL instead of a newline, and none is a command", NULL, 0, 0, NULL},
    {0},
};
static const struct fct_option_group groups[] = {
    {"Options", fct_chat_own_options, 0},
    FCT_FORMAT_GROUP(struct fct_chat_options, format),
    FCT_SAMPLING_GROUP(struct fct_chat_options, sampling),
    FCT_MODEL_GROUP(struct fct_chat_options, model),
    {0},
};

/* ---- one prompt ---- */

static bool is_blank(const char *text) { return text[strspn(text, " \t\r\n")] == '\0'; }

static void take_prompt(struct fct_chat *chat, const char *text) {
    bool replaces = chat->replaces;
    chat->replaces = false;
    if (is_blank(text)) return;
    if (fct_chat_is_command(text))
        fct_chat_command(chat, text);
    else if (replaces)
        fct_chat_replace(chat, text + (strncmp(text, "//", 2) == 0));
    else
        fct_chat_ask(chat, text + (strncmp(text, "//", 2) == 0));
}

/* ---- prompts that are piped ---- */

static int run_piped(struct fct_chat *chat) {
    struct fct_prompt_input input = {.end = chat->options.zero ? '\0' : '\n'};
    enum fct_line line = FCT_LINE_READ;
    fct_error err;
    fct_interrupt_fd();
    fct_interrupt_catch();
    while (!chat->over && !chat->stopped) {
        char *text;
        line = fct_prompt_input_read(&input, &text, &err);
        if (line != FCT_LINE_READ) break;
        if (!chat->options.zero)
            take_prompt(chat, text);
        else if (!is_blank(text))
            fct_chat_ask(chat, text);
        fct_free(text);
    }
    fct_prompt_input_free(&input);
    if (line == FCT_LINE_FAILED) return fct_failure("chat", &err);
    if (line == FCT_LINE_INTERRUPTED || chat->stopped) return FCT_EXIT_INTERRUPTED;
    return chat->failed ? FCT_EXIT_FAILURE : FCT_EXIT_GOOD;
}

/* ---- prompts that are typed ---- */

struct prompts {
    char first[32], more[32]; /* escape sequences between \1 */
};

/* libedit shows an escape sequence with the character behind it: the space has to stand last. */
static struct prompts prompts_of(const struct fct_chat *chat) {
    struct prompts prompts = {"> ", ". "};
    if (!*chat->style.off) return prompts;
    snprintf(prompts.first, sizeof prompts.first, "\1%s\1>\1%s\1 ", chat->style.bold,
             chat->style.off);
    snprintf(prompts.more, sizeof prompts.more, "\1%s\1.\1%s\1 ", chat->style.dim, chat->style.off);
    return prompts;
}

static bool ends_block(const char *text) {
    size_t n = strlen(text);
    return n >= 3 && strcmp(text + n - 3, "\"\"\"") == 0;
}

/* Behind a line that begins with """: the lines up to one that ends with it. */
static enum fct_line read_block(struct fct_chat *chat, const char *prompt, char **text,
                                fct_error *err) {
    struct fct_text block = {0};
    enum fct_line line = FCT_LINE_READ;
    bool empty, closed = strlen(*text) >= 6 && ends_block(*text);
    fct_text_puts(&block, *text + 3);
    fct_free(*text);
    while (line == FCT_LINE_READ && !closed) {
        char *more;
        line = fct_line_edit_read(chat->edit, prompt, NULL, &more, &empty, err);
        if (line != FCT_LINE_READ) break;
        if (block.size > 0) fct_text_puts(&block, "\n");
        fct_text_puts(&block, more);
        closed = ends_block(more);
        fct_free(more);
    }
    if (closed) block.data[block.size -= 3] = '\0';
    *text = line == FCT_LINE_READ ? fct_text_finish(&block, NULL, err) : NULL;
    fct_text_free(&block);
    return line == FCT_LINE_READ && !*text ? FCT_LINE_FAILED : line;
}

static enum fct_line read_prompt(struct fct_chat *chat, const struct prompts *prompts, char **text,
                                 bool *was_empty, fct_error *err) {
    enum fct_line line =
        fct_line_edit_read(chat->edit, prompts->first, chat->draft, text, was_empty, err);
    fct_free(chat->draft);
    chat->draft = NULL;
    if (line == FCT_LINE_READ && strncmp(*text, "\"\"\"", 3) == 0) {
        line = read_block(chat, prompts->more, text, err);
        *was_empty = false;
    }
    return line;
}

/* Ctrl+C: a line is given up; behind another Ctrl+C, an empty one is the end. */
static bool interrupt_ends(struct fct_chat *chat, bool was_empty) {
    if (was_empty && chat->stopped) return true;
    if (chat->replaces) fct_chat_note(chat, "the question stays as it was");
    chat->replaces = false;
    chat->stopped = was_empty;
    if (was_empty) fct_chat_note(chat, "Ctrl+C once more ends facet; so does Ctrl+D");
    return false;
}

static int run_typed(struct fct_chat *chat) {
    struct prompts prompts = prompts_of(chat);
    fct_error err;
    fct_chat_note(chat, "/help lists the commands; Ctrl+D ends");
    while (!chat->over) {
        char *text;
        bool was_empty = false;
        switch (read_prompt(chat, &prompts, &text, &was_empty, &err)) {
        case FCT_LINE_READ:
            chat->stopped = false;
            if (!is_blank(text)) fct_line_edit_remember(chat->edit, text);
            take_prompt(chat, text);
            fct_free(text);
            break;
        case FCT_LINE_END:
            fputc('\n', stderr);
            return FCT_EXIT_GOOD;
        case FCT_LINE_INTERRUPTED:
            if (interrupt_ends(chat, was_empty)) return FCT_EXIT_INTERRUPTED;
            break;
        case FCT_LINE_FAILED:
            return fct_failure("chat", &err);
        }
    }
    return FCT_EXIT_GOOD;
}

/* ---- set-up ---- */

/* The editor counts columns by the locale; without one, the names of other characters are wrong. */
static void choose_locale(void) {
    setlocale(LC_CTYPE, "");
    if (MB_CUR_MAX == 1) setlocale(LC_CTYPE, "C.UTF-8");
}

static fct_status begin_conversation(struct fct_chat *chat, fct_error *err) {
    fct_status status = fct_conversation_init(&chat->conversation, err);
    if (status) return status;
    if (chat->options.load) {
        fct_chat_load(chat, chat->options.load);
        if (chat->failed)
            return fct_fail(err, FCT_ERR_IO, "there is no conversation to begin with");
    }
    const char *path = chat->options.session_path;
    if (path && access(path, F_OK) == 0 && (status = fct_chat_take_up(chat, path, err)) != FCT_OK)
        return status;
    if (!chat->options.system) return FCT_OK;
    size_t n_bytes = strlen(chat->options.system);
    char *system = fct_copy_text(chat->options.system, n_bytes, err);
    status = system ? fct_input_repair("chat", "--system", &system, &n_bytes, err) : FCT_ERR_MEMORY;
    if (!status) status = fct_conversation_set_system(&chat->conversation, system, err);
    fct_free(system);
    return status;
}

static fct_status open_model(struct fct_chat *chat, fct_error *err) {
    chat->model = fct_model_choice_open(&chat->options.model, "chat", err);
    if (!chat->model) return FCT_ERR_IO;
    fct_status status = fct_tokenizer_check(chat->model, "run --prompt-ids", err);
    if (!status)
        status = fct_format_choice_constraint(&chat->options.format, chat->model, &chat->constraint,
                                              err);
    if (status) return status;
    fct_session_options sizes = fct_model_choice_session(&chat->options.model);
    fct_known_threads_use(chat->model, &sizes);
    chat->session = fct_session_new(chat->model, &sizes, err);
    return chat->session ? FCT_OK : FCT_ERR_MEMORY;
}

/* Typing needs a terminal to read from and one to show it on. */
static fct_status open_editor(struct fct_chat *chat, char **history, fct_error *err) {
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO) || chat->options.zero) return FCT_OK;
    choose_locale();
    *history = fct_user_path(FCT_USER_STATE, "history", NULL);
    chat->edit = fct_line_edit_new(*history, fct_chat_command_names(), err);
    return chat->edit ? FCT_OK : FCT_ERR_MEMORY;
}

/* An untouched conversation is not kept: the file may have been taken up without its state. */
static fct_status keep_session(const struct fct_chat *chat, fct_error *err) {
    const char *path = chat->options.session_path;
    if (!path || fct_session_describe(chat->session).n_tokens == 0) return FCT_OK;
    return fct_conversation_save(&chat->conversation, chat->session, path, err);
}

static int run(const void *command_options, struct fct_arguments arguments) {
    const struct fct_chat_options *options = command_options;
    struct fct_chat chat = {.options = *options, .style = fct_style_for(STDERR_FILENO)};
    char *history = NULL;
    fct_error err = {0};
    int code;
    (void)arguments;
    fct_status status = open_model(&chat, &err);
    if (!status) status = begin_conversation(&chat, &err);
    if (!status) status = open_editor(&chat, &history, &err);
    if (status) {
        code = fct_failure("chat", &err);
    } else {
        code = chat.edit ? run_typed(&chat) : run_piped(&chat);
        if (keep_session(&chat, &err) != FCT_OK) code = fct_failure("chat", &err);
    }
    fct_line_edit_free(chat.edit);
    fct_conversation_free(&chat.conversation);
    fct_known_threads_keep(chat.model, chat.session);
    fct_session_free(chat.session);
    fct_constraint_free(chat.constraint);
    fct_model_free(chat.model);
    fct_free(chat.attached);
    fct_free(chat.draft);
    fct_free(chat.thought);
    fct_free(chat.schema);
    fct_free(chat.stop);
    fct_free(history);
    return code;
}

static void set_defaults(void *command_options) {
    struct fct_chat_options *options = command_options;
    options->max_tokens = 1024;
    options->thoughts = FCT_THOUGHTS_SHOWN;
    fct_sampling_choice_defaults(&options->sampling);
}

const struct fct_command fct_cmd_chat = {
    .name = "chat",
    .synopsis = "[OPTIONS]",
    .summary = "talk with a model, turn by turn",
    .about =
        "Talks with a model. On a terminal prompts are edited, with a history, several lines and "
        "commands (/help lists them); answers are streamed, and a line behind each says what it "
        "took. Ctrl+C stops an answer and keeps the conversation; at the prompt a second one ends "
        "the program, as Ctrl+D does.\n\n"
        "Piped input is one prompt a line; blank lines are skipped, lines such as /reset are "
        "commands, and a text that begins with / is written with //. Answers, each ending its "
        "line, are all that goes to standard output. The exit code is 0 at the end of the input, "
        "1 if a prompt or command failed.\n\n"
        "A turn costs only its own tokens: what the cache holds already is not read again.",
    .groups = groups,
    .max_arguments = 0,
    .options_bytes = sizeof(struct fct_chat_options),
    .set_defaults = set_defaults,
    .run = run,
};
