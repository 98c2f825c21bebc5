/* request.h - one HTTP request: prepared, answered, judged. */
#ifndef FCT_FETCH_REQUEST_H
#define FCT_FETCH_REQUEST_H

#include <curl/curl.h>

#include "facet.h"

/* What all requests of a fetch share. */
struct fct_http {
    const char
        *token;       /* NULL: none. Goes to the host of the URL only, not where it redirects to. */
    const char *page; /* where a person accepts a licence; NULL: the server is no hub */
    int retries, stall_seconds;
    double retry_seconds;
    bool (*cancelled)(void *user);              /* may be NULL */
    void (*note)(void *user, const char *line); /* may be NULL */
    void *user;
};
bool fct_http_cancelled(const struct fct_http *http);

/* Headers of the last answer, behind redirects; "" what was not there, or was longer. */
struct fct_reply {
    char etag[160], content_range[96], error_code[48], link[2048];
};

struct fct_request {
    CURL *easy;
    struct curl_slist *headers;
    struct fct_reply reply;
    char error[CURL_ERROR_SIZE];
};

/* Follows redirects to HTTP and HTTPS, from HTTPS to HTTPS only. Headers that are added to
 * request->headers go out when fct_request_ready is called. */
fct_status fct_request_open(struct fct_request *request, const struct fct_http *http,
                            const char *url, fct_error *err);
fct_status fct_request_header(struct fct_request *request, const char *line, fct_error *err);
void fct_request_ready(struct fct_request *request);
void fct_request_close(struct fct_request *request); /* a zeroed one is fine */

long fct_request_status(const struct fct_request *request); /* 200, 404 ..., 0: no answer */
/* Content-Length; -1: not said */
int64_t fct_request_length(const struct fct_request *request);
bool fct_request_is_html(const struct fct_request *request); /* by its Content-Type */

/* How it ended. AGAIN: it may go better later; *err says what was wrong, naming `what`. */
enum fct_ending { FCT_ENDING_GOOD, FCT_ENDING_AGAIN, FCT_ENDING_FATAL };
enum fct_ending fct_request_judge(const struct fct_http *http, struct fct_request *request,
                                  CURLcode code, const char *what, fct_error *err);

/* Seconds to wait before the repetition number n_failures (from 1), and longer if the server says
 * so. */
double fct_request_wait(const struct fct_http *http, const struct fct_request *request,
                        int n_failures);

/* GET of something small, with repetitions: *text (NUL-terminated, the caller's) or an error;
 * *status (may be NULL) gets the last answer's. reply (may be NULL): its headers. A text above
 * limit bytes, or HTML, is refused. */
char *fct_http_get(const struct fct_http *http, const char *url, size_t limit, size_t *n_bytes,
                   struct fct_reply *reply, long *status, fct_error *err);

/* HEAD: the length of what is there. */
fct_status fct_http_length(const struct fct_http *http, const char *url, uint64_t *length,
                           fct_error *err);

/* base with path behind it, what is special in a URL escaped; slashes stay if keep_slashes. The
 * caller frees. */
char *fct_url_join(const char *base, const char *path, bool keep_slashes, fct_error *err);

#endif
