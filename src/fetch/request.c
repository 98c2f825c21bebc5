/* request.c - one HTTP request: what curl is told, which headers are kept, what an ending means. */
#include "fetch/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buffer.h"
#include "base/error.h"

enum { CONNECT_SECONDS = 30, N_REDIRECTS = 10, RECEIVE_BYTES = 256 << 10 };
#define LONGEST_WAIT 60.0   /* seconds between two attempts, unless the server says more */
#define LONGEST_PAUSE 900.0 /* seconds that a server may ask for */

bool fct_http_cancelled(const struct fct_http *http) {
    return http->cancelled && http->cancelled(http->user);
}

/* ---- headers ---- */

/* Copies the value of the header line if it has this name ("etag:"); one that is too long is left
 * out. */
static void keep_header(char *out, size_t size, const char *line, size_t n_bytes,
                        const char *name) {
    size_t n_name = strlen(name);
    if (n_bytes < n_name || strncasecmp(line, name, n_name) != 0) return;
    line += n_name;
    n_bytes -= n_name;
    while (n_bytes && (*line == ' ' || *line == '\t')) line++, n_bytes--;
    while (n_bytes && strchr("\r\n\t ", line[n_bytes - 1])) n_bytes--;
    if (n_bytes >= size || memchr(line, 0, n_bytes)) n_bytes = 0;
    memcpy(out, line, n_bytes);
    out[n_bytes] = 0;
}

static size_t take_header(char *line, size_t one, size_t n_bytes, void *user) {
    struct fct_reply *reply = user;
    (void)one; /* always 1 */
    if (n_bytes >= 5 && memcmp(line, "HTTP/", 5) == 0) *reply = (struct fct_reply){0};
    keep_header(reply->etag, sizeof reply->etag, line, n_bytes, "etag:");
    keep_header(reply->content_range, sizeof reply->content_range, line, n_bytes, "content-range:");
    keep_header(reply->error_code, sizeof reply->error_code, line, n_bytes, "x-error-code:");
    keep_header(reply->link, sizeof reply->link, line, n_bytes, "link:");
    return n_bytes;
}

/* ---- the request ---- */

static size_t drop_body(char *bytes, size_t one, size_t n_bytes, void *user) {
    (void)bytes, (void)one, (void)user;
    return n_bytes;
}

static const char *environment(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    if ((!value || !*value) && otherwise) value = getenv(otherwise);
    return value && *value ? value : NULL;
}

/* Certificates of one's own, as the program curl finds them; the library looks nowhere but where it
 * was built to. */
static void set_certificates(CURL *easy) {
    const char *file = environment("CURL_CA_BUNDLE", "SSL_CERT_FILE"),
               *folder = environment("SSL_CERT_DIR", NULL);
    if (file) curl_easy_setopt(easy, CURLOPT_CAINFO, file);
    if (folder) curl_easy_setopt(easy, CURLOPT_CAPATH, folder);
}

static bool is_https(const char *url) { return strncasecmp(url, "https://", 8) == 0; }

static void set_options(struct fct_request *request, const struct fct_http *http, const char *url) {
    CURL *easy = request->easy;
    curl_easy_setopt(easy, CURLOPT_URL, url);
    set_certificates(easy);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "facet/" FCT_VERSION);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, is_https(url) ? "https" : "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(easy, CURLOPT_MAXREDIRS, (long)N_REDIRECTS);
    curl_easy_setopt(easy, CURLOPT_UNRESTRICTED_AUTH, 0L); /* the token stays with its host */
    curl_easy_setopt(
        easy, CURLOPT_CONNECTTIMEOUT,
        (long)(http->stall_seconds < CONNECT_SECONDS ? http->stall_seconds : CONNECT_SECONDS));
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 16L); /* bytes a second: a drip is a stall */
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)http->stall_seconds);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)RECEIVE_BYTES);
    /* HTTP/2 would put all transfers into one connection. */
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, request->error);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, &request->reply);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, drop_body);
}

fct_status fct_request_open(struct fct_request *request, const struct fct_http *http,
                            const char *url, fct_error *err) {
    *request = (struct fct_request){.easy = curl_easy_init()};
    if (!request->easy) return fct_fail(err, FCT_ERR_MEMORY, "no memory for a request");
    set_options(request, http, url);
    if (!http->token) return FCT_OK;
    char line[1100];
    snprintf(line, sizeof line, "Authorization: Bearer %s", http->token);
    return fct_request_header(request, line, err);
}

fct_status fct_request_header(struct fct_request *request, const char *line, fct_error *err) {
    struct curl_slist *more = curl_slist_append(request->headers, line);
    if (!more) return fct_fail(err, FCT_ERR_MEMORY, "no memory for a request");
    request->headers = more;
    return FCT_OK;
}

void fct_request_ready(struct fct_request *request) {
    curl_easy_setopt(request->easy, CURLOPT_HTTPHEADER, request->headers);
}

void fct_request_close(struct fct_request *request) {
    if (request->easy) curl_easy_cleanup(request->easy);
    curl_slist_free_all(request->headers);
    *request = (struct fct_request){0};
}

/* ---- the answer ---- */

