/* module_pattern.c - regular expressions over the names of modules, as Python means them. */
#include "convert/module_pattern.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* An escape of one sign is at most six of POSIX. */
enum { MAX_PATTERN = 512, MAX_COMPILED = 6 * MAX_PATTERN + 1, MAX_REPEAT = 99 };

/* Python's pattern on its way into POSIX's. */
struct translation {
    const char *at;
    char out[MAX_COMPILED];
    size_t n;
    bool repeatable;   /* what stands before may be repeated, */
    bool group;        /* and is a group */
    const char *fault; /* what is not in the subset; NULL: nothing so far */
};

static void put(struct translation *t, const char *text, size_t n) {
    memcpy(t->out + t->n, text, n);
    t->n += n;
}

static void put_item(struct translation *t, const char *text) {
    put(t, text, strlen(text));
    t->repeatable = true;
    t->group = false;
}

/* Behind a backslash. */
static void escape(struct translation *t) {
    char c = *t->at, same[3] = {'\\', c, 0};
    if (c == 'd')
        put_item(t, "[0-9]");
    else if (c == 'D')
        put_item(t, "[^0-9]");
    else if (c && strchr("wWsS", c))
        put_item(t, same);
    else if (c == 'b' || c == 'B') {
        put(t, same, 2);
        t->repeatable = false;
    } else if (c && strchr(".^$|*+?[]{}()\\", c))
        put_item(t, same);
    else if (c && ispunct((unsigned char)c))
        put_item(t, (char[]){c, 0});
    else
        t->fault = "an escape";
    if (!t->fault) t->at++;
}

/* Behind "[", up to and with "]". A backslash means something else to POSIX there. */
static void bracket(struct translation *t) {
    const char *begin = t->at - 1, *end = t->at;
    if (*end == '^') end++;
    if (*end == ']') end++;
    while (*end && *end != ']' && *end != '\\' && *end != '[') end++;
    if (*end != ']') {
        t->fault = *end ? "an escape or a bracket within brackets" : "an open bracket";
        return;
    }
    put(t, begin, (size_t)(end + 1 - begin));
    t->at = end + 1;
    t->repeatable = true;
    t->group = false;
}

/* Behind "(". */
static void open_group(struct translation *t) {
    if (t->at[0] == '?' && t->at[1] == ':')
        t->at += 2;
    else if (t->at[0] == '?')
        t->fault = "a group with (?";
    put(t, "(", 1);
    t->repeatable = false;
}

/* Behind "{". Bounds are kept small, and off groups, so that a short pattern stays a small
 * machine. */
static void count(struct translation *t) {
    int low, high, used = 0;
    if (sscanf(t->at, "%2d}%n", &low, &used) < 1 || !used)
        if (sscanf(t->at, "%2d,%2d}%n", &low, &high, &used) < 2 || !used || high > MAX_REPEAT)
            used = 0;
    if (!used || !isdigit((unsigned char)*t->at) || !t->repeatable || t->group) {
        t->fault = "this use of {";
        return;
    }
    put(t, t->at - 1, (size_t)used + 1);
    t->at += used;
    t->repeatable = false;
}

static void step(struct translation *t) {
    char c = *t->at++;
    switch (c) {
    case '\\':
        escape(t);
        return;
    case '[':
        bracket(t);
        return;
    case '(':
        open_group(t);
        return;
    case '{':
        count(t);
        return;
    case '*':
    case '+':
    case '?':
        if (!t->repeatable) t->fault = "this repetition";
        put(t, &c, 1);
        t->repeatable = false;
        return;
    case '^':
    case '$':
    case '|':
        put(t, &c, 1);
        t->repeatable = false;
        return;
    default:
        put_item(t, (char[]){c, 0});
        t->group = c == ')';
    }
}

fct_status fct_pattern_compile(regex_t *pattern, const char *text, fct_error *err) {
    struct translation t = {.at = text};
    char why[128];
    if (strlen(text) > MAX_PATTERN)
        return fct_fail(err, FCT_ERR_UNSUPPORTED, "the pattern %.40s... is longer than %d bytes",
                        text, MAX_PATTERN);
    while (*t.at && !t.fault) step(&t);
    if (t.fault)
        return fct_fail(err, FCT_ERR_UNSUPPORTED,
                        "the pattern %s: %s is not in the subset that facet reads", text, t.fault);
    t.out[t.n] = 0;
    int code = regcomp(pattern, t.out, REG_EXTENDED | REG_NOSUB);
    if (code == 0) return FCT_OK;
    regerror(code, pattern, why, sizeof why);
    return fct_fail(err, FCT_ERR_FORMAT, "the pattern %s: %s", text, why);
}

bool fct_pattern_matches(const regex_t *pattern, const char *name) {
    return regexec(pattern, name, 0, NULL, 0) == 0;
}
