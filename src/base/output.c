/* output.c - a file that is written beside its final name and appears whole or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

/* Written in pieces of this size at multiples of it: the page cache then keeps them in 2 MiB
 * folios. */
enum { PIECE = 2 << 20 };

struct fct_output {
    char *path;     /* where it will appear, behind links */
    char *part;     /* where it is written */
    int fd;         /* of the part file, locked; -1: none */
    uint8_t *piece; /* [PIECE], what is not written yet */
    size_t n_piece;
    uint64_t flushed; /* bytes written, a multiple of PIECE until the end */
    bool failed;      /* what is on disk is not whole any more */
};

/* A link is followed, so that its target is replaced and not the link; what is not a regular file
 * stays. */
static fct_status check_target(fct_output *out, const char *path, fct_error *err) {
    struct stat status;
    char resolved[PATH_MAX];
    size_t length = strlen(path);
    if (length == 0) return fct_fail(err, FCT_ERR_ARGUMENT, "no name for the file to write");
    if (stat(path, &status) == 0) {
        if (S_ISDIR(status.st_mode))
            return fct_fail(err, FCT_ERR_IO, "%s: is a folder; nothing was written", path);
        if (!S_ISREG(status.st_mode))
            return fct_fail(err, FCT_ERR_IO, "%s: is not a regular file; nothing was written",
                            path);
        if (realpath(path, resolved)) path = resolved;
    } else if (errno != ENOENT) {
        return fct_fail_errno(err, "%s", path);
    } else if (path[length - 1] == '/') {
        return fct_fail(err, FCT_ERR_IO, "%s: is the name of a folder; nothing was written", path);
    }
    struct fct_text part = {0};
    fct_text_printf(&part, "%s.part", path);
    out->part = fct_text_finish(&part, NULL, err);
    out->path = fct_copy_text(path, strlen(path), err);
    return out->path && out->part ? FCT_OK : FCT_ERR_MEMORY;
}

/* Opens and locks the part file. A leftover of a dead process is taken over; one that is being
 * written is not. */
static fct_status open_part(fct_output *out, fct_error *err) {
    for (int tries = 0; tries < 8; tries++) {
        struct stat opened, named;
        int fd = open(out->part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
        if (fd < 0) return fct_fail_errno(err, "%s", out->part);
        if (fstat(fd, &opened) || !S_ISREG(opened.st_mode)) {
            close(fd);
            return fct_fail(err, FCT_ERR_IO, "%s: is not a regular file; nothing was written",
                            out->part);
        }
        if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
            close(fd);
            return fct_fail(err, FCT_ERR_IO, "%s: another process is writing it", out->part);
        }
        /* The other process may have renamed or removed it between our open and our lock. */
        if (!lstat(out->part, &named) && named.st_ino == opened.st_ino &&
            named.st_dev == opened.st_dev) {
            out->fd = fd;
            return ftruncate(fd, 0) ? fct_fail_errno(err, "%s", out->part) : FCT_OK;
        }
        close(fd);
    }
    return fct_fail(err, FCT_ERR_IO, "%s: other processes keep replacing it", out->part);
}

static fct_status check_space(const fct_output *out, uint64_t expected_bytes, fct_error *err) {
    struct statvfs disk;
    if (fstatvfs(out->fd, &disk) || disk.f_blocks == 0) return FCT_OK; /* it does not say */
    uint64_t unit = disk.f_frsize ? disk.f_frsize : disk.f_bsize, free_bytes;
    if (__builtin_mul_overflow((uint64_t)disk.f_bavail, unit, &free_bytes)) return FCT_OK;
    if (expected_bytes <= free_bytes) return FCT_OK;
    return fct_fail(err, FCT_ERR_IO,
                    "%s: not enough space: needs %.1f MB, its disk has %.1f MB free, "
                    "%.1f MB are missing",
                    out->path, (double)expected_bytes / 1e6, (double)free_bytes / 1e6,
                    (double)(expected_bytes - free_bytes) / 1e6);
}

fct_output *fct_output_new(const char *path, uint64_t expected_bytes, fct_error *err) {
    fct_output *out = fct_new(sizeof *out, err);
    if (!out) return NULL;
    out->fd = -1;
    if (check_target(out, path, err) || open_part(out, err)) goto failed;
    if (check_space(out, expected_bytes, err)) goto failed;
    out->piece = fct_pages_new(PIECE, err);
    if (!out->piece) goto failed;
    return out;
failed:
    fct_output_free(out);
    return NULL;
}

void fct_output_free(fct_output *out) {
    if (!out) return;
    if (out->fd >= 0) {
        unlink(out->part); /* ours: we hold its lock */
        close(out->fd);
    }
    fct_pages_free(out->piece, PIECE);
    fct_free(out->path);
    fct_free(out->part);
    fct_free(out);
}

