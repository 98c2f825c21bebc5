/* answer_stream.h - an answer on its way out: its text to standard output, its thoughts to standard
 * error. */
#ifndef FCT_CLI_ANSWER_STREAM_H
#define FCT_CLI_ANSWER_STREAM_H

#include "base/buffer.h"
#include "cli/style.h"
#include "facet.h"

/* Folded: one line that counts, taken off or left as a note when the thought ends. */
enum fct_thoughts { FCT_THOUGHTS_HIDDEN, FCT_THOUGHTS_FOLDED, FCT_THOUGHTS_SHOWN };

/* Control characters are tamed on a terminal; what goes to a file or a pipe is the model's own. */
struct fct_answer_stream {
    bool silent; /* the text is printed by somebody else */
    enum fct_thoughts thoughts;
    struct fct_style style; /* of stderr */
    bool tame_text, tame_thoughts;
    bool thinking;         /* the cursor stands behind a thought */
    bool broken;           /* nobody reads any more, or the disk is full */
    bool in_line;          /* text was written, and its line has not ended */
    size_t n_pieces;       /* of the thought */
    struct fct_text tamed; /* room */
};
void fct_answer_stream_begin(struct fct_answer_stream *stream, enum fct_thoughts thoughts);
void fct_answer_stream_free(struct fct_answer_stream *stream);

/* More of the answer, or of a thought; false once the answer does not get out. */
bool fct_answer_stream_text(struct fct_answer_stream *stream, const char *text, size_t n_bytes);
bool fct_answer_stream_thought(struct fct_answer_stream *stream, const char *text, size_t n_bytes);

/* Ends the line. */
void fct_answer_stream_end(struct fct_answer_stream *stream);

#endif
