/* protocol.h - `facet bench --protocol`: the same five prompts on every machine, and what to make
 * of their figures. */
#ifndef FCT_CLI_PROTOCOL_H
#define FCT_CLI_PROTOCOL_H

#include <jansson.h>

#include "cli/model_choice.h"

/* Figures of one version compare with each other. It changes with the prompts, their number of runs
 * and tokens, or what a figure means. */
enum {
    FCT_PROTOCOL_VERSION = 1,
    FCT_PROTOCOL_PROMPTS = 5,
    FCT_PROTOCOL_RUNS = 3,
    FCT_PROTOCOL_TOKENS = 64 /* of each answer, whatever the model would have said */
};

struct fct_protocol_prompt {
    const char *name, *text;
};
extern const struct fct_protocol_prompt fct_protocol_prompts[FCT_PROTOCOL_PROMPTS];

struct fct_protocol_options {
    const struct fct_model_choice *model;
    const char *root;          /* of the machine that the sensors are read from: sensors.h */
    const char *power_command; /* NULL: none */
    int cool_down;             /* seconds to wait for it, at most, before each prompt */
};

/* Runs it all: *result is the caller's (docs/PROTOCOL.md has its keys). */
fct_status fct_protocol_run(const struct fct_protocol_options *options, json_t **result,
                            fct_error *err);

/* The result as a page for a person (Markdown, columns aligned), with the answers or without; the
 * caller frees (fct_free). */
char *fct_protocol_page(const json_t *result, bool answers, fct_error *err);
/* Writes NAME.json and NAME.md, each whole or not at all. */
fct_status fct_protocol_write(const json_t *result, const char *name, fct_error *err);

/* Reads a result, every value that is looked at later checked. NULL if it is none. The caller
 * decrefs. */
json_t *fct_protocol_read(const char *path, fct_error *err);
/* A page that sets b beside a; the caller frees. NULL if their figures do not compare: of another
 * protocol, or other tokens. */
char *fct_protocol_compare(const json_t *a, const json_t *b, fct_error *err);

/* `facet bench --protocol`, whose result goes into files called `out` (NULL: none) and to stdout,
 * and `--compare` of two files. They return the exit code. */
int fct_protocol_command(const struct fct_protocol_options *options, const char *out, bool json);
int fct_protocol_compare_command(char *const *paths);

#endif
