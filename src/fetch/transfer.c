/* transfer.c - one connection that brings one piece: asked for by range, checked against the
 * question before a byte is kept. */
#include "fetch/transfer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "fetch/transfers.h"

enum { DROPPED_LIMIT = 1 << 20 };

/* ---- is this the file? ---- */

static bool begins(const char *bytes, size_t n_bytes, const char *word) {
    size_t n = strlen(word);
    return n_bytes >= n && strncasecmp(bytes, word, n) == 0;
}

fct_status fct_beginning_check(const char *name, const char *bytes, size_t n_bytes,
                               fct_error *err) {
    if (begins(bytes, n_bytes, "version https://git-lfs"))
        return fct_fail(err, FCT_ERR_FORMAT,
                        "%s: the server sends a Git LFS pointer, not the file itself: it is a copy "
                        "of a repository made without git-lfs",
                        name);
    while (n_bytes && strchr(" \t\r\n", *bytes) && *bytes) bytes++, n_bytes--;
    if (begins(bytes, n_bytes, "<!doctype html") || begins(bytes, n_bytes, "<html"))
        return fct_fail(err, FCT_ERR_FORMAT,
                        "%s: the server sends an HTML page, not the file: perhaps an error, or a "
                        "login page in between",
                        name);
    return FCT_OK;
}

/* "bytes FIRST-LAST/TOTAL"; total may be "*", which leaves *total as it is. */
static bool read_range(const char *text, uint64_t *first, uint64_t *total) {
    char *end;
    if (strncasecmp(text, "bytes ", 6) != 0) return false;
    *first = strtoull(text + 6, &end, 10);
    if (end == text + 6 || *end != '-') return false;
    const char *slash = strchr(end, '/');
    if (!slash) return false;
    if (strcmp(slash + 1, "*") == 0) return true;
    *total = strtoull(slash + 1, &end, 10);
    return end != slash + 1 && *end == 0;
}

static fct_status check_range(const struct fct_transfer *transfer, fct_error *err) {
    const struct fct_part *part = transfer->part;
    const char *name = part->file->path, *text = transfer->request.reply.content_range;
    uint64_t first = 0, total = part->file->size;
    if (!transfer->ranged || !read_range(text, &first, &total))
        return fct_fail(err, FCT_ERR_FORMAT,
                        "%s: the server sends a part of it without saying which (206, \"%s\")",
                        name, text);
    if (total != part->file->size)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: is %llu bytes long, but %llu are listed", name,
                        (unsigned long long)total, (unsigned long long)part->file->size);
    if (first != transfer->offset)
        return fct_fail(err, FCT_ERR_FORMAT,
                        "%s: the server sends it from byte %llu on, not from %llu", name,
                        (unsigned long long)first, (unsigned long long)transfer->offset);
    return FCT_OK;
}

/* The whole file comes, though a range was asked for: the server knows no ranges, or has another
 * version by now. This transfer brings it all, the others of the part are stale. */
static fct_status take_whole(struct fct_transfer *transfer, fct_error *err) {
    struct fct_part *part = transfer->part;
    fct_status status = fct_part_reset(part, true, err);
    if (status) return status;
    transfer->generation = part->generation;
    transfer->piece = 0;
    transfer->offset = 0;
    transfer->ranged = false;
    part->busy[0] = true;
    return FCT_OK;
}

static fct_status check_whole(struct fct_transfer *transfer, fct_error *err) {
    const struct fct_remote_file *file = transfer->part->file;
    int64_t length = fct_request_length(&transfer->request);
    if (length >= 0 && (uint64_t)length != file->size)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: the server sends %lld bytes, but %llu are listed",
                        file->path, (long long)length, (unsigned long long)file->size);
    return transfer->ranged ? take_whole(transfer, err) : FCT_OK;
}

/* Is the answer (200 or 206, beginning with these bytes) to our question? */
static fct_status check_answer(struct fct_transfer *transfer, const char *bytes, size_t n_bytes,
                               fct_error *err) {
    struct fct_part *part = transfer->part;
    const char *etag = transfer->request.reply.etag;
    bool partial = fct_request_status(&transfer->request) == 206;
    transfer->checked = true;
    if (fct_request_is_html(&transfer->request)) bytes = "<html", n_bytes = 5;
    fct_status status = FCT_OK;
    if (transfer->offset == 0 || !partial || *bytes == '<')
        status = fct_beginning_check(part->file->path, bytes, n_bytes, err);
    if (!status) status = partial ? check_range(transfer, err) : check_whole(transfer, err);
    if (status) return status;
    if (part->etag[0] && etag[0] && strcmp(part->etag, etag) != 0) {
        if (fct_part_done(part) == 0) return fct_part_tag(part, etag, err);
        transfer->other = true;
        return fct_fail(err, FCT_ERR_IO, "%s: has changed on the server", part->file->path);
    }
    return !part->etag[0] && etag[0] ? fct_part_tag(part, etag, err) : FCT_OK;
}

