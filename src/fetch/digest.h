/* digest.h - is a file the one that was listed? */
#ifndef FCT_FETCH_DIGEST_H
#define FCT_FETCH_DIGEST_H

#include "facet.h"
#include "fetch/remote_list.h"

/* Called with the bytes that were read so far; false stops. */
typedef bool (*fct_digest_fn)(void *user, uint64_t n_bytes);

/* Reads the whole file behind fd and writes its id of the kind of `like` (SHA-256 for 64 digits;
 * git's id of a blob, SHA-1 over "blob SIZE", a zero byte and the file, for 40) into id. */
fct_status fct_digest_file(int fd, const char *path, const char *like, char id[FCT_REMOTE_ID_BYTES],
                           fct_digest_fn progress, void *user, fct_error *err);

#endif
