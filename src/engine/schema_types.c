/* schema_types.c - what a schema says about values of one type: strings, numbers, arrays, objects.
 * */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "engine/schema_compiler.h"
#include "text/exact_json.h"

static int add_string(struct fct_schema_compiler *c, const json_t *json,
                      const struct fct_schema_place *place) {
    struct fct_schema_node node = {.kind = FCT_SCHEMA_STRING, .others = -1};
    node.min = fct_schema_count(c, json, place, FCT_KEY_MIN_LENGTH, 0);
    node.max = fct_schema_count(c, json, place, FCT_KEY_MAX_LENGTH, INT_MAX);
    return node.min < 0 || node.max < 0 ? -1 : fct_schema_add(c, &node);
}

/* Narrows a bound; sign -1: from above. */
static int read_bound(struct fct_schema_compiler *c, const json_t *json,
                      const struct fct_schema_place *place, enum fct_keyword keyword, int sign,
                      struct fct_number_rule *rule) {
    const json_t *value = fct_schema_get(json, keyword);
    int n_digits = rule->integer ? FCT_NUMBER_DIGITS : FCT_NUMBER_BOUNDED_DIGITS;
    bool exclusive = keyword == FCT_KEY_EXCLUSIVE_MINIMUM || keyword == FCT_KEY_EXCLUSIVE_MAXIMUM;
    fct_scaled bound;
    if (!value) return 0;
    if (!json_is_number(value) && !fct_json_long_integer(value))
        return fct_schema_wrong(c, place, keyword, "a number");
    char *text = fct_schema_number_text(value, c->err);
    if (!text) return -1;
    bool good = fct_scaled_read(text, n_digits, &bound);
    fct_free(text);
    if (!good)
        return fct_schema_fail(
            c, place, FCT_ERR_UNSUPPORTED,
            "'%s' with more than %d digits before the point or %d behind it is not "
            "supported",
            fct_keyword_names[keyword], n_digits, FCT_NUMBER_SCALE);
    rule->bounded = true;
    if (exclusive) bound += sign;
    if (sign > 0 && bound > rule->low) rule->low = bound;
    if (sign < 0 && bound < rule->high) rule->high = bound;
    return 0;
}

static int add_number(struct fct_schema_compiler *c, const json_t *json,
                      const struct fct_schema_place *place, unsigned types) {
    const fct_scaled beyond = fct_scaled_power(FCT_NUMBER_DIGITS + FCT_NUMBER_SCALE + 1);
    struct fct_schema_node node = {.kind = FCT_SCHEMA_NUMBER, .others = -1};
    struct fct_number_rule *rule = &node.number;
    *rule = (struct fct_number_rule){
        .integer = !(types & FCT_TYPE_REAL), .low = -beyond, .high = beyond};
    if (read_bound(c, json, place, FCT_KEY_MINIMUM, 1, rule) ||
        read_bound(c, json, place, FCT_KEY_EXCLUSIVE_MINIMUM, 1, rule) ||
        read_bound(c, json, place, FCT_KEY_MAXIMUM, -1, rule) ||
        read_bound(c, json, place, FCT_KEY_EXCLUSIVE_MAXIMUM, -1, rule))
        return -1;
    return fct_schema_add(c, &node);
}

/* The node of a keyword that holds a schema; -1 if that is false (*failed says if it was wrong). */
static int compile_others(struct fct_schema_compiler *c, const json_t *json,
                          const struct fct_schema_place *place, enum fct_keyword keyword,
                          bool *failed) {
    const struct fct_schema_place inner = fct_schema_below(place, fct_keyword_names[keyword]);
    const json_t *schema = fct_schema_get(json, keyword);
    if (json_is_false(schema)) return -1;
    int node = schema ? fct_schema_compile(c, schema, &inner, FCT_TYPE_ALL) : c->schema->root;
    *failed = node < 0;
    return node;
}

static int add_array(struct fct_schema_compiler *c, const json_t *json,
                     const struct fct_schema_place *place) {
    struct fct_schema_node node = {.kind = FCT_SCHEMA_ARRAY};
    const struct fct_schema_place inner =
        fct_schema_below(place, fct_keyword_names[FCT_KEY_PREFIX_ITEMS]);
    const json_t *prefix = fct_schema_get(json, FCT_KEY_PREFIX_ITEMS);
    struct fct_node_list first = {0};
    bool failed = false;
    node.min = fct_schema_count(c, json, place, FCT_KEY_MIN_ITEMS, 0);
    node.max = fct_schema_count(c, json, place, FCT_KEY_MAX_ITEMS, INT_MAX);
    if (node.min < 0 || node.max < 0) return -1;
    if (prefix && !json_is_array(prefix))
        return fct_schema_wrong(c, place, FCT_KEY_PREFIX_ITEMS, "a list of schemas");
    node.others = compile_others(c, json, place, FCT_KEY_ITEMS, &failed);
    if (failed || fct_schema_compile_list(c, prefix, &inner, FCT_TYPE_ALL, &first)) {
        free(first.nodes);
        return -1;
    }
    node.nodes = first.nodes;
    node.n_nodes = (int)first.n;
    return fct_schema_add(c, &node);
}

/* ---- objects ---- */

