/* power_meter.c - a user's command, a Pi 5's PMIC, RAPL counters or a hwmon sensor as one meter. */
#include "cli/power_meter.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "cli/command_output.h"
#include "cli/energy.h"
#include "cli/sensors.h"

enum { MAX_PARTS = 16, MAX_RAILS = 32 };
#define COMMAND_SECONDS 5.0

/* A counter or sensor whose values add up with the others'. */
struct part {
    char path[128];
    uint64_t before, range; /* of a counter, in its unit */
};

struct fct_power_meter {
    enum fct_meter_kind kind;
    char *root, *command;
    char name[128];
    struct part parts[MAX_PARTS];
    int n_parts;
    double joules; /* counted since it was opened */
};

/* ---- text ---- */

struct rail {
    char name[32];
    double volts, amperes; /* NAN: not told */
};

static struct rail *rail_of(struct rail *rails, int *n, const char *name, size_t n_bytes) {
    for (int i = 0; i < *n; i++)
        if (strlen(rails[i].name) == n_bytes && !memcmp(rails[i].name, name, n_bytes))
            return &rails[i];
    if (*n == MAX_RAILS || n_bytes >= sizeof rails[0].name) return NULL;
    struct rail *rail = &rails[(*n)++];
    *rail = (struct rail){.volts = NAN, .amperes = NAN};
    memcpy(rail->name, name, n_bytes);
    return rail;
}

/* Lines " 3V7_WL_SW_A current(0)=0.00097633A" and " 3V7_WL_SW_V volt(8)=3.71465000V". A rail that
 * has only a voltage (EXT5V_V, BATT_V) tells no power. */
static void read_rail(struct rail *rails, int *n, const char *line) {
    char name[64], kind[16];
    double value;
    if (sscanf(line, " %63s %15[a-z](%*d)=%lf", name, kind, &value) != 3) return;
    size_t n_bytes = strlen(name);
    if (n_bytes < 3 || name[n_bytes - 2] != '_' || !isfinite(value)) return;
    struct rail *rail = rail_of(rails, n, name, n_bytes - 2);
    if (rail && !strcmp(kind, "volt")) rail->volts = value;
    if (rail && !strcmp(kind, "current")) rail->amperes = value;
}

double fct_pmic_watts(const char *text, int *n_rails) {
    struct rail rails[MAX_RAILS];
    int n = 0, n_full = 0;
    double watts = 0;
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        if (*line == '\n') line++;
        read_rail(rails, &n, line);
    }
    for (int i = 0; i < n; i++) {
        double product = rails[i].volts * rails[i].amperes;
        if (!isfinite(product)) continue;
        watts += product;
        n_full++;
    }
    if (n_rails) *n_rails = n_full;
    return n_full > 0 ? watts : NAN;
}

double fct_watts_parse(const char *text) {
    for (const char *at = text; *at; at++) {
        bool digit = isdigit((unsigned char)*at);
        if (!digit && !(*at == '.' && isdigit((unsigned char)at[1]))) continue;
        double watts = strtod(at, NULL);
        bool negative = at > text && at[-1] == '-';
        return negative || !isfinite(watts) ? NAN : watts;
    }
    return NAN;
}

/* ---- the four kinds ---- */

static double ask_command(const fct_power_meter *meter) {
    const char *const argv[] = {"sh", "-c", meter->command, NULL};
    char *text = fct_command_output(argv, COMMAND_SECONDS, NULL);
    double watts = text ? fct_watts_parse(text) : NAN;
    fct_free(text);
    return watts;
}

static double ask_pmic(const fct_power_meter *meter, int *n_rails) {
    char *text = fct_vcgencmd(meter->root, "pmic_read_adc");
    double watts = text ? fct_pmic_watts(text, n_rails) : NAN;
    fct_free(text);
    return watts;
}

static double count_rapl(fct_power_meter *meter) {
    for (int i = 0; i < meter->n_parts; i++) {
        struct part *part = &meter->parts[i];
        long long now = fct_system_number(meter->root, part->path, -1);
        if (now < 0) return NAN;
        meter->joules += (double)fct_counter_step(part->before, (uint64_t)now, part->range) * 1e-6;
        part->before = (uint64_t)now;
    }
    return meter->joules;
}

static double ask_hwmon(const fct_power_meter *meter) {
    double watts = 0;
    for (int i = 0; i < meter->n_parts; i++) {
        long long microwatts = fct_system_number(meter->root, meter->parts[i].path, -1);
        if (microwatts < 0) return NAN;
        watts += (double)microwatts * 1e-6;
    }
    return watts;
}

double fct_power_meter_read(fct_power_meter *meter) {
    switch (meter->kind) {
    case FCT_METER_COMMAND:
        return ask_command(meter);
    case FCT_METER_PMIC:
        return ask_pmic(meter, NULL);
    case FCT_METER_RAPL:
        return count_rapl(meter);
    case FCT_METER_HWMON:
        return ask_hwmon(meter);
    }
    return NAN;
}

/* ---- which are there ---- */

