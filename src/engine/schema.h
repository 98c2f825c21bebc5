/* schema.h - a JSON schema as the nodes that fct_json_machine walks; docs/STRUCTURED_OUTPUT.md has
 * what of JSON Schema there is. */
#ifndef FCT_ENGINE_SCHEMA_H
#define FCT_ENGINE_SCHEMA_H

#include "engine/json_number.h"
#include "engine/name_set.h"

enum {
    FCT_SCHEMA_MAX_NODES = 65536,
    FCT_SCHEMA_MAX_ALTERNATIVES = 32, /* of one value */
    FCT_SCHEMA_MAX_DEPTH = 64,        /* containers inside each other in what is written */
    FCT_SCHEMA_NEVER = 1 << 20        /* a depth that nothing has room for */
};

enum fct_schema_kind {
    FCT_SCHEMA_STRING,
    FCT_SCHEMA_NUMBER,
    FCT_SCHEMA_WORDS, /* true, false, null, and numbers that are listed */
    FCT_SCHEMA_ARRAY,
    FCT_SCHEMA_OBJECT,
    FCT_SCHEMA_ANY /* of other nodes; of none: nothing fits */
};

/* A node stands for values; others name it by its number. */
struct fct_schema_node {
    enum fct_schema_kind kind;
    int depth;         /* containers inside each other that its values need at least */
    int *alternatives; /* what is not FCT_SCHEMA_ANY itself, each once; values are those of any */
    int n_alternatives;
    struct fct_names names; /* words; strings that are listed; keys that are told apart */
    bool listed;            /* string: one of names */
    int min, max;           /* characters of a string, items of an array; INT_MAX: no limit */
    struct fct_number_rule number;
    int *nodes;         /* any: of what; array: first items; object: [names.n] values */
    int n_nodes;        /* of them */
    int others;         /* array: further items; object: values of other keys; -1: none */
    uint32_t *required; /* object: a bit a name */
};

/* Immutable. */
typedef struct fct_schema {
    struct fct_schema_node *nodes;
    size_t n_nodes, capacity;
    int root;
} fct_schema;

/* Reads a schema of n_bytes of UTF-8. FCT_ERR_ARGUMENT if it is none, FCT_ERR_UNSUPPORTED naming
 * the keyword, and where it stands, if it goes beyond the subset: nothing is ever ignored but
 * annotations. */
fct_schema *fct_schema_read(const char *text, size_t n_bytes, fct_error *err);
fct_schema *fct_schema_any(fct_error *err); /* all values */
void fct_schema_free(fct_schema *schema);

/* Words of 32 bits that a set of an object's names takes. */
static inline int fct_schema_set_words(const struct fct_schema_node *object) {
    return (object->names.n + 31) / 32;
}
/* The node of the item number `index`, or -1: there can be none. */
static inline int fct_schema_item(const struct fct_schema_node *array, int index) {
    return index < array->n_nodes ? array->nodes[index] : array->others;
}

#endif
