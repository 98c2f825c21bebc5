/* session.h - a conversation's state: its ids, their keys and values, and the room to compute in.
 */
#ifndef FCT_ENGINE_SESSION_H
#define FCT_ENGINE_SESSION_H

#include "engine/model.h"
#include "engine/sampler.h"
#include "engine/thread_choice.h"
#include "transformer/forward.h"
#include "transformer/kv_snapshot.h"

enum {
    FCT_MARKS = 8,         /* places in a conversation that a session can cheaply go back to */
    FCT_ROWS_AT_MOST = 256 /* rows of tables looked up before their pages are given back */
};

struct fct_session {
    const fct_model *model;
    fct_pool *pool;
    struct fct_kv_cache cache;
    struct fct_kv_snapshot marks[FCT_MARKS];
    int next_mark;
    uint8_t *mark_memory;
    size_t mark_bytes; /* of all */
    struct fct_scratch scratch;
    struct fct_sampler sampler;
    int context, batch, decode_threads, prefill_threads; /* decode_threads: at most */
    struct fct_thread_choice choice;
    bool float_activations;
    int *ids;          /* [context]; the first cache.n_tokens of them are in the cache */
    int n_ids;         /* that the caller believes to be held */
    bool logits_valid; /* scratch.logits are those after the last id */
    int best;          /* their argmax */
    int n_reused, n_read;
    int n_looked_up;                   /* table rows since their pages were given back */
    struct fct_statistics *statistics; /* while calibrating; not owned */
};

/* A session as fct_session_new makes it, but without threads and not held against the memory that
 * there is: to be looked at and freed. Address space is reserved, memory not yet taken. */
fct_session *fct_session_reserve(const fct_model *model, const fct_session_options *options,
                                 fct_error *err);
/* FCT_ERR_MEMORY, with the arithmetic, if this machine cannot fill it (memory_needs.c). */
fct_status fct_session_fits(const fct_session *session, fct_error *err);

/* FCT_ERR_ARGUMENT or FCT_ERR_CONTEXT if the session cannot be made to hold these ids. */
fct_status fct_session_check(const fct_session *session, const int *ids, int n_ids, fct_error *err);

/* fct_session_prefill; reading (may be NULL) is asked before each pass, see fct_generate_options.
 */
fct_status fct_session_read(fct_session *session, const int *ids, int n_ids,
                            bool (*reading)(void *user, int n_done, int n_total), void *user,
                            fct_error *err);

/* Scoring, in steps. Empties the session and gives it n_ids to read; */
fct_status fct_session_restart(fct_session *session, const int *ids, int n_ids, fct_error *err);
/* reads the next n (at most batch) of them, and leaves in *pass what fct_forward_logits takes. */
fct_status fct_session_step(fct_session *session, int n, enum fct_wanted wanted,
                            struct fct_pass *pass, fct_error *err);

#endif
