/* file.h - files in, whole: mapped or read; files out, whole or not at all. */
#ifndef FCT_BASE_FILE_H
#define FCT_BASE_FILE_H

#include "facet.h"

/* A file mapped read-only. data is NULL for an empty file. */
struct fct_mapping {
    const uint8_t *data;
    size_t size;
    int fd; /* kept open: advice and re-reading need it */
};
fct_status fct_map_open(struct fct_mapping *mapping, const char *path, fct_error *err);
void fct_map_close(struct fct_mapping *mapping);

/* Reads n_bytes (not 0) at offset of the open file called name. A file may change or end under us:
 * what is read so fails with FCT_ERR_IO, what is looked at through a map would be a fault of the
 * bus. */
fct_status fct_file_read_at(int fd, const char *name, uint64_t offset, void *out, size_t n_bytes,
                            fct_error *err);
/* Is the open file the one at path? */
bool fct_file_is_at(int fd, const char *path);

/* A small file read whole, with a NUL behind it; refuses files above limit bytes before reading.
 * The caller frees. */
char *fct_file_read(const char *path, size_t limit, size_t *n_bytes, fct_error *err);

/* "folder/name"; the caller frees. */
char *fct_path_join(const char *folder, const char *name, fct_error *err);
bool fct_is_folder(const char *path);
bool fct_is_file(const char *path);

/* A file being written beside its final name (NAME.part). Bytes are gathered and written in aligned
 * 2 MiB pieces, so that the page cache can hold them in huge pages. finish: flushed, fsynced,
 * renamed; free without it: removed. An existing target that is not a regular file is refused
 * before anything is written. */
typedef struct fct_output fct_output;
/* checks free space first */
fct_output *fct_output_new(const char *path, uint64_t expected_bytes, fct_error *err);
fct_status fct_output_write(fct_output *out, const void *bytes, size_t n_bytes, fct_error *err);
uint64_t fct_output_position(const fct_output *out);
/* Overwrites earlier bytes, for a header that is known last; within the first `limit`= any bytes
 * written so far. */
fct_status fct_output_patch(fct_output *out, uint64_t position, const void *bytes, size_t n_bytes,
                            fct_error *err);
fct_status fct_output_finish(fct_output *out, fct_error *err); /* frees too, also when it fails */
/* drops the part file; NULL is fine */
void fct_output_free(fct_output *out);

/* All of a small file in one call. */
fct_status fct_file_write(const char *path, const void *bytes, size_t n_bytes, fct_error *err);

#endif
