/* file_completion.h - the rest of a file name that is being typed. */
#ifndef FCT_CLI_FILE_COMPLETION_H
#define FCT_CLI_FILE_COMPLETION_H

#include <stddef.h>

/* What all names in its folder that begin like path[0 .. n) share behind it, in rest (NUL-ended,
 * cut to size); a '/' behind the only one if that is a folder. Returns how many there are. */
int fct_file_complete(const char *path, size_t n, char *rest, size_t size);

#endif
