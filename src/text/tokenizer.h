/* tokenizer.h - text to ids and back, exactly as the reference does it (spec:
 * docs/ARCHITECTURE.md). */
#ifndef FCT_TEXT_TOKENIZER_H
#define FCT_TEXT_TOKENIZER_H

#include "text/vocabulary.h"

struct fct_ids {
    int *data;
    size_t size, capacity;
};
fct_status fct_ids_add(struct fct_ids *ids, int id, fct_error *err);
void fct_ids_free(struct fct_ids *ids);

/* Appends the ids of text, which must be valid UTF-8 (fct_utf8_repair it first; else
 * FCT_ERR_ARGUMENT). control: control names are recognised. Time is n log n in the length, whatever
 * the text. On failure ids are as they were. */
fct_status fct_encode(const fct_vocabulary *vocabulary, const char *text, size_t n_bytes,
                      bool control, struct fct_ids *ids, fct_error *err);

/* Ids to text, one at a time, never half a character. A maximal run of byte pieces is UTF-8 if all
 * of it is valid, else one U+FFFD a byte: so a run is held back until a piece that is no byte ends
 * it, and only byte pieces ever wait. Joined, the texts are exactly those of fct_decode. Ids
 * without a piece, and control tokens if they are to be skipped, are as if they were not there:
 * they do not end a run either. */
typedef struct fct_decoder fct_decoder;
fct_decoder *fct_decoder_new(const fct_vocabulary *vocabulary, bool skip_control, fct_error *err);
void fct_decoder_free(fct_decoder *decoder);
/* The text that id completes, "" if none; NUL-terminated and *n_bytes long; lives until the next
 * call. NULL: no memory. */
const char *fct_decoder_push(fct_decoder *decoder, int id, size_t *n_bytes);
/* What was held back. The decoder is ready for a new text afterwards. */
const char *fct_decoder_finish(fct_decoder *decoder, size_t *n_bytes);

/* The text of a whole list, NUL-terminated; *text is the caller's (fct_free). */
fct_status fct_decode(const fct_vocabulary *vocabulary, const int *ids, size_t n_ids,
                      bool skip_control, char **text, size_t *n_bytes, fct_error *err);

#endif
