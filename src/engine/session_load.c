/* session_load.c - a session back from its file, which may be damaged, foreign, or of other sizes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "engine/session_file.h"
#include "engine/session_parts.h"
#include "pack/checksum.h"
#include "pack/layout.h"
#include "pack/safetensors.h"

/* A file that is being checked. */
struct loading {
    fct_session *session;
    const char *path;
    const uint8_t *data;
    struct fct_safetensors header;
    struct fct_session_extent extent;
    bool same_cache;    /* its keys and values are what this session would have computed */
    const uint8_t *ids; /* int32, anywhere */
    int n_ids;
};

static const char *metadata(const struct loading *l, const char *key) {
    return json_string_value(json_object_get(l->header.metadata, key));
}

static bool same(const char *a, const char *b) { return a && b && strcmp(a, b) == 0; }

static fct_status check_format(const struct loading *l, fct_error *err) {
    if (!same(metadata(l, "format"), FCT_SESSION_FORMAT))
        return fct_fail(err, FCT_ERR_FORMAT, "%s: is a safetensors file, but not a saved session",
                        l->path);
    const char *version = metadata(l, "format_version");
    if (!same(version, "1"))
        return fct_fail(err, FCT_ERR_UNSUPPORTED,
                        "%s: session format version %s is not supported, only %d", l->path,
                        version ? version : "?", FCT_SESSION_VERSION);
    return FCT_OK;
}

static fct_status check_model(const struct loading *l, fct_error *err) {
    const fct_pack *pack = l->session->model->pack;
    if (same(metadata(l, FCT_SESSION_MODEL_DATA), fct_pack_metadata(pack, FCT_KEY_CHECKSUM)) &&
        same(metadata(l, FCT_SESSION_MODEL_HEADER),
             fct_pack_metadata(pack, FCT_KEY_HEADER_CHECKSUM)))
        return FCT_OK;
    const char *source = metadata(l, FCT_SESSION_MODEL),
               *checksum = metadata(l, FCT_SESSION_MODEL_DATA);
    return fct_fail(err, FCT_ERR_ARGUMENT,
                    "%s: was saved with another model (%s, checksum %s), not with %s", l->path,
                    source && *source ? source : "unnamed", checksum ? checksum : "unknown",
                    fct_pack_path(pack));
}

/* A count up to INT32_MAX in decimal digits. */
static fct_status read_count(const struct loading *l, const char *key, int *count, fct_error *err) {
    const char *text = metadata(l, key);
    size_t n = text ? strspn(text, "0123456789") : 0;
    long value = n > 0 && n <= 10 && !text[n] ? strtol(text, NULL, 10) : -1;
    if (value < 0 || value > INT32_MAX)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: %s is no count: %s", l->path, key,
                        text ? text : "missing");
    *count = (int)value;
    return FCT_OK;
}

static fct_status check_ids(struct loading *l, fct_error *err) {
    const fct_session *s = l->session;
    const struct fct_tensor *tensor = fct_safetensors_find(&l->header, FCT_SESSION_IDS);
    if (!tensor || tensor->dtype != FCT_DTYPE_I32 || tensor->n_dims != 1 ||
        tensor->dims[0] > INT32_MAX)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: has no list of ids", l->path);
    l->ids = l->data + tensor->offset;
    l->n_ids = (int)tensor->dims[0];
    for (int i = 0; i < l->n_ids; i++) {
        int32_t id;
        memcpy(&id, l->ids + (size_t)i * sizeof id, sizeof id);
        if (id < 0 || id >= s->model->config.vocab_size)
            return fct_fail(err, FCT_ERR_FORMAT,
                            "%s: id %d at position %d: the vocabulary has ids 0 to %d", l->path,
                            (int)id, i, s->model->config.vocab_size - 1);
    }
    if (l->n_ids > s->context)
        return fct_fail(err, FCT_ERR_CONTEXT,
                        "%s: the conversation has %d tokens, the context only %d: make it larger "
                        "with -c",
                        l->path, l->n_ids, s->context);
    return FCT_OK;
}

/* Is what the file says that it keeps enough to go on with? */
static fct_status check_extent(struct loading *l, fct_error *err) {
    struct fct_session_extent *extent = &l->extent;
    fct_status status = read_count(l, FCT_SESSION_POSITIONS, &extent->end, err);
    if (!status) status = read_count(l, FCT_SESSION_FIRST, &extent->first, err);
    if (status) return status;
    int seen = extent->end - l->session->cache.window + 1;
    if (extent->end > l->n_ids || extent->first > (seen > 0 ? seen : 0))
        return fct_fail(err, FCT_ERR_FORMAT,
                        "%s: positions %d to %d of %d ids cannot be gone on "
                        "with",
                        l->path, extent->first, extent->end, l->n_ids);
    return FCT_OK;
}

static const struct fct_tensor *tensor_of(const struct loading *l,
                                          const struct fct_session_part *part) {
    const struct fct_tensor *tensor = fct_safetensors_find(&l->header, part->name);
    if (!tensor || tensor->dtype != part->dtype || tensor->n_dims != part->n_dims) return NULL;
    for (int i = 0; i < part->n_dims; i++)
        if (tensor->dims[i] != part->dims[i]) return NULL;
    return tensor;
}

