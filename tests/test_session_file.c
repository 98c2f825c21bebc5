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

/* What the rings keep beyond the window serves edits of the last words. */
static void going_back_a_little_reads_nothing_again(void **state) {
    (void)state;
    fct_session *one = session_of(400, 64, 1, FCT_KV_AUTO),
                *two = session_of(400, 16, 2, FCT_KV_AUTO);
    load(two, saved(one, 300, "s.session"));
    MUST(fct_session_prefill(two, prompt, 300, &err));
    check_same(one, two);
    assert_int_equal(fct_session_describe(two).n_read, 1);
    for (int n = 290; n >= 240; n -= 10) {
        MUST(fct_session_prefill(one, prompt, n, &err));
        MUST(fct_session_prefill(two, prompt, n, &err));
        check_same(one, two);
        assert_int_equal(fct_session_describe(two).n_read, 1);
    }
    /* Farther back the file has nothing: it is read again, and right. */
    MUST(fct_session_prefill(one, prompt, 150, &err));
    MUST(fct_session_prefill(two, prompt, 150, &err));
    check_same(one, two);
    assert_int_equal(fct_session_describe(two).n_reused, 0);
    fct_session_free(one);
    fct_session_free(two);
}

/* Positions behind the end were written before the session went back; the file knows nothing of
 * them, nor of marks. */
static void a_session_that_went_back_is_saved_as_it_stands(void **state) {
    (void)state;
    fct_session *one = session_of(400, 32, 1, FCT_KV_AUTO),
                *two = session_of(400, 1, 1, FCT_KV_AUTO);
    MUST(fct_session_prefill(one, prompt, 200, &err));
    MUST(fct_session_prefill(two, prompt + 5, 60, &err));
    fct_session_mark(two);
    fct_session_rewind(one, 180);
    load(two, saved(one, 170, "s.session"));
    append_both(one, two, 170, 200);
    MUST(fct_session_prefill(one, prompt, 60, &err));
    MUST(fct_session_prefill(two, prompt, 60, &err));
    check_same(one, two);
    fct_session_free(one);
    fct_session_free(two);
}

/* What a rewind has cost the rings is not in the cache, and not in the file; the ids are. */
static void ids_without_keys_and_values_are_read_when_the_session_goes_on(void **state) {
    (void)state;
    const char *path = made_path("s.session");
    fct_session *one = session_of(400, 32, 1, FCT_KV_AUTO),
                *two = session_of(400, 400, 1, FCT_KV_AUTO);
    MUST(fct_session_prefill(one, prompt, 400, &err));
    fct_session_rewind(one, 100);
    MUST(fct_session_save(one, path, CONVERSATION, &err));
    load(two, made_path("s.session"));
    assert_int_equal(fct_session_describe(two).n_tokens, 100);
    assert_int_equal(fct_session_describe(two).n_reused, 0);
    append_both(one, two, 100, 103);
    fct_session_free(one);
    fct_session_free(two);
}

static void another_kind_of_cache_reads_the_ids_again(void **state) {
    (void)state;
    static const struct {
        fct_kv kv;
        fct_activations activations;
    } kinds[] = {{FCT_KV_Q8, FCT_ACTIVATIONS_Q8},
                 {FCT_KV_F32, FCT_ACTIVATIONS_Q8},
                 {FCT_KV_F16, FCT_ACTIVATIONS_F32}};
    fct_session *one = session_of(400, 64, 1, FCT_KV_F16);
    saved(one, 100, "s.session");
    for (int i = 0; i < 3; i++) {
        fct_session_options options = {
            .context = 400, .kv = kinds[i].kv, .activations = kinds[i].activations};
        fct_session *two = made_session(model, &options), *cold = made_session(model, &options);
        load(two, made_path("s.session"));
        assert_int_equal(fct_session_describe(two).n_tokens, 100);
        assert_int_equal(fct_session_describe(two).n_reused, 0);
        MUST(fct_session_prefill(cold, prompt, 100, &err));
        append_both(two, cold, 100, 103);
        fct_session_free(two);
        fct_session_free(cold);
    }
    fct_session_free(one);
}

