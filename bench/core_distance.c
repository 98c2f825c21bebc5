/* core_distance.c - how far two CPUs are from each other, and how fast both read memory together.
 *
 *     cc -O3 -march=native -pthread bench/core_distance.c -o /tmp/core_distance
 *     /tmp/core_distance 60
 *
 * Prints a line a round: nanoseconds for a word to go to the other thread and back, and GB/s that
 * two threads read, each its own half of 512 MB in 2 MiB pages. On a server whose cores come in
 * groups with a link to memory each, a virtual machine's two CPUs are in one group or in two, and
 * its host changes that while a program runs: near CPUs share a link. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { EXCHANGES = 20000, PASSES = 8, LINE = 128, AHEAD = 4096 };
static const size_t n_bytes = (size_t)512 << 20;

static _Alignas(LINE) _Atomic int word;
static _Alignas(LINE) _Atomic int round_at; /* 2i + 1: exchange, 2i + 2: read; -1: the end */
static _Alignas(LINE) _Atomic int done;
static uint8_t *memory;
static volatile uint64_t kept; /* what was read is used, or the compiler would not read it */

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* As two streams, the way facet's kernels read weights. */
static uint64_t read_half(const uint8_t *half) {
    const uint64_t *low = (const uint64_t *)(const void *)half, *high = low + n_bytes / 32;
    uint64_t sums[8] = {0};
    for (size_t at = 0; at < n_bytes / 32; at += 8) {
        __builtin_prefetch((const uint8_t *)(low + at) + AHEAD);
        __builtin_prefetch((const uint8_t *)(high + at) + AHEAD);
        for (size_t i = 0; i < 8; i++) sums[i] += low[at + i] ^ high[at + i];
    }
    uint64_t sum = 0;
    for (int i = 0; i < 8; i++) sum += sums[i];
    return sum;
}

static void exchange(int mine) {
    for (int i = 0; i < EXCHANGES; i++) {
        while (atomic_load_explicit(&word, memory_order_acquire) != 2 * i + mine) continue;
        atomic_store_explicit(&word, 2 * i + mine + 1, memory_order_release);
    }
}

static void *other(void *unused) {
    for (int seen = 0;;) {
        int now;
        while ((now = atomic_load(&round_at)) == seen) continue;
        if (now < 0) return unused;
        seen = now;
        if (now % 2)
            exchange(1);
        else
            for (int i = 0; i < PASSES; i++) kept += read_half(memory + n_bytes / 2);
        atomic_store(&done, now);
    }
}

static void start(int now) {
    atomic_store(&word, 0);
    atomic_store(&round_at, now);
}

static void finish(int now) {
    while (atomic_load(&done) != now) continue;
}

int main(int argc, char **argv) {
    int n_rounds = argc > 1 ? atoi(argv[1]) : 20;
    pthread_t thread;
    memory = aligned_alloc((size_t)2 << 20, n_bytes);
    if (!memory) return 1;
    madvise(memory, n_bytes, MADV_HUGEPAGE);
    memset(memory, 1, n_bytes);
    if (pthread_create(&thread, NULL, other, NULL)) return 1;
    for (int i = 0; i < n_rounds; i++) {
        double began = seconds();
        start(2 * i + 1);
        exchange(0);
        finish(2 * i + 1);
        double between = seconds();
        start(2 * i + 2);
        for (int pass = 0; pass < PASSES; pass++) kept += read_half(memory);
        finish(2 * i + 2);
        printf("%4.0f ns there and back, %5.1f GB/s\n", (between - began) / EXCHANGES * 1e9,
               PASSES * (double)n_bytes / (seconds() - between) * 1e-9);
        fflush(stdout);
        nanosleep(&(struct timespec){0, 200000000}, NULL);
    }
    atomic_store(&round_at, -1);
    pthread_join(thread, NULL);
    free(memory);
    return 0;
}
