/* chat_values.c - JSON values in Gemma 4's tool notation. */
#include "text/chat_values.h"

#include <string.h>

#include "text/exact_json.h"
#include "text/python_repr.h"
#include "text/sorted_keys.h"

static void quote(struct fct_rendering *out, const char *bytes, size_t n_bytes) {
    fct_rendering_control(out, "<|\"|>");
    fct_rendering_plain(out, bytes, n_bytes);
    fct_rendering_control(out, "<|\"|>");
}

static void write_members(struct fct_rendering *out, const json_t *object, bool quoted_keys) {
    size_t n = 0;
    struct fct_sorted_key *keys = fct_sorted_keys(object, &n, NULL);
    if (!keys) out->text.failed = true;
    for (size_t i = 0; i < n; i++) {
        if (i > 0) fct_rendering_puts(out, ",");
        if (quoted_keys)
            quote(out, keys[i].key, strlen(keys[i].key));
        else
            fct_rendering_puts(out, keys[i].key);
        fct_rendering_puts(out, ":");
        fct_chat_value(out, keys[i].value, quoted_keys);
    }
    fct_sorted_keys_free(keys, n);
}

void fct_chat_members(struct fct_rendering *out, const json_t *object) {
    write_members(out, object, false);
}

static void write_list(struct fct_rendering *out, const json_t *list, bool quoted_keys) {
    fct_rendering_puts(out, "[");
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (i > 0) fct_rendering_puts(out, ",");
        fct_chat_value(out, json_array_get(list, i), quoted_keys);
    }
    fct_rendering_puts(out, "]");
}

void fct_chat_value(struct fct_rendering *out, const json_t *value, bool quoted_keys) {
    if (json_is_null(value)) {
        fct_rendering_puts(out, "null");
    } else if (json_is_boolean(value)) {
        fct_rendering_puts(out, json_is_true(value) ? "true" : "false");
    } else if (json_is_object(value)) {
        fct_rendering_puts(out, "{");
        write_members(out, value, quoted_keys);
        fct_rendering_puts(out, "}");
    } else if (json_is_array(value)) {
        write_list(out, value, quoted_keys);
    } else if (json_is_string(value) && !fct_json_long_integer(value)) {
        quote(out, json_string_value(value), json_string_length(value));
    } else {
        fct_chat_printed(out, value);
    }
}

static void print(struct fct_rendering *out, const json_t *value, bool capitals) {
    struct fct_text text = {0};
    fct_python_str(&text, value);
    for (size_t i = 0; capitals && i < text.size; i++)
        if (text.data[i] >= 'a' && text.data[i] <= 'z') text.data[i] -= 'a' - 'A';
    if (text.failed) out->text.failed = true;
    fct_rendering_plain(out, text.data, text.size);
    fct_text_free(&text);
}

void fct_chat_printed(struct fct_rendering *out, const json_t *value) { print(out, value, false); }

void fct_chat_capitals(struct fct_rendering *out, const json_t *value) {
    if (value) print(out, value, true);
}
