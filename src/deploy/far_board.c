/* far_board.c - what the machine on the far side is, has free, and how it is doing. */
#include "deploy/far_board.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "deploy/shell_words.h"

/* ---- asking ---- */

/* Facts, a line each; a file that is not there gives none. tr: the device tree ends texts with a
 * zero byte. */
static const char questions[] =
    "value() { if [ -r \"$2\" ]; then echo \"= $1 $(tr -d '\\000' <\"$2\" | head -n 1)\"; fi; }\n"
    "echo \"= system $(uname -s)\"\n"
    "echo \"= machine $(uname -m)\"\n"
    "echo \"= kernel $(uname -r)\"\n"
    "for t in head tail dd sha256sum wc mv cp sync truncate mkdir chmod df stat readlink rm cat tr "
    "sleep dirname; do\n"
    "    command -v $t >/dev/null || echo \"= lacks $t\"\n"
    "done\n"
    "if [ -r \"$r/proc/meminfo\" ]; then while read -r k v u; do case $k in\n"
    "MemTotal:) echo \"= memory $v\" ;;\n"
    "MemAvailable:) echo \"= available $v\" ;;\n"
    "esac; done <\"$r/proc/meminfo\"; fi\n"
    "value model \"$r/proc/device-tree/model\"\n"
    "cpu=$r/sys/devices/system/cpu/cpu0/cpufreq\n"
    "value governor \"$cpu/scaling_governor\"\n"
    "value clock \"$cpu/scaling_cur_freq\"\n"
    "value maxclock \"$cpu/cpuinfo_max_freq\"\n"
    "value degrees \"$r/sys/class/thermal/thermal_zone0/temp\"\n"
    "p=$(getconf PAGESIZE 2>/dev/null) && echo \"= page $p\"\n"
    "t=$(PATH=\"$r/usr/bin:$PATH\"; vcgencmd get_throttled 2>/dev/null) && echo \"= $t\"\n"
    "[ ! -d \"$r/run/systemd/system\" ] || echo '= systemd'\n"
    "echo \"= user $(id -un)\"\n"
    "if [ \"$(id -u)\" = 0 ]; then echo '= root'; elif command -v sudo >/dev/null; then\n"
    "    if w=$(sudo -n true 2>&1); then echo '= sudo'; else\n"
    "        echo \"= sudosays $(printf '%s\\n' \"$w\" | tail -n 1)\"\n"
    "    fi\n"
    "fi\n"
    ":\n";

/* A number of the far side, which may print anything; -1: none. */
static long number_of(const char *text, int base) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, base);
    return end == text || errno || value < 0 ? -1 : value;
}

static uint64_t kilobytes(const char *text) {
    long value = number_of(text, 10);
    return value < 0 ? 0 : (uint64_t)value * 1024;
}

static fct_status take_fact(void *user, const char *line, fct_error *err) {
    struct fct_board *board = user;
    (void)err;
    char key[16];
    size_t n_key = strcspn(line, " =");
    snprintf(key, sizeof key, "%.*s", (int)(n_key < sizeof key ? n_key : 0), line);
    const char *value = line + n_key + (line[n_key] != 0);
    const struct {
        const char *key;
        char *text;
        size_t size;
    } texts[] = {
        {"system", board->system, sizeof board->system},
        {"machine", board->machine, sizeof board->machine},
        {"kernel", board->kernel, sizeof board->kernel},
        {"model", board->model, sizeof board->model},
        {"governor", board->governor, sizeof board->governor},
        {"user", board->user, sizeof board->user},
        {"sudosays", board->sudo_says, sizeof board->sudo_says},
    };
    const struct {
        const char *key;
        long *number;
    } numbers[] = {
        {"clock", &board->clock_khz},      {"maxclock", &board->max_clock_khz},
        {"degrees", &board->millidegrees}, {"page", &board->page_bytes},
        {"throttled", &board->throttled},
    };
    const struct {
        const char *key;
        bool *flag;
    } flags[] = {
        {"root", &board->root},
        {"sudo", &board->sudo},
        {"systemd", &board->systemd},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(key, texts[i].key) == 0) snprintf(texts[i].text, texts[i].size, "%s", value);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(key, numbers[i].key) == 0) *numbers[i].number = number_of(value, 0);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (strcmp(key, flags[i].key) == 0) *flags[i].flag = true;
    if (strcmp(key, "memory") == 0) board->memory_bytes = kilobytes(value);
    if (strcmp(key, "available") == 0) board->memory_available = kilobytes(value);
    size_t n = strlen(board->lacks);
    if (strcmp(key, "lacks") == 0)
        snprintf(board->lacks + n, sizeof board->lacks - n, "%s%s", n ? ", " : "", value);
    return FCT_OK;
}

fct_status fct_board_ask(fct_far_shell *shell, const char *root, struct fct_board *board,
                         fct_error *err) {
    struct fct_text script = {0};
    *board = (struct fct_board){.clock_khz = -1,
                                .max_clock_khz = -1,
                                .millidegrees = -1,
                                .page_bytes = -1,
                                .throttled = -1};
    fct_text_puts(&script, "r=");
    fct_shell_word_add(&script, root);
    fct_text_printf(&script, "\n%s", questions);
    return fct_far_call_text(shell, &script, take_fact, board, err);
}

static fct_status take_kernels(void *user, const char *line, fct_error *err) {
    (void)err;
    snprintf(user, FCT_KERNELS_BYTES, "%s", line);
    return FCT_OK;
}

