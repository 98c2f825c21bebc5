/* schema_nodes.c - nodes of a schema: added, listed, freed, and their values enumerated. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "engine/schema_compiler.h"
#include "text/exact_json.h"

static void free_node(struct fct_schema_node *node) {
    fct_names_free(&node->names);
    free(node->alternatives);
    free(node->nodes);
    free(node->required);
}

void fct_schema_free(fct_schema *schema) {
    if (!schema) return;
    for (size_t i = 0; i < schema->n_nodes; i++) free_node(&schema->nodes[i]);
    free(schema->nodes);
    free(schema);
}

/* Takes what the node points to, also when it fails. */
int fct_schema_add(struct fct_schema_compiler *c, const struct fct_schema_node *node) {
    fct_schema *s = c->schema;
    struct fct_schema_node copy = *node;
    fct_status status = FCT_OK;
    if (s->n_nodes == FCT_SCHEMA_MAX_NODES)
        status = fct_fail(c->err, FCT_ERR_UNSUPPORTED, "schema: more than %d parts",
                          FCT_SCHEMA_MAX_NODES);
    if (!status)
        status =
            fct_grow((void **)&s->nodes, &s->capacity, s->n_nodes + 1, sizeof *s->nodes, c->err);
    if (status) {
        free_node(&copy);
        return -1;
    }
    s->nodes[s->n_nodes] = copy;
    return (int)s->n_nodes++;
}

fct_status fct_node_list_add(struct fct_schema_compiler *c, struct fct_node_list *list, int node) {
    if (node < 0) return c->err ? c->err->code : FCT_ERR_ARGUMENT;
    fct_status status =
        fct_grow((void **)&list->nodes, &list->capacity, list->n + 1, sizeof *list->nodes, c->err);
    if (!status) list->nodes[list->n++] = node;
    return status;
}

int fct_schema_add_any_of(struct fct_schema_compiler *c, struct fct_node_list *list) {
    if (list->n == 1) {
        int only = list->nodes[0];
        free(list->nodes);
        return only;
    }
    return fct_schema_add(c, &(struct fct_schema_node){.kind = FCT_SCHEMA_ANY,
                                                       .nodes = list->nodes,
                                                       .n_nodes = (int)list->n});
}

/* ---- values that are listed ---- */

static int add_names(struct fct_schema_compiler *c, enum fct_schema_kind kind,
                     const char *const *texts, const size_t *lengths, int n) {
    struct fct_schema_node node = {.kind = kind, .listed = true, .max = INT_MAX, .others = -1};
    if (fct_names_init(&node.names, texts, lengths, n, c->err)) return -1;
    return fct_schema_add(c, &node);
}

int fct_schema_add_words(struct fct_schema_compiler *c, const char *const *words, int n) {
    size_t lengths[4];
    for (int i = 0; i < n; i++) lengths[i] = strlen(words[i]);
    return add_names(c, FCT_SCHEMA_WORDS, words, lengths, n);
}

static unsigned type_of(const json_t *value) {
    if (json_is_integer(value) || fct_json_long_integer(value)) return FCT_TYPE_INTEGER;
    if (json_is_real(value))
        return floor(json_real_value(value)) == json_real_value(value) ? FCT_TYPE_INTEGER
                                                                       : FCT_TYPE_REAL;
    if (json_is_string(value)) return FCT_TYPE_STRING;
    if (json_is_boolean(value)) return FCT_TYPE_BOOLEAN;
    if (json_is_array(value)) return FCT_TYPE_ARRAY;
    return json_is_object(value) ? FCT_TYPE_OBJECT : FCT_TYPE_NULL;
}

char *fct_schema_number_text(const json_t *number, fct_error *err) {
    const char *long_integer = fct_json_long_integer(number);
    if (long_integer) return fct_copy_text(long_integer, strlen(long_integer), err);
    json_t *list = json_pack("[O]", number);
    size_t n = 0;
    char *text = list ? fct_json_write(list, JSON_COMPACT, &n, err)
                      : fct_fail_null(err, FCT_ERR_MEMORY, "schema: no memory");
    json_decref(list);
    if (!text) return NULL;
    memmove(text, text + 1, n - 2); /* without its brackets */
    text[n - 2] = 0;
    return text;
}

static char *word_text(const json_t *value, fct_error *err) {
    const char *word = json_is_true(value) ? "true" : json_is_false(value) ? "false" : "null";
    bool number = type_of(value) & (FCT_TYPE_INTEGER | FCT_TYPE_REAL);
    return number ? fct_schema_number_text(value, err) : fct_copy_text(word, strlen(word), err);
}

static int add_words(struct fct_schema_compiler *c, const json_t *const *values, int n) {
    char **texts = fct_new_array((size_t)n, sizeof *texts, c->err);
    size_t *lengths = fct_new_array((size_t)n, sizeof *lengths, c->err);
    bool good = texts && lengths;
    for (int i = 0; good && i < n; i++) {
        texts[i] = word_text(values[i], c->err);
        good = texts[i] != NULL;
        lengths[i] = good ? strlen(texts[i]) : 0;
    }
    int node = good ? add_names(c, FCT_SCHEMA_WORDS, (const char *const *)texts, lengths, n) : -1;
    for (int i = 0; texts && i < n; i++) fct_free(texts[i]);
    free(texts);
    free(lengths);
    return node;
}

