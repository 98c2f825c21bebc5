/* constraint.c - what an answer's content has to be: JSON, or a value of a JSON schema. */
#include "engine/constraint.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"

/* Takes the schema. */
static fct_constraint *constraint_of(const fct_model *model, fct_schema *schema, fct_error *err) {
    fct_constraint *c = fct_new(sizeof *c, err);
    if (!c) goto failed;
    c->model = model;
    c->schema = schema;
    c->table = fct_token_tables_get(model->token_tables, err);
    if (!c->table) goto failed;
    c->open = c->close = c->think = -1;
    if (model->chat == FCT_CHAT_GEMMA4) {
        c->open = fct_vocabulary_control(model->vocabulary, "<|channel>");
        c->close = fct_vocabulary_control(model->vocabulary, "<channel|>");
        c->think = fct_vocabulary_control(model->vocabulary, "<|think|>");
        if (fct_encode(model->vocabulary, "thought\n", 8, false, &c->label, err)) goto failed;
    }
    return c;
failed:
    if (!c) fct_schema_free(schema);
    fct_constraint_free(c);
    return NULL;
}

/* It needs pieces to write with, and a way to end. */
static fct_status check_model(const fct_model *model, fct_error *err) {
    if (!model->vocabulary)
        return fct_fail(err, FCT_ERR_ARGUMENT,
                        "this model has no tokenizer: its answers cannot be constrained");
    if (model->n_ends == 0)
        return fct_fail(err, FCT_ERR_ARGUMENT,
                        "this model has no token that ends an answer: its answers cannot be "
                        "constrained");
    return FCT_OK;
}

fct_constraint *fct_constraint_json(const fct_model *model, fct_error *err) {
    if (check_model(model, err)) return NULL;
    fct_schema *schema = fct_schema_any(err);
    return schema ? constraint_of(model, schema, err) : NULL;
}

fct_constraint *fct_constraint_schema(const fct_model *model, const char *schema, size_t n_bytes,
                                      fct_error *err) {
    if (check_model(model, err)) return NULL;
    fct_schema *read = fct_schema_read(schema, n_bytes, err);
    return read ? constraint_of(model, read, err) : NULL;
}

void fct_constraint_free(fct_constraint *constraint) {
    if (!constraint) return;
    fct_schema_free(constraint->schema);
    fct_ids_free(&constraint->label);
    free(constraint);
}
