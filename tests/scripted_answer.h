/* scripted_answer.h - for tests: options of the program that make a model say a given answer.
 *
 * Each of its ids is biased to be likelier than the next one, and the repetition penalty takes away
 * what was said, so the answer comes token by token through the program's own sampling. No id may
 * come twice: a piece that does is written with byte tokens. */
#ifndef SCRIPTED_ANSWER_H
#define SCRIPTED_ANSWER_H

#include "made_model.h"

enum { SCRIPT_MOST = 48, SCRIPT_STEP = 70 }; /* more than logits between -30 and 30 differ */

struct script {
    const fct_model *model;
    int n, ids[SCRIPT_MOST];
    char biases[SCRIPT_MOST][32];
    char *options[4 + 2 * SCRIPT_MOST + 1]; /* NULL-terminated */
};

static int script_ids(const struct script *s, const char *text, size_t n_bytes, unsigned flags,
                      int **ids) {
    fct_error err = {0};
    int n;
    MUST(fct_tokenize(s->model, text, n_bytes, flags, ids, &n, NULL, &err));
    return n;
}

/* Said before, by the script or in any prompt, whose turns have line ends? */
static bool script_knows(const struct script *s, int id) {
    int *newline, n = script_ids(s, "\n", 1, 0, &newline);
    bool known = n == 1 && id == newline[0];
    fct_free(newline);
    for (int i = 0; i < s->n; i++) known |= s->ids[i] == id;
    return known;
}

static void script_add(struct script *s, int id) {
    if (script_knows(s, id) || s->n == SCRIPT_MOST) fail_msg("id %d cannot be said again", id);
    s->ids[s->n++] = id;
}

/* Byte tokens stand in a row; U+0001 has no piece of its own. */
static void script_add_bytes(struct script *s, int id) {
    fct_error err = {0};
    int *first;
    char *text;
    size_t n_bytes;
    assert_int_equal(script_ids(s, "\001", 1, 0, &first), 1);
    MUST(fct_detokenize(s->model, &id, 1, &text, &n_bytes, &err));
    for (size_t i = 0; i < n_bytes; i++) script_add(s, first[0] + (unsigned char)text[i] - 1);
    fct_free(first);
    fct_free(text);
}

/* More of the answer; names of control tokens are those. */
static void script_say(struct script *s, const char *text) {
    int *ids, n = script_ids(s, text, strlen(text), FCT_TOKENIZE_CONTROL, &ids);
    for (int i = 0; i < n; i++) {
        if (script_knows(s, ids[i]))
            script_add_bytes(s, ids[i]);
        else
            script_add(s, ids[i]);
    }
    fct_free(ids);
}

/* Of the i-th id. The end of a turn is in every prompt: the penalty divides it from the start. */
static float script_bias(const struct script *s, int i) {
    float weight = fct_is_end_id(s->model, s->ids[i]) ? 100 : 1;
    return weight * (float)(SCRIPT_STEP * (s->n - i + 2));
}

/* The options; they live as long as the script. */
__attribute__((unused)) static char *const *script_options(struct script *s) {
    static char *const greedy[] = {"--temperature", "0", "--repeat-penalty", "100"};
    char **option = s->options;
    for (size_t i = 0; i < sizeof greedy / sizeof *greedy; i++) *option++ = greedy[i];
    for (int i = 0; i < s->n; i++) {
        snprintf(s->biases[i], sizeof s->biases[i], "%d=%.0f", s->ids[i],
                 (double)script_bias(s, i));
        *option++ = "--logit-bias";
        *option++ = s->biases[i];
    }
    *option = NULL;
    return s->options;
}

#endif
