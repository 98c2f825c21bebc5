/* statistics_file.c - what fct_calibrate found out, for whoever quantizes. */
#include "convert/statistics_file.h"

#include <string.h>

#include "base/error.h"
#include "pack/checksum.h"
#include "pack/layout.h"

static const char *metadata(const struct fct_statistics_file *file, const char *key) {
    const char *text = json_string_value(json_object_get(file->header.metadata, key));
    return text ? text : "";
}

static fct_status check_tensor(const struct fct_statistics_file *file,
                               const struct fct_tensor *tensor, fct_error *err) {
    if (tensor->dtype != FCT_DTYPE_F32 || tensor->n_dims != 1 || tensor->offset % sizeof(float))
        return fct_fail(err, FCT_ERR_FORMAT, "%s: tensor %s is no list of float32", file->path,
                        tensor->name);
    const float *values = (const float *)(const void *)(file->map.data + tensor->offset);
    for (uint64_t i = 0; i < tensor->dims[0]; i++)
        if (!(values[i] >= 0 && values[i] - values[i] == 0))
            return fct_fail(err, FCT_ERR_NUMERIC, "%s: tensor %s: %g is no mean square", file->path,
                            tensor->name, (double)values[i]);
    return FCT_OK;
}

static fct_status check_file(const struct fct_statistics_file *file, fct_error *err) {
    if (strcmp(metadata(file, "format"), FCT_STATISTICS_FORMAT))
        return fct_fail(err, FCT_ERR_FORMAT,
                        "%s: is no file of statistics; facet calibrate makes one", file->path);
    if (strcmp(metadata(file, "format_version"), "1"))
        return fct_fail(err, FCT_ERR_UNSUPPORTED,
                        "%s: statistics of version %s are not supported, only %d", file->path,
                        metadata(file, "format_version"), FCT_STATISTICS_VERSION);
    fct_status status =
        fct_checksum_verify(&file->header, file->path, file->map.data, NULL, NULL, err);
    for (size_t i = 0; i < file->header.n_tensors && !status; i++)
        status = check_tensor(file, &file->header.tensors[i], err);
    return status;
}

fct_status fct_statistics_file_open(struct fct_statistics_file *file, const char *path,
                                    fct_error *err) {
    *file = (struct fct_statistics_file){.path = path};
    fct_status status = fct_map_open(&file->map, path, err);
    if (status) return status;
    status = fct_safetensors_parse(&file->header, path, file->map.data, file->map.size, err);
    if (!status) status = check_file(file, err);
    if (status) fct_statistics_file_close(file);
    return status;
}

void fct_statistics_file_close(struct fct_statistics_file *file) {
    fct_safetensors_free(&file->header);
    fct_map_close(&file->map);
}

fct_status fct_statistics_file_find(const struct fct_statistics_file *file, const char *name,
                                    int columns, const float **found, fct_error *err) {
    const struct fct_tensor *tensor = fct_safetensors_find(&file->header, name);
    *found = NULL;
    if (!tensor) return FCT_OK;
    if (tensor->dims[0] != (uint64_t)columns)
        return fct_fail(err, FCT_ERR_ARGUMENT,
                        "%s: is of another model: %s has %d inputs, the statistics %llu",
                        file->path, name, columns, (unsigned long long)tensor->dims[0]);
    *found = (const float *)(const void *)(file->map.data + tensor->offset);
    return FCT_OK;
}
