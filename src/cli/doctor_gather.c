/* doctor_gather.c - reads what /proc, /sys and the firmware tell of a machine. */
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cgroup.h"
#include "base/memory.h"
#include "cli/doctor.h"
#include "cli/doctor_cpu.h"

static void copy(char *out, size_t size, const char *text) {
    snprintf(out, size, "%s", text ? text : "");
}

/* The first bytes of a file that may be long; "" if there is none. The caller frees. */
static char *long_text(const char *root, const char *path) {
    enum { MOST = 1 << 22 };
    char full[512];
    struct fct_text text = {0};
    char piece[4096];
    snprintf(full, sizeof full, "%s%s", root, path);
    FILE *file = fopen(full, "re");
    for (size_t n = 1; file && n > 0 && text.size < MOST;) {
        n = fread(piece, 1, sizeof piece, file);
        fct_text_add(&text, piece, n);
    }
    if (file) fclose(file);
    fct_text_puts(&text, "");
    return fct_text_finish(&text, NULL, NULL);
}

static bool exists(const char *root, const char *path) {
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    return access(full, F_OK) == 0;
}

/* The rest of the line behind key at the start of a line, without white space and quotes around
 * it. */
static bool line_behind(const char *text, const char *key, char *out, size_t size) {
    size_t n = strlen(key);
    const char *at = text;
    while (at && strncmp(at, key, n) != 0) at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL;
    if (!at) return false;
    at += n + strspn(at + n, " \t:=\"");
    size_t length = strcspn(at, "\n");
    while (length > 0 && strchr(" \t\"", at[length - 1])) length--;
    snprintf(out, size, "%.*s", (int)length, at);
    return true;
}

/* ---- what it is ---- */

static int pi_of(const char *board) {
    static const struct {
        const char *name;
        int pi;
    } names[] = {{"Raspberry Pi 5", 5},     {"Compute Module 5", 5}, {"Raspberry Pi 4", 4},
                 {"Compute Module 4", 4},   {"Raspberry Pi 3", 3},   {"Compute Module 3", 3},
                 {"Raspberry Pi Zero 2", 3}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strstr(board, names[i].name)) return names[i].pi;
    return 0;
}

static void read_board(const char *root, const char *cpuinfo, struct fct_doctor_facts *out) {
    char *tree = fct_system_text(root, "/proc/device-tree/model");
    char *product = fct_system_text(root, "/sys/class/dmi/id/product_name");
    char *vendor = fct_system_text(root, "/sys/class/dmi/id/sys_vendor");
    if (tree)
        copy(out->board, sizeof out->board, tree);
    else if (!line_behind(cpuinfo, "Model\t", out->board, sizeof out->board) && product)
        snprintf(out->board, sizeof out->board, "%s%s%s", vendor ? vendor : "", vendor ? " " : "",
                 product);
    fct_free(tree);
    fct_free(product);
    fct_free(vendor);
    out->pi = pi_of(out->board);
}

static void read_system(const char *root, struct fct_doctor_facts *out) {
    char *release = fct_system_text(root, "/proc/sys/kernel/osrelease");
    copy(out->release, sizeof out->release, release);
    fct_free(release);
    char *system = fct_system_text(root, "/etc/os-release");
    if (system) line_behind(system, "PRETTY_NAME", out->system, sizeof out->system);
    fct_free(system);
    out->container = exists(root, "/.dockerenv") || exists(root, "/run/.containerenv") ||
                     exists(root, "/run/systemd/container");
}

/* ---- CPUs ---- */

static int count_cpus(const char *cpuinfo) {
    int n = 0;
    for (const char *at = cpuinfo; (at = strstr(at, "processor\t")); at++)
        n += at == cpuinfo || at[-1] == '\n';
    return n;
}

/* How many numbers are in a list as "0-3,8". */
static int count_list(const char *list) {
    int n = 0;
    for (const char *at = list; *at;) {
        char *end;
        long first = strtol(at, &end, 10), last = first;
        if (end == at) return n;
        if (*end == '-') last = strtol(end + 1, &end, 10);
        if (last >= first && last - first < 1 << 16) n += (int)(last - first) + 1;
        at = *end == ',' ? end + 1 : end;
        if (*end != ',') return n;
    }
    return n;
}

static int usable_cpus(const char *root, int n_cpus) {
    char list[256], mount[512];
    char *status = fct_system_text(root, "/proc/self/status");
    char *groups = fct_system_text(root, "/proc/self/cgroup");
    int n = n_cpus;
    if (status && line_behind(status, "Cpus_allowed_list", list, sizeof list)) n = count_list(list);
    snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
    int quota = groups ? fct_cgroup_cpus(groups, mount) : 0;
    fct_free(status);
    fct_free(groups);
    return quota && quota < n ? quota : n;
}

static void read_cpus(const char *root, const char *cpuinfo, struct fct_doctor_facts *out) {
    char flags[4096] = "";
    out->n_cpus = count_cpus(cpuinfo);
    out->n_usable = usable_cpus(root, out->n_cpus);
    if (!line_behind(cpuinfo, "model name", out->cpu, sizeof out->cpu))
        fct_doctor_arm_name(cpuinfo, out->cpu, sizeof out->cpu);
    if (!line_behind(cpuinfo, "Features", flags, sizeof flags))
        line_behind(cpuinfo, "flags", flags, sizeof flags);
    fct_doctor_features(flags, out->features, sizeof out->features);
    copy(out->best_kernels, sizeof out->best_kernels, fct_doctor_kernels_for(flags));
    out->virtual_machine = fct_has_word(flags, "hypervisor");
}

