/* cmd_score.c - `facet score`: how well a model foresees a text, and how far it is from another. */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/model_choice.h"
#include "cli/part_file.h"
#include "cli/progress.h"
#include "cli/text_ids.h"

struct score_options {
    struct fct_model_choice model;
    struct fct_text_choice text;
    int chunk, max_chunks;
    bool whole, json;
    const char *save, *against;
};

#define AT(field) offsetof(struct score_options, field)
static const struct fct_option own_options[] = {
    {"chunk", 0, FCT_OPTION_INTEGER, AT(chunk), "N", "tokens of a chunk, its BOS included", "512",
     4, INT32_MAX, NULL},
    {"max-chunks", 0, FCT_OPTION_INTEGER, AT(max_chunks), "N", "no more than N chunks; 0: all", "0",
     0, INT32_MAX, NULL},
    {"whole", 0, FCT_OPTION_FLAG, AT(whole), NULL,
     "count all predictions, not only those of the second half of each chunk", NULL, 0, 0, NULL},
    {"save", 0, FCT_OPTION_TEXT, AT(save), "FILE",
     "write the logits into FILE: two bytes for each token of the vocabulary and each prediction",
     NULL, 0, 0, NULL},
    {"against", 0, FCT_OPTION_TEXT, AT(against), "FILE",
     "compare with the logits in FILE, or with FILE itself if it is a packed model", NULL, 0, 0,
     NULL},
    {"json", 0, FCT_OPTION_FLAG, AT(json), NULL, "print one object", NULL, 0, 0, NULL},
    {0},
};
static const struct fct_option_group groups[] = {
    {"Options", own_options, 0},
    FCT_TEXT_GROUP(struct score_options, text),
    FCT_MODEL_GROUP(struct score_options, model),
    {0},
};

static json_t *as_json(const fct_scores *scores) {
    json_t *object = json_pack("{s:o, s:o, s:i, s:i, s:i, s:i}", "perplexity",
                               fct_json_number(scores->perplexity), "perplexity_error",
                               fct_json_number(scores->perplexity_error), "chunk", scores->chunk,
                               "chunks", scores->n_chunks, "positions", scores->n_positions,
                               "tokens_left_out", scores->n_left_out);
    if (!scores->compared) return object;
    json_t *compared = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "reference_perplexity",
                                 fct_json_number(scores->reference_perplexity), "divergence",
                                 fct_json_number(scores->divergence), "divergence_error",
                                 fct_json_number(scores->divergence_error), "max_divergence",
                                 fct_json_number(scores->max_divergence), "agreement",
                                 fct_json_number(scores->agreement), "agreement_error",
                                 fct_json_number(scores->agreement_error));
    json_object_update(object, compared);
    json_decref(compared);
    return object;
}

static void print_text(const fct_scores *scores, bool whole) {
    printf("perplexity %.4f ± %.4f (%d chunk%s of %d tokens, %d predictions%s)\n",
           scores->perplexity, scores->perplexity_error, scores->n_chunks,
           scores->n_chunks == 1 ? "" : "s", scores->chunk, scores->n_positions,
           whole ? "" : " in their second halves");
    if (!scores->compared) return;
    printf("perplexity of the reference %.4f\n", scores->reference_perplexity);
    printf("divergence from it %.6f ± %.6f nats, at most %.4f\n", scores->divergence,
           scores->divergence_error, scores->max_divergence);
    printf("same best token %.2f %% ± %.2f\n", 100 * scores->agreement,
           100 * scores->agreement_error);
}

static fct_status score(const struct score_options *options, const fct_model *model,
                        fct_session *session, fct_scores *scores, fct_error *err) {
    struct fct_progress progress;
    int *ids = NULL, n_ids = 0;
    fct_progress_begin(&progress, options->model.quiet, false);
    fct_score_options how = {.chunk = options->chunk,
                             .max_chunks = options->max_chunks,
                             .whole = options->whole,
                             .save = options->save,
                             .against = options->against,
                             .progress = fct_progress_update,
                             .user = &progress};
    fct_status status = fct_text_choice_read(&options->text, "score", model, &ids, &n_ids, err);
    if (!status && options->save) status = fct_part_guard(options->save, err);
    if (!status) status = fct_score_ids(session, ids, n_ids, &how, scores, err);
    fct_progress_clear(&progress);
    fct_free(ids);
    return status;
}

static int run(const void *command_options, struct fct_arguments arguments) {
    (void)arguments;
    const struct score_options *options = command_options;
    fct_error err = {0};
    fct_scores scores;
    fct_session *session = NULL;
    int code = fct_text_choice_check(&options->text, "score", options->against == NULL);
    if (code) return code;
    code = FCT_EXIT_FAILURE;
    fct_model *model = fct_model_choice_open(&options->model, "score", &err);
    if (!model) goto failed;
    fct_session_options session_options = fct_model_choice_session(&options->model);
    if (session_options.context == 0) session_options.context = options->chunk;
    session = fct_session_new(model, &session_options, &err);
    if (!session || score(options, model, session, &scores, &err) != FCT_OK) goto failed;
    code = FCT_EXIT_GOOD;
    if (options->json)
        code = fct_json_print("score", as_json(&scores));
    else
        print_text(&scores, options->whole);
    if (scores.n_left_out && !options->model.quiet)
        fprintf(stderr, "facet score: %d token%s at the end filled no chunk\n", scores.n_left_out,
                scores.n_left_out == 1 ? "" : "s");
    goto done;
failed:
    fct_failure("score", &err);
done:
    fct_session_free(session);
    fct_model_free(model);
    return code;
}

const struct fct_command fct_cmd_score = {
    .name = "score",
    .synopsis = "--text FILE [OPTIONS]",
    .summary = "perplexity of a text, distance from another model",
    .about =
        "Reads a text in chunks, each from a cold start with BOS in front, and tells the "
        "perplexity: e to the mean negative log-probability of the token that came. Only the "
        "predictions of a chunk's second half count, which have some text before them; llama.cpp "
        "does the same.\n\n"
        "With --against it also tells how far the model is from a reference: the mean "
        "Kullback-Leibler divergence (reference from model) over the same predictions, and how "
        "often both find the same token the likeliest. The reference is another packed model of "
        "the same vocabulary, or logits that --save wrote; these bring their text and chunks "
        "along. Errors are standard errors over the predictions.",
    .groups = groups,
    .max_arguments = 0,
    .options_bytes = sizeof(struct score_options),
    .run = run,
};
