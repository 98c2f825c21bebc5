/* cmd_convert.c - `facet convert`: a checkpoint becomes a packed model. */
#include "cli/commands.h"
#include "cli/conversion.h"

struct convert_options {
    const char *out;
    bool quiet;
    struct fct_conversion conversion;
};

#define AT(field) offsetof(struct convert_options, field)
static const struct fct_option own_options[] = {
    {"output", 'o', FCT_OPTION_TEXT, AT(out), "FILE", "the packed model to write", NULL, 0, 0,
     NULL},
    {"quiet", 0, FCT_OPTION_FLAG, AT(quiet), NULL, "nothing on stderr but errors", NULL, 0, 0,
     NULL},
    {0},
};
static const struct fct_option_group groups[] = {
    {"Options", own_options, 0},
    FCT_CONVERSION_GROUP(struct convert_options, conversion),
    {0},
};

static int run(const void *command_options, struct fct_arguments arguments) {
    const struct convert_options *options = command_options;
    fct_error err = {0};
    if (arguments.n_values == 0)
        return fct_usage_error("convert",
                               "SOURCE is missing: a folder of safetensors or a GGUF file");
    if (!options->out) return fct_usage_error("convert", "-o is missing");
    fct_status status = fct_conversion_run(&options->conversion, arguments.values[0], options->out,
                                           options->quiet, &err);
    return status ? fct_failure("convert", &err) : FCT_EXIT_GOOD;
}

static void set_defaults(void *command_options) {
    struct convert_options *options = command_options;
    fct_conversion_defaults(&options->conversion);
}

const struct fct_command fct_cmd_convert = {
    .name = "convert",
    .synopsis = "SOURCE -o FILE [OPTIONS]",
    .summary = "make a packed model from a checkpoint",
    .about =
        "Converts SOURCE, a folder of safetensors or a GGUF file, into a packed model. It says "
        "what it "
        "leaves out and where a matrix takes another scheme than asked for. FILE appears whole or "
        "not at all. A folder without a tokenizer converts too; such a model knows only ids.",
    .groups = groups,
    .max_arguments = 1,
    .options_bytes = sizeof(struct convert_options),
    .set_defaults = set_defaults,
    .run = run,
};
