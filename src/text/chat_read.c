/* chat_read.c - a whole answer in text form, read back into a message. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "text/answer.h"
#include "text/chat.h"
#include "text/exact_json.h"

struct message {
    struct fct_text thought, content;
    json_t *calls;
    bool failed;
};

json_t *fct_chat_call_object(const char *name, const char *arguments, size_t n_bytes) {
    json_t *object = fct_json_read(arguments, n_bytes, "arguments", NULL);
    return json_pack("{s:s, s:{s:s, s:o}}", "type", "function", "function", "name", name,
                     "arguments", object);
}

static bool gather(void *user, const struct fct_answer_event *event) {
    struct message *message = user;
    if (event->part == FCT_ANSWER_CALL) {
        if (json_array_append_new(message->calls,
                                  fct_chat_call_object(event->name, event->text, event->n_bytes)))
            message->failed = true;
    } else {
        struct fct_text *text =
            event->part == FCT_ANSWER_THOUGHT ? &message->thought : &message->content;
        fct_text_add(text, event->text, event->n_bytes);
        message->failed |= text->failed;
    }
    return !message->failed;
}

static bool set_text(json_t *object, const char *name, const struct fct_text *text) {
    if (text->size == 0) return true;
    return json_object_set_new(object, name, json_stringn(text->data, text->size)) == 0;
}

static json_t *message_object(const struct message *message) {
    json_t *object = json_pack("{s:s}", "role", "assistant");
    bool fine = object && set_text(object, "thinking", &message->thought) &&
                set_text(object, "content", &message->content);
    if (fine && json_array_size(message->calls) > 0)
        fine = json_object_set(object, "tool_calls", message->calls) == 0;
    if (fine) return object;
    json_decref(object);
    return NULL;
}

static fct_status read_answer(const char *prefix, const char *answer, struct message *message,
                              char warning[256], fct_error *err) {
    fct_answer_reader *reader = fct_answer_reader_new(true, gather, message, err);
    if (!reader) return FCT_ERR_MEMORY;
    fct_status status = fct_answer_reader_prompt(reader, prefix, strlen(prefix), err);
    if (!status) status = fct_answer_reader_push_names(reader, answer, strlen(answer), err);
    if (!status) status = fct_answer_reader_finish(reader, err);
    if (warning) snprintf(warning, 256, "%s", fct_answer_reader_warning(reader));
    fct_answer_reader_free(reader);
    return status;
}

json_t *fct_chat_read(const char *prefix, const char *answer, char warning[256], fct_error *err) {
    if (warning) warning[0] = 0;
    if (!prefix) prefix = "";
    if (!fct_utf8_valid(prefix, strlen(prefix)) || !fct_utf8_valid(answer, strlen(answer)))
        return fct_fail_null(err, FCT_ERR_ARGUMENT, "answer: it is not valid UTF-8");
    struct message message = {.calls = json_array()};
    json_t *object = NULL;
    fct_status status = FCT_ERR_MEMORY;
    if (message.calls) status = read_answer(prefix, answer, &message, warning, err);
    if (!status) object = message_object(&message);
    if (!object && (!status || message.failed || !message.calls))
        fct_fail(err, FCT_ERR_MEMORY, "answer: no memory for the message");
    fct_text_free(&message.thought);
    fct_text_free(&message.content);
    json_decref(message.calls);
    return object;
}
