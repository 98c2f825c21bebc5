/* cmd_convert.c - `facet convert`: a checkpoint becomes a packed model. */
#include <stdio.h>
#include <sys/stat.h>

#include "base/threads.h"
#include "cli/commands.h"
#include "cli/part_file.h"
#include "cli/progress.h"
#include "cli/tame.h"

struct convert_options {
    const char *out, *expected, *statistics;
    int weights, tables, rounding; /* -1: not given */
    int threads;
    bool quiet;
};

static const char *const weights_names[] = {"q4", "q4-g64", "q4-g128", "q8", "f32", NULL};
static const char *const rounding_names[] = {"search", "absmax", NULL};
static const char *const tables_names[] = {"q8", "q4", "f32", NULL};

#define AT(field) offsetof(struct convert_options, field)
static const struct fct_option own_options[] = {
    {"output", 'o', FCT_OPTION_TEXT, AT(out), "FILE", "the packed model to write", NULL, 0, 0,
     NULL},
    {"weights", 0, FCT_OPTION_CHOICE, AT(weights), "SCHEME",
     "linear layers and the head: q4, q4-g64, q4-g128, q8, f32; codes of a quantized source are "
     "kept "
     "unless this is given",
     "q4", 0, 0, weights_names},
    {"tables", 0, FCT_OPTION_CHOICE, AT(tables), "SCHEME", "rows that are looked up: q8, q4, f32",
     "q8, or f32 with --weights f32", 0, 0, tables_names},
    {"statistics", 0, FCT_OPTION_TEXT, AT(statistics), "FILE",
     "what `facet calibrate` found out: inputs that are large count more when 4-bit scales are "
     "chosen",
     NULL, 0, 0, NULL},
    {"rounding", 0, FCT_OPTION_CHOICE, AT(rounding), "HOW",
     "4-bit scales: search (the least squared error), absmax (by the largest weight alone, for "
     "comparison)",
     "search", 0, 0, rounding_names},
    {"expected", 0, FCT_OPTION_TEXT, AT(expected), "FILE",
     "JSON list of prompt ids and answer ids that `facet verify` is to find again", NULL, 0, 0,
     NULL},
    {"threads", 't', FCT_OPTION_INTEGER, AT(threads), "N", "threads", "what the CPUs allow", 0,
     1024, NULL},
    {"quiet", 0, FCT_OPTION_FLAG, AT(quiet), NULL, "nothing on stderr but errors", NULL, 0, 0,
     NULL},
    {0},
};
static const struct fct_option_group groups[] = {
    {"Options", own_options, 0},
    {0},
};

/* What the callbacks of the conversion need. */
struct person {
    struct fct_progress progress;
    bool quiet;
};

static void show_progress(void *user, const char *what, uint64_t done, uint64_t total) {
    struct person *person = user;
    fct_progress_update(&person->progress, what, done, total);
}

static void show_note(void *user, const char *line) {
    struct person *person = user;
    if (person->quiet) return;
    char tame[1024];
    fct_tame_copy(tame, sizeof tame, line);
    fct_progress_clear(&person->progress);
    fprintf(stderr, "%s\n", tame);
}

static void show_summary(const char *path, double seconds) {
    char size[32], duration[32];
    struct stat info;
    if (stat(path, &info) != 0) return;
    fprintf(stderr, "%s: %s in %s\n", path, fct_size_text((double)info.st_size, size),
            fct_duration_text(seconds, duration));
}

static int run(const void *command_options, struct fct_arguments arguments) {
    const struct convert_options *options = command_options;
    struct person person = {.quiet = options->quiet};
    fct_error err = {0};
    double began = fct_seconds();
    if (arguments.n_values == 0)
        return fct_usage_error("convert",
                               "SOURCE is missing: a folder of safetensors or a GGUF file");
    if (!options->out) return fct_usage_error("convert", "-o is missing");
    fct_progress_begin(&person.progress, options->quiet, true);
    fct_convert_options convert = {
        .weights = options->weights < 0 ? NULL : weights_names[options->weights],
        .tables = options->tables < 0 ? NULL : tables_names[options->tables],
        .expected = options->expected,
        .statistics = options->statistics,
        .rounding = options->rounding < 0 ? NULL : rounding_names[options->rounding],
        .n_threads = options->threads,
        .progress = show_progress,
        .note = show_note,
        .user = &person,
    };
    fct_status status = fct_part_guard(options->out, &err);
    if (!status) status = fct_convert(arguments.values[0], options->out, &convert, &err);
    fct_progress_clear(&person.progress);
    if (status) return fct_failure("convert", &err);
    if (!options->quiet) show_summary(options->out, fct_seconds() - began);
    return FCT_EXIT_GOOD;
}

static void set_defaults(void *command_options) {
    struct convert_options *options = command_options;
    options->weights = options->tables = options->rounding = -1;
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
