/* model_choice.h - which model a command runs, and how: the options that all of them share. */
#ifndef FCT_CLI_MODEL_CHOICE_H
#define FCT_CLI_MODEL_CHOICE_H

#include "cli/options.h"

struct fct_model_choice {
    const char *path; /* NULL: not named */
    bool quiet;
    int memory, kv, activations; /* the values of fct_memory, fct_kv, fct_activations */
    int context, batch, threads, decode_threads, prefill_threads; /* 0: chosen */
};

extern const struct fct_option fct_model_choice_options[];
#define FCT_MODEL_GROUP(command_options, field)                                                    \
    { "Model options", fct_model_choice_options, offsetof(command_options, field) }

/* Those of them that matter where the network does not run: which model, and --quiet. */
extern const struct fct_option fct_model_file_options[];
#define FCT_MODEL_FILE_GROUP(command_options, field)                                               \
    { "Model options", fct_model_file_options, offsetof(command_options, field) }

/* Where the model is: -m, else $FACET_MODEL, else the newest *.facet in ~/.local/share/facet, else
 * NULL for the embedded demo. *path is the caller's, to be freed with fct_free. A model that -m
 * does not name is told on stderr. */
fct_status fct_model_choice_find(const struct fct_model_choice *choice, const char *command,
                                 char **path, fct_error *err);

fct_model_options fct_model_choice_model(const struct fct_model_choice *choice);
fct_session_options fct_model_choice_session(const struct fct_model_choice *choice);

/* Finds and opens it; NULL when that fails. */
fct_model *fct_model_choice_open(const struct fct_model_choice *choice, const char *command,
                                 fct_error *err);

/* FCT_ERR_ARGUMENT if an id is not in the vocabulary. `what` is the option that named it. */
fct_status fct_ids_check(const fct_model *model, const char *what, const int *ids, size_t n_ids,
                         fct_error *err);

/* FCT_ERR_UNSUPPORTED, naming what works instead, if the model has no tokenizer. */
fct_status fct_tokenizer_check(const fct_model *model, const char *instead, fct_error *err);

#endif
