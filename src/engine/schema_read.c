/* schema_read.c - a JSON schema made nodes: choices, references, and the whole. */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "engine/schema_compiler.h"
#include "text/exact_json.h"

enum { MAX_NESTING = 512 }; /* of schemas, what a $ref names within it included: calls nest so */

static int add_listed(struct fct_schema_compiler *c, const json_t *json,
                      const struct fct_schema_place *place, int present, unsigned types) {
    enum fct_keyword keyword =
        present & (int)FCT_KEYWORD(FCT_KEY_ENUM) ? FCT_KEY_ENUM : FCT_KEY_CONST;
    if (!fct_schema_stands_alone(c, place, present, keyword, FCT_KEYWORD(FCT_KEY_TYPE))) return -1;
    const json_t *value = fct_schema_get(json, keyword);
    if (keyword == FCT_KEY_ENUM && json_array_size(value) == 0)
        return fct_schema_wrong(c, place, FCT_KEY_ENUM, "a list of values");
    if (keyword == FCT_KEY_ENUM) return fct_schema_add_values(c, value, types);
    json_t *list = json_pack("[O]", value);
    int node = list ? fct_schema_add_values(c, list, types) : -1;
    if (!list) fct_fail(c->err, FCT_ERR_MEMORY, "schema: no memory");
    json_decref(list);
    return node;
}

static fct_status remember_one_of(struct fct_schema_compiler *c, int node,
                                  const struct fct_schema_place *place) {
    fct_status status = fct_grow((void **)&c->one_ofs, &c->one_ofs_capacity, c->n_one_ofs + 1,
                                 sizeof *c->one_ofs, c->err);
    if (status) return status;
    struct fct_schema_one_of *one_of = &c->one_ofs[c->n_one_ofs++];
    one_of->node = node;
    fct_schema_place_text(place, one_of->place, sizeof one_of->place);
    return FCT_OK;
}

int fct_schema_compile_list(struct fct_schema_compiler *c, const json_t *schemas,
                            const struct fct_schema_place *place, unsigned types,
                            struct fct_node_list *list) {
    for (size_t i = 0; i < json_array_size(schemas); i++) {
        const struct fct_schema_place item = {place, NULL, i};
        int node = fct_schema_compile(c, json_array_get(schemas, i), &item, types);
        if (node < 0 || fct_node_list_add(c, list, node)) return -1;
    }
    return 0;
}

static int add_branches(struct fct_schema_compiler *c, const json_t *json,
                        const struct fct_schema_place *place, int present, unsigned types) {
    enum fct_keyword keyword = present & (int)FCT_KEYWORD(FCT_KEY_ANY_OF)   ? FCT_KEY_ANY_OF
                               : present & (int)FCT_KEYWORD(FCT_KEY_ONE_OF) ? FCT_KEY_ONE_OF
                                                                            : FCT_KEY_ALL_OF;
    const struct fct_schema_place inner = fct_schema_below(place, fct_keyword_names[keyword]);
    const json_t *branches = fct_schema_get(json, keyword);
    struct fct_node_list list = {0};
    if (!fct_schema_stands_alone(c, place, present, keyword, FCT_KEYWORD(FCT_KEY_TYPE))) return -1;
    if (json_array_size(branches) == 0)
        return fct_schema_wrong(c, place, keyword, "a list of schemas, at least one");
    if (keyword == FCT_KEY_ALL_OF && json_array_size(branches) > 1)
        return fct_schema_fail(c, place, FCT_ERR_UNSUPPORTED,
                               "'allOf' of more than one schema is not supported");
    if (fct_schema_compile_list(c, branches, &inner, types, &list)) {
        free(list.nodes);
        return -1;
    }
    bool exclusive = keyword == FCT_KEY_ONE_OF && list.n > 1;
    int node = fct_schema_add_any_of(c, &list);
    return node >= 0 && exclusive && remember_one_of(c, node, place) ? -1 : node;
}

/* A $ref is a choice with one branch, so that it can be named before that is known. */
static int add_reference(struct fct_schema_compiler *c, const json_t *json,
                         const struct fct_schema_place *place, int present, unsigned types) {
    const char *pointer = json_string_value(fct_schema_get(json, FCT_KEY_REF));
    if (!fct_schema_stands_alone(c, place, present, FCT_KEY_REF, FCT_KEYWORD(FCT_KEY_TYPE)))
        return -1;
    const json_t *target = pointer ? fct_schema_resolve(c->text, pointer) : NULL;
    if (!target)
        return fct_schema_fail(c, place, FCT_ERR_UNSUPPORTED,
                               "'$ref' must be a pointer into this schema, like #/$defs/name%s%s",
                               pointer ? ", and there is nothing at " : "", pointer ? pointer : "");
    for (size_t i = 0; i < c->n_targets; i++)
        if (c->targets[i].json == target && c->targets[i].types == types) return c->targets[i].node;
    if (fct_grow((void **)&c->targets, &c->targets_capacity, c->n_targets + 1, sizeof *c->targets,
                 c->err))
        return -1;
    struct fct_schema_node choice = {.kind = FCT_SCHEMA_ANY, .others = -1};
    choice.nodes = fct_new(sizeof *choice.nodes, c->err);
    if (!choice.nodes) return -1;
    int node = fct_schema_add(c, &choice);
    if (node < 0) return -1;
    c->targets[c->n_targets++] = (struct fct_schema_target){target, types, node};
    const struct fct_schema_place there = {NULL, pointer, 0};
    int value = fct_schema_compile(c, target, &there, types);
    if (value < 0) return -1;
    c->schema->nodes[node].nodes[0] = value;
    c->schema->nodes[node].n_nodes = 1;
    return node;
}

