/* schema_compiler.h - what the files that compile a schema share. */
#ifndef FCT_ENGINE_SCHEMA_COMPILER_H
#define FCT_ENGINE_SCHEMA_COMPILER_H

#include <jansson.h>

#include "engine/schema.h"

/* A schema within the schema, for messages: the way to it. */
struct fct_schema_place {
    const struct fct_schema_place *above; /* NULL: name says it all */
    const char *name;                     /* of the keyword or the property; NULL: index */
    size_t index;
};
static inline struct fct_schema_place fct_schema_below(const struct fct_schema_place *place,
                                                       const char *name) {
    return (struct fct_schema_place){place, name, 0};
}
/* "#/properties/a" */
void fct_schema_place_text(const struct fct_schema_place *place, char *out, size_t size);

/* What a pointer like "#/$defs/name" names within root, or NULL. */
const json_t *fct_schema_resolve(const json_t *root, const char *pointer);

/* JSON's types; a number that is no integer is FCT_TYPE_REAL. */
enum {
    FCT_TYPE_NULL = 1,
    FCT_TYPE_BOOLEAN = 2,
    FCT_TYPE_INTEGER = 4,
    FCT_TYPE_REAL = 8,
    FCT_TYPE_STRING = 16,
    FCT_TYPE_ARRAY = 32,
    FCT_TYPE_OBJECT = 64,
    FCT_TYPE_ALL = 127
};

/* Something that $ref names: compiled once for each set of types. */
struct fct_schema_target {
    const json_t *json;
    unsigned types;
    int node;
};
/* A oneOf, whose branches have to exclude each other. */
struct fct_schema_one_of {
    int node;
    char place[160];
};

struct fct_schema_compiler {
    fct_schema *schema;
    const json_t *text;
    struct fct_schema_target *targets;
    size_t n_targets, targets_capacity;
    struct fct_schema_one_of *one_ofs;
    size_t n_one_ofs, one_ofs_capacity;
    int depth; /* of the schema that is being compiled */
    fct_error *err;
};

/* A list of nodes that grows. */
struct fct_node_list {
    int *nodes;
    size_t n, capacity;
};

/* ---- keywords ---- */

enum fct_keyword {
    FCT_KEY_TYPE,
    FCT_KEY_REF,
    FCT_KEY_ALL_OF,
    FCT_KEY_ANY_OF,
    FCT_KEY_ONE_OF,
    FCT_KEY_ENUM,
    FCT_KEY_CONST,
    FCT_KEY_PROPERTIES,
    FCT_KEY_REQUIRED,
    FCT_KEY_ADDITIONAL,
    FCT_KEY_ITEMS,
    FCT_KEY_PREFIX_ITEMS,
    FCT_KEY_MIN_ITEMS,
    FCT_KEY_MAX_ITEMS,
    FCT_KEY_MIN_LENGTH,
    FCT_KEY_MAX_LENGTH,
    FCT_KEY_MINIMUM,
    FCT_KEY_MAXIMUM,
    FCT_KEY_EXCLUSIVE_MINIMUM,
    FCT_KEY_EXCLUSIVE_MAXIMUM,
    FCT_N_KEYWORDS
};
extern const char *const fct_keyword_names[FCT_N_KEYWORDS];
#define FCT_KEYWORD(keyword) (1u << (keyword))

/* These give -1 (or false) and an error. */
int fct_schema_fail(struct fct_schema_compiler *compiler, const struct fct_schema_place *place,
                    fct_status status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
int fct_schema_wrong(struct fct_schema_compiler *compiler, const struct fct_schema_place *place,
                     enum fct_keyword keyword, const char *wanted);
/* What keywords a schema has, as bits; -1: one that is not supported. */
int fct_schema_keywords(struct fct_schema_compiler *compiler, const json_t *json,
                        const struct fct_schema_place *place);
/* Some keywords stand alone, but for those in `company` (bits). */
bool fct_schema_stands_alone(struct fct_schema_compiler *compiler,
                             const struct fct_schema_place *place, int present,
                             enum fct_keyword keyword, unsigned company);
/* A number of things; `missing` if the keyword is not there. -1: it is none. */
int fct_schema_count(struct fct_schema_compiler *compiler, const json_t *json,
                     const struct fct_schema_place *place, enum fct_keyword keyword, int missing);
/* Narrows *types to those that "type" names. -1: it is wrong. */
int fct_schema_types(struct fct_schema_compiler *compiler, const json_t *json,
                     const struct fct_schema_place *place, unsigned *types);

static inline const json_t *fct_schema_get(const json_t *json, enum fct_keyword keyword) {
    return json_object_get(json, fct_keyword_names[keyword]);
}

/* ---- nodes ---- */

/* These return a node, or -1 and an error. */
int fct_schema_compile(struct fct_schema_compiler *compiler, const json_t *json,
                       const struct fct_schema_place *place, unsigned types);
/* Each schema of a list; 0, or -1 and an error. */
int fct_schema_compile_list(struct fct_schema_compiler *compiler, const json_t *schemas,
                            const struct fct_schema_place *place, unsigned types,
                            struct fct_node_list *list);
/* What json says about values of each of the types. */
int fct_schema_add_types(struct fct_schema_compiler *compiler, const json_t *json,
                         const struct fct_schema_place *place, unsigned types);
int fct_schema_add(struct fct_schema_compiler *compiler, const struct fct_schema_node *node);
int fct_schema_add_any_of(struct fct_schema_compiler *compiler, struct fct_node_list *list);
int fct_schema_add_words(struct fct_schema_compiler *compiler, const char *const *words, int n);
/* Just these values, as far as they are of the types. */
int fct_schema_add_values(struct fct_schema_compiler *compiler, const json_t *values,
                          unsigned types);

fct_status fct_node_list_add(struct fct_schema_compiler *compiler, struct fct_node_list *list,
                             int node);

/* The text of a number as facet writes it (the fewest digits); the caller's. */
char *fct_schema_number_text(const json_t *number, fct_error *err);

/* What is to be done when all nodes are there: alternatives, depths, branches of oneOf. */
fct_status fct_schema_finish(fct_schema *schema, fct_error *err);
fct_status fct_schema_check_one_of(const fct_schema *schema, const struct fct_schema_one_of *one_of,
                                   fct_error *err);

#endif
