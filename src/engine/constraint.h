/* constraint.h - what an answer's content has to be: immutable, shared by sessions. */
#ifndef FCT_ENGINE_CONSTRAINT_H
#define FCT_ENGINE_CONSTRAINT_H

#include "engine/model.h"
#include "engine/schema.h"
#include "engine/token_mask.h"
#include "text/tokenizer.h"

struct fct_constraint {
    const fct_model *model;
    fct_schema *schema;
    const struct fct_token_table *table; /* the model's */
    int open, close;                     /* ids around a thought; -1: the model has none */
    int think;                           /* the id in a prompt that asks for thoughts, or -1 */
    struct fct_ids label;                /* what stands behind `open` */
};

#endif
