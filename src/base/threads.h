/* threads.h - a pool of threads that run one function together and meet at barriers. */
#ifndef FCT_BASE_THREADS_H
#define FCT_BASE_THREADS_H

#include "facet.h"

typedef struct fct_pool fct_pool;

/* n_threads >= 1, the caller's own included. */
fct_pool *fct_pool_new(int n_threads, fct_error *err);
void fct_pool_free(fct_pool *pool);
int fct_pool_size(const fct_pool *pool);

/* One member of a team that runs a function together. */
struct fct_team {
    fct_pool *pool;
    int index, size; /* this member's number, and of how many */
};
/* Runs fn(user, team) on the first n_threads members of the pool, the caller among them as member
 * 0, and returns when all are done. Waiting spins briefly, then sleeps. */
void fct_pool_run(fct_pool *pool, int n_threads, void (*fn)(void *user, struct fct_team team),
                  void *user);
/* Returns when every member of the team has come here. Memory written before is visible to all
 * after. */
void fct_team_wait(struct fct_team team);

/* The part [*begin, *end) of n items that belongs to this member: contiguous, in member order,
 * split at multiples of `grain`. */
void fct_team_share(struct fct_team team, int n, int grain, int *begin, int *end);

/* CPUs this process may use: affinity and the cgroup's quota counted (at least 1). */
int fct_cpu_count(void);
double fct_seconds(void); /* monotonic clock */

#endif
