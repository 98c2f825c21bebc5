/* fuzz_schema.c - libFuzzer target: any bytes as a JSON schema; what is taken is written to, at
 * random, and there is always a way on, to JSON. */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/utf8.h"
#include "engine/json_machine.h"
#include "text/exact_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_BYTES = 120 };

static uint64_t random_state;
static uint32_t next_random(uint32_t n) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % n;
}

/* The next byte of a text: one of those that the state can go on with, ends preferred now and then.
 * -1: there are none. */
static int choose(struct fct_json_machine *machine, const struct fct_json_state *state) {
    static struct fct_json_state next;
    const size_t n_words = machine->n_words;
    uint8_t good[256];
    uint32_t n = 0;
    int end = -1;
    for (int byte = 0; byte < 256; byte++) {
        if (fct_json_step(machine, state, (uint8_t)byte, &next)) {
            good[n++] = (uint8_t)byte;
            if (strchr("\"]}", byte) && byte) end = byte;
        }
        machine->n_words = n_words;
    }
    if (n == 0) return -1;
    return end >= 0 && next_random(3) == 0 ? end : good[next_random(n)];
}

/* A whole text is JSON; within a list, since a bare value is no text for the reader. */
static void check_text(const char *text, size_t n_bytes) {
    struct fct_text list = {0};
    fct_text_puts(&list, "[");
    fct_text_add(&list, text, n_bytes);
    fct_text_puts(&list, "]");
    json_t *value = fct_json_read(list.data, list.size, "text", NULL);
    if (!value || json_array_size(value) != 1) abort();
    json_decref(value);
    fct_text_free(&list);
}

static void write_text(const fct_schema *schema) {
    static struct fct_json_state states[2];
    struct fct_json_machine machine;
    char text[MOST_BYTES];
    int now = 0;
    if (fct_json_machine_init(&machine, schema, NULL) != FCT_OK) return;
    fct_json_begin(&machine, &states[0]);
    for (size_t n = 0; n < MOST_BYTES; n++, now = !now) {
        bool complete = fct_json_complete(&machine, &states[now]);
        if (complete) check_text(text, n);
        int byte = choose(&machine, &states[now]);
        if (byte < 0 && !complete) abort();
        if (byte < 0 || (complete && next_random(2))) break;
        if (!fct_json_step(&machine, &states[now], (uint8_t)byte, &states[!now])) abort();
        fct_json_settle(&machine, &states[!now]);
        text[n] = (char)byte;
    }
    fct_json_machine_free(&machine);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fct_error err = {0};
    fct_schema *schema = fct_schema_read((const char *)data, size, &err);
    random_state = size;
    for (size_t i = 0; i < size; i++) random_state = random_state * 31 + data[i];
    if (schema)
        write_text(schema);
    else if (!err.message[0] || !fct_utf8_valid(err.message, strlen(err.message)))
        abort();
    fct_schema_free(schema);
    return 0;
}
