/* json_table.c - JSON laid out for a person: values in lines, lists of objects in columns. */
#include "cli/json_table.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "cli/folded.h"
#include "cli/progress.h"
#include "cli/style.h"
#include "cli/tame.h"

#define INDENT 2
#define MAX_COLUMNS 16

static bool is_bytes(const char *key) {
    size_t n = strlen(key);
    return n >= 5 && strcmp(key + n - 5, "bytes") == 0;
}

/* How many texts of a list from place i on are the same: one of anything else. */
static size_t run_length(const json_t *list, size_t i) {
    const json_t *first = json_array_get(list, i);
    size_t n = 1;
    while (json_is_string(first) && i + n < json_array_size(list) &&
           json_equal(first, json_array_get(list, i + n)))
        n++;
    return n;
}

/* A value in one line. */
static void add_value(struct fct_text *out, const char *key, const json_t *value) {
    char size[32];
    const char *name;
    json_t *item;
    switch (json_typeof(value)) {
    case JSON_STRING:
        fct_tame_add(out, json_string_value(value), json_string_length(value));
        break;
    case JSON_INTEGER:
        fct_text_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        if (is_bytes(key) && json_integer_value(value) >= 1000)
            fct_text_printf(out, " (%s)", fct_size_text((double)json_integer_value(value), size));
        break;
    case JSON_REAL:
        fct_text_printf(out, "%g", json_real_value(value));
        break;
    case JSON_TRUE:
        fct_text_puts(out, "yes");
        break;
    case JSON_FALSE:
        fct_text_puts(out, "no");
        break;
    case JSON_NULL:
        fct_text_puts(out, "-");
        break;
    case JSON_ARRAY:
        for (size_t i = 0, n; i < json_array_size(value); i += n) {
            item = json_array_get(value, i);
            n = run_length(value, i);
            if (i > 0) fct_text_puts(out, json_is_object(item) ? "; " : ", ");
            if (n > 1) fct_text_printf(out, "%zu x ", n);
            add_value(out, "", item);
        }
        break;
    case JSON_OBJECT:
        json_object_foreach((json_t *)value, name, item) {
            if (item != json_object_iter_value(json_object_iter((json_t *)value)))
                fct_text_puts(out, ", ");
            fct_tame_add(out, name, strlen(name));
            fct_text_puts(out, " ");
            add_value(out, name, item);
        }
        break;
    }
}

/* The value as text in *text, "" without memory. Returns its columns. */
static int value_text(struct fct_text *text, const char *key, const json_t *value) {
    text->size = 0;
    fct_text_add(text, "", 0);
    if (value) add_value(text, key, value);
    bool nothing = (json_is_object(value) && json_object_size(value) == 0) ||
                   (json_is_array(value) && json_array_size(value) == 0);
    if (nothing) fct_text_puts(text, "-");
    int columns = 0;
    for (size_t i = 0; i < text->size; i++)
        columns += ((unsigned char)text->data[i] & 0xC0) != 0x80;
    return columns;
}

/* Adds a cell to a line of a table: `text`, which takes `columns` of `width`. */
static void add_cell(struct fct_text *line, const struct fct_text *text, int columns, int width,
                     bool right) {
    int pad = width > columns ? width - columns : 0;
    fct_text_printf(line, "%*s%s%*s  ", right ? pad : 0, "", text->data ? text->data : "",
                    right ? 0 : pad, "");
}

static void print_line(struct fct_text *line, int indent) {
    while (line->size > 0 && line->data[line->size - 1] == ' ') line->size--;
    printf("%*s%.*s\n", indent, "", (int)line->size, line->data ? line->data : "");
    line->size = 0;
}

/* Every key that a row of the list has, in the order in which they come up; returns how many. */
static int collect_keys(const json_t *list, const char *keys[MAX_COLUMNS]) {
    int n = 0;
    size_t i;
    json_t *row, *value;
    const char *key;
    json_array_foreach(list, i, row) {
        json_object_foreach(row, key, value) {
            int known = 0;
            while (known < n && strcmp(keys[known], key) != 0) known++;
            if (known == n && n < MAX_COLUMNS) keys[n++] = key;
        }
    }
    return n;
}

/* A list of objects; their keys are the columns. Sizes stand there without a unit, so that they
 * compare. */
static void print_columns(const json_t *list, int indent) {
    const char *keys[MAX_COLUMNS];
    int widths[MAX_COLUMNS], n = collect_keys(list, keys);
    struct fct_text text = {0}, line = {0};
    size_t i;
    json_t *row;
    for (int column = 0; column < n; column++) {
        widths[column] = (int)strlen(keys[column]);
        json_array_foreach(list, i, row) {
            int columns = value_text(&text, "", json_object_get(row, keys[column]));
            if (columns > widths[column]) widths[column] = columns;
        }
        fct_text_printf(&line, "%-*s  ", widths[column], keys[column]);
    }
    print_line(&line, indent);
    json_array_foreach(list, i, row) {
        for (int column = 0; column < n; column++) {
            const json_t *value = json_object_get(row, keys[column]);
            int columns = value_text(&text, "", value);
            add_cell(&line, &text, columns, widths[column], json_is_number(value));
        }
        print_line(&line, indent);
    }
    fct_text_free(&text);
    fct_text_free(&line);
}

static bool is_nested(const json_t *value) {
    if (json_is_object(value)) return json_object_size(value) > 0;
    return json_is_object(json_array_get(value, 0));
}

static void print_object(const json_t *object, int indent) {
    struct fct_text text = {0};
    const char *key;
    json_t *value;
    int width = 0;
    json_object_foreach((json_t *)object, key, value) {
        if (!is_nested(value) && (int)strlen(key) > width) width = (int)strlen(key);
    }
    json_object_foreach((json_t *)object, key, value) {
        if (is_nested(value)) continue;
        value_text(&text, key, value);
        int column = indent + width + 2;
        printf("%*s%-*s  ", indent, "", width, key);
        fct_folded_print(stdout, text.data ? text.data : "", column, column,
                         fct_line_columns(STDOUT_FILENO));
    }
    json_object_foreach((json_t *)object, key, value) {
        if (!is_nested(value)) continue;
        printf("\n%*s%s", indent, "", key);
        if (json_is_array(value)) printf(" (%zu)", json_array_size(value));
        printf(":\n");
        if (json_is_array(value))
            print_columns(value, indent + INDENT);
        else
            print_object(value, indent + INDENT);
    }
    fct_text_free(&text);
}

void fct_json_table_print(const json_t *object) { print_object(object, 0); }
