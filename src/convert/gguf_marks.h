/* gguf_marks.h - pieces of a GGUF vocabulary that have lost the byte order mark they begin with. */
#ifndef FCT_CONVERT_GGUF_MARKS_H
#define FCT_CONVERT_GGUF_MARKS_H

#include "facet.h"

#define FCT_BYTE_ORDER_MARK "\xEF\xBB\xBF"

/* Puts the mark back into pieces[n_pieces] where it shows that it was lost. *text, the caller's
 * (fct_free; NULL if nothing changed), holds the texts of the *n_restored pieces that changed. */
fct_status fct_gguf_restore_marks(const char **pieces, int n_pieces, char **text, int *n_restored,
                                  fct_error *err);

#endif
