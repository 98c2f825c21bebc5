/* name_set.h - the strings that are allowed somewhere, followed character by character. */
#ifndef FCT_ENGINE_NAME_SET_H
#define FCT_ENGINE_NAME_SET_H

#include "facet.h"

/* Sorted by code points, each once. All names that share a beginning lie side by side, so how far a
 * text has come is a range of them. */
struct fct_names {
    int n;
    int *begins; /* [n + 1]: name i is characters[begins[i] .. begins[i + 1]) */
    uint32_t *characters;
};

/* Takes n names of valid UTF-8, in any order; lengths in bytes. Equal names become one. On failure
 * nothing is left to be freed. */
fct_status fct_names_init(struct fct_names *names, const char *const *texts, const size_t *lengths,
                          int n, fct_error *err);
void fct_names_free(struct fct_names *names);
int fct_names_find(const struct fct_names *names, const char *text, size_t n_bytes); /* or -1 */
/* The name that is number i of other, or -1. */
int fct_names_find_same(const struct fct_names *names, const struct fct_names *other, int i);

/* Names low .. high - 1: all of them begin with the same characters, as many as the text has. */
struct fct_name_range {
    int low, high;
};
/* Those of the range whose character number `at` is one of first .. last. */
struct fct_name_range fct_names_narrow(const struct fct_names *names, struct fct_name_range range,
                                       int at, uint32_t first, uint32_t last);
/* The name of the range that has just n_characters, or -1. */
int fct_names_ended(const struct fct_names *names, struct fct_name_range range, int n_characters);

#endif
