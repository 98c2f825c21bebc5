/* pull_places.c - where a download goes, what names it, and whether it fits. */
#include "cli/pull_places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "cli/progress.h"

enum { TOKEN_LIMIT = 1000 };

/* ---- names ---- */

/* What is behind "https://HOST/" or the whole of a repository's name, without slashes at its end;
 * *n_bytes long. */
static const char *path_of(const char *source, size_t *n_bytes) {
    const char *scheme = strstr(source, "://"), *path = source;
    if (scheme) {
        path = strchr(scheme + 3, '/');
        path = path ? path + strspn(path, "/") : "";
    }
    *n_bytes = strlen(path);
    while (*n_bytes && path[*n_bytes - 1] == '/') --*n_bytes;
    return path;
}

/* ~/.local/share/facet/MIDDLE NAME SUFFIX; a name that would lead elsewhere becomes "download". */
static char *below_home(const char *middle, const char *name, size_t n_bytes, const char *suffix,
                        fct_error *err) {
    const char *home = getenv("HOME");
    struct fct_text path = {0};
    if (!home || !*home)
        return fct_fail_null(err, FCT_ERR_ARGUMENT,
                             "$HOME is not set: say with --output and --model where files go");
    bool bad = n_bytes == 0 || memmem(name, n_bytes, "..", 2) || memmem(name, n_bytes, "//", 2) ||
               name[0] == '.';
    fct_text_printf(&path, "%s/.local/share/facet/%s", home, middle);
    fct_text_add(&path, bad ? "download" : name, bad ? strlen("download") : n_bytes);
    fct_text_puts(&path, suffix);
    return fct_text_finish(&path, NULL, err);
}

char *fct_pull_folder(const char *source, fct_error *err) {
    size_t n_bytes;
    const char *path = path_of(source, &n_bytes);
    return below_home("sources/", path, n_bytes, "", err);
}

char *fct_pull_packed(const char *source, const char *model, fct_error *err) {
    size_t n_bytes;
    const char *name = *model ? model : path_of(source, &n_bytes);
    if (*model) n_bytes = strlen(model) - strlen(".gguf");
    const char *slash = memrchr(name, '/', n_bytes);
    if (slash) {
        n_bytes -= (size_t)(slash + 1 - name);
        name = slash + 1;
    }
    return below_home("", name, n_bytes, ".facet", err);
}

fct_status fct_pull_make_folders(const char *path, fct_error *err) {
    fct_status status = FCT_OK;
    char *folder = fct_copy_text(path, strlen(path), err);
    if (!folder) return FCT_ERR_MEMORY;
    for (char *slash = folder; !status && (slash = strchr(slash + 1, '/'));) {
        *slash = 0;
        if (mkdir(folder, 0777) && errno != EEXIST) status = fct_fail_errno(err, "%s", folder);
        *slash = '/';
    }
    fct_free(folder);
    return status;
}

/* ---- the token ---- */

static char *token_path(fct_error *err) {
    const char *path = getenv("HF_TOKEN_PATH"), *folder = getenv("HF_HOME"), *home = getenv("HOME");
    if (path && *path) return fct_copy_text(path, strlen(path), err);
    if (folder && *folder) return fct_path_join(folder, "token", err);
    if (home && *home) return fct_path_join(home, ".cache/huggingface/token", err);
    return fct_copy_text("", 0, err);
}

/* Nothing but a token may get into a header. */
static fct_status check_token(const char *where, const char *token, fct_error *err) {
    for (const char *at = token; *at; at++)
        if (*at <= 0x20 || *at >= 0x7F)
            return fct_fail(err, FCT_ERR_ARGUMENT,
                            "%s: a token has no spaces and no characters but ASCII's", where);
    return strlen(token) <= TOKEN_LIMIT
               ? FCT_OK
               : fct_fail(err, FCT_ERR_ARGUMENT, "%s: too long for a token", where);
}

fct_status fct_pull_token(char **token, fct_error *err) {
    const char *variable = getenv("HF_TOKEN");
    char *path = NULL, *text = NULL;
    *token = NULL;
    if (variable && *variable) {
        text = fct_copy_text(variable, strlen(variable), err);
    } else {
        path = token_path(err);
        if (!path) return FCT_ERR_MEMORY;
        if (fct_is_file(path))
            text = fct_file_read(path, TOKEN_LIMIT + 16, NULL, err);
        else
            text = fct_copy_text("", 0, err);
    }
    fct_status status = text ? FCT_OK : FCT_ERR_IO;
    if (!status) {
        size_t n = strlen(text), n_before = strspn(text, " \t\r\n");
        while (n > n_before && strchr(" \t\r\n", text[n - 1])) n--;
        text[n] = 0;
        memmove(text, text + n_before, n - n_before + 1);
        status = check_token(path ? path : "HF_TOKEN", text, err);
        if (!status && *text) {
            *token = text;
            text = NULL;
        }
    }
    fct_free(text);
    fct_free(path);
    return status;
}

/* ---- space ---- */

/* The disk that path is on or will be: of its nearest folder that is there. False: unknown. */
static bool find_disk(const char *path, dev_t *device, uint64_t *free_bytes) {
    struct stat info;
    struct statvfs disk;
    char *folder = fct_copy_text(path, strlen(path), NULL);
    bool found = false;
    while (folder && !found) {
        const char *name = *folder ? folder : ".";
        found = !stat(name, &info) && !statvfs(name, &disk);
        if (found || !*folder || strcmp(folder, "/") == 0) break;
        char *slash = strrchr(folder, '/');
        if (!slash)
            *folder = 0;
        else
            slash[slash == folder] = 0;
    }
    fct_free(folder);
    if (!found || disk.f_blocks == 0) return false;
    *device = info.st_dev;
    return !__builtin_mul_overflow((uint64_t)disk.f_bavail,
                                   (uint64_t)(disk.f_frsize ? disk.f_frsize : disk.f_bsize),
                                   free_bytes);
}

static fct_status compare(const char *place, uint64_t needed, uint64_t free_bytes, const char *what,
                          fct_error *err) {
    char a[32], b[32];
    if (needed <= free_bytes) return FCT_OK;
    return fct_fail(err, FCT_ERR_IO, "%s: not enough space: %s needs %s, its disk has %s free",
                    place, what, fct_size_text((double)needed, a),
                    fct_size_text((double)free_bytes, b));
}

fct_status fct_pull_space(const char *folder, uint64_t n_bytes, const char *packed,
                          uint64_t packed_bytes, fct_error *err) {
    dev_t device, packed_device;
    uint64_t free_bytes, packed_free;
    bool known = find_disk(folder, &device, &free_bytes);
    if (!packed) return known ? compare(folder, n_bytes, free_bytes, "the download", err) : FCT_OK;
    bool packed_known = find_disk(packed, &packed_device, &packed_free);
    if (known && packed_known && device == packed_device)
        return compare(folder, n_bytes + packed_bytes, free_bytes,
                       "the download and the packed model", err);
    if (known) {
        fct_status status = compare(folder, n_bytes, free_bytes, "the download", err);
        if (status) return status;
    }
    return packed_known ? compare(packed, packed_bytes, packed_free, "the packed model", err)
                        : FCT_OK;
}
