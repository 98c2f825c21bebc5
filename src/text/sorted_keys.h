/* sorted_keys.h - an object's members in the order of Jinja's dictsort: without regard to case,
 * ties as they stand. */
#ifndef FCT_TEXT_SORTED_KEYS_H
#define FCT_TEXT_SORTED_KEYS_H

#include <jansson.h>

#include "facet.h"

struct fct_sorted_key {
    const char *key; /* the object's */
    const json_t *value;
    char *lower;
    size_t place;
};
/* The members of object, sorted by lower-cased key in the order of code points; *n of them. NULL
 * only without memory. */
struct fct_sorted_key *fct_sorted_keys(const json_t *object, size_t *n, fct_error *err);
void fct_sorted_keys_free(struct fct_sorted_key *keys, size_t n);

#endif
