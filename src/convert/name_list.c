/* name_list.c - names gathered for a message: the first few, and how many more. */
#include "convert/name_list.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void fct_name_list_add(struct fct_name_list *list, const char *name) {
    size_t used = strlen(list->text), left = sizeof list->text - used;
    bool all_shown = list->n_shown == list->n_names++;
    if (!all_shown || strlen(name) + 3 > left) return;
    snprintf(list->text + used, left, "%s%s", used ? ", " : "", name);
    list->n_shown++;
}

const char *fct_name_list_text(const struct fct_name_list *list, char *buffer, size_t n) {
    if (list->n_shown == list->n_names)
        snprintf(buffer, n, "%s", list->text);
    else
        snprintf(buffer, n, "%s and %zu more", list->text, list->n_names - list->n_shown);
    return buffer;
}
