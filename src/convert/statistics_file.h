/* statistics_file.h - what fct_calibrate found out, for whoever quantizes. */
#ifndef FCT_CONVERT_STATISTICS_FILE_H
#define FCT_CONVERT_STATISTICS_FILE_H

#include "base/file.h"
#include "pack/safetensors.h"

struct fct_statistics_file {
    struct fct_mapping map;
    struct fct_safetensors header;
    const char *path; /* the caller's */
};
/* Checks everything: places, checksums, that all numbers are finite and not negative. */
fct_status fct_statistics_file_open(struct fct_statistics_file *file, const char *path,
                                    fct_error *err);
void fct_statistics_file_close(struct fct_statistics_file *file);

/* The mean squares of the inputs of a matrix, [columns], in the map; *found NULL if the file has
 * none. FCT_ERR_ARGUMENT if they are of another number of columns. */
fct_status fct_statistics_file_find(const struct fct_statistics_file *file, const char *name,
                                    int columns, const float **found, fct_error *err);

#endif
