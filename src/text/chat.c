/* chat.c - conversations as Gemma 4 was trained to see them: turns, thoughts, calls and responses.
 */
#include "text/chat.h"

#include <string.h>

#include "base/error.h"
#include "text/chat_check.h"
#include "text/chat_gemma3.h"
#include "text/chat_tools.h"
#include "text/chat_values.h"
#include "text/exact_json.h"
#include "text/rendering.h"

enum ending { PLAIN, CALLS, RESPONSES }; /* what a turn has written last, besides its content */

struct conversation {
    const json_t *messages;
    size_t first, n; /* the messages that make turns of their own */
    size_t after_last_user;
    bool thinking, preserve;
    const char *role_before; /* of the message before that is no tool's; NULL: none */
    enum ending ending;
    struct fct_rendering *out;
};

static const json_t *message_at(const struct conversation *c, size_t i) {
    return json_array_get(c->messages, i);
}

static bool is(const char *text, const char *word) { return text && strcmp(text, word) == 0; }

static const char *role_of(const json_t *message) {
    return json_string_value(json_object_get(message, "role"));
}

/* ---- contents ---- */

static void write_stripped(struct fct_rendering *out, const json_t *text) {
    if (!text) return;
    fct_rendering_span(out, fct_python_strip(json_string_value(text), json_string_length(text)));
}

/* Appends what is left of a model's text without its thoughts: of each piece between closers, what
 * stands before an opener. */
static void remove_thoughts(const char *text, size_t n_bytes, struct fct_text *out) {
    static const char opener[] = "<|channel>", closer[] = "<channel|>";
    const char *end = text + n_bytes;
    while (text < end) {
        const char *stop = memmem(text, (size_t)(end - text), closer, sizeof closer - 1);
        const char *next = stop ? stop + sizeof closer - 1 : end;
        if (!stop) stop = end;
        const char *thought = memmem(text, (size_t)(stop - text), opener, sizeof opener - 1);
        fct_text_add(out, text, (size_t)((thought ? thought : stop) - text));
        text = next;
    }
}

static void write_text(struct fct_rendering *out, const json_t *text, bool of_model) {
    if (!of_model) {
        write_stripped(out, text);
        return;
    }
    struct fct_text kept = {0};
    remove_thoughts(json_string_value(text), json_string_length(text), &kept);
    if (kept.failed) out->text.failed = true;
    if (kept.size > 0) fct_rendering_span(out, fct_python_strip(kept.data, kept.size));
    fct_text_free(&kept);
}

static void write_medium(struct fct_rendering *out, const json_t *part) {
    const char *type = json_string_value(json_object_get(part, "type"));
    if (is(type, "image") || is(type, "image_url"))
        fct_rendering_control(out, "<|image|>");
    else if (is(type, "audio") || is(type, "input_audio"))
        fct_rendering_control(out, "<|audio|>");
    else if (is(type, "video"))
        fct_rendering_control(out, "<|video|>");
}

static bool is_text_part(const json_t *part) {
    return is(json_string_value(json_object_get(part, "type")), "text");
}

static void write_content(struct fct_rendering *out, const json_t *content, bool of_model) {
    if (json_is_string(content)) write_text(out, content, of_model);
    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *part = json_array_get(content, i);
        if (is_text_part(part))
            write_text(out, json_object_get(part, "text"), of_model);
        else
            write_medium(out, part);
    }
}

/* ---- the system turn ---- */

static void write_system_text(struct fct_rendering *out, const json_t *content) {
    if (json_is_string(content)) write_stripped(out, content);
    for (size_t i = 0; i < json_array_size(content); i++) {
        write_stripped(out, json_object_get(json_array_get(content, i), "text"));
        fct_rendering_puts(out, " ");
    }
}

static void end_turn(struct fct_rendering *out) {
    fct_rendering_control(out, "<turn|>");
    fct_rendering_puts(out, "\n");
}

static void begin_turn(struct fct_rendering *out, const char *role, size_t n_bytes) {
    fct_rendering_control(out, "<|turn>");
    fct_rendering_plain(out, role, n_bytes);
    fct_rendering_puts(out, "\n");
}

/* Thinking, the first message's text, tools; what of it there is. */
static void write_system_turn(struct conversation *c, const json_t *tools) {
    const char *role = role_of(message_at(c, 0));
    bool has_text = is(role, "system") || is(role, "developer");
    c->first = has_text;
    if (!c->thinking && !has_text && json_array_size(tools) == 0) return;
    begin_turn(c->out, "system", 6);
    if (c->thinking) {
        fct_rendering_control(c->out, "<|think|>");
        fct_rendering_puts(c->out, "\n");
    }
    if (has_text) write_system_text(c->out, json_object_get(message_at(c, 0), "content"));
    for (size_t i = 0; i < json_array_size(tools); i++)
        fct_chat_declaration(c->out, json_array_get(tools, i));
    end_turn(c->out);
}

/* ---- calls and responses ---- */

