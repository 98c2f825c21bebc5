/* schema_finish.c - what of a schema's nodes can be a value, how deep that is, and whether branches
 * exclude each other. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "engine/schema_compiler.h"

/* ---- alternatives ---- */

struct walk {
    int *stack; /* [n_nodes] */
    int *seen;  /* [n_nodes]: the last node that was reached from, plus one */
};

/* The nodes that are no choices themselves among those that the choice leads to. A choice that only
 * leads back to itself has none. */
static fct_status gather(fct_schema *s, int start, struct walk *walk, fct_error *err) {
    int found[FCT_SCHEMA_MAX_ALTERNATIVES], n_found = 0, n_stack = 0;
    walk->stack[n_stack++] = start;
    walk->seen[start] = start + 1;
    while (n_stack > 0) {
        int at = walk->stack[--n_stack];
        const struct fct_schema_node *node = &s->nodes[at];
        if (node->kind != FCT_SCHEMA_ANY) {
            if (n_found == FCT_SCHEMA_MAX_ALTERNATIVES)
                return fct_fail(err, FCT_ERR_UNSUPPORTED,
                                "schema: more than %d alternatives for one value",
                                FCT_SCHEMA_MAX_ALTERNATIVES);
            found[n_found++] = at;
            continue;
        }
        for (int i = node->n_nodes - 1; i >= 0; i--) {
            int next = node->nodes[i];
            if (walk->seen[next] == start + 1) continue;
            walk->seen[next] = start + 1;
            walk->stack[n_stack++] = next;
        }
    }
    struct fct_schema_node *node = &s->nodes[start];
    node->alternatives = fct_new_array((size_t)n_found, sizeof *node->alternatives, err);
    if (!node->alternatives) return FCT_ERR_MEMORY;
    memcpy(node->alternatives, found, (size_t)n_found * sizeof *found);
    node->n_alternatives = n_found;
    return FCT_OK;
}

static fct_status gather_all(fct_schema *s, fct_error *err) {
    struct walk walk = {fct_new_array(s->n_nodes, sizeof(int), err),
                        fct_new_array(s->n_nodes, sizeof(int), err)};
    fct_status status = walk.stack && walk.seen ? FCT_OK : FCT_ERR_MEMORY;
    for (size_t i = 0; i < s->n_nodes && !status; i++) status = gather(s, (int)i, &walk, err);
    free(walk.stack);
    free(walk.seen);
    return status;
}

/* ---- depths ---- */

static int deeper(int depth) {
    return depth >= FCT_SCHEMA_MAX_DEPTH ? FCT_SCHEMA_NEVER : depth + 1;
}

static int larger(int a, int b) { return a > b ? a : b; }

static int node_depth(const fct_schema *s, int node) {
    return node < 0 ? FCT_SCHEMA_NEVER : s->nodes[node].depth;
}

static int array_depth(const fct_schema *s, const struct fct_schema_node *array) {
    int depth = 0;
    if (array->min > array->max) return FCT_SCHEMA_NEVER;
    for (int i = 0; i < array->min && i < array->n_nodes; i++)
        depth = larger(depth, node_depth(s, array->nodes[i]));
    if (array->min > array->n_nodes) depth = larger(depth, node_depth(s, array->others));
    return deeper(depth);
}

static int object_depth(const fct_schema *s, const struct fct_schema_node *object) {
    int depth = 0;
    for (int i = 0; i < object->names.n; i++)
        if (object->required[i / 32] >> i % 32 & 1)
            depth = larger(depth, node_depth(s, object->nodes[i]));
    return deeper(depth);
}

static int depth_needed(const fct_schema *s, const struct fct_schema_node *node) {
    int least = FCT_SCHEMA_NEVER;
    switch (node->kind) {
    case FCT_SCHEMA_STRING:
        return (node->listed ? node->names.n > 0 : node->min <= node->max) ? 0 : FCT_SCHEMA_NEVER;
    case FCT_SCHEMA_NUMBER:
        return fct_number_possible(&node->number) ? 0 : FCT_SCHEMA_NEVER;
    case FCT_SCHEMA_WORDS:
        return 0;
    case FCT_SCHEMA_ARRAY:
        return array_depth(s, node);
    case FCT_SCHEMA_OBJECT:
        return object_depth(s, node);
    case FCT_SCHEMA_ANY:
        for (int i = 0; i < node->n_alternatives; i++) {
            int depth = s->nodes[node->alternatives[i]].depth;
            if (depth < least) least = depth;
        }
        return least;
    }
    return least;
}

/* From "never" down, until nothing changes any more: what stays at "never" has no end. Children
 * come behind their parents for the most part. */
static void measure_depths(fct_schema *s) {
    bool changed = true;
    for (size_t i = 0; i < s->n_nodes; i++) s->nodes[i].depth = FCT_SCHEMA_NEVER;
    while (changed) {
        changed = false;
        for (size_t i = s->n_nodes; i-- > 0;) {
            int depth = depth_needed(s, &s->nodes[i]);
            changed |= depth != s->nodes[i].depth;
            s->nodes[i].depth = depth;
        }
    }
}

