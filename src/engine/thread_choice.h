/* thread_choice.h - how many threads decode fastest on this machine: found out while decoding. */
#ifndef FCT_ENGINE_THREAD_CHOICE_H
#define FCT_ENGINE_THREAD_CHOICE_H

#include <stdbool.h>

/* Reading weights is bound by memory, and more threads can make it slower (four threads of a
 * Raspberry Pi 5 read less than two). No number of threads changes a bit of the result: so the
 * first tokens of a session are decoded with each candidate in turn, each a few times, and the
 * fastest stays. */
struct fct_thread_choice {
    int candidates[4], n_candidates;
    double best_seconds[4]; /* of a candidate's trials */
    int trials;             /* done so far, of all candidates together */
    int chosen;             /* 0: still trying */
};

/* Candidates are all threads, three quarters, half and a quarter of them; one thread has no
 * choice. */
void fct_thread_choice_init(struct fct_thread_choice *choice, int most_threads);
/* The number to decode the next token with. */
int fct_thread_choice_next(const struct fct_thread_choice *choice);
/* Has one been chosen by trying? */
bool fct_thread_choice_found(const struct fct_thread_choice *choice);
/* A token took so long with the number that fct_thread_choice_next gave. */
void fct_thread_choice_note(struct fct_thread_choice *choice, double seconds);

#endif
