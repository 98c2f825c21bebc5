/* session_parts.h - the tensors of a session on disk: which there are, and their shapes. */
#ifndef FCT_ENGINE_SESSION_PARTS_H
#define FCT_ENGINE_SESSION_PARTS_H

#include "engine/session.h"
#include "pack/safetensors.h"
#include "transformer/kv_block.h"

/* Names in the file. */
#define FCT_SESSION_CONVERSATION "conversation"
#define FCT_SESSION_MODEL "model"
#define FCT_SESSION_MODEL_DATA "model_checksum"
#define FCT_SESSION_MODEL_HEADER "model_header_checksum"
#define FCT_SESSION_KV "kv"
#define FCT_SESSION_ACTIVATIONS "activations"
#define FCT_SESSION_POSITIONS "positions"
#define FCT_SESSION_FIRST "first_position"
#define FCT_SESSION_IDS "ids"

/* The positions that a file keeps: [first, end) of the sliding layers, [0, end) of the full ones.
 */
struct fct_session_extent {
    int first, end;
};

/* One part of one layer. */
struct fct_session_part {
    int layer;
    enum fct_kv_part part;
    int first, end; /* positions */
    char name[48];
    enum fct_dtype dtype;
    uint64_t dims[5]; /* [n_kv_heads][blocks] and what a block is */
    int n_dims;
};

/* Walks over the parts in the file's order; next_layer and next_part begin at 0. */
struct fct_session_walk {
    const fct_session *session;
    struct fct_session_extent extent;
    int next_layer, next_part;
};
/* False when there are no more. */
bool fct_session_next_part(struct fct_session_walk *walk, struct fct_session_part *part);

#endif
