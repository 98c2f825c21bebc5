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

/* attend.c: scratch->queries of the span's tokens against the cache, into scratch->attended */
void fct_attend(const struct fct_pass *p, struct fct_team team, int layer, struct fct_span span);

/* mlp.c */
void fct_mlp_block(const struct fct_pass *p, struct fct_team team, int layer, struct fct_span span);

#endif
