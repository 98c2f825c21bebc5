/* json_table.h - JSON laid out for a person. */
#ifndef FCT_CLI_JSON_TABLE_H
#define FCT_CLI_JSON_TABLE_H

#include <jansson.h>

/* Prints an object: simple values one a line, objects in it indented below their names, lists of
 * objects as tables. */
void fct_json_table_print(const json_t *object);

#endif
