/* format_choice.c - the options that say what form an answer has to have. */
#include "cli/format_choice.h"

#include <stddef.h>

#include "base/error.h"
#include "base/file.h"
#include "cli/run_report.h"

enum { SCHEMA_LIMIT = 1 << 20 };

static const char *const formats[] = {"text", "json", NULL};

#define AT(field) offsetof(struct fct_format_choice, field)
const struct fct_option fct_format_choice_options[] = {
    {"format", 0, FCT_OPTION_CHOICE, AT(format), "FORM",
     "text, or json: the answer is valid JSON of any shape", "text", 0, 0, formats},
    {"schema", 0, FCT_OPTION_TEXT, AT(schema), "FILE",
     "the answer is JSON that this JSON Schema allows", NULL, 0, 0, NULL},
    {0},
};

static fct_constraint *read_schema(const char *path, const fct_model *model, fct_error *err) {
    fct_error why = {0};
    size_t n_bytes;
    char *text = fct_file_read(path, SCHEMA_LIMIT, &n_bytes, err);
    if (!text) return NULL;
    fct_constraint *constraint = fct_constraint_schema(model, text, n_bytes, &why);
    fct_free(text);
    if (!constraint) fct_fail(err, why.code, "%s: %s", path, why.message);
    return constraint;
}

fct_status fct_format_choice_constraint(const struct fct_format_choice *choice,
                                        const fct_model *model, fct_constraint **constraint,
                                        fct_error *err) {
    *constraint = NULL;
    if (!choice->schema && !choice->format) return FCT_OK;
    *constraint =
        choice->schema ? read_schema(choice->schema, model, err) : fct_constraint_json(model, err);
    return *constraint ? FCT_OK : FCT_ERR_ARGUMENT;
}

fct_status fct_format_check(const fct_constraint *constraint, const fct_generation *generation,
                            fct_error *err) {
    if (!constraint || generation->complete) return FCT_OK;
    return fct_fail(err, FCT_ERR_CANCELLED,
                    "the answer was ended by %s before its JSON was complete",
                    fct_reason_name(generation->reason));
}
