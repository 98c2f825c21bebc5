/* machine_tree.h - a folder that stands for a machine: files of sysfs and answers of vcgencmd. */
#ifndef TESTS_MACHINE_TREE_H
#define TESTS_MACHINE_TREE_H

#include <sys/stat.h>

#include "scratch_folder.h"

/* The file of the machine in scratch_folder holds text. */
static inline void machine_has(const char *path, const char *text) {
    char folder[1024];
    const char *full = scratch_path(path);
    strcpy(folder, full);
    for (char *slash = folder + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = 0;
        mkdir(folder, 0755);
    }
    FILE *file = fopen(full, "w");
    if (!file || fputs(text, file) < 0 || fclose(file)) abort();
}

#endif
