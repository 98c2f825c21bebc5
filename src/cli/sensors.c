/* sensors.c - reads temperatures, clocks and throttling from sysfs and the firmware of a Pi. */
#include "cli/sensors.h"

#include <ctype.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/file.h"
#include "cli/command_output.h"

enum { SMALL = 1 << 16 };
#define VCGENCMD_SECONDS 5.0

char *fct_system_text(const char *root, const char *path) {
    struct fct_text full = {0};
    fct_text_printf(&full, "%s%s", root, path);
    char *name = fct_text_finish(&full, NULL, NULL);
    size_t n = 0;
    char *text = name ? fct_file_read(name, SMALL, &n, NULL) : NULL;
    fct_free(name);
    while (text && n > 0 && (text[n - 1] == 0 || isspace((unsigned char)text[n - 1])))
        text[--n] = 0;
    return text;
}

long long fct_system_number(const char *root, const char *path, long long otherwise) {
    char *text = fct_system_text(root, path), *end = text;
    long long value = text ? strtoll(text, &end, 10) : 0;
    bool read = text && end != text;
    fct_free(text);
    return read ? value : otherwise;
}

char *fct_vcgencmd(const char *root, const char *word) {
    if (!*root) {
        const char *const argv[] = {"vcgencmd", word, NULL};
        return fct_command_output(argv, VCGENCMD_SECONDS, NULL);
    }
    char path[128];
    snprintf(path, sizeof path, "/vcgencmd/%s", word);
    return fct_system_text(root, path);
}

bool fct_throttle_parse(const char *text, unsigned *bits) {
    const char *at = strstr(text, "throttled=");
    at = at ? at + strlen("throttled=") : text;
    char *end;
    while (isspace((unsigned char)*at)) at++;
    if (!isxdigit((unsigned char)*at)) return false;
    unsigned long value = strtoul(at, &end, 16);
    while (isspace((unsigned char)*end)) end++;
    if (*end || value > 0xFFFFFFFFu) return false;
    *bits = (unsigned)value;
    return true;
}

const char *fct_throttle_words(unsigned bits, char words[96]) {
    static const char *const names[] = {"under-voltage", "clock capped", "throttled",
                                        "soft temperature limit"};
    size_t n = 0;
    words[0] = 0;
    for (int i = 0; i < 4; i++)
        if (bits & 1u << i)
            n += (size_t)snprintf(words + n, 96 - n, "%s%s", n ? ", " : "", names[i]);
    return words;
}

/* Calls each(user, root, path) for every path below root that matches; paths come without root. */
static void for_each(const char *root, const char *pattern,
                     void (*each)(void *user, const char *root, const char *path), void *user) {
    struct fct_text full = {0};
    fct_text_printf(&full, "%s%s", root, pattern);
    char *whole = fct_text_finish(&full, NULL, NULL);
    glob_t found;
    if (whole && glob(whole, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++)
            each(user, root, found.gl_pathv[i] + strlen(root));
        globfree(&found);
    }
    fct_free(whole);
}

/* The number in the file `name` beside path. */
static long long beside(const char *root, const char *path, const char *name, long long otherwise) {
    char other[512];
    const char *slash = strrchr(path, '/');
    snprintf(other, sizeof other, "%.*s/%s", (int)(slash - path), path, name);
    return fct_system_number(root, other, otherwise);
}

/* ---- temperature ---- */

/* Zones that are the CPU's, or the whole chip's: not those of disks, radios and batteries. */
static bool is_cpu_zone(const char *type) {
    static const char *const names[] = {"cpu", "soc", "x86_pkg_temp", "k10temp", "acpitz", "pkg"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strstr(type, names[i])) return true;
    return false;
}

static void warmest_zone(void *user, const char *root, const char *path) {
    double *celsius = user;
    char *type = fct_system_text(root, path);
    bool counts = type && is_cpu_zone(type);
    fct_free(type);
    long long thousandths = counts ? beside(root, path, "temp", -1) : -1;
    /* Sensors that are switched off say 0, or something absurd. */
    if (thousandths > 0 && thousandths < 200000) *celsius = fmax(*celsius, thousandths / 1000.0);
}

