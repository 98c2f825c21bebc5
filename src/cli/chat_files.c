/* chat_files.c - files in a conversation: /read, /save, /load. */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "cli/chat_state.h"
#include "cli/text_input.h"
#include "cli/user_folder.h"

#define TEXT_LIMIT ((size_t)16 << 20)

static void fail(struct fct_chat *chat, const fct_error *err) {
    chat->failed = true;
    fct_chat_warn(chat, "%s", err->message);
}

char *fct_chat_path(const char *path, fct_error *err) {
    const char *home = getenv("HOME");
    bool in_home = strncmp(path, "~/", 2) == 0 && home;
    return in_home ? fct_path_join(home, path + 2, err) : fct_copy_text(path, strlen(path), err);
}

static fct_status attach(struct fct_chat *chat, const char *path, int *n_ids, fct_error *err) {
    size_t n_bytes;
    int *ids = NULL;
    char *text = fct_file_read(path, TEXT_LIMIT, &n_bytes, err);
    if (!text) return err->code;
    struct fct_text joined = {0};
    fct_status status = FCT_OK;
    if (memchr(text, '\0', n_bytes))
        status = fct_fail(err, FCT_ERR_FORMAT, "%s: is no text: it has NUL bytes", path);
    fct_input_tidy(text, &n_bytes);
    if (!status) status = fct_input_repair("chat", path, &text, &n_bytes, err);
    if (!status) status = fct_tokenize(chat->model, text, n_bytes, 0, &ids, n_ids, NULL, err);
    if (!status) {
        if (chat->attached) fct_text_printf(&joined, "%s\n\n", chat->attached);
        fct_text_add(&joined, text, n_bytes);
        fct_free(chat->attached);
        chat->attached = fct_text_finish(&joined, NULL, err);
        if (!chat->attached) status = FCT_ERR_MEMORY;
    }
    fct_free(ids);
    fct_free(text);
    return status;
}

void fct_chat_read_file(struct fct_chat *chat, const char *argument) {
    fct_error err = {0};
    int n_ids;
    if (!*argument) {
        fct_fail(&err, FCT_ERR_ARGUMENT, "/read: the name of a file must follow");
        fail(chat, &err);
        return;
    }
    char *path = fct_chat_path(argument, &err);
    if (!path || attach(chat, path, &n_ids, &err) != FCT_OK)
        fail(chat, &err);
    else
        fct_chat_note(chat, "%s: %d tokens, in front of the next question", path, n_ids);
    fct_free(path);
}

/* A name stands for a file in facet's own folder; with a '/' in it, it is a path. */
static char *conversation_path(const char *command, const char *name, fct_error *err) {
    struct fct_text file = {0};
    if (!*name)
        return fct_fail_null(err, FCT_ERR_ARGUMENT, "%s: a name must follow, or a path with a /",
                             command);
    if (strchr(name, '/')) return fct_chat_path(name, err);
    if (name[0] == '.')
        return fct_fail_null(err, FCT_ERR_ARGUMENT, "%s: a name does not begin with a point",
                             command);
    fct_text_printf(&file, "chats/%s", name);
    char *path = file.failed ? NULL : fct_user_path(FCT_USER_DATA, file.data, err);
    fct_text_free(&file);
    return path;
}

void fct_chat_save(struct fct_chat *chat, const char *argument) {
    fct_error err = {0};
    char *path = conversation_path("/save", argument, &err);
    if (!path || fct_conversation_save(&chat->conversation, chat->session, path, &err) != FCT_OK)
        fail(chat, &err);
    else
        fct_chat_note(chat, "saved as %s", path);
    fct_free(path);
}

fct_status fct_chat_take_up(struct fct_chat *chat, const char *path, fct_error *err) {
    char refusal[256];
    fct_status status =
        fct_conversation_load(&chat->conversation, chat->session, path, refusal, err);
    if (status) return status;
    if (*refusal)
        fct_chat_warn(chat, "only the conversation is taken, and read again: %s", refusal);
    size_t n_turns = fct_conversation_turns(&chat->conversation, true);
    fct_chat_note(chat, "%s: %zu turn%s%s, %d tokens are held", path, n_turns,
                  n_turns == 1 ? "" : "s", chat->conversation.system ? " and a system message" : "",
                  fct_session_describe(chat->session).n_tokens);
    return FCT_OK;
}

void fct_chat_load(struct fct_chat *chat, const char *argument) {
    fct_error err = {0};
    char *path = conversation_path("/load", argument, &err);
    if (!path || fct_chat_take_up(chat, path, &err) != FCT_OK) fail(chat, &err);
    fct_free(path);
}
