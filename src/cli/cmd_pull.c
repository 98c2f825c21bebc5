/* cmd_pull.c - `facet pull`: a checkpoint comes from a hub or another server, and is converted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/threads.h"
#include "cli/commands.h"
#include "cli/conversion.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/pull_places.h"
#include "fetch/fetch.h"

struct pull_options {
    const char *endpoint, *revision, *folder;
    struct fct_text_list files;
    int connections, retries, stall, piece;
    float retry_delay;
    bool no_convert, delete_source, quiet;
    const char *packed;
    struct fct_conversion conversion;
};

#define AT(field) offsetof(struct pull_options, field)
static const struct fct_option own_options[] = {
    {"revision", 0, FCT_OPTION_TEXT, AT(revision), "NAME", "branch, tag or commit", "main", 0, 0,
     NULL},
    {"file", 0, FCT_OPTION_TEXTS, AT(files), "PATH",
     "fetch this file only, as the one of several GGUF files that is wanted; may be given several "
     "times",
     "what a conversion needs", 0, 0, NULL},
    {"output", 'o', FCT_OPTION_TEXT, AT(folder), "FOLDER", "where the files go",
     "~/.local/share/facet/sources/REPOSITORY", 0, 0, NULL},
    {"endpoint", 0, FCT_OPTION_TEXT, AT(endpoint), "URL", "the hub",
     "$HF_ENDPOINT, else " FCT_FETCH_ENDPOINT, 0, 0, NULL},
    {"connections", 0, FCT_OPTION_INTEGER, AT(connections), "N", "connections at once", "4", 1, 32,
     NULL},
    {"retries", 0, FCT_OPTION_INTEGER, AT(retries), "N",
     "attempts again in a row that bring nothing, before it gives up", "5", 0, 100, NULL},
    {"retry-delay", 0, FCT_OPTION_NUMBER, AT(retry_delay), "SECONDS",
     "wait before the first of them; each waits twice as long", "1", 0, 3600, NULL},
    {"stall", 0, FCT_OPTION_INTEGER, AT(stall), "SECONDS",
     "a connection that brings nothing for so long is given up", "30", 1, 3600, NULL},
    {"piece", 0, FCT_OPTION_INTEGER, AT(piece), "MB",
     "larger files come in pieces, several at once", "64", 1, 1 << 20, NULL},
    {"no-convert", 0, FCT_OPTION_FLAG, AT(no_convert), NULL, "only download and check", NULL, 0, 0,
     NULL},
    {"delete-source", 0, FCT_OPTION_FLAG, AT(delete_source), NULL,
     "remove what was downloaded once it is converted", NULL, 0, 0, NULL},
    {"model", 'm', FCT_OPTION_TEXT, AT(packed), "FILE", "the packed model to write",
     "~/.local/share/facet/NAME.facet", 0, 0, NULL},
    {"quiet", 0, FCT_OPTION_FLAG, AT(quiet), NULL, "nothing on stderr but errors", NULL, 0, 0,
     NULL},
    {0},
};
static const struct fct_option_group groups[] = {
    {"Options", own_options, 0},
    FCT_CONVERSION_GROUP(struct pull_options, conversion),
    {0},
};

/* A pull while it runs. */
struct pull {
    const struct pull_options *options;
    const char *source;
    struct fct_progress progress;
    char step[32]; /* what the bar shows */
    char *folder, *packed, *token;
};

/* ---- telling ---- */

static void show_progress(void *user, const char *what, uint64_t done, uint64_t total) {
    struct pull *pull = user;
    if (strcmp(pull->step, what) != 0) { /* downloading and checking have rates of their own */
        fct_progress_clear(&pull->progress);
        fct_progress_begin(&pull->progress, pull->options->quiet, true);
        snprintf(pull->step, sizeof pull->step, "%s", what);
    }
    fct_progress_update(&pull->progress, what, done, total);
}

static void show_note(void *user, const char *line) {
    struct pull *pull = user;
    if (!pull->options->quiet) fct_progress_note(&pull->progress, stderr, line);
}

static bool is_cancelled(void *user) {
    (void)user;
    return fct_interrupted();
}

static void show_done(const struct pull *pull, const char *what, uint64_t bytes, double seconds) {
    char size[32], duration[32];
    if (pull->options->quiet) return;
    fprintf(stderr, "%s: %s in %s\n", what, fct_size_text((double)bytes, size),
            fct_duration_text(seconds, duration));
}

/* ---- downloading ---- */

/* About what the packed model takes, from above: most of a checkpoint is bfloat16, and a tied head
 * is stored twice. */
static uint64_t packed_estimate(const struct pull_options *options, uint64_t bytes) {
    const char *weights = fct_conversion_weights(&options->conversion);
    if (!weights) weights = "q4";
    if (strcmp(weights, "f32") == 0) return bytes / 2 * 5;
    return strcmp(weights, "q8") == 0 ? bytes / 4 * 3 : bytes / 2;
}

static fct_status check_space(const struct pull *pull, const fct_fetch *fetch, fct_error *err) {
    uint64_t packed_bytes = packed_estimate(pull->options, fct_fetch_bytes(fetch));
    return fct_pull_space(pull->folder, fct_fetch_missing(fetch), pull->packed, packed_bytes, err);
}

