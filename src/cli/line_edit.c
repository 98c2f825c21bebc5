/* line_edit.c - a prompt on the terminal: editing, history, pasting, several lines. */
#include "cli/line_edit.h"

#include <errno.h>
#include <histedit.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "cli/file_completion.h"
#include "cli/interrupt.h"
#include "cli/style.h"

#define HISTORY_LINES 1000
#define PASTE_BEGINS "\033[200~"
#define PASTE_ENDS "\033[201~"
#define BEGIN_KEY L'\x1F' /* ^_, which no other use has */

struct fct_line_edit {
    EditLine *el;
    History *history;
    const char *history_path;
    const char *const *words;
    const char *prompt, *begin;
    int prompt_columns;
    bool pastes;      /* the terminal is asked to tell pasted text from typed */
    bool ended;       /* the program was told to end */
    bool interrupted; /* by Ctrl+C, while a line was read */
    bool was_empty;   /* it was, then */
    char bytes[8];    /* of a character that is not complete */
    int n_bytes;
    bool at_end;
};

static fct_line_edit *edit_of(EditLine *el) {
    void *edit = NULL;
    el_get(el, EL_CLIENTDATA, &edit);
    return edit;
}

static char *show_prompt(EditLine *el) { return (char *)edit_of(el)->prompt; }

static void ask_for_pastes(const fct_line_edit *edit, bool wanted) {
    if (!edit->pastes) return;
    fputs(wanted ? "\033[?2004h" : "\033[?2004l", stderr);
    fflush(stderr);
}

/* ---- signals while a line is read ---- */

static void stop_program(fct_line_edit *edit) {
    ask_for_pastes(edit, false);
    el_set(edit->el, EL_PREP_TERM, 0);
    raise(SIGSTOP);
}

static void go_on(fct_line_edit *edit) {
    el_set(edit->el, EL_PREP_TERM, 1);
    ask_for_pastes(edit, true);
    fputc('\r', stderr);
    el_set(edit->el, EL_REFRESH);
}

/* Rows above the one that the cursor is in, where `columns` fit in a row. */
static int rows_above(const fct_line_edit *edit, int columns) {
    const LineInfoW *line = el_wline(edit->el);
    int rows = 0, column = edit->prompt_columns;
    for (const wchar_t *c = line->buffer; c < line->cursor; c++) {
        int width = *c == L'\t' ? 8 - column % 8 : wcwidth(*c);
        if (*c == L'\n' || column + width > columns) rows++, column = 0;
        if (*c != L'\n' && width > 0) column += width;
    }
    return rows + (column == columns);
}

/* The terminal has wrapped the old text anew by now: all of it is taken off and drawn again. */
static void resize(fct_line_edit *edit) {
    int rows = rows_above(edit, fct_terminal_columns(STDERR_FILENO));
    if (rows > 0) fprintf(stderr, "\033[%dA", rows);
    fputs("\r\033[J", stderr);
    el_resize(edit->el);
    el_set(edit->el, EL_REFRESH);
}

static void handle_signals(fct_line_edit *edit) {
    unsigned char signals[64];
    ssize_t n = read(fct_interrupt_fd(), signals, sizeof signals);
    for (ssize_t i = 0; i < n; i++) {
        if (signals[i] == SIGINT) edit->interrupted = true;
        if (signals[i] == SIGHUP || signals[i] == SIGTERM) edit->ended = true;
        if (signals[i] == SIGTSTP) stop_program(edit);
        if (signals[i] == SIGCONT) go_on(edit);
        if (signals[i] == SIGWINCH) resize(edit);
    }
}

static void drop_old_signals(void) {
    unsigned char signals[64];
    while (read(fct_interrupt_fd(), signals, sizeof signals) > 0) {
    }
}

/* ---- characters ---- */

/* Waits for a byte; false at the end of the input, or when the line was given up. */
static bool next_byte(fct_line_edit *edit, char *byte) {
    for (;;) {
        struct pollfd both[] = {{STDIN_FILENO, POLLIN, 0}, {fct_interrupt_fd(), POLLIN, 0}};
        if (poll(both, 2, -1) < 0 && errno != EINTR) return false;
        if (both[1].revents & POLLIN) handle_signals(edit);
        if (edit->interrupted || edit->ended) return false;
        if (!both[0].revents) continue;
        ssize_t n = read(STDIN_FILENO, byte, 1);
        if (n == 1) return true;
        if (n == 0 || (errno != EINTR && errno != EAGAIN)) return false;
    }
}

static bool is_whole(const char *bytes, int n_bytes) {
    static const unsigned char begins[] = {0xC2, 0xE0, 0xF0, 0xF5};
    unsigned char first = (unsigned char)bytes[0];
    int length = 1;
    while (length < 4 && first >= begins[length - 1] && first < begins[3]) length++;
    return n_bytes >= length || (n_bytes > 1 && ((unsigned char)bytes[n_bytes - 1] & 0xC0) != 0x80);
}

