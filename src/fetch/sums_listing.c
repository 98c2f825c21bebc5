/* sums_listing.c - the files of a folder on any server: by a list of SHA256SUMS, or by their names.
 */
#include <string.h>

#include "base/error.h"
#include "fetch/listing.h"

enum { SUMS_LIMIT = 1 << 20, ID_DIGITS = 64 };

/* A line as sha256sum writes it: 64 digits, a space, a space or an asterisk, the name. */
static fct_status add_line(struct fct_remote_list *list, const char *where, char *line, int number,
                           fct_error *err) {
    char id[FCT_REMOTE_ID_BYTES];
    size_t n = strspn(line, "0123456789abcdefABCDEF");
    if (n != ID_DIGITS || line[n] != ' ' || !strchr(" *", line[n + 1]) || !line[n + 1])
        return fct_fail(err, FCT_ERR_FORMAT, "%s: line %d is not a checksum and a name", where,
                        number);
    for (size_t i = 0; i < ID_DIGITS; i++)
        id[i] = (char)(line[i] >= 'A' && line[i] <= 'F' ? line[i] + ('a' - 'A') : line[i]);
    id[ID_DIGITS] = 0;
    const char *name = line + ID_DIGITS + 2;
    if (strncmp(name, "./", 2) == 0) name += 2;
    return fct_remote_list_add(list, where, name, FCT_REMOTE_SIZE_UNKNOWN, id, err);
}

static fct_status add_sums(struct fct_remote_list *list, const char *where, char *text,
                           size_t n_bytes, fct_error *err) {
    if (strlen(text) != n_bytes) return fct_fail(err, FCT_ERR_FORMAT, "%s: is not a text", where);
    fct_status status = FCT_OK;
    int number = 0;
    for (char *line = text, *next; line && !status; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        size_t n = strlen(line);
        if (n && line[n - 1] == '\r') line[n - 1] = 0;
        number++;
        if (*line) status = add_line(list, where, line, number, err);
    }
    return status;
}

fct_status fct_listing_folder(const struct fct_http *http, const char *base_url,
                              const char *const *names, size_t n_names,
                              struct fct_remote_list *list, fct_error *err) {
    size_t n_bytes;
    long answer;
    fct_error why = {0};
    char *url = fct_url_join(base_url, "SHA256SUMS", false, err);
    if (!url) return FCT_ERR_MEMORY;
    char *text = fct_http_get(http, url, SUMS_LIMIT, &n_bytes, NULL, &answer, &why);
    fct_status status = FCT_OK;
    if (text)
        status = add_sums(list, url, text, n_bytes, err);
    else if (answer == 404 && n_names == 0)
        status = fct_fail(err, FCT_ERR_ARGUMENT,
                          "%s: there is no such list (404); name the files with --file", url);
    else if (answer != 404 && (answer != 403 || n_names == 0)) /* S3 says 403 for what is missing */
        status = fct_fail(err, why.code, "%s", why.message);
    for (size_t i = 0; i < n_names && !status; i++)
        if (!fct_remote_list_find(list, names[i]))
            status =
                fct_remote_list_add(list, base_url, names[i], FCT_REMOTE_SIZE_UNKNOWN, "", err);
    fct_free(text);
    fct_free(url);
    return status;
}
