/* pull_places.h - where a download goes, what names it, and whether it fits. */
#ifndef FCT_CLI_PULL_PLACES_H
#define FCT_CLI_PULL_PLACES_H

#include "facet.h"

/* ~/.local/share/facet/sources/REPOSITORY, and ~/.local/share/facet/NAME.facet after the last part
 * of the repository or address, or of the GGUF file `model` if that is not "". The caller frees. */
char *fct_pull_folder(const char *source, fct_error *err);
char *fct_pull_packed(const char *source, const char *model, fct_error *err);

/* The folders that path stands in. */
fct_status fct_pull_make_folders(const char *path, fct_error *err);

/* The token for a hub: $HF_TOKEN, else the file that `hf auth login` writes ($HF_TOKEN_PATH,
 * $HF_HOME/token, ~/.cache/huggingface/token). *token is NULL if there is none; the caller frees.
 */
fct_status fct_pull_token(char **token, fct_error *err);

/* FCT_ERR_IO if folder's disk has not n_bytes free, and packed's packed_bytes, also if these are
 * one disk. packed may be NULL. Neither needs to exist yet. */
fct_status fct_pull_space(const char *folder, uint64_t n_bytes, const char *packed,
                          uint64_t packed_bytes, fct_error *err);

#endif
