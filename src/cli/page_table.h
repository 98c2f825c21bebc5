/* page_table.h - a table in Markdown whose columns are aligned. */
#ifndef FCT_CLI_PAGE_TABLE_H
#define FCT_CLI_PAGE_TABLE_H

#include "base/buffer.h"

/* Cells row by row, the first row being the heads; the first n_left columns are set to the left. */
struct fct_page_table {
    int n_columns, n_left;
    struct fct_text cells; /* each ended by a NUL */
    int n_cells;
};

/* Control characters in it become '?', bars '/'. */
void fct_page_cell(struct fct_page_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds the table to a page and frees the cells. What lacks memory shows in page->failed. */
void fct_page_table_add(struct fct_page_table *table, struct fct_text *page);

#endif
