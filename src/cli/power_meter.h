/* power_meter.h - what this machine draws, from whatever can tell. */
#ifndef FCT_CLI_POWER_METER_H
#define FCT_CLI_POWER_METER_H

#include "facet.h"

/* In this order: a command of the user (a USB meter), the power supply chip of a Raspberry Pi 5,
 * energy counters of x86 CPUs (RAPL), a board's power sensor (hwmon). */
enum fct_meter_kind { FCT_METER_COMMAND, FCT_METER_PMIC, FCT_METER_RAPL, FCT_METER_HWMON };

typedef struct fct_power_meter fct_power_meter;

/* The first meter that answers, NULL if none does. root as in sensors.h. command NULL: none; one
 * that does not print watts fails (*failed), as it was asked for. */
fct_power_meter *fct_power_meter_open(const char *root, const char *command, bool *failed,
                                      fct_error *err);
void fct_power_meter_free(fct_power_meter *meter);

/* What it measures, for a person: "RAPL: package-0, dram". */
const char *fct_power_meter_name(const fct_power_meter *meter);
/* Does it count joules? Else it tells watts. */
bool fct_power_meter_counts(const fct_power_meter *meter);
/* Joules since the meter was opened (read at least once a minute: counters go round), or watts now;
 * NAN if it does not answer this time. */
double fct_power_meter_read(fct_power_meter *meter);

/* Watts from the text of `vcgencmd pmic_read_adc`: volts times amperes of each rail that has both,
 * summed; NAN if there is none. *n_rails may be NULL. */
double fct_pmic_watts(const char *text, int *n_rails);
/* The first number in a text that a command printed, as watts; NAN if there is none, or a negative
 * one. */
double fct_watts_parse(const char *text);

#endif
