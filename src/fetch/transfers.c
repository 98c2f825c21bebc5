/* transfers.c - several connections at once: what is next, what came, what is asked for again. */
#include "fetch/transfers.h"

#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "fetch/transfer.h"

enum { N_CONNECTIONS_LIMIT = 32, N_ATTEMPTS_LIMIT = 1000, POLL_MILLISECONDS = 100 };

struct engine {
    const struct fct_transfers *job;
    CURLM *multi;
    struct fct_transfer *slots; /* [job->n_connections] */
};

/* ---- what is next ---- */

static bool is_done(const struct fct_part *part) {
    return part->finished || fct_part_done(part) == part->file->size;
}

/* A piece that nobody is at and whose file need not wait; NULL: none now. */
static struct fct_part *next_piece(const struct engine *engine, double now, size_t *piece) {
    for (size_t i = 0; i < engine->job->n_parts; i++) {
        struct fct_part *part = &engine->job->parts[i];
        if (part->finished || now < part->not_before) continue;
        for (*piece = 0; *piece < part->n_pieces; ++*piece)
            if (!part->busy[*piece] && part->done[*piece] < fct_part_piece_size(part, *piece))
                return part;
    }
    return NULL;
}

static fct_status start_due(struct engine *engine, fct_error *err) {
    double now = fct_seconds();
    for (int i = 0; i < engine->job->n_connections; i++) {
        struct fct_transfer *slot = &engine->slots[i];
        size_t piece;
        if (slot->part) continue;
        struct fct_part *part = next_piece(engine, now, &piece);
        if (!part) return FCT_OK;
        fct_status status = fct_transfer_start(slot, engine->job->http, part, piece, err);
        if (status) return status;
        if (curl_multi_add_handle(engine->multi, slot->request.easy))
            return fct_fail(err, FCT_ERR_IO, "%s: curl does not take the request", part->url);
    }
    return FCT_OK;
}

/* ---- what came ---- */

/* The next attempt, later; several pieces of a file that fail together are one failure. */
static fct_status try_again(const struct engine *engine, struct fct_part *part,
                            const struct fct_request *request, const fct_error *why,
                            fct_error *err) {
    const struct fct_http *http = engine->job->http;
    double now = fct_seconds();
    uint64_t done = fct_part_done(part);
    char line[1200];
    if (done > part->best) part->n_failures = 0;
    if (done > part->best) part->best = done;
    if (now < part->not_before) return FCT_OK;
    if (++part->n_attempts > N_ATTEMPTS_LIMIT || ++part->n_failures > http->retries)
        return fct_fail(err, why->code, "%s; given up for now: the same command goes on from here",
                        why->message);
    double wait = fct_request_wait(http, request, part->n_failures);
    part->not_before = now + wait;
    snprintf(line, sizeof line, "%s; again in %.0f s", why->message, wait);
    if (engine->job->note) engine->job->note(engine->job->user, line);
    return FCT_OK;
}

static fct_status settle(struct engine *engine, struct fct_transfer *slot, CURLcode code,
                         fct_error *err) {
    fct_error why = {0};
    struct fct_part *part = slot->part;
    switch (fct_transfer_finish(slot, engine->job->http, code, &why)) {
    case FCT_TRANSFER_GOOD:
    case FCT_TRANSFER_STALE:
        return FCT_OK;
    case FCT_TRANSFER_AGAIN:
        return try_again(engine, part, &slot->request, &why, err);
    case FCT_TRANSFER_OTHER: { /* another version than the bytes we have */
        fct_status status = fct_part_reset(part, false, err);
        return status ? status : try_again(engine, part, &slot->request, &why, err);
    }
    case FCT_TRANSFER_FATAL:
        break;
    }
    return fct_fail(err, why.code, "%s", why.message);
}

static fct_status reap(struct engine *engine, bool *any, fct_error *err) {
    int n_left;
    *any = false;
    for (CURLMsg *message; (message = curl_multi_info_read(engine->multi, &n_left));) {
        if (message->msg != CURLMSG_DONE) continue;
        *any = true;
        CURL *easy = message->easy_handle;
        CURLcode code = message->data.result; /* the message goes with its handle */
        struct fct_transfer *slot = NULL;
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&slot);
        curl_multi_remove_handle(engine->multi, easy);
        fct_status status = settle(engine, slot, code, err);
        fct_transfer_close(slot);
        if (status) return status;
    }
    return FCT_OK;
}

/* ---- the loop ---- */

static bool show(const struct fct_transfers *job) {
    uint64_t done = 0, total = 0;
    bool all = true;
    for (size_t i = 0; i < job->n_parts; i++) {
        done += fct_part_done(&job->parts[i]);
        total += job->parts[i].file->size;
        all = all && is_done(&job->parts[i]);
    }
    if (job->progress) job->progress(job->user, "downloading", done, total);
    return all;
}

static fct_status run(struct engine *engine, fct_error *err) {
    while (!show(engine->job)) {
        int n_running;
        bool any;
        if (fct_http_cancelled(engine->job->http))
            return fct_fail(err, FCT_ERR_CANCELLED, "stopped; the same command goes on from here");
        fct_status status = start_due(engine, err);
        if (status) return status;
        if (curl_multi_perform(engine->multi, &n_running))
            return fct_fail(err, FCT_ERR_IO, "curl cannot go on");
        status = reap(engine, &any, err);
        if (status) return status;
        if (!any && curl_multi_poll(engine->multi, NULL, 0, POLL_MILLISECONDS, NULL))
            return fct_fail(err, FCT_ERR_IO, "curl cannot wait");
    }
    return FCT_OK;
}

fct_status fct_transfers_run(const struct fct_transfers *transfers, fct_error *err) {
    struct fct_transfers job = *transfers;
    struct engine engine = {.job = &job};
    fct_status status = FCT_ERR_MEMORY;
    if (job.n_connections < 1) job.n_connections = 1;
    if (job.n_connections > N_CONNECTIONS_LIMIT) job.n_connections = N_CONNECTIONS_LIMIT;
    engine.slots = fct_new_array((size_t)job.n_connections, sizeof *engine.slots, err);
    if (!engine.slots) return FCT_ERR_MEMORY;
    engine.multi = curl_multi_init();
    if (engine.multi)
        status = run(&engine, err);
    else
        fct_fail(err, FCT_ERR_MEMORY, "no memory for transfers");
    for (int i = 0; i < job.n_connections; i++) {
        if (engine.slots[i].part && engine.multi)
            curl_multi_remove_handle(engine.multi, engine.slots[i].request.easy);
        fct_transfer_close(&engine.slots[i]);
    }
    if (engine.multi) curl_multi_cleanup(engine.multi);
    fct_free(engine.slots);
    return status;
}
