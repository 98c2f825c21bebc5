/* machine.h - what this machine has to give: memory, and pages of which size. */
#ifndef FCT_BASE_MACHINE_H
#define FCT_BASE_MACHINE_H

#include "facet.h"

enum { FCT_HUGE_PAGE = 2 << 20 };

/* Memory in bytes; 0: unknown, or none. */
struct fct_memory_state {
    uint64_t total;
    /* what can be had without swapping: MemAvailable, or what the control groups leave if that is
     * less (bound_by_group) */
    uint64_t available;
    bool bound_by_group;
    uint64_t group_limit; /* the lowest limit of the control groups, if it is below total */
    uint64_t swap_total, swap_free;
};
/* root is "" for this machine, or a folder that stands for its root. */
void fct_memory_read(const char *root, struct fct_memory_state *out);
/* available of this machine. */
uint64_t fct_memory_available(void);

struct fct_page_sizes {
    size_t resident; /* bytes that have a page */
    size_t huge;     /* of these, in huge pages */
};
/* Of the mappings that begin in [start, start + n_bytes), from /proc/self/smaps; false where there
 * is no such file. */
bool fct_page_sizes_of(const void *start, size_t n_bytes, struct fct_page_sizes *out);
/* Is the FCT_HUGE_PAGE bytes long and aligned piece at start mapped as one huge page? -1: this
 * kernel cannot tell (before Linux 6.7). */
int fct_page_is_huge(const void *start);
/* Does this kernel give huge pages of FCT_HUGE_PAGE bytes to those who ask by madvise? */
bool fct_huge_pages_possible(void);

#endif
