/* model_choice.c - finds the model that a command runs, and opens it. */
#include "cli/model_choice.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

static const char *const memory_names[] = {"auto", "map", "huge", NULL};
static const char *const kv_names[] = {"auto", "f16", "q8", "f32", NULL};
static const char *const activation_names[] = {"auto", "q8", "f32", NULL};

#define AT(field) offsetof(struct fct_model_choice, field)
#define MODEL_OPTION                                                                               \
    { "model", 'm', FCT_OPTION_TEXT, AT(path), "FILE", "the packed model", NULL, 0, 0, NULL }
#define QUIET_OPTION                                                                               \
    {                                                                                              \
        "quiet", 0, FCT_OPTION_FLAG, AT(quiet), NULL, "nothing on stderr but errors", NULL, 0, 0,  \
            NULL                                                                                   \
    }
const struct fct_option fct_model_choice_options[] = {
    MODEL_OPTION,
    {"context", 'c', FCT_OPTION_INTEGER, AT(context), "N", "positions that a session holds",
     "8192, or the model's maximum if that is smaller", 0, 1 << 24, NULL},
    {"threads", 't', FCT_OPTION_INTEGER, AT(threads), "N", "threads", "what CPUs and model allow",
     0, 1024, NULL},
    {"decode-threads", 0, FCT_OPTION_INTEGER, AT(decode_threads), "N", "threads for answers",
     "--threads, or what is fastest", 0, 1024, NULL},
    {"prefill-threads", 0, FCT_OPTION_INTEGER, AT(prefill_threads), "N", "threads for prompts",
     "--threads", 0, 1024, NULL},
    {"batch", 0, FCT_OPTION_INTEGER, AT(batch), "N", "prompt tokens a pass", "256", 0, 65536, NULL},
    {"kv", 0, FCT_OPTION_CHOICE, AT(kv), "TYPE",
     "numbers in the KV cache: f16, q8, f32, auto (f32 with float weights, else f16)", "auto", 0, 0,
     kv_names},
    {"activations", 0, FCT_OPTION_CHOICE, AT(activations), "TYPE",
     "what weights are multiplied with: q8, f32, auto (f32 with float weights, else q8)", "auto", 0,
     0, activation_names},
    {"memory", 0, FCT_OPTION_CHOICE, AT(memory), "HOW",
     "where weights are read: map (the mapped file), huge (a copy in huge pages), auto (huge "
     "pages where they help and memory is left)",
     "auto", 0, 0, memory_names},
    QUIET_OPTION,
    {0},
};
const struct fct_option fct_model_file_options[] = {MODEL_OPTION, QUIET_OPTION, {0}};

static bool has_suffix(const char *name, const char *suffix) {
    size_t n = strlen(name), n_suffix = strlen(suffix);
    return n > n_suffix && strcmp(name + n - n_suffix, suffix) == 0;
}

static bool is_newer(const struct timespec *a, const struct timespec *b) {
    return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* The newest *.facet in folder, NULL if there is none; that the folder is missing is no fault. */
static fct_status newest_model(const char *folder, char **newest, fct_error *err) {
    struct timespec newest_time = {0};
    fct_status status = FCT_OK;
    DIR *dir = opendir(folder);
    *newest = NULL;
    if (!dir) return FCT_OK;
    for (struct dirent *entry; !status && (entry = readdir(dir));) {
        struct stat info;
        if (entry->d_name[0] == '.' || !has_suffix(entry->d_name, ".facet")) continue;
        char *path = fct_path_join(folder, entry->d_name, err);
        if (!path) status = FCT_ERR_MEMORY;
        bool found = path && stat(path, &info) == 0 && S_ISREG(info.st_mode) &&
                     (!*newest || is_newer(&info.st_mtim, &newest_time));
        if (found) {
            fct_free(*newest);
            *newest = path;
            newest_time = info.st_mtim;
        } else {
            fct_free(path);
        }
    }
    closedir(dir);
    return status;
}

fct_status fct_model_choice_find(const struct fct_model_choice *choice, const char *command,
                                 char **path, fct_error *err) {
    const char *named = choice->path, *variable = getenv("FACET_MODEL"), *home = getenv("HOME");
    *path = NULL;
    if (!named && variable && *variable) named = variable;
    if (named) {
        *path = fct_copy_text(named, strlen(named), err);
        if (!*path) return FCT_ERR_MEMORY;
    } else if (home && *home) {
        char *folder = fct_path_join(home, ".local/share/facet", err);
        if (!folder) return FCT_ERR_MEMORY;
        fct_status status = newest_model(folder, path, err);
        fct_free(folder);
        if (status) return status;
    }
    if (!choice->path && !choice->quiet)
        fprintf(stderr, "facet %s: the model is %s%s\n", command,
                *path ? *path
                      : "the embedded demo, which knows about countries; `facet pull` gets another",
                !named || choice->path ? "" : " ($FACET_MODEL)");
    return FCT_OK;
}

fct_model_options fct_model_choice_model(const struct fct_model_choice *choice) {
    return (fct_model_options){.memory = (fct_memory)choice->memory};
}

fct_session_options fct_model_choice_session(const struct fct_model_choice *choice) {
    return (fct_session_options){
        .context = choice->context,
        .batch = choice->batch,
        .decode_threads = choice->decode_threads ? choice->decode_threads : choice->threads,
        .prefill_threads = choice->prefill_threads ? choice->prefill_threads : choice->threads,
        .kv = (fct_kv)choice->kv,
        .activations = (fct_activations)choice->activations,
    };
}

fct_model *fct_model_choice_open(const struct fct_model_choice *choice, const char *command,
                                 fct_error *err) {
    char *path;
    if (fct_model_choice_find(choice, command, &path, err) != FCT_OK) return NULL;
    fct_model_options options = fct_model_choice_model(choice);
    fct_model *model = fct_model_open(path, &options, err);
    fct_free(path);
    return model;
}

fct_status fct_ids_check(const fct_model *model, const char *what, const int *ids, size_t n_ids,
                         fct_error *err) {
    int vocab_size = fct_model_describe(model).vocab_size;
    for (size_t i = 0; i < n_ids; i++)
        if (ids[i] < 0 || ids[i] >= vocab_size)
            return fct_fail(err, FCT_ERR_ARGUMENT,
                            "%s: id %d is not in the vocabulary, which ends at %d", what, ids[i],
                            vocab_size - 1);
    return FCT_OK;
}

fct_status fct_tokenizer_check(const fct_model *model, const char *instead, fct_error *err) {
    if (fct_model_describe(model).has_tokenizer) return FCT_OK;
    return fct_fail(err, FCT_ERR_UNSUPPORTED,
                    "the model has no tokenizer, so it knows only ids: %s", instead);
}
