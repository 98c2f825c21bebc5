/* answer_text.h - the ids of an answer made text: parts told apart, stop strings found, and handed
 * on as soon as it is certain. */
#ifndef FCT_ENGINE_ANSWER_TEXT_H
#define FCT_ENGINE_ANSWER_TEXT_H

#include "engine/model.h"
#include "text/answer.h"

/* Of a model in Gemma 4's chat format the reader tells the parts apart; without one (another
 * format, or options->raw) all text is content, and control tokens are left out. */
struct fct_answer_text {
    const fct_model *model;
    const fct_generate_options *options;
    fct_answer_reader *reader; /* or NULL */
    fct_decoder *decoder;      /* NULL: the model has no tokenizer, there is no text */
    struct fct_text content, thought;
    json_t *calls;   /* a list; NULL: none yet */
    size_t said;     /* bytes of the content that were handed on */
    size_t checked;  /* bytes of the content in which no stop string begins */
    bool in_prompt;  /* what is read now is not the answer's own */
    bool stopped;    /* a stop string ended it */
    bool cancelled;  /* a callback said stop */
    fct_error fault; /* of a callback of the reader */
};

/* Makes room for the text of `limit` ids, and reads what the prompt already holds of the answer (an
 * opened thought). On failure the text is still to be freed. */
fct_status fct_answer_text_begin(struct fct_answer_text *text, const fct_model *model,
                                 const fct_generate_options *options, const int *prompt,
                                 int n_prompt, int limit, fct_error *err);
void fct_answer_text_free(struct fct_answer_text *text);

/* The next id, which does not end the answer. It is over if that set stopped or cancelled. */
fct_status fct_answer_text_take(struct fct_answer_text *text, int id, fct_error *err);
/* Nothing more comes: what was held back belongs to the answer after all. */
fct_status fct_answer_text_finish(struct fct_answer_text *text, fct_error *err);
/* Reports an id that adds no text of its own. */
void fct_answer_text_say_id(struct fct_answer_text *text, int id);

/* Is a thought open? */
bool fct_answer_text_thinking(const struct fct_answer_text *text);

/* Hands the texts over to *out. */
fct_status fct_answer_text_give(struct fct_answer_text *text, fct_generation *out, fct_error *err);

#endif