/* The next character, U+FFFD for what is none; false as above. */
static bool next_character(fct_line_edit *edit, wchar_t *c) {
    int used;
    bool valid;
    do {
        if (!next_byte(edit, edit->bytes + edit->n_bytes)) return false;
    } while (!is_whole(edit->bytes, ++edit->n_bytes));
    *c = (wchar_t)fct_utf8_read(edit->bytes, (size_t)edit->n_bytes, &used, &valid);
    edit->n_bytes -= used;
    memmove(edit->bytes, edit->bytes + used, (size_t)edit->n_bytes);
    return true;
}

/* What libedit calls for the next key; 0 is the end of the input. A line that is given up ends as
 * if by Enter, so that the cursor stands behind it. */
static int read_key(EditLine *el, wchar_t *c) {
    fct_line_edit *edit = edit_of(el);
    *c = BEGIN_KEY;
    if (edit->begin) return 1;
    if (!edit->interrupted && !edit->ended && next_character(edit, c)) return 1;
    if (!edit->interrupted) return 0;
    const LineInfo *line = el_line(el);
    edit->was_empty = line->lastchar == line->buffer;
    *c = L'\n';
    return 1;
}

/* ---- keys of our own ---- */

/* Line ends as a person means them, other control characters left out. */
static void add_pasted(struct fct_text *text, wchar_t c) {
    char bytes[4];
    bool after_return = text->size > 0 && text->data[text->size - 1] == '\r';
    if (after_return) text->data[text->size - 1] = '\n';
    if (after_return && c == L'\n') return;
    if ((c < 0x20 && c != L'\n' && c != L'\r' && c != L'\t') || (c >= 0x7F && c < 0xA0)) return;
    fct_text_add(text, bytes, (size_t)fct_utf8_write((uint32_t)c, bytes));
}

/* Everything up to the sign that the paste ends; an escape character in it is no key. */
static unsigned char paste(EditLine *el, int key) {
    (void)key;
    fct_line_edit *edit = edit_of(el);
    struct fct_text text = {0};
    static const char end[] = PASTE_ENDS;
    size_t matched = 0;
    wchar_t c;
    while (matched < sizeof end - 1 && next_character(edit, &c)) {
        if (c == (wchar_t)end[matched]) {
            matched++;
            continue;
        }
        for (size_t i = 0; i < matched; i++) add_pasted(&text, end[i]);
        matched = c == (wchar_t)end[0];
        if (!matched) add_pasted(&text, c);
    }
    while (text.size > 0 && strchr("\r\n", text.data[text.size - 1])) text.data[--text.size] = '\0';
    bool good = text.size > 0 && !text.failed && el_insertstr(el, text.data) == 0;
    fct_text_free(&text);
    return good ? CC_REFRESH : CC_ERROR;
}

/* Puts down what the line begins with. */
static unsigned char begin(EditLine *el, int key) {
    (void)key;
    fct_line_edit *edit = edit_of(el);
    const char *text = edit->begin;
    edit->begin = NULL;
    return text && el_insertstr(el, text) == 0 ? CC_REFRESH : CC_ERROR;
}

static unsigned char new_line(EditLine *el, int key) {
    (void)key;
    return el_insertstr(el, "\n") == 0 ? CC_REFRESH : CC_ERROR;
}

/* How many bytes all words that begin with word[0 .. n) share; *n_found of them. */
static size_t shared_beginning(const char *const *words, const char *word, size_t n, int *n_found,
                               const char **found) {
    size_t shared = 0;
    *n_found = 0;
    for (; *words; words++) {
        if (strncmp(*words, word, n) != 0) continue;
        size_t same = 0;
        while (*n_found && same < shared && (*words)[same] == (*found)[same]) same++;
        shared = (*n_found)++ ? same : strlen(*words);
        if (*n_found == 1) *found = *words;
    }
    return shared;
}

/* The name of a command, and behind it the name of a file. */
static unsigned char complete(EditLine *el, int key) {
    (void)key;
    const LineInfo *line = el_line(el);
    size_t n = (size_t)(line->cursor - line->buffer);
    const char *found = NULL, *space;
    char rest[512];
    int n_found;
    if (n == 0 || line->buffer[0] != '/') return CC_ERROR;
    if ((space = memchr(line->buffer, ' ', n))) {
        space += strspn(space, " ");
        n_found = space <= line->cursor
                      ? fct_file_complete(space, (size_t)(line->cursor - space), rest, sizeof rest)
                      : 0;
    } else {
        size_t shared =
            shared_beginning(edit_of(el)->words, line->buffer + 1, n - 1, &n_found, &found);
        snprintf(rest, sizeof rest, "%.*s%s", n_found ? (int)(shared - (n - 1)) : 0,
                 n_found ? found + n - 1 : "", n_found == 1 ? " " : "");
    }
    if (!*rest || !n_found) return CC_REFRESH_BEEP;
    return el_insertstr(el, rest) == 0 ? CC_REFRESH : CC_ERROR;
}

/* ---- the editor ---- */

