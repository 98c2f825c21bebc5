/* doctor_cpu.h - names and features of CPUs, as /proc/cpuinfo has them. */
#ifndef FCT_CLI_DOCTOR_CPU_H
#define FCT_CLI_DOCTOR_CPU_H

#include "facet.h"

/* Is word one of the words of text? */
bool fct_has_word(const char *text, const char *word);

/* "Cortex-A76" by implementer and part of the first CPU; of another maker their numbers; "" without
 * them. */
void fct_doctor_arm_name(const char *cpuinfo, char *out, size_t size);

/* Those of the flags that kernels are chosen by. */
void fct_doctor_features(const char *flags, char *out, size_t size);
/* The table of kernels that such a CPU is for, as kernels/select.c chooses; "" without flags. */
const char *fct_doctor_kernels_for(const char *flags);

#endif
