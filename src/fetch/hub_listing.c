/* hub_listing.c - the files of a repository on a Hugging Face hub.
 * https://huggingface.co/docs/hub/api: GET /api/models/REPO/tree/REVISION gives a JSON list, a page
 * at a time; the next page's address stands in a Link header. */
#include <jansson.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "fetch/listing.h"

enum { PAGE_LIMIT = 16 << 20, N_PAGES_LIMIT = 200 };

static fct_status add_entry(struct fct_remote_list *list, const char *where, const json_t *entry,
                            fct_error *err) {
    const char *type = json_string_value(json_object_get(entry, "type")),
               *path = json_string_value(json_object_get(entry, "path"));
    const json_t *lfs = json_object_get(entry, "lfs"),
                 *size = json_object_get(json_is_object(lfs) ? lfs : entry, "size");
    const char *id = json_string_value(json_object_get(json_is_object(lfs) ? lfs : entry, "oid"));
    if (type && strcmp(type, "directory") == 0) return FCT_OK;
    if (!type || !path || strcmp(type, "file") != 0)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: an entry of the listing has no path or type",
                        where);
    if (!json_is_integer(size) || json_integer_value(size) < 0)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: the listing has no size for %s", where, path);
    if (json_is_object(lfs) && (!id || strlen(id) != 64))
        return fct_fail(err, FCT_ERR_FORMAT, "%s: the listing has no SHA-256 for %s", where, path);
    return fct_remote_list_add(list, where, path, (uint64_t)json_integer_value(size), id ? id : "",
                               err);
}

static fct_status add_page(struct fct_remote_list *list, const char *where, const char *text,
                           size_t n_bytes, fct_error *err) {
    json_error_t at;
    json_t *page = json_loadb(text, n_bytes, 0, &at), *entry;
    size_t i;
    fct_status status = FCT_OK;
    if (!page)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: the listing is not JSON: line %d: %s", where,
                        at.line, at.text);
    if (!json_is_array(page))
        status = fct_fail(err, FCT_ERR_FORMAT, "%s: the listing is not a list", where);
    json_array_foreach(page, i, entry) {
        if (!status) status = add_entry(list, where, entry, err);
    }
    json_decref(page);
    return status;
}

/* The address of the next page, or NULL: <ADDRESS>; rel="next" among links between commas. Whatever
 * host it names, ours is asked: the token is for no other. */
static fct_status find_next(const char *link, const char *endpoint, const char *where, char **next,
                            fct_error *err) {
    *next = NULL;
    for (const char *at = link; (at = strchr(at, '<'));) {
        const char *end = strchr(at, '>'), *stop;
        if (!end) break;
        stop = strchr(end, ',');
        size_t n_about = stop ? (size_t)(stop - end) : strlen(end);
        if (!memmem(end, n_about, "rel=\"next\"", 10)) {
            at = end;
            continue;
        }
        const char *path = memmem(at, (size_t)(end - at), "/api/models/", 12);
        if (!path)
            return fct_fail(err, FCT_ERR_FORMAT, "%s: the listing goes on at a strange address",
                            where);
        struct fct_text url = {0};
        fct_text_puts(&url, endpoint);
        fct_text_add(&url, path, (size_t)(end - path));
        *next = fct_text_finish(&url, NULL, err);
        return *next ? FCT_OK : FCT_ERR_MEMORY;
    }
    return FCT_OK;
}

static char *first_page(const char *endpoint, const char *repository, const char *revision,
                        fct_error *err) {
    struct fct_text base = {0}, url = {0};
    fct_text_printf(&base, "%s/api/models/%s/tree/", endpoint, repository);
    char *tree = fct_text_finish(&base, NULL, err);
    char *named = tree ? fct_url_join(tree, revision, false, err) : NULL;
    fct_free(tree);
    if (!named) return NULL;
    fct_text_printf(&url, "%s?recursive=true", named);
    fct_free(named);
    return fct_text_finish(&url, NULL, err);
}

fct_status fct_listing_hub(const struct fct_http *http, const char *endpoint,
                           const char *repository, const char *revision,
                           struct fct_remote_list *list, fct_error *err) {
    fct_status status = FCT_OK;
    struct fct_reply reply;
    char *url = first_page(endpoint, repository, revision, err);
    if (!url) return FCT_ERR_MEMORY;
    for (int n_pages = 0; !status && url; n_pages++) {
        size_t n_bytes;
        char *next = NULL;
        fct_error why = {0};
        if (n_pages == N_PAGES_LIMIT) {
            status = fct_fail(err, FCT_ERR_FORMAT, "%s: the listing has no end", repository);
            break;
        }
        char *text = fct_http_get(http, url, PAGE_LIMIT, &n_bytes, &reply, NULL, &why);
        status = text ? add_page(list, repository, text, n_bytes, err)
                      : fct_fail(err, why.code, "%s", why.message);
        if (!status) status = find_next(reply.link, endpoint, repository, &next, err);
        fct_free(text);
        fct_free(url);
        url = next;
    }
    fct_free(url);
    return status;
}
