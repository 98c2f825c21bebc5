/* schema_place.c - the way to a schema within the schema: told in messages, followed for $ref. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/schema_compiler.h"

void fct_schema_place_text(const struct fct_schema_place *place, char *out, size_t size) {
    if (!place->above) {
        snprintf(out, size, "%s", place->name);
        return;
    }
    fct_schema_place_text(place->above, out, size);
    size_t n = strlen(out);
    if (place->name)
        snprintf(out + n, size - n, "/%s", place->name);
    else
        snprintf(out + n, size - n, "/%zu", place->index);
}

/* The next character of a pointer's step, with ~0, ~1 and %XX read; 0 if that is wrong. */
static char next_character(const char **pointer) {
    const char *at = *pointer;
    char c = *at++;
    if (c == '~') {
        c = *at == '0' ? '~' : *at == '1' ? '/' : 0;
        at += c != 0;
    } else if (c == '%') {
        bool good = isxdigit((unsigned char)at[0]) && isxdigit((unsigned char)at[1]);
        c = good ? (char)strtol((char[]){at[0], at[1], 0}, NULL, 16) : 0;
        at += good ? 2 : 0;
    }
    *pointer = at;
    return c;
}

static const json_t *member(const json_t *parent, const char *name) {
    char *end;
    if (!json_is_array(parent)) return json_object_get(parent, name);
    size_t index = strtoul(name, &end, 10);
    return *name && !*end ? json_array_get(parent, index) : NULL;
}

const json_t *fct_schema_resolve(const json_t *root, const char *pointer) {
    const json_t *at = root;
    if (*pointer++ != '#') return NULL;
    while (at && *pointer) {
        char name[256];
        size_t n = 0;
        if (*pointer++ != '/') return NULL;
        while (*pointer && *pointer != '/') {
            char c = next_character(&pointer);
            if (!c || n + 1 == sizeof name) return NULL;
            name[n++] = c;
        }
        name[n] = 0;
        at = member(at, name);
    }
    return at;
}
