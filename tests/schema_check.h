/* schema_check.h - for tests: does a JSON value fit a schema? Written from the standard, over whole
 * values; it shares nothing with the engine, which follows bytes. */
#ifndef FCT_TESTS_SCHEMA_CHECK_H
#define FCT_TESTS_SCHEMA_CHECK_H

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool fits(const json_t *value, const json_t *schema, const json_t *root);

static inline bool is_of_type(const json_t *value, const char *type) {
    if (strcmp(type, "integer") == 0)
        return json_is_number(value) && floor(json_number_value(value)) == json_number_value(value);
    return (strcmp(type, "null") == 0 && json_is_null(value)) ||
           (strcmp(type, "boolean") == 0 && json_is_boolean(value)) ||
           (strcmp(type, "number") == 0 && json_is_number(value)) ||
           (strcmp(type, "string") == 0 && json_is_string(value)) ||
           (strcmp(type, "array") == 0 && json_is_array(value)) ||
           (strcmp(type, "object") == 0 && json_is_object(value));
}

static inline bool fits_type(const json_t *value, const json_t *type) {
    if (!type) return true;
    if (json_is_string(type)) return is_of_type(value, json_string_value(type));
    for (size_t i = 0; i < json_array_size(type); i++)
        if (is_of_type(value, json_string_value(json_array_get(type, i)))) return true;
    return false;
}

static inline bool is_same(const json_t *a, const json_t *b) {
    if (json_is_number(a) && json_is_number(b)) return json_number_value(a) == json_number_value(b);
    return json_equal(a, b);
}

/* A keyword that is a number, or what stands for its absence. */
static inline double limit_of(const json_t *schema, const char *keyword, double absent) {
    const json_t *value = json_object_get(schema, keyword);
    return value ? json_number_value(value) : absent;
}

static inline size_t characters_of(const json_t *string) {
    size_t n = 0;
    for (size_t i = 0; i < json_string_length(string); i++)
        n += ((unsigned char)json_string_value(string)[i] & 0xC0) != 0x80;
    return n;
}

static inline bool fits_scalar(const json_t *value, const json_t *schema) {
    double number = json_number_value(value),
           length = json_is_string(value) ? (double)characters_of(value) : 0;
    if (json_is_number(value))
        return number >= limit_of(schema, "minimum", -INFINITY) &&
               number <= limit_of(schema, "maximum", INFINITY) &&
               number > limit_of(schema, "exclusiveMinimum", -INFINITY) &&
               number < limit_of(schema, "exclusiveMaximum", INFINITY);
    return !json_is_string(value) || (length >= limit_of(schema, "minLength", 0) &&
                                      length <= limit_of(schema, "maxLength", INFINITY));
}

static inline bool fits_array(const json_t *value, const json_t *schema, const json_t *root) {
    const json_t *first = json_object_get(schema, "prefixItems"),
                 *items = json_object_get(schema, "items");
    size_t n = json_array_size(value);
    if (!json_is_array(value)) return true;
    if ((double)n < limit_of(schema, "minItems", 0) ||
        (double)n > limit_of(schema, "maxItems", INFINITY))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!fits(json_array_get(value, i),
                  i < json_array_size(first) ? json_array_get(first, i) : items, root))
            return false;
    return true;
}

static inline bool fits_object(json_t *value, const json_t *schema, const json_t *root) {
    const json_t *properties = json_object_get(schema, "properties"),
                 *required = json_object_get(schema, "required"),
                 *others = json_object_get(schema, "additionalProperties");
    const char *key;
    json_t *member;
    if (!json_is_object(value)) return true;
    for (size_t i = 0; i < json_array_size(required); i++)
        if (!json_object_get(value, json_string_value(json_array_get(required, i)))) return false;
    json_object_foreach(value, key, member) {
        const json_t *declared = json_object_get(properties, key);
        if (!fits(member, declared ? declared : others, root)) return false;
    }
    return true;
}

/* How many schemas of a list the value fits. */
static inline size_t n_fits(const json_t *value, const json_t *schemas, const json_t *root) {
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(schemas); i++)
        n += fits(value, json_array_get(schemas, i), root);
    return n;
}

static inline bool fits_choices(const json_t *value, const json_t *schema, const json_t *root) {
    const json_t *any = json_object_get(schema, "anyOf"), *one = json_object_get(schema, "oneOf"),
                 *all = json_object_get(schema, "allOf"), *list = json_object_get(schema, "enum"),
                 *constant = json_object_get(schema, "const");
    bool listed = !list;
    for (size_t i = 0; i < json_array_size(list); i++)
        listed |= is_same(value, json_array_get(list, i));
    return listed && (!constant || is_same(value, constant)) &&
           (!any || n_fits(value, any, root)) && (!one || n_fits(value, one, root) == 1) &&
           n_fits(value, all, root) == json_array_size(all);
}

/* "#/$defs/NAME" and "#" are all the references of the tests. */
static inline const json_t *referred(const json_t *root, const char *pointer) {
    const char *name = strrchr(pointer, '/');
    return name ? json_object_get(json_object_get(root, "$defs"), name + 1) : root;
}

/* No schema (NULL) is one that everything fits. */
static bool fits(const json_t *value, const json_t *schema, const json_t *root) {
    if (!schema || json_is_true(schema)) return true;
    if (json_is_false(schema)) return false;
    const char *pointer = json_string_value(json_object_get(schema, "$ref"));
    return (!pointer || fits(value, referred(root, pointer), root)) &&
           fits_type(value, json_object_get(schema, "type")) && fits_scalar(value, schema) &&
           fits_array(value, schema, root) && fits_object((json_t *)value, schema, root) &&
           fits_choices(value, schema, root);
}

#endif
