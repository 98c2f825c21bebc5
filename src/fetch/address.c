/* address.c - which repository or folder is meant, and where its files are. */
#include "fetch/address.h"

#include <string.h>
#include <strings.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "fetch/request.h"

enum { URL_LIMIT = 2000 };

static bool is_url(const char *text) {
    return strncasecmp(text, "http://", 7) == 0 || strncasecmp(text, "https://", 8) == 0;
}

static fct_status check_url(const char *url, fct_error *err) {
    if (!is_url(url))
        return fct_fail(err, FCT_ERR_ARGUMENT, "%s: is not an address of http or https", url);
    const char *host = strstr(url, "://") + 3;
    if (strlen(url) > URL_LIMIT || !*host || *host == '/')
        return fct_fail(err, FCT_ERR_ARGUMENT, "%s: is not a complete address", url);
    for (const char *at = url; *at; at++)
        if ((unsigned char)*at <= 0x20 || strchr("?#\\\"<>", *at) || *at == 0x7F)
            return fct_fail(err, FCT_ERR_ARGUMENT,
                            "%s: is not the address of a folder: '%c' does not belong there", url,
                            *at);
    if (memchr(host, '@', strcspn(host, "/")))
        return fct_fail(err, FCT_ERR_ARGUMENT, "an address with a user's name in it is not taken");
    return FCT_OK;
}

/* "owner/name" or "name" as hubs allow them. */
static bool is_repository(const char *text) {
    int n_slashes = 0;
    bool begins = true; /* a part of the name */
    for (const char *at = text; *at; at++) {
        bool letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                      (*at >= '0' && *at <= '9') || *at == '_';
        if (!letter && (begins || !strchr("-./", *at))) return false;
        begins = *at == '/';
        if (begins) n_slashes++;
    }
    return !begins && n_slashes <= 1 && strlen(text) <= 200 && !strstr(text, "..");
}

static char *join(const char *first, const char *middle, const char *last, fct_error *err) {
    struct fct_text text = {0};
    fct_text_printf(&text, "%s%s%s", first, middle, last);
    return fct_text_finish(&text, NULL, err);
}

static size_t without_slashes(const char *text) {
    size_t n = strlen(text);
    while (n && text[n - 1] == '/') n--;
    return n;
}

static fct_status read_folder(struct fct_address *address, const char *url, fct_error *err) {
    fct_status status = check_url(url, err);
    if (status) return status;
    char *plain = fct_copy_text(url, without_slashes(url), err);
    if (plain) address->endpoint = join(plain, "/", "", err);
    fct_free(plain);
    return address->endpoint ? FCT_OK : FCT_ERR_MEMORY;
}

static fct_status read_hub(struct fct_address *address, const char *repository,
                           const char *revision, fct_error *err) {
    address->is_hub = true;
    address->repository = fct_copy_text(repository, without_slashes(repository), err);
    if (!address->repository) return FCT_ERR_MEMORY;
    if (!is_repository(address->repository))
        return fct_fail(err, FCT_ERR_ARGUMENT,
                        "\"%s\" is neither the name of a repository, as google/gemma-4-E2B-it, nor "
                        "an address that begins with http:// or https://",
                        repository);
    if (!revision) revision = "main";
    if (!*revision || strlen(revision) > 200 || strstr(revision, ".."))
        return fct_fail(err, FCT_ERR_ARGUMENT, "\"%s\" is no name of a revision", revision);
    address->revision = fct_copy_text(revision, strlen(revision), err);
    address->page = join(address->endpoint, "/", address->repository, err);
    return address->revision && address->page ? FCT_OK : FCT_ERR_MEMORY;
}

/* What stands behind the endpoint if url is a page of it, else NULL. */
static const char *page_of(const char *url, const char *endpoint) {
    size_t n = without_slashes(endpoint);
    if (strncmp(url, endpoint, n) != 0 || url[n] != '/') return NULL;
    char name[256];
    size_t n_name = without_slashes(url + n + 1);
    if (n_name >= sizeof name) return NULL;
    memcpy(name, url + n + 1, n_name);
    name[n_name] = 0;
    return strchr(name, '/') && is_repository(name) ? url + n + 1 : NULL;
}

fct_status fct_address_read(struct fct_address *address, const struct fct_fetch_options *options,
                            fct_error *err) {
    const char *endpoint = options->endpoint ? options->endpoint : FCT_FETCH_ENDPOINT;
    *address = (struct fct_address){0};
    if (is_url(options->source) && !page_of(options->source, endpoint))
        return read_folder(address, options->source, err);
    fct_status status = check_url(endpoint, err);
    if (status) return status;
    address->endpoint = fct_copy_text(endpoint, without_slashes(endpoint), err);
    if (!address->endpoint) return FCT_ERR_MEMORY;
    const char *page = is_url(options->source) ? page_of(options->source, endpoint) : NULL;
    return read_hub(address, page ? page : options->source, options->revision, err);
}

void fct_address_free(struct fct_address *address) {
    fct_free(address->endpoint);
    fct_free(address->repository);
    fct_free(address->revision);
    fct_free(address->page);
    *address = (struct fct_address){0};
}

char *fct_address_file(const struct fct_address *address, const char *path, fct_error *err) {
    if (!address->is_hub) return fct_url_join(address->endpoint, path, true, err);
    char *base = join(address->page, "/resolve/", "", err), *at_revision = NULL, *folder = NULL;
    if (base) at_revision = fct_url_join(base, address->revision, false, err);
    if (at_revision) folder = join(at_revision, "/", "", err);
    char *url = folder ? fct_url_join(folder, path, true, err) : NULL;
    fct_free(base);
    fct_free(at_revision);
    fct_free(folder);
    return url;
}

bool fct_address_is_private(const struct fct_address *address) {
    static const char *const here[] = {"localhost", "127.0.0.1", "[::1]"};
    if (strncasecmp(address->endpoint, "https://", 8) == 0) return true;
    const char *host = address->endpoint + strlen("http://");
    for (size_t i = 0; i < sizeof here / sizeof *here; i++) {
        size_t n = strlen(here[i]);
        if (strncasecmp(host, here[i], n) == 0 && (!host[n] || strchr(":/", host[n]))) return true;
    }
    return false;
}
