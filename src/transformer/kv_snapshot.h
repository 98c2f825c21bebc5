/* kv_snapshot.h - what the sliding rings held at some point, so that a conversation can be taken up
 * there again. */
#ifndef FCT_TRANSFORMER_KV_SNAPSHOT_H
#define FCT_TRANSFORMER_KV_SNAPSHOT_H

#include "transformer/kv_cache.h"

enum {
    FCT_KV_SLACK = 64
}; /* a snapshot taken at n serves the positions from about n - FCT_KV_SLACK to n */

/* The last positions of every sliding layer; full layers keep all of theirs anyway. */
struct fct_kv_snapshot {
    int n_tokens;    /* the cache held so many; 0: empty */
    int first;       /* the first position that it holds; 0: all */
    uint8_t *memory; /* fct_kv_snapshot_bytes, not owned */
};

/* Room for one snapshot of this cache. */
size_t fct_kv_snapshot_bytes(const struct fct_kv_cache *cache, const struct fct_config *config);
void fct_kv_snapshot_take(struct fct_kv_snapshot *snapshot, const struct fct_kv_cache *cache,
                          const struct fct_config *config);

/* Up to where the cache can be taken back with the snapshot if its first `same` positions are
 * wanted; 0: it does not help. */
int fct_kv_snapshot_serves(const struct fct_kv_snapshot *snapshot, const struct fct_kv_cache *cache,
                           int same);
/* Takes the cache back to n_tokens, which the snapshot serves. Its full layers must not have been
 * overwritten below that. */
void fct_kv_snapshot_restore(const struct fct_kv_snapshot *snapshot, int n_tokens,
                             struct fct_kv_cache *cache, const struct fct_config *config);

#endif
