/* doctor_judge_board.c - what the facts mean: clock, heat, power, and the banks of the SDRAM. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "cli/doctor.h"

static void judge_governor(const struct fct_doctor_facts *f, struct fct_diagnosis *out) {
    static const char set[] =
        "$ echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
    const struct fct_governor *g = &f->governor;
    if (!g->name[0]) return;
    if (g->slow)
        fct_finding_add(out, FCT_STATE_WARNING, "governor", set,
                        "%s holds the clock down, whatever there is to do", g->name);
    else if (!strcmp(g->name, "performance"))
        fct_finding_add(out, FCT_STATE_OK, "governor", "", "performance");
    else if (!strcmp(g->name, "powersave"))
        fct_finding_add(out, FCT_STATE_OK, "governor", "",
                        "powersave of %s, which follows the load", g->driver);
    else
        fct_finding_add(out, FCT_STATE_NOTE, "governor", set,
                        "%s raises the clock when there is work; for figures that compare, fix it",
                        g->name);
}

static void judge_clock(const struct fct_doctor_facts *f, struct fct_diagnosis *out) {
    double most = f->sensors.max_clock_hz, busy = f->busy_clock_hz;
    if (isnan(most)) return;
    if (f->allowed_clock_hz < 0.95 * most) {
        fct_finding_add(out, FCT_STATE_WARNING, "clock",
                        "echo the larger number into "
                        "/sys/devices/system/cpu/cpu*/cpufreq/scaling_max_freq, as root",
                        "held down to %.2f of %.2f GHz (scaling_max_freq)",
                        f->allowed_clock_hz / 1e9, most / 1e9);
    } else if (busy < 0.85 * most) {
        fct_finding_add(out, FCT_STATE_NOTE, "clock",
                        "Busy CPUs should run near their highest clock: look at heat and power.",
                        "%.2f of %.2f GHz while memory was read", busy / 1e9, most / 1e9);
    } else if (isnan(busy)) {
        fct_finding_add(out, FCT_STATE_OK, "clock", "", "up to %.2f GHz, now %.2f", most / 1e9,
                        isnan(f->sensors.clock_hz) ? 0 : f->sensors.clock_hz / 1e9);
    } else {
        fct_finding_add(out, FCT_STATE_OK, "clock", "", "%.2f of %.2f GHz while memory was read",
                        busy / 1e9, most / 1e9);
    }
}

/* A Raspberry Pi slows down at 80 degrees (its soft limit may be lower) and more at 85; other CPUs
 * stand more. */
static void judge_temperature(const struct fct_doctor_facts *f, struct fct_diagnosis *out) {
    double celsius = f->sensors.celsius, hot = f->pi ? 80 : 95, warm = f->pi ? 70 : 85;
    const char *advice = f->pi == 5 ? "Give it the Active Cooler, or a heat sink and a fan."
                                    : "Give it more cooling, or free the air's way.";
    if (isnan(celsius)) return;
    enum fct_state state = celsius >= hot    ? FCT_STATE_WARNING
                           : celsius >= warm ? FCT_STATE_NOTE
                                             : FCT_STATE_OK;
    fct_finding_add(out, state, "heat", state ? advice : "", "%.0f °C%s", celsius,
                    celsius >= hot    ? ": hot enough to be slowed down"
                    : celsius >= warm ? " before any work: under load it will be slowed down"
                                      : "");
}

static const char *power_advice(const struct fct_doctor_facts *f, unsigned bits) {
    if (bits & FCT_UNDER_VOLTAGE)
        return f->pi == 5 ? "Use a 5 V 5 A supply (27 W) with its own cable, and no hub between."
                          : "Use a 5 V 3 A supply with a short, thick cable.";
    return "It got too hot: give it a heat sink and a fan.";
}

/* Figures of a machine that is being slowed down mean nothing: now is a problem, earlier a
 * warning. */
static void judge_throttling(const struct fct_doctor_facts *f, struct fct_diagnosis *out) {
    unsigned now = f->sensors.throttle & FCT_SLOWED;
    unsigned since = f->sensors.throttle >> FCT_SINCE_BOOT & FCT_SLOWED;
    char words_now[96], words_since[96];
    fct_throttle_words(now, words_now);
    fct_throttle_words(since & ~now, words_since);
    if (!f->sensors.throttle_known) {
        if (f->pi)
            fct_finding_add(out, FCT_STATE_NOTE, "power",
                            "Install vcgencmd (package raspi-utils or libraspberrypi-bin) and add "
                            "yourself to the group video.",
                            "the firmware cannot be asked whether it slowed the board down");
    } else if (now) {
        fct_finding_add(out, FCT_STATE_PROBLEM, "power", power_advice(f, now | since),
                        "now: %s%s%s; figures measured now mean nothing", words_now,
                        words_since[0] ? "; since boot also: " : "", words_since);
    } else if (since) {
        fct_finding_add(out, FCT_STATE_WARNING, "power", power_advice(f, since),
                        "not now, but since boot: %s", words_since);
    } else if (f->sensors.n_throttled > 0) {
        fct_finding_add(out, FCT_STATE_NOTE, "power", "If it goes on under load: more cooling.",
                        "the CPU slowed itself down %lld times since boot", f->sensors.n_throttled);
    } else {
        fct_finding_add(out, FCT_STATE_OK, "power", "", "%s",
                        f->pi ? "enough: never slowed down since boot" : "never slowed down");
    }
}