static void add_name(fct_power_meter *meter, const char *name) {
    size_t n = strlen(meter->name);
    snprintf(meter->name + n, sizeof meter->name - n, "%s%s", meter->n_parts ? ", " : "", name);
}

/* A zone of RAPL: a package, or the memory beside it. The cores are part of their package, and the
 * whole platform (psys) holds both. */
static void find_zone(fct_power_meter *meter, const char *zone, bool below) {
    char path[96];
    snprintf(path, sizeof path, "/sys/class/powercap/%s/name", zone);
    char *name = fct_system_text(meter->root, path);
    bool wanted = name && (below ? !strcmp(name, "dram") : !strncmp(name, "package", 7));
    struct part part = {.range = 0};
    snprintf(part.path, sizeof part.path, "/sys/class/powercap/%s/energy_uj", zone);
    snprintf(path, sizeof path, "/sys/class/powercap/%s/max_energy_range_uj", zone);
    long long now = wanted ? fct_system_number(meter->root, part.path, -1) : -1;
    long long range = wanted ? fct_system_number(meter->root, path, -1) : -1;
    if (now >= 0 && range > 0 && meter->n_parts < MAX_PARTS) {
        part.before = (uint64_t)now;
        part.range = (uint64_t)range;
        add_name(meter, name);
        meter->parts[meter->n_parts++] = part;
    }
    fct_free(name);
}

static bool find_rapl(fct_power_meter *meter) {
    char zone[48];
    meter->kind = FCT_METER_RAPL;
    strcpy(meter->name, "RAPL: ");
    for (int package = 0; package < 8; package++) {
        snprintf(zone, sizeof zone, "intel-rapl:%d", package);
        find_zone(meter, zone, false);
        for (int i = 0; i < 4; i++) {
            snprintf(zone, sizeof zone, "intel-rapl:%d:%d", package, i);
            find_zone(meter, zone, true);
        }
    }
    return meter->n_parts > 0;
}

/* Chips that measure a supply, not a graphics card or a disk. */
static bool measures_a_board(const char *name) {
    static const char *const names[] = {"ina", "ltc", "pac19", "isl28022", "power_meter"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strncmp(name, names[i], strlen(names[i]))) return true;
    return false;
}

/* The first such chip: several could stand in one line, and then their sum would be wrong. */
static bool find_hwmon(fct_power_meter *meter) {
    static const char *const files[] = {"power1_input", "power1_average"};
    meter->kind = FCT_METER_HWMON;
    for (int chip = 0; chip < 64; chip++) {
        char path[96];
        snprintf(path, sizeof path, "/sys/class/hwmon/hwmon%d/name", chip);
        char *name = fct_system_text(meter->root, path);
        for (int i = 0; name && measures_a_board(name) && i < 2 && !meter->n_parts; i++) {
            struct part *part = &meter->parts[0];
            snprintf(part->path, sizeof part->path, "/sys/class/hwmon/hwmon%d/%s", chip, files[i]);
            if (fct_system_number(meter->root, part->path, -1) < 0) continue;
            snprintf(meter->name, sizeof meter->name, "hwmon: %.64s", name);
            meter->n_parts = 1;
        }
        fct_free(name);
        if (meter->n_parts) return true;
    }
    return false;
}

static bool find_pmic(fct_power_meter *meter) {
    int n_rails;
    meter->kind = FCT_METER_PMIC;
    if (!isfinite(ask_pmic(meter, &n_rails))) return false;
    snprintf(meter->name, sizeof meter->name, "PMIC: %d rail%s of the board", n_rails,
             n_rails == 1 ? "" : "s");
    return true;
}

static bool find_command(fct_power_meter *meter, fct_error *err) {
    meter->kind = FCT_METER_COMMAND;
    snprintf(meter->name, sizeof meter->name, "command: %.100s", meter->command);
    if (isfinite(ask_command(meter))) return true;
    fct_fail(err, FCT_ERR_ARGUMENT,
             "--power-command \"%s\": it has to print watts, within %g seconds", meter->command,
             COMMAND_SECONDS);
    return false;
}

fct_power_meter *fct_power_meter_open(const char *root, const char *command, bool *failed,
                                      fct_error *err) {
    fct_power_meter *meter = fct_new(sizeof *meter, err);
    *failed = true;
    if (!meter) return NULL;
    meter->root = fct_copy_text(root, strlen(root), err);
    meter->command = command ? fct_copy_text(command, strlen(command), err) : NULL;
    if (!meter->root || (command && !meter->command)) goto none;
    if (command && find_command(meter, err)) goto found;
    if (command) goto none;
    if (find_pmic(meter) || find_rapl(meter) || find_hwmon(meter)) goto found;
    *failed = false;
none:
    fct_power_meter_free(meter);
    return NULL;
found:
    *failed = false;
    return meter;
}

void fct_power_meter_free(fct_power_meter *meter) {
    if (!meter) return;
    fct_free(meter->root);
    fct_free(meter->command);
    fct_free(meter);
}

const char *fct_power_meter_name(const fct_power_meter *meter) { return meter->name; }
bool fct_power_meter_counts(const fct_power_meter *meter) { return meter->kind == FCT_METER_RAPL; }
