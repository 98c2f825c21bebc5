/* token_mask.c - which tokens keep a text on its way to a value of a schema. */
#include "engine/token_mask.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static void set_bit(uint32_t *mask, int id) { mask[id / 32] |= 1u << id % 32; }

/* ---- the table ---- */

static void table_free(struct fct_token_table *t) {
    fct_piece_trie_free(&t->all);
    fct_piece_trie_free(&t->closing);
    free(t->inside);
    free(t->characters);
    memset(t, 0, sizeof *t);
}

/* What a token does that comes between two characters of a string without limits. */
static enum fct_string_step within_string(const uint8_t *bytes, int n, int *n_characters) {
    static const struct fct_string_rule anything = {.open = true, .max = INT_MAX};
    struct fct_json_string string = {.part = FCT_STRING_PLAIN};
    enum fct_string_step step = FCT_STRING_GOES_ON;
    for (int i = 0; i < n && step == FCT_STRING_GOES_ON; i++)
        step = fct_json_string_step(&string, &anything, bytes[i]);
    *n_characters = string.n_characters;
    return step;
}

static void sort_by_step(struct fct_token_table *t, const fct_vocabulary *vocabulary,
                         uint32_t *closing) {
    uint8_t bytes[FCT_PIECE_BYTES];
    for (int id = 0; id < t->n_ids; id++) {
        int n_characters, n = fct_piece_bytes(vocabulary, id, bytes);
        enum fct_string_step step = n ? within_string(bytes, n, &n_characters) : FCT_STRING_WRONG;
        if (step == FCT_STRING_CLOSED) set_bit(closing, id);
        if (step != FCT_STRING_GOES_ON) continue;
        set_bit(t->inside, id);
        t->characters[id] = (uint8_t)n_characters;
        if (n_characters > t->most_characters) t->most_characters = n_characters;
    }
}

static fct_status table_init(struct fct_token_table *t, const fct_vocabulary *vocabulary, int n_ids,
                             fct_error *err) {
    memset(t, 0, sizeof *t);
    t->n_ids = n_ids;
    t->n_words = (n_ids + 31) / 32;
    uint32_t *closing = fct_new_array((size_t)t->n_words, sizeof *closing, err);
    t->inside = fct_new_array((size_t)t->n_words, sizeof *t->inside, err);
    t->characters = fct_new_array((size_t)t->n_words * 32, 1, err);
    fct_status status = closing && t->inside && t->characters ? FCT_OK : FCT_ERR_MEMORY;
    if (!status) {
        sort_by_step(t, vocabulary, closing);
        status = fct_piece_trie_init(&t->all, vocabulary, n_ids, NULL, err);
    }
    if (!status) status = fct_piece_trie_init(&t->closing, vocabulary, n_ids, closing, err);
    free(closing);
    if (status) table_free(t);
    return status;
}

struct fct_token_tables {
    pthread_mutex_t lock;
    const fct_vocabulary *vocabulary;
    int n_ids;
    bool ready;
    struct fct_token_table table;
};

fct_token_tables *fct_token_tables_new(const fct_vocabulary *vocabulary, int n_ids,
                                       fct_error *err) {
    fct_token_tables *tables = fct_new(sizeof *tables, err);
    if (!tables) return NULL;
    pthread_mutex_init(&tables->lock, NULL);
    tables->vocabulary = vocabulary;
    tables->n_ids = n_ids;
    return tables;
}

void fct_token_tables_free(fct_token_tables *tables) {
    if (!tables) return;
    table_free(&tables->table);
    pthread_mutex_destroy(&tables->lock);
    free(tables);
}

const struct fct_token_table *fct_token_tables_get(fct_token_tables *tables, fct_error *err) {
    pthread_mutex_lock(&tables->lock);
    if (!tables->ready)
        tables->ready =
            table_init(&tables->table, tables->vocabulary, tables->n_ids, err) == FCT_OK;
    bool ready = tables->ready;
    pthread_mutex_unlock(&tables->lock);
    return ready ? &tables->table : NULL;
}

