/* chat_check.c - a conversation from outside, checked once at the door. */
#include "text/chat_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "text/exact_json.h"

/* Where a value stands, for messages: messages[3].tool_calls[0].function */
struct path {
    char text[200];
};

static struct path __attribute__((format(printf, 2, 3)))
inside(const struct path *parent, const char *format, ...) {
    struct path path = *parent;
    size_t length = strlen(path.text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path.text + length, sizeof path.text - length, format, arguments);
    va_end(arguments);
    return path;
}

enum kinds { TEXT = 1, LIST = 2, OBJECT = 4, NUMBER = 8, BOOLEAN = 16, NOTHING = 32, MISSING = 64 };

static unsigned kind(const json_t *value) {
    if (!value) return MISSING;
    switch (json_typeof(value)) {
    case JSON_STRING:
        return TEXT;
    case JSON_ARRAY:
        return LIST;
    case JSON_OBJECT:
        return OBJECT;
    case JSON_INTEGER:
    case JSON_REAL:
        return NUMBER;
    case JSON_TRUE:
    case JSON_FALSE:
        return BOOLEAN;
    case JSON_NULL:
        break;
    }
    return NOTHING;
}

static const char *kind_name(unsigned one) {
    switch (one) {
    case TEXT:
        return "a string";
    case LIST:
        return "a list";
    case OBJECT:
        return "an object";
    case NUMBER:
        return "a number";
    case BOOLEAN:
        return "true or false";
    case NOTHING:
        return "null";
    default:
        return "missing";
    }
}

/* Is value of one of the allowed kinds? */
static fct_status expect(const json_t *value, unsigned allowed, const struct path *path,
                         fct_error *err) {
    unsigned is = kind(value);
    if (is & allowed) return FCT_OK;
    if (is == MISSING) return fct_fail(err, FCT_ERR_ARGUMENT, "%s: is missing", path->text);
    char wanted[80] = "";
    unsigned named = allowed & ~(MISSING | (unsigned)NOTHING);
    for (unsigned one = TEXT; one <= NOTHING; one <<= 1) {
        if (!(named & one)) continue;
        size_t length = strlen(wanted);
        snprintf(wanted + length, sizeof wanted - length, "%s%s", length ? " or " : "",
                 kind_name(one));
    }
    return fct_fail(err, FCT_ERR_ARGUMENT, "%s: must be %s, not %s", path->text, wanted,
                    kind_name(is));
}

static fct_status expect_field(const json_t *object, const char *name, unsigned allowed,
                               const struct path *path, fct_error *err) {
    struct path field = inside(path, ".%s", name);
    return expect(json_object_get(object, name), allowed, &field, err);
}

/* ---- contents ---- */

static fct_status check_parts(const json_t *parts, bool needs_type, const struct path *path,
                              fct_error *err) {
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *part = json_array_get(parts, i);
        const char *type = json_string_value(json_object_get(part, "type"));
        bool is_text = type && strcmp(type, "text") == 0;
        struct path here = inside(path, "[%zu]", i);
        fct_status status = expect(part, OBJECT, &here, err);
        if (!status) status = expect_field(part, "type", needs_type ? TEXT : ~0u, &here, err);
        if (!status)
            status = expect_field(part, "text", is_text ? TEXT : TEXT | MISSING, &here, err);
        if (status) return status;
    }
    return FCT_OK;
}

/* A tool may answer anything; a model may be silent; everybody else has to say something. */
static unsigned content_kinds(const json_t *message, const char *role) {
    if (strcmp(role, "tool") == 0) return ~0u;
    bool may_be_silent = strcmp(role, "assistant") == 0 || strcmp(role, "model") == 0 ||
                         fct_json_truthy(json_object_get(message, "tool_calls"));
    return TEXT | LIST | (may_be_silent ? NOTHING | MISSING : 0);
}

static fct_status check_content(const json_t *message, const char *role, const struct path *path,
                                fct_error *err) {
    const json_t *content = json_object_get(message, "content");
    struct path here = inside(path, ".content");
    fct_status status = expect(content, content_kinds(message, role), &here, err);
    return status ? status : check_parts(content, true, &here, err);
}

/* ---- calls and responses ---- */

static fct_status check_calls(const json_t *calls, const struct path *path, fct_error *err) {
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *call = json_array_get(calls, i),
                     *function = json_object_get(call, "function");
        struct path here = inside(path, "[%zu]", i), inner = inside(&here, ".function");
        fct_status status = expect(call, OBJECT, &here, err);
        if (!status) status = expect(function, OBJECT, &inner, err);
        if (!status) status = expect_field(function, "name", TEXT, &inner, err);
        if (!status)
            status =
                expect_field(function, "arguments", OBJECT | TEXT | NOTHING | MISSING, &inner, err);
        if (status) return status;
    }
    return FCT_OK;
}

static fct_status check_responses(const json_t *responses, const struct path *path,
                                  fct_error *err) {
    for (size_t i = 0; i < json_array_size(responses); i++) {
        const json_t *response = json_array_get(responses, i);
        struct path here = inside(path, "[%zu]", i);
        fct_status status = expect(response, OBJECT, &here, err);
        if (!status) status = expect_field(response, "name", TEXT | NOTHING | MISSING, &here, err);
        if (!status) status = expect_field(response, "response", ~(unsigned)MISSING, &here, err);
        if (status) return status;
    }
    return FCT_OK;
}

