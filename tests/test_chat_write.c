/* test_chat_write.c - conversations are written as the published chat template writes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "json_lines.h"
#include "text/chat.h"

/* The text of a request {"messages", "tools", "kwargs"}, the caller's; NULL: err says why. */
static char *written(enum fct_chat_format format, const char *request, fct_error *err) {
    json_t *value = fct_json_read(request, strlen(request), "request", err);
    if (!value) return NULL;
    struct fct_rendering rendering;
    fct_status status =
        fct_chat_write(format, json_object_get(value, "messages"), json_object_get(value, "tools"),
                       json_object_get(value, "kwargs"), &rendering, err);
    json_decref(value);
    return status ? NULL : fct_text_finish(&rendering.text, NULL, err);
}

static void check_vector(int line, const json_t *vector) {
    struct fct_rendering rendering;
    fct_error err = {0};
    const json_t *text = json_object_get(vector, "text");
    if (fct_chat_write(FCT_CHAT_GEMMA4, json_object_get(vector, "messages"),
                       json_object_get(vector, "tools"), json_object_get(vector, "kwargs"),
                       &rendering, &err))
        fail_msg("line %d: %s", line, err.message);
    if (rendering.text.size != json_string_length(text) ||
        memcmp(rendering.text.data, json_string_value(text), rendering.text.size))
        fail_msg("line %d:\nis     %s\nshould %s", line, rendering.text.data,
                 json_string_value(text));
    fct_rendering_free(&rendering);
}

static void every_vector_is_written_byte_for_byte(void **state) {
    (void)state;
    assert_int_equal(for_each_line("chat/chat_vectors.jsonl", check_vector), 127);
    (void)written;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_vector_is_written_byte_for_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
