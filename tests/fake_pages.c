/* fake_pages.c - a library to preload: the kernel's pages are $FAKE_PAGES bytes large.
 *
 * What such a kernel would refuse is refused, and told in the file $FAKE_PAGES_LOG, which also says
 * that the library was there. Lengths are rounded up as the kernel does it, so that a wrong one
 * hits the neighbours. Calls from inside the C library are its own business and pass by. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_bytes(void) {
    const char *text = getenv("FAKE_PAGES");
    return text ? (size_t)strtoul(text, NULL, 10) : 4096;
}

__attribute__((format(printf, 1, 2))) static void log_line(const char *format, ...) {
    const char *path = getenv("FAKE_PAGES_LOG");
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (fd < 0 || write(fd, line, (size_t)n) != n) abort();
    close(fd);
}

__attribute__((constructor)) static void begin(void) {
    log_line("pages of %ld bytes\n", sysconf(_SC_PAGESIZE));
}

static void *real(const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    if (!function) abort();
    return function;
}

static size_t round_up(size_t n) { return (n + page_bytes() - 1) / page_bytes() * page_bytes(); }

/* Is value a multiple of the page? If not, that is told and errno set. */
static int is_aligned(const char *call, const char *what, uint64_t value) {
    if (value % page_bytes() == 0) return 1;
    log_line("REFUSED: %s, %s %#llx\n", call, what, (unsigned long long)value);
    errno = EINVAL;
    return 0;
}

long sysconf(int name) {
    if (name == _SC_PAGESIZE) return (long)page_bytes();
    return ((long (*)(int))real("sysconf"))(name);
}

int getpagesize(void) { return (int)page_bytes(); }

typedef void *map_function(void *, size_t, int, int, int, off_t);

/* Finds a place that begins with such a page. */
static void *place(size_t n_bytes) {
    map_function *map = (map_function *)real("mmap");
    size_t page = page_bytes(), room = round_up(n_bytes) + page;
    uint8_t *start = map(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) return NULL;
    uint8_t *aligned = start + (page - (uintptr_t)start % page) % page;
    int (*unmap)(void *, size_t) = (int (*)(void *, size_t))real("munmap");
    if (aligned > start) unmap(start, (size_t)(aligned - start));
    unmap(aligned + round_up(n_bytes), room - round_up(n_bytes) - (size_t)(aligned - start));
    return aligned;
}

void *mmap(void *address, size_t n_bytes, int protection, int flags, int fd, off_t offset) {
    map_function *map = (map_function *)real("mmap");
    if (!is_aligned("mmap", "offset", (uint64_t)offset)) return MAP_FAILED;
    if ((flags & MAP_FIXED) && !is_aligned("mmap", "address", (uintptr_t)address))
        return MAP_FAILED;
    if (!(flags & MAP_FIXED)) address = n_bytes ? place(n_bytes) : NULL;
    if (address) flags |= MAP_FIXED;
    return map(address, n_bytes, protection, flags, fd, offset);
}

void *mmap64(void *address, size_t n_bytes, int protection, int flags, int fd, off_t offset) {
    return mmap(address, n_bytes, protection, flags, fd, offset);
}

int munmap(void *address, size_t n_bytes) {
    if (!is_aligned("munmap", "address", (uintptr_t)address)) return -1;
    return ((int (*)(void *, size_t))real("munmap"))(address, round_up(n_bytes));
}

int mprotect(void *address, size_t n_bytes, int protection) {
    if (!is_aligned("mprotect", "address", (uintptr_t)address)) return -1;
    return ((int (*)(void *, size_t, int))real("mprotect"))(address, round_up(n_bytes), protection);
}

int madvise(void *address, size_t n_bytes, int advice) {
    if (!is_aligned("madvise", "address", (uintptr_t)address)) return -1;
    return ((int (*)(void *, size_t, int))real("madvise"))(address, round_up(n_bytes), advice);
}
