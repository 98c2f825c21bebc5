/* rounds.h - for tests that repeat themselves with other numbers: how often. All of it in a build
 * for this machine; a part where each round takes some times as long (sanitizers), or some fifty
 * times (an emulator computes floating point in software). */
#ifndef TESTS_ROUNDS_H
#define TESTS_ROUNDS_H

enum {
#if TEST_EMULATED
    ROUNDS_PART = 10
#elif defined __SANITIZE_ADDRESS__
    ROUNDS_PART = 3
#else
    ROUNDS_PART = 1
#endif
};

/* That part of n, rounded up: a constant. */
#define ROUNDS(n) (((n) + ROUNDS_PART - 1) / ROUNDS_PART)

#endif
