/* chat_commands.c - what begins with '/': the table of commands, and the short ones. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cli/chat_state.h"

struct command {
    const char *name, *arguments, *help;
    void (*run)(struct fct_chat *chat, const char *argument);
};

static void help(struct fct_chat *chat, const char *argument);

static void reset(struct fct_chat *chat, const char *argument) {
    (void)argument;
    fct_conversation_clear(&chat->conversation);
    fct_chat_note(chat, "a new conversation%s",
                  chat->conversation.system ? "; the system message stays" : "");
}

static void stats(struct fct_chat *chat, const char *argument) {
    (void)argument;
    fct_chat_stats(chat);
}

static void quit(struct fct_chat *chat, const char *argument) {
    (void)argument;
    chat->over = true;
}

static void fail(struct fct_chat *chat, const char *why) {
    chat->failed = true;
    fct_chat_warn(chat, "%s", why);
}

/* Asks anew what may be stopped before it is answered: then all is as before. */
static void answer_or_restore(struct fct_chat *chat, json_t *before, size_t first,
                              const char *question) {
    struct fct_conversation *conversation = &chat->conversation;
    if (question)
        fct_chat_ask(chat, question);
    else
        fct_chat_answer(chat);
    if (before && json_array_size(conversation->messages) < json_array_size(before)) {
        json_decref(conversation->messages);
        conversation->messages = json_incref(before);
        conversation->first = first;
    }
    json_decref(before);
}

static void retry(struct fct_chat *chat, const char *argument) {
    (void)argument;
    json_t *before = json_copy(chat->conversation.messages);
    size_t first = chat->conversation.first;
    if (fct_conversation_reopen(&chat->conversation)) {
        answer_or_restore(chat, before, first, NULL);
    } else {
        json_decref(before);
        fail(chat, "/retry: nothing was asked yet");
    }
}

static void undo(struct fct_chat *chat, const char *argument) {
    (void)argument;
    if (!fct_conversation_undo(&chat->conversation))
        fail(chat, "/undo: nothing was asked yet");
    else
        fct_chat_note(chat, "the last question and its answer are taken back; turns left: %zu",
                      fct_conversation_turns(&chat->conversation, true));
}

void fct_chat_replace(struct fct_chat *chat, const char *text) {
    json_t *before = json_copy(chat->conversation.messages);
    size_t first = chat->conversation.first;
    fct_conversation_undo(&chat->conversation);
    answer_or_restore(chat, before, first, text);
}

/* A text is asked instead of the last question; without one the question comes to the prompt. */
static void edit(struct fct_chat *chat, const char *argument) {
    const char *question = fct_conversation_question(&chat->conversation);
    if (!question) {
        fail(chat, "/edit: nothing was asked yet");
        return;
    }
    if (!*argument && !chat->edit) {
        fail(chat, "/edit: a text must follow, to ask instead of the last question");
        return;
    }
    if (*argument) {
        fct_chat_replace(chat, argument);
        return;
    }
    fct_free(chat->draft);
    chat->draft = fct_copy_text(question, strlen(question), NULL);
    chat->replaces = chat->draft != NULL;
}

/* Tokens of a text, or of the conversation as it is sent. */
static void tokens(struct fct_chat *chat, const char *argument) {
    int *ids = NULL, n_ids = 0;
    fct_error err;
    bool whole = !*argument;
    fct_status status =
        whole ? fct_conversation_render(&chat->conversation, chat->model, chat->options.think,
                                        false, &ids, &n_ids, &err)
              : fct_tokenize(chat->model, argument, strlen(argument), 0, &ids, &n_ids, NULL, &err);
    if (status)
        fail(chat, err.message);
    else
        fct_chat_show(chat, "%d token%s%s", n_ids, n_ids == 1 ? "" : "s",
                      whole ? " in the conversation" : "");
    fct_free(ids);
}

static void thought(struct fct_chat *chat, const char *argument) {
    (void)argument;
    if (chat->thought)
        fct_chat_show(chat, "%s", chat->thought);
    else
        fct_chat_note(chat, "the last answer came without a thought");
}

