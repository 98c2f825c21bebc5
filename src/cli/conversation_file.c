/* conversation_file.c - a conversation as text and as a file (docs/CHAT.md), and back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "cli/conversation.h"

#define FORMAT "facet-conversation"
#define FILE_LIMIT ((size_t)64 << 20)

/* A conversation as JSON text (docs/CHAT.md); the caller's (free). */
static char *text_of(const struct fct_conversation *c, fct_error *err) {
    json_t *object =
        json_pack("{s:s, s:i, s:s?, s:I, s:O}", "format", FORMAT, "version", 1, "system", c->system,
                  "not_sent", (json_int_t)c->first, "messages", c->messages);
    char *text = object ? json_dumps(object, JSON_INDENT(1)) : NULL;
    json_decref(object);
    if (!text) fct_fail(err, FCT_ERR_MEMORY, "no memory for the conversation's text");
    return text;
}

static bool is_json_name(const char *path) {
    size_t n = strlen(path);
    return n > 5 && strcmp(path + n - 5, ".json") == 0;
}

fct_status fct_conversation_save(const struct fct_conversation *c, const fct_session *session,
                                 const char *path, fct_error *err) {
    bool only_text = is_json_name(path) || fct_session_describe(session).n_tokens == 0;
    char *text = text_of(c, err);
    if (!text) return FCT_ERR_MEMORY;
    fct_status status = only_text ? fct_file_write(path, text, strlen(text), err)
                                  : fct_session_save(session, path, text, err);
    free(text);
    return status;
}

static fct_status check_message(const json_t *message, size_t i, const char *path, fct_error *err) {
    const char *role = json_string_value(json_object_get(message, "role"));
    if (!role || (strcmp(role, "user") != 0 && strcmp(role, "assistant") != 0))
        return fct_fail(err, FCT_ERR_FORMAT,
                        "%s: messages[%zu].role must be \"user\" or \"assistant\"", path, i);
    if (!json_is_string(json_object_get(message, "content")))
        return fct_fail(err, FCT_ERR_FORMAT, "%s: messages[%zu].content must be a string", path, i);
    return FCT_OK;
}

/* A list of messages that begins with a system message is understood too. */
static const json_t *leading_system(const json_t *messages) {
    const json_t *first = json_array_get(messages, 0);
    const char *role = json_string_value(json_object_get(first, "role"));
    bool is_system = role && (strcmp(role, "system") == 0 || strcmp(role, "developer") == 0);
    return is_system ? json_object_get(first, "content") : NULL;
}

static fct_status read_object(struct fct_conversation *c, json_t *object, const char *path,
                              fct_error *err) {
    const json_t *messages = json_object_get(object, "messages"),
                 *system = json_object_get(object, "system");
    json_int_t not_sent = json_integer_value(json_object_get(object, "not_sent"));
    if (!json_is_array(messages))
        return fct_fail(err, FCT_ERR_FORMAT, "%s: \"messages\" must be a list", path);
    if (system && !json_is_string(system) && !json_is_null(system))
        return fct_fail(err, FCT_ERR_FORMAT, "%s: \"system\" must be a string", path);
    const json_t *leading = leading_system(messages);
    if (!json_is_string(system)) system = leading;
    if (json_string_length(system) !=
        strlen(json_is_string(system) ? json_string_value(system) : ""))
        return fct_fail(err, FCT_ERR_FORMAT, "%s: the system message holds a NUL character", path);
    fct_status status = fct_conversation_set_system(c, json_string_value(system), err);
    for (size_t i = leading ? 1 : 0; i < json_array_size(messages) && !status; i++) {
        const json_t *message = json_array_get(messages, i);
        const json_t *content = json_object_get(message, "content");
        status = check_message(message, i, path, err);
        if (!status)
            status =
                fct_conversation_add(c, json_string_value(json_object_get(message, "role")),
                                     json_string_value(content), json_string_length(content), err);
    }
    if (status) return status;
    if (not_sent < 0 || (size_t)not_sent > json_array_size(c->messages))
        return fct_fail(err, FCT_ERR_FORMAT, "%s: \"not_sent\" is not a number of messages", path);
    c->first = (size_t)not_sent;
    return FCT_OK;
}

/* path names the text in messages. On failure the conversation is as it was. */
static fct_status read_text(struct fct_conversation *c, const char *text, size_t n_bytes,
                            const char *path, fct_error *err) {
    json_error_t fault;
    struct fct_conversation loaded = {0};
    json_t *object = json_loadb(text, n_bytes, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &fault);
    if (!object)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: line %d: %s", path, fault.line, fault.text);
    fct_status status = fct_conversation_init(&loaded, err);
    if (!status) status = read_object(&loaded, object, path, err);
    json_decref(object);
    if (status) {
        fct_conversation_free(&loaded);
        return status;
    }
    fct_conversation_free(c);
    *c = loaded;
    return FCT_OK;
}

/* Does the file begin as a text of JSON does? A session's file begins with a length. */
static bool is_text(const char *path) {
    unsigned char begin[2] = {0, 0};
    FILE *file = fopen(path, "rb");
    size_t n = file ? fread(begin, 1, sizeof begin, file) : 0;
    if (file) fclose(file);
    return n < 2 || (strchr("{[ \t\r\n", begin[0]) && begin[1] >= 9 && begin[1] < 0x7F);
}

static fct_status load_text(struct fct_conversation *c, const char *path, fct_error *err) {
    size_t n_bytes;
    char *text = fct_file_read(path, FILE_LIMIT, &n_bytes, err);
    if (!text) return err ? err->code : FCT_ERR_IO;
    fct_status status = read_text(c, text, n_bytes, path, err);
    fct_free(text);
    return status;
}

fct_status fct_conversation_load(struct fct_conversation *c, fct_session *session, const char *path,
                                 char refusal[256], fct_error *err) {
    char *text = NULL;
    fct_error why = {0};
    refusal[0] = '\0';
    if (is_text(path)) return load_text(c, path, err);
    fct_status status = fct_session_load(session, path, &text, &why);
    if (status) snprintf(refusal, 256, "%.255s", why.message);
    if (text)
        status = read_text(c, text, strlen(text), path, err);
    else if (!status)
        status = fct_fail(err, FCT_ERR_FORMAT, "%s: it holds no conversation", path);
    else if (err)
        *err = why;
    fct_free(text);
    return status;
}
