/* answer.h - an answer read while it is being written: thoughts, content and calls, told apart
 * token by token. */
#ifndef FCT_TEXT_ANSWER_H
#define FCT_TEXT_ANSWER_H

#include "text/tokenizer.h"

enum fct_answer_part { FCT_ANSWER_THOUGHT, FCT_ANSWER_CONTENT, FCT_ANSWER_CALL };

/* Something of the answer that is certain by now. Texts are valid UTF-8 and live until the callback
 * returns. */
struct fct_answer_event {
    enum fct_answer_part part;
    const char *text; /* more of the thought or the content, NUL-terminated; a call's arguments as a
                         JSON object */
    size_t n_bytes;
    const char *name; /* of a call, else NULL */
};
/* False stops the reading: FCT_ERR_CANCELLED. */
typedef bool (*fct_answer_fn)(void *user, const struct fct_answer_event *event);

/* Thought and content are trimmed as Python does it, so white space waits until something follows
 * it: the deltas of a part, joined, are that part of the whole answer. Several thoughts are joined
 * by a newline, several contents as they stand. A call is reported when it is complete; one that
 * cannot be read becomes content, with a warning. keep_markers: control names that mean nothing
 * where they stand stay in the text, as the reference has it for answers in text form. Without it
 * none ever shows, nor any part of a thought's label; a quote token that is out of place becomes ".
 */
typedef struct fct_answer_reader fct_answer_reader;
fct_answer_reader *fct_answer_reader_new(bool keep_markers, fct_answer_fn event, void *user,
                                         fct_error *err);
void fct_answer_reader_free(fct_answer_reader *reader);

/* The end of the prompt, as text with control names: what stands behind the last turn opener or
 * tool response is the beginning of the answer (an opened thought, say). To be called before the
 * first piece, or not at all. */
fct_status fct_answer_reader_prompt(fct_answer_reader *reader, const char *prompt, size_t n_bytes,
                                    fct_error *err);
/* A piece of whole characters. control: it is the name of a control token and the model wrote that
 * token; the same characters spelt by ordinary tokens are text. */
fct_status fct_answer_reader_push(fct_answer_reader *reader, const char *text, size_t n_bytes,
                                  bool control, fct_error *err);
/* The next id of the model, decoded by a decoder that is this reader's alone and shows control
 * tokens. */
fct_status fct_answer_reader_push_id(fct_answer_reader *reader, const fct_vocabulary *vocabulary,
                                     fct_decoder *decoder, int id, fct_error *err);
/* Text in which every name of a marker stands for its token. */
fct_status fct_answer_reader_push_names(fct_answer_reader *reader, const char *text, size_t n_bytes,
                                        fct_error *err);
/* Nothing more comes: reports what was held back and belongs to the answer. The text that a decoder
 * still holds back is to be pushed before. */
fct_status fct_answer_reader_finish(fct_answer_reader *reader, fct_error *err);

/* Is a thought open, its label read? */
bool fct_answer_reader_thinking(const fct_answer_reader *reader);

/* Why a call became content, or "". */
const char *fct_answer_reader_warning(const fct_answer_reader *reader);

#endif
