/* id_list.c - token ids from text: decimal numbers between commas and white space. */

#include "base/error.h"
#include "base/memory.h"
#include "cli/options.h"

static bool is_separator(char c) {
    return c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

/* One id at text[*at]; moves *at behind it. Token ids fit an int. */
static fct_status read_id(const char *what, const char *text, size_t n_bytes, size_t *at, int *id,
                          fct_error *err) {
    size_t begin = *at;
    int64_t value = 0;
    bool good = true;
    for (; *at < n_bytes && !is_separator(text[*at]); ++*at) {
        good = good && text[*at] >= '0' && text[*at] <= '9';
        if (good) value = value * 10 + (text[*at] - '0');
        good = good && value <= INT32_MAX;
    }
    if (!good)
        return fct_fail(err, FCT_ERR_ARGUMENT, "%s: \"%.*s\" is not a token id", what,
                        (int)(*at - begin < 40 ? *at - begin : 40), text + begin);
    *id = (int)value;
    return FCT_OK;
}

fct_status fct_ids_read(const char *what, const char *text, size_t n_bytes,
                        struct fct_id_list *list, fct_error *err) {
    size_t capacity = 0, at = 0;
    fct_status status;
    *list = (struct fct_id_list){0};
    for (;;) {
        while (at < n_bytes && is_separator(text[at])) at++;
        if (at == n_bytes) break;
        status =
            fct_grow((void **)&list->ids, &capacity, (size_t)list->n_ids + 1, sizeof(int), err);
        if (!status) status = read_id(what, text, n_bytes, &at, &list->ids[list->n_ids], err);
        if (status) goto failed;
        list->n_ids++;
    }
    if (list->n_ids == 0) {
        status = fct_fail(err, FCT_ERR_ARGUMENT, "%s: no token ids", what);
        goto failed;
    }
    return FCT_OK;
failed:
    fct_free(list->ids);
    *list = (struct fct_id_list){0};
    return status;
}