static int check_required(struct fct_schema_compiler *c, const json_t *required,
                          const json_t *properties, const struct fct_schema_place *place,
                          bool others) {
    if (required && !json_is_array(required))
        return fct_schema_wrong(c, place, FCT_KEY_REQUIRED, "a list of names");
    for (size_t i = 0; i < json_array_size(required); i++) {
        const char *name = json_string_value(json_array_get(required, i));
        if (!name) return fct_schema_wrong(c, place, FCT_KEY_REQUIRED, "a list of names");
        if (!others && !json_object_get(properties, name))
            return fct_schema_fail(c, place, FCT_ERR_ARGUMENT,
                                   "'%s' is required, but additionalProperties does not allow it",
                                   name);
    }
    return 0;
}

/* The names of properties and of what is required, told apart. */
static fct_status gather_names(struct fct_schema_compiler *c, const json_t *properties,
                               const json_t *required, struct fct_schema_node *node) {
    size_t most = json_object_size(properties) + json_array_size(required), n = 0;
    const char **texts = fct_new_array(most, sizeof *texts, c->err), *key;
    size_t *lengths = fct_new_array(most, sizeof *lengths, c->err);
    json_t *value;
    fct_status status = texts && lengths ? FCT_OK : FCT_ERR_MEMORY;
    if (!status) {
        json_object_foreach((json_t *)properties, key, value) texts[n++] = key;
        for (size_t i = 0; i < json_array_size(required); i++)
            texts[n++] = json_string_value(json_array_get(required, i));
        for (size_t i = 0; i < n; i++) lengths[i] = strlen(texts[i]);
        status = fct_names_init(&node->names, texts, lengths, (int)n, c->err);
    }
    free(texts);
    free(lengths);
    if (status) return status;
    node->nodes = fct_new_array((size_t)node->names.n, sizeof *node->nodes, c->err);
    node->required = fct_new_array((size_t)fct_schema_set_words(node), sizeof(uint32_t), c->err);
    return node->nodes && node->required ? FCT_OK : FCT_ERR_MEMORY;
}

static int compile_members(struct fct_schema_compiler *c, const json_t *properties,
                           const json_t *required, const struct fct_schema_place *place,
                           struct fct_schema_node *node) {
    const struct fct_schema_place inner =
        fct_schema_below(place, fct_keyword_names[FCT_KEY_PROPERTIES]);
    const char *key;
    json_t *value;
    if (gather_names(c, properties, required, node)) return -1;
    for (int i = 0; i < node->names.n; i++) node->nodes[i] = node->others;
    json_object_foreach((json_t *)properties, key, value) {
        const struct fct_schema_place member = fct_schema_below(&inner, key);
        int one = fct_schema_compile(c, value, &member, FCT_TYPE_ALL);
        if (one < 0) return -1;
        node->nodes[fct_names_find(&node->names, key, strlen(key))] = one;
    }
    for (size_t i = 0; i < json_array_size(required); i++) {
        const char *name = json_string_value(json_array_get(required, i));
        int at = fct_names_find(&node->names, name, strlen(name));
        node->required[at / 32] |= 1u << at % 32;
    }
    return 0;
}

static int add_object(struct fct_schema_compiler *c, const json_t *json,
                      const struct fct_schema_place *place) {
    struct fct_schema_node node = {.kind = FCT_SCHEMA_OBJECT};
    const json_t *properties = fct_schema_get(json, FCT_KEY_PROPERTIES),
                 *required = fct_schema_get(json, FCT_KEY_REQUIRED);
    bool failed = false;
    if (properties && !json_is_object(properties))
        return fct_schema_wrong(c, place, FCT_KEY_PROPERTIES, "an object of schemas");
    node.others = compile_others(c, json, place, FCT_KEY_ADDITIONAL, &failed);
    if (failed || check_required(c, required, properties, place, node.others >= 0)) return -1;
    if (compile_members(c, properties, required, place, &node)) {
        fct_names_free(&node.names);
        free(node.nodes);
        free(node.required);
        return -1;
    }
    return fct_schema_add(c, &node);
}

/* ---- all types ---- */

int fct_schema_add_types(struct fct_schema_compiler *c, const json_t *json,
                         const struct fct_schema_place *place, unsigned types) {
    struct fct_node_list list = {0};
    const char *words[3];
    int n_words = 0;
    fct_status status = FCT_OK;
    if (types & FCT_TYPE_BOOLEAN) words[n_words++] = "true", words[n_words++] = "false";
    if (types & FCT_TYPE_NULL) words[n_words++] = "null";
    if (types & FCT_TYPE_STRING) status = fct_node_list_add(c, &list, add_string(c, json, place));
    if (!status && types & (FCT_TYPE_INTEGER | FCT_TYPE_REAL))
        status = fct_node_list_add(c, &list, add_number(c, json, place, types));
    if (!status && n_words)
        status = fct_node_list_add(c, &list, fct_schema_add_words(c, words, n_words));
    if (!status && types & FCT_TYPE_ARRAY)
        status = fct_node_list_add(c, &list, add_array(c, json, place));
    if (!status && types & FCT_TYPE_OBJECT)
        status = fct_node_list_add(c, &list, add_object(c, json, place));
    if (!status) return fct_schema_add_any_of(c, &list);
    free(list.nodes);
    return -1;
}