static fct_status check_message(const json_t *message, const struct path *path, fct_error *err) {
    const unsigned optional_text = TEXT | NOTHING | MISSING,
                   optional_list = LIST | NOTHING | MISSING;
    fct_status status = expect(message, OBJECT, path, err);
    if (!status) status = expect_field(message, "role", TEXT, path, err);
    if (!status) status = expect_field(message, "tool_calls", optional_list, path, err);
    if (!status) status = expect_field(message, "tool_responses", optional_list, path, err);
    if (!status) status = expect_field(message, "reasoning", optional_text, path, err);
    if (!status) status = expect_field(message, "reasoning_content", optional_text, path, err);
    if (!status) status = expect_field(message, "name", optional_text, path, err);
    if (status) return status;
    struct path calls = inside(path, ".tool_calls"), responses = inside(path, ".tool_responses");
    status = check_content(message, json_string_value(json_object_get(message, "role")), path, err);
    if (!status) status = check_calls(json_object_get(message, "tool_calls"), &calls, err);
    if (!status)
        status = check_responses(json_object_get(message, "tool_responses"), &responses, err);
    return status;
}

/* ---- tools ---- */

/* A field that the format walks into, or that is false in Python's sense. */
static fct_status expect_or_false(const json_t *object, const char *name, unsigned allowed,
                                  const struct path *path, fct_error *err) {
    if (!fct_json_truthy(json_object_get(object, name))) return FCT_OK;
    return expect_field(object, name, allowed, path, err);
}

static fct_status check_properties(const json_t *properties, const struct path *path,
                                   fct_error *err);

/* Descends through every member: which of them are schemas is the writer's business. */
static fct_status check_schema(const json_t *schema, const struct path *path, fct_error *err) {
    fct_status status = FCT_OK;
    const json_t *type = json_object_get(schema, "type");
    bool is_object = json_is_string(type) && strcasecmp(json_string_value(type), "object") == 0;
    if (is_object) status = expect_or_false(schema, "required", LIST, path, err);
    return status ? status : check_properties(schema, path, err);
}

static fct_status check_properties(const json_t *properties, const struct path *path,
                                   fct_error *err) {
    json_t *members = (json_t *)properties; /* jansson iterates only over what it may change */
    for (void *at = json_object_iter(members); at; at = json_object_iter_next(members, at)) {
        struct path here = inside(path, ".%s", json_object_iter_key(at));
        fct_status status = check_schema(json_object_iter_value(at), &here, err);
        if (status) return status;
    }
    return FCT_OK;
}

static fct_status check_tool(const json_t *tool, const struct path *path, fct_error *err) {
    const json_t *function = json_object_get(tool, "function");
    const json_t *parameters = json_object_get(function, "parameters");
    struct path inner = inside(path, ".function"), schema = inside(&inner, ".parameters"),
                properties = inside(&schema, ".properties");
    fct_status status = expect(tool, OBJECT, path, err);
    if (!status) status = expect(function, OBJECT, &inner, err);
    if (!status) status = expect_field(function, "name", TEXT, &inner, err);
    if (!status)
        status = expect_field(function, "description", TEXT | NOTHING | MISSING, &inner, err);
    if (!status) status = expect_or_false(function, "parameters", OBJECT, &inner, err);
    if (!status) status = expect_or_false(parameters, "properties", OBJECT, &schema, err);
    if (!status) status = expect_or_false(parameters, "required", LIST, &schema, err);
    if (!status)
        status = check_properties(json_object_get(parameters, "properties"), &properties, err);
    if (!status)
        status = expect_field(function, "response", OBJECT | NOTHING | MISSING, &inner, err);
    return status;
}

/* ---- all of it ---- */

static fct_status check_list(const json_t *list, const char *name, bool required,
                             fct_status (*check)(const json_t *, const struct path *, fct_error *),
                             fct_error *err) {
    struct path path = inside(&(struct path){""}, "%s", name);
    fct_status status = expect(list, required ? LIST : LIST | NOTHING | MISSING, &path, err);
    for (size_t i = 0; !status && i < json_array_size(list); i++) {
        struct path here = inside(&path, "[%zu]", i);
        if (fct_json_deeper(json_array_get(list, i), FCT_JSON_DEPTH))
            return fct_fail(err, FCT_ERR_ARGUMENT, "%s: nested deeper than %d levels", here.text,
                            FCT_JSON_DEPTH);
        status = check(json_array_get(list, i), &here, err);
    }
    return status;
}

fct_status fct_chat_check(const json_t *messages, const json_t *tools, const json_t *kwargs,
                          fct_error *err) {
    static const char *const switches[] = {"add_generation_prompt", "enable_thinking",
                                           "preserve_thinking"};
    const struct path path = {"kwargs"};
    fct_status status = check_list(messages, "messages", true, check_message, err);
    if (!status) status = check_list(tools, "tools", false, check_tool, err);
    if (!status) status = expect(kwargs, OBJECT | NOTHING | MISSING, &path, err);
    for (size_t i = 0; !status && i < sizeof switches / sizeof switches[0]; i++)
        status = expect_field(kwargs, switches[i], BOOLEAN | NOTHING | MISSING, &path, err);
    return status;
}
