/* token_mask.h - which tokens keep a text on its way to a value of a schema. */
#ifndef FCT_ENGINE_TOKEN_MASK_H
#define FCT_ENGINE_TOKEN_MASK_H

#include "engine/json_machine.h"
#include "engine/piece_trie.h"

/* The tokens of a vocabulary, prepared: a trie of all, and what they do within a string, where
 * nearly all are good: those that stay in it, and those that close it. */
struct fct_token_table {
    int n_ids, n_words; /* n_words: of a mask of n_ids bits */
    struct fct_piece_trie all, closing;
    uint32_t *inside; /* [n_words]: tokens that, begun between two characters, stay in a string */
    uint8_t *characters; /* [n_ids]: how many characters those begin */
    int most_characters;
};

/* The table of a vocabulary, made when it is first asked for, then shared: threads may ask at the
 * same time. The vocabulary must outlive it. */
typedef struct fct_token_tables fct_token_tables;
fct_token_tables *fct_token_tables_new(const fct_vocabulary *vocabulary, int n_ids, fct_error *err);
void fct_token_tables_free(fct_token_tables *tables);
const struct fct_token_table *fct_token_tables_get(fct_token_tables *tables, fct_error *err);

/* Room for finding out, allocated once. */
struct fct_mask_room {
    struct fct_json_state *states; /* [height + 2] */
    size_t *marks;                 /* [height + 2] */
};
fct_status fct_mask_room_init(struct fct_mask_room *room, const struct fct_token_table *table,
                              fct_error *err);
void fct_mask_room_free(struct fct_mask_room *room);

/* Sets in mask [n_words] a bit for each token whose bytes the state can go on with, and no others.
 */
void fct_token_mask(const struct fct_token_table *table, struct fct_json_machine *machine,
                    const struct fct_json_state *state, struct fct_mask_room *room, uint32_t *mask);

/* What the bytes make of the state; it is left as it was if it cannot go on with them (false). */
bool fct_json_take(struct fct_json_machine *machine, struct fct_json_state *state,
                   struct fct_mask_room *room, const uint8_t *bytes, int n_bytes);

#endif
