/* cmd_info.c - `facet info`: what a file holds. */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/json_table.h"

struct info_options {
    bool json;
};

static const struct fct_option own_options[] = {
    {"json", 0, FCT_OPTION_FLAG, offsetof(struct info_options, json), NULL, "print it as JSON",
     NULL, 0, 0, NULL},
    {0},
};
static const struct fct_option_group groups[] = {
    {"Options", own_options, 0},
    {0},
};

static int run(const void *command_options, struct fct_arguments arguments) {
    const struct info_options *options = command_options;
    fct_error err = {0};
    char *text = NULL;
    json_error_t fault;
    if (arguments.n_values == 0) return fct_usage_error("info", "FILE is missing");
    if (fct_describe(arguments.values[0], &text, &err) != FCT_OK) return fct_failure("info", &err);
    if (options->json) {
        puts(text);
    } else {
        json_t *object = json_loads(text, JSON_ALLOW_NUL, &fault);
        if (object) fct_json_table_print(object);
        if (!object) fprintf(stderr, "facet info: no memory for the table\n");
        json_decref(object);
    }
    fct_free(text);
    return FCT_EXIT_GOOD;
}

const struct fct_command fct_cmd_info = {
    .name = "info",
    .synopsis = "FILE [OPTIONS]",
    .summary = "what a model file holds",
    .about = "Tells what a packed model, a safetensors or GGUF file, or the folder of a checkpoint "
             "holds: "
             "its shape, its metadata, its tensors.",
    .groups = groups,
    .max_arguments = 1,
    .options_bytes = sizeof(struct info_options),
    .run = run,
};
