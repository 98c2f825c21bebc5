/* answer_stream.c - an answer on its way out: its text to standard output, its thoughts to standard
 * error. */
#include "cli/answer_stream.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/standard_output.h"
#include "cli/tame.h"

void fct_answer_stream_begin(struct fct_answer_stream *s, enum fct_thoughts thoughts) {
    *s = (struct fct_answer_stream){.thoughts = thoughts,
                                    .style = fct_style_for(STDERR_FILENO),
                                    .tame_text = isatty(STDOUT_FILENO),
                                    .tame_thoughts = isatty(STDERR_FILENO)};
    /* A line that counts has to be taken off again. */
    if (thoughts == FCT_THOUGHTS_FOLDED && !fct_is_terminal(STDERR_FILENO))
        s->thoughts = FCT_THOUGHTS_HIDDEN;
}

void fct_answer_stream_free(struct fct_answer_stream *s) { fct_text_free(&s->tamed); }

static void write_piece(struct fct_answer_stream *s, FILE *out, bool tame, const char *text,
                        size_t n_bytes) {
    s->tamed.size = 0;
    if (tame) fct_tame_lines_add(&s->tamed, text, n_bytes);
    if (tame && !s->tamed.failed)
        fwrite(s->tamed.data, 1, s->tamed.size, out);
    else if (!tame)
        fwrite(text, 1, n_bytes, out);
}

/* The thought is over: what follows begins on a line of its own. */
static void leave_thought(struct fct_answer_stream *s) {
    if (!s->thinking) return;
    if (s->thoughts == FCT_THOUGHTS_SHOWN) fprintf(stderr, "%s\n\n", s->style.off);
    if (s->thoughts == FCT_THOUGHTS_FOLDED)
        fprintf(stderr, "\r\033[K%sthought for %zu tokens%s\n\n", s->style.dim, s->n_pieces,
                s->style.off);
    fflush(stderr);
    s->thinking = false;
}

bool fct_answer_stream_text(struct fct_answer_stream *s, const char *text, size_t n_bytes) {
    if (n_bytes == 0 || s->silent) return !s->broken;
    leave_thought(s);
    write_piece(s, stdout, s->tame_text, text, n_bytes);
    s->in_line = text[n_bytes - 1] != '\n';
    s->broken = !fct_stdout_flush();
    return !s->broken;
}

bool fct_answer_stream_thought(struct fct_answer_stream *s, const char *text, size_t n_bytes) {
    s->n_pieces++;
    if (s->thoughts == FCT_THOUGHTS_HIDDEN) return !s->broken;
    if (s->thoughts == FCT_THOUGHTS_FOLDED) {
        fprintf(stderr, "\r\033[K%sthinking ... %zu%s", s->style.dim, s->n_pieces, s->style.off);
    } else {
        if (!s->thinking) fputs(s->style.dim, stderr);
        write_piece(s, stderr, s->tame_thoughts, text, n_bytes);
    }
    fflush(stderr);
    s->thinking = true;
    return !s->broken;
}

void fct_answer_stream_end(struct fct_answer_stream *s) {
    leave_thought(s);
    if (s->in_line) putchar('\n');
    s->broken |= !fct_stdout_flush();
}
