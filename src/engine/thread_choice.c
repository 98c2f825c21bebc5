/* thread_choice.c - how many threads decode fastest on this machine: found out while decoding. */
#include "engine/thread_choice.h"

enum { TRIALS_EACH = 3 };
/* Fewer threads must be clearly faster to be preferred: a trial can be unlucky. */
static const double margin = 0.97;

void fct_thread_choice_init(struct fct_thread_choice *choice, int most_threads) {
    *choice = (struct fct_thread_choice){.n_candidates = 0};
    for (int quarters = 4; quarters >= 1; quarters--) {
        int n = most_threads * quarters / 4, last = choice->n_candidates - 1;
        if (n < 1 || (last >= 0 && choice->candidates[last] == n)) continue;
        choice->candidates[choice->n_candidates++] = n;
    }
    if (choice->n_candidates == 1) choice->chosen = choice->candidates[0];
}

int fct_thread_choice_next(const struct fct_thread_choice *choice) {
    return choice->chosen ? choice->chosen : choice->candidates[choice->trials / TRIALS_EACH];
}

bool fct_thread_choice_found(const struct fct_thread_choice *choice) {
    return choice->chosen && choice->trials >= TRIALS_EACH * choice->n_candidates;
}

void fct_thread_choice_note(struct fct_thread_choice *choice, double seconds) {
    if (choice->chosen) return;
    double *best = &choice->best_seconds[choice->trials / TRIALS_EACH];
    if (choice->trials % TRIALS_EACH == 0 || seconds < *best) *best = seconds;
    if (++choice->trials < TRIALS_EACH * choice->n_candidates) return;
    int fastest = 0;
    for (int i = 1; i < choice->n_candidates; i++)
        if (choice->best_seconds[i] < choice->best_seconds[fastest] * margin) fastest = i;
    choice->chosen = choice->candidates[fastest];
}
