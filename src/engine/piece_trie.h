/* piece_trie.h - the bytes of tokens as a tree, in the order of a walk. */
#ifndef FCT_ENGINE_PIECE_TRIE_H
#define FCT_ENGINE_PIECE_TRIE_H

#include "text/vocabulary.h"

enum { FCT_PIECE_BYTES = 255 }; /* of a token; longer ones are left out */

/* The bytes that a token adds to an answer, at most FCT_PIECE_BYTES of them; 0: none (a control
 * token, a slot without a piece), or too many. */
int fct_piece_bytes(const fct_vocabulary *vocabulary, int id, uint8_t bytes[FCT_PIECE_BYTES]);

/* Node i is one byte behind its parent's bytes; the nodes below it are i + 1 .. ends[i] - 1, and
 * the tokens that end at it ids[first[i]] .. ids[first[i + 1] - 1]. 10 bytes a node. */
struct fct_piece_trie {
    uint32_t n_nodes, n_ids;
    uint8_t *bytes, *depths; /* depth 0: the first byte of a token */
    uint32_t *ends, *first;  /* first: [n_nodes + 1] */
    int *ids;
    int height; /* bytes of the longest token */
};

/* A trie of those of the ids below n_ids that `wanted` (NULL: all) has a bit for. On failure
 * nothing is left to be freed. */
fct_status fct_piece_trie_init(struct fct_piece_trie *trie, const fct_vocabulary *vocabulary,
                               int n_ids, const uint32_t *wanted, fct_error *err);
void fct_piece_trie_free(struct fct_piece_trie *trie);

#endif
