/* text_ids.c - the text that a command measures with: a file, or ids. */
#include "cli/text_ids.h"

#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "cli/model_choice.h"
#include "cli/text_input.h"

#define TEXT_LIMIT ((size_t)1 << 30)

#define AT(field) offsetof(struct fct_text_choice, field)
const struct fct_option fct_text_choice_options[] = {
    {"text", 0, FCT_OPTION_TEXT, AT(path), "FILE", "a text file", NULL, 0, 0, NULL},
    {"ids", 0, FCT_OPTION_IDS, AT(ids), "LIST|@FILE",
     "token ids instead of a text, between commas or white space", NULL, 0, 0, NULL},
    {0},
};

int fct_text_choice_check(const struct fct_text_choice *choice, const char *command, bool needed) {
    if (choice->path && choice->ids.ids)
        return fct_usage_error(command, "--text and --ids exclude each other");
    if (needed && !choice->path && !choice->ids.ids)
        return fct_usage_error(command, "--text is missing (or --ids)");
    return FCT_EXIT_GOOD;
}

static fct_status read_text(const char *path, const char *command, const fct_model *model,
                            int **ids, int *n_ids, fct_error *err) {
    size_t n_bytes;
    fct_status status = fct_tokenizer_check(model, "use --ids", err);
    if (status) return status;
    char *text = fct_file_read(path, TEXT_LIMIT, &n_bytes, err);
    if (!text) return FCT_ERR_IO;
    status = fct_input_repair(command, path, &text, &n_bytes, err);
    if (!status) {
        fct_input_tidy(text, &n_bytes);
        status = fct_tokenize(model, text, n_bytes, 0, ids, n_ids, NULL, err);
    }
    fct_free(text);
    return status;
}

fct_status fct_text_choice_read(const struct fct_text_choice *choice, const char *command,
                                const fct_model *model, int **ids, int *n_ids, fct_error *err) {
    const struct fct_id_list *list = &choice->ids;
    *ids = NULL;
    *n_ids = 0;
    if (choice->path) return read_text(choice->path, command, model, ids, n_ids, err);
    if (!list->ids) return FCT_OK;
    fct_status status = fct_ids_check(model, "--ids", list->ids, (size_t)list->n_ids, err);
    if (status) return status;
    *ids = fct_new_array((size_t)list->n_ids, sizeof **ids, err);
    if (!*ids) return FCT_ERR_MEMORY;
    memcpy(*ids, list->ids, (size_t)list->n_ids * sizeof **ids);
    *n_ids = list->n_ids;
    return FCT_OK;
}
