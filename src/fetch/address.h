/* address.h - which repository or folder is meant, and where its files are. */
#ifndef FCT_FETCH_ADDRESS_H
#define FCT_FETCH_ADDRESS_H

#include "fetch/fetch.h"

struct fct_address {
    bool is_hub;
    char *endpoint;   /* of the hub, without a slash at its end; else the folder's URL, with one */
    char *repository; /* of a hub: "owner/name" */
    char *revision;
    char *page; /* of the repository, for a person */
};

/* Reads options->source: "owner/name", the URL of a repository's page at the endpoint, or the URL
 * of any folder. */
fct_status fct_address_read(struct fct_address *address, const struct fct_fetch_options *options,
                            fct_error *err);
void fct_address_free(struct fct_address *address);

/* The URL of a file; the caller frees. */
char *fct_address_file(const struct fct_address *address, const char *path, fct_error *err);

/* Can nobody on the way read what is sent there? HTTPS, or this machine. */
bool fct_address_is_private(const struct fct_address *address);

#endif
