/* chat_tools.c - tool declarations of Gemma 4's system turn: a JSON schema in the model's own
 * notation. */
#include "text/chat_tools.h"

#include <string.h>
#include <strings.h>

#include "text/chat_values.h"
#include "text/exact_json.h"
#include "text/sorted_keys.h"

/* Writes the comma between items, of which the first has none. */
struct list {
    struct fct_rendering *out;
    bool begun;
};

static void item(struct list *list, const char *head) {
    if (list->begun) fct_rendering_puts(list->out, ",");
    list->begun = true;
    fct_rendering_puts(list->out, head);
}

static bool has_type(const json_t *schema, const char *type) {
    const char *name = json_string_value(json_object_get(schema, "type"));
    return name && strcasecmp(name, type) == 0;
}

/* <|"|>text<|"|> for what Jinja would print. */
static void quote_printed(struct fct_rendering *out, const json_t *value, bool capitals) {
    fct_rendering_control(out, "<|\"|>");
    (capitals ? fct_chat_capitals : fct_chat_printed)(out, value);
    fct_rendering_control(out, "<|\"|>");
}

static void write_required(struct fct_rendering *out, const json_t *names) {
    fct_rendering_puts(out, "required:[");
    for (size_t i = 0; i < json_array_size(names); i++) {
        if (i > 0) fct_rendering_puts(out, ",");
        quote_printed(out, json_array_get(names, i), false);
    }
    fct_rendering_puts(out, "]");
}

/* In items a list of types is a list of strings, where elsewhere it is Python's own print of a
 * list. */
static void write_item_type(struct fct_rendering *out, const json_t *type) {
    fct_rendering_puts(out, "type:");
    if (!json_is_array(type)) {
        quote_printed(out, type, true);
        return;
    }
    fct_rendering_puts(out, "[");
    for (size_t i = 0; i < json_array_size(type); i++) {
        if (i > 0) fct_rendering_puts(out, ",");
        quote_printed(out, json_array_get(type, i), true);
    }
    fct_rendering_puts(out, "]");
}

static void write_properties(struct fct_rendering *out, const json_t *properties, bool of_schema);

static void write_item_member(struct fct_rendering *out, const char *key, const json_t *value) {
    if (strcmp(key, "properties") == 0) {
        fct_rendering_puts(out, "properties:{");
        write_properties(out, value, false);
        fct_rendering_puts(out, "}");
    } else if (strcmp(key, "required") == 0) {
        write_required(out, value);
    } else if (strcmp(key, "type") == 0) {
        write_item_type(out, value);
    } else {
        fct_rendering_puts(out, key);
        fct_rendering_puts(out, ":");
        fct_chat_value(out, value, true);
    }
}

static void write_items(struct fct_rendering *out, const json_t *items) {
    size_t n = 0;
    struct fct_sorted_key *keys = fct_sorted_keys(items, &n, NULL);
    if (!keys) out->text.failed = true;
    struct list members = {out, false};
    for (size_t i = 0; i < n; i++) {
        if (json_is_null(keys[i].value)) continue;
        item(&members, "");
        write_item_member(out, keys[i].key, keys[i].value);
    }
    fct_sorted_keys_free(keys, n);
}

/* An object's properties; a schema without any lends its own other keys. */
static void write_object(struct list *items, const json_t *schema) {
    const json_t *properties = json_object_get(schema, "properties");
    bool own = json_is_object(properties);
    item(items, "properties:{");
    write_properties(items->out, own ? properties : schema, !own);
    fct_rendering_puts(items->out, "}");
    const json_t *required = json_object_get(schema, "required");
    if (fct_json_truthy(required)) {
        item(items, "");
        write_required(items->out, required);
    }
}

/* What stands between a property's braces. A schema that is no object (true, say) has nothing but
 * an empty type. */
