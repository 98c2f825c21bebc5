/* python_repr.h - JSON values as Python prints them. */
#ifndef FCT_TEXT_PYTHON_REPR_H
#define FCT_TEXT_PYTHON_REPR_H

#include <jansson.h>

#include "base/buffer.h"

/* A double with the fewest digits that read back the same: 1200.5, 1.0, 1e-07, 1e+22. */
void fct_python_float(struct fct_text *out, double value);
/* str(value): a string as it is, everything else as repr() has it: None, True, ['a', {'b': 1.0}].
 */
void fct_python_str(struct fct_text *out, const json_t *value);

#endif
