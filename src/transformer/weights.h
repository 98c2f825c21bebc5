/* weights.h - the network's tensors, as they lie in the packed file. */
#ifndef FCT_TRANSFORMER_WEIGHTS_H
#define FCT_TRANSFORMER_WEIGHTS_H

#include "pack/config.h"
#include "pack/reader.h"

/* y = round(W round(x)). A static scale rounds to clamp(round(v / scale), -128, 127) * scale,
 * halves to even: part of the trained network. 0: it does not round. */
struct fct_linear_layer {
    struct fct_matrix matrix;
    float input_scale, output_scale;
    int form; /* which int8 form of its input it reads: linear layers that read the same input and
                 round it alike share one */
};
/* Inputs of the layer that share a scale as int8: as many as share one of its weights; 32 where a
 * row of these has only one; 0, which is all, where the input's is a static one, too. */
static inline int fct_linear_act_group(const struct fct_linear_layer *w) {
    return w->matrix.group ? w->matrix.group : w->input_scale > 0 ? 0 : 32;
}
enum { FCT_MAX_FORMS = 3 }; /* queries, keys and values read the same input */

struct fct_layer_weights {
    const float *input_norm, *post_attention_norm;             /* [hidden] */
    const float *pre_feedforward_norm, *post_feedforward_norm; /* [hidden] */
    const float *post_per_layer_norm;   /* [hidden]; NULL without per-layer inputs */
    const float *q_norm, *k_norm;       /* [head_dim]; k_norm NULL without own KV */
    struct fct_linear_layer q, k, v, o; /* k, v: own-KV layers; v: unless keys_as_values */
    struct fct_linear_layer gate, up, down;
    struct fct_linear_layer per_layer_gate, per_layer_projection; /* hidden -> P, P -> hidden */
    float key_scale, value_scale; /* static ones of an int8 cache; 0: each position its own */
    float scalar;                 /* layer_scalar */
};

struct fct_weights {
    struct fct_table embedding;                         /* [vocab][hidden] */
    struct fct_table per_layer_embedding;               /* [vocab][n_layers * P] */
    struct fct_linear_layer per_layer_model_projection; /* hidden -> n_layers * P */
    const float *per_layer_projection_norm;             /* [P] */
    const float *norm;                                  /* [hidden] */
    struct fct_linear_layer head;                       /* hidden -> vocab */
    struct fct_layer_weights layers[FCT_MAX_LAYERS];
    uint64_t bytes_per_token; /* matrices read for one decoded token */
};

/* Finds every tensor that config asks for, with the shape it must have. Nothing is copied: the pack
 * must outlive it. */
fct_status fct_weights_open(struct fct_weights *weights, const struct fct_config *config,
                            const fct_pack *pack, fct_error *err);

/* Every matrix of the network, in the order in which a token meets them, the head last; returns how
 * many. matrices may be NULL. */
int fct_weights_matrices(const struct fct_weights *weights, int n_layers,
                         const struct fct_matrix **matrices);

#endif
