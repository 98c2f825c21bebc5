/* placement.c - where the hot weights lie in memory: in the file's map, or in huge pages of our
 * own. */
#include "engine/placement.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/machine.h"
#include "base/memory.h"
#include "base/threads.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

enum {
    TRIALS = 16,    /* pieces read again before it is judged whether that helps */
    TIMED_PIECE = 3 /* behind this one it is judged whether the file was in memory */
};
/* bytes a second: pages that are in memory are mapped faster than that, and storage that is faster
 * needs no care */
static const double memory_rate = 1e9;
static const double huge_enough = 0.9;         /* share of the hot pages */
static const double reread_limit_seconds = 3;  /* so long a file may be read again */
static const uint64_t spare_bytes = 256 << 20; /* moving leaves at least this much to others */

/* Was the hot part in memory when the file was opened? If not, it is read once, in order, before
 * its use. */
enum start { WARM, COLD, UNTOLD };

struct fct_placement {
    fct_memory memory;
    const uint8_t *hot; /* in the map */
    size_t n_bytes;
    int fd;
    off_t file_offset; /* of hot */
    /* what lies behind it in the map, from a page's start: looked up, a row at a time */
    const uint8_t *tables;
    size_t n_table_bytes;
    size_t n_movable; /* whole aligned pieces of the hot part */
    pthread_t thread;
    bool started;
    atomic_int start; /* enum start */
    atomic_bool stop, done;
    atomic_size_t n_read; /* of the hot part, from its start */
    atomic_size_t moved;
    atomic_int per_mille; /* in huge pages; -1: unknown */
};

static uint8_t *piece(const fct_placement *p, size_t at) {
    return (uint8_t *)(uintptr_t)p->hot + at;
}

static size_t piece_bytes(const fct_placement *p, size_t at) {
    return p->n_bytes - at < FCT_HUGE_PAGE ? p->n_bytes - at : FCT_HUGE_PAGE;
}

static void touch(const uint8_t *byte) { (void)*(const volatile uint8_t *)byte; }

/* Share of the resident pages of the map that are huge; 0 where that cannot be known. */
static double mapped_share(const fct_placement *p) {
    struct fct_page_sizes sizes;
    if (!fct_page_sizes_of(p->hot, p->n_bytes, &sizes) || !sizes.resident) return 0;
    return (double)sizes.huge / (double)sizes.resident;
}

/* Advice begins with a whole page. The hot part of a small file may not: the page before holds the
 * end of the header, for which the advice is no worse. */
static int advise(const fct_placement *p, size_t at, size_t n_bytes, int advice) {
    size_t before = (uintptr_t)piece(p, at) % (uintptr_t)sysconf(_SC_PAGESIZE);
    return madvise((uint8_t *)piece(p, at) - before, n_bytes + before, advice);
}

static void give_back(const fct_placement *p, size_t at, size_t n_bytes) {
    advise(p, at, n_bytes, MADV_DONTNEED);
}

static void drop_cached(const fct_placement *p, size_t at, size_t n_bytes) {
    give_back(p, at, n_bytes);
    posix_fadvise(p->fd, p->file_offset + (off_t)at, (off_t)n_bytes, POSIX_FADV_DONTNEED);
}

static size_t first_whole_piece(const fct_placement *p) {
    return (FCT_HUGE_PAGE - (uintptr_t)p->hot % FCT_HUGE_PAGE) % FCT_HUGE_PAGE;
}

/* Where something went wrong the file's bytes have to be there again. */
static void map_again(const fct_placement *p, size_t at) {
    mmap(piece(p, at), FCT_HUGE_PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, p->fd,
         p->file_offset + (off_t)at);
}

/* Reads the hot part in order, ahead of whoever uses it. Whether it was in memory may not have been
 * told: its beginning shows. */
static void read_ahead(fct_placement *p) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    double start = fct_seconds();
    for (size_t at = 0; at < p->n_bytes && !atomic_load(&p->stop); at += FCT_HUGE_PAGE) {
        size_t n = piece_bytes(p, at);
        if (advise(p, at, n, MADV_POPULATE_READ) != 0)
            for (size_t i = 0; i < n; i += page) touch(p->hot + at + i);
        atomic_store_explicit(&p->n_read, at + n, memory_order_release);
        if (at == TIMED_PIECE * FCT_HUGE_PAGE && atomic_load(&p->start) == UNTOLD)
            atomic_store(&p->start,
                         fct_seconds() - start > (double)(at + n) / memory_rate ? COLD : WARM);
    }
}

