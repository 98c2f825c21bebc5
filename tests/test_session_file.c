/* test_session_file.c - a saved session goes on as if it had never been away; what is damaged or
 * foreign is refused, and the conversation still read. */
#include "made_model.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "engine/session_file.h"

enum { VOCAB = 512, MOST = 400 };

static const char CONVERSATION[] =
    "[{\"role\":\"user\",\"content\":\"Gr\xc3\xbc\xc3\x9f \\\"Gott\\\" \\u0000 \\\\\"}]";

static fct_model *model, *other;
static int prompt[MOST];
static fct_error err;

static int set_up(void **state) {
    (void)state;
    model = made_model("e2b-like", "q4", NULL); /* its window is 16, its rings 128 and more */
    other = made_model("e2b-like", "q8", NULL);
    uint32_t x = 12345;
    prompt[0] = 2;
    for (int i = 1; i < MOST; i++) {
        x = x * 1664525u + 1013904223u;
        prompt[i] = 3 + (int)(x >> 8) % (VOCAB - 3);
    }
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    fct_model_free(model);
    fct_model_free(other);
    return 0;
}

/* Of a context, a batch, threads, and a type of cache. */
static fct_session *session_of(int context, int batch, int threads, fct_kv kv) {
    return made_session(model, &(fct_session_options){.context = context,
                                                      .batch = batch,
                                                      .decode_threads = threads,
                                                      .prefill_threads = threads,
                                                      .kv = kv});
}

static const char *saved(fct_session *session, int n, const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s", made_path(name));
    MUST(fct_session_prefill(session, prompt, n, &err));
    MUST(fct_session_save(session, path, CONVERSATION, &err));
    return path;
}

static void load(fct_session *session, const char *path) {
    char *conversation = NULL;
    MUST(fct_session_load(session, path, &conversation, &err));
    assert_string_equal(conversation, CONVERSATION);
    fct_free(conversation);
}

/* Both read the same and must come to the same bits. */
static void check_same(fct_session *a, fct_session *b) {
    assert_memory_equal(fct_session_logits(a), fct_session_logits(b), VOCAB * sizeof(float));
}

static void append_both(fct_session *a, fct_session *b, int from, int end) {
    for (int i = from; i < end; i++) {
        MUST(fct_session_append(a, prompt[i], &err));
        MUST(fct_session_append(b, prompt[i], &err));
        check_same(a, b);
    }
}

/* Rings of 128 to 384 positions, wrapped and not, on both sides. */
static void a_loaded_session_goes_on_with_the_same_bits(void **state) {
    (void)state;
    static const fct_kv kinds[] = {FCT_KV_F16, FCT_KV_Q8, FCT_KV_F32};
    static const struct {
        int context, batch;
    } sides[] = {{400, 1}, {400, 64}, {390, 200}, {400, 400}};
    static const int lengths[] = {1, 15, 16, 17, 100, 127, 128, 145, 300, 385};
    for (int kind = 0; kind < 3; kind++)
        for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++)
            for (int from = 0; from < 4; from++) {
                int to = (from + (int)n) % 4, length = lengths[n];
                fct_session *one =
                                session_of(sides[from].context, sides[from].batch, 1, kinds[kind]),
                            *two = session_of(sides[to].context, sides[to].batch, 3, kinds[kind]);
                load(two, saved(one, length, "s.session"));
                fct_session_info info = fct_session_describe(two);
                assert_int_equal(info.n_tokens, length);
                assert_int_equal(info.n_reused, length);
                append_both(one, two, length, length + 4);
                fct_session_free(one);
                fct_session_free(two);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loaded_session_goes_on_with_the_same_bits),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