static void warmest_chip(void *user, const char *root, const char *path) {
    double *celsius = user;
    char *name = fct_system_text(root, path);
    bool counts = name && (!strcmp(name, "coretemp") || !strcmp(name, "k10temp") ||
                           !strcmp(name, "zenpower") || !strcmp(name, "cpu_thermal"));
    fct_free(name);
    long long thousandths = counts ? beside(root, path, "temp1_input", -1) : -1;
    if (thousandths > 0 && thousandths < 200000) *celsius = fmax(*celsius, thousandths / 1000.0);
}

static double temperature(const char *root) {
    double celsius = -INFINITY;
    for_each(root, "/sys/class/thermal/thermal_zone*/type", warmest_zone, &celsius);
    for_each(root, "/sys/class/hwmon/hwmon*/name", warmest_chip, &celsius);
    if (celsius > 0) return celsius;
    char *text = fct_vcgencmd(root, "measure_temp"); /* temp=51.6'C */
    const char *at = text ? strstr(text, "temp=") : NULL;
    double value = at ? strtod(at + 5, NULL) : NAN;
    fct_free(text);
    return value > 0 && value < 200 ? value : NAN;
}

/* ---- clock ---- */

static void fastest(void *user, const char *root, const char *path) {
    double *hz = user;
    long long khz = fct_system_number(root, path, -1);
    if (khz > 0) *hz = fmax(*hz, (double)khz * 1000);
}

static double clock_of(const char *root, const char *pattern) {
    double hz = -INFINITY;
    for_each(root, pattern, fastest, &hz);
    return hz > 0 ? hz : NAN;
}

void fct_governor_read(const char *root, struct fct_governor *out) {
    static const char folder[] = "/sys/devices/system/cpu/cpu0/cpufreq";
    char path[96];
    *out = (struct fct_governor){.name = ""};
    snprintf(path, sizeof path, "%s/scaling_governor", folder);
    char *name = fct_system_text(root, path);
    snprintf(path, sizeof path, "%s/scaling_driver", folder);
    char *driver = fct_system_text(root, path);
    snprintf(out->name, sizeof out->name, "%.31s", name ? name : "");
    snprintf(out->driver, sizeof out->driver, "%.31s", driver ? driver : "");
    bool own_mind = !strcmp(out->driver, "intel_pstate") || !strcmp(out->driver, "amd-pstate-epp");
    out->slow = !strcmp(out->name, "powersave") && !own_mind;
    fct_free(name);
    fct_free(driver);
}

/* ---- throttling ---- */

static void firmware_bits(void *user, const char *root, const char *path) {
    struct fct_sensors *out = user;
    char *text = fct_system_text(root, path);
    if (text && fct_throttle_parse(text, &out->throttle)) out->throttle_known = true;
    fct_free(text);
}

/* On a Pi: the driver's file, which anybody may read, else the command. */
static void ask_firmware(const char *root, struct fct_sensors *out) {
    for_each(root, "/sys/devices/platform/soc*/*firmware/get_throttled", firmware_bits, out);
    for_each(root, "/sys/devices/platform/soc*/soc*/*firmware/get_throttled", firmware_bits, out);
    if (out->throttle_known) return;
    char *text = fct_vcgencmd(root, "get_throttled");
    if (text && fct_throttle_parse(text, &out->throttle)) out->throttle_known = true;
    fct_free(text);
}

/* A cooling device that takes CPU clocks away, now. */
static void cooling(void *user, const char *root, const char *path) {
    struct fct_sensors *out = user;
    char *type = fct_system_text(root, path);
    bool of_cpu = type && (strstr(type, "cpufreq") || strstr(type, "Processor"));
    fct_free(type);
    if (!of_cpu) return;
    out->throttle_known = true;
    if (beside(root, path, "cur_state", 0) > 0) out->throttle |= FCT_CAPPED;
}

static void count_events(void *user, const char *root, const char *path) {
    struct fct_sensors *out = user;
    long long n = fct_system_number(root, path, -1);
    if (n < 0) return;
    out->n_throttled = (out->n_throttled < 0 ? 0 : out->n_throttled) + n;
    out->throttle_known = true;
}

void fct_sensors_read(const char *root, struct fct_sensors *out) {
    *out = (struct fct_sensors){.n_throttled = -1};
    out->celsius = temperature(root);
    out->clock_hz = clock_of(root, "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq");
    out->max_clock_hz =
        clock_of(root, "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/cpuinfo_max_freq");
    ask_firmware(root, out);
    for_each(root, "/sys/class/thermal/cooling_device*/type", cooling, out);
    for_each(root, "/sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/*_throttle_count",
             count_events, out);
}