fct_status fct_schema_finish(fct_schema *s, fct_error *err) {
    fct_status status = gather_all(s, err);
    if (status) return status;
    measure_depths(s);
    if (s->nodes[s->root].depth > FCT_SCHEMA_MAX_DEPTH)
        return fct_fail(err, FCT_ERR_ARGUMENT,
                        "schema: no value fits it (or none that is nested at most %d deep)",
                        FCT_SCHEMA_MAX_DEPTH);
    return FCT_OK;
}

/* ---- oneOf ---- */

enum { LOOK_DEPTH = 8 }; /* how deep it is looked for what tells two branches apart */

static bool disjoint(const fct_schema *s, int a, int b, int depth);

static int length_of(const struct fct_names *names, int i) {
    return names->begins[i + 1] - names->begins[i];
}

static bool share_names(const struct fct_names *a, const struct fct_names *b) {
    for (int i = 0; i < a->n; i++)
        if (fct_names_find_same(b, a, i) >= 0) return true;
    return false;
}

static bool has_length(const struct fct_names *names, int min, int max) {
    for (int i = 0; i < names->n; i++)
        if (length_of(names, i) >= min && length_of(names, i) <= max) return true;
    return false;
}

static bool strings_disjoint(const struct fct_schema_node *a, const struct fct_schema_node *b) {
    if (a->listed && b->listed) return !share_names(&a->names, &b->names);
    if (a->listed) return !has_length(&a->names, b->min, b->max);
    if (b->listed) return !has_length(&b->names, a->min, a->max);
    return a->max < b->min || b->max < a->min;
}

static bool has_numbers(const struct fct_schema_node *words) {
    for (int i = 0; i < words->names.n; i++) {
        uint32_t first = words->names.characters[words->names.begins[i]];
        if (first == '-' || (first >= '0' && first <= '9')) return true;
    }
    return false;
}

/* 1 and 1.0 are the same value: lists of numbers are not told apart. */
static bool words_disjoint(const struct fct_schema_node *a, const struct fct_schema_node *b) {
    return !(has_numbers(a) && has_numbers(b)) && !share_names(&a->names, &b->names);
}

static bool is_required(const struct fct_schema_node *object, int key) {
    return object->required[key / 32] >> key % 32 & 1;
}

/* Is there a key that each value of a has, and none of b, or only with other values? */
static bool key_tells(const fct_schema *s, const struct fct_schema_node *a,
                      const struct fct_schema_node *b, int depth) {
    for (int i = 0; i < a->names.n; i++) {
        if (!is_required(a, i)) continue;
        int other = fct_names_find_same(&b->names, &a->names, i),
            value = other >= 0 ? b->nodes[other] : b->others;
        if (value < 0 || s->nodes[value].depth == FCT_SCHEMA_NEVER) return true;
        if (disjoint(s, a->nodes[i], value, depth + 1)) return true;
    }
    return false;
}

static bool leaves_disjoint(const fct_schema *s, const struct fct_schema_node *a,
                            const struct fct_schema_node *b, int depth) {
    if (a->depth == FCT_SCHEMA_NEVER || b->depth == FCT_SCHEMA_NEVER) return true;
    if (a->kind > b->kind) return leaves_disjoint(s, b, a, depth);
    if (a->kind == FCT_SCHEMA_NUMBER && b->kind == FCT_SCHEMA_WORDS) return !has_numbers(b);
    if (a->kind != b->kind) return true;
    switch (a->kind) {
    case FCT_SCHEMA_STRING:
        return strings_disjoint(a, b);
    case FCT_SCHEMA_NUMBER:
        return a->number.bounded && b->number.bounded &&
               (a->number.high < b->number.low || b->number.high < a->number.low);
    case FCT_SCHEMA_WORDS:
        return words_disjoint(a, b);
    case FCT_SCHEMA_ARRAY:
        return a->max < b->min || b->max < a->min;
    case FCT_SCHEMA_OBJECT:
        return key_tells(s, a, b, depth) || key_tells(s, b, a, depth);
    case FCT_SCHEMA_ANY:
        break;
    }
    return false;
}

static bool disjoint(const fct_schema *s, int a, int b, int depth) {
    if (depth > LOOK_DEPTH) return false;
    const struct fct_schema_node *x = &s->nodes[a], *y = &s->nodes[b];
    for (int i = 0; i < x->n_alternatives; i++)
        for (int j = 0; j < y->n_alternatives; j++)
            if (!leaves_disjoint(s, &s->nodes[x->alternatives[i]], &s->nodes[y->alternatives[j]],
                                 depth))
                return false;
    return true;
}

fct_status fct_schema_check_one_of(const fct_schema *s, const struct fct_schema_one_of *one_of,
                                   fct_error *err) {
    const struct fct_schema_node *node = &s->nodes[one_of->node];
    for (int i = 0; i < node->n_nodes; i++)
        for (int j = i + 1; j < node->n_nodes; j++)
            if (!disjoint(s, node->nodes[i], node->nodes[j], 0))
                return fct_fail(err, FCT_ERR_UNSUPPORTED,
                                "schema, at %s: 'oneOf' is supported only where its branches "
                                "exclude each other; a value may fit both number %d and %d",
                                one_of->place, i + 1, j + 1);
    return FCT_OK;
}
