/* cmd_calibrate.c - `facet calibrate`: which inputs of its matrices a model makes large. */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/model_choice.h"
#include "cli/part_file.h"
#include "cli/progress.h"
#include "cli/text_ids.h"

struct calibrate_options {
    struct fct_model_choice model;
    struct fct_text_choice text;
    int chunk, max_chunks;
    const char *out;
};

#define AT(field) offsetof(struct calibrate_options, field)
static const struct fct_option own_options[] = {
    {"output", 'o', FCT_OPTION_TEXT, AT(out), "STATISTICS", "the file to write", NULL, 0, 0, NULL},
    {"chunk", 0, FCT_OPTION_INTEGER, AT(chunk), "N", "tokens of a chunk, its BOS included", "512",
     4, INT32_MAX, NULL},
    {"max-chunks", 0, FCT_OPTION_INTEGER, AT(max_chunks), "N", "no more than N chunks; 0: all", "0",
     0, INT32_MAX, NULL},
    {0},
};
static const struct fct_option_group groups[] = {
    {"Options", own_options, 0},
    FCT_TEXT_GROUP(struct calibrate_options, text),
    FCT_MODEL_GROUP(struct calibrate_options, model),
    {0},
};

static fct_status calibrate(const struct calibrate_options *options, const fct_model *model,
                            fct_session *session, fct_error *err) {
    struct fct_progress progress;
    int *ids = NULL, n_ids = 0;
    fct_progress_begin(&progress, options->model.quiet, false);
    fct_calibrate_options how = {.chunk = options->chunk,
                                 .max_chunks = options->max_chunks,
                                 .progress = fct_progress_update,
                                 .user = &progress};
    fct_status status = fct_text_choice_read(&options->text, "calibrate", model, &ids, &n_ids, err);
    if (!status) status = fct_part_guard(options->out, err);
    if (!status) status = fct_calibrate(session, ids, n_ids, &how, options->out, err);
    fct_progress_clear(&progress);
    fct_free(ids);
    return status;
}

static int run(const void *command_options, struct fct_arguments arguments) {
    (void)arguments;
    const struct calibrate_options *options = command_options;
    fct_error err = {0};
    fct_session *session = NULL;
    int code = fct_text_choice_check(&options->text, "calibrate", true);
    if (code) return code;
    if (!options->out) return fct_usage_error("calibrate", "-o is missing");
    code = FCT_EXIT_FAILURE;
    fct_model *model = fct_model_choice_open(&options->model, "calibrate", &err);
    if (!model) goto failed;
    fct_session_options session_options = fct_model_choice_session(&options->model);
    if (session_options.context == 0) session_options.context = options->chunk;
    session = fct_session_new(model, &session_options, &err);
    if (!session || calibrate(options, model, session, &err) != FCT_OK) goto failed;
    if (!options->model.quiet)
        fprintf(stderr, "%s is written; `facet convert --statistics` takes it\n", options->out);
    code = FCT_EXIT_GOOD;
    goto done;
failed:
    fct_failure("calibrate", &err);
done:
    fct_session_free(session);
    fct_model_free(model);
    return code;
}

const struct fct_command fct_cmd_calibrate = {
    .name = "calibrate",
    .synopsis = "--text FILE -o STATISTICS [OPTIONS]",
    .summary = "statistics of activations, for convert",
    .about =
        "Reads a text with a model of float or 8-bit weights, in chunks as `facet score` does, and "
        "writes the mean square of each input of each matrix into STATISTICS. `facet convert "
        "--statistics` then weighs the rounding errors of 4-bit weights with them. Some thousand "
        "tokens of the kind of text that the model is to be used for are enough.",
    .groups = groups,
    .max_arguments = 0,
    .options_bytes = sizeof(struct calibrate_options),
    .run = run,
};