/* OpenAI's wire format has the arguments as JSON text; the model has never seen them so. */
static fct_status write_arguments(struct fct_rendering *out, const json_t *arguments,
                                  size_t message, size_t call, fct_error *err) {
    if (!json_is_string(arguments)) {
        fct_chat_members(out, arguments);
        return FCT_OK;
    }
    struct fct_text_span text =
        fct_python_strip(json_string_value(arguments), json_string_length(arguments));
    if (text.n_bytes == 0 || (text.n_bytes == 4 && memcmp(text.text, "null", 4) == 0))
        return FCT_OK;
    struct fct_text what = {0};
    fct_text_printf(&what, "messages[%zu].tool_calls[%zu].function.arguments", message, call);
    char *name = fct_text_finish(&what, NULL, err);
    if (!name) return FCT_ERR_MEMORY;
    json_t *parsed = fct_json_read(text.text, text.n_bytes, name, err);
    fct_status status = parsed ? FCT_OK : FCT_ERR_ARGUMENT;
    if (parsed && !json_is_object(parsed))
        status = fct_fail(err, FCT_ERR_ARGUMENT, "%s: must be an object", name);
    if (!status) fct_chat_members(out, parsed);
    json_decref(parsed);
    fct_free(name);
    return status;
}

static fct_status write_calls(struct conversation *c, size_t i, fct_error *err) {
    const json_t *calls = json_object_get(message_at(c, i), "tool_calls");
    for (size_t k = 0; k < json_array_size(calls); k++) {
        const json_t *function = json_object_get(json_array_get(calls, k), "function");
        fct_rendering_control(c->out, "<|tool_call>");
        fct_rendering_puts(c->out, "call:");
        fct_rendering_string(c->out, json_object_get(function, "name"));
        fct_rendering_puts(c->out, "{");
        fct_status status =
            write_arguments(c->out, json_object_get(function, "arguments"), i, k, err);
        if (status) return status;
        fct_rendering_puts(c->out, "}");
        fct_rendering_control(c->out, "<tool_call|>");
        c->ending = CALLS;
    }
    return FCT_OK;
}

static void begin_response(struct fct_rendering *out, const json_t *name) {
    fct_rendering_control(out, "<|tool_response>");
    fct_rendering_puts(out, "response:");
    if (fct_json_truthy(name))
        fct_rendering_string(out, name);
    else
        fct_rendering_puts(out, "unknown");
    fct_rendering_puts(out, "{");
}

static void end_response(struct fct_rendering *out) {
    fct_rendering_puts(out, "}");
    fct_rendering_control(out, "<tool_response|>");
}

static void write_response_value(struct fct_rendering *out, const json_t *value) {
    if (json_is_object(value)) {
        fct_chat_members(out, value);
        return;
    }
    fct_rendering_puts(out, "value:");
    if (value)
        fct_chat_value(out, value, false);
    else
        fct_rendering_puts(out, "null");
}

/* The texts of a list of parts are one string; its media stand behind the response. */
static void write_parts_response(struct fct_rendering *out, const json_t *name,
                                 const json_t *parts) {
    begin_response(out, name);
    fct_rendering_puts(out, "value:");
    fct_rendering_control(out, "<|\"|>");
    for (size_t i = 0; i < json_array_size(parts); i++)
        if (is_text_part(json_array_get(parts, i)))
            fct_rendering_string(out, json_object_get(json_array_get(parts, i), "text"));
    fct_rendering_control(out, "<|\"|>");
    end_response(out);
    for (size_t i = 0; i < json_array_size(parts); i++) write_medium(out, json_array_get(parts, i));
}

static void write_response(struct fct_rendering *out, const json_t *name, const json_t *value) {
    begin_response(out, name);
    write_response_value(out, value);
    end_response(out);
}

static bool same_id(const json_t *a, const json_t *b) {
    bool no_a = !a || json_is_null(a), no_b = !b || json_is_null(b);
    return no_a || no_b ? no_a && no_b : json_equal(a, b);
}

/* The name of the call that a tool message answers: the last with its id, else the message's own.
 */
static const json_t *name_of_response(const json_t *calls, const json_t *message) {
    const json_t *name = json_object_get(message, "name");
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *call = json_array_get(calls, i);
        if (same_id(json_object_get(call, "id"), json_object_get(message, "tool_call_id")))
            name = json_object_get(json_object_get(call, "function"), "name");
    }
    return name;
}

/* The message's own responses, or else those of the tool messages right behind its calls. */
static void write_responses(struct conversation *c, size_t i) {
    const json_t *message = message_at(c, i), *calls = json_object_get(message, "tool_calls");
    const json_t *own = json_object_get(message, "tool_responses");
    for (size_t k = 0; k < json_array_size(own); k++) {
        const json_t *response = json_array_get(own, k);
        write_response(c->out, json_object_get(response, "name"),
                       json_object_get(response, "response"));
        c->ending = RESPONSES;
    }
    if (json_array_size(own) > 0 || json_array_size(calls) == 0) return;
    for (i++; i < c->n && is(role_of(message_at(c, i)), "tool"); i++) {
        const json_t *content = json_object_get(message_at(c, i), "content");
        const json_t *name = name_of_response(calls, message_at(c, i));
        if (json_is_array(content))
            write_parts_response(c->out, name, content);
        else
            write_response(c->out, name, content);
        c->ending = RESPONSES;
    }
}