static const struct command commands[] = {
    {"help", "", "this list", help},
    {"reset", "", "forget the conversation, but not the system message", reset},
    {"undo", "", "take the last question and its answer back", undo},
    {"retry", "", "answer the last question again", retry},
    {"edit", "[TEXT]", "change the last question (or ask TEXT instead)", edit},
    {"system", "[TEXT|-]", "show, set or drop (-) the system message", fct_chat_system},
    {"think", "[on|off|fold|show|hide|N]", "thinking; how thoughts are shown; at most N tokens",
     fct_chat_think},
    {"thought", "", "the last answer's thought in full", thought},
    {"set", "[NAME VALUE]", "show or change settings, such as temperature or format", fct_chat_set},
    {"read", "FILE", "put the text of a file in front of the next question", fct_chat_read_file},
    {"save", "NAME", "keep the conversation", fct_chat_save},
    {"load", "NAME", "take a kept conversation up again", fct_chat_load},
    {"tokens", "[TEXT]", "count tokens of TEXT, or of the conversation", tokens},
    {"stats", "", "what was used, read and written", stats},
    {"quit", "", "end; so does Ctrl+D", quit},
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void help(struct fct_chat *chat, const char *argument) {
    (void)argument;
    for (int i = 0; i < N_COMMANDS; i++) {
        char usage[64];
        snprintf(usage, sizeof usage, "/%s %s", commands[i].name, commands[i].arguments);
        fct_chat_explain(chat, usage, "%s", commands[i].help);
    }
    fct_chat_explain(chat, "",
                     "A command may be cut short (/q). A text that begins with / is typed "
                     "with //.");
    fct_chat_explain(chat, "several lines",
                     "paste them, press Alt+Enter, or type them between \"\"\" and \"\"\"");
    fct_chat_explain(chat, "Ctrl+C",
                     "stops an answer, gives a line up; twice, it ends the program");
    fct_chat_explain(chat, "Up, Down", "what was asked before; Ctrl+R searches it");
}

const char *const *fct_chat_command_names(void) {
    static const char *names[N_COMMANDS + 1];
    for (int i = 0; i < N_COMMANDS; i++) names[i] = commands[i].name;
    return names;
}

/* Letters only: "/etc/passwd" is no command. */
static size_t name_length(const char *line) {
    size_t n = 1;
    while (line[n] >= 'a' && line[n] <= 'z') n++;
    bool ends = line[n] == '\0' || line[n] == ' ' || line[n] == '\t' || line[n] == '\n';
    return line[0] == '/' && n > 1 && ends ? n - 1 : 0;
}

bool fct_chat_is_command(const char *line) { return name_length(line) > 0; }

/* By its name, or as much of it as no other begins with. */
static const struct command *find(const char *name, size_t n, int *n_found) {
    const struct command *found = NULL;
    *n_found = 0;
    for (int i = 0; i < N_COMMANDS; i++) {
        if (strncmp(commands[i].name, name, n) != 0) continue;
        if (strlen(commands[i].name) == n) {
            *n_found = 1;
            return &commands[i];
        }
        found = &commands[i];
        ++*n_found;
    }
    return found;
}

void fct_chat_command(struct fct_chat *chat, const char *line) {
    size_t n = name_length(line), n_space = strspn(line + 1 + n, " \t\n");
    int n_found;
    const struct command *command = find(line + 1, n, &n_found);
    if (n_found == 1) {
        fct_error err;
        const char *argument = line + 1 + n + n_space;
        size_t length = strlen(argument);
        while (length > 0 && strchr(" \t\n", argument[length - 1])) length--;
        char *trimmed = fct_copy_text(argument, length, &err);
        if (trimmed) command->run(chat, trimmed);
        fct_free(trimmed);
        return;
    }
    char word[32];
    snprintf(word, sizeof word, "%.*s", (int)(n < 31 ? n : 31), line + 1);
    const char *near = fct_nearest(word, fct_chat_command_names(), N_COMMANDS);
    chat->failed = true;
    fct_chat_warn(chat, "/%s %s%s%s%s (/help lists the commands; // begins a text with a /)", word,
                  n_found ? "may be several commands" : "is no command",
                  !n_found && near ? "; did you mean /" : "", !n_found && near ? near : "",
                  !n_found && near ? "?" : "");
}
