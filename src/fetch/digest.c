/* digest.c - is a file the one that was listed? SHA-256, or the id that git gives a file. */
#include "fetch/digest.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

enum { PIECE_BYTES = 1 << 20 };

/* https://git-scm.com/book/en/v2/Git-Internals-Git-Objects: a blob's id covers a header with its
 * size. */
static bool begin(EVP_MD_CTX *context, bool git, uint64_t size) {
    char header[32];
    int n = snprintf(header, sizeof header, "blob %llu", (unsigned long long)size);
    if (!EVP_DigestInit_ex(context, git ? EVP_sha1() : EVP_sha256(), NULL)) return false;
    return !git || EVP_DigestUpdate(context, header, (size_t)n + 1);
}

static fct_status digest_bytes(EVP_MD_CTX *context, int fd, const char *path, uint8_t *piece,
                               fct_digest_fn progress, void *user, fct_error *err) {
    for (uint64_t done = 0;;) {
        ssize_t n = pread(fd, piece, PIECE_BYTES, (off_t)done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fct_fail_errno(err, "%s", path);
        if (n == 0) return FCT_OK;
        done += (uint64_t)n;
        if (!EVP_DigestUpdate(context, piece, (size_t)n))
            return fct_fail(err, FCT_ERR_IO, "%s: OpenSSL cannot compute its checksum", path);
        if (!progress(user, done))
            return fct_fail(err, FCT_ERR_CANCELLED, "%s: stopped while it was checked", path);
    }
}

fct_status fct_digest_file(int fd, const char *path, const char *like, char id[FCT_REMOTE_ID_BYTES],
                           fct_digest_fn progress, void *user, fct_error *err) {
    static const char digits[] = "0123456789abcdef";
    uint8_t result[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    struct stat info;
    fct_status status = FCT_ERR_MEMORY;
    uint8_t *piece = fct_new(PIECE_BYTES, err);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (!context) fct_fail(err, FCT_ERR_MEMORY, "no memory for a checksum");
    if (!piece || !context) goto done;
    if (fstat(fd, &info))
        status = fct_fail_errno(err, "%s", path);
    else if (!begin(context, strlen(like) == 40, (uint64_t)info.st_size))
        status = fct_fail(err, FCT_ERR_IO, "%s: OpenSSL cannot compute its checksum", path);
    else
        status = digest_bytes(context, fd, path, piece, progress, user, err);
    if (!status && (!EVP_DigestFinal_ex(context, result, &n) || 2 * n >= FCT_REMOTE_ID_BYTES))
        status = fct_fail(err, FCT_ERR_IO, "%s: OpenSSL cannot compute its checksum", path);
    for (unsigned i = 0; !status && i < n; i++) {
        id[2 * i] = digits[result[i] >> 4];
        id[2 * i + 1] = digits[result[i] & 15];
    }
    if (!status) id[2 * n] = 0;
done:
    EVP_MD_CTX_free(context);
    fct_free(piece);
    return status;
}
