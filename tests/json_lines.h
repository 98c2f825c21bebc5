/* json_lines.h - for tests: the values of a .jsonl file of tests/data, one a line. */
#ifndef FCT_TESTS_JSON_LINES_H
#define FCT_TESTS_JSON_LINES_H

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/exact_json.h"

/* Calls each(line number, value) for every line of TEST_DATA/name; returns how many there were. */
static inline int for_each_line(const char *name, void (*each)(int line, const json_t *value)) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", TEST_DATA, name);
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t capacity = 0;
    int line = 0;
    if (!file) return 0;
    for (ssize_t n; (n = getline(&text, &capacity, file)) > 0;) {
        fct_error err = {0};
        json_t *value = fct_json_read(text, (size_t)n, name, &err);
        if (!value) fprintf(stderr, "%s:%d: %s\n", path, line + 1, err.message);
        if (!value) abort();
        each(++line, value);
        json_decref(value);
    }
    free(text);
    fclose(file);
    return line;
}

#endif
