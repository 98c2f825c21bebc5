/* cmd_render.c - `facet render`: a conversation as the model sees it. */
#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/model_choice.h"
#include "cli/text_input.h"

struct render_options {
    struct fct_model_choice model;
    bool reference;
};

static const struct fct_option own_options[] = {
    {"reference", 0, FCT_OPTION_FLAG, offsetof(struct render_options, reference), NULL,
     "names of control tokens inside contents become control tokens, as in the reference "
     "implementation",
     NULL, 0, 0, NULL},
    {0},
};
static const struct fct_option_group groups[] = {
    {"Options", own_options, 0},
    FCT_MODEL_FILE_GROUP(struct render_options, model),
    {0},
};

static int run(const void *command_options, struct fct_arguments arguments) {
    const struct render_options *options = command_options;
    fct_error err = {0};
    char *request = NULL, *text = NULL;
    int *ids = NULL, n_ids, code;
    size_t n_bytes, text_bytes;
    fct_model *model = fct_model_choice_open(&options->model, "render", &err);
    if (!model || fct_tokenizer_check(model, "there is nothing to render with", &err) != FCT_OK ||
        fct_input_read("render", arguments, &request, &n_bytes, &err) != FCT_OK ||
        fct_chat_render(model, request, n_bytes, options->reference, &text, &text_bytes, &ids,
                        &n_ids, &err) != FCT_OK)
        code = fct_failure("render", &err);
    else
        code = fct_json_print("render", json_pack("{s:s%, s:o}", "text", text, text_bytes, "ids",
                                                  fct_json_ids(ids, n_ids)));
    fct_free(request);
    fct_free(text);
    fct_free(ids);
    fct_model_free(model);
    return code;
}

const struct fct_command fct_cmd_render = {
    .name = "render",
    .synopsis = "[OPTIONS] < CONVERSATION",
    .summary = "a conversation in the model's chat format",
    .about =
        "Reads {\"messages\": [...], \"tools\": [...], \"kwargs\": {...}} from standard input and "
        "prints {\"text\": ..., \"ids\": [...]}: the conversation in the model's chat format, and "
        "its "
        "token ids. kwargs may hold add_generation_prompt, enable_thinking and preserve_thinking.",
    .groups = groups,
    .max_arguments = 0,
    .options_bytes = sizeof(struct render_options),
    .run = run,
};