static void set_up(fct_line_edit *edit) {
    EditLine *el = edit->el;
    el_set(el, EL_CLIENTDATA, edit);
    el_set(el, EL_GETCFN, read_key);
    el_set(el, EL_PROMPT_ESC, show_prompt, '\1');
    el_set(el, EL_EDITOR, "emacs");
    el_set(el, EL_SIGNAL, 0);
    /* By el_wset, which keeps these names: el_set would copy them and never free the copies. */
    el_wset(el, EL_ADDFN, L"facet-paste", L"insert pasted text", paste);
    el_wset(el, EL_ADDFN, L"facet-newline", L"begin a new line", new_line);
    el_wset(el, EL_ADDFN, L"facet-complete", L"complete the name of a command", complete);
    el_wset(el, EL_ADDFN, L"facet-begin", L"put down what the line begins with", begin);
    el_source(el, NULL);
    el_set(el, EL_BIND, PASTE_BEGINS, "facet-paste", NULL);
    el_set(el, EL_BIND, "^_", "facet-begin", NULL);
    el_set(el, EL_BIND, "\033\r", "facet-newline", NULL);
    el_set(el, EL_BIND, "\033\n", "facet-newline", NULL);
    el_set(el, EL_BIND, "\t", "facet-complete", NULL);
    el_set(el, EL_BIND, "^R", "em-inc-search-prev", NULL);
}

static void load_history(fct_line_edit *edit) {
    HistEvent event;
    history(edit->history, &event, H_SETSIZE, HISTORY_LINES);
    history(edit->history, &event, H_SETUNIQUE, 1);
    if (edit->history_path) history(edit->history, &event, H_LOAD, edit->history_path);
    el_set(edit->el, EL_HIST, history, edit->history);
}

fct_line_edit *fct_line_edit_new(const char *history_path, const char *const *words,
                                 fct_error *err) {
    fct_line_edit *edit = fct_new(sizeof *edit, err);
    if (!edit) return NULL;
    edit->history_path = history_path;
    edit->words = words;
    edit->prompt = "";
    edit->pastes = fct_is_terminal(STDERR_FILENO);
    edit->el = el_init("facet", stdin, stderr, stderr);
    edit->history = history_init();
    if (!edit->el || !edit->history || fct_interrupt_fd() < 0) {
        fct_fail(err, FCT_ERR_MEMORY, "the terminal: no line editor could be made");
        fct_line_edit_free(edit);
        return NULL;
    }
    set_up(edit);
    load_history(edit);
    return edit;
}

void fct_line_edit_free(fct_line_edit *edit) {
    if (!edit) return;
    if (edit->el) el_end(edit->el);
    if (edit->history) history_end(edit->history);
    fct_free(edit);
}

/* Ctrl+C and the others are told to the prompt; the answer behind it hears them its own way. */
static void listen(bool on) {
    static const int heard[] = {SIGTSTP, SIGCONT, SIGWINCH, SIGHUP, SIGTERM};
    if (on) drop_old_signals();
    if (on) fct_interrupt_tell(SIGINT);
    for (size_t i = 0; i < sizeof heard / sizeof *heard; i++) {
        if (on)
            fct_interrupt_tell(heard[i]);
        else
            signal(heard[i], SIG_DFL);
    }
    if (!on) fct_interrupt_catch();
}

/* Of a prompt, in which escape sequences stand between \1. */
static int columns_of(const char *prompt) {
    int columns = 0;
    bool hidden = false;
    for (; *prompt; prompt++) {
        if (*prompt == '\1')
            hidden = !hidden;
        else
            columns += !hidden && ((unsigned char)*prompt & 0xC0) != 0x80;
    }
    return columns;
}

enum fct_line fct_line_edit_read(fct_line_edit *edit, const char *prompt, const char *begin,
                                 char **text, bool *was_empty, fct_error *err) {
    int n_bytes = 0, n_replaced;
    size_t n_good;
    edit->prompt = prompt;
    edit->prompt_columns = columns_of(prompt);
    edit->begin = begin && *begin ? begin : NULL;
    edit->interrupted = false;
    fct_interrupt_forget();
    listen(true);
    el_resize(edit->el);
    ask_for_pastes(edit, true);
    const char *line = el_gets(edit->el, &n_bytes);
    ask_for_pastes(edit, false);
    listen(false);
    *was_empty = edit->was_empty;
    if (edit->interrupted) return FCT_LINE_INTERRUPTED;
    if (!line || n_bytes <= 0) return FCT_LINE_END;
    size_t n = (size_t)n_bytes;
    if (line[n - 1] == '\n') n--;
    *text = fct_utf8_repair(line, n, &n_good, &n_replaced, err);
    return *text ? FCT_LINE_READ : FCT_LINE_FAILED;
}

void fct_line_edit_remember(fct_line_edit *edit, const char *text) {
    HistEvent event;
    if (!*text || history(edit->history, &event, H_ENTER, text) < 0) return;
    if (edit->history_path) history(edit->history, &event, H_SAVE, edit->history_path);
}
