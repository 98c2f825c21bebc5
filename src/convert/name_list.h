/* name_list.h - names gathered for a message: the first few, and how many more. */
#ifndef FCT_CONVERT_NAME_LIST_H
#define FCT_CONVERT_NAME_LIST_H

#include <stddef.h>

struct fct_name_list {
    char text[512]; /* "a, b, c" */
    size_t n_names, n_shown;
};
void fct_name_list_add(struct fct_name_list *list, const char *name);
/* "a, b, c and 12 more" in buffer, which it returns. */
const char *fct_name_list_text(const struct fct_name_list *list, char *buffer, size_t n);

#endif
