/* guide.h - a constraint at work on one answer: what its next id may be. */
#ifndef FCT_ENGINE_GUIDE_H
#define FCT_ENGINE_GUIDE_H

#include "engine/session.h"

/* The constraint applies to the content. Thoughts go before it and are free, but for ends: an
 * answer that ended there would have no content. */
typedef struct fct_guide fct_guide;

/* has_parts: the answer is read in Gemma 4's chat format; thinking: the prompt opened a thought. */
fct_guide *fct_guide_new(const fct_constraint *constraint, const int *prompt, int n_prompt,
                         bool has_parts, bool thinking, fct_error *err);
void fct_guide_free(fct_guide *guide);

/* The next id in *id, which holds what would be taken without a constraint (-1: that is not known):
 * kept if it is allowed, else chosen from the session's logits among those that are. Without
 * a known one it is always chosen. */
fct_status fct_guide_choose(fct_guide *guide, fct_session *session, const fct_sampling *sampling,
                            int n_prompt, int *id, fct_error *err);
/* This id is taken, allowed or not. */
void fct_guide_take(fct_guide *guide, int id);
/* Is the content a whole value? */
bool fct_guide_complete(const fct_guide *guide);

#endif
