/* json_machine.h - JSON text followed byte by byte: can it still become a value of the schema? */
#ifndef FCT_ENGINE_JSON_MACHINE_H
#define FCT_ENGINE_JSON_MACHINE_H

#include "engine/json_string.h"
#include "engine/schema.h"

enum {
    /* White space in a row, so that no text is only that for ever: bytes in all, and of them line
     * feeds, and carriage returns. */
    FCT_JSON_MAX_SPACE = 64,
    FCT_JSON_MAX_LINES = 2,
    FCT_JSON_MAX_THREADS = 32
};

enum fct_json_mode {
    FCT_JSON_VALUE, /* of the node */
    FCT_JSON_STRING,
    FCT_JSON_NUMBER,
    FCT_JSON_WORD,
    FCT_JSON_FIRST_ITEM,
    FCT_JSON_NEXT_ITEM,
    FCT_JSON_FIRST_KEY,
    FCT_JSON_KEY, /* behind a comma */
    FCT_JSON_IN_KEY,
    FCT_JSON_COLON,
    FCT_JSON_NEXT_KEY,
    FCT_JSON_DONE
};

/* One way to read the text so far. */
struct fct_json_thread {
    uint32_t frame;                  /* of the container that is open; 0: none */
    int node;                        /* what is being read */
    uint8_t mode;                    /* enum fct_json_mode */
    uint8_t space;                   /* bytes of white space in a row, */
    uint8_t n_line_feeds, n_returns; /* of these */
    union {
        struct fct_json_string string; /* words too, as far as they need it */
        struct fct_json_number number;
    };
};

/* All ways to read the text so far: of branches that cannot be told apart yet, each. A text is good
 * as long as there is one. Where there would be more than fit, the later ones are given up: what is
 * accepted is then less than the schema allows, never more. */
struct fct_json_state {
    int n_threads;
    struct fct_json_thread threads[FCT_JSON_MAX_THREADS];
};

/* Where open containers are kept: frames {parent, node, count, depth, set of keys ...}, never
 * changed once written, so that states share them and are copied in no time. */
struct fct_json_machine {
    const fct_schema *schema;
    uint32_t *words, *spare; /* [capacity] each */
    size_t n_words, capacity;
    fct_error fault; /* no memory: sticks */
};
fct_status fct_json_machine_init(struct fct_json_machine *machine, const fct_schema *schema,
                                 fct_error *err);
void fct_json_machine_free(struct fct_json_machine *machine);

/* The beginning. Voids all other states of the machine. */
void fct_json_begin(struct fct_json_machine *machine, struct fct_json_state *state);
/* What the next byte makes of a state (another one). False: no value of the schema goes on so.
 * Whenever it is true, some text completes the value. */
bool fct_json_step(struct fct_json_machine *machine, const struct fct_json_state *from,
                   uint8_t byte, struct fct_json_state *to);
/* Is the text a whole value of the schema? */
bool fct_json_complete(const struct fct_json_machine *machine, const struct fct_json_state *state);
/* Has nothing but white space come yet? */
bool fct_json_untouched(const struct fct_json_state *state);
/* Forgets the frames of all states but this one. */
void fct_json_settle(struct fct_json_machine *machine, struct fct_json_state *state);

/* Is the thread within a string that may go on with any characters, between two of them? In *room
 * how many it still takes. */
bool fct_json_thread_is_free(const struct fct_json_machine *machine,
                             const struct fct_json_thread *thread, int *room);

#endif
