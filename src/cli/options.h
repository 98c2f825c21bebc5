/* options.h - commands and their options as tables: parsed, checked and explained from one
 * description. */
#ifndef FCT_CLI_OPTIONS_H
#define FCT_CLI_OPTIONS_H

#include "facet.h"

enum fct_exit {
    FCT_EXIT_GOOD = 0,
    FCT_EXIT_FAILURE = 1,
    FCT_EXIT_USAGE = 2,
    FCT_EXIT_INTERRUPTED = 130
};

/* What an option takes, and the type of the field it fills. */
enum fct_option_kind {
    FCT_OPTION_FLAG,    /* bool; takes no value */
    FCT_OPTION_TEXT,    /* const char * */
    FCT_OPTION_CHOICE,  /* int: the place in choices */
    FCT_OPTION_INTEGER, /* int from min to max */
    FCT_OPTION_SEED,    /* uint64_t */
    FCT_OPTION_NUMBER,  /* float from min to max */
    FCT_OPTION_IDS,     /* struct fct_id_list: LIST or @FILE */
    FCT_OPTION_TEXTS,   /* struct fct_text_list; may be given several times */
    FCT_OPTION_BIASES   /* struct fct_bias_list: ID=B; may be given several times */
};

struct fct_id_list {
    int *ids; /* NULL: not given */
    int n_ids;
};
struct fct_text_list {
    const char **texts; /* pointers into argv */
    size_t n_texts, capacity;
};
struct fct_bias_list {
    int *ids;
    float *values;
    size_t n_biases, ids_capacity, values_capacity;
};

struct fct_option {
    const char *name; /* "top-k"; NULL if it has only a letter */
    char letter;      /* 'n', or 0 */
    enum fct_option_kind kind;
    size_t offset; /* of the field in the struct of its group */
    const char *metavar;
    const char *help;
    const char *by_default; /* as the help shows it, or NULL */
    double min, max;
    const char *const *choices; /* NULL-terminated */
};

/* The end of a table has neither a name nor a letter. */
static inline bool fct_is_option(const struct fct_option *option) {
    return option->name || option->letter;
}

/* Options that several commands share stand in a group of their own. */
struct fct_option_group {
    const char *title; /* "Options", "Model options" ...; NULL ends a list of groups */
    const struct fct_option *options; /* {0} ends them */
    size_t base;                      /* where the group's struct stands in the command's */
};

struct fct_arguments {
    char **values;
    int n_values;
};

struct fct_command {
    const char *name;
    const char *synopsis; /* "SOURCE -o FILE" */
    const char *summary;  /* one line */
    const char *about;    /* paragraphs for --help */
    const struct fct_option_group *groups;
    int max_arguments; /* -1: any number */
    size_t options_bytes;
    void (*set_defaults)(void *options); /* what is not zero; may be NULL */
    int (*run)(const void *options, struct fct_arguments arguments); /* returns the exit code */
};

enum fct_parsed { FCT_PARSED_RUN, FCT_PARSED_HELP, FCT_PARSED_USAGE, FCT_PARSED_FAILURE };

/* Reads argv (behind the command's name) into *options, which holds the defaults; arguments that
 * are no options are gathered in *arguments, whose values has room for argc. What is wrong is said
 * on stderr. */
enum fct_parsed fct_options_parse(const struct fct_command *command, int argc, char **argv,
                                  void *options, struct fct_arguments *arguments);
void fct_options_free(const struct fct_command *command, void *options); /* the lists in it */

/* Reads value into field. label is the option as the person wrote it. FCT_ERR_ARGUMENT if it is not
 * such a value. */
fct_status fct_option_set(const struct fct_option *option, const char *label, void *field,
                          const char *value, fct_error *err);

/* Prints `facet COMMAND: message` on stderr, with a pointer to the help for a usage error; returns
 * the exit code. */
int fct_usage_error(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int fct_failure(const char *command, const fct_error *err);

/* Help on stdout, folded to 80 columns. */
void fct_help_program(const struct fct_command *const *commands);
void fct_help_command(const struct fct_command *command);

/* Ids from text: decimal numbers between commas and white space. `what` names the text in messages.
 */
fct_status fct_ids_read(const char *what, const char *text, size_t n_bytes,
                        struct fct_id_list *list, fct_error *err);

/* The word among candidates[0 .. n) that is spelled most like word, or NULL if none is near. */
const char *fct_nearest(const char *word, const char *const *candidates, size_t n);

#endif