/* Looks at one page of each piece: half of them missing is a cold start. The kernel tells only who
 * owns the file (or root); to others all of it seems to be there. */
static enum start how_it_starts(const fct_placement *p) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), n_pieces = 0, n_missing = 0;
    struct stat info;
    for (size_t at = 0; at < p->n_bytes; at += FCT_HUGE_PAGE, n_pieces++) {
        unsigned char there = 1;
        uint8_t *middle = piece(p, at + piece_bytes(p, at) / 2);
        n_missing += mincore(middle - (uintptr_t)middle % page, 1, &there) == 0 && !(there & 1);
    }
    if (n_missing * 2 > n_pieces) return COLD;
    bool told = geteuid() == 0 || (fstat(p->fd, &info) == 0 && info.st_uid == geteuid());
    bool shows = p->n_bytes > (TIMED_PIECE + 1) * (size_t)FCT_HUGE_PAGE;
    return told || n_missing || !shows || p->memory == FCT_MEMORY_HUGE ? WARM : UNTOLD;
}

/* Copies a piece at a time into huge pages and lays those over the map, at the same address:
 * whoever reads finds the same bytes before, meanwhile and afterwards, and there are never two
 * copies. */
static void move(fct_placement *p) {
    size_t at = first_whole_piece(p), n_bytes = p->n_movable;
    uint8_t *fresh = fct_pages_new(n_bytes, NULL);
    size_t done = 0;
    for (; fresh && done < n_bytes && !atomic_load(&p->stop); done += FCT_HUGE_PAGE) {
        memcpy(fresh + done, piece(p, at + done), FCT_HUGE_PAGE);
        if (!fct_pages_lay_over(piece(p, at + done), fresh + done, FCT_HUGE_PAGE)) {
            map_again(p, at + done);
            break;
        }
        size_t there = at + done + FCT_HUGE_PAGE; /* reading ahead may have come further */
        if (there > atomic_load(&p->n_read)) atomic_store(&p->n_read, there);
        atomic_store(&p->moved, done + FCT_HUGE_PAGE);
    }
    if (fresh && done < n_bytes) fct_pages_free(fresh + done, n_bytes - done);
}

/* Pieces that came in small pages are dropped from the cache (nobody else having them mapped) and
 * read again under the advice. Stops if that does not give huge pages, or takes too long. */
static void read_small_again(fct_placement *p) {
    size_t n_tried = 0, n_huge = 0;
    double start = fct_seconds();
    for (size_t at = 0; at + FCT_HUGE_PAGE <= p->n_bytes && !atomic_load(&p->stop);
         at += FCT_HUGE_PAGE) {
        int huge = fct_page_is_huge(p->hot + at);
        if (huge < 0) return;
        if (huge) continue;
        drop_cached(p, at, FCT_HUGE_PAGE);
        touch(p->hot + at);
        n_tried++;
        n_huge += fct_page_is_huge(p->hot + at) == 1;
        if ((n_tried >= TRIALS && n_huge < n_tried / 2) ||
            fct_seconds() - start > reread_limit_seconds)
            return;
    }
}

/* More than memory holds would be thrown out again before it is used. */
static bool fits(const fct_placement *p) {
    uint64_t available = fct_memory_available();
    return !available || available > p->n_bytes;
}

static bool should_move(const fct_placement *p) {
    if (p->memory == FCT_MEMORY_HUGE) return true;
    uint64_t available = fct_memory_available();
    return p->memory == FCT_MEMORY_AUTO && mapped_share(p) < huge_enough &&
           available > p->n_bytes + spare_bytes;
}

static void note_share(fct_placement *p) {
    struct fct_page_sizes sizes;
    if (fct_page_sizes_of(p->hot, p->n_bytes, &sizes) && sizes.resident)
        atomic_store(&p->per_mille, (int)(1000.0 * (double)sizes.huge / (double)sizes.resident));
}

