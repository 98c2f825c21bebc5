/* threads.c - a pool of threads that run one function together and meet at barriers. */
#include "base/threads.h"

#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

/* How long a waiter spins before it sleeps: about what sleeping and waking cost, so that the wrong
 * choice costs at most double. With more members than CPUs the one waited for may need this very
 * CPU: then there is no point in spinning. */
static const int64_t SPIN_NANOSECONDS = 50000;
enum { SPINS_BETWEEN_CLOCKS = 32 };
enum { LINE = 128 }; /* x86 prefetches lines of 64 bytes in pairs */

/* A word that is waited for. sleepers tells the one who changes it whether a system call is needed.
 */
struct signal {
    _Alignas(LINE) _Atomic uint32_t value;
    _Atomic uint32_t sleepers;
};

/* A thread of the pool, but for the caller's. */
struct worker {
    struct signal runs; /* counts the runs that this worker takes part in */
    fct_pool *pool;
    int index;
    pthread_t thread;
};

struct fct_pool {
    /* Written by the caller between runs only. */
    int n_threads, n_started, n_cpus;
    int n_members; /* of the run */
    void (*fn)(void *user, struct fct_team team);
    void *user;
    bool stop;
    struct worker *workers; /* [n_threads - 1] */

    _Alignas(LINE) _Atomic uint32_t arrived; /* members at the barrier */
    struct signal passed;                    /* counts the barriers that were passed */
    struct signal busy;                      /* workers that have not finished the run */
};

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::
                         : "memory"); /* yield is a no-op on most cores and would hammer the line */
#endif
}

static int64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

double fct_seconds(void) { return (double)nanoseconds() * 1e-9; }

/* Spins until *value is not old any more; false if it still is when the time is over. */
static bool spin_while(_Atomic uint32_t *value, uint32_t old, bool crowded) {
    for (int64_t end = 0;;) {
        for (int i = 0; i < SPINS_BETWEEN_CLOCKS; i++) {
            if (atomic_load_explicit(value, memory_order_acquire) != old) return true;
            relax();
        }
        if (crowded) return false;
        int64_t now = nanoseconds();
        if (!end) end = now + SPIN_NANOSECONDS;
        if (now >= end) return false;
    }
}

/* Returns once the value is not old any more. */
static void wait_while(struct signal *signal, uint32_t old, bool crowded) {
    if (spin_while(&signal->value, old, crowded)) return;
    /* Either the waker sees our count, or futex sees its value: all of these are sequentially
     * consistent. */
    atomic_fetch_add(&signal->sleepers, 1);
    while (atomic_load(&signal->value) == old)
        syscall(SYS_futex, &signal->value, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);
    atomic_fetch_sub(&signal->sleepers, 1);
}

