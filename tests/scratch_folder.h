/* scratch_folder.h - a folder of its own for each test that writes files. */
#ifndef TESTS_SCRATCH_FOLDER_H
#define TESTS_SCRATCH_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char scratch_folder[64];

/* Set-up and tear-down of cmocka. */
static inline int scratch_make(void **state) {
    (void)state;
    strcpy(scratch_folder, "/tmp/facet_test_XXXXXX");
    return mkdtemp(scratch_folder) ? 0 : -1;
}

static inline int scratch_remove(void **state) {
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", scratch_folder);
    return system(command);
}

#define SCRATCH_TEST(test) cmocka_unit_test_setup_teardown(test, scratch_make, scratch_remove)

/* The path of a file in it; eight of them live at a time. */
static inline const char *scratch_path(const char *name) {
    static char paths[8][1024];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", scratch_folder, name);
    return path;
}

static inline const char *scratch_put(const char *name, const void *bytes, size_t n_bytes) {
    const char *path = scratch_path(name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, n_bytes, file) != n_bytes || fclose(file)) abort();
    return path;
}

#endif
