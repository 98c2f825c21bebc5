/* tensor_plan.h - which tensors the packed file of a network has, in which order, and where each
 * comes from. */
#ifndef FCT_CONVERT_TENSOR_PLAN_H
#define FCT_CONVERT_TENSOR_PLAN_H

#include "convert/quantize.h"
#include "convert/source.h"
#include "kernels/blocks.h"
#include "pack/config.h"

enum fct_plan_kind { FCT_PLAN_MATRIX, FCT_PLAN_VECTOR, FCT_PLAN_TABLE };

struct fct_plan_entry {
    enum fct_plan_kind kind;
    char name[80];     /* in the packed file */
    int rows, columns; /* a vector: its elements, 1 */
    enum fct_scheme scheme;
    int group;      /* of a matrix */
    int blocks;     /* of a table */
    bool fell_back; /* the scheme or group asked for did not divide the columns */
    struct fct_rounding rounding;
    bool exact;                           /* the source's own codes and scales, as they are */
    float shift, scale;                   /* of a vector: value = (the source's + shift) * scale */
    const struct fct_source_tensor *from; /* the source's */
};

/* In the order in which a token meets them, the tables last. */
struct fct_plan {
    struct fct_plan_entry *entries;
    size_t n_entries, capacity;
    size_t n_other_modalities; /* tensors of the source that belong to vision and audio */
    size_t n_unused;  /* that the text network does not use, keys and values of sharing layers not
                         counted */
    char unused[600]; /* their names, as many as fit */
};

struct fct_plan_schemes {
    enum fct_scheme weights;
    int group;
    enum fct_scheme tables;
    bool keep;        /* matrices whose source is quantized stay as close to it as can be */
    bool keep_tables; /* the same for tables */
};

/* Lists what config asks for and finds it in source (NULL: lists only). Missing tensors are an
 * error that lists them; a tensor of another shape or of a type that cannot be read is one that
 * names it.
 */
fct_status fct_plan_make(struct fct_plan *plan, const struct fct_config *config,
                         const fct_source *source, struct fct_plan_schemes schemes, fct_error *err);
/* Reads source's configuration, refuses what facet cannot run or convert, and makes the plan. */
fct_status fct_plan_network(struct fct_plan *plan, struct fct_config *config,
                            const fct_source *source, struct fct_plan_schemes schemes,
                            fct_error *err);
void fct_plan_free(struct fct_plan *plan);

/* "q4-g64" and the like for the linear layers; false if there is no such scheme. */
bool fct_plan_parse_weights(const char *name, struct fct_plan_schemes *schemes);
/* What the matrices of the plan are, those that fell back not counted: "q4-g64" and the like,
 * several as "q4+q8", "mixed" if some have no such name, "" without any. In buffer, which it
 * returns. */
enum { FCT_WEIGHTS_NAME = 64 };
const char *fct_plan_weights_name(const struct fct_plan *plan, char buffer[FCT_WEIGHTS_NAME]);
/* "q4", "q8", "f32" for the tables. */
bool fct_plan_parse_tables(const char *name, struct fct_plan_schemes *schemes);

#endif
