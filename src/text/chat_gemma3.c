/* chat_gemma3.c - conversations as Gemma 3 was trained to see them: user and model in turn, nothing
 * else. */
#include "text/chat_gemma3.h"

#include <string.h>

#include "base/error.h"
#include "text/rendering.h"

static bool is(const char *text, const char *word) { return text && strcmp(text, word) == 0; }

static void write_stripped(struct fct_rendering *out, const json_t *text) {
    fct_rendering_span(out, fct_python_strip(json_string_value(text), json_string_length(text)));
}

static void write_content(struct fct_rendering *out, const json_t *content) {
    if (json_is_string(content)) write_stripped(out, content);
    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *part = json_array_get(content, i);
        const char *type = json_string_value(json_object_get(part, "type"));
        if (is(type, "text"))
            write_stripped(out, json_object_get(part, "text"));
        else if (is(type, "image") || is(type, "image_url"))
            fct_rendering_control(out, "<start_of_image>");
    }
}

/* The system's text stands in the first turn, as it is, with a blank line behind it. Of a list of
 * parts only the first counts. */
static void write_system_text(struct fct_rendering *out, const json_t *content) {
    if (json_is_array(content)) content = json_object_get(json_array_get(content, 0), "text");
    if (content) fct_rendering_string(out, content);
    fct_rendering_puts(out, "\n\n");
}

static void begin_turn(struct fct_rendering *out, const json_t *role) {
    fct_rendering_control(out, "<start_of_turn>");
    if (!role || is(json_string_value(role), "assistant"))
        fct_rendering_puts(out, "model");
    else
        fct_rendering_string(out, role);
    fct_rendering_puts(out, "\n");
}

fct_status fct_chat_write_gemma3(const json_t *messages, const json_t *tools, const json_t *kwargs,
                                 struct fct_rendering *out, fct_error *err) {
    if (json_array_size(tools) > 0)
        return fct_fail(err, FCT_ERR_UNSUPPORTED, "tools: Gemma 3's chat format has none");
    const json_t *system = json_array_get(messages, 0);
    if (!is(json_string_value(json_object_get(system, "role")), "system")) system = NULL;
    size_t first = system != NULL;
    fct_rendering_control(out, "<bos>");
    for (size_t i = first; i < json_array_size(messages); i++) {
        const json_t *message = json_array_get(messages, i),
                     *role = json_object_get(message, "role");
        const json_t *content = json_object_get(message, "content");
        if (is(json_string_value(role), "user") != ((i - first) % 2 == 0))
            return fct_fail(err, FCT_ERR_ARGUMENT,
                            "messages[%zu].role: user and assistant must alternate", i);
        if (!json_is_string(content) && !json_is_array(content))
            return fct_fail(err, FCT_ERR_ARGUMENT,
                            "messages[%zu].content: must be a string or a list", i);
        begin_turn(out, role);
        if (system && i == first) write_system_text(out, json_object_get(system, "content"));
        write_content(out, content);
        fct_rendering_control(out, "<end_of_turn>");
        fct_rendering_puts(out, "\n");
    }
    if (json_is_true(json_object_get(kwargs, "add_generation_prompt"))) begin_turn(out, NULL);
    return FCT_OK;
}
