/* user_folder.c - where a person's files lie. */
#include "cli/user_folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/error.h"

/* Makes every folder that stands before a '/' of path. */
static fct_status make_folders(char *path, fct_error *err) {
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool made = mkdir(path, 0700) == 0 || errno == EEXIST;
        if (!made) return fct_fail_errno(err, "%s", path);
        *slash = '/';
    }
    return FCT_OK;
}

char *fct_user_path(enum fct_user_folder folder, const char *name, fct_error *err) {
    static const char *const variables[] = {"XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"};
    static const char *const below_home[] = {".local/state", ".local/share", ".cache"};
    const char *base = getenv(variables[folder]), *home = getenv("HOME");
    struct fct_text text = {0};
    if (base && base[0] == '/')
        fct_text_printf(&text, "%s/facet/%s", base, name);
    else if (home && home[0] == '/')
        fct_text_printf(&text, "%s/%s/facet/%s", home, below_home[folder], name);
    else
        return fct_fail_null(err, FCT_ERR_IO, "there is no home folder: HOME is not set");
    char *path = fct_text_finish(&text, NULL, err);
    if (path && make_folders(path, err) == FCT_OK) return path;
    fct_free(path);
    return NULL;
}
