/* known_threads.h - how many threads answer fastest on this machine, as earlier runs found out. */
#ifndef FCT_CLI_KNOWN_THREADS_H
#define FCT_CLI_KNOWN_THREADS_H

#include "facet.h"

/* A session tries numbers of threads with its first tokens (engine/thread_choice.h). Two runs in a
 * row that find the same one spare later runs the trying: for models that read as many bytes for a
 * token, with the same kernels and as many CPUs. It is kept in facet/threads.json below
 * $XDG_CACHE_HOME (~/.cache), which may be deleted; a file that makes no sense is as good as none.
 */
struct fct_thread_case {
    const char *kernels;
    int n_cpus;
    uint64_t bytes_per_token;
};

/* The number that is known, or 0. */
int fct_known_threads(const struct fct_thread_case *at);
/* A run found this number. Where it cannot be kept it is not. */
void fct_known_threads_note(const struct fct_thread_case *at, int n_threads);

/* The same for a model: options that leave the number open take the known one... */
void fct_known_threads_use(const fct_model *model, fct_session_options *options);
/* ... and what a session found by trying is kept. session may be NULL. */
void fct_known_threads_keep(const fct_model *model, const fct_session *session);

#endif
