/* placement.h - where the hot weights lie in memory: in the file's map, or in huge pages of our
 * own. */
#ifndef FCT_ENGINE_PLACEMENT_H
#define FCT_ENGINE_PLACEMENT_H

#include "facet.h"
#include "pack/reader.h"

/* Small pages cost up to half of the read rate on virtual machines, so the hot part should lie in
 * huge ones. In order:
 *
 * 1. Huge pages are advised before the map is first touched. A file that was written in aligned 2
 * MiB pieces, or is read in under that advice, lies in the page cache in huge pages, and its map is
 * as good as any memory.
 * 2. FCT_MEMORY_AUTO: if a sample shows small pages, the cached file is dropped (nobody else having
 * it mapped) and read in again under the advice, where one piece shows that the kernel then gives
 * huge pages.
 * 3. FCT_MEMORY_AUTO where that is no use and memory allows, and FCT_MEMORY_HUGE always: a thread
 * of the placement moves the weights into anonymous huge pages, 2 MiB at a time, in the order a
 * token meets them, and lays each over the map: the weights keep their address, sessions run
 * meanwhile, and there is never a second copy.
 *
 * The thread also reads the hot part ahead of its use, in order: a cold start is bound by what the
 * disk reads in sequence. So that it stays in order, sessions do not touch what it has not reached
 * (fct_placement_wait). */
typedef struct fct_placement fct_placement;

/* The pack must outlive the placement, and what has moved stays moved as long as the pack lives:
 * one placement a pack, as giving back pages that are no longer the map's would lose what is in
 * them. A pack over memory (the embedded demo) has nothing to place. */
fct_placement *fct_placement_new(const fct_pack *pack, fct_memory memory, fct_error *err);
void fct_placement_free(fct_placement *placement); /* stops the thread */

/* Should the hot part stay in memory? Not if FCT_MEMORY_MAP was asked for. */
bool fct_placement_wants_memory(const fct_placement *placement);

/* How many bytes of the hot part lie in anonymous memory now. Grows, never shrinks. */
size_t fct_placement_moved(const fct_placement *placement);

/* "map", "huge", or "moving" while it is under way; share of the hot bytes in huge pages, -1:
 * unknown. */
const char *fct_placement_name(const fct_placement *placement);
double fct_placement_huge_share(const fct_placement *placement);

/* A row of a lookup table that will be read soon: storage begins to bring the pages that are not in
 * memory, those of several rows at a time, while the caller goes on. */
void fct_placement_expect_row(const fct_placement *placement, const struct fct_table *table,
                              int row);
/* Gives back the pages of the lookup tables: a row is read once, but the kernel maps its
 * surroundings with it. */
void fct_placement_forget_tables(const fct_placement *placement);

/* How many bytes from the start of the hot part have come from storage: all, if they were in memory
 * when the file was opened, or are not read ahead. */
size_t fct_placement_n_read(const fct_placement *placement);
/* Waits until the first n_bytes of the hot part have; false if they have not after so long. */
bool fct_placement_wait(const fct_placement *placement, size_t n_bytes, double seconds);

/* Has the thread done what it will do? */
bool fct_placement_done(const fct_placement *placement);
/* Waits until the thread has done what it will do (for measuring). */
void fct_placement_settle(fct_placement *placement);

#endif
