/* fetch.c - a checkpoint from a server: what there is, what is wanted of it, brought and checked.
 */
#include "fetch/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "fetch/address.h"
#include "fetch/digest.h"
#include "fetch/listing.h"
#include "fetch/transfers.h"

enum { INDEX_LIMIT = 32 << 20, N_MISMATCHES_LIMIT = 2 };
#define PIECE_BYTES (64ull << 20)

struct fct_fetch {
    const struct fct_fetch_options *options;
    struct fct_address address;
    struct fct_http http;
    struct fct_remote_list list;
    struct fct_part *parts; /* [list.n_files] */
    uint64_t checked_bytes, checked_total;
};

static void tell(const struct fct_fetch *fetch, const char *line) {
    if (fetch->options->note) fetch->options->note(fetch->options->user, line);
}

/* ---- what there is ---- */

/* The token goes to the hub it is for, and never in the clear over a network. */
static void choose_token(struct fct_fetch *fetch) {
    const char *token = fetch->options->token;
    if (!token || !fetch->address.is_hub) return;
    if (fct_address_is_private(&fetch->address))
        fetch->http.token = token;
    else
        tell(fetch, "the token is not sent: the endpoint is not HTTPS");
}

static void set_http(struct fct_fetch *fetch) {
    const struct fct_fetch_options *options = fetch->options;
    fetch->http = (struct fct_http){
        .page = fetch->address.is_hub ? fetch->address.page : NULL,
        .retries = options->retries,
        .stall_seconds = options->stall_seconds > 0 ? options->stall_seconds : 30,
        .retry_seconds = options->retry_seconds,
        .cancelled = options->cancelled,
        .note = options->note,
        .user = options->user,
    };
    choose_token(fetch);
}

/* The text of the index if it is needed to choose, and there; NULL and FCT_OK without. */
static fct_status get_index(const struct fct_fetch *fetch, char **index, size_t *n_bytes,
                            fct_error *err) {
    *index = NULL;
    if (fetch->options->n_files || fct_remote_list_find(&fetch->list, "model.safetensors") ||
        !fct_remote_list_find(&fetch->list, FCT_REMOTE_INDEX))
        return FCT_OK;
    fct_error why = {0};
    char *url = fct_address_file(&fetch->address, FCT_REMOTE_INDEX, err);
    if (!url) return FCT_ERR_MEMORY;
    *index = fct_http_get(&fetch->http, url, INDEX_LIMIT, n_bytes, NULL, NULL, &why);
    fct_free(url);
    return *index ? FCT_OK : fct_fail(err, why.code, "%s", why.message);
}

static fct_status list_files(struct fct_fetch *fetch, fct_error *err) {
    const struct fct_fetch_options *options = fetch->options;
    const struct fct_address *address = &fetch->address;
    char *index;
    size_t index_bytes = 0;
    fct_status status = address->is_hub
                            ? fct_listing_hub(&fetch->http, address->endpoint, address->repository,
                                              address->revision, &fetch->list, err)
                            : fct_listing_folder(&fetch->http, address->endpoint, options->files,
                                                 options->n_files, &fetch->list, err);
    if (status) return status;
    status = get_index(fetch, &index, &index_bytes, err);
    if (!status)
        status = fct_remote_list_pick(&fetch->list, options->source, options->files,
                                      options->n_files, index, index_bytes, err);
    fct_free(index);
    return status;
}

static fct_status find_sizes(struct fct_fetch *fetch, fct_error *err) {
    for (size_t i = 0; i < fetch->list.n_files; i++) {
        struct fct_remote_file *file = &fetch->list.files[i];
        if (file->size != FCT_REMOTE_SIZE_UNKNOWN) continue;
        char *url = fct_address_file(&fetch->address, file->path, err);
        if (!url) return FCT_ERR_MEMORY;
        fct_status status = fct_http_length(&fetch->http, url, &file->size, err);
        fct_free(url);
        if (status) return status;
        if (file->size > FCT_REMOTE_SIZE_LIMIT)
            return fct_fail(err, FCT_ERR_FORMAT, "%s: the server says it has %llu bytes",
                            file->path, (unsigned long long)file->size);
    }
    return FCT_OK;
}

static fct_status make_parts(struct fct_fetch *fetch, fct_error *err) {
    fetch->parts = fct_new_array(fetch->list.n_files, sizeof *fetch->parts, err);
    if (!fetch->parts) return FCT_ERR_MEMORY;
    for (size_t i = 0; i < fetch->list.n_files; i++) {
        const struct fct_remote_file *file = &fetch->list.files[i];
        fct_status status = fct_part_init(&fetch->parts[i], file, fetch->options->folder,
                                          fct_address_file(&fetch->address, file->path, err), err);
        if (status) return status;
    }
    return FCT_OK;
}