static fct_status take(struct fct_transfer *transfer, const char *bytes, size_t n_bytes,
                       fct_error *err) {
    fct_status status = transfer->checked ? FCT_OK : check_answer(transfer, bytes, n_bytes, err);
    if (status) return status;
    struct fct_part *part = transfer->part;
    uint64_t room = fct_part_piece_size(part, transfer->piece) - part->done[transfer->piece];
    if (n_bytes > room)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: the server sends more than the %llu bytes listed",
                        part->file->path, (unsigned long long)part->file->size);
    return fct_part_write(part, transfer->piece, bytes, n_bytes, err);
}

static size_t take_bytes(char *bytes, size_t one, size_t n_bytes, void *user) {
    struct fct_transfer *transfer = user;
    long status = fct_request_status(&transfer->request);
    (void)one;
    if (transfer->generation != transfer->part->generation) return 0;
    if (status != 200 && status != 206) {
        transfer->dropped += n_bytes;
        return transfer->dropped > DROPPED_LIMIT ? 0 : n_bytes;
    }
    return take(transfer, bytes, n_bytes, &transfer->broken) ? 0 : n_bytes;
}

/* ---- asking ---- */

static fct_status ask_range(struct fct_transfer *transfer, fct_error *err) {
    struct fct_part *part = transfer->part;
    uint64_t begin = transfer->piece * part->piece_bytes;
    char line[FCT_ETAG_BYTES + 64];
    transfer->offset = begin + part->done[transfer->piece];
    transfer->ranged = part->n_pieces > 1 || transfer->offset > 0;
    if (!transfer->ranged) return FCT_OK;
    snprintf(line, sizeof line, "%llu-%llu", (unsigned long long)transfer->offset,
             (unsigned long long)(begin + fct_part_piece_size(part, transfer->piece) - 1));
    curl_easy_setopt(transfer->request.easy, CURLOPT_RANGE, line);
    if (part->etag[0] != '"') return FCT_OK; /* a weak one says nothing about bytes */
    snprintf(line, sizeof line, "If-Range: %s", part->etag);
    return fct_request_header(&transfer->request, line, err);
}

fct_status fct_transfer_start(struct fct_transfer *transfer, const struct fct_http *http,
                              struct fct_part *part, size_t piece, fct_error *err) {
    *transfer = (struct fct_transfer){.part = part, .piece = piece, .generation = part->generation};
    fct_status status = fct_request_open(&transfer->request, http, part->url, err);
    if (!status) status = ask_range(transfer, err);
    if (status) {
        fct_transfer_close(transfer);
        return status;
    }
    fct_request_ready(&transfer->request);
    curl_easy_setopt(transfer->request.easy, CURLOPT_WRITEFUNCTION, take_bytes);
    curl_easy_setopt(transfer->request.easy, CURLOPT_WRITEDATA, transfer);
    curl_easy_setopt(transfer->request.easy, CURLOPT_PRIVATE, transfer);
    part->busy[piece] = true;
    return FCT_OK;
}

void fct_transfer_close(struct fct_transfer *transfer) {
    fct_request_close(&transfer->request);
    *transfer = (struct fct_transfer){0};
}

/* ---- the end ---- */

static enum fct_transfer_end check_complete(const struct fct_transfer *transfer, fct_error *err) {
    const struct fct_part *part = transfer->part;
    uint64_t size = fct_part_piece_size(part, transfer->piece), done = part->done[transfer->piece];
    if (done == size) return FCT_TRANSFER_GOOD;
    fct_fail(err, FCT_ERR_IO, "%s: the server ended after %llu of %llu bytes", part->file->path,
             (unsigned long long)(transfer->piece * part->piece_bytes + done),
             (unsigned long long)part->file->size);
    return FCT_TRANSFER_AGAIN;
}

enum fct_transfer_end fct_transfer_finish(struct fct_transfer *transfer,
                                          const struct fct_http *http, CURLcode code,
                                          fct_error *err) {
    struct fct_part *part = transfer->part;
    const char *name = part->file->path;
    if (transfer->generation != part->generation) return FCT_TRANSFER_STALE;
    part->busy[transfer->piece] = false;
    long status = fct_request_status(&transfer->request);
    if (code == CURLE_OK && (status == 200 || status == 206) && !transfer->checked)
        check_answer(transfer, "", 0, &transfer->broken); /* an empty body says something too */
    if (transfer->broken.code) {
        fct_fail(err, transfer->broken.code, "%s", transfer->broken.message);
        return transfer->other ? FCT_TRANSFER_OTHER : FCT_TRANSFER_FATAL;
    }
    if (status == 416) {
        fct_fail(err, FCT_ERR_IO, "%s: the server has not the rest of it (416)", name);
        return FCT_TRANSFER_OTHER;
    }
    switch (fct_request_judge(http, &transfer->request, code, name, err)) {
    case FCT_ENDING_GOOD:
        return check_complete(transfer, err);
    case FCT_ENDING_AGAIN:
        return FCT_TRANSFER_AGAIN;
    case FCT_ENDING_FATAL:
        break;
    }
    return FCT_TRANSFER_FATAL;
}