long fct_request_status(const struct fct_request *request) {
    long status = 0;
    curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

int64_t fct_request_length(const struct fct_request *request) {
    curl_off_t length = -1;
    curl_easy_getinfo(request->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    return length;
}

bool fct_request_is_html(const struct fct_request *request) {
    char *type = NULL;
    curl_easy_getinfo(request->easy, CURLINFO_CONTENT_TYPE, &type);
    return type && strncasecmp(type, "text/html", 9) == 0;
}

static bool was_redirected(const struct fct_request *request) {
    long n = 0;
    curl_easy_getinfo(request->easy, CURLINFO_REDIRECT_COUNT, &n);
    return n > 0;
}

/* ---- what an ending means ---- */

static void tell_unauthorized(const struct fct_http *http, const char *what, fct_error *err) {
    if (!http->page)
        fct_fail(err, FCT_ERR_IO, "%s: the server wants a login (401)", what);
    else if (http->token)
        fct_fail(err, FCT_ERR_IO,
                 "%s: the server does not accept the token (401): make a new one on the hub's page "
                 "settings/tokens and put it into HF_TOKEN",
                 what);
    else
        fct_fail(err, FCT_ERR_IO,
                 "%s: the server wants a token (401): if %s is the right name, make a token on the "
                 "hub's page settings/tokens and put it into HF_TOKEN",
                 what, http->page);
}

static void tell_forbidden(const struct fct_http *http, const char *what, fct_error *err) {
    if (http->page)
        fct_fail(err, FCT_ERR_IO, "%s: access is refused (403): accept the licence at %s%s", what,
                 http->page,
                 http->token
                     ? " with the account that the token belongs to, and see that the token "
                       "may read gated repositories"
                     : ", and put a token of that account into HF_TOKEN");
    else
        fct_fail(err, FCT_ERR_IO, "%s: the server refuses access (403)", what);
}

static void tell_status(const struct fct_http *http, const struct fct_request *request, long status,
                        const char *what, fct_error *err) {
    const char *code = request->reply.error_code; /* of the hub: GatedRepo, RepoNotFound ... */
    if (status == 401 && http->page && strcmp(code, "GatedRepo") == 0)
        tell_forbidden(http, what, err);
    else if (status == 401)
        tell_unauthorized(http, what, err);
    else if (status == 403)
        tell_forbidden(http, what, err);
    else if (status == 404 && http->page)
        fct_fail(err, FCT_ERR_IO,
                 "%s: not found (404%s%s): check the spelling of %s and of --revision; a private "
                 "repository wants a token in HF_TOKEN",
                 what, *code ? ", " : "", code, http->page);
    else if (status == 404)
        fct_fail(err, FCT_ERR_IO, "%s: not found (404)", what);
    else if (status == 429)
        fct_fail(err, FCT_ERR_IO, "%s: the server has too many requests (429)", what);
    else
        fct_fail(err, FCT_ERR_IO, "%s: the server answers with status %ld", what, status);
}

static bool may_pass(const struct fct_request *request, long status) {
    if (status == 408 || status == 429 || status >= 500) return true;
    return status == 403 && was_redirected(request); /* a signed address that is too old */
}

static bool is_lasting(CURLcode code) {
    switch (code) {
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_OUT_OF_MEMORY:
    case CURLE_TOO_MANY_REDIRECTS:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_ABORTED_BY_CALLBACK:
    case CURLE_WRITE_ERROR:
        return true;
    default:
        return false;
    }
}

enum fct_ending fct_request_judge(const struct fct_http *http, struct fct_request *request,
                                  CURLcode code, const char *what, fct_error *err) {
    long status = fct_request_status(request);
    curl_off_t pause = 0;
    if (code != CURLE_OK) {
        const char *told = request->error[0] ? request->error : curl_easy_strerror(code);
        fct_fail(err, FCT_ERR_IO, "%s: %s", what, told);
        return is_lasting(code) ? FCT_ENDING_FATAL : FCT_ENDING_AGAIN;
    }
    if (status == 200 || status == 206) return FCT_ENDING_GOOD;
    tell_status(http, request, status, what, err);
    if (!may_pass(request, status)) return FCT_ENDING_FATAL;
    curl_easy_getinfo(request->easy, CURLINFO_RETRY_AFTER, &pause);
    if ((double)pause <= LONGEST_PAUSE) return FCT_ENDING_AGAIN;
    fct_fail(err, FCT_ERR_IO, "%s: the server (%ld) wants us to come back in %lld seconds", what,
             status, (long long)pause);
    return FCT_ENDING_FATAL;
}

double fct_request_wait(const struct fct_http *http, const struct fct_request *request,
                        int n_failures) {
    double wait = http->retry_seconds;
    curl_off_t pause = 0;
    curl_easy_getinfo(request->easy, CURLINFO_RETRY_AFTER, &pause);
    for (int i = 1; i < n_failures && wait < LONGEST_WAIT; i++) wait *= 2;
    if (wait > LONGEST_WAIT) wait = LONGEST_WAIT;
    return (double)pause > wait ? (double)pause : wait;
}

/* ---- addresses ---- */

char *fct_url_join(const char *base, const char *path, bool keep_slashes, fct_error *err) {
    struct fct_text url = {0};
    fct_text_puts(&url, base);
    for (const char *at = path; *at; at++) {
        unsigned char c = (unsigned char)*at;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     strchr("-._~", c) || (c == '/' && keep_slashes);
        if (plain)
            fct_text_add(&url, at, 1);
        else
            fct_text_printf(&url, "%%%02X", c);
    }
    return fct_text_finish(&url, NULL, err);
}
