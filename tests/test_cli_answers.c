/* test_cli_answers.c - every single question of the demo through `facet run`, id for id, in every
 * scheme. Where starting the program takes long, some of them: test_generate asks them all. */
#include "made_model.h"

#include <jansson.h>

#include "rounds.h"

/* What the command prints on its standard output; NUL-terminated. */
static void output_of(const char *command, char *out, size_t n) {
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t size = fread(out, 1, n - 1, pipe);
    out[size] = 0;
    assert_int_equal(pclose(pipe), 0);
}

static void write_ids(const json_t *ids, char *out, size_t n) {
    size_t at = 0;
    for (size_t i = 0; i < json_array_size(ids); i++)
        at += (size_t)snprintf(out + at, n - at, "%s%lld", i ? " " : "",
                               (long long)json_integer_value(json_array_get(ids, i)));
}

/* Separators are the program's choice; the numbers are not. */
static void one_space_between(char *text) {
    char *to = text;
    for (const char *from = text; *from; from++) {
        bool digit = *from >= '0' && *from <= '9';
        if (digit)
            *to++ = *from;
        else if (to > text && to[-1] != ' ')
            *to++ = ' ';
    }
    while (to > text && to[-1] == ' ') to--;
    *to = 0;
}

static void every_question_is_answered_with_the_expected_ids(void **state) {
    (void)state;
    static const char *const schemes[] = {"f32", "q8", "q4", "q4-g128"};
    json_error_t fault;
    json_t *file = json_load_file(TEST_DATA "/demo/expected.json", 0, &fault), *entry;
    int n_asked = 0;
    for (size_t s = 0; s < sizeof schemes / sizeof *schemes; s++) {
        char path[300], name[64];
        int n_single = 0;
        size_t i;
        fct_model_free(made_model(TEST_DATA "/demo/checkpoint", schemes[s], NULL));
        snprintf(name, sizeof name, "checkpoint-%s.facet", schemes[s]);
        snprintf(path, sizeof path, "%s", made_path(name));
        json_array_foreach(json_object_get(file, "entries"), i, entry) {
            const json_t *messages = json_object_get(entry, "messages");
            const char *question =
                json_string_value(json_object_get(json_array_get(messages, 0), "content"));
            if (json_array_size(messages) != 1 || strchr(question, '\'')) continue;
            if (n_single++ % ROUNDS_PART) continue;
            char command[1024], out[4096], wanted[4096];
            snprintf(command, sizeof command,
                     FACET_PROGRAM " run -m %s --temperature 0 --ids --quiet -c 256 -- '%s'", path,
                     question);
            output_of(command, out, sizeof out);
            one_space_between(out);
            write_ids(json_object_get(entry, "answer_ids"), wanted, sizeof wanted);
            assert_string_equal(out, wanted);
            n_asked++;
        }
    }
    assert_true(n_asked >= 4 * ROUNDS(50));
    json_decref(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_question_is_answered_with_the_expected_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
