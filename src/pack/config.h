/* config.h - the shape of the network, from the checkpoint's configuration. */
#ifndef FCT_PACK_CONFIG_H
#define FCT_PACK_CONFIG_H

#include <jansson.h>

#include "facet.h"

enum { FCT_MAX_LAYERS = 256, FCT_MAX_PER_LAYER_SIZE = 4096 };

/* One layer of the stack. */
struct fct_layer_config {
    bool full;           /* full attention; else a sliding window */
    bool own_kv;         /* computes and caches keys and values; else it reads those of kv_layer */
    bool keys_as_values; /* has no v_proj: the raw k projection serves as values */
    int kv_layer; /* the layer whose cache it reads: itself, or the last own-KV layer of its type */
    int head_dim, n_kv_heads;
    int intermediate_size;
};

/* inv_freq[i] = theta^(-2i / head_dim) / factor for i < partial * head_dim / 2; the other pairs do
 * not rotate. */
struct fct_rope_config {
    double theta;
    double partial; /* 0 < partial <= 1 */
    double factor;
};

struct fct_config {
    const char *family;    /* "gemma4", "gemma3" */
    bool has_value_norm;   /* values are normed, without a weight */
    bool has_layer_scalar; /* the stream is multiplied with one at the end of each layer */
    float query_scale;     /* of the scores; q_norm's weights in a packed file hold it already */
    int hidden_size, n_layers, n_heads, vocab_size;
    int per_layer_size;       /* hidden_size_per_layer_input; 0: no per-layer embeddings */
    int per_layer_vocab_size; /* rows of embed_tokens_per_layer */
    int sliding_window;       /* key k is visible to query q iff q - window < k <= q */
    int max_positions;
    bool tied_head; /* the checkpoint has no head of its own */
    float rms_norm_eps;
    float final_softcap; /* 0: none */
    struct fct_rope_config rope_sliding, rope_full;
    int first_shared_layer; /* layers from here on have no KV of their own; n_layers if there are
                               none */
    struct fct_layer_config layers[FCT_MAX_LAYERS];
};

/* Reads config: the content of config.json, text part nested under text_config or on top.
 * Everything the network cannot do is refused by name, everything out of range by name and value;
 * path is for messages. */
fct_status fct_config_parse(struct fct_config *out, const json_t *config, const char *path,
                            fct_error *err);

/* The text part of config: config itself, or its text_config. Borrowed. */
const json_t *fct_config_text_part(const json_t *config);

/* Largest over the layers, for scratch. */
int fct_config_max_query_size(const struct fct_config *config); /* n_heads * head_dim */
int fct_config_max_intermediate_size(const struct fct_config *config);

#endif
