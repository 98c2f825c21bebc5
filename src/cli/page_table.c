/* page_table.c - gathers cells, then writes them as wide as their column. */
#include "cli/page_table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/tame.h"

enum { MAX_COLUMNS = 16 };

void fct_page_cell(struct fct_page_table *table, const char *format, ...) {
    char cell[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(cell, sizeof cell, format, arguments);
    va_end(arguments);
    for (char *at = cell; *at; at++)
        if (*at == '|') *at = '/';
    fct_tame_add(&table->cells, cell, strlen(cell));
    fct_text_add(&table->cells, "", 1);
    table->n_cells++;
}

/* Columns that a text takes on a terminal. */
static int width_of(const char *text) {
    int n = 0;
    for (; *text; text++) n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

static void add_cell(struct fct_text *page, const char *cell, int width, bool left) {
    int pad = width - width_of(cell);
    fct_text_printf(page, "| %*s%s%*s ", left ? 0 : pad, "", cell, left ? pad : 0, "");
}

/* What sets the heads apart, and says where a column is set. */
static void add_rule(struct fct_text *page, const int *widths, int n_columns, int n_left) {
    for (int column = 0; column < n_columns; column++) {
        bool left = column < n_left;
        fct_text_puts(page, left ? "| " : "|-");
        for (int dash = 0; dash < widths[column]; dash++) fct_text_puts(page, "-");
        fct_text_puts(page, left ? " " : ":");
    }
    fct_text_puts(page, "|\n");
}

void fct_page_table_add(struct fct_page_table *table, struct fct_text *page) {
    int widths[MAX_COLUMNS] = {0}, n = table->n_columns;
    const char *cell = table->cells.data;
    bool whole = cell && !table->cells.failed && n <= MAX_COLUMNS;
    for (int i = 0; whole && i < table->n_cells; i++, cell += strlen(cell) + 1)
        if (width_of(cell) > widths[i % n]) widths[i % n] = width_of(cell);
    cell = table->cells.data;
    for (int i = 0; whole && i < table->n_cells; i++, cell += strlen(cell) + 1) {
        add_cell(page, cell, widths[i % n], i % n < table->n_left);
        if (i % n < n - 1) continue;
        fct_text_puts(page, "|\n");
        if (i == n - 1) add_rule(page, widths, n, table->n_left);
    }
    if (table->cells.failed) page->failed = true;
    fct_text_free(&table->cells);
    table->n_cells = 0;
}
