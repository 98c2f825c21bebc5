/* memory.c - checked allocation. */
#include "base/memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"

enum { HUGE_PAGE = 2 << 20 };

static _Atomic uint64_t n_allocations;

static void count(void) { atomic_fetch_add_explicit(&n_allocations, 1, memory_order_relaxed); }
uint64_t fct_allocation_count(void) {
    return atomic_load_explicit(&n_allocations, memory_order_relaxed);
}

void fct_free(void *memory) { free(memory); }

void *fct_new_array(size_t n, size_t bytes_each, fct_error *err) {
    size_t bytes;
    void *memory = NULL;
    if (fct_mul(n, bytes_each, &bytes) && bytes < PTRDIFF_MAX) {
        count();
        memory = calloc(1, bytes ? bytes : 1);
    }
    if (memory) return memory;
    return fct_fail_null(err, FCT_ERR_MEMORY, "no memory for %zu x %zu bytes", n, bytes_each);
}

void *fct_new(size_t bytes, fct_error *err) { return fct_new_array(1, bytes, err); }

fct_status fct_grow(void **array, size_t *capacity, size_t n, size_t bytes_each, fct_error *err) {
    if (n <= *capacity && *array) return FCT_OK;
    size_t wanted = *capacity < 8 ? 8 : *capacity, bytes;
    while (wanted < n && wanted <= SIZE_MAX / 2) wanted *= 2;
    if (wanted < n) wanted = n;
    void *larger = NULL;
    if (fct_mul(wanted, bytes_each ? bytes_each : 1, &bytes) && bytes < PTRDIFF_MAX) {
        count();
        larger = realloc(*array, bytes);
    }
    if (!larger)
        return fct_fail(err, FCT_ERR_MEMORY, "no memory for %zu x %zu bytes", wanted, bytes_each);
    *array = larger;
    *capacity = wanted;
    return FCT_OK;
}

char *fct_copy_text(const char *text, size_t n_bytes, fct_error *err) {
    char *copy = n_bytes < SIZE_MAX ? fct_new(n_bytes + 1, err)
                                    : fct_fail_null(err, FCT_ERR_MEMORY, "no memory for a text");
    if (copy && n_bytes) memcpy(copy, text, n_bytes);
    return copy;
}

/* What is really mapped for a request: whole pages, and whole 2 MiB pages if it is that large. 0:
 * too much. */
static size_t mapped_bytes(size_t bytes) {
    size_t unit = bytes >= HUGE_PAGE ? HUGE_PAGE : (size_t)sysconf(_SC_PAGESIZE);
    if (bytes == 0) return unit;
    return bytes <= SIZE_MAX - 2 * unit ? fct_round_up(bytes, unit) : 0;
}

void *fct_pages_new(size_t bytes, fct_error *err) {
    size_t size = mapped_bytes(bytes);
    /* The kernel aligns to its own pages only: map 2 MiB more and give back what lies around. */
    size_t extra = size >= HUGE_PAGE ? HUGE_PAGE : 0;
    count();
    uint8_t *memory = size ? mmap(NULL, size + extra, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                           : MAP_FAILED;
    if (memory == MAP_FAILED)
        return fct_fail_null(err, FCT_ERR_MEMORY, "no memory for %zu bytes of pages", bytes);
    if (extra) {
        size_t before = (HUGE_PAGE - (uintptr_t)memory % HUGE_PAGE) % HUGE_PAGE;
        if (before) munmap(memory, before);
        memory += before;
        if (extra > before) munmap(memory + size, extra - before);
        madvise(memory, size, MADV_HUGEPAGE); /* a wish: small pages are right too, only slower */
    }
    return memory;
}

void fct_pages_free(void *pages, size_t bytes) {
    if (pages) munmap(pages, mapped_bytes(bytes));
}

bool fct_pages_lay_over(void *at, void *pages, size_t bytes) {
    return mprotect(pages, bytes, PROT_READ) == 0 &&
           mremap(pages, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) != MAP_FAILED;
}
