/* fuzz_session.c - whatever a saved session says, it is refused with a message, or the session that
 * takes it can go on. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "engine/session_file.h"
#include "pack/checksum.h"
#include "pack/layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const fct_model *model;
static fct_session *session;

static void set_up(void) {
    model = fct_model_open(NULL, NULL, NULL);
    session = fct_session_new(model, &(fct_session_options){.context = 64, .batch = 8}, NULL);
    if (!session) abort();
}

static void load(const uint8_t *data, size_t size) {
    fct_error err = {0};
    char *conversation;
    fct_status status = fct_session_load_memory(session, "fuzz", data, size, &conversation, &err);
    if (conversation) free(conversation);
    if (status != FCT_OK) {
        if (!err.message[0] || err.code != status) abort();
        return;
    }
    fct_session_info info = fct_session_describe(session);
    if (info.n_tokens > info.context || info.n_reused > info.n_tokens) abort();
    status = fct_session_append(session, 1, &err); /* of any numbers: infinite ones are told */
    if (status != FCT_OK && status != FCT_ERR_CONTEXT && status != FCT_ERR_NUMERIC) abort();
}

static void put(char *header, size_t n_bytes, const char *key, const char *digits) {
    size_t position;
    if (fct_checksum_find(header, n_bytes, key, &position))
        memcpy(header + position, digits, FCT_CHECKSUM_DIGITS);
}

/* Makes the checksums right, so that what lies behind them is tried too. */
static void repair(uint8_t *data, size_t size) {
    uint64_t length = 0;
    char digits[FCT_CHECKSUM_DIGITS + 1];
    for (int i = 7; i >= 0 && size >= 8; i--) length = length << 8 | data[i];
    if (size < 8 || length > size - 8) return;
    char *header = (char *)data + 8;
    size_t n_bytes = (size_t)length;
    const fct_pack *pack = model->pack;
    put(header, n_bytes, "model_checksum", fct_pack_metadata(pack, FCT_KEY_CHECKSUM));
    put(header, n_bytes, "model_header_checksum", fct_pack_metadata(pack, FCT_KEY_HEADER_CHECKSUM));
    put(header, n_bytes, FCT_KEY_CHECKSUM, FCT_CHECKSUM_ZERO);
    put(header, n_bytes, FCT_KEY_HEADER_CHECKSUM, FCT_CHECKSUM_ZERO);
    uint64_t hash = XXH3_64bits(header, n_bytes);
    fct_checksum_text(XXH3_64bits(header + n_bytes, size - 8 - n_bytes), digits);
    put(header, n_bytes, FCT_KEY_CHECKSUM, digits);
    fct_checksum_text(hash, digits);
    put(header, n_bytes, FCT_KEY_HEADER_CHECKSUM, digits);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!session) set_up();
    load(data, size);
    uint8_t *copy = malloc(size + !size);
    if (!copy) abort();
    memcpy(copy, data, size);
    repair(copy, size);
    load(copy, size);
    free(copy);
    return 0;
}
