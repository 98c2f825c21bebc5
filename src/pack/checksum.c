/* checksum.c - the two checksums of a file of ours: as text, where they stand in its header, and
 * whether they are right. */
#include "pack/checksum.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/error.h"
#include "base/memory.h"
#include "pack/layout.h"

void fct_checksum_text(uint64_t hash, char text[FCT_CHECKSUM_DIGITS + 1]) {
    snprintf(text, FCT_CHECKSUM_DIGITS + 1, "%016llx", (unsigned long long)hash);
}

static size_t skip_space(const char *header, size_t n_bytes, size_t at) {
    while (at < n_bytes && strchr(" \t\r\n", header[at]) && header[at]) at++;
    return at;
}

bool fct_checksum_find(const char *header, size_t n_bytes, const char *key, size_t *position) {
    char quoted[64];
    int n = snprintf(quoted, sizeof quoted, "\"%s\"", key);
    for (size_t from = 0;;) {
        const char *found = memmem(header + from, n_bytes - from, quoted, (size_t)n);
        if (!found) return false;
        from = (size_t)(found - header) + (size_t)n;
        size_t at = skip_space(header, n_bytes, from);
        if (at >= n_bytes || header[at] != ':') continue;
        at = skip_space(header, n_bytes, at + 1);
        if (n_bytes - at < FCT_CHECKSUM_DIGITS + 2 || header[at] != '"') continue;
        if (header[at + 1 + FCT_CHECKSUM_DIGITS] != '"') continue;
        *position = at + 1;
        return true;
    }
}

static fct_status compare(const struct fct_safetensors *header, const char *path, const char *key,
                          const char *what, uint64_t hash, fct_error *err) {
    char text[FCT_CHECKSUM_DIGITS + 1];
    const char *stored = json_string_value(json_object_get(header->metadata, key));
    if (!stored) return fct_fail(err, FCT_ERR_FORMAT, "%s: its metadata has no %s", path, key);
    fct_checksum_text(hash, text);
    if (!strcmp(stored, text)) return FCT_OK;
    return fct_fail(err, FCT_ERR_FORMAT, "%s: %s is damaged: checksum %s, should be %s", path, what,
                    text, stored);
}

/* The header is hashed as it was before its checksums were put in. */
static fct_status verify_header(const struct fct_safetensors *header, const char *path,
                                const uint8_t *data, fct_error *err) {
    static const char *const keys[] = {FCT_KEY_CHECKSUM, FCT_KEY_HEADER_CHECKSUM};
    size_t n_bytes = (size_t)header->data_start - 8;
    char *text = fct_copy_text((const char *)data + 8, n_bytes, err);
    if (!text) return FCT_ERR_MEMORY;
    for (int i = 0; i < 2; i++) {
        size_t position;
        if (fct_checksum_find(text, n_bytes, keys[i], &position))
            memcpy(text + position, FCT_CHECKSUM_ZERO, FCT_CHECKSUM_DIGITS);
    }
    uint64_t hash = XXH3_64bits(text, n_bytes);
    fct_free(text);
    return compare(header, path, FCT_KEY_HEADER_CHECKSUM, "its header", hash, err);
}

fct_status fct_checksum_verify(const struct fct_safetensors *header, const char *path,
                               const uint8_t *data, fct_progress_fn progress, void *user,
                               fct_error *err) {
    enum { PIECE = 8 << 20 };
    fct_status status = verify_header(header, path, data, err);
    if (status) return status;
    size_t total = (size_t)(header->data_end - header->data_start);
    XXH3_state_t *state = XXH3_createState();
    if (!state) return fct_fail(err, FCT_ERR_MEMORY, "no memory for a checksum");
    XXH3_64bits_reset(state);
    for (size_t done = 0; done < total;) {
        size_t n = total - done < PIECE ? total - done : PIECE;
        XXH3_64bits_update(state, data + header->data_start + done, n);
        done += n;
        if (progress) progress(user, "checksum", done, total);
    }
    uint64_t hash = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return compare(header, path, FCT_KEY_CHECKSUM, "its data", hash, err);
}