void fct_judge_heat(const struct fct_doctor_facts *f, struct fct_diagnosis *out) {
    judge_governor(f, out);
    judge_clock(f, out);
    judge_temperature(f, out);
    judge_throttling(f, out);
}

/* ---- banks of the SDRAM ---- */

/* The bootloader arranges banks for emulated NUMA nodes by itself since this release, 2024-12-07;
 * https://github.com/raspberrypi/rpi-eeprom (release notes), and
 * https://www.raspberrypi.com/documentation/computers/raspberry-pi.html#SDRAM_BANKLOW */
static const long long banks_since = 1733529600;
static int own_choice(int pi) { return pi == 5 ? 1 : 3; }

static void day_text(long long seconds, char text[32]) {
    struct tm day;
    time_t time = (time_t)seconds;
    if (gmtime_r(&time, &day)) strftime(text, 32, "%Y-%m-%d", &day);
}

static void judge_setting(const struct fct_doctor_facts *f, struct fct_diagnosis *out) {
    const struct fct_doctor_banks *b = &f->banks;
    char day[32] = "an unknown day";
    if (b->bootloader_date) day_text(b->bootloader_date, day);
    if (!b->bootloader_known && !b->bootloader_date)
        fct_finding_add(out, FCT_STATE_NOTE, "bootloader",
                        "Add yourself to the group video, or look with: sudo rpi-eeprom-config",
                        "it cannot be asked for SDRAM_BANKLOW");
    else if (b->banklow >= 0 && b->banklow != own_choice(f->pi))
        fct_finding_add(out, FCT_STATE_NOTE, "bootloader",
                        "Take the line out with `sudo rpi-eeprom-config --edit`, then reboot.",
                        "SDRAM_BANKLOW=%d; the bootloader's own choice for this board is %d",
                        b->banklow, own_choice(f->pi));
    else if (b->banklow < 0 && b->bootloader_date && b->bootloader_date < banks_since)
        fct_finding_add(
            out, FCT_STATE_WARNING, "bootloader", "$ sudo rpi-eeprom-update -a && sudo reboot",
            "of %s: it does not arrange the SDRAM's banks for speed yet (SDRAM_BANKLOW, "
            "since 2024-12-07)",
            day);
    else
        fct_finding_add(out, FCT_STATE_OK, "bootloader", "", "of %s, SDRAM_BANKLOW %s", day,
                        b->banklow >= 0 ? "set to its own choice" : "left to it");
}

static void judge_nodes(const struct fct_doctor_facts *f, struct fct_diagnosis *out) {
    const struct fct_doctor_banks *b = &f->banks;
    if (b->n_nodes > 1 && b->interleaved)
        fct_finding_add(out, FCT_STATE_OK, "banks", "",
                        "memory is spread over %d emulated NUMA nodes", b->n_nodes);
    else if (b->n_nodes > 1)
        fct_finding_add(out, FCT_STATE_WARNING, "banks",
                        "Add numa_policy=interleave to /boot/firmware/cmdline.txt, then reboot.",
                        "%d emulated NUMA nodes, but memory is not interleaved over them",
                        b->n_nodes);
    else if (b->asked_nodes > 1)
        fct_finding_add(
            out, FCT_STATE_WARNING, "banks",
            "Use the kernel of Raspberry Pi OS; or, with this one, set SDRAM_BANKLOW=3 "
            "with: sudo rpi-eeprom-config --edit",
            "the bootloader asks for %d emulated NUMA nodes, but this kernel makes none: "
            "memory is slower than without",
            b->asked_nodes);
    else
        fct_finding_add(out, f->pi == 5 ? FCT_STATE_WARNING : FCT_STATE_NOTE, "banks",
                        "sudo apt full-upgrade and sudo rpi-eeprom-update -a, then reboot; the "
                        "bootloader then asks for the nodes itself (numa=fake=N).",
                        "no emulated NUMA nodes: memory can be faster on this board");
}

void fct_judge_banks(const struct fct_doctor_facts *f, struct fct_diagnosis *out) {
    if (f->pi < 4) return;
    judge_setting(f, out);
    judge_nodes(f, out); /* a kernel without NUMA has no folder of nodes */
}
