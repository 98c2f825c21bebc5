/* session_save.c - a session into a file: what it needs to go on, and the conversation. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "engine/session_file.h"
#include "engine/session_parts.h"
#include "pack/layout.h"
#include "pack/tensor_file.h"

/* The rings' last positions: what the next token sees, and some more, so that going back a little
 * reads nothing again. */
static struct fct_session_extent extent_of(const fct_session *s) {
    int end = s->cache.n_tokens, first = fct_kv_cache_first(&s->cache);
    int needed = end - s->cache.window - FCT_KV_SLACK;
    if (!s->cache.ring) return (struct fct_session_extent){0, end};
    return (struct fct_session_extent){first > needed ? first : needed, end};
}

static fct_status put_conversation(fct_tensor_file *file, const char *conversation,
                                   fct_error *err) {
    if (!conversation) return FCT_OK;
    json_t *json = json_loads(conversation, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (!json) return fct_fail(err, FCT_ERR_ARGUMENT, "the conversation to save is not valid JSON");
    json_decref(json);
    return fct_tensor_file_metadata(file, FCT_SESSION_CONVERSATION, conversation, err);
}

static fct_status put_model(fct_tensor_file *file, const fct_pack *pack, fct_error *err) {
    const char *source = fct_pack_metadata(pack, "source"),
               *data = fct_pack_metadata(pack, FCT_KEY_CHECKSUM),
               *header = fct_pack_metadata(pack, FCT_KEY_HEADER_CHECKSUM);
    if (!data || !header)
        return fct_fail(err, FCT_ERR_UNSUPPORTED,
                        "%s: has no checksums, which tie a session to its model",
                        fct_pack_path(pack));
    fct_status status =
        fct_tensor_file_metadata(file, FCT_SESSION_MODEL, source ? source : "", err);
    if (!status) status = fct_tensor_file_metadata(file, FCT_SESSION_MODEL_DATA, data, err);
    return status ? status : fct_tensor_file_metadata(file, FCT_SESSION_MODEL_HEADER, header, err);
}

/* The conversation comes first: whatever is cut off behind it, it can still be read. */
static fct_status put_metadata(fct_tensor_file *file, const fct_session *s,
                               struct fct_session_extent extent, const char *conversation,
                               fct_error *err) {
    fct_session_info info = fct_session_describe(s);
    fct_status status = fct_tensor_file_metadata(file, "format", FCT_SESSION_FORMAT, err);
    if (!status) status = fct_tensor_file_number(file, "format_version", FCT_SESSION_VERSION, err);
    if (!status) status = put_conversation(file, conversation, err);
    if (!status) status = put_model(file, s->model->pack, err);
    if (!status) status = fct_tensor_file_metadata(file, FCT_SESSION_KV, info.kv, err);
    if (!status)
        status = fct_tensor_file_metadata(file, FCT_SESSION_ACTIVATIONS, info.activations, err);
    if (!status)
        status = fct_tensor_file_number(file, FCT_SESSION_POSITIONS, (uint64_t)extent.end, err);
    if (!status)
        status = fct_tensor_file_number(file, FCT_SESSION_FIRST, (uint64_t)extent.first, err);
    return status;
}

static fct_status declare_tensors(fct_tensor_file *file, const fct_session *s,
                                  struct fct_session_extent extent, fct_error *err) {
    struct fct_session_walk walk = {.session = s, .extent = extent};
    struct fct_session_part part;
    fct_status status = FCT_OK;
    while (!status && fct_session_next_part(&walk, &part))
        status = fct_tensor_file_declare(file, part.name, part.dtype, part.dims, part.n_dims, err);
    uint64_t n_ids = (uint64_t)s->n_ids;
    return status ? status
                  : fct_tensor_file_declare(file, FCT_SESSION_IDS, FCT_DTYPE_I32, &n_ids, 1, err);
}

/* Block by block; what a block has of positions that the file does not keep is written as zeros. */
static fct_status write_part(fct_tensor_file *file, const fct_session *s,
                             const struct fct_session_part *part, fct_error *err) {
    const struct fct_kv_layer *layer = &s->cache.layers[part->layer];
    size_t n_bytes = fct_kv_block_bytes(layer, s->cache.type, part->part);
    uint8_t *block = fct_new(n_bytes, err);
    if (!block) return FCT_ERR_MEMORY;
    int n_blocks = (int)part->dims[1];
    fct_status status = FCT_OK;
    for (int i = 0; i < layer->n_kv_heads * n_blocks && !status; i++) {
        memset(block, 0, n_bytes);
        fct_kv_block_read(layer, s->cache.type, part->part, i / n_blocks,
                          part->first / FCT_KV_BLOCK + i % n_blocks, part->first, part->end, block);
        status = fct_tensor_file_write(file, block, n_bytes, err);
    }
    fct_free(block);
    return status;
}

static fct_status write_tensors(fct_tensor_file *file, const fct_session *s,
                                struct fct_session_extent extent, fct_error *err) {
    struct fct_session_walk walk = {.session = s, .extent = extent};
    struct fct_session_part part;
    fct_status status = FCT_OK;
    while (!status && fct_session_next_part(&walk, &part)) status = write_part(file, s, &part, err);
    return status ? status
                  : fct_tensor_file_write(file, s->ids, (size_t)s->n_ids * sizeof *s->ids, err);
}

fct_status fct_session_save(const fct_session *session, const char *path,
                            const char *conversation_json, fct_error *err) {
    struct fct_session_extent extent = extent_of(session);
    fct_tensor_file *file = fct_tensor_file_new(err);
    if (!file) return FCT_ERR_MEMORY;
    fct_status status = put_metadata(file, session, extent, conversation_json, err);
    if (!status) status = declare_tensors(file, session, extent, err);
    if (!status) status = fct_tensor_file_begin(file, path, FCT_LINE, err);
    if (!status) status = write_tensors(file, session, extent, err);
    if (!status) status = fct_tensor_file_finish(file, err);
    fct_tensor_file_free(file);
    return status;
}
