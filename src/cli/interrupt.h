/* interrupt.h - Ctrl+C: the first ends the answer, the second the program. */
#ifndef FCT_CLI_INTERRUPT_H
#define FCT_CLI_INTERRUPT_H

#include <stdbool.h>

/* From now on the first Ctrl+C only makes fct_interrupted true; the second ends the program with
 * exit code 130. */
void fct_interrupt_catch(void);
bool fct_interrupted(void);
void fct_interrupt_forget(void); /* the next Ctrl+C is a first one again */

/* From now on signal_number does nothing but become readable, as a byte that is its number, from
 * fct_interrupt_fd; so does Ctrl+C, which counts as well. For who waits at a prompt. */
void fct_interrupt_tell(int signal_number);
int fct_interrupt_fd(void); /* does not block; -1: there is none */

/* What is typed from now on is not shown, but kept for the next prompt; until it is undone, or
 * Ctrl+C ends the program. */
void fct_echo_off(void);
void fct_echo_restore(void);

/* From now on a signal that ends the program first removes the file `path` (copied): what is being
 * written. */
void fct_interrupt_removes(const char *path);

#endif
