/* listing.h - what a server has: a repository of a hub, or a folder anywhere. */
#ifndef FCT_FETCH_LISTING_H
#define FCT_FETCH_LISTING_H

#include "fetch/remote_list.h"
#include "fetch/request.h"

/* All files of a repository ("owner/name") at a revision, from ENDPOINT/api/models/. */
fct_status fct_listing_hub(const struct fct_http *http, const char *endpoint,
                           const char *repository, const char *revision,
                           struct fct_remote_list *list, fct_error *err);

/* The files that base_url/SHA256SUMS lists, or without such a file the n_names that are given; of
 * unknown size. */
fct_status fct_listing_folder(const struct fct_http *http, const char *base_url,
                              const char *const *names, size_t n_names,
                              struct fct_remote_list *list, fct_error *err);

#endif