static fct_status write_bytes(fct_output *out, uint64_t position, const uint8_t *bytes,
                              size_t n_bytes, fct_error *err) {
    while (n_bytes > 0) {
        ssize_t n = pwrite(out->fd, bytes, n_bytes, (off_t)position);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            if (n == 0) errno = ENOSPC;
            out->failed = true;
            return fct_fail_errno(err, "%s: writing failed at byte %llu", out->path,
                                  (unsigned long long)position);
        }
        bytes += n;
        position += (uint64_t)n;
        n_bytes -= (size_t)n;
    }
    return FCT_OK;
}

static fct_status flush(fct_output *out, const uint8_t *bytes, size_t n_bytes, fct_error *err) {
    fct_status status = write_bytes(out, out->flushed, bytes, n_bytes, err);
    if (!status) out->flushed += n_bytes;
    return status;
}

fct_status fct_output_write(fct_output *out, const void *bytes, size_t n_bytes, fct_error *err) {
    const uint8_t *from = bytes;
    while (n_bytes > 0) {
        if (out->failed) return fct_fail(err, FCT_ERR_IO, "%s: an earlier write failed", out->path);
        size_t n = n_bytes < PIECE - out->n_piece ? n_bytes : PIECE - out->n_piece;
        fct_status status = FCT_OK;
        if (n == PIECE) { /* a whole piece needs no copy */
            status = flush(out, from, PIECE, err);
        } else {
            memcpy(out->piece + out->n_piece, from, n);
            out->n_piece += n;
            if (out->n_piece == PIECE) {
                status = flush(out, out->piece, PIECE, err);
                out->n_piece = 0;
            }
        }
        if (status) return status;
        from += n;
        n_bytes -= n;
    }
    return FCT_OK;
}

uint64_t fct_output_position(const fct_output *out) { return out->flushed + out->n_piece; }

fct_status fct_output_patch(fct_output *out, uint64_t position, const void *bytes, size_t n_bytes,
                            fct_error *err) {
    uint64_t end = fct_output_position(out);
    if (position > end || n_bytes > end - position)
        return fct_fail(err, FCT_ERR_ARGUMENT, "%s: patch behind what was written", out->path);
    size_t n_disk = 0; /* of these bytes, how many are on disk already */
    if (position < out->flushed) {
        uint64_t room = out->flushed - position;
        n_disk = n_bytes < room ? n_bytes : (size_t)room;
        fct_status status = write_bytes(out, position, bytes, n_disk, err);
        if (status) return status;
    }
    if (n_bytes > n_disk)
        memcpy(out->piece + (position + n_disk - out->flushed), (const uint8_t *)bytes + n_disk,
               n_bytes - n_disk);
    return FCT_OK;
}

/* The new name is only safe when its folder is on disk too. Some file systems cannot, and that is
 * no failure. */
static void sync_folder(const char *path) {
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) + (slash == path) : 1;
    if (n >= sizeof folder) return;
    memcpy(folder, slash ? path : ".", n);
    folder[n] = 0;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    fsync(fd);
    close(fd);
}

static fct_status finish(fct_output *out, fct_error *err) {
    if (out->failed) return fct_fail(err, FCT_ERR_IO, "%s: an earlier write failed", out->path);
    fct_status status = flush(out, out->piece, out->n_piece, err);
    if (status) return status;
    out->n_piece = 0;
    if (fsync(out->fd) && errno != EINVAL && errno != ENOSYS)
        return fct_fail_errno(err, "%s: could not be brought to disk", out->path);
    struct stat target;
    if (!stat(out->path, &target) && !S_ISREG(target.st_mode))
        return fct_fail(err, FCT_ERR_IO, "%s: is not a regular file any more", out->path);
    if (rename(out->part, out->path))
        return fct_fail_errno(err, "%s: could not be renamed to %s", out->part, out->path);
    close(out->fd);
    out->fd = -1;
    sync_folder(out->path);
    return FCT_OK;
}

fct_status fct_output_finish(fct_output *out, fct_error *err) {
    fct_status status = finish(out, err);
    fct_output_free(out);
    return status;
}

fct_status fct_file_write(const char *path, const void *bytes, size_t n_bytes, fct_error *err) {
    fct_error own = {0};
    if (!err) err = &own;
    fct_output *out = fct_output_new(path, n_bytes, err);
    if (!out) return err->code;
    fct_status status = fct_output_write(out, bytes, n_bytes, err);
    if (!status) return fct_output_finish(out, err);
    fct_output_free(out);
    return status;
}
