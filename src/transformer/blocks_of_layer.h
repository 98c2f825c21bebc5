/* blocks_of_layer.h - the parts of a layer, as forward.c puts them together. Every member of the
 * team calls each part.
 *
 * Work is shared in two ways: token by token (norms, quantizing, residual sums) and row by row
 * (matrices). Parts that go token by token over the same span follow each other without waiting,
 * for each member meets only its own tokens; between the two ways the team waits. */
#ifndef FCT_TRANSFORMER_BLOCKS_OF_LAYER_H
#define FCT_TRANSFORMER_BLOCKS_OF_LAYER_H

#include "transformer/forward.h"

/* linear.c */
struct fct_span fct_token_share(struct fct_team team,
                                struct fct_span span); /* this member's tokens */
/* Row `token` of input holds its n floats: makes the int8 forms that its readers will want. */
void fct_input_done(const struct fct_pass *p, const struct fct_input *input, int token, int n,
                    const struct fct_linear_layer *const readers[], int n_readers);
/* The same for a part of a token's inputs, of n_parts alike: for those whose groups are their own.
 * Members' rows in fct_linear are such parts, too, where the team has as many members. */
bool fct_parts_stand_alone(int n, int n_parts, const struct fct_linear_layer *reader);
void fct_input_part_done(const struct fct_pass *p, const struct fct_input *input, int token,
                         struct fct_span inputs, const struct fct_linear_layer *reader);
/* y[token * y_stride + row] for the span's tokens and this member's rows of w; input rows start at
 * token * input->stride. *rows (may be NULL) gets the rows that were this member's. */
void fct_linear(const struct fct_pass *p, struct fct_team team, const struct fct_linear_layer *w,
                const struct fct_input *input, struct fct_span span, float *y, int y_stride,
                struct fct_span *rows);

/* embedding.c */
void fct_embed(const struct fct_pass *p, struct fct_team team, struct fct_span span);
/* Per-layer inputs of all tokens for the layers below n_cached, of the live tokens for all layers.
 */
void fct_per_layer_inputs(const struct fct_pass *p, struct fct_team team, struct fct_span all,
                          struct fct_span live, int n_cached);
void fct_per_layer_block(const struct fct_pass *p, struct fct_team team, int layer,
                         struct fct_span span);

/* attention.c: readers get keys and values, live tokens (the last of the readers) also look. */
void fct_rope_tables(const struct fct_pass *p, struct fct_team team, struct fct_span span);
void fct_attention_block(const struct fct_pass *p, struct fct_team team, int layer,
                         struct fct_span readers, struct fct_span live);

/* attend.c: scratch->queries of the span's tokens against the cache, into scratch->attended, which
 * fct_attended shows in the layer's width; its int8 forms are made, too. */
void fct_attend(const struct fct_pass *p, struct fct_team team, int layer, struct fct_span span);
struct fct_input fct_attended(const struct fct_pass *p, int layer);

/* mlp.c */
void fct_mlp_block(const struct fct_pass *p, struct fct_team team, int layer, struct fct_span span);

#endif
