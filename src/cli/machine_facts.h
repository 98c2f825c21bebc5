/* machine_facts.h - which machine this is, for whoever reads a result elsewhere. */
#ifndef FCT_CLI_MACHINE_FACTS_H
#define FCT_CLI_MACHINE_FACTS_H

#include "facet.h"

struct fct_machine_facts {
    char name[128]; /* of the board, else of the CPU; "" if neither is told */
    char kernel[128];
    char architecture[32];
    int n_cpus; /* that this process may use */
    uint64_t memory_bytes;
    long page_bytes;
};
/* root as in sensors.h; CPUs and pages are always this machine's. */
void fct_machine_facts_read(const char *root, struct fct_machine_facts *out);

#endif
