/* file.c - files in: mapped whole, or read whole. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

enum { HUGE_PAGE = 2 << 20 };

/* Opened for reading; *size is what the system says. A pipe or device is refused unless any_kind.
 */
static int open_file(const char *path, bool any_kind, uint64_t *size, fct_error *err) {
    struct stat status;
    /* Asked before opening: opening a pipe would wait for its writer. */
    if (stat(path, &status)) return fct_fail_errno(err, "%s", path), -1;
    if (S_ISDIR(status.st_mode))
        return fct_fail(err, FCT_ERR_IO, "%s: is a folder, not a file", path), -1;
    if (!any_kind && !S_ISREG(status.st_mode))
        return fct_fail(err, FCT_ERR_IO, "%s: is not a regular file", path), -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return fct_fail_errno(err, "%s", path), -1;
    if (fstat(fd, &status)) {
        fct_fail_errno(err, "%s", path);
        close(fd);
        return -1;
    }
    *size = S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
    return fd;
}

/* Maps at a multiple of 2 MiB if the file is that large: only then can the kernel map the page
 * cache's 2 MiB folios whole. The address is found by reserving 2 MiB more than needed. */
static void *map_aligned(int fd, size_t size) {
    if (size < HUGE_PAGE || size > SIZE_MAX - 2 * (size_t)HUGE_PAGE)
        return mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    size_t page = (size_t)sysconf(_SC_PAGESIZE), used = fct_round_up(size, page);
    uint8_t *reserved =
        mmap(NULL, used + HUGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) return mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    size_t before = (HUGE_PAGE - (uintptr_t)reserved % HUGE_PAGE) % HUGE_PAGE;
    void *data = mmap(reserved + before, size, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0);
    if (data == MAP_FAILED) {
        int number = errno;
        munmap(reserved, used + HUGE_PAGE);
        errno = number;
        return MAP_FAILED;
    }
    if (before) munmap(reserved, before);
    if (before < HUGE_PAGE) munmap(reserved + before + used, HUGE_PAGE - before);
    return data;
}

fct_status fct_map_open(struct fct_mapping *mapping, const char *path, fct_error *err) {
    *mapping = (struct fct_mapping){.fd = -1};
    uint64_t size;
    int fd = open_file(path, false, &size, err);
    if (fd < 0) return FCT_ERR_IO;
    if (size > SIZE_MAX / 2) {
        close(fd);
        return fct_fail(err, FCT_ERR_MEMORY, "%s: %llu bytes are more than can be mapped", path,
                        (unsigned long long)size);
    }
    void *data = size ? map_aligned(fd, (size_t)size) : NULL;
    if (data == MAP_FAILED) {
        fct_fail_errno(err, "%s: cannot be mapped", path);
        close(fd);
        return FCT_ERR_IO;
    }
    *mapping = (struct fct_mapping){data, (size_t)size, fd};
    return FCT_OK;
}

void fct_map_close(struct fct_mapping *mapping) {
    if (mapping->data) munmap((void *)mapping->data, mapping->size);
    if (mapping->data || mapping->fd > 0) close(mapping->fd); /* a zeroed mapping owns no file */
    *mapping = (struct fct_mapping){.fd = -1};
}

fct_status fct_file_read_at(int fd, const char *name, uint64_t offset, void *out, size_t n_bytes,
                            fct_error *err) {
    size_t done = 0;
    do {
        ssize_t n = pread(fd, (char *)out + done, n_bytes - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fct_fail_errno(err, "%s: cannot read", name);
        if (n == 0) return fct_fail(err, FCT_ERR_IO, "%s: ended while it was being read", name);
        done += (size_t)n;
    } while (done < n_bytes);
    return FCT_OK;
}

bool fct_file_is_at(int fd, const char *path) {
    struct stat wanted, own;
    return stat(path, &wanted) == 0 && fstat(fd, &own) == 0 && own.st_dev == wanted.st_dev &&
           own.st_ino == wanted.st_ino;
}

/* Appends to *bytes up to the end of the file; stops and fails above limit. */
static fct_status read_all(int fd, const char *path, size_t limit, void **bytes, size_t *capacity,
                           size_t *n_bytes, fct_error *err) {
    for (;;) {
        if (*n_bytes > limit)
            return fct_fail(err, FCT_ERR_FORMAT, "%s: larger than %zu bytes", path, limit);
        fct_status status = fct_grow(bytes, capacity, *n_bytes + 1, 1, err); /* room for the NUL */
        if (status) return status;
        if (*n_bytes + 1 == *capacity &&
            (status = fct_grow(bytes, capacity, *capacity + 1, 1, err)))
            return status;
        ssize_t n = read(fd, (char *)*bytes + *n_bytes, *capacity - *n_bytes - 1);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fct_fail_errno(err, "%s", path);
        if (n == 0) return FCT_OK;
        *n_bytes += (size_t)n;
    }
}

char *fct_file_read(const char *path, size_t limit, size_t *n_bytes, fct_error *err) {
    uint64_t size;
    int fd = open_file(path, true, &size, err);
    if (fd < 0) return NULL;
    void *bytes = NULL;
    size_t capacity = 0, n = 0;
    fct_status status = FCT_OK;
    if (size > limit)
        status = fct_fail(err, FCT_ERR_FORMAT, "%s: %llu bytes, at most %zu are expected", path,
                          (unsigned long long)size, limit);
    else if (size > 0)
        status = fct_grow(&bytes, &capacity, (size_t)size + 2, 1, err);
    if (!status) status = read_all(fd, path, limit, &bytes, &capacity, &n, err);
    close(fd);
    if (status) {
        fct_free(bytes);
        return NULL;
    }
    ((char *)bytes)[n] = 0;
    if (n_bytes) *n_bytes = n;
    return bytes;
}

char *fct_path_join(const char *folder, const char *name, fct_error *err) {
    size_t n_folder = strlen(folder), n_name = strlen(name);
    bool slash = n_folder > 0 && folder[n_folder - 1] != '/';
    char *path = fct_new(n_folder + slash + n_name + 1, err);
    if (!path) return NULL;
    memcpy(path, folder, n_folder);
    if (slash) path[n_folder] = '/';
    memcpy(path + n_folder + slash, name, n_name);
    return path;
}

bool fct_is_folder(const char *path) {
    struct stat status;
    return !stat(path, &status) && S_ISDIR(status.st_mode);
}

bool fct_is_file(const char *path) {
    struct stat status;
    return !stat(path, &status) && S_ISREG(status.st_mode);
}
