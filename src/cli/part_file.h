/* part_file.h - what is being written goes away with Ctrl+C. */
#ifndef FCT_CLI_PART_FILE_H
#define FCT_CLI_PART_FILE_H

#include "facet.h"

/* `out` is about to be written beside its name: an interrupt leaves no half file. */
fct_status fct_part_guard(const char *out, fct_error *err);

#endif
