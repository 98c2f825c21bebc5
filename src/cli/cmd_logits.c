/* cmd_logits.c - `facet logits`: what the network says behind each token, for checks. */
#include <stdio.h>

#include "base/error.h"
#include "base/file.h"
#include "cli/commands.h"
#include "cli/model_choice.h"
#include "cli/npy.h"
#include "cli/part_file.h"
#include "cli/progress.h"

struct logits_options {
    struct fct_model_choice model;
    struct fct_id_list ids;
    const char *out;
    bool last;
};

#define AT(field) offsetof(struct logits_options, field)
static const struct fct_option own_options[] = {
    {"ids", 0, FCT_OPTION_IDS, AT(ids), "LIST|@FILE", "the tokens, between commas or white space",
     NULL, 0, 0, NULL},
    {"output", 'o', FCT_OPTION_TEXT, AT(out), "OUT.npy", "the file to write", NULL, 0, 0, NULL},
    {"last", 0, FCT_OPTION_FLAG, AT(last), NULL, "only the row of the last token", NULL, 0, 0,
     NULL},
    {0},
};
static const struct fct_option_group groups[] = {
    {"Options", own_options, 0},
    FCT_MODEL_GROUP(struct logits_options, model),
    {0},
};

/* What the callback of the scoring needs to write a row. */
struct sink {
    fct_output *out;
    struct fct_progress progress;
    size_t row_bytes;
    int n_rows;
    fct_error err;
};

static bool write_row(void *user, int position, const float *logits) {
    struct sink *sink = user;
    fct_progress_update(&sink->progress, "logits", (uint64_t)position + 1, (uint64_t)sink->n_rows);
    return fct_output_write(sink->out, logits, sink->row_bytes, &sink->err) == FCT_OK;
}

static fct_status write_rows(const struct logits_options *options, fct_session *session,
                             struct sink *sink, fct_error *err) {
    const struct fct_id_list *ids = &options->ids;
    if (options->last) {
        fct_status status = fct_session_prefill(session, ids->ids, ids->n_ids, err);
        if (status) return status;
        return fct_output_write(sink->out, fct_session_logits(session), sink->row_bytes, err);
    }
    fct_status status = fct_session_score(session, ids->ids, ids->n_ids, write_row, sink, err);
    /* That writing failed is the cause; the session only knows that its caller stopped. */
    return sink->err.code ? fct_fail(err, sink->err.code, "%s", sink->err.message) : status;
}

static fct_status write_file(const struct logits_options *options, const fct_model *model,
                             fct_session *session, fct_error *err) {
    char header[FCT_NPY_HEADER_BYTES];
    size_t vocab_size = (size_t)fct_model_describe(model).vocab_size;
    struct sink sink = {.row_bytes = vocab_size * sizeof(float),
                        .n_rows = options->last ? 1 : options->ids.n_ids};
    if (fct_part_guard(options->out, err) != FCT_OK) return err->code;
    sink.out =
        fct_output_new(options->out, sizeof header + (uint64_t)sink.n_rows * sink.row_bytes, err);
    if (!sink.out) return err->code;
    fct_progress_begin(&sink.progress, options->model.quiet, false);
    fct_npy_header(header, (uint64_t)sink.n_rows, vocab_size);
    fct_status status = fct_output_write(sink.out, header, sizeof header, err);
    if (!status) status = write_rows(options, session, &sink, err);
    fct_progress_clear(&sink.progress);
    if (!status) return fct_output_finish(sink.out, err);
    fct_output_free(sink.out);
    return status;
}

static int run(const void *command_options, struct fct_arguments arguments) {
    (void)arguments;
    const struct logits_options *options = command_options;
    const struct fct_id_list *ids = &options->ids;
    fct_error err = {0};
    fct_session *session = NULL;
    int code = FCT_EXIT_FAILURE;
    if (!ids->ids) return fct_usage_error("logits", "--ids is missing");
    if (!options->out) return fct_usage_error("logits", "-o is missing");
    fct_model *model = fct_model_choice_open(&options->model, "logits", &err);
    if (!model || fct_ids_check(model, "--ids", ids->ids, (size_t)ids->n_ids, &err) != FCT_OK)
        goto failed;
    fct_session_options session_options = fct_model_choice_session(&options->model);
    if (session_options.context == 0) session_options.context = ids->n_ids;
    session = fct_session_new(model, &session_options, &err);
    if (!session || write_file(options, model, session, &err) != FCT_OK) goto failed;
    code = FCT_EXIT_GOOD;
    goto done;
failed:
    fct_failure("logits", &err);
done:
    fct_session_free(session);
    fct_model_free(model);
    return code;
}

const struct fct_command fct_cmd_logits = {
    .name = "logits",
    .synopsis = "--ids LIST|@FILE -o OUT.npy [OPTIONS]",
    .summary = "logits of given tokens, as a NumPy file",
    .about =
        "Writes the logits behind each of the given tokens to OUT.npy: float32, "
        "[tokens][vocabulary], "
        "after the soft cap. The tokens are taken as they are: no BOS is added. The file appears "
        "whole or not at all.",
    .groups = groups,
    .max_arguments = 0,
    .options_bytes = sizeof(struct logits_options),
    .run = run,
};
