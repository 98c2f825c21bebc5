/* user_folder.h - where a person's files lie. */
#ifndef FCT_CLI_USER_FOLDER_H
#define FCT_CLI_USER_FOLDER_H

#include "facet.h"

enum fct_user_folder { FCT_USER_STATE, FCT_USER_DATA, FCT_USER_CACHE };

/* Path of the file `name` in facet's folder below $XDG_STATE_HOME (~/.local/state),
 * $XDG_DATA_HOME (~/.local/share) or $XDG_CACHE_HOME (~/.cache)
 * (https://specifications.freedesktop.org/basedir-spec/latest). The folders are made, for this user
 * only. The caller frees (fct_free); NULL: there is no such place. */
char *fct_user_path(enum fct_user_folder folder, const char *name, fct_error *err);

#endif
