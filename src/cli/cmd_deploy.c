/* cmd_deploy.c - `facet deploy`: program, model and service go to another machine over ssh. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/model_choice.h"
#include "cli/password.h"
#include "cli/progress.h"
#include "cli/tame.h"
#include "deploy/deploy.h"

struct deploy_options {
    int port, retries;
    float retry_delay, timeout;
    struct fct_text_list ssh_options;
    const char *program, *folder, *bin, *root;
    bool no_program, no_model, service, dry_run, quiet;
};

#define AT(field) offsetof(struct deploy_options, field)
static const struct fct_option own_options[] = {
    {"dry-run", 0, FCT_OPTION_FLAG, AT(dry_run), NULL,
     "check and compare, say what would be done, and change nothing", NULL, 0, 0, NULL},
    {"program", 0, FCT_OPTION_TEXT, AT(program), "FILE", "the program to copy",
     "this one, or build-pi5/facet beside its folder for a 64-bit ARM machine", 0, 0, NULL},
    {"no-program", 0, FCT_OPTION_FLAG, AT(no_program), NULL, "copy the model only", NULL, 0, 0,
     NULL},
    {"no-model", 0, FCT_OPTION_FLAG, AT(no_model), NULL, "copy the program only", NULL, 0, 0, NULL},
    {"bin", 0, FCT_OPTION_TEXT, AT(bin), "FOLDER", "where the program goes there", FCT_DEPLOY_BIN,
     0, 0, NULL},
    {"folder", 0, FCT_OPTION_TEXT, AT(folder), "FOLDER", "where the model goes there",
     FCT_DEPLOY_FOLDER "; for a service " FCT_DEPLOY_SERVICE_FOLDER, 0, 0, NULL},
    {"service", 0, FCT_OPTION_FLAG, AT(service), NULL,
     "also install and start systemd units that answer prompts on " FCT_DEPLOY_SOCKET, NULL, 0, 0,
     NULL},
    {"port", 'p', FCT_OPTION_INTEGER, AT(port), "N", "port of ssh there", "as ssh is configured", 0,
     65535, NULL},
    {"ssh-option", 'o', FCT_OPTION_TEXTS, AT(ssh_options), "OPTION",
     "an option for ssh, as ProxyJump=gate; may be given several times", NULL, 0, 0, NULL},
    {"retries", 0, FCT_OPTION_INTEGER, AT(retries), "N",
     "attempts again in a row that bring nothing, before it gives up", "6", 0, 100, NULL},
    {"retry-delay", 0, FCT_OPTION_NUMBER, AT(retry_delay), "SECONDS",
     "wait before the first of them; each waits twice as long", "1", 0, 3600, NULL},
    {"timeout", 0, FCT_OPTION_NUMBER, AT(timeout), "SECONDS",
     "give up when nothing came from there for so long, logging in included; 0: wait for ever",
     "120", 0, 86400, NULL},
    {"root", 0, FCT_OPTION_TEXT, AT(root), "DIR",
     "take the facts of the machine and write the units there below DIR instead of /, for tests",
     NULL, 0, 0, NULL},
    {"quiet", 0, FCT_OPTION_FLAG, AT(quiet), NULL, "nothing on stderr but errors", NULL, 0, 0,
     NULL},
    {0},
};
static const struct fct_option_group groups[] = {{"Options", own_options, 0}, {0}};

struct deployment {
    const struct deploy_options *options;
    struct fct_progress progress;
    char step[32]; /* what the bar shows */
};

static void show_progress(void *user, const char *what, uint64_t done, uint64_t total) {
    struct deployment *deployment = user;
    if (strcmp(deployment->step, what) != 0) { /* sending and comparing have rates of their own */
        fct_progress_clear(&deployment->progress);
        fct_progress_begin(&deployment->progress, deployment->options->quiet, true);
        snprintf(deployment->step, sizeof deployment->step, "%s", what);
    }
    fct_progress_update(&deployment->progress, what, done, total);
}

/* What a dry run finds is its answer. */
static void show_note(void *user, const char *line) {
    struct deployment *deployment = user;
    if (deployment->options->dry_run)
        fct_progress_note(&deployment->progress, stdout, line);
    else if (!deployment->options->quiet)
        fct_progress_note(&deployment->progress, stderr, line);
}

static bool is_cancelled(void *user) {
    (void)user;
    return fct_interrupted();
}

static bool ask_password(void *user, const char *prompt, char *out, size_t size) {
    struct deployment *deployment = user;
    char tame[512];
    fct_tame_copy(tame, sizeof tame, prompt);
    fct_progress_clear(&deployment->progress);
    return fct_password_ask(tame, out, size);
}