static fct_status check_parts(const struct loading *l, fct_error *err) {
    struct fct_session_walk walk = {.session = l->session, .extent = l->extent};
    struct fct_session_part part;
    while (fct_session_next_part(&walk, &part))
        if (!tensor_of(l, &part))
            return fct_fail(err, FCT_ERR_FORMAT, "%s: tensor %s is missing or of another shape",
                            l->path, part.name);
    return FCT_OK;
}

static fct_status check(struct loading *l, size_t size, fct_error *err) {
    fct_session_info info = fct_session_describe(l->session);
    fct_status status = fct_safetensors_parse(&l->header, l->path, l->data, size, err);
    if (!status) status = check_format(l, err);
    if (!status) status = fct_checksum_verify(&l->header, l->path, l->data, NULL, NULL, err);
    if (!status) status = check_model(l, err);
    if (!status) status = check_ids(l, err);
    l->same_cache = same(metadata(l, FCT_SESSION_KV), info.kv) &&
                    same(metadata(l, FCT_SESSION_ACTIVATIONS), info.activations);
    if (!status && l->same_cache) status = check_extent(l, err);
    if (!status && l->same_cache) status = check_parts(l, err);
    return status;
}

/* The rings of this session may be smaller than what the file keeps: the last positions count. */
static int first_that_fits(const struct loading *l) {
    int first = l->extent.end - l->session->cache.ring;
    return first > l->extent.first ? first : l->extent.first;
}

static void fill_part(struct loading *l, const struct fct_session_part *part, int first) {
    struct fct_kv_layer *layer = &l->session->cache.layers[part->layer];
    enum fct_kv_type type = l->session->cache.type;
    const uint8_t *from = l->data + tensor_of(l, part)->offset;
    int n_blocks = (int)part->dims[1];
    for (int i = 0; i < layer->n_kv_heads * n_blocks; i++)
        fct_kv_block_write(layer, type, part->part, i / n_blocks,
                           part->first / FCT_KV_BLOCK + i % n_blocks, first, part->end,
                           from + (size_t)i * fct_kv_block_bytes(layer, type, part->part));
}

/* From here on nothing can fail: the session becomes the one that was saved. What the file's keys
 * and values do not cover is read again when the session goes on. */
static void take_over(struct loading *l) {
    fct_session *s = l->session;
    struct fct_session_walk walk = {.session = s, .extent = l->extent};
    struct fct_session_part part;
    int first = s->cache.ring ? first_that_fits(l) : 0;
    for (int i = 0; i < FCT_MARKS; i++) s->marks[i].n_tokens = 0;
    while (l->extent.end > 0 && fct_session_next_part(&walk, &part))
        fill_part(l, &part, s->model->config.layers[part.layer].full ? 0 : first);
    fct_kv_cache_refilled(&s->cache, first, l->extent.end);
    memcpy(s->ids, l->ids, (size_t)l->n_ids * sizeof *s->ids);
    s->n_ids = l->n_ids;
    s->n_reused = l->extent.end;
    s->n_read = 0;
    s->logits_valid = false;
}

/* The JSON string whose opening quote is at text; NULL if it does not end, or is damaged. */
static json_t *string_at(const char *text, size_t n_bytes) {
    size_t end = 1;
    while (end < n_bytes && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
    if (end >= n_bytes) return NULL;
    return json_loadb(text, end + 1, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
}

/* The conversation's text from a file that may be damaged, the caller's; NULL if there is none that
 * is whole. A quote inside a JSON string is escaped: the name with its quotes can only be a key. */
static char *recover(const uint8_t *data, size_t size) {
    static const char key[] = "\"" FCT_SESSION_CONVERSATION "\":\"";
    if (size > FCT_SAFETENSORS_MAX_HEADER) size = FCT_SAFETENSORS_MAX_HEADER;
    const uint8_t *found = size ? memmem(data, size, key, sizeof key - 1) : NULL;
    if (!found) return NULL;
    const char *quote = (const char *)found + sizeof key - 2;
    json_t *text = string_at(quote, size - (size_t)((const uint8_t *)quote - data));
    size_t n_bytes = json_string_length(text);
    json_t *conversation =
        text ? json_loadb(json_string_value(text), n_bytes, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL)
             : NULL;
    char *copy = conversation ? fct_copy_text(json_string_value(text), n_bytes, NULL) : NULL;
    json_decref(conversation);
    json_decref(text);
    return copy;
}

fct_status fct_session_load_memory(fct_session *session, const char *path, const uint8_t *data,
                                   size_t size, char **conversation_json, fct_error *err) {
    struct loading l = {.session = session, .path = path, .data = data};
    fct_status status = check(&l, size, err);
    if (!status) take_over(&l);
    fct_safetensors_free(&l.header);
    if (conversation_json) *conversation_json = recover(data, size);
    return status;
}

fct_status fct_session_load(fct_session *session, const char *path, char **conversation_json,
                            fct_error *err) {
    struct fct_mapping mapping;
    if (conversation_json) *conversation_json = NULL;
    fct_status status = fct_map_open(&mapping, path, err);
    if (status) return status;
    status =
        fct_session_load_memory(session, path, mapping.data, mapping.size, conversation_json, err);
    fct_map_close(&mapping);
    return status;
}
