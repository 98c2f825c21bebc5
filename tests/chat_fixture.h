/* chat_fixture.h - for tests of the chat format: requests in JSON, written and encoded. */
#ifndef FCT_TESTS_CHAT_FIXTURE_H
#define FCT_TESTS_CHAT_FIXTURE_H

#include "json_lines.h"
#include "text/chat.h"

/* The conversation of a vector or request {"messages", "tools", "kwargs"}. */
static inline fct_status write_request(enum fct_chat_format format, const json_t *request,
                                       struct fct_rendering *out, fct_error *err) {
    return fct_chat_write(format, json_object_get(request, "messages"),
                          json_object_get(request, "tools"), json_object_get(request, "kwargs"),
                          out, err);
}

/* The same from JSON text, in which ' stands for ". */
static inline fct_status write_text(enum fct_chat_format format, const char *request,
                                    struct fct_rendering *out, fct_error *err) {
    char *text = strdup(request);
    for (char *c = text; *c; c++)
        if (*c == '\'') *c = '"';
    json_t *value = fct_json_read(text, strlen(text), "request", err);
    free(text);
    if (!value) return FCT_ERR_ARGUMENT;
    fct_status status = write_request(format, value, out, err);
    json_decref(value);
    return status;
}

#endif
