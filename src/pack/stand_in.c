/* stand_in.c - what people most often save under a model's name without noticing. */
#include "pack/stand_in.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"

static bool begins(const char *text, size_t n_bytes, const char *word) {
    size_t n = strlen(word);
    return n_bytes >= n && strncasecmp(text, word, n) == 0;
}

fct_status fct_stand_in_check(const char *path, const void *bytes, size_t n_bytes, fct_error *err) {
    const char *text = bytes;
    if (begins(text, n_bytes, "version https://git-lfs"))
        return fct_fail(
            err, FCT_ERR_FORMAT,
            "%s: is a Git LFS pointer, not the file itself; get it with `git lfs pull`, "
            "or download it again",
            path);
    while (n_bytes > 0 && *text && strchr(" \t\r\n", *text)) text++, n_bytes--;
    if (begins(text, n_bytes, "<!DOCTYPE") || begins(text, n_bytes, "<html"))
        return fct_fail(
            err, FCT_ERR_FORMAT,
            "%s: is a web page, not a model: the download gave an error or a login page; "
            "download it again",
            path);
    return FCT_OK;
}