static void write_schema(struct fct_rendering *out, const json_t *schema) {
    struct list items = {out, false};
    const json_t *description = json_object_get(schema, "description");
    if (fct_json_truthy(description)) {
        item(&items, "description:");
        quote_printed(out, description, false);
    }
    const json_t *choices = json_object_get(schema, "enum");
    if (has_type(schema, "string") && fct_json_truthy(choices)) {
        item(&items, "enum:");
        fct_chat_value(out, choices, true);
    }
    const json_t *elements = json_object_get(schema, "items");
    if (has_type(schema, "array") && json_object_size(elements) > 0) {
        item(&items, "items:{");
        write_items(out, elements);
        fct_rendering_puts(out, "}");
    }
    if (fct_json_truthy(json_object_get(schema, "nullable"))) item(&items, "nullable:true");
    if (has_type(schema, "object")) write_object(&items, schema);
    item(&items, "type:");
    quote_printed(out, json_object_get(schema, "type"), true);
}

static bool is_standard(const char *key) {
    static const char *const standard[] = {"description", "type", "properties", "required",
                                           "nullable"};
    for (size_t i = 0; i < sizeof standard / sizeof standard[0]; i++)
        if (strcmp(key, standard[i]) == 0) return true;
    return false;
}

/* of_schema: properties is a schema, of which only the keys count that are not standard ones. */
static void write_properties(struct fct_rendering *out, const json_t *properties, bool of_schema) {
    size_t n = 0;
    struct fct_sorted_key *keys = fct_sorted_keys(properties, &n, NULL);
    if (!keys) out->text.failed = true;
    struct list list = {out, false};
    for (size_t i = 0; i < n; i++) {
        if (of_schema && is_standard(keys[i].key)) continue;
        item(&list, keys[i].key);
        fct_rendering_puts(out, ":{");
        write_schema(out, keys[i].value);
        fct_rendering_puts(out, "}");
    }
    fct_sorted_keys_free(keys, n);
}

static void write_parameters(struct fct_rendering *out, const json_t *parameters) {
    const json_t *properties = json_object_get(parameters, "properties");
    const json_t *required = json_object_get(parameters, "required");
    const json_t *type = json_object_get(parameters, "type");
    fct_rendering_puts(out, ",parameters:{");
    if (fct_json_truthy(properties)) {
        fct_rendering_puts(out, "properties:{");
        write_properties(out, properties, false);
        fct_rendering_puts(out, "},");
    }
    if (fct_json_truthy(required)) {
        write_required(out, required);
        fct_rendering_puts(out, ",");
    }
    if (!fct_json_truthy(type)) return; /* and no closing brace: so the model was trained */
    fct_rendering_puts(out, "type:");
    quote_printed(out, type, true);
    fct_rendering_puts(out, "}");
}

static void write_response(struct fct_rendering *out, const json_t *response) {
    const json_t *description = json_object_get(response, "description");
    fct_rendering_puts(out, ",response:{");
    if (fct_json_truthy(description)) {
        fct_rendering_puts(out, "description:");
        quote_printed(out, description, false);
        fct_rendering_puts(out, ",");
    }
    if (!has_type(response, "object")) return; /* and no closing brace: so the model was trained */
    fct_rendering_puts(out, "type:");
    quote_printed(out, json_object_get(response, "type"), true);
    fct_rendering_puts(out, "}");
}

void fct_chat_declaration(struct fct_rendering *out, const json_t *tool) {
    const json_t *function = json_object_get(tool, "function");
    const json_t *description = json_object_get(function, "description");
    const json_t *parameters = json_object_get(function, "parameters");
    const json_t *response = json_object_get(function, "response");
    fct_rendering_control(out, "<|tool>");
    fct_rendering_puts(out, "declaration:");
    fct_rendering_string(out, json_object_get(function, "name"));
    fct_rendering_puts(out, "{description:");
    fct_rendering_control(out, "<|\"|>");
    if (description) fct_chat_printed(out, description);
    fct_rendering_control(out, "<|\"|>");
    if (fct_json_truthy(parameters)) write_parameters(out, parameters);
    if (response) write_response(out, response);
    fct_rendering_puts(out, "}");
    fct_rendering_control(out, "<tool|>");
}
