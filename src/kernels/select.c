/* select.c - which table of kernels this CPU runs. */
#include "kernels/tables.h"

#include <pthread.h>
#include <string.h>

struct candidate {
    const struct fct_kernels *kernels;
    bool (*runs)(void);
};

static bool always(void) { return true; }

/* Best first. */
static const struct candidate candidates[] = {
    {&fct_kernels_portable, always},
};

enum { N_CANDIDATES = sizeof candidates / sizeof *candidates };

const struct fct_kernels *fct_kernels_select(const char *name) {
    for (int i = 0; i < N_CANDIDATES; i++) {
        if (name && strcmp(name, candidates[i].kernels->name)) continue;
        if (candidates[i].runs()) return candidates[i].kernels;
    }
    return NULL;
}

static const char *names[N_CANDIDATES + 1];
static pthread_once_t names_once = PTHREAD_ONCE_INIT;

static void find_names(void) {
    for (int i = 0, n = 0; i < N_CANDIDATES; i++)
        if (candidates[i].runs()) names[n++] = candidates[i].kernels->name;
}

const char *const *fct_kernels_names(void) {
    pthread_once(&names_once, find_names);
    return names;
}
