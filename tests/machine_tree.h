/* machine_tree.h - a folder that stands for a machine: files of sysfs and answers of vcgencmd. */
#ifndef TESTS_MACHINE_TREE_H
#define TESTS_MACHINE_TREE_H

#include "scratch_folder.h"

/* The file of the machine in scratch_folder holds text. */
static inline void machine_has(const char *path, const char *text) {
    char command[1200];
    const char *full = scratch_path(path);
    snprintf(command, sizeof command, "mkdir -p \"$(dirname '%s')\"", full);
    if (system(command) != 0) abort();
    FILE *file = fopen(full, "w");
    if (!file || fputs(text, file) < 0 || fclose(file)) abort();
}

#endif
