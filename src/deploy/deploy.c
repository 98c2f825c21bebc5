/* deploy.c - program, model and service brought to another machine: checked first, then copied,
 * again and again until it is done. */
#include "deploy/deploy.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "deploy/far_board.h"
#include "deploy/far_file.h"
#include "deploy/far_service.h"
#include "deploy/model_need.h"
#include "deploy/program_choice.h"
#include "deploy/shell_words.h"

enum { WAIT_LIMIT = 60, SPARE_BYTES = 64 << 20 };
#define FAT_LIMIT 0xFFFFFFFFull /* the largest file of a FAT file system */

struct deploy {
    const struct fct_deploy_options *options;
    const char *folder, *bin, *root;
    struct fct_far_options far;
    fct_far_shell *shell;
    struct fct_board board;
    char password[256]; /* for sudo there; "": it wants none */
    char *program_path;
    struct fct_elf elf;
    struct fct_far_file program, model; /* path NULL: not asked for */
    struct fct_far_file *file;          /* the one that a step is about */
    /* of the attempts */
    int n_failures;
    bool finish_was_cut;
    uint64_t missing; /* at the best look so far */
};

static void say(const struct deploy *deploy, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(const struct deploy *deploy, const char *format, ...) {
    char line[1200];
    va_list arguments;
    if (!deploy->options->note) return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    deploy->options->note(deploy->options->user, line);
}

static bool cancelled(const struct deploy *deploy) {
    return deploy->options->cancelled && deploy->options->cancelled(deploy->options->user);
}

/* ---- steps, and doing them again ---- */

static fct_status connect(struct deploy *deploy, fct_error *err) {
    deploy->shell = fct_far_open(&deploy->far, err);
    return deploy->shell ? FCT_OK : err->code;
}

/* A lost link, and bytes that arrived damaged, are worth another attempt. */
static bool is_passing(const struct deploy *deploy, fct_status status) {
    return status == FCT_ERR_FORMAT || (status == FCT_ERR_IO && fct_far_is_lost(deploy->shell));
}

static fct_status pause_before(struct deploy *deploy, const fct_error *why, fct_error *err) {
    const struct timespec moment = {0, 50000000};
    double wait = deploy->options->retry_seconds;
    for (int i = 1; i < deploy->n_failures && wait < WAIT_LIMIT; i++) wait *= 2;
    if (wait > WAIT_LIMIT) wait = WAIT_LIMIT;
    say(deploy, "%s; again in %.1f s", why->message, wait);
    for (double until = fct_seconds() + wait; fct_seconds() < until;) {
        if (cancelled(deploy)) return fct_fail(err, FCT_ERR_CANCELLED, "stopped");
        nanosleep(&moment, NULL);
    }
    return FCT_OK;
}

static fct_status persist(struct deploy *deploy, fct_status (*step)(struct deploy *, fct_error *),
                          fct_error *err) {
    for (;;) {
        fct_status status = deploy->shell ? FCT_OK : connect(deploy, err);
        if (!status) status = step(deploy, err);
        if (!status || !is_passing(deploy, status)) return status;
        if (++deploy->n_failures > deploy->options->retries) {
            fct_error why = *err;
            return fct_fail(err, status, "%s; given up after %d attempts that brought nothing",
                            why.message, deploy->n_failures);
        }
        fct_far_close(deploy->shell);
        deploy->shell = NULL;
        status = pause_before(deploy, err, err);
        if (status) return status;
    }
}

/* ---- what there is ---- */

static fct_status ask_board(struct deploy *deploy, fct_error *err) {
    return fct_board_ask(deploy->shell, deploy->root, &deploy->board, err);
}

static fct_status check_program(struct deploy *deploy, fct_error *err) {
    bool there = true;
    if (*deploy->elf.interpreter) {
        fct_status status = fct_far_exists(deploy->shell, deploy->elf.interpreter, &there, err);
        if (status) return status;
    }
    return there ? FCT_OK : fct_program_no_loader(deploy->program_path, &deploy->elf, err);
}

static fct_status choose_program(struct deploy *deploy, fct_error *err) {
    fct_status status = fct_program_choose(deploy->options->program, deploy->board.machine,
                                           &deploy->program_path, &deploy->elf, err);
    if (!status) status = persist(deploy, check_program, err);
    if (!status)
        status = fct_far_file_open(&deploy->program, deploy->program_path, deploy->bin, "facet",
                                   true, err);
    return status;
}

static fct_status choose_model(struct deploy *deploy, fct_error *err) {
    struct fct_model_need need;
    char tight[256];
    const char *path = deploy->options->model, *slash = strrchr(path, '/');
    fct_status status = fct_model_need_of(path, &need, err);
    if (!status)
        status = fct_model_need_check(&need, deploy->board.memory_bytes,
                                      deploy->board.memory_available, tight, err);
    if (status) return status;
    if (*tight) say(deploy, "%s", tight);
    return fct_far_file_open(&deploy->model, path, deploy->folder, slash ? slash + 1 : path, false,
                             err);
}

static fct_status check_place(struct deploy *deploy, fct_error *err) {
    const struct fct_far_file *file = deploy->file;
    struct fct_place place;
    uint64_t room = fct_far_file_room(file);
    fct_status status = fct_place_ask(deploy->shell, file->folder, &place, err);
    if (status || file->unchanged) return status;
    if (!place.writable && !(deploy->options->service && deploy->options->dry_run))
        return fct_fail(err, FCT_ERR_IO, "%s: this user may not write there", file->folder);
    if (file->size > FAT_LIMIT && (strcmp(place.kind, "msdos") == 0 || !strcmp(place.kind, "vfat")))
        return fct_fail(err, FCT_ERR_IO,
                        "%s: is on a FAT file system, which cannot hold a file of %.1f GB",
                        file->folder, (double)file->size / 1e9);
    if (room + SPARE_BYTES > place.free_bytes)
        return fct_fail(err, FCT_ERR_IO,
                        "%s: not enough space: %s needs %.1f MB more and %.1f MB to spare, its "
                        "disk has %.1f MB free",
                        file->folder, file->name, (double)room / 1e6, (double)SPARE_BYTES / 1e6,
                        (double)place.free_bytes / 1e6);
    return FCT_OK;
}

/* A look that finds less missing than every one before is a success. */
static fct_status look(struct deploy *deploy, fct_error *err) {
    struct fct_far_file *file = deploy->file;
    fct_status status = fct_far_file_look(file, deploy->shell, err);
    uint64_t missing = status ? UINT64_MAX : fct_far_file_missing(file);
    if (missing >= deploy->missing) return status;
    deploy->missing = missing;
    deploy->n_failures = 0;
    return FCT_OK;
}

static fct_status look_at(struct deploy *deploy, struct fct_far_file *file, fct_error *err) {
    deploy->file = file;
    deploy->missing = UINT64_MAX;
    fct_status status = persist(deploy, look, err);
    if (!status) status = persist(deploy, check_place, err);
    if (status) return status;
    double whole = (double)file->size / 1e6, missing = (double)fct_far_file_missing(file) / 1e6;
    if (file->unchanged)
        say(deploy, "%s/%s: is there already, %.1f MB", file->folder, file->name, whole);
    else if (deploy->options->dry_run)
        say(deploy, "%s/%s: %.1f of %.1f MB would be sent", file->folder, file->name, missing,
            whole);
    else if (missing < whole)
        say(deploy, "%s/%s: %.1f of %.1f MB are missing", file->folder, file->name, missing, whole);
    return FCT_OK;
}

/* ---- copying ---- */

static fct_status bring(struct deploy *deploy, fct_error *err) {
    fct_status status = look(deploy, err);
    return status ? status : fct_far_file_send(deploy->file, deploy->shell, err);
}

static fct_status try_program(struct deploy *deploy, fct_error *err) {
    return fct_far_file_try(deploy->file, deploy->shell, err);
}

/* Cut between the renaming and its report, another look finds the file unchanged. */
static fct_status finish(struct deploy *deploy, fct_error *err) {
    struct fct_far_file *file = deploy->file;
    fct_status status = FCT_OK;
    if (deploy->finish_was_cut) {
        file->compared_final = false;
        status = fct_far_file_look(file, deploy->shell, err);
    }
    if (!status) status = fct_far_file_finish(file, deploy->shell, err);
    deploy->finish_was_cut = status == FCT_ERR_IO && fct_far_is_lost(deploy->shell);
    return status;
}

static fct_status copy(struct deploy *deploy, struct fct_far_file *file, fct_error *err) {
    bool was_there = file->unchanged;
    double began = fct_seconds();
    deploy->file = file;
    deploy->missing = UINT64_MAX;
    deploy->finish_was_cut = false;
    fct_status status = was_there ? FCT_OK : persist(deploy, bring, err);
    if (!status && file->program && !file->unchanged) status = persist(deploy, try_program, err);
    if (!status) status = persist(deploy, finish, err);
    if (status || was_there) return status;
    say(deploy, "%s/%s: copied and checked, %.1f MB sent in %.1f s", file->folder, file->name,
        (double)file->sent_bytes / 1e6, fct_seconds() - began);
    return FCT_OK;
}

/* ---- the service ---- */

static fct_status try_password(struct deploy *deploy, fct_error *err) {
    return fct_service_try_password(deploy->shell, deploy->password, &deploy->board.sudo, err);
}

/* A sudo that wants a password gets it from the person, who may mistype it. */
static fct_status ask_password(struct deploy *deploy, fct_error *err) {
    enum { ATTEMPTS = 3 };
    const struct fct_deploy_options *options = deploy->options;
    struct fct_board *board = &deploy->board;
    char prompt[400];
    if (board->root || board->sudo || !strstr(board->sudo_says, "password") || !options->password)
        return FCT_OK;
    snprintf(prompt, sizeof prompt, "sudo there wants the password of %s: ", board->user);
    for (int i = 0; i < ATTEMPTS && !board->sudo; i++) {
        if (!options->password(options->user, prompt, deploy->password, sizeof deploy->password))
            return cancelled(deploy) ? fct_fail(err, FCT_ERR_CANCELLED, "stopped") : FCT_OK;
        fct_status status = persist(deploy, try_password, err);
        if (status) return status;
        if (!board->sudo) say(deploy, "sudo there does not take it");
    }
    if (board->sudo) return FCT_OK;
    return fct_fail(err, FCT_ERR_UNSUPPORTED,
                    "--service: needs root there, and sudo took no password of %s", board->user);
}

static struct fct_far_root far_root(const struct deploy *deploy) {
    return (struct fct_far_root){deploy->root, deploy->password};
}

static fct_status make_folder(struct deploy *deploy, fct_error *err) {
    struct fct_far_root as = far_root(deploy);
    return fct_service_make_folder(deploy->shell, &as, deploy->folder, err);
}

static fct_status install(struct deploy *deploy, fct_error *err) {
    struct fct_text path = {0};
    struct fct_far_root as = far_root(deploy);
    fct_text_printf(&path, "%s/%s", deploy->folder, deploy->model.path ? deploy->model.name : "");
    char *model = fct_text_finish(&path, NULL, err);
    if (!model) return FCT_ERR_MEMORY;
    fct_status status =
        fct_service_install(deploy->shell, &as, deploy->options->no_program ? NULL : deploy->bin,
                            deploy->model.path ? model : NULL, err);
    fct_free(model);
    return status;
}

/* ---- what runs there ---- */

/* The last line: over there the program chooses by what it finds, and a person has to know what. */
static fct_status tell_kernels(struct deploy *deploy, fct_error *err) {
    char path[FCT_KERNELS_BYTES];
    fct_status status = fct_far_kernels(deploy->shell, deploy->bin, path, err);
    if (!status && *path) say(deploy, "facet runs there on: %s", path);
    return status;
}

/* ---- all of it ---- */

static fct_status check_all(struct deploy *deploy, fct_error *err) {
    const struct fct_deploy_options *options = deploy->options;
    fct_status status = persist(deploy, ask_board, err);
    if (status) return status;
    if (options->note) fct_board_tell(&deploy->board, options->note, options->user);
    status = fct_board_check(&deploy->board, err);
    if (!status && options->service) status = ask_password(deploy, err);
    if (!status && options->service)
        status = fct_service_check(&deploy->board, deploy->folder, err);
    if (!status && !options->no_program) status = choose_program(deploy, err);
    if (!status && options->model) status = choose_model(deploy, err);
    if (!status && options->service && !options->dry_run)
        status = persist(deploy, make_folder, err);
    struct fct_far_file *const files[] = {&deploy->program, &deploy->model};
    for (int i = 0; !status && i < 2; i++) {
        files[i]->progress = options->progress;
        files[i]->user = options->user;
        if (files[i]->path) status = look_at(deploy, files[i], err);
    }
    return status;
}

static fct_status do_all(struct deploy *deploy, fct_error *err) {
    fct_status status = FCT_OK;
    if (deploy->program.path) status = copy(deploy, &deploy->program, err);
    if (!status && deploy->model.path) status = copy(deploy, &deploy->model, err);
    if (!status && deploy->options->service) {
        status = persist(deploy, install, err);
        if (!status)
            say(deploy, "facet.socket: answers on " FCT_DEPLOY_SOCKET ", now and after each start");
    }
    return status ? status : persist(deploy, tell_kernels, err);
}

static fct_status check_names(const struct deploy *deploy, fct_error *err) {
    fct_status status = fct_destination_check(deploy->options->destination, err);
    if (!status) status = fct_shell_name_check("--folder", deploy->folder, err);
    if (!status) status = fct_shell_name_check("--bin", deploy->bin, err);
    return status;
}

fct_status fct_deploy(const struct fct_deploy_options *options, fct_error *err) {
    fct_error own = {0};
    if (!err) err = &own;
    struct deploy deploy = {
        .options = options,
        .folder = options->folder    ? options->folder
                  : options->service ? FCT_DEPLOY_SERVICE_FOLDER
                                     : FCT_DEPLOY_FOLDER,
        .bin = options->bin ? options->bin : FCT_DEPLOY_BIN,
        .root = options->root ? options->root : "",
        .far = {.destination = options->destination,
                .port = options->port,
                .ssh_options = options->ssh_options,
                .n_ssh_options = options->n_ssh_options,
                .timeout_seconds = options->timeout_seconds,
                .cancelled = options->cancelled,
                .user = options->user},
        .program = {.fd = -1},
        .model = {.fd = -1},
    };
    fct_status status = check_names(&deploy, err);
    /* The first connection is made once: what is wrong with it is seldom passing. */
    if (!status) status = connect(&deploy, err);
    if (!status) status = check_all(&deploy, err);
    if (!status && !options->dry_run) status = do_all(&deploy, err);
    fct_far_close(deploy.shell);
    fct_far_file_close(&deploy.program);
    fct_far_file_close(&deploy.model);
    fct_free(deploy.program_path);
    explicit_bzero(deploy.password, sizeof deploy.password);
    return status;
}
