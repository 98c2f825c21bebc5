/* guide.c - a constraint at work on one answer: what its next id may be. */
#include "engine/guide.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "engine/constraint.h"

enum phase {
    CONTENT, /* no more thoughts */
    BEFORE,  /* nothing but white space yet: a thought may be opened */
    LABEL,   /* "thought" and a newline have to come */
    THOUGHT
};

struct fct_guide {
    const fct_constraint *constraint;
    enum phase phase;
    size_t n_label; /* ids of the label that came */
    bool asked;     /* for thoughts, by the prompt */
    struct fct_json_machine machine;
    struct fct_json_state state;
    struct fct_mask_room room;
    uint32_t *mask; /* [table->n_words] */
};

static bool has_id(const int *ids, int n, int id) {
    for (int i = 0; i < n; i++)
        if (ids[i] == id) return true;
    return false;
}

fct_guide *fct_guide_new(const fct_constraint *constraint, const int *prompt, int n_prompt,
                         bool has_parts, bool thinking, fct_error *err) {
    fct_guide *g = fct_new(sizeof *g, err);
    if (!g) return NULL;
    g->constraint = constraint;
    bool can_think = has_parts && constraint->open >= 0 && constraint->close >= 0;
    g->phase = !can_think ? CONTENT : thinking ? THOUGHT : BEFORE;
    g->asked = can_think && constraint->think >= 0 && has_id(prompt, n_prompt, constraint->think);
    g->mask = fct_new_array((size_t)constraint->table->n_words, sizeof *g->mask, err);
    if (!g->mask || fct_json_machine_init(&g->machine, constraint->schema, err) != FCT_OK ||
        fct_mask_room_init(&g->room, constraint->table, err) != FCT_OK) {
        fct_guide_free(g);
        return NULL;
    }
    fct_json_begin(&g->machine, &g->state);
    return g;
}

void fct_guide_free(fct_guide *g) {
    if (!g) return;
    fct_json_machine_free(&g->machine);
    fct_mask_room_free(&g->room);
    free(g->mask);
    free(g);
}

bool fct_guide_complete(const fct_guide *g) {
    return (g->phase == CONTENT || g->phase == BEFORE) && fct_json_complete(&g->machine, &g->state);
}

/* ---- taking ids ---- */

/* A token of the content; what does not fit leaves the state as it is. */
static bool take_content(fct_guide *g, int id) {
    uint8_t bytes[FCT_PIECE_BYTES];
    if (id < 0 || id >= g->constraint->table->n_ids) return false;
    int n = fct_piece_bytes(g->constraint->model->vocabulary, id, bytes);
    if (n == 0 || !fct_json_take(&g->machine, &g->state, &g->room, bytes, n)) return false;
    fct_json_settle(&g->machine, &g->state);
    return true;
}

void fct_guide_take(fct_guide *g, int id) {
    const fct_constraint *c = g->constraint;
    switch (g->phase) {
    case CONTENT:
    case BEFORE:
        if (g->phase == BEFORE && id == c->open) {
            g->phase = LABEL;
            g->n_label = 0;
        } else if (take_content(g, id) && !fct_json_untouched(&g->state)) {
            g->phase = CONTENT;
        }
        break;
    case LABEL:
        if (++g->n_label == c->label.size) g->phase = THOUGHT;
        break;
    case THOUGHT:
        if (id == c->close) g->phase = BEFORE;
        break;
    }
}

/* ---- choosing ---- */

/* May the content go on with this token? Asked without taking it. */
static bool content_allows(fct_guide *g, int id) {
    struct fct_json_state *before = &g->room.states[g->constraint->table->all.height + 1];
    const size_t n_words = g->machine.n_words;
    uint8_t bytes[FCT_PIECE_BYTES];
    if (id >= g->constraint->table->n_ids) return false;
    int n = fct_piece_bytes(g->constraint->model->vocabulary, id, bytes);
    if (n == 0) return false;
    *before = g->state;
    bool good = fct_json_take(&g->machine, &g->state, &g->room, bytes, n);
    g->state = *before;
    g->machine.n_words = n_words;
    return good;
}

static bool allows(fct_guide *g, int id) {
    if (id < 0) return false;
    if (g->phase == THOUGHT) return !fct_is_end_id(g->constraint->model, id);
    if (g->phase == LABEL) return id == g->constraint->label.data[g->n_label];
    if (fct_is_end_id(g->constraint->model, id)) return fct_guide_complete(g);
    if (g->phase == BEFORE && id == g->constraint->open) return true;
    return content_allows(g, id);
}

static void set(fct_guide *g, int id, bool allowed) {
    uint32_t bit = 1u << id % 32;
    if (id < 0 || id >= g->constraint->table->n_ids) return;
    g->mask[id / 32] = (g->mask[id / 32] & ~bit) | (allowed ? bit : 0);
}

/* A thought may be opened where the prompt asks for one, or if that is what the model would rather
 * do than anything else. best: the id with the largest logit. */
static void fill_mask(fct_guide *g, int best) {
    const fct_constraint *c = g->constraint;
    const struct fct_token_table *table = c->table;
    if (g->phase == THOUGHT)
        memset(g->mask, 0xFF, (size_t)table->n_words * sizeof *g->mask);
    else
        fct_token_mask(table, &g->machine, &g->state, &g->room, g->mask);
    bool complete = fct_guide_complete(g);
    for (int i = 0; i < c->model->n_ends; i++) set(g, c->model->ends[i], complete);
    if (g->phase == BEFORE && (g->asked || best == c->open)) set(g, c->open, true);
}

fct_status fct_guide_choose(fct_guide *g, fct_session *session, const fct_sampling *sampling,
                            int n_prompt, int *id, fct_error *err) {
    if (g->phase == LABEL) {
        *id = g->constraint->label.data[g->n_label];
        return FCT_OK;
    }
    if (allows(g, *id)) return FCT_OK;
    fill_mask(g, session->best);
    session->sampler.allowed = g->mask;
    *id = fct_sampler_choose(&session->sampler, sampling, session->scratch.logits, session->ids,
                             n_prompt, session->n_ids);
    session->sampler.allowed = NULL;
    if (g->machine.fault.code)
        return fct_fail(err, g->machine.fault.code, "%s", g->machine.fault.message);
    if (allows(g, *id)) return FCT_OK;
    return fct_fail(err, FCT_ERR_UNSUPPORTED,
                    "no token is left that the constraint allows (a bias may forbid them all)");
}
