/* piece_sum.c - SHA-256 of a part of a file, by the system's sha256sum.
 *
 * The same program sums on both sides; so a static facet needs no library for it. */
#include "deploy/piece_sum.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "deploy/child.h"

enum { CHUNK_BYTES = 1 << 18, END_SECONDS = 10 };

bool fct_is_sum(const char *text) {
    return strlen(text) == FCT_SUM_BYTES - 1 &&
           strspn(text, "0123456789abcdef") == FCT_SUM_BYTES - 1;
}

static fct_status feed(int to, int fd, const char *name, uint64_t offset, uint64_t n_bytes,
                       char *chunk, fct_error *err) {
    while (n_bytes) {
        size_t n = n_bytes < CHUNK_BYTES ? (size_t)n_bytes : CHUNK_BYTES;
        fct_status status = fct_file_read_at(fd, name, offset, chunk, n, err);
        if (status) return status;
        for (size_t done = 0; done < n;) {
            ssize_t written = write(to, chunk + done, n - done);
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) return fct_fail_errno(err, "sha256sum");
            done += (size_t)written;
        }
        offset += n;
        n_bytes -= n;
    }
    return FCT_OK;
}

static fct_status read_sum(int from, char sum[FCT_SUM_BYTES], fct_error *err) {
    size_t n = 0;
    while (n < FCT_SUM_BYTES - 1) {
        ssize_t got = read(from, sum + n, FCT_SUM_BYTES - 1 - n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fct_fail_errno(err, "sha256sum");
        if (got == 0) break;
        n += (size_t)got;
    }
    sum[n] = 0;
    return fct_is_sum(sum) ? FCT_OK : fct_fail(err, FCT_ERR_IO, "sha256sum printed no checksum");
}

fct_status fct_piece_sum(int fd, const char *name, uint64_t offset, uint64_t n_bytes,
                         char sum[FCT_SUM_BYTES], fct_error *err) {
    static const char *const arguments[] = {"sha256sum", NULL};
    struct fct_child child;
    char *chunk = fct_new(CHUNK_BYTES, err);
    if (!chunk) return FCT_ERR_MEMORY;
    fct_status status = fct_child_start(&child, arguments, false, err);
    if (!status) status = feed(child.in, fd, name, offset, n_bytes, chunk, err);
    if (!status) {
        close(child.in);
        child.in = -1;
        status = read_sum(child.out, sum, err);
    }
    fct_child_end(&child, END_SECONDS);
    fct_free(chunk);
    return status;
}
