/* small_request.c - listings and lengths: small answers, asked for again until they come. */
#include <stdio.h>
#include <time.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/threads.h"
#include "fetch/request.h"

/* A body while it arrives. */
struct body {
    const struct fct_request *request;
    struct fct_text text;
    size_t limit;
    bool too_long;
};

static size_t take_body(char *bytes, size_t one, size_t n_bytes, void *user) {
    struct body *body = user;
    long status = fct_request_status(body->request);
    (void)one;
    if (status != 200) return n_bytes; /* an explanation that nobody reads */
    body->too_long = n_bytes > body->limit - body->text.size;
    if (body->too_long) return 0;
    fct_text_add(&body->text, bytes, n_bytes);
    return body->text.failed ? 0 : n_bytes;
}

static int watch(void *user, curl_off_t total, curl_off_t done, curl_off_t up_total,
                 curl_off_t up) {
    (void)total, (void)done, (void)up_total, (void)up;
    return fct_http_cancelled(user);
}

/* Sleeps, a tenth of a second at a time; false once the person wants to stop. */
static bool sleep_for(const struct fct_http *http, double seconds) {
    double end = fct_seconds() + seconds;
    while (fct_seconds() < end) {
        if (fct_http_cancelled(http)) return false;
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    return !fct_http_cancelled(http);
}

static fct_status prepare(struct fct_request *request, const struct fct_http *http, const char *url,
                          struct body *body, fct_error *err) {
    fct_status status = fct_request_open(request, http, url, err);
    if (status) return status;
    fct_request_ready(request);
    curl_easy_setopt(request->easy, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(request->easy, CURLOPT_XFERINFOFUNCTION, watch);
    curl_easy_setopt(request->easy, CURLOPT_XFERINFODATA, (void *)http);
    if (body) {
        body->request = request;
        curl_easy_setopt(request->easy, CURLOPT_WRITEFUNCTION, take_body);
        curl_easy_setopt(request->easy, CURLOPT_WRITEDATA, body);
    } else {
        curl_easy_setopt(request->easy, CURLOPT_NOBODY, 1L);
    }
    return FCT_OK;
}

static enum fct_ending judge(const struct fct_http *http, struct fct_request *request,
                             CURLcode code, const char *url, const struct body *body,
                             fct_error *err) {
    if (code == CURLE_ABORTED_BY_CALLBACK)
        return fct_fail(err, FCT_ERR_CANCELLED, "%s: stopped", url), FCT_ENDING_FATAL;
    if (body && body->too_long)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: more than %zu bytes; that is no listing", url,
                        body->limit),
               FCT_ENDING_FATAL;
    if (body && body->text.failed)
        return fct_fail(err, FCT_ERR_MEMORY, "%s: no memory for it", url), FCT_ENDING_FATAL;
    enum fct_ending ending = fct_request_judge(http, request, code, url, err);
    if (ending == FCT_ENDING_GOOD && body && fct_request_is_html(request))
        return fct_fail(err, FCT_ERR_FORMAT,
                        "%s: is an HTML page, not a listing; is this the right address, and no "
                        "login page in between?",
                        url),
               FCT_ENDING_FATAL;
    return ending;
}

/* A person who waits is told what for. */
static void tell_wait(const struct fct_http *http, const char *why, double seconds) {
    char line[1200];
    snprintf(line, sizeof line, "%s; again in %.0f s", why, seconds);
    if (http->note) http->note(http->user, line);
}

/* Sends until it goes well, or cannot. The request stays open for its answer to be read. */
static fct_status perform(struct fct_request *request, const struct fct_http *http, const char *url,
                          struct body *body, long *status, fct_error *err) {
    for (int n_failures = 0;;) {
        fct_error why = {0};
        if (body) body->text.size = 0;
        fct_request_close(request);
        if (prepare(request, http, url, body, err)) return FCT_ERR_MEMORY;
        CURLcode code = curl_easy_perform(request->easy);
        enum fct_ending ending = judge(http, request, code, url, body, &why);
        if (status) *status = fct_request_status(request);
        if (ending == FCT_ENDING_GOOD) return FCT_OK;
        if (ending == FCT_ENDING_FATAL) return fct_fail(err, why.code, "%s", why.message);
        if (++n_failures > http->retries)
            return fct_fail(err, why.code, "%s; tried %d times", why.message, n_failures);
        double wait = fct_request_wait(http, request, n_failures);
        tell_wait(http, why.message, wait);
        if (!sleep_for(http, wait)) return fct_fail(err, FCT_ERR_CANCELLED, "%s: stopped", url);
    }
}

char *fct_http_get(const struct fct_http *http, const char *url, size_t limit, size_t *n_bytes,
                   struct fct_reply *reply, long *status, fct_error *err) {
    struct fct_request request = {0};
    struct body body = {.limit = limit};
    char *text = NULL;
    if (status) *status = 0;
    fct_status sent = perform(&request, http, url, &body, status, err);
    if (!sent && reply) *reply = request.reply;
    fct_request_close(&request);
    if (!sent) text = fct_text_finish(&body.text, n_bytes, err);
    fct_text_free(&body.text);
    return text;
}

fct_status fct_http_length(const struct fct_http *http, const char *url, uint64_t *length,
                           fct_error *err) {
    struct fct_request request = {0};
    fct_status status = perform(&request, http, url, NULL, NULL, err);
    int64_t said = status ? -1 : fct_request_length(&request);
    bool html = !status && fct_request_is_html(&request);
    fct_request_close(&request);
    if (status) return status;
    if (html)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: is an HTML page, not a file of a model", url);
    if (said < 0)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: the server does not say how long it is", url);
    *length = (uint64_t)said;
    return FCT_OK;
}