static void *work(void *user) {
    fct_placement *p = user;
    bool possible = fct_huge_pages_possible();
    if (p->memory != FCT_MEMORY_HUGE && (atomic_load(&p->start) != COLD || fits(p))) read_ahead(p);
    /* What was just read under the advice would come in the same pages again. */
    if (possible && atomic_load(&p->start) == WARM && p->memory == FCT_MEMORY_AUTO &&
        mapped_share(p) < huge_enough)
        read_small_again(p);
    if (possible && should_move(p) && !atomic_load(&p->stop)) move(p);
    note_share(p);
    atomic_store(&p->done, true);
    return NULL;
}

/* Rows are anywhere in the tables: reading around them would only fill memory. */
static void find_tables(fct_placement *p, const fct_pack *pack) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t begin = fct_round_up((size_t)p->file_offset + p->n_bytes, page),
           end = (size_t)fct_pack_header(pack)->data_end;
    if (begin >= end) return;
    p->tables = p->hot - p->file_offset + begin;
    p->n_table_bytes = end - begin;
    madvise((void *)(uintptr_t)p->tables, p->n_table_bytes, MADV_RANDOM);
}

fct_placement *fct_placement_new(const fct_pack *pack, fct_memory memory, fct_error *err) {
    fct_placement *p = fct_new(sizeof *p, err);
    if (!p) return NULL;
    p->memory = memory;
    p->fd = fct_pack_fd(pack);
    atomic_store(&p->per_mille, -1);
    fct_pack_hot(pack, &p->hot, &p->n_bytes);
    p->file_offset = (off_t)fct_pack_header(pack)->data_start;
    if (p->fd < 0 || p->n_bytes < (size_t)FCT_HUGE_PAGE) return p;
    p->n_movable = (p->n_bytes - first_whole_piece(p)) / FCT_HUGE_PAGE * FCT_HUGE_PAGE;
    find_tables(p, pack);
    atomic_store(&p->start, how_it_starts(p));
    /* The advice comes before the first touch, or it comes too late. */
    advise(p, 0, p->n_bytes, MADV_HUGEPAGE);
    p->started = pthread_create(&p->thread, NULL, work, p) == 0;
    return p;
}

void fct_placement_settle(fct_placement *p) {
    if (p->started) pthread_join(p->thread, NULL);
    p->started = false;
}

void fct_placement_free(fct_placement *p) {
    if (!p) return;
    atomic_store(&p->stop, true);
    fct_placement_settle(p);
    free(p);
}

bool fct_placement_wants_memory(const fct_placement *p) { return p->memory != FCT_MEMORY_MAP; }

size_t fct_placement_moved(const fct_placement *p) { return atomic_load(&p->moved); }

void fct_placement_expect_row(const fct_placement *p, const struct fct_table *table, int row) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE),
           n = fct_table_row_bytes(table->scheme, table->blocks, table->columns);
    const uint8_t *at = table->data + (size_t)row * n;
    if (at < p->tables || at + n > p->tables + p->n_table_bytes) return;
    size_t before = (uintptr_t)at % page;
    madvise((void *)(uintptr_t)(at - before), n + before, MADV_WILLNEED);
}

void fct_placement_forget_tables(const fct_placement *p) {
    if (p->n_table_bytes) madvise((void *)(uintptr_t)p->tables, p->n_table_bytes, MADV_DONTNEED);
}

bool fct_placement_wait(const fct_placement *p, size_t n_bytes, double seconds) {
    const struct timespec step = {.tv_nsec = 2000000};
    double start = fct_seconds();
    while (fct_placement_n_read(p) < n_bytes) {
        if (fct_seconds() - start >= seconds) return false;
        nanosleep(&step, NULL);
    }
    return true;
}

size_t fct_placement_n_read(const fct_placement *p) {
    if (atomic_load(&p->start) == WARM || fct_placement_done(p)) return p->n_bytes;
    return atomic_load_explicit(&p->n_read, memory_order_acquire);
}

bool fct_placement_done(const fct_placement *p) { return !p->started || atomic_load(&p->done); }

const char *fct_placement_name(const fct_placement *p) {
    size_t moved = atomic_load(&p->moved);
    return moved == 0 ? "map" : moved < p->n_movable ? "moving" : "huge";
}

double fct_placement_huge_share(const fct_placement *p) {
    int per_mille = atomic_load(&p->per_mille);
    return per_mille < 0 ? -1 : per_mille / 1000.0;
}
