/* interrupt.h - Ctrl+C: the first ends the answer, the second the program. */
#ifndef FCT_CLI_INTERRUPT_H
#define FCT_CLI_INTERRUPT_H

#include <stdbool.h>

/* From now on the first Ctrl+C only makes fct_interrupted true; the second ends the program with
 * exit code 130. */
void fct_interrupt_catch(void);
bool fct_interrupted(void);

/* From now on a signal that ends the program first removes the file `path` (copied): what is being
 * written. */
void fct_interrupt_removes(const char *path);

#endif
