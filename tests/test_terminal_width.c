/* test_terminal_width.c - what the commands tell is folded to the terminal, but whole in a file. */
#include "pty.h"

#define FRANCE "The capital of France is"
#define MODEL "-t", "1", "-m", MODELS "/demo.facet"
#define BENCH "facet", "bench", MODEL, "-p", "16", "-n", "4", "-r", "1"

/* Everything that the program showed, static memory; escape sequences and CR are left out. */
static const char *shown_by(int columns, const char *out_path, char *const *arguments) {
    static char text[1 << 16];
    size_t n = 0;
    int status = 0, n_waits = 0;
    struct pty pty = pty_start(columns, out_path, arguments);
    while (pty_read(&pty) || waitpid(pty.pid, &status, WNOHANG) == 0) {
        usleep(1000);
        if (++n_waits == 100 * PTY_WAITS) pty_fail(&pty, "the program did not end");
    }
    while (pty_read(&pty)) continue;
    for (size_t i = 0; i < pty.n_shown && n + 1 < sizeof text; i++) {
        if (pty.shown[i] == '\033')
            while (i < pty.n_shown && pty.shown[i] != 'm' && pty.shown[i] != 'K') i++;
        else if (pty.shown[i] != '\r')
            text[n++] = pty.shown[i];
        else if (i + 1 < pty.n_shown && pty.shown[i + 1] != '\n')
            text[n++] = '\n'; /* drawn once more: each time must fit */
    }
    text[n] = '\0';
    close(pty.fd);
    free(pty.shown);
    assert_true(WIFEXITED(status));
    return text;
}

static int columns_of(const char *line, size_t n_bytes) {
    int n = 0;
    for (size_t i = 0; i < n_bytes; i++) n += ((unsigned char)line[i] & 0xC0) != 0x80;
    return n;
}

static void fits(int columns, const char *text) {
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t n_bytes = strcspn(line, "\n");
        if (columns_of(line, n_bytes) > columns)
            fail_msg("wider than %d columns: %.*s", columns, (int)n_bytes, line);
    }
}

static void lines_are_folded_to_the_terminal(void **state) {
    (void)state;
    static const int widths[] = {40, 80};
    for (size_t i = 0; i < 2; i++) {
        const char *run =
            shown_by(widths[i], NULL, (char *const[]){"facet", "run", MODEL, FRANCE, NULL});
        fits(widths[i], run);
        assert_non_null(strstr(run, "7 tokens · "));
        const char *bench = shown_by(widths[i], NULL, (char *const[]){BENCH, NULL});
        fits(widths[i], bench);
        assert_non_null(strstr(bench, "\nmethod         median of 1 "));
    }
}

/* Commands to copy are one line, however long; no finding of --quick with the demo has one that is
 * longer than the terminal here. */
static void findings_are_folded_below_their_heads_where_it_is_narrow(void **state) {
    (void)state;
    char *const doctor[] = {"facet", "doctor", "--quick", MODEL, NULL};
    const char *narrow = shown_by(50, NULL, doctor);
    assert_non_null(strstr(narrow, "cpu\n  "));
    const char *wide = shown_by(80, NULL, doctor);
    assert_non_null(strstr(wide, "cpu         "));
}

static void a_file_gets_whole_lines(void **state) {
    (void)state;
    char path[] = "/tmp/facet-width-XXXXXX", line[512];
    close(mkstemp(path));
    shown_by(40, path, (char *const[]){BENCH, NULL});
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    bool whole = false;
    while (fgets(line, sizeof line, file))
        if (strncmp(line, "method", 6) == 0) whole = strstr(line, "fastest") != NULL;
    fclose(file);
    unlink(path);
    assert_true(whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_folded_to_the_terminal),
        cmocka_unit_test(findings_are_folded_below_their_heads_where_it_is_narrow),
        cmocka_unit_test(a_file_gets_whole_lines),
    };
    setenv("TERM", "xterm", 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    setenv("HOME", "/nonexistent", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