/* ---- the other turns ---- */

/* The message's thought, if it is to be shown: the model sees those of the turn it is in, not those
 * of earlier ones. */
static const json_t *thought_of(const struct conversation *c, size_t i) {
    const json_t *message = message_at(c, i), *thought = json_object_get(message, "reasoning");
    if (!fct_json_truthy(thought)) thought = json_object_get(message, "reasoning_content");
    bool kept = c->preserve && json_array_size(json_object_get(message, "tool_calls")) > 0;
    return fct_json_truthy(thought) && (i >= c->after_last_user || kept) ? thought : NULL;
}

static void open_thought(struct fct_rendering *out) {
    fct_rendering_control(out, "<|channel>");
    fct_rendering_puts(out, "thought\n");
}

static void write_thought(struct fct_rendering *out, const json_t *thought) {
    if (!thought) return;
    open_thought(out);
    fct_rendering_string(out, thought);
    fct_rendering_puts(out, "\n");
    fct_rendering_control(out, "<channel|>");
}

/* The role of the nearest later message that is no tool's; NULL if there is none. */
static const char *role_after(const struct conversation *c, size_t i) {
    for (i++; i < c->n; i++)
        if (!is(role_of(message_at(c, i)), "tool")) return role_of(message_at(c, i));
    return NULL;
}

static void close_turn(struct conversation *c, size_t i, bool of_model, bool has_content) {
    const char *next = role_after(c, i);
    if (c->ending == CALLS)
        fct_rendering_control(c->out, "<|tool_response>"); /* the results are expected here */
    else if (of_model && is(next, "assistant"))
        return; /* the next message goes on with this turn */
    else if (c->ending != RESPONSES || has_content || next)
        end_turn(c->out);
}

static fct_status write_message(struct conversation *c, size_t i, fct_error *err) {
    const json_t *message = message_at(c, i), *role = json_object_get(message, "role");
    const char *name = json_string_value(role);
    bool of_model = is(name, "assistant") || is(name, "model");
    c->ending = PLAIN;
    if (!of_model)
        begin_turn(c->out, name, json_string_length(role));
    else if (!is(c->role_before, "assistant"))
        begin_turn(c->out, "model", 5);
    write_thought(c->out, thought_of(c, i));
    fct_status status = write_calls(c, i, err);
    if (status) return status;
    write_responses(c, i);
    size_t before = c->out->text.size;
    write_content(c->out, json_object_get(message, "content"), of_model);
    close_turn(c, i, of_model, c->out->text.size > before);
    c->role_before = name;
    return FCT_OK;
}

static fct_status write_gemma4(struct conversation *c, const json_t *tools, const json_t *kwargs,
                               fct_error *err) {
    c->thinking = json_is_true(json_object_get(kwargs, "enable_thinking"));
    c->preserve = json_is_true(json_object_get(kwargs, "preserve_thinking"));
    fct_rendering_control(c->out, "<bos>");
    write_system_turn(c, tools);
    for (size_t i = c->first; i < c->n; i++)
        if (is(role_of(message_at(c, i)), "user")) c->after_last_user = i + 1;
    for (size_t i = c->first; i < c->n; i++) {
        if (is(role_of(message_at(c, i)), "tool")) continue;
        fct_status status = write_message(c, i, err);
        if (status) return status;
    }
    if (!json_is_true(json_object_get(kwargs, "add_generation_prompt"))) return FCT_OK;
    if (c->ending == PLAIN)
        begin_turn(c->out, "model", 5);
    else if (c->ending == RESPONSES && c->thinking)
        open_thought(c->out);
    return FCT_OK;
}

fct_status fct_chat_write(enum fct_chat_format format, const json_t *messages, const json_t *tools,
                          const json_t *kwargs, struct fct_rendering *out, fct_error *err) {
    *out = (struct fct_rendering){0};
    if (format == FCT_CHAT_NONE)
        return fct_fail(err, FCT_ERR_UNSUPPORTED, "chat: the model has no chat format");
    fct_status status = fct_chat_check(messages, tools, kwargs, err);
    if (status) return status;
    struct conversation c = {.messages = messages, .n = json_array_size(messages), .out = out};
    if (format == FCT_CHAT_GEMMA3)
        status = fct_chat_write_gemma3(messages, tools, kwargs, out, err);
    else
        status = write_gemma4(&c, tools, kwargs, err);
    if (!status && out->text.failed)
        status = fct_fail(err, FCT_ERR_MEMORY, "chat: no memory for the conversation");
    if (status) fct_rendering_free(out);
    return status;
}