static void wake(struct signal *signal) {
    if (atomic_load(&signal->sleepers) > 0)
        syscall(SYS_futex, &signal->value, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

static bool is_crowded(const fct_pool *pool, int n) { return n > pool->n_cpus; }

static void *work(void *argument) {
    struct worker *worker = argument;
    fct_pool *pool = worker->pool;
    for (uint32_t run = 0;; run++) {
        /* An idle worker does not know how many the next run will have. */
        wait_while(&worker->runs, run, is_crowded(pool, pool->n_threads));
        if (pool->stop) return NULL;
        pool->fn(pool->user, (struct fct_team){pool, worker->index, pool->n_members});
        if (atomic_fetch_sub(&pool->busy.value, 1) == 1) wake(&pool->busy);
    }
}

void fct_team_wait(struct fct_team team) {
    if (team.size == 1) return;
    fct_pool *pool = team.pool;
    /* Read before arriving: afterwards the last one may already have moved it on. */
    uint32_t passed = atomic_load_explicit(&pool->passed.value, memory_order_relaxed);
    uint32_t before = atomic_fetch_add_explicit(&pool->arrived, 1, memory_order_acq_rel);
    if (before + 1 < (uint32_t)team.size) {
        wait_while(&pool->passed, passed, is_crowded(pool, team.size));
        return;
    }
    atomic_store_explicit(&pool->arrived, 0, memory_order_relaxed); /* all others are waiting */
    atomic_store(&pool->passed.value, passed + 1);
    wake(&pool->passed);
}

void fct_pool_run(fct_pool *pool, int n_threads, void (*fn)(void *user, struct fct_team team),
                  void *user) {
    assert(n_threads >= 1 && n_threads <= pool->n_threads);
    if (n_threads == 1) {
        fn(user, (struct fct_team){pool, 0, 1});
        return;
    }
    pool->n_members = n_threads;
    pool->fn = fn;
    pool->user = user;
    atomic_store_explicit(&pool->busy.value, (uint32_t)n_threads - 1, memory_order_relaxed);
    for (int i = 0; i < n_threads - 1; i++) {
        atomic_fetch_add(&pool->workers[i].runs.value, 1);
        wake(&pool->workers[i].runs);
    }
    fn(user, (struct fct_team){pool, 0, n_threads});
    for (uint32_t busy; (busy = atomic_load_explicit(&pool->busy.value, memory_order_acquire)) > 0;)
        wait_while(&pool->busy, busy, is_crowded(pool, n_threads));
}

/* Signals stay with the threads of the program. */
static int start(struct worker *worker) {
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int number = pthread_create(&worker->thread, NULL, work, worker);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return number;
}

fct_pool *fct_pool_new(int n_threads, fct_error *err) {
    if (n_threads < 1 || n_threads > 4096)
        return fct_fail_null(err, FCT_ERR_ARGUMENT, "%d threads are not possible", n_threads);
    fct_pool *pool = aligned_alloc(LINE, fct_round_up(sizeof *pool, LINE));
    struct worker *workers = aligned_alloc(LINE, sizeof *workers * (size_t)n_threads);
    if (!pool || !workers) {
        free(pool);
        free(workers);
        return fct_fail_null(err, FCT_ERR_MEMORY, "no memory for a pool of %d threads", n_threads);
    }
    memset(pool, 0, sizeof *pool);
    memset(workers, 0, sizeof *workers * (size_t)n_threads);
    pool->n_threads = n_threads;
    pool->n_cpus = fct_cpu_count();
    pool->n_members = 1;
    pool->workers = workers;
    for (int i = 0; i < n_threads - 1; i++) {
        workers[i].pool = pool;
        workers[i].index = i + 1;
        int number = start(&workers[i]);
        if (number) {
            fct_fail(err, FCT_ERR_MEMORY, "thread %d of %d could not be started: %s", i + 2,
                     n_threads, strerror(number));
            fct_pool_free(pool);
            return NULL;
        }
        pool->n_started++;
    }
    return pool;
}

void fct_pool_free(fct_pool *pool) {
    if (!pool) return;
    pool->stop = true;
    for (int i = 0; i < pool->n_started; i++) {
        atomic_fetch_add(&pool->workers[i].runs.value, 1);
        wake(&pool->workers[i].runs);
    }
    for (int i = 0; i < pool->n_started; i++) pthread_join(pool->workers[i].thread, NULL);
    free(pool->workers);
    free(pool);
}

int fct_pool_size(const fct_pool *pool) { return pool->n_threads; }

void fct_team_share(struct fct_team team, int n, int grain, int *begin, int *end) {
    int64_t units = ((int64_t)n + grain - 1) / grain;
    int64_t from = units * team.index / team.size * grain;
    int64_t to = units * (team.index + 1) / team.size * grain;
    *begin = (int)(from < n ? from : n);
    *end = (int)(to < n ? to : n);
}

/* The kernel may know more CPUs than a cpu_set_t holds: the set grows until it is large enough. */
static int affinity_count(void) {
    for (int n_cpus = 1024; n_cpus <= 1 << 20; n_cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)n_cpus);
        if (!set) return 0;
        size_t bytes = CPU_ALLOC_SIZE((size_t)n_cpus);
        int count = sched_getaffinity(0, bytes, set) ? 0 : CPU_COUNT_S(bytes, set);
        CPU_FREE(set);
        if (count > 0) return count;
    }
    return 0;
}

int fct_cpu_count(void) {
    int count = affinity_count();
    if (count < 1) count = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (count < 1) count = 1;
    char *groups = fct_file_read("/proc/self/cgroup", 1 << 20, NULL, NULL);
    int quota = groups ? fct_cgroup_cpus(groups, "/sys/fs/cgroup") : 0;
    fct_free(groups);
    return quota && quota < count ? quota : count;
}
