/* made_model.h - for tests: converts a checkpoint of tests/data into a scratch file that goes away
 * with the test. */
#ifndef MADE_MODEL_H
#define MADE_MODEL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "facet.h"

/* Path of a scratch file that one process uses; the folder is made once and removed at exit. */
static char made_folder[128];

static void remove_made(void) {
    char command[160];
    snprintf(command, sizeof command, "rm -rf '%s'", made_folder);
    if (made_folder[0] && system(command) != 0) fprintf(stderr, "%s is left\n", made_folder);
}

static const char *made_path(const char *name) {
    static char path[256];
    if (!made_folder[0]) {
        const char *parent = getenv("TMPDIR");
        snprintf(made_folder, sizeof made_folder, "%s/facet-test-XXXXXX", parent ? parent : "/tmp");
        if (!mkdtemp(made_folder)) abort();
        atexit(remove_made);
    }
    snprintf(path, sizeof path, "%s/%s", made_folder, name);
    return path;
}

/* Converts tests/data/cases/NAME (or another folder, if name begins with '/') and opens it on the
 * named kernels. */
__attribute__((unused)) static fct_model *made_model(const char *name, const char *weights,
                                                     const char *kernels) {
    char source[512], path[300], file[128];
    fct_error err = {0};
    snprintf(source, sizeof source, "%s%s", name[0] == '/' ? "" : TEST_DATA "/cases/", name);
    snprintf(file, sizeof file, "%s-%s.facet", strrchr(source, '/') + 1, weights);
    snprintf(path, sizeof path, "%s", made_path(file));
    if (access(path, R_OK) != 0) {
        fct_convert_options options = {.weights = weights};
        if (fct_convert(source, path, &options, &err) != FCT_OK) fail_msg("%s", err.message);
    }
    fct_model_options model_options = {.kernels = kernels};
    fct_model *model = fct_model_open(path, &model_options, &err);
    if (!model) fail_msg("%s", err.message);
    return model;
}

__attribute__((unused)) static fct_session *made_session(const fct_model *model,
                                                         const fct_session_options *options) {
    fct_error err = {0};
    fct_session *session = fct_session_new(model, options, &err);
    if (!session) fail_msg("%s", err.message);
    return session;
}

#define MUST(call)                                                                                 \
    do {                                                                                           \
        if ((call) != FCT_OK) fail_msg("%s: %s", #call, err.message);                              \
    } while (0)

#endif
