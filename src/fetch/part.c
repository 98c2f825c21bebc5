/* part.c - a file while it comes in pieces. NAME.part has its length from the start and holes where
 * nothing came yet; NAME.part.state says how far each piece is. Both are plain writes, the bytes
 * before their count, so that after a crash of the program the state never says too much. */
#include "fetch/part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

#define MAGIC "FCTPART1"

/* The state file: this, then a uint64_t a piece. Private to one machine. */
struct state_header {
    char magic[8];
    uint64_t size, piece_bytes;
    char id[FCT_REMOTE_ID_BYTES + 7];
    char etag[FCT_ETAG_BYTES];
};

/* ---- names ---- */

static char *with_suffix(const char *path, const char *suffix, fct_error *err) {
    struct fct_text text = {0};
    fct_text_printf(&text, "%s%s", path, suffix);
    return fct_text_finish(&text, NULL, err);
}

fct_status fct_part_init(struct fct_part *part, const struct fct_remote_file *file,
                         const char *folder, char *url, fct_error *err) {
    *part = (struct fct_part){.file = file, .url = url, .fd = -1, .state_fd = -1};
    if (!url) return FCT_ERR_MEMORY;
    part->path = fct_path_join(folder, file->path, err);
    if (!part->path) return FCT_ERR_MEMORY;
    part->part = with_suffix(part->path, ".part", err);
    part->state = with_suffix(part->path, ".part.state", err);
    return part->part && part->state ? FCT_OK : FCT_ERR_MEMORY;
}

static void close_files(struct fct_part *part) {
    if (part->fd >= 0) close(part->fd);
    if (part->state_fd >= 0) close(part->state_fd);
    part->fd = part->state_fd = -1;
}

void fct_part_close(struct fct_part *part) {
    if (!part->file) return;
    close_files(part);
    fct_free(part->url);
    fct_free(part->path);
    fct_free(part->part);
    fct_free(part->state);
    fct_free(part->done);
    fct_free(part->busy);
    *part = (struct fct_part){.fd = -1, .state_fd = -1};
}

bool fct_part_is_there(const struct fct_part *part) {
    struct stat info;
    return !stat(part->path, &info) && S_ISREG(info.st_mode) &&
           (uint64_t)info.st_size == part->file->size;
}

uint64_t fct_part_on_disk(const struct fct_part *part) {
    struct stat info;
    if (fct_part_is_there(part)) return part->file->size;
    if (stat(part->part, &info) || !S_ISREG(info.st_mode)) return 0;
    uint64_t bytes = (uint64_t)info.st_blocks * 512;
    return bytes < part->file->size ? bytes : part->file->size;
}

/* ---- pieces ---- */

uint64_t fct_part_piece_size(const struct fct_part *part, size_t piece) {
    uint64_t begin = piece * part->piece_bytes, left = part->file->size - begin;
    return left < part->piece_bytes ? left : part->piece_bytes;
}

uint64_t fct_part_done(const struct fct_part *part) {
    uint64_t done = 0;
    if (part->finished) return part->file->size;
    for (size_t i = 0; i < part->n_pieces; i++) done += part->done[i];
    return done;
}

/* Pieces of this size, nothing of them there. The size of a file is bounded where it was listed. */
static fct_status cut(struct fct_part *part, uint64_t piece_bytes, fct_error *err) {
    uint64_t size = part->file->size;
    size_t n = size ? (size_t)((size - 1) / piece_bytes + 1) : 0;
    uint64_t *done = fct_new_array(n, sizeof *done, err);
    bool *busy = fct_new_array(n, sizeof *busy, err);
    if (!done || !busy) {
        fct_free(done);
        fct_free(busy);
        return FCT_ERR_MEMORY;
    }
    fct_free(part->done);
    fct_free(part->busy);
    part->done = done;
    part->busy = busy;
    part->n_pieces = n;
    part->piece_bytes = piece_bytes;
    return FCT_OK;
}

/* ---- writing ---- */

static fct_status put(int fd, const char *path, uint64_t at, const void *bytes, size_t n_bytes,
                      fct_error *err) {
    const char *from = bytes;
    while (n_bytes) {
        ssize_t n = pwrite(fd, from, n_bytes, (off_t)at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            if (n == 0) errno = ENOSPC;
            return fct_fail_errno(err, "%s: writing failed at byte %llu", path,
                                  (unsigned long long)at);
        }
        from += n;
        at += (uint64_t)n;
        n_bytes -= (size_t)n;
    }
    return FCT_OK;
}

static fct_status put_state(struct fct_part *part, fct_error *err) {
    struct state_header header = {.size = part->file->size, .piece_bytes = part->piece_bytes};
    memcpy(header.magic, MAGIC, sizeof header.magic);
    strcpy(header.id, part->file->id);
    strcpy(header.etag, part->etag);
    fct_status status = FCT_OK;
    if (ftruncate(part->state_fd, 0)) return fct_fail_errno(err, "%s", part->state);
    if (part->n_pieces)
        status = put(part->state_fd, part->state, sizeof header, part->done,
                     part->n_pieces * sizeof *part->done, err);
    return status ? status : put(part->state_fd, part->state, 0, &header, sizeof header, err);
}