fct_fetch *fct_fetch_open(const struct fct_fetch_options *options, fct_error *err) {
    if (curl_global_init(CURL_GLOBAL_DEFAULT))
        return fct_fail_null(err, FCT_ERR_IO, "curl cannot be started");
    fct_fetch *fetch = fct_new(sizeof *fetch, err);
    if (!fetch) return NULL;
    fetch->options = options;
    if (fct_address_read(&fetch->address, options, err)) goto failed;
    set_http(fetch);
    if (list_files(fetch, err)) goto failed;
    if (find_sizes(fetch, err)) goto failed;
    if (make_parts(fetch, err)) goto failed;
    return fetch;
failed:
    fct_fetch_free(fetch);
    return NULL;
}

void fct_fetch_free(fct_fetch *fetch) {
    if (!fetch) return;
    for (size_t i = 0; fetch->parts && i < fetch->list.n_files; i++)
        fct_part_close(&fetch->parts[i]);
    fct_free(fetch->parts);
    fct_remote_list_free(&fetch->list);
    fct_address_free(&fetch->address);
    fct_free(fetch);
}

size_t fct_fetch_n_files(const fct_fetch *fetch) { return fetch->list.n_files; }

uint64_t fct_fetch_bytes(const fct_fetch *fetch) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < fetch->list.n_files; i++) bytes += fetch->list.files[i].size;
    return bytes;
}

uint64_t fct_fetch_missing(const fct_fetch *fetch) {
    uint64_t bytes = fct_fetch_bytes(fetch);
    for (size_t i = 0; i < fetch->list.n_files; i++) bytes -= fct_part_on_disk(&fetch->parts[i]);
    return bytes;
}

const char *fct_fetch_model(const fct_fetch *fetch) {
    for (size_t i = 0; i < fetch->list.n_files; i++) { /* sorted: the first part first */
        const char *path = fetch->list.files[i].path;
        size_t n = strlen(path);
        if (n > 5 && strcmp(path + n - 5, ".gguf") == 0) return path;
    }
    return "";
}

/* ---- checking ---- */

static bool show_checked(void *user, uint64_t n_bytes) {
    struct fct_fetch *fetch = user;
    const struct fct_fetch_options *options = fetch->options;
    if (options->progress)
        options->progress(options->user, "checking", fetch->checked_bytes + n_bytes,
                          fetch->checked_total);
    return !fct_http_cancelled(&fetch->http);
}

/* Is the file behind fd what was listed? *why says what is wrong with it if *right is false. */
static fct_status check_file(struct fct_fetch *fetch, const struct fct_part *part, int fd,
                             bool *right, fct_error *why, fct_error *err) {
    char id[FCT_REMOTE_ID_BYTES], beginning[64];
    const struct fct_remote_file *file = part->file;
    fct_status status = FCT_OK;
    ssize_t n = pread(fd, beginning, sizeof beginning, 0);
    *right = false;
    if (n < 0) return fct_fail_errno(err, "%s", part->path);
    *right = fct_beginning_check(file->path, beginning, (size_t)n, why) == FCT_OK;
    if (!*right || !file->id[0]) return FCT_OK;
    status = fct_digest_file(fd, part->path, file->id, id, show_checked, fetch, err);
    fetch->checked_bytes += file->size;
    if (status) return status;
    *right = strcmp(id, file->id) == 0;
    if (!*right)
        fct_fail(why, FCT_ERR_FORMAT, "%s: its %s is %s, but %s is listed", file->path,
                 strlen(id) == 64 ? "SHA-256" : "git object id", id, file->id);
    return FCT_OK;
}

