/* sensors.h - how warm this machine is, how fast it may run, and whether it was slowed down. */
#ifndef FCT_CLI_SENSORS_H
#define FCT_CLI_SENSORS_H

#include "facet.h"

/* root is "" for this machine, or a folder that stands for its root: ROOT/sys/..., ROOT/proc/...
 * Below a root, what `vcgencmd WORD` would print is read from ROOT/vcgencmd/WORD, and nothing is
 * run. */

/* A small file of the system, without the white space (and NUL) at its end; NULL if there is none.
 * The caller frees. */
char *fct_system_text(const char *root, const char *path);
/* The whole number in it, or otherwise. */
long long fct_system_number(const char *root, const char *path, long long otherwise);
/* What `vcgencmd WORD` prints, on a Raspberry Pi whose user may ask; else NULL. The caller frees.
 */
char *fct_vcgencmd(const char *root, const char *word);

/* Bits of the firmware of a Raspberry Pi (`vcgencmd get_throttled`; the same shifted by
 * FCT_SINCE_BOOT say that it happened since boot):
 * https://www.raspberrypi.com/documentation/computers/os.html#get_throttled */
enum {
    FCT_UNDER_VOLTAGE = 1 << 0,
    FCT_CAPPED = 1 << 1, /* the clock of the Arm cores is held down */
    FCT_THROTTLED = 1 << 2,
    FCT_SOFT_LIMIT = 1 << 3, /* of the temperature */
    FCT_SLOWED = 15,
    FCT_SINCE_BOOT = 16
};
/* The number in "throttled=0x50005", or the bare hexadecimal one of sysfs; false if there is none.
 */
bool fct_throttle_parse(const char *text, unsigned *bits);
/* "under-voltage, throttled" for the lowest four bits, "" for none. */
const char *fct_throttle_words(unsigned bits, char words[96]);

/* A moment of the machine. */
struct fct_sensors {
    double celsius;        /* the warmest sensor of the CPU; NAN: unknown */
    double clock_hz;       /* of the fastest CPU now; NAN: unknown */
    double max_clock_hz;   /* that the hardware gives; NAN: unknown */
    bool throttle_known;   /* there is something to ask */
    unsigned throttle;     /* bits as above; other machines than a Pi fill FCT_CAPPED */
    long long n_throttled; /* events that an x86 CPU counted since boot; -1: it does not count */
};
void fct_sensors_read(const char *root, struct fct_sensors *out);

/* What the governor of the first CPU is, "" if there is none; slow: it holds the clock down
 * whatever the load ("powersave", but for drivers that treat it as their normal mode). */
struct fct_governor {
    char name[32], driver[32];
    bool slow;
};
void fct_governor_read(const char *root, struct fct_governor *out);

#endif