/* ---- the mask ---- */

fct_status fct_mask_room_init(struct fct_mask_room *room, const struct fct_token_table *table,
                              fct_error *err) {
    size_t n = (size_t)table->all.height + 2;
    room->states = fct_new_array(n, sizeof *room->states, err);
    room->marks = fct_new_array(n, sizeof *room->marks, err);
    if (room->states && room->marks) return FCT_OK;
    fct_mask_room_free(room);
    return FCT_ERR_MEMORY;
}

void fct_mask_room_free(struct fct_mask_room *room) {
    free(room->states);
    free(room->marks);
    room->states = NULL;
    room->marks = NULL;
}

static void copy_state(struct fct_json_state *to, const struct fct_json_state *from) {
    to->n_threads = from->n_threads;
    memcpy(to->threads, from->threads, (size_t)from->n_threads * sizeof *from->threads);
}

/* From room->states[0]: each node goes on from its parent's state; where none is left, nothing
 * below is looked at. Frames made on the way are forgotten on the way back. */
static void walk(const struct fct_piece_trie *trie, struct fct_json_machine *machine,
                 struct fct_mask_room *room, uint32_t *mask) {
    room->marks[0] = machine->n_words;
    for (uint32_t i = 0; i < trie->n_nodes;) {
        int depth = trie->depths[i];
        machine->n_words = room->marks[depth];
        if (!fct_json_step(machine, &room->states[depth], trie->bytes[i],
                           &room->states[depth + 1])) {
            i = trie->ends[i];
            continue;
        }
        room->marks[depth + 1] = machine->n_words;
        for (uint32_t at = trie->first[i]; at < trie->first[i + 1]; at++)
            set_bit(mask, trie->ids[at]);
        i++;
    }
    machine->n_words = room->marks[0];
}

/* Tokens that stay in a string with room for so many more characters. */
static void add_inside(const struct fct_token_table *t, int room, uint32_t *mask) {
    if (room >= t->most_characters) {
        for (int i = 0; i < t->n_words; i++) mask[i] |= t->inside[i];
        return;
    }
    for (int i = 0; i < t->n_words; i++) {
        uint32_t few = 0;
        for (int bit = 0; bit < 32; bit++)
            few |= (uint32_t)(t->characters[i * 32 + bit] <= room) << bit;
        mask[i] |= t->inside[i] & few;
    }
}

void fct_token_mask(const struct fct_token_table *table, struct fct_json_machine *machine,
                    const struct fct_json_state *state, struct fct_mask_room *room,
                    uint32_t *mask) {
    struct fct_json_state *first = &room->states[0];
    int most = -1;
    memset(mask, 0, (size_t)table->n_words * sizeof *mask);
    first->n_threads = 0;
    for (int i = 0; i < state->n_threads; i++) {
        int more;
        if (!fct_json_thread_is_free(machine, &state->threads[i], &more))
            first->threads[first->n_threads++] = state->threads[i];
        else if (more > most)
            most = more;
    }
    if (first->n_threads > 0) walk(&table->all, machine, room, mask);
    if (most < 0) return;
    add_inside(table, most, mask);
    copy_state(first, state);
    walk(&table->closing, machine, room, mask);
}

bool fct_json_take(struct fct_json_machine *machine, struct fct_json_state *state,
                   struct fct_mask_room *room, const uint8_t *bytes, int n_bytes) {
    size_t mark = machine->n_words;
    copy_state(&room->states[0], state);
    int at = 0;
    for (int i = 0; i < n_bytes; i++, at = !at) {
        if (fct_json_step(machine, &room->states[at], bytes[i], &room->states[!at])) continue;
        machine->n_words = mark;
        return false;
    }
    copy_state(state, &room->states[at]);
    return true;
}
