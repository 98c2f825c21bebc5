/* pack_metadata.h - what the packed file says about the model beside its tensors. */
#ifndef FCT_CONVERT_PACK_METADATA_H
#define FCT_CONVERT_PACK_METADATA_H

#include "convert/source.h"
#include "pack/config.h"
#include "pack/writer.h"

/* The text part of the source's configuration, complete by itself; new. */
json_t *fct_metadata_config(const fct_source *source);
/* The source's generation configuration with the end ids of all its files in one list; new. */
json_t *fct_metadata_generation(const fct_source *source, const struct fct_config *config);

/* The list of {"prompt_ids", "answer_ids"} in the JSON file at path (a list, or an object with such
 * a list under "entries"), every id checked; new. */
json_t *fct_expected_read(const char *path, int vocab_size, fct_error *err);
/* The same for models whose answer is known from elsewhere; NULL for all others. */
json_t *fct_expected_known(const fct_source *source, const struct fct_config *config);

/* Declares key: value as text. Takes over value; NULL is FCT_ERR_MEMORY. */
fct_status fct_metadata_json(fct_pack_writer *writer, const char *key, json_t *value,
                             fct_error *err);

#endif
