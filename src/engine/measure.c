/* measure.c - what this machine can do: how fast it reads memory, how much this process holds. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/machine.h"
#include "base/memory.h"
#include "base/threads.h"
#include "facet.h"

enum {
    PIECE = 1 << 16,
    PASSES = 3,
    AHEAD = 4096 / sizeof(uint64_t),
    MOST_BYTES = 512 << 20,
    LEAST_BYTES = 64 << 20 /* many times the caches of small machines */
};

struct reading {
    const uint8_t *memory;
    size_t n_bytes;
    uint64_t sums[256]; /* what was read is used, or the compiler would not read it */
};

/* Reads the member's part once, as two streams side by side, the way the kernels read weights. */
static void read_part(void *user, struct fct_team team) {
    struct reading *r = user;
    int begin, end;
    fct_team_share(team, (int)(r->n_bytes / PIECE), 2, &begin, &end);
    size_t half = (size_t)(end - begin) / 2 * PIECE / sizeof(uint64_t);
    const uint64_t *low = (const uint64_t *)(const void *)(r->memory + (size_t)begin * PIECE);
    const uint64_t *high = low + half;
    uint64_t sums[8] = {0};
    for (size_t at = 0; at < half; at += 8) {
        __builtin_prefetch(low + at + AHEAD);
        __builtin_prefetch(high + at + AHEAD);
        for (int i = 0; i < 8; i++) sums[i] += low[at + (size_t)i] ^ high[at + (size_t)i];
    }
    for (int i = 0; i < 8; i++) r->sums[team.index] += sums[i];
}

/* At most a quarter of what is to be had; 0: too little to measure with. */
static size_t bytes_to_read(void) {
    uint64_t available = fct_memory_available();
    size_t n_bytes = MOST_BYTES;
    while (available && n_bytes > available / 4) n_bytes /= 2;
    return n_bytes < LEAST_BYTES ? 0 : n_bytes;
}

double fct_measure_bandwidth(int n_threads) {
    struct reading r = {.n_bytes = bytes_to_read()};
    if (n_threads < 1 || n_threads > 256 || !r.n_bytes) return 0;
    uint8_t *memory = fct_pages_new(r.n_bytes, NULL);
    fct_pool *pool = fct_pool_new(n_threads, NULL);
    double best = 0;
    if (memory && pool) {
        memset(memory, 1, r.n_bytes);
        r.memory = memory;
        for (int i = 0; i < PASSES; i++) {
            double start = fct_seconds();
            fct_pool_run(pool, n_threads, read_part, &r);
            double rate = (double)r.n_bytes / (fct_seconds() - start);
            if (rate > best) best = rate;
        }
    }
    fct_pool_free(pool);
    if (memory) fct_pages_free(memory, r.n_bytes);
    return best;
}

uint64_t fct_peak_resident_bytes(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
}
