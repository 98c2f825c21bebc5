/* cmd_verify.c - `facet verify`: is the file whole, and does this machine compute what it should?
 */
#include <stdio.h>

#include "base/memory.h"
#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/model_choice.h"
#include "cli/progress.h"
#include "cli/standard_output.h"
#include "cli/tame.h"

struct verify_options {
    struct fct_model_choice model;
    const char *against;
    bool json;
};

#define AT(field) offsetof(struct verify_options, field)
static const struct fct_option own_options[] = {
    {"against", 0, FCT_OPTION_TEXT, AT(against), "CASE",
     "also compare logits with the reference case in this folder", NULL, 0, 0, NULL},
    {"json", 0, FCT_OPTION_FLAG, AT(json), NULL, "print one object: checks, result", NULL, 0, 0,
     NULL},
    {0},
};
static const struct fct_option_group groups[] = {
    {"Options", own_options, 0},
    FCT_MODEL_GROUP(struct verify_options, model),
    {0},
};

/* What the callbacks of the verification need. */
struct record {
    struct fct_progress progress;
    json_t *checks; /* NULL: lines are printed as they come */
};

static const char *verdict_name(fct_verdict verdict) {
    return verdict == FCT_PASSED ? "PASS" : verdict == FCT_FAILED ? "FAIL" : "SKIP";
}

static void take_check(void *user, const char *name, fct_verdict verdict, const char *detail) {
    struct record *record = user;
    fct_progress_clear(&record->progress);
    if (record->checks) {
        json_array_append_new(record->checks, json_pack("{s:s, s:s, s:s}", "name", name, "verdict",
                                                        verdict_name(verdict), "detail", detail));
        return;
    }
    char tame[1024];
    fct_tame_copy(tame, sizeof tame, detail);
    printf("%s %s%s%s\n", verdict_name(verdict), name, *tame ? ": " : "", tame);
    fct_stdout_flush();
}

static void show_progress(void *user, const char *what, uint64_t done, uint64_t total) {
    struct record *record = user;
    fct_progress_update(&record->progress, what, done, total);
}

static int print_result(struct record *record, bool passed) {
    const char *result = passed ? "PASS" : "FAIL";
    if (record->checks)
        fct_json_print("verify",
                       json_pack("{s:O, s:s}", "checks", record->checks, "result", result));
    else
        printf("RESULT: %s\n", result);
    return passed ? FCT_EXIT_GOOD : FCT_EXIT_FAILURE;
}

static int verify(const struct verify_options *options, const char *path, struct record *record) {
    fct_error err = {0};
    bool passed = false;
    fct_model_options model = fct_model_choice_model(&options->model);
    fct_session_options session = fct_model_choice_session(&options->model);
    fct_progress_begin(&record->progress, options->model.quiet, false);
    fct_status status = fct_verify(path, &model, &session, options->against, take_check,
                                   show_progress, record, &passed, &err);
    fct_progress_clear(&record->progress);
    if (status) {
        fct_failure("verify", &err);
        passed = false;
    }
    return print_result(record, passed);
}

static int run(const void *command_options, struct fct_arguments arguments) {
    const struct verify_options *options = command_options;
    struct fct_model_choice choice = options->model;
    struct record record = {0};
    fct_error err = {0};
    char *path;
    if (arguments.n_values > 0 && choice.path)
        return fct_usage_error("verify", "-m and FILE name the same thing: give one");
    if (arguments.n_values > 0) choice.path = arguments.values[0];
    if (fct_model_choice_find(&choice, "verify", &path, &err) != FCT_OK)
        return fct_failure("verify", &err);
    if (options->json) record.checks = json_array();
    int code = verify(options, path, &record);
    json_decref(record.checks);
    fct_free(path);
    return code;
}

const struct fct_command fct_cmd_verify = {
    .name = "verify",
    .synopsis = "[OPTIONS] [FILE]",
    .summary = "check a model file, and that it runs right here",
    .about = "Checks the checksum of the file, the kernels of this CPU against the portable ones, "
             "and the "
             "expected ids that the file carries. Prints PASS, FAIL or SKIP for each check, then "
             "`RESULT: PASS` or `RESULT: FAIL`; the exit code is 1 when something failed.",
    .groups = groups,
    .max_arguments = 1,
    .options_bytes = sizeof(struct verify_options),
    .run = run,
};
