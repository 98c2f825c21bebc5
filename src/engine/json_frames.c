/* json_frames.c - the containers that are open in JSON text: frames that states share. */
#include "engine/json_frames.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

enum { FIRST_WORDS = 1 << 14, MOVED = 0xFFFFFFFFu };

static size_t frame_words(const struct fct_schema_node *node) {
    return FCT_FRAME_SET +
           (node->kind == FCT_SCHEMA_OBJECT ? (size_t)fct_schema_set_words(node) : 0);
}

fct_status fct_json_machine_init(struct fct_json_machine *m, const fct_schema *schema,
                                 fct_error *err) {
    memset(m, 0, sizeof *m);
    m->schema = schema;
    m->capacity = FIRST_WORDS;
    m->words = fct_new_array(m->capacity, sizeof *m->words, err);
    m->spare = fct_new_array(m->capacity, sizeof *m->spare, err);
    if (m->words && m->spare) return FCT_OK;
    fct_json_machine_free(m);
    return FCT_ERR_MEMORY;
}

void fct_json_machine_free(struct fct_json_machine *m) {
    free(m->words);
    free(m->spare);
    m->words = m->spare = NULL;
}

/* Room for a frame; 0 if there is none. */
static uint32_t frame_new(struct fct_json_machine *m, size_t n) {
    size_t wanted = m->n_words + n, spare = m->capacity, words = m->capacity;
    if (wanted > m->capacity) {
        if (wanted > UINT32_MAX / 2 ||
            fct_grow((void **)&m->spare, &spare, wanted, sizeof *m->spare, &m->fault) != FCT_OK ||
            fct_grow((void **)&m->words, &words, wanted, sizeof *m->words, &m->fault) != FCT_OK) {
            if (!m->fault.code) fct_fail(&m->fault, FCT_ERR_MEMORY, "too much JSON in the making");
            return 0;
        }
        m->capacity = words < spare ? words : spare;
    }
    uint32_t frame = (uint32_t)m->n_words;
    m->n_words = wanted;
    return frame;
}

uint32_t fct_frame_open(struct fct_json_machine *m, uint32_t parent, int node) {
    size_t n = frame_words(fct_frame_node(m, node));
    uint32_t frame = frame_new(m, n);
    if (!frame) return 0;
    memset(m->words + frame, 0, n * sizeof *m->words);
    m->words[frame + FCT_FRAME_PARENT] = parent;
    m->words[frame + FCT_FRAME_NODE] = (uint32_t)node;
    m->words[frame + FCT_FRAME_DEPTH] = (uint32_t)fct_frame_depth(m, parent) + 1;
    return frame;
}

uint32_t fct_frame_count_in(struct fct_json_machine *m, uint32_t frame, int key) {
    size_t n = frame_words(fct_frame_container(m, frame));
    uint32_t next = frame_new(m, n);
    if (!next) return 0;
    memcpy(m->words + next, m->words + frame, n * sizeof *m->words);
    if (m->words[next + FCT_FRAME_COUNT] < INT_MAX) m->words[next + FCT_FRAME_COUNT]++;
    if (key >= 0) m->words[next + FCT_FRAME_SET + key / 32] |= 1u << key % 32;
    return next;
}

bool fct_frames_equal(const struct fct_json_machine *m, uint32_t a, uint32_t b) {
    while (a != b) {
        if (!a || !b || m->words[a + FCT_FRAME_NODE] != m->words[b + FCT_FRAME_NODE]) return false;
        size_t n = frame_words(fct_frame_container(m, a)) - 1; /* all but the parents */
        if (memcmp(m->words + a + 1, m->words + b + 1, n * sizeof *m->words) != 0) return false;
        a = m->words[a + FCT_FRAME_PARENT];
        b = m->words[b + FCT_FRAME_PARENT];
    }
    return true;
}

/* Copies a frame, and those it stands in, to m->spare, once each. Parents are moved first: they lie
 * below. */
static uint32_t move(struct fct_json_machine *m, uint32_t frame, size_t *n_spare) {
    uint32_t chain[FCT_SCHEMA_MAX_DEPTH], to = 0;
    int n = 0;
    for (; frame && m->words[frame + FCT_FRAME_DEPTH] != MOVED;
         frame = m->words[frame + FCT_FRAME_PARENT])
        chain[n++] = frame;
    if (frame) to = m->words[frame + FCT_FRAME_PARENT];
    while (n > 0) {
        uint32_t *from = m->words + chain[--n];
        size_t words = frame_words(fct_frame_container(m, chain[n]));
        uint32_t parent = to;
        to = (uint32_t)*n_spare;
        *n_spare += words;
        memcpy(m->spare + to, from, words * sizeof *from);
        m->spare[to + FCT_FRAME_PARENT] = parent;
        from[FCT_FRAME_PARENT] = to; /* where it is now */
        from[FCT_FRAME_DEPTH] = MOVED;
    }
    return to;
}

void fct_json_settle(struct fct_json_machine *m, struct fct_json_state *state) {
    size_t n_spare = 1;
    for (int i = 0; i < state->n_threads; i++)
        state->threads[i].frame = move(m, state->threads[i].frame, &n_spare);
    uint32_t *swap = m->words;
    m->words = m->spare;
    m->spare = swap;
    m->n_words = n_spare;
}