static void a_session_without_a_conversation_gives_none(void **state) {
    (void)state;
    const char *path = made_path("dense.session");
    fct_model *dense = made_model("two-kv-heads", "q8", NULL);
    fct_session *one = made_session(dense, &(fct_session_options){.context = 60}),
                *two = made_session(dense, &(fct_session_options){.context = 100});
    MUST(fct_session_prefill(one, prompt, 50, &err));
    MUST(fct_session_save(one, made_path("dense.session"), NULL, &err));
    char *conversation = "not touched";
    path = made_path("dense.session");
    MUST(fct_session_load(two, path, &conversation, &err));
    assert_null(conversation);
    MUST(fct_session_append(one, 9, &err));
    MUST(fct_session_append(two, 9, &err));
    assert_memory_equal(fct_session_logits(one), fct_session_logits(two), VOCAB * sizeof(float));
    fct_session_free(one);
    fct_session_free(two);
    fct_model_free(dense);
}

/* The session that a refused file was to go into. */
static fct_session *bystander(void) {
    fct_session *session = session_of(100, 32, 1, FCT_KV_AUTO);
    MUST(fct_session_prefill(session, prompt + 1, 40, &err));
    return session;
}

static void check_untouched(fct_session *session) {
    fct_session *same = bystander();
    assert_int_equal(fct_session_describe(session).n_tokens, 40);
    append_both(session, same, 50, 52);
    assert_int_equal(fct_session_describe(session).n_reused, 41);
    fct_session_free(same);
}

static void what_does_not_fit_is_refused_with_both_numbers(void **state) {
    (void)state;
    char *conversation;
    fct_session *one = session_of(400, 64, 1, FCT_KV_AUTO), *small = bystander();
    saved(one, 101, "s.session");
    assert_int_equal(fct_session_load(small, made_path("s.session"), &conversation, &err),
                     FCT_ERR_CONTEXT);
    assert_non_null(strstr(err.message, "101"));
    assert_non_null(strstr(err.message, "100"));
    assert_string_equal(conversation, CONVERSATION);
    fct_free(conversation);
    check_untouched(small);
    fct_session_free(one);
    fct_session_free(small);
}

static void a_session_of_another_model_is_refused_by_name(void **state) {
    (void)state;
    char *conversation;
    fct_session *one = session_of(400, 64, 1, FCT_KV_AUTO),
                *foreign = made_session(other, &(fct_session_options){.context = 400});
    saved(one, 20, "s.session");
    assert_int_equal(fct_session_load(foreign, made_path("s.session"), &conversation, &err),
                     FCT_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "another model"));
    assert_non_null(strstr(err.message, "e2b-like"));
    assert_string_equal(conversation, CONVERSATION);
    assert_int_equal(fct_session_describe(foreign).n_tokens, 0);
    fct_free(conversation);
    fct_session_free(one);
    fct_session_free(foreign);
}

static void other_files_are_no_sessions(void **state) {
    (void)state;
    char *conversation;
    fct_session *session = bystander();
    assert_int_equal(fct_session_load(session, "/nowhere/at.all", &conversation, &err), FCT_ERR_IO);
    assert_int_equal(fct_session_load(session, made_path("e2b-like-q4.facet"), &conversation, &err),
                     FCT_ERR_FORMAT);
    assert_non_null(strstr(err.message, "not a saved session"));
    assert_null(conversation);
    check_untouched(session);
    fct_session_free(session);
}

static void a_conversation_that_is_no_json_is_not_written(void **state) {
    (void)state;
    fct_session *one = session_of(100, 64, 1, FCT_KV_AUTO);
    const char *path = made_path("bad.session");
    assert_int_equal(fct_session_save(one, path, "{\"messages\": [", &err), FCT_ERR_ARGUMENT);
    assert_int_equal(access(path, F_OK), -1);
    fct_session_free(one);
}

/* The bytes of a saved session of 40 tokens. */
static uint8_t *saved_bytes(size_t *size) {
    fct_session *one = session_of(400, 64, 1, FCT_KV_AUTO);
    FILE *file = fopen(saved(one, 40, "s.session"), "rb");
    static uint8_t bytes[1 << 20];
    *size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    fct_session_free(one);
    assert_in_range(*size, 1000, sizeof bytes - 1);
    uint8_t *copy = malloc(*size);
    memcpy(copy, bytes, *size);
    return copy;
}

/* Refused, with a message; what is given back of the conversation is the conversation. */
static bool refused(fct_session *session, const uint8_t *bytes, size_t size) {
    char *conversation;
    uint8_t *exact = malloc(size + !size); /* so that a sanitizer sees its end */
    memcpy(exact, bytes, size);
    err = (fct_error){0};
    fct_status status =
        fct_session_load_memory(session, "damaged", exact, size, &conversation, &err);
    free(exact);
    assert_int_not_equal(status, FCT_OK);
    assert_int_equal(err.code, status);
    assert_non_null(strstr(err.message, "damaged"));
    bool read = conversation && strcmp(conversation, CONVERSATION) == 0;
    fct_free(conversation);
    return read;
}

