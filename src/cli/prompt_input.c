/* prompt_input.c - prompts from a pipe or a file, one a line. */
#include "cli/prompt_input.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "cli/interrupt.h"
#include "cli/text_input.h"

#define PROMPT_LIMIT ((size_t)64 << 20)

void fct_prompt_input_free(struct fct_prompt_input *input) { fct_text_free(&input->waiting); }

/* Reads more; FCT_LINE_READ if there was something. */
static enum fct_line read_more(struct fct_prompt_input *input, fct_error *err) {
    char piece[65536];
    for (;;) {
        struct pollfd both[] = {{STDIN_FILENO, POLLIN, 0}, {fct_interrupt_fd(), POLLIN, 0}};
        if (fct_interrupted()) return FCT_LINE_INTERRUPTED;
        if (poll(both, 2, -1) < 0 && errno != EINTR) break;
        if (fct_interrupted()) return FCT_LINE_INTERRUPTED;
        if (!both[0].revents) continue;
        ssize_t n = read(STDIN_FILENO, piece, sizeof piece);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (n < 0) break;
        if (n == 0) return FCT_LINE_END;
        fct_text_add(&input->waiting, piece, (size_t)n);
        if (!input->waiting.failed && input->waiting.size - input->used <= PROMPT_LIMIT)
            return FCT_LINE_READ;
        fct_fail(err, FCT_ERR_ARGUMENT, "standard input: a prompt is longer than 64 MiB");
        return FCT_LINE_FAILED;
    }
    fct_fail_errno(err, "standard input");
    return FCT_LINE_FAILED;
}

/* Forgets what was handed out, before more is read. */
static void compact(struct fct_text *waiting, size_t *used) {
    if (*used == 0) return;
    memmove(waiting->data, waiting->data + *used, waiting->size - *used);
    waiting->size -= *used;
    *used = 0;
}

static enum fct_line hand_out(struct fct_prompt_input *input, size_t n_bytes, char **text,
                              fct_error *err) {
    const char *at = input->waiting.data + input->used;
    *text = fct_copy_text(at, n_bytes, err);
    if (!*text) return FCT_LINE_FAILED;
    input->used += n_bytes + (at + n_bytes < input->waiting.data + input->waiting.size);
    if (input->end == '\n' && n_bytes > 0 && (*text)[n_bytes - 1] == '\r')
        (*text)[--n_bytes] = '\0';
    if (!input->begun || input->end == '\0') fct_input_tidy(*text, &n_bytes);
    input->begun = true;
    if (fct_input_repair("chat", "a prompt", text, &n_bytes, err) == FCT_OK) return FCT_LINE_READ;
    fct_free(*text);
    return FCT_LINE_FAILED;
}

enum fct_line fct_prompt_input_read(struct fct_prompt_input *input, char **text, fct_error *err) {
    size_t looked_at = input->used;
    for (;;) {
        const struct fct_text *waiting = &input->waiting;
        size_t left = waiting->size - looked_at;
        const char *end = left ? memchr(waiting->data + looked_at, input->end, left) : NULL;
        if (end) return hand_out(input, (size_t)(end - waiting->data) - input->used, text, err);
        if (input->at_end && waiting->size == input->used) return FCT_LINE_END;
        if (input->at_end) return hand_out(input, waiting->size - input->used, text, err);
        compact(&input->waiting, &input->used);
        looked_at = waiting->size;
        enum fct_line line = read_more(input, err);
        if (line == FCT_LINE_END)
            input->at_end = true;
        else if (line != FCT_LINE_READ)
            return line;
    }
}
