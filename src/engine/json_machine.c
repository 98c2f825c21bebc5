/* json_machine.c - JSON text followed byte by byte: can it still become a value of the schema? */
#include "engine/json_machine.h"

#include <limits.h>

#include "engine/json_frames.h"

/* ---- threads ---- */

static bool same_progress(const struct fct_json_thread *a, const struct fct_json_thread *b) {
    if (a->mode == FCT_JSON_NUMBER)
        return a->number.digits == b->number.digits && a->number.phase == b->number.phase &&
               a->number.n_digits == b->number.n_digits &&
               a->number.n_fraction == b->number.n_fraction &&
               a->number.n_exponent == b->number.n_exponent &&
               a->number.negative == b->number.negative;
    if (a->mode != FCT_JSON_STRING && a->mode != FCT_JSON_IN_KEY && a->mode != FCT_JSON_WORD)
        return true;
    const struct fct_json_string *x = &a->string, *y = &b->string;
    return x->range.low == y->range.low && x->range.high == y->range.high &&
           x->n_characters == y->n_characters && x->value == y->value && x->high == y->high &&
           x->part == y->part && x->n_left == y->n_left;
}

static void emit(const struct fct_json_machine *m, struct fct_json_state *to,
                 const struct fct_json_thread *thread) {
    if (m->fault.code || to->n_threads == FCT_JSON_MAX_THREADS) return;
    for (int i = 0; i < to->n_threads; i++) {
        const struct fct_json_thread *other = &to->threads[i];
        if (other->mode == thread->mode && other->space == thread->space &&
            other->n_line_feeds == thread->n_line_feeds && other->n_returns == thread->n_returns &&
            other->node == thread->node && same_progress(other, thread) &&
            fct_frames_equal(m, other->frame, thread->frame))
            return;
    }
    to->threads[to->n_threads++] = *thread;
}

static void emit_mode(const struct fct_json_machine *m, struct fct_json_state *to, uint32_t frame,
                      int node, enum fct_json_mode mode) {
    emit(m, to, &(struct fct_json_thread){.frame = frame, .node = node, .mode = (uint8_t)mode});
}

/* A value ended in the container that is open now. */
static struct fct_json_thread after_value(const struct fct_json_machine *m, uint32_t frame) {
    struct fct_json_thread thread = {.frame = frame, .mode = FCT_JSON_DONE};
    if (frame)
        thread.mode = fct_frame_container(m, frame)->kind == FCT_SCHEMA_ARRAY ? FCT_JSON_NEXT_ITEM
                                                                              : FCT_JSON_NEXT_KEY;
    return thread;
}

static void close_container(const struct fct_json_machine *m, uint32_t frame,
                            struct fct_json_state *to) {
    struct fct_json_thread thread = after_value(m, m->words[frame + FCT_FRAME_PARENT]);
    emit(m, to, &thread);
}

/* Do values of the node have room in the container? */
static bool has_room(const struct fct_json_machine *m, uint32_t frame, int node) {
    return node >= 0 &&
           fct_frame_depth(m, frame) + fct_frame_node(m, node)->depth <= FCT_SCHEMA_MAX_DEPTH;
}

/* ---- keys ---- */

struct keys {
    const struct fct_json_machine *machine;
    uint32_t frame;
};

static bool is_used(const struct keys *keys, int key) {
    return keys->machine->words[keys->frame + FCT_FRAME_SET + key / 32] >> key % 32 & 1;
}

static bool key_is_possible(const struct keys *keys, int key) {
    const struct fct_schema_node *object = fct_frame_container(keys->machine, keys->frame);
    return !is_used(keys, key) && has_room(keys->machine, keys->frame, object->nodes[key]);
}

static bool any_key_is_possible(const void *user, struct fct_name_range range) {
    for (int key = range.low; key < range.high; key++)
        if (key_is_possible(user, key)) return true;
    return false;
}

static struct fct_string_rule key_rule(const struct keys *keys) {
    const struct fct_schema_node *object = fct_frame_container(keys->machine, keys->frame);
    return (struct fct_string_rule){&object->names,
                                    has_room(keys->machine, keys->frame, object->others), INT_MAX,
                                    any_key_is_possible, keys};
}

