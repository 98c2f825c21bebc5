/* checksum.c - the two checksums of a packed file as text, and where they stand in its header. */
#include "pack/checksum.h"

#include <stdio.h>
#include <string.h>

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