static int add_strings(struct fct_schema_compiler *c, const json_t *const *values, int n) {
    const char **texts = fct_new_array((size_t)n, sizeof *texts, c->err);
    size_t *lengths = fct_new_array((size_t)n, sizeof *lengths, c->err);
    for (int i = 0; texts && lengths && i < n; i++) {
        texts[i] = json_string_value(values[i]);
        lengths[i] = json_string_length(values[i]);
    }
    int node = texts && lengths ? add_names(c, FCT_SCHEMA_STRING, texts, lengths, n) : -1;
    free(texts);
    free(lengths);
    return node;
}

static int add_value(struct fct_schema_compiler *c, const json_t *value) {
    json_t *list = json_pack("[O]", value);
    if (!list) fct_fail(c->err, FCT_ERR_MEMORY, "schema: no memory");
    int node = list ? fct_schema_add_values(c, list, FCT_TYPE_ALL) : -1;
    json_decref(list);
    return node;
}

static int add_array(struct fct_schema_compiler *c, const json_t *array) {
    struct fct_node_list items = {0};
    size_t n = json_array_size(array);
    for (size_t i = 0; i < n; i++)
        if (fct_node_list_add(c, &items, add_value(c, json_array_get(array, i)))) {
            free(items.nodes);
            return -1;
        }
    return fct_schema_add(c, &(struct fct_schema_node){.kind = FCT_SCHEMA_ARRAY,
                                                       .min = (int)n,
                                                       .max = (int)n,
                                                       .nodes = items.nodes,
                                                       .n_nodes = (int)items.n,
                                                       .others = -1});
}

/* All keys of the object, and no others. */
static fct_status name_members(struct fct_schema_compiler *c, const json_t *object,
                               struct fct_schema_node *node) {
    size_t n = json_object_size(object), i = 0;
    const char **texts = fct_new_array(n, sizeof *texts, c->err), *key;
    size_t *lengths = fct_new_array(n, sizeof *lengths, c->err);
    json_t *value;
    fct_status status = texts && lengths ? FCT_OK : FCT_ERR_MEMORY;
    if (!status) {
        json_object_foreach((json_t *)object, key, value) {
            texts[i] = key;
            lengths[i++] = strlen(key);
        }
        status = fct_names_init(&node->names, texts, lengths, (int)n, c->err);
    }
    free(texts);
    free(lengths);
    if (status) return status;
    node->nodes = fct_new_array(n, sizeof *node->nodes, c->err);
    node->required = fct_new_array((size_t)fct_schema_set_words(node), sizeof(uint32_t), c->err);
    return node->nodes && node->required ? FCT_OK : FCT_ERR_MEMORY;
}

static int add_object(struct fct_schema_compiler *c, const json_t *object) {
    struct fct_schema_node node = {.kind = FCT_SCHEMA_OBJECT, .others = -1};
    const char *key;
    json_t *value;
    if (name_members(c, object, &node)) {
        free_node(&node);
        return -1;
    }
    json_object_foreach((json_t *)object, key, value) {
        int at = fct_names_find(&node.names, key, strlen(key)), member = add_value(c, value);
        if (member < 0) {
            free_node(&node);
            return -1;
        }
        node.nodes[at] = member;
        node.required[at / 32] |= 1u << at % 32;
    }
    return fct_schema_add(c, &node);
}

/* Strings, and words, become one node each; arrays and objects one a value. */
static fct_status add_by_kind(struct fct_schema_compiler *c, const json_t *values, unsigned types,
                              const json_t **some, struct fct_node_list *list) {
    const unsigned containers = FCT_TYPE_ARRAY | FCT_TYPE_OBJECT,
                   kinds[] = {FCT_TYPE_STRING, FCT_TYPE_ALL & ~(containers | FCT_TYPE_STRING)};
    fct_status status = FCT_OK;
    for (int kind = 0; kind < 2 && !status; kind++) {
        int n = 0;
        for (size_t i = 0; i < json_array_size(values); i++) {
            const json_t *value = json_array_get(values, i);
            if (type_of(value) & types & kinds[kind]) some[n++] = value;
        }
        if (n == 0) continue;
        int node = kind == 0 ? add_strings(c, some, n) : add_words(c, some, n);
        status = fct_node_list_add(c, list, node);
    }
    for (size_t i = 0; i < json_array_size(values) && !status; i++) {
        const json_t *value = json_array_get(values, i);
        if (!(type_of(value) & types & containers)) continue;
        int node = json_is_array(value) ? add_array(c, value) : add_object(c, value);
        status = fct_node_list_add(c, list, node);
    }
    return status;
}

int fct_schema_add_values(struct fct_schema_compiler *c, const json_t *values, unsigned types) {
    struct fct_node_list list = {0};
    const json_t **some = fct_new_array(json_array_size(values), sizeof *some, c->err);
    fct_status status = some ? add_by_kind(c, values, types, some, &list) : FCT_ERR_MEMORY;
    free(some);
    if (!status) return fct_schema_add_any_of(c, &list);
    free(list.nodes);
    return -1;
}