static bool can_have_key(const struct fct_json_machine *m, uint32_t frame) {
    const struct keys keys = {m, frame};
    const struct fct_string_rule rule = key_rule(&keys);
    return rule.open || any_key_is_possible(&keys, (struct fct_name_range){0, rule.names->n});
}

static bool has_required(const struct fct_json_machine *m, uint32_t frame) {
    const struct fct_schema_node *object = fct_frame_container(m, frame);
    for (int i = 0; i < fct_schema_set_words(object); i++)
        if (object->required[i] & ~m->words[frame + FCT_FRAME_SET + i]) return false;
    return true;
}

static void end_key(struct fct_json_machine *m, const struct fct_json_thread *thread,
                    struct fct_json_state *to) {
    const struct keys keys = {m, thread->frame};
    const struct fct_schema_node *object = fct_frame_container(m, thread->frame);
    int key = fct_names_ended(&object->names, thread->string.range, thread->string.n_characters);
    if (key >= 0 ? !key_is_possible(&keys, key) : !key_rule(&keys).open) return;
    uint32_t frame = fct_frame_count_in(m, thread->frame, key);
    if (frame)
        emit_mode(m, to, frame, key >= 0 ? object->nodes[key] : object->others, FCT_JSON_COLON);
}

/* ---- bytes ---- */

static void step(struct fct_json_machine *m, const struct fct_json_thread *thread, uint8_t byte,
                 struct fct_json_state *to);

static void begin_container(struct fct_json_machine *m, uint32_t parent, int node,
                            enum fct_json_mode mode, struct fct_json_state *to) {
    uint32_t frame = fct_frame_open(m, parent, node);
    if (frame) emit_mode(m, to, frame, node, mode);
}

/* A value, of a node that is no choice. */
static void begin_leaf(struct fct_json_machine *m, uint32_t frame, int leaf, uint8_t byte,
                       struct fct_json_state *to) {
    const struct fct_schema_node *node = fct_frame_node(m, leaf);
    struct fct_json_thread thread = {.frame = frame, .node = leaf};
    if (node->kind == FCT_SCHEMA_ARRAY && byte == '[') {
        begin_container(m, frame, leaf, FCT_JSON_FIRST_ITEM, to);
    } else if (node->kind == FCT_SCHEMA_OBJECT && byte == '{') {
        begin_container(m, frame, leaf, FCT_JSON_FIRST_KEY, to);
    } else if (node->kind == FCT_SCHEMA_STRING && byte == '"') {
        thread.mode = FCT_JSON_STRING;
        thread.string.range = (struct fct_name_range){0, node->names.n};
        emit(m, to, &thread);
    } else if (node->kind == FCT_SCHEMA_NUMBER) {
        thread.mode = FCT_JSON_NUMBER;
        thread.number = (struct fct_json_number){0};
        if (fct_json_number_step(&thread.number, &node->number, byte)) emit(m, to, &thread);
    } else if (node->kind == FCT_SCHEMA_WORDS) {
        thread.mode = FCT_JSON_WORD;
        thread.string.range = fct_names_narrow(
            &node->names, (struct fct_name_range){0, node->names.n}, 0, byte, byte);
        thread.string.n_characters = 1;
        if (thread.string.range.low < thread.string.range.high) emit(m, to, &thread);
    }
}

static void begin_value(struct fct_json_machine *m, uint32_t frame, int node, uint8_t byte,
                        struct fct_json_state *to) {
    const struct fct_schema_node *value = fct_frame_node(m, node);
    for (int i = 0; i < value->n_alternatives; i++)
        if (has_room(m, frame, value->alternatives[i]))
            begin_leaf(m, frame, value->alternatives[i], byte, to);
}

static void in_string(struct fct_json_machine *m, const struct fct_json_thread *thread,
                      uint8_t byte, struct fct_json_state *to) {
    const struct fct_schema_node *node = fct_frame_node(m, thread->node);
    const struct fct_string_rule rule = {&node->names, !node->listed, node->max, NULL, NULL};
    struct fct_json_thread next = *thread;
    enum fct_string_step result = fct_json_string_step(&next.string, &rule, byte);
    bool fits = node->listed ? fct_names_ended(&node->names, next.string.range,
                                               next.string.n_characters) >= 0
                             : next.string.n_characters >= node->min;
    if (result == FCT_STRING_CLOSED && fits)
        next = after_value(m, thread->frame);
    else if (result != FCT_STRING_GOES_ON)
        return;
    emit(m, to, &next);
}