fct_status fct_far_kernels(fct_far_shell *shell, const char *bin, char kernels[FCT_KERNELS_BYTES],
                           fct_error *err) {
    struct fct_text script = {0};
    *kernels = 0;
    fct_text_puts(&script, "b=");
    fct_shell_path_add(&script, bin);
    fct_text_puts(&script, "\n"
                           "f=$b/facet; [ -x \"$f\" ] || f=$(command -v facet) || exit 0\n"
                           "if k=$(\"$f\" --kernels 2>/dev/null); then\n"
                           "    echo \"= $(printf '%s\\n' \"$k\" | head -n 1)\"\n"
                           "fi\n"
                           ":\n");
    return fct_far_call_text(shell, &script, take_kernels, kernels, err);
}

static fct_status take_place(void *user, const char *line, fct_error *err) {
    struct fct_place *place = user;
    (void)err;
    if (strcmp(line, "writable") == 0) place->writable = true;
    if (strncmp(line, "kind ", 5) == 0) snprintf(place->kind, sizeof place->kind, "%s", line + 5);
    if (strncmp(line, "free ", 5) == 0) place->free_bytes = kilobytes(line + 5);
    return FCT_OK;
}

static fct_status take_yes(void *user, const char *line, fct_error *err) {
    (void)err;
    if (strcmp(line, "yes") == 0) *(bool *)user = true;
    return FCT_OK;
}

fct_status fct_far_exists(fct_far_shell *shell, const char *path, bool *exists, fct_error *err) {
    struct fct_text script = {0};
    *exists = false;
    fct_text_puts(&script, "if [ -e ");
    fct_shell_path_add(&script, path);
    fct_text_puts(&script, " ]; then echo '= yes'; fi");
    return fct_far_call_text(shell, &script, take_yes, exists, err);
}

fct_status fct_place_ask(fct_far_shell *shell, const char *folder, struct fct_place *place,
                         fct_error *err) {
    struct fct_text script = {0};
    *place = (struct fct_place){0};
    fct_text_puts(&script, "d=");
    fct_shell_path_add(&script, folder);
    fct_text_puts(&script, "\n"
                           "while [ ! -d \"$d\" ]; do case $d in\n"
                           "?*/*) d=${d%/*} ;;\n"
                           "/*) d=/ ;;\n"
                           "*) d=. ;;\n"
                           "esac; done\n"
                           "[ ! -w \"$d\" ] || echo '= writable'\n"
                           "echo \"= kind $(stat -f -c %T -- \"$d\")\"\n"
                           "echo \"= free $(df --output=avail -k -- \"$d\" | tail -n 1)\"\n");
    return fct_far_call_text(shell, &script, take_place, place, err);
}

/* ---- telling ---- */

/* https://www.raspberrypi.com/documentation/computers/os.html#get_throttled */
static const struct {
    int bit;
    const char *what;
} throttle_bits[] = {
    {0, "under-voltage now: the power supply or its cable is too weak"},
    {1, "the clock is capped now"},
    {2, "throttled now: it is too hot or the supply too weak"},
    {3, "the soft temperature limit is reached now"},
    {16, "under-voltage since it was started"},
    {17, "the clock was capped since it was started"},
    {18, "throttled since it was started"},
    {19, "the soft temperature limit was reached since it was started"},
};

static void tell_slowness(const struct fct_board *board, void (*note)(void *user, const char *line),
                          void *user) {
    char line[256];
    for (size_t i = 0; i < sizeof throttle_bits / sizeof *throttle_bits; i++) {
        if (board->throttled < 0 || !(board->throttled >> throttle_bits[i].bit & 1)) continue;
        snprintf(line, sizeof line, "warning: throttled=0x%lx: %s", (unsigned long)board->throttled,
                 throttle_bits[i].what);
        note(user, line);
    }
    if (strcmp(board->governor, "powersave") == 0)
        note(user, "warning: the governor is powersave: the clock stays at its lowest; see "
                   "docs/RASPBERRY_PI.md");
    if (board->millidegrees >= 80000) {
        snprintf(line, sizeof line, "warning: %.1f degrees: a board that hot slows down",
                 (double)board->millidegrees / 1000);
        note(user, line);
    }
}

void fct_board_tell(const struct fct_board *board, void (*note)(void *user, const char *line),
                    void *user) {
    struct fct_text text = {0};
    fct_text_printf(&text, "%s%s%s, %s %s", board->model, *board->model ? ", " : "", board->machine,
                    board->system, board->kernel);
    if (board->memory_bytes)
        fct_text_printf(&text, ", %.1f GB memory, of which %.1f available",
                        (double)board->memory_bytes / 1e9, (double)board->memory_available / 1e9);
    if (board->page_bytes > 0)
        fct_text_printf(&text, ", pages of %ld KiB", board->page_bytes / 1024);
    if (*board->governor) fct_text_printf(&text, ", governor %s", board->governor);
    if (board->clock_khz > 0) fct_text_printf(&text, ", %ld MHz", board->clock_khz / 1000);
    if (board->max_clock_khz > 0) fct_text_printf(&text, " of %ld", board->max_clock_khz / 1000);
    if (board->millidegrees > 0)
        fct_text_printf(&text, ", %.1f degrees", (double)board->millidegrees / 1000);
    if (board->throttled >= 0)
        fct_text_printf(&text, ", throttled=0x%lx", (unsigned long)board->throttled);
    if (!text.failed) note(user, text.data);
    fct_text_free(&text);
    tell_slowness(board, note, user);
}

fct_status fct_board_check(const struct fct_board *board, fct_error *err) {
    if (strcmp(board->system, "Linux") != 0)
        return fct_fail(err, FCT_ERR_UNSUPPORTED,
                        "the machine there runs %s, and facet needs Linux",
                        *board->system ? board->system : "something unknown");
    if (*board->lacks)
        return fct_fail(err, FCT_ERR_UNSUPPORTED,
                        "the machine there lacks %s: install its coreutils", board->lacks);
    return FCT_OK;
}