fct_status fct_part_tag(struct fct_part *part, const char *etag, fct_error *err) {
    snprintf(part->etag, sizeof part->etag, "%s", etag);
    return put_state(part, err);
}

fct_status fct_part_reset(struct fct_part *part, bool whole, fct_error *err) {
    uint64_t size = part->file->size;
    fct_status status = cut(part, whole && size ? size : part->piece_bytes, err);
    if (status) return status;
    part->generation++;
    part->etag[0] = 0;
    status = put_state(part, err); /* before the bytes go */
    if (status) return status;
    if (ftruncate(part->fd, 0) || ftruncate(part->fd, (off_t)size))
        return fct_fail_errno(err, "%s", part->part);
    return FCT_OK;
}

fct_status fct_part_write(struct fct_part *part, size_t piece, const void *bytes, size_t n_bytes,
                          fct_error *err) {
    uint64_t *done = &part->done[piece];
    fct_status status =
        put(part->fd, part->part, piece * part->piece_bytes + *done, bytes, n_bytes, err);
    if (status) return status;
    *done += n_bytes;
    return put(part->state_fd, part->state, sizeof(struct state_header) + piece * sizeof *done,
               done, sizeof *done, err);
}

/* ---- beginning ---- */

/* Is the state file one of this file, and the part file as long as it should be? */
static bool read_state(struct fct_part *part) {
    struct state_header header;
    struct stat info, state;
    if (fstat(part->fd, &info) || (uint64_t)info.st_size != part->file->size) return false;
    if (fstat(part->state_fd, &state) ||
        pread(part->state_fd, &header, sizeof header, 0) != (ssize_t)sizeof header)
        return false;
    if (memcmp(header.magic, MAGIC, sizeof header.magic) || header.size != part->file->size)
        return false;
    if (!memchr(header.id, 0, sizeof header.id) || strcmp(header.id, part->file->id) != 0)
        return false;
    if (!memchr(header.etag, 0, sizeof header.etag) || !(header.id[0] || header.etag[0]))
        return false; /* nothing would tell another version */
    uint64_t n = header.piece_bytes ? (header.size + header.piece_bytes - 1) / header.piece_bytes
                                    : UINT64_MAX;
    if (n != ((uint64_t)state.st_size - sizeof header) / sizeof *part->done) return false;
    if (cut(part, header.piece_bytes, NULL)) return false;
    ssize_t n_bytes = (ssize_t)(part->n_pieces * sizeof *part->done);
    if (pread(part->state_fd, part->done, (size_t)n_bytes, sizeof header) != n_bytes) return false;
    for (size_t i = 0; i < part->n_pieces; i++)
        if (part->done[i] > fct_part_piece_size(part, i)) return false;
    strcpy(part->etag, header.etag);
    return true;
}

/* The folders of path behind the first n_skipped bytes. */
static fct_status make_folders(const char *path, size_t n_skipped, fct_error *err) {
    char folder[4096];
    if (snprintf(folder, sizeof folder, "%s", path) >= (int)sizeof folder)
        return fct_fail(err, FCT_ERR_IO, "%s: the name is too long", path);
    for (char *slash = folder + n_skipped; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        if (*folder && mkdir(folder, 0777) && errno != EEXIST)
            return fct_fail_errno(err, "%s", folder);
        *slash = '/';
    }
    return FCT_OK;
}

static int open_file(const char *path, fct_error *err) {
    struct stat info;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (fd < 0) return fct_fail_errno(err, "%s", path), -1;
    if (!fstat(fd, &info) && S_ISREG(info.st_mode)) return fd;
    close(fd);
    return fct_fail(err, FCT_ERR_IO, "%s: is not a regular file", path), -1;
}

fct_status fct_part_begin(struct fct_part *part, const char *folder, uint64_t piece_bytes,
                          fct_error *err) {
    fct_status status = make_folders(part->path, strlen(folder), err);
    if (status) return status;
    part->fd = open_file(part->part, err);
    if (part->fd >= 0) part->state_fd = open_file(part->state, err);
    if (part->state_fd < 0) return FCT_ERR_IO;
    if (read_state(part)) return FCT_OK;
    part->piece_bytes = piece_bytes;
    return fct_part_reset(part, false, err);
}

/* ---- ending ---- */

fct_status fct_part_finish(struct fct_part *part, fct_error *err) {
    if (fsync(part->fd) && errno != EINVAL && errno != ENOSYS)
        return fct_fail_errno(err, "%s: could not be brought to disk", part->part);
    if (rename(part->part, part->path))
        return fct_fail_errno(err, "%s: could not be renamed to %s", part->part, part->path);
    unlink(part->state);
    close_files(part);
    part->finished = true;
    return FCT_OK;
}

void fct_part_discard(struct fct_part *part) {
    close_files(part);
    unlink(part->part);
    unlink(part->state);
}