static void in_key(struct fct_json_machine *m, const struct fct_json_thread *thread, uint8_t byte,
                   struct fct_json_state *to) {
    const struct keys keys = {m, thread->frame};
    const struct fct_string_rule rule = key_rule(&keys);
    struct fct_json_thread next = *thread;
    enum fct_string_step result = fct_json_string_step(&next.string, &rule, byte);
    if (result == FCT_STRING_GOES_ON) emit(m, to, &next);
    if (result == FCT_STRING_CLOSED) end_key(m, &next, to);
}

/* Numbers and words end where something else begins. */
static void behind_bare(struct fct_json_machine *m, const struct fct_json_thread *thread,
                        uint8_t byte, struct fct_json_state *to) {
    struct fct_json_thread next = after_value(m, thread->frame);
    step(m, &next, byte, to);
}

static void in_number(struct fct_json_machine *m, const struct fct_json_thread *thread,
                      uint8_t byte, struct fct_json_state *to) {
    const struct fct_number_rule *rule = &fct_frame_node(m, thread->node)->number;
    struct fct_json_thread next = *thread;
    if (fct_json_number_step(&next.number, rule, byte))
        emit(m, to, &next);
    else if (fct_json_number_complete(&thread->number, rule))
        behind_bare(m, thread, byte, to);
}

static bool word_is_complete(const struct fct_schema_node *node,
                             const struct fct_json_thread *thread) {
    return fct_names_ended(&node->names, thread->string.range, thread->string.n_characters) >= 0;
}

static void in_word(struct fct_json_machine *m, const struct fct_json_thread *thread, uint8_t byte,
                    struct fct_json_state *to) {
    const struct fct_schema_node *node = fct_frame_node(m, thread->node);
    struct fct_json_thread next = *thread;
    next.string.range = fct_names_narrow(&node->names, thread->string.range,
                                         next.string.n_characters++, byte, byte);
    if (next.string.range.low < next.string.range.high)
        emit(m, to, &next);
    else if (word_is_complete(node, thread))
        behind_bare(m, thread, byte, to);
}

static void first_item(struct fct_json_machine *m, const struct fct_json_thread *thread,
                       uint8_t byte, struct fct_json_state *to) {
    const struct fct_schema_node *array = fct_frame_container(m, thread->frame);
    int item = array->max > 0 ? fct_schema_item(array, 0) : -1;
    if (byte == ']') {
        if (array->min == 0) close_container(m, thread->frame, to);
    } else if (has_room(m, thread->frame, item)) {
        uint32_t frame = fct_frame_count_in(m, thread->frame, -1);
        if (frame) begin_value(m, frame, item, byte, to);
    }
}

static void next_item(struct fct_json_machine *m, const struct fct_json_thread *thread,
                      uint8_t byte, struct fct_json_state *to) {
    const struct fct_schema_node *array = fct_frame_container(m, thread->frame);
    int count = (int)m->words[thread->frame + FCT_FRAME_COUNT];
    int item = count < array->max ? fct_schema_item(array, count) : -1;
    if (byte == ']' && count >= array->min) close_container(m, thread->frame, to);
    if (byte != ',' || !has_room(m, thread->frame, item)) return;
    uint32_t frame = fct_frame_count_in(m, thread->frame, -1);
    if (frame) emit_mode(m, to, frame, item, FCT_JSON_VALUE);
}

/* Before a key, or the end of the object. */
static void around_key(struct fct_json_machine *m, const struct fct_json_thread *thread,
                       uint8_t byte, struct fct_json_state *to) {
    bool can_end = thread->mode != FCT_JSON_KEY && has_required(m, thread->frame);
    if (byte == '}' && can_end) close_container(m, thread->frame, to);
    if (byte != (thread->mode == FCT_JSON_NEXT_KEY ? ',' : '"')) return;
    if (!can_have_key(m, thread->frame)) return;
    struct fct_json_thread next = {.frame = thread->frame, .mode = FCT_JSON_KEY};
    if (byte == '"') {
        next.mode = FCT_JSON_IN_KEY;
        next.string.range =
            (struct fct_name_range){0, fct_frame_container(m, thread->frame)->names.n};
    }
    emit(m, to, &next);
}