/* The model that is named, else the one that the other commands would take; NULL: none. */
static fct_status choose_model(const struct deploy_options *options, struct fct_arguments arguments,
                               char **model, fct_error *err) {
    struct fct_model_choice choice = {.quiet = options->quiet};
    *model = NULL;
    if (options->no_model) return FCT_OK;
    if (arguments.n_values < 2) return fct_model_choice_find(&choice, "deploy", model, err);
    *model = fct_copy_text(arguments.values[1], strlen(arguments.values[1]), err);
    return *model ? FCT_OK : FCT_ERR_MEMORY;
}

static fct_status deploy(struct deployment *deployment, const char *destination, const char *model,
                         fct_error *err) {
    const struct deploy_options *options = deployment->options;
    const struct fct_deploy_options how = {
        .destination = destination,
        .port = options->port,
        .ssh_options = options->ssh_options.texts,
        .n_ssh_options = options->ssh_options.n_texts,
        .no_program = options->no_program,
        .program = options->program,
        .model = model,
        .folder = options->folder,
        .bin = options->bin,
        .service = options->service,
        .dry_run = options->dry_run,
        .retries = options->retries,
        .retry_seconds = (double)options->retry_delay,
        .timeout_seconds = (double)options->timeout,
        .progress = show_progress,
        .note = show_note,
        .cancelled = is_cancelled,
        .password = ask_password,
        .root = options->root,
        .user = deployment,
    };
    return fct_deploy(&how, err);
}

static int run(const void *command_options, struct fct_arguments arguments) {
    const struct deploy_options *options = command_options;
    struct deployment deployment = {.options = options};
    fct_error err = {0};
    char *model = NULL;
    if (arguments.n_values == 0)
        return fct_usage_error("deploy", "USER@HOST is missing, as pi@raspberrypi.local");
    if (options->no_program && options->program)
        return fct_usage_error("deploy", "--program with --no-program");
    if (options->no_model && arguments.n_values > 1)
        return fct_usage_error("deploy", "MODEL with --no-model");
    if (options->no_program && options->no_model && !options->service)
        return fct_usage_error("deploy", "--no-program with --no-model leaves nothing to do");
    fct_interrupt_catch();
    fct_status status = choose_model(options, arguments, &model, &err);
    if (!status) status = deploy(&deployment, arguments.values[0], model, &err);
    fct_progress_clear(&deployment.progress);
    fct_free(model);
    if (!status) return FCT_EXIT_GOOD;
    fct_failure("deploy", &err);
    return status == FCT_ERR_CANCELLED ? FCT_EXIT_INTERRUPTED : FCT_EXIT_FAILURE;
}

static void set_defaults(void *command_options) {
    struct deploy_options *options = command_options;
    options->retries = 6;
    options->retry_delay = 1;
    options->timeout = 120; /* as long as sshd lets a person take to log in */
}

const struct fct_command fct_cmd_deploy = {
    .name = "deploy",
    .synopsis = "USER@HOST [MODEL] [OPTIONS]",
    .summary = "put program, model and service on another machine",
    .about =
        "Copies this program and a packed model to another machine over ssh, whose configuration, "
        "keys and agent are used. First it looks whether the machine can run them: its "
        "architecture, memory, free space and rights. What is there already and right is not sent "
        "again; of a file that is nearly the same only the pieces that differ. Every piece is "
        "compared over there by its SHA-256, the program is tried, and only then a file gets its "
        "name. A link that is cut is made again, and what is cut for good goes on where it was "
        "when the command is given again. A machine that keeps the link but says nothing any "
        "more, as one whose disk hangs, ends it after --timeout. The last line tells what the "
        "program runs on there.\n"
        "\n"
        "Without MODEL it is the one that the other commands would take; the demo is in the "
        "program and is not copied. The machine needs an ssh server, a POSIX shell and coreutils.\n"
        "\n"
        "With --service a copy of the program goes to /usr/local/bin, and a socket of systemd "
        "starts `facet run` for each connection to " FCT_DEPLOY_SOCKET
        ": what is written to it is the prompt, up to the end, and the answer comes back. The "
        "units are confined (a user of their own, nothing to write, no network, a memory limit). "
        "This needs root there, or sudo, whose password is asked for on the terminal if it wants "
        "one.",
    .groups = groups,
    .max_arguments = 2,
    .options_bytes = sizeof(struct deploy_options),
    .set_defaults = set_defaults,
    .run = run,
};
