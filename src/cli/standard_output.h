/* standard_output.h - answers must reach their reader. */
#ifndef FCT_CLI_STANDARD_OUTPUT_H
#define FCT_CLI_STANDARD_OUTPUT_H

#include <stdbool.h>

/* A file must never get a standard stream's number: one that is closed is taken, so that using it
 * still fails. */
void fct_standard_streams_guard(void);

/* Sends what was printed on its way; false once anything could not be written. */
bool fct_stdout_flush(void);

/* Closes it. False, with the cause on stderr, if something printed did not get out; that the reader
 * closed the pipe is not told, as it knows. */
bool fct_stdout_close(void);

#endif