static fct_status download(struct pull *pull, fct_fetch *fetch, fct_error *err) {
    char bytes[32], missing[32], line[256];
    double began = fct_seconds();
    fct_status status = check_space(pull, fetch, err);
    if (status) return status;
    snprintf(line, sizeof line, "%zu file%s, %s; to download: %s", fct_fetch_n_files(fetch),
             fct_fetch_n_files(fetch) == 1 ? "" : "s",
             fct_size_text((double)fct_fetch_bytes(fetch), bytes),
             fct_fetch_missing(fetch) ? fct_size_text((double)fct_fetch_missing(fetch), missing)
                                      : "nothing, all is there");
    show_note(pull, line);
    status = fct_fetch_run(fetch, err);
    fct_progress_clear(&pull->progress);
    if (!status) show_done(pull, pull->folder, fct_fetch_bytes(fetch), fct_seconds() - began);
    return status;
}

/* ---- converting ---- */

static fct_status convert(const struct pull *pull, const char *model, fct_error *err) {
    const struct pull_options *options = pull->options;
    char *source = fct_path_join(pull->folder, model, err);
    if (!source) return FCT_ERR_MEMORY;
    fct_status status = fct_pull_make_folders(pull->packed, err);
    if (!status)
        status =
            fct_conversion_run(&options->conversion, source, pull->packed, options->quiet, err);
    fct_free(source);
    if (!status && !options->quiet)
        fprintf(stderr, "Talk with it: facet chat%s%s\n", options->packed ? " -m " : "",
                options->packed ? options->packed : "");
    return status;
}

/* ---- the command ---- */

static fct_status bring_and_convert(struct pull *pull, fct_fetch *fetch, fct_error *err) {
    const struct pull_options *options = pull->options;
    const char *model = fct_fetch_model(fetch);
    if (!options->no_convert) {
        pull->packed = options->packed
                           ? fct_copy_text(options->packed, strlen(options->packed), err)
                           : fct_pull_packed(pull->source, model, err);
        if (!pull->packed) return FCT_ERR_ARGUMENT;
    }
    fct_status status = download(pull, fetch, err);
    if (!status && !options->no_convert) status = convert(pull, model, err);
    if (!status && options->delete_source) status = fct_fetch_remove(fetch, err);
    return status;
}

static fct_status find_places(struct pull *pull, fct_error *err) {
    const char *folder = pull->options->folder;
    pull->folder =
        folder ? fct_copy_text(folder, strlen(folder), err) : fct_pull_folder(pull->source, err);
    if (!pull->folder) return FCT_ERR_ARGUMENT;
    return fct_pull_token(&pull->token, err);
}

static fct_status pull_all(struct pull *pull, fct_error *err) {
    const struct pull_options *options = pull->options;
    const char *variable = getenv("HF_ENDPOINT");
    if (variable && !*variable) variable = NULL;
    fct_status status = find_places(pull, err);
    if (status) return status;
    struct fct_fetch_options how = {
        .source = pull->source,
        .endpoint = options->endpoint ? options->endpoint : variable,
        .revision = options->revision,
        .token = pull->token,
        .folder = pull->folder,
        .files = options->files.texts,
        .n_files = options->files.n_texts,
        .connections = options->connections,
        .retries = options->retries,
        .retry_seconds = (double)options->retry_delay,
        .stall_seconds = options->stall,
        .piece_bytes = (uint64_t)options->piece << 20,
        .progress = show_progress,
        .note = show_note,
        .cancelled = is_cancelled,
        .user = pull,
    };
    fct_fetch *fetch = fct_fetch_open(&how, err);
    if (!fetch) return err->code;
    status = bring_and_convert(pull, fetch, err);
    fct_fetch_free(fetch);
    return status;
}

static int run(const void *command_options, struct fct_arguments arguments) {
    const struct pull_options *options = command_options;
    struct pull pull = {.options = options};
    fct_error err = {0};
    if (arguments.n_values == 0)
        return fct_usage_error("pull", "REPOSITORY is missing, as google/gemma-4-E2B-it");
    if (options->no_convert && options->delete_source)
        return fct_usage_error("pull", "--no-convert with --delete-source would leave nothing");
    pull.source = arguments.values[0];
    fct_interrupt_catch();
    fct_status status = pull_all(&pull, &err);
    fct_progress_clear(&pull.progress);
    fct_free(pull.folder);
    fct_free(pull.packed);
    fct_free(pull.token);
    if (!status) return FCT_EXIT_GOOD;
    fct_failure("pull", &err);
    return status == FCT_ERR_CANCELLED ? FCT_EXIT_INTERRUPTED : FCT_EXIT_FAILURE;
}

static void set_defaults(void *command_options) {
    struct pull_options *options = command_options;
    fct_conversion_defaults(&options->conversion);
    options->connections = 4;
    options->retries = 5;
    options->retry_delay = 1;
    options->stall = 30;
    options->piece = 64;
}

const struct fct_command fct_cmd_pull = {
    .name = "pull",
    .synopsis = "REPOSITORY [OPTIONS]",
    .summary = "download a checkpoint and make a packed model of it",
    .about =
        "Downloads what a conversion needs of REPOSITORY, a name on the hub as "
        "google/gemma-4-E2B-it, checks sizes and checksums, and converts it. What is cut goes on "
        "where it was when the command is given again, and what is there already and right is not "
        "downloaded again.\n"
        "\n"
        "The token for the hub is $HF_TOKEN, or what `hf auth login` wrote. It is sent to the hub "
        "only, over HTTPS. Proxies and certificates are those of curl's environment (https_proxy, "
        "no_proxy, "
        "CURL_CA_BUNDLE).\n"
        "\n"
        "REPOSITORY may also be the address of a folder on any server, as https://host/path/. Its "
        "files are those that https://host/path/SHA256SUMS lists, or those named with --file.",
    .groups = groups,
    .max_arguments = 1,
    .options_bytes = sizeof(struct pull_options),
    .set_defaults = set_defaults,
    .run = run,
};
