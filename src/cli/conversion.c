/* conversion.c - converting a checkpoint, with its options, its bar and its notes. */
#include "cli/conversion.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/threads.h"
#include "cli/part_file.h"
#include "cli/progress.h"

static const char *const weights_names[] = {"q4", "q4-g64", "q4-g128", "q8", "f32", NULL};
static const char *const rounding_names[] = {"search", "absmax", NULL};
static const char *const tables_names[] = {"q8", "q4", "f32", NULL};

#define AT(field) offsetof(struct fct_conversion, field)
const struct fct_option fct_conversion_options[] = {
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
     "4-bit scales: search (the least error), absmax (by the largest weight alone, for "
     "comparison)",
     "search", 0, 0, rounding_names},
    {"expected", 0, FCT_OPTION_TEXT, AT(expected), "FILE",
     "JSON list of prompt ids and answer ids that `facet verify` is to find again", NULL, 0, 0,
     NULL},
    {"threads", 't', FCT_OPTION_INTEGER, AT(threads), "N", "threads", "what the CPUs allow", 0,
     1024, NULL},
    {0},
};

void fct_conversion_defaults(struct fct_conversion *conversion) {
    conversion->weights = conversion->tables = conversion->rounding = -1;
}

const char *fct_conversion_weights(const struct fct_conversion *conversion) {
    return conversion->weights < 0 ? NULL : weights_names[conversion->weights];
}

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
    if (!person->quiet) fct_progress_note(&person->progress, stderr, line);
}

static void show_summary(const char *path, double seconds) {
    char size[32], duration[32];
    struct stat info;
    if (stat(path, &info) != 0) return;
    fprintf(stderr, "%s: %s in %s\n", path, fct_size_text((double)info.st_size, size),
            fct_duration_text(seconds, duration));
}

fct_status fct_conversion_run(const struct fct_conversion *conversion, const char *source,
                              const char *out, bool quiet, fct_error *err) {
    struct person person = {.quiet = quiet};
    double began = fct_seconds();
    fct_progress_begin(&person.progress, quiet, true);
    fct_convert_options convert = {
        .weights = fct_conversion_weights(conversion),
        .tables = conversion->tables < 0 ? NULL : tables_names[conversion->tables],
        .expected = conversion->expected,
        .statistics = conversion->statistics,
        .rounding = conversion->rounding < 0 ? NULL : rounding_names[conversion->rounding],
        .n_threads = conversion->threads,
        .progress = show_progress,
        .note = show_note,
        .user = &person,
    };
    fct_status status = fct_part_guard(out, err);
    if (!status) status = fct_convert(source, out, &convert, err);
    fct_progress_clear(&person.progress);
    if (!status && !quiet) show_summary(out, fct_seconds() - began);
    return status;
}