static int compile(struct fct_schema_compiler *c, const json_t *json,
                   const struct fct_schema_place *place, unsigned types) {
    static const struct fct_schema_node nothing = {.kind = FCT_SCHEMA_ANY, .others = -1};
    if (json_is_false(json)) return fct_schema_add(c, &nothing);
    if (!json_is_true(json) && !json_is_object(json))
        return fct_schema_fail(c, place, FCT_ERR_ARGUMENT,
                               "a schema must be an object, true or false");
    int present = json_is_object(json) ? fct_schema_keywords(c, json, place) : 0;
    if (present < 0 || fct_schema_types(c, json, place, &types)) return -1;
    if (present & (int)FCT_KEYWORD(FCT_KEY_REF))
        return add_reference(c, json, place, present, types);
    if (present & (int)(FCT_KEYWORD(FCT_KEY_ENUM) | FCT_KEYWORD(FCT_KEY_CONST)))
        return add_listed(c, json, place, present, types);
    if (present & (int)(FCT_KEYWORD(FCT_KEY_ANY_OF) | FCT_KEYWORD(FCT_KEY_ONE_OF) |
                        FCT_KEYWORD(FCT_KEY_ALL_OF)))
        return add_branches(c, json, place, present, types);
    if (!present && types == FCT_TYPE_ALL) return c->schema->root;
    return fct_schema_add_types(c, json, place, types);
}

int fct_schema_compile(struct fct_schema_compiler *c, const json_t *json,
                       const struct fct_schema_place *place, unsigned types) {
    if (c->depth == MAX_NESTING)
        return fct_schema_fail(c, place, FCT_ERR_UNSUPPORTED,
                               "more than %d schemas inside each other", MAX_NESTING);
    c->depth++;
    int node = compile(c, json, place, types);
    c->depth--;
    return node;
}

/* ---- the whole ---- */

/* The node of all values is the first: its arrays and objects hold any again. */
static int begin(struct fct_schema_compiler *c) {
    static const struct fct_schema_node any = {.kind = FCT_SCHEMA_ANY, .others = -1};
    const struct fct_schema_place top = {NULL, "#", 0};
    c->schema->root = fct_schema_add(c, &any);
    int all = c->schema->root < 0 ? -1 : fct_schema_add_types(c, NULL, &top, FCT_TYPE_ALL);
    struct fct_node_list list = {0};
    if (all < 0 || fct_node_list_add(c, &list, all)) return -1;
    c->schema->nodes[c->schema->root].nodes = list.nodes;
    c->schema->nodes[c->schema->root].n_nodes = 1;
    return c->schema->root;
}

static fct_schema *finish(struct fct_schema_compiler *c, int root) {
    fct_schema *schema = c->schema;
    fct_status status = root >= 0 ? FCT_OK : FCT_ERR_ARGUMENT;
    if (!status) {
        schema->root = root;
        status = fct_schema_finish(schema, c->err);
    }
    for (size_t i = 0; i < c->n_one_ofs && !status; i++)
        status = fct_schema_check_one_of(schema, &c->one_ofs[i], c->err);
    free(c->targets);
    free(c->one_ofs);
    if (!status) return schema;
    fct_schema_free(schema);
    return NULL;
}

fct_schema *fct_schema_any(fct_error *err) {
    struct fct_schema_compiler c = {.err = err};
    c.schema = fct_new(sizeof *c.schema, err);
    return c.schema ? finish(&c, begin(&c)) : NULL;
}

fct_schema *fct_schema_read(const char *text, size_t n_bytes, fct_error *err) {
    const struct fct_schema_place top = {NULL, "#", 0};
    struct fct_schema_compiler c = {.err = err};
    json_t *json = fct_json_read(text, n_bytes, "schema", err);
    if (!json) return NULL;
    c.text = json;
    c.schema = fct_new(sizeof *c.schema, err);
    int root = c.schema ? begin(&c) : -1;
    if (root >= 0) root = fct_schema_compile(&c, json, &top, FCT_TYPE_ALL);
    fct_schema *schema = c.schema ? finish(&c, root) : NULL;
    json_decref(json);
    return schema;
}