/* ---- memory ---- */

/* The swap that holds most. */
static void read_swap(const char *root, struct fct_storage *out) {
    char *swaps = fct_system_text(root, "/proc/swaps"), *rest = NULL;
    unsigned long long most = 0;
    for (char *line = swaps ? strtok_r(swaps, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest)) {
        char name[256];
        unsigned long long size;
        if (sscanf(line, "%255s %*s %llu", name, &size) != 2 || size <= most) continue;
        most = size;
        fct_storage_find(root, name, out);
    }
    fct_free(swaps);
}

static void read_pages(const char *root, struct fct_doctor_facts *out) {
    char size[32];
    char *maps = long_text(root, "/proc/self/smaps");
    if (maps && line_behind(maps, "KernelPageSize", size, sizeof size))
        out->page_bytes = atol(size) * 1024;
    else if (!*root)
        out->page_bytes = sysconf(_SC_PAGESIZE);
    fct_free(maps);
    char *enabled = fct_system_text(root, "/sys/kernel/mm/transparent_hugepage/enabled");
    const char *chosen = enabled ? strchr(enabled, '[') : NULL;
    if (chosen)
        snprintf(out->huge_pages, sizeof out->huge_pages, "%.*s", (int)strcspn(chosen + 1, "]"),
                 chosen + 1);
    fct_free(enabled);
    out->huge_page_bytes =
        (uint64_t)fct_system_number(root, "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", 0);
}

/* ---- banks of the SDRAM ---- */

static int count_nodes(const char *root) {
    char pattern[512];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/sys/devices/system/node/node[0-9]*", root);
    int n = glob(pattern, 0, NULL, &found) == 0 ? (int)found.gl_pathc : 0;
    if (n) globfree(&found);
    return n;
}

/* "timestamp 1733575368" of the firmware, or the four bytes that it left in the device tree. */
static long long bootloader_date(const char *root) {
    char number[32];
    char *version = fct_vcgencmd(root, "bootloader_version");
    bool told = version && line_behind(version, "timestamp", number, sizeof number);
    fct_free(version);
    if (told) return atoll(number);
    char full[512];
    unsigned char b[4];
    snprintf(full, sizeof full, "%s/proc/device-tree/chosen/bootloader/build-timestamp", root);
    FILE *file = fopen(full, "rbe");
    bool read = file && fread(b, 1, 4, file) == 4;
    if (file) fclose(file);
    return read ? (long long)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3] : 0;
}

static void read_banks(const char *root, const char *command_line, int pi,
                       struct fct_doctor_banks *out) {
    char number[32];
    const char *fake = strstr(command_line, "numa=fake=");
    *out = (struct fct_doctor_banks){.n_nodes = count_nodes(root), .banklow = -1};
    out->asked_nodes = fake ? atoi(fake + strlen("numa=fake=")) : 0;
    out->interleaved = strstr(command_line, "numa_policy=interleave") != NULL;
    if (!pi) return;
    char *config = fct_vcgencmd(root, "bootloader_config");
    out->bootloader_known = config != NULL;
    if (config && line_behind(config, "SDRAM_BANKLOW", number, sizeof number))
        out->banklow = atoi(number);
    fct_free(config);
    out->bootloader_date = bootloader_date(root);
}

/* ---- all of it ---- */

static double first_number(const char *root, const char *path) {
    char *text = fct_system_text(root, path), *end = text;
    double value = text ? strtod(text, &end) : 0;
    bool read = text && end != text;
    fct_free(text);
    return read ? value : NAN;
}

/* The last word counts: cgroup_enable=memory behind cgroup_disable=memory brings it back. */
static bool groups_off(const char *command_line) {
    const char *off = strstr(command_line, "cgroup_disable=memory");
    return off && !strstr(off, "cgroup_enable=memory");
}

void fct_doctor_gather(const char *root, const char *path, struct fct_doctor_facts *out) {
    *out = (struct fct_doctor_facts){.busy_clock_hz = NAN, .bandwidth = NAN};
    out->storage.bytes_per_second = out->swap.bytes_per_second = NAN;
    char *cpuinfo = long_text(root, "/proc/cpuinfo");
    char *command_line = fct_system_text(root, "/proc/cmdline");
    read_board(root, cpuinfo ? cpuinfo : "", out);
    read_system(root, out);
    read_cpus(root, cpuinfo ? cpuinfo : "", out);
    fct_memory_read(root, &out->memory);
    read_swap(root, &out->swap);
    read_pages(root, out);
    read_banks(root, command_line ? command_line : "", out->pi, &out->banks);
    out->memory_groups_off = groups_off(command_line ? command_line : "");
    fct_governor_read(root, &out->governor);
    fct_sensors_read(root, &out->sensors);
    out->allowed_clock_hz =
        first_number(root, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq") * 1000;
    out->load = first_number(root, "/proc/loadavg");
    fct_storage_find(root, path, &out->storage);
    fct_free(cpuinfo);
    fct_free(command_line);
}

/* Gemma 4 E2B in q4, a context of 8192 and four threads, as fct_model_needs has it, which looks at
 * shapes only: what a board is asked about before it has a model. */
void fct_doctor_typical(struct fct_doctor_model *out) {
    out->typical = true;
    out->bytes_per_token = 1282203648;
    out->needs = (fct_memory_needs){.weights = 1283349696,
                                    .tables = 2804416448,
                                    .rows = 16777216,
                                    .kv = 120004608,
                                    .scratch = 78005440,
                                    .together = 1498136960,
                                    .context = 8192};
}