/* A file that is there already from another time. */
static fct_status check_present(struct fct_fetch *fetch, struct fct_part *part, fct_error *err) {
    fct_error why = {0};
    bool right;
    int fd = open(part->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return fct_fail_errno(err, "%s", part->path);
    fct_status status = check_file(fetch, part, fd, &right, &why, err);
    close(fd);
    if (status) return status;
    part->finished = right;
    if (!right) tell(fetch, why.message);
    return FCT_OK;
}

/* Gives a part that is complete its name, or starts it over, once: then something else is wrong. */
static fct_status check_part(struct fct_fetch *fetch, struct fct_part *part, fct_error *err) {
    fct_error why = {0};
    bool right;
    fct_status status = check_file(fetch, part, part->fd, &right, &why, err);
    if (status) return status;
    if (right) return fct_part_finish(part, err);
    if (++part->n_mismatches < N_MISMATCHES_LIMIT) {
        tell(fetch, why.message);
        tell(fetch, "it is downloaded again from its beginning");
        part->best = 0;
        return fct_part_reset(part, false, err);
    }
    fct_part_discard(part);
    return fct_fail(err, FCT_ERR_FORMAT, "%s; it came twice like this and was removed",
                    why.message);
}

/* ---- bringing ---- */

/* The folder, locked: two at once would spoil each other's parts. *fd is to be closed. */
static fct_status lock_folder(const char *folder, int *fd, fct_error *err) {
    *fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd < 0) return fct_fail_errno(err, "%s", folder);
    if (!flock(*fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK) return FCT_OK;
    close(*fd);
    return fct_fail(err, FCT_ERR_IO, "%s: another process downloads into it", folder);
}

static fct_status make_folder(const char *folder, fct_error *err) {
    struct fct_text path = {0};
    fct_status status = FCT_OK;
    for (const char *at = folder; *at && !status;) {
        size_t n = strspn(at, "/");
        n += strcspn(at + n, "/");
        fct_text_add(&path, at, n);
        at += n;
        if (path.failed) return fct_fail(err, FCT_ERR_MEMORY, "no memory for a path");
        if (mkdir(path.data, 0777) && errno != EEXIST)
            status = fct_fail_errno(err, "%s", path.data);
    }
    fct_text_free(&path);
    return status;
}

/* Keeps what is right already, and opens the parts of the rest. */
static fct_status begin_parts(struct fct_fetch *fetch, fct_error *err) {
    const struct fct_fetch_options *options = fetch->options;
    uint64_t piece_bytes = options->piece_bytes ? options->piece_bytes : PIECE_BYTES;
    fetch->checked_bytes = fetch->checked_total = 0;
    for (size_t i = 0; i < fetch->list.n_files; i++)
        if (fct_part_is_there(&fetch->parts[i])) fetch->checked_total += fetch->list.files[i].size;
    for (size_t i = 0; i < fetch->list.n_files; i++) {
        struct fct_part *part = &fetch->parts[i];
        fct_status status = FCT_OK;
        if (fct_part_is_there(part)) status = check_present(fetch, part, err);
        if (!status && !part->finished)
            status = fct_part_begin(part, options->folder, piece_bytes, err);
        if (status) return status;
    }
    return FCT_OK;
}

static fct_status check_parts(struct fct_fetch *fetch, bool *all, fct_error *err) {
    *all = true;
    fetch->checked_bytes = fetch->checked_total = 0;
    for (size_t i = 0; i < fetch->list.n_files; i++)
        if (!fetch->parts[i].finished) fetch->checked_total += fetch->list.files[i].size;
    for (size_t i = 0; i < fetch->list.n_files; i++) {
        struct fct_part *part = &fetch->parts[i];
        fct_status status = part->finished ? FCT_OK : check_part(fetch, part, err);
        if (status) return status;
        *all = *all && part->finished;
    }
    return FCT_OK;
}

static fct_status bring(struct fct_fetch *fetch, fct_error *err) {
    const struct fct_fetch_options *options = fetch->options;
    struct fct_transfers transfers = {
        .http = &fetch->http,
        .parts = fetch->parts,
        .n_parts = fetch->list.n_files,
        .n_connections = options->connections ? options->connections : 4,
        .progress = options->progress,
        .note = options->note,
        .user = options->user,
    };
    fct_status status = begin_parts(fetch, err);
    for (bool all = false; !status && !all;) {
        status = fct_transfers_run(&transfers, err);
        if (!status) status = check_parts(fetch, &all, err);
    }
    return status;
}

fct_status fct_fetch_run(fct_fetch *fetch, fct_error *err) {
    int lock;
    fct_status status = make_folder(fetch->options->folder, err);
    if (!status) status = lock_folder(fetch->options->folder, &lock, err);
    if (status) return status;
    status = bring(fetch, err);
    close(lock);
    return status;
}

fct_status fct_fetch_remove(fct_fetch *fetch, fct_error *err) {
    const char *folder = fetch->options->folder;
    for (size_t i = 0; i < fetch->list.n_files; i++) {
        char *path = fetch->parts[i].path, *slash;
        if (unlink(path) && errno != ENOENT) return fct_fail_errno(err, "%s", path);
        /* Folders are only removed when nothing else is in them. */
        while ((slash = strrchr(path, '/')) && (size_t)(slash - path) > strlen(folder)) {
            *slash = 0;
            rmdir(path);
        }
    }
    rmdir(folder);
    return FCT_OK;
}
