/* json_frames.h - the containers that are open in JSON text: frames that states share. */
#ifndef FCT_ENGINE_JSON_FRAMES_H
#define FCT_ENGINE_JSON_FRAMES_H

#include "engine/json_machine.h"

/* Words of a frame. A frame is never changed once states may know it. */
enum {
    FCT_FRAME_PARENT, /* the frame it stands in; 0: none */
    FCT_FRAME_NODE,   /* its array or object */
    FCT_FRAME_COUNT,  /* items or members begun */
    FCT_FRAME_DEPTH,  /* 1: the outermost */
    FCT_FRAME_SET     /* of an object: a bit for each of its names that came, as far as it goes */
};

static inline const struct fct_schema_node *fct_frame_node(const struct fct_json_machine *m,
                                                           int node) {
    return &m->schema->nodes[node];
}
static inline const struct fct_schema_node *fct_frame_container(const struct fct_json_machine *m,
                                                                uint32_t frame) {
    return fct_frame_node(m, (int)m->words[frame + FCT_FRAME_NODE]);
}
static inline int fct_frame_depth(const struct fct_json_machine *m, uint32_t frame) {
    return frame ? (int)m->words[frame + FCT_FRAME_DEPTH] : 0;
}

/* An empty container of the node within parent; 0 if there is no memory. */
uint32_t fct_frame_open(struct fct_json_machine *machine, uint32_t parent, int node);
/* The frame with one thing more in it; key >= 0: this one. 0 if there is no memory. */
uint32_t fct_frame_count_in(struct fct_json_machine *machine, uint32_t frame, int key);
bool fct_frames_equal(const struct fct_json_machine *machine, uint32_t a, uint32_t b);

#endif
