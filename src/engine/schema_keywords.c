/* schema_keywords.c - the keywords of JSON Schema that there are, and how they are read; what is
 * not known is refused by name. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "engine/schema_compiler.h"

int fct_schema_fail(struct fct_schema_compiler *c, const struct fct_schema_place *place,
                    fct_status status, const char *format, ...) {
    char where[160], what[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    fct_schema_place_text(place, where, sizeof where);
    fct_fail(c->err, status, "schema, at %s: %s", where, what);
    return -1;
}

const char *const fct_keyword_names[FCT_N_KEYWORDS] = {
    "type",
    "$ref",
    "allOf",
    "anyOf",
    "oneOf",
    "enum",
    "const",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
};
/* These say nothing about what is valid. Definitions count where a $ref names them. */
static const char *const annotations[] = {"title",    "description", "default",   "examples",
                                          "$schema",  "$comment",    "$defs",     "definitions",
                                          "readOnly", "writeOnly",   "deprecated"};

static int find(const char *word, const char *const *words, int n) {
    for (int i = 0; i < n; i++)
        if (strcmp(word, words[i]) == 0) return i;
    return -1;
}

int fct_schema_keywords(struct fct_schema_compiler *c, const json_t *json,
                        const struct fct_schema_place *place) {
    const int n_annotations = (int)(sizeof annotations / sizeof *annotations);
    const char *key;
    json_t *value;
    int present = 0;
    json_object_foreach((json_t *)json, key, value) {
        int keyword = find(key, fct_keyword_names, FCT_N_KEYWORDS);
        bool annotation = find(key, annotations, n_annotations) >= 0 ||
                          (strcmp(key, "$id") == 0 && json == c->text);
        if (keyword < 0 && !annotation)
            return fct_schema_fail(c, place, FCT_ERR_UNSUPPORTED,
                                   "the keyword '%s' is not supported", key);
        if (keyword >= 0) present |= (int)FCT_KEYWORD(keyword);
    }
    return present;
}

bool fct_schema_stands_alone(struct fct_schema_compiler *c, const struct fct_schema_place *place,
                             int present, enum fct_keyword keyword, unsigned company) {
    unsigned others = (unsigned)present & ~(FCT_KEYWORD(keyword) | company);
    if (!others) return true;
    fct_schema_fail(c, place, FCT_ERR_UNSUPPORTED, "'%s' beside '%s' is not supported",
                    fct_keyword_names[__builtin_ctz(others)], fct_keyword_names[keyword]);
    return false;
}

int fct_schema_wrong(struct fct_schema_compiler *c, const struct fct_schema_place *place,
                     enum fct_keyword keyword, const char *wanted) {
    return fct_schema_fail(c, place, FCT_ERR_ARGUMENT, "'%s' must be %s",
                           fct_keyword_names[keyword], wanted);
}

int fct_schema_count(struct fct_schema_compiler *c, const json_t *json,
                     const struct fct_schema_place *place, enum fct_keyword keyword, int missing) {
    const json_t *value = fct_schema_get(json, keyword);
    if (!value) return missing;
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return fct_schema_wrong(c, place, keyword, "an integer, 0 or more");
    return json_integer_value(value) < INT_MAX ? (int)json_integer_value(value) : INT_MAX;
}

/* ---- types ---- */

static unsigned type_named(const json_t *name) {
    static const char *const names[] = {"null",   "boolean", "integer", "number",
                                        "string", "array",   "object"};
    static const unsigned types[] = {
        FCT_TYPE_NULL,   FCT_TYPE_BOOLEAN, FCT_TYPE_INTEGER, FCT_TYPE_INTEGER | FCT_TYPE_REAL,
        FCT_TYPE_STRING, FCT_TYPE_ARRAY,   FCT_TYPE_OBJECT};
    int i = json_is_string(name) ? find(json_string_value(name), names, 7) : -1;
    return i >= 0 ? types[i] : 0;
}

int fct_schema_types(struct fct_schema_compiler *c, const json_t *json,
                     const struct fct_schema_place *place, unsigned *types) {
    static const char *const wanted =
        "null, boolean, integer, number, string, array or object, or a list of these";
    const json_t *value = fct_schema_get(json, FCT_KEY_TYPE);
    unsigned named = 0;
    if (!value) return 0;
    if (!json_is_array(value)) named = type_named(value);
    for (size_t i = 0; i < json_array_size(value); i++) {
        unsigned one = type_named(json_array_get(value, i));
        if (!one) return fct_schema_wrong(c, place, FCT_KEY_TYPE, wanted);
        named |= one;
    }
    if (!named) return fct_schema_wrong(c, place, FCT_KEY_TYPE, wanted);
    *types &= named;
    return 0;
}