static void a_cut_file_is_refused_and_its_conversation_read(void **state) {
    (void)state;
    size_t size, header = 8;
    uint8_t *bytes = saved_bytes(&size);
    fct_session *session = bystander();
    for (int i = 0; i < 2; i++) header += (size_t)bytes[i] << 8 * i;
    const uint8_t *behind = memmem(bytes, header, "\"model\":", 8);
    assert_non_null(behind);
    size_t whole = (size_t)(behind - bytes) - 1; /* up to the closing quote */
    for (size_t cut = 0; cut <= header; cut++)
        assert_int_equal(refused(session, bytes, cut), cut >= whole);
    for (size_t cut = header + 1; cut < size; cut += 997) assert_true(refused(session, bytes, cut));
    check_untouched(session);
    fct_session_free(session);
    free(bytes);
}

static void any_changed_byte_is_noticed(void **state) {
    (void)state;
    size_t size, header = 8, n_read = 0, n = 0;
    uint8_t *bytes = saved_bytes(&size);
    fct_session *session = bystander();
    for (int i = 0; i < 2; i++) header += (size_t)bytes[i] << 8 * i;
    for (size_t at = 0; at < size; at += at < header ? 1 : 499) {
        uint8_t was = bytes[at];
        bytes[at] ^= (uint8_t)(1 + at % 255);
        n_read += refused(session, bytes, size);
        bytes[at] = was;
        n++;
    }
    assert_true(n_read > n - 2 * sizeof CONVERSATION - 40 && n_read < n);
    check_untouched(session);
    fct_session_free(session);
    free(bytes);
}

/* Saves one and two in turn under the same name, for ever. */
static void save_for_ever(const fct_session *one, const fct_session *two, const char *path) {
    for (;;)
        if (fct_session_save(one, path, "1", NULL) || fct_session_save(two, path, "2", NULL))
            _exit(1);
}

static void a_killed_save_leaves_the_old_session_or_the_new_one(void **state) {
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", made_path("killed.session"));
    fct_session *one = session_of(400, 64, 1, FCT_KV_F32),
                *two = session_of(400, 64, 1, FCT_KV_F32),
                *back = session_of(400, 64, 1, FCT_KV_F32);
    MUST(fct_session_prefill(one, prompt, 300, &err));
    MUST(fct_session_prefill(two, prompt, 350, &err));
    MUST(fct_session_save(one, path, "1", &err));
    for (int round = 0; round < 40; round++) {
        char *conversation;
        pid_t child = fork();
        if (child == 0) save_for_ever(one, two, path);
        usleep((useconds_t)(500 + round * 331 % 9000));
        kill(child, SIGKILL);
        int status;
        waitpid(child, &status, 0);
        assert_true(WIFSIGNALED(status));
        MUST(fct_session_load(back, path, &conversation, &err));
        int n = fct_session_describe(back).n_tokens;
        assert_string_equal(conversation, n == 300 ? "1" : "2");
        assert_true(n == 300 || n == 350);
        fct_free(conversation);
    }
    MUST(fct_session_save(two, path, "2", &err)); /* the leftover of the last is no obstacle */
    fct_session_free(one);
    fct_session_free(two);
    fct_session_free(back);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loaded_session_goes_on_with_the_same_bits),
        cmocka_unit_test(going_back_a_little_reads_nothing_again),
        cmocka_unit_test(a_session_that_went_back_is_saved_as_it_stands),
        cmocka_unit_test(ids_without_keys_and_values_are_read_when_the_session_goes_on),
        cmocka_unit_test(another_kind_of_cache_reads_the_ids_again),
        cmocka_unit_test(a_session_without_a_conversation_gives_none),
        cmocka_unit_test(what_does_not_fit_is_refused_with_both_numbers),
        cmocka_unit_test(a_session_of_another_model_is_refused_by_name),
        cmocka_unit_test(other_files_are_no_sessions),
        cmocka_unit_test(a_conversation_that_is_no_json_is_not_written),
        cmocka_unit_test(a_cut_file_is_refused_and_its_conversation_read),
        cmocka_unit_test(any_changed_byte_is_noticed),
        cmocka_unit_test(a_killed_save_leaves_the_old_session_or_the_new_one),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
