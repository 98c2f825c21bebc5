/* cmd_doctor.c - `facet doctor`: is this machine set up well, and what speed is to be expected? */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/threads.h"
#include "cli/commands.h"
#include "cli/doctor.h"
#include "cli/model_choice.h"
#include "cli/progress.h"

struct doctor_options {
    struct fct_model_choice model;
    const char *root;
    bool quick, json;
};

#define AT(field) offsetof(struct doctor_options, field)
static const struct fct_option own_options[] = {
    {"quick", 0, FCT_OPTION_FLAG, AT(quick), NULL, "measure nothing: neither memory nor storage",
     NULL, 0, 0, NULL},
    {"root", 0, FCT_OPTION_TEXT, AT(root), "DIR",
     "look at a recorded tree instead of this machine: DIR/proc, DIR/sys, and in "
     "DIR/vcgencmd/WORD what `vcgencmd WORD` printed; measures nothing (for tests and support)",
     NULL, 0, 0, NULL},
    {"json", 0, FCT_OPTION_FLAG, AT(json), NULL,
     "print one object: findings, what they come from, tokens_per_second", NULL, 0, 0, NULL},
    {0},
};
static const struct fct_option_group groups[] = {
    {"Options", own_options, 0},
    FCT_MODEL_GROUP(struct doctor_options, model),
    {0},
};

/* ---- the model ---- */

/* Opened from the map, so that hardly anything is read before it is closed again. */
static void look_at_model(const struct doctor_options *options, const char *path,
                          struct fct_doctor_model *out) {
    fct_error err = {0};
    fct_model_options model_options = {.memory = FCT_MEMORY_MAP};
    fct_session_options session = fct_model_choice_session(&options->model);
    const char *slash = path ? strrchr(path, '/') : NULL;
    snprintf(out->name, sizeof out->name, "%s", !path ? "" : slash ? slash + 1 : path);
    if (!path) {
        fct_doctor_typical(out);
        return;
    }
    fct_model *model = fct_model_open(path, &model_options, &err);
    if (!model || fct_model_needs(model, &session, &out->needs, &err) != FCT_OK) {
        snprintf(out->fault, sizeof out->fault, "%.511s", err.message);
    } else {
        fct_model_info info = fct_model_describe(model);
        out->bytes_per_token = info.bytes_per_token;
        snprintf(out->weights, sizeof out->weights, "%s", info.weights);
    }
    fct_model_free(model);
}

/* ---- what runs, and how fast ---- */

static void note_kernels(struct fct_doctor_facts *facts) {
    const char *forced = getenv("FACET_KERNELS"), *const *names = fct_kernel_names();
    facts->kernels_forced = forced && *forced;
    snprintf(facts->kernels, sizeof facts->kernels, "%s",
             facts->kernels_forced ? forced
             : names[0]            ? names[0]
                                   : "");
}

/* With all CPUs, and with fewer: on some boards fewer read faster. */
static void measure_memory(struct fct_doctor_facts *facts, struct fct_progress *progress) {
    int all = fct_cpu_count(), last = 0;
    for (int quarters = 4; quarters >= 1; quarters--) {
        int n = all * quarters / 4;
        fct_progress_update(progress, "reading memory", (uint64_t)(5 - quarters), 5);
        if (n < 1 || n == last) continue;
        double rate = fct_measure_bandwidth(last = n);
        if (rate > 0 && !(rate <= facts->bandwidth)) {
            facts->bandwidth = rate;
            facts->bandwidth_threads = n;
        }
        if (n == all) {
            struct fct_sensors busy;
            fct_sensors_read("", &busy);
            facts->busy_clock_hz = busy.clock_hz;
            facts->sensors.throttle |= busy.throttle;
        }
    }
}

static void measure(const struct doctor_options *options, const char *path,
                    struct fct_doctor_facts *facts) {
    struct fct_progress progress;
    fct_progress_begin(&progress, options->model.quiet, false);
    if (path) fct_storage_measure(path, &facts->storage);
    measure_memory(facts, &progress);
    fct_progress_clear(&progress);
}

/* ---- the command ---- */

/* Storage is measured before the model is opened, which would read some of it. */
static int examine(const struct doctor_options *options, const char *path) {
    struct fct_doctor_facts facts;
    struct fct_diagnosis diagnosis;
    const char *root = options->root ? options->root : "", *home = getenv("HOME");
    fct_doctor_gather(root, path ? path : home ? home : "/", &facts);
    if (!*root) note_kernels(&facts);
    if (!*root && !options->quick) measure(options, path, &facts);
    look_at_model(options, path, &facts.model);
    fct_doctor_judge(&facts, &diagnosis);
    int code = FCT_EXIT_GOOD;
    if (options->json)
        code = fct_doctor_print_json(&facts, &diagnosis);
    else
        fct_doctor_print(&facts, &diagnosis);
    return fct_diagnosis_worst(&diagnosis) == FCT_STATE_PROBLEM ? FCT_EXIT_FAILURE : code;
}

static int run(const void *command_options, struct fct_arguments arguments) {
    const struct doctor_options *options = command_options;
    struct fct_model_choice choice = options->model;
    fct_error err = {0};
    char *path;
    choice.quiet = true; /* the answer begins with the model's name */
    if (arguments.n_values > 0 && choice.path)
        return fct_usage_error("doctor", "-m and FILE name the same thing: give one");
    if (arguments.n_values > 0) choice.path = arguments.values[0];
    if (options->root && !fct_is_folder(options->root))
        return fct_usage_error("doctor", "--root %s: there is no such folder", options->root);
    if (fct_model_choice_find(&choice, "doctor", &path, &err) != FCT_OK)
        return fct_failure("doctor", &err);
    int code = examine(options, path);
    fct_free(path);
    return code;
}

const struct fct_command fct_cmd_doctor = {
    .name = "doctor",
    .synopsis = "[OPTIONS] [FILE]",
    .summary = "is this machine set up well, and how fast can it be?",
    .about =
        "Looks at CPU, memory, clock, heat, power, the SDRAM setting of a Raspberry Pi, other load "
        "and the storage that the model FILE lies on, measures how fast memory and storage are "
        "read, and says what to do about what is not well: ok, note, warning or problem. From the "
        "rate of memory follows how many tokens a second the model can reach at most. Changes "
        "nothing. The exit code is 1 if there is a problem: the model does not fit, or the machine "
        "is being slowed down.",
    .groups = groups,
    .max_arguments = 1,
    .options_bytes = sizeof(struct doctor_options),
    .run = run,
};
