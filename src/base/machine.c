/* machine.c - what this machine has to give: memory, and pages of which size. */
#include "base/machine.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/file.h"

/* The number of kilobytes behind key at the start of a line of text, in bytes; 0 if there is none.
 */
static uint64_t kilobytes(const char *text, const char *key) {
    const char *at = text;
    while ((at = strstr(at, key)) && at != text && at[-1] != '\n') at++;
    return at ? strtoull(at + strlen(key), NULL, 10) * 1024 : 0;
}

/* A file of the system below root; NULL if it cannot be read. The caller frees. */
static char *system_file(const char *root, const char *path) {
    char full[PATH_MAX];
    int n = snprintf(full, sizeof full, "%s%s", root, path);
    return n > 0 && (size_t)n < sizeof full ? fct_file_read(full, 1 << 16, NULL, NULL) : NULL;
}

void fct_memory_read(const char *root, struct fct_memory_state *out) {
    char mount[PATH_MAX];
    *out = (struct fct_memory_state){.total = 0};
    char *text = system_file(root, "/proc/meminfo");
    if (text) {
        out->total = kilobytes(text, "MemTotal:");
        out->available = kilobytes(text, "MemAvailable:");
        out->swap_total = kilobytes(text, "SwapTotal:");
        out->swap_free = kilobytes(text, "SwapFree:");
    }
    fct_free(text);
    char *groups = system_file(root, "/proc/self/cgroup");
    int n = snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
    bool known = groups && n > 0 && (size_t)n < sizeof mount;
    long long limit = known ? fct_cgroup_memory_limit(groups, mount) : -1;
    long long left = known ? fct_cgroup_memory_left(groups, mount) : -1;
    fct_free(groups);
    if (limit >= 0 && (!out->total || (uint64_t)limit < out->total))
        out->group_limit = (uint64_t)limit;
    if (left >= 0 && (!out->available || (uint64_t)left < out->available)) {
        out->available = (uint64_t)left;
        out->bound_by_group = true;
    }
}

uint64_t fct_memory_available(void) {
    struct fct_memory_state state;
    fct_memory_read("", &state);
    return state.available;
}

bool fct_page_sizes_of(const void *start, size_t n_bytes, struct fct_page_sizes *out) {
    char line[512];
    bool inside = false;
    uintptr_t first = (uintptr_t)start, begin, end;
    FILE *file = fopen("/proc/self/smaps", "re");
    *out = (struct fct_page_sizes){0, 0};
    if (!file) return false;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
            inside = begin >= first && begin < first + n_bytes;
        if (!inside) continue;
        out->resident += kilobytes(line, "Rss:");
        out->huge += kilobytes(line, "AnonHugePages:") + kilobytes(line, "FilePmdMapped:") +
                     kilobytes(line, "ShmemPmdMapped:");
    }
    fclose(file);
    return true;
}

/* Of linux/fs.h, which Debian 12's headers do not have yet. */
struct scan_region {
    uint64_t start, end, categories;
};
struct scan_request {
    uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
    uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define SCAN _IOWR('f', 16, struct scan_request)
enum { SCAN_IS_HUGE = 1 << 6 };

int fct_page_is_huge(const void *start) {
    struct scan_region region;
    struct scan_request request = {.size = sizeof request,
                                   .start = (uintptr_t)start,
                                   .end = (uintptr_t)start + FCT_HUGE_PAGE,
                                   .vec = (uintptr_t)&region,
                                   .vec_len = 1,
                                   .category_mask = SCAN_IS_HUGE,
                                   .return_mask = SCAN_IS_HUGE};
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    int n = fd < 0 ? -1 : ioctl(fd, SCAN, &request);
    if (fd >= 0) close(fd);
    return n < 0 ? -1 : n > 0;
}

bool fct_huge_pages_possible(void) {
    char *text = fct_file_read("/sys/kernel/mm/transparent_hugepage/enabled", 4096, NULL, NULL);
    char *size =
        fct_file_read("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", 4096, NULL, NULL);
    bool possible =
        text && !strstr(text, "[never]") && size && strtoull(size, NULL, 10) == FCT_HUGE_PAGE;
    fct_free(text);
    fct_free(size);
    return possible;
}
