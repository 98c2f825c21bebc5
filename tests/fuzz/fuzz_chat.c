/* fuzz_chat.c - libFuzzer target: any bytes as a request to the chat format, and as an answer.
 *
 * Built with clang -g -O1 -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -Isrc -Iinclude, from
 * this file, the sources of src/text and of src/base, and jansson. Seeds: the lines of
 * tests/data/chat, one a file. */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "text/answer.h"
#include "text/chat.h"
#include "text/exact_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A request that is accepted gives valid UTF-8, cut into segments without holes. */
static void write_request(const char *text, size_t n_bytes, enum fct_chat_format format) {
    json_t *request = fct_json_read(text, n_bytes, "request", NULL);
    struct fct_rendering out;
    if (request && fct_chat_write(format, json_object_get(request, "messages"),
                                  json_object_get(request, "tools"),
                                  json_object_get(request, "kwargs"), &out, NULL) == FCT_OK) {
        if (!fct_utf8_valid(out.text.data, out.text.size) ||
            out.segments[out.n_segments - 1].end != out.text.size)
            abort();
        fct_rendering_free(&out);
    }
    json_decref(request);
}

static bool check(void *user, const struct fct_answer_event *event) {
    (void)user;
    if (!fct_utf8_valid(event->text, event->n_bytes) || event->n_bytes == 0) abort();
    return true;
}

static void read_answer(const char *text, size_t n_bytes) {
    fct_answer_reader *reader = fct_answer_reader_new(false, check, NULL, NULL);
    if (reader && fct_answer_reader_push_names(reader, text, n_bytes, NULL) == FCT_OK)
        fct_answer_reader_finish(reader, NULL);
    fct_answer_reader_free(reader);
    char warning[256];
    json_t *message = fct_chat_read("<|turn>model\n", text, warning, NULL);
    if (!message || !fct_utf8_valid(warning, strlen(warning))) abort();
    json_decref(message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t n_bytes;
    char *text = fct_utf8_repair((const char *)data, size, &n_bytes, NULL, NULL);
    write_request(text, n_bytes, FCT_CHAT_GEMMA4);
    write_request(text, n_bytes, FCT_CHAT_GEMMA3);
    read_answer(text, n_bytes);
    fct_free(text);
    return 0;
}