static bool in_something(uint8_t mode) {
    return mode == FCT_JSON_STRING || mode == FCT_JSON_IN_KEY || mode == FCT_JSON_NUMBER ||
           mode == FCT_JSON_WORD;
}

static bool is_space(uint8_t byte) {
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

static void more_space(const struct fct_json_machine *m, const struct fct_json_thread *thread,
                       uint8_t byte, struct fct_json_state *to) {
    struct fct_json_thread next = *thread;
    next.space++;
    next.n_line_feeds += byte == '\n';
    next.n_returns += byte == '\r';
    if (next.space <= FCT_JSON_MAX_SPACE && next.n_line_feeds <= FCT_JSON_MAX_LINES &&
        next.n_returns <= FCT_JSON_MAX_LINES)
        emit(m, to, &next);
}

static void step(struct fct_json_machine *m, const struct fct_json_thread *thread, uint8_t byte,
                 struct fct_json_state *to) {
    if (is_space(byte) && !in_something(thread->mode)) {
        more_space(m, thread, byte, to);
        return;
    }
    switch ((enum fct_json_mode)thread->mode) {
    case FCT_JSON_VALUE:
        begin_value(m, thread->frame, thread->node, byte, to);
        break;
    case FCT_JSON_STRING:
        in_string(m, thread, byte, to);
        break;
    case FCT_JSON_NUMBER:
        in_number(m, thread, byte, to);
        break;
    case FCT_JSON_WORD:
        in_word(m, thread, byte, to);
        break;
    case FCT_JSON_FIRST_ITEM:
        first_item(m, thread, byte, to);
        break;
    case FCT_JSON_NEXT_ITEM:
        next_item(m, thread, byte, to);
        break;
    case FCT_JSON_FIRST_KEY:
    case FCT_JSON_KEY:
    case FCT_JSON_NEXT_KEY:
        around_key(m, thread, byte, to);
        break;
    case FCT_JSON_IN_KEY:
        in_key(m, thread, byte, to);
        break;
    case FCT_JSON_COLON:
        if (byte == ':') emit_mode(m, to, thread->frame, thread->node, FCT_JSON_VALUE);
        break;
    case FCT_JSON_DONE:
        break;
    }
}

/* ---- states ---- */

void fct_json_begin(struct fct_json_machine *m, struct fct_json_state *state) {
    m->n_words = 1; /* frame 0 is none */
    state->n_threads = 0;
    emit_mode(m, state, 0, m->schema->root, FCT_JSON_VALUE);
}

bool fct_json_step(struct fct_json_machine *m, const struct fct_json_state *from, uint8_t byte,
                   struct fct_json_state *to) {
    to->n_threads = 0;
    for (int i = 0; i < from->n_threads; i++) step(m, &from->threads[i], byte, to);
    return to->n_threads > 0;
}

bool fct_json_complete(const struct fct_json_machine *m, const struct fct_json_state *state) {
    for (int i = 0; i < state->n_threads; i++) {
        const struct fct_json_thread *thread = &state->threads[i];
        const struct fct_schema_node *node = fct_frame_node(m, thread->node);
        bool complete = thread->mode == FCT_JSON_DONE;
        if (thread->mode == FCT_JSON_NUMBER)
            complete = fct_json_number_complete(&thread->number, &node->number);
        if (thread->mode == FCT_JSON_WORD) complete = word_is_complete(node, thread);
        if (complete && thread->frame == 0) return true;
    }
    return false;
}

bool fct_json_untouched(const struct fct_json_state *state) {
    return state->n_threads == 1 && state->threads[0].mode == FCT_JSON_VALUE &&
           state->threads[0].frame == 0;
}

bool fct_json_thread_is_free(const struct fct_json_machine *m, const struct fct_json_thread *thread,
                             int *room) {
    bool key = thread->mode == FCT_JSON_IN_KEY;
    if (!key && thread->mode != FCT_JSON_STRING) return false;
    if (thread->string.part != FCT_STRING_PLAIN) return false;
    *room = INT_MAX;
    if (key) return key_rule(&(struct keys){m, thread->frame}).open;
    if (fct_frame_node(m, thread->node)->listed) return false;
    const struct fct_schema_node *node = fct_frame_node(m, thread->node);
    if (node->max != INT_MAX) *room = node->max - thread->string.n_characters;
    return true;
}
