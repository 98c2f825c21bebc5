/* machine_facts.c - names of board, CPU and kernel, from proc. */
#include "cli/machine_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/threads.h"
#include "cli/sensors.h"
#include "cli/tame.h"

/* What stands behind "key : " in the first line that begins so; "" if there is none. */
static void field(const char *text, const char *key, char *value, size_t size) {
    value[0] = 0;
    const char *at = text ? strstr(text, key) : NULL;
    if (!at) return;
    at += strlen(key);
    at += strspn(at, " \t:");
    char line[256];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
    fct_tame_copy(value, size, line);
}

static void read_name(const char *root, char *name, size_t size) {
    char *board = fct_system_text(root, "/proc/device-tree/model");
    if (board && *board) {
        fct_tame_copy(name, size, board);
    } else {
        char *cpus = fct_system_text(root, "/proc/cpuinfo");
        field(cpus, "model name", name, size);
        fct_free(cpus);
    }
    fct_free(board);
}

void fct_machine_facts_read(const char *root, struct fct_machine_facts *out) {
    struct utsname system;
    char kilobytes[32];
    *out = (struct fct_machine_facts){.n_cpus = fct_cpu_count()};
    read_name(root, out->name, sizeof out->name);
    char *release = fct_system_text(root, "/proc/sys/kernel/osrelease");
    if (uname(&system) == 0) snprintf(out->architecture, 32, "%.31s", system.machine);
    if (release) fct_tame_copy(out->kernel, sizeof out->kernel, release);
    char *memory = fct_system_text(root, "/proc/meminfo");
    field(memory, "MemTotal", kilobytes, sizeof kilobytes);
    out->memory_bytes = strtoull(kilobytes, NULL, 10) * 1024;
    out->page_bytes = sysconf(_SC_PAGESIZE);
    fct_free(release);
    fct_free(memory);
}
