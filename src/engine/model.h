/* model.h - a packed model opened for running: immutable, shared by sessions. */
#ifndef FCT_ENGINE_MODEL_H
#define FCT_ENGINE_MODEL_H

#include "engine/placement.h"
#include "engine/token_mask.h"
#include "kernels/kernels.h"
#include "pack/reader.h"
#include "text/chat.h"
#include "transformer/weights.h"

enum { FCT_MAX_ENDS = 16 };

struct fct_model {
    fct_pack *pack;
    struct fct_config config;
    struct fct_weights weights; /* in the map; a session follows the placement with its own copy */
    fct_placement *placement;
    const struct fct_kernels *kernels;
    fct_vocabulary *vocabulary;     /* NULL: the file carries none */
    fct_token_tables *token_tables; /* of the vocabulary, made when a constraint asks for it */
    enum fct_chat_format chat;
    bool float_weights; /* scheme f32: cache and activations are float unless asked otherwise */
    int bos_id;         /* -1: none */
    int ends[FCT_MAX_ENDS], n_ends;
    fct_sampling sampling;
    double load_seconds;
};

#endif
