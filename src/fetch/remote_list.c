/* remote_list.c - the files that a server says it has: names that are safe to write, sizes, ids. */
#include "fetch/remote_list.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"

enum { N_FILES_LIMIT = 20000, PATH_LIMIT = 1000, PART_LIMIT = 200 };

void fct_remote_list_free(struct fct_remote_list *list) {
    for (size_t i = 0; i < list->n_files; i++) fct_free(list->files[i].path);
    fct_free(list->files);
    *list = (struct fct_remote_list){0};
}

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), n_end = strlen(end);
    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

/* One part of a path, between slashes. */
static bool is_safe_part(const char *part, size_t n_bytes) {
    if (n_bytes == 0 || n_bytes > PART_LIMIT) return false;
    if (part[0] == '.' && (n_bytes == 1 || (n_bytes == 2 && part[1] == '.'))) return false;
    for (size_t i = 0; i < n_bytes; i++)
        if ((unsigned char)part[i] < 0x20 || part[i] == 0x7F || part[i] == '\\') return false;
    return true;
}

bool fct_remote_path_is_safe(const char *path) {
    size_t n_bytes = strlen(path);
    if (n_bytes > PATH_LIMIT || !fct_utf8_valid(path, n_bytes)) return false;
    if (ends_with(path, ".part") || ends_with(path, ".part.state")) return false;
    for (const char *at = path;; at++) {
        size_t n = strcspn(at, "/");
        if (!is_safe_part(at, n)) return false;
        at += n;
        if (!*at) return true;
    }
}

static bool is_id(const char *id) {
    size_t n = strlen(id);
    return (n == 64 || n == 40 || n == 0) && strspn(id, "0123456789abcdef") == n;
}

fct_status fct_remote_list_add(struct fct_remote_list *list, const char *where, const char *path,
                               uint64_t size, const char *id, fct_error *err) {
    if (!fct_remote_path_is_safe(path))
        return fct_fail(err, FCT_ERR_FORMAT,
                        "%s: lists \"%s\", which is no safe name for a file here", where, path);
    if (size > FCT_REMOTE_SIZE_LIMIT && size != FCT_REMOTE_SIZE_UNKNOWN)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: lists %s with %llu bytes", where, path,
                        (unsigned long long)size);
    if (!is_id(id))
        return fct_fail(err, FCT_ERR_FORMAT, "%s: lists %s with a checksum of another kind", where,
                        path);
    if (list->n_files == N_FILES_LIMIT)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: lists more than %d files", where, N_FILES_LIMIT);
    fct_status status = fct_grow((void **)&list->files, &list->capacity, list->n_files + 1,
                                 sizeof *list->files, err);
    if (status) return status;
    struct fct_remote_file *file = &list->files[list->n_files];
    *file = (struct fct_remote_file){.path = fct_copy_text(path, strlen(path), err), .size = size};
    if (!file->path) return FCT_ERR_MEMORY;
    strcpy(file->id, id); /* is_id has counted */
    list->n_files++;
    return FCT_OK;
}

struct fct_remote_file *fct_remote_list_find(const struct fct_remote_list *list, const char *path) {
    for (size_t i = 0; i < list->n_files; i++)
        if (strcmp(list->files[i].path, path) == 0) return &list->files[i];
    return NULL;
}
