/* tokenizer.h - text to ids and back, exactly as the reference does it (spec: docs/ARCHITECTURE.md). */
#ifndef FCT_TEXT_TOKENIZER_H
#define FCT_TEXT_TOKENIZER_H

#include "text/vocabulary.h"

struct fct_ids {
    int *data;
    size_t size, capacity;
};
fct_status fct_ids_add(struct fct_ids *ids, int id, fct_error *err);
void fct_ids_free(struct fct_ids *ids);

/* Appends the ids of text, which must be valid UTF-8 (repair it first). control: control names are recognised. Time is
 * n log n in the length, whatever the text. */
fct_status fct_encode(const fct_vocabulary *vocabulary, const char *text, size_t n_bytes, bool control, struct fct_ids *ids, fct_error *err);

/* Ids to text, a piece at a time: bytes of a character wait for each other. */
struct fct_decoder {
    const fct_vocabulary *vocabulary;
    bool skip_control;
    struct fct_text *out;      /* text is appended here */
    uint8_t *held;             /* run of byte pieces that is not known to be valid as a whole yet */
    size_t n_held, capacity;
};
/* decode of a whole list: a maximal run of byte pieces is UTF-8 if all of it is valid, else one U+FFFD a byte. */
fct_status fct_decode(const fct_vocabulary *vocabulary, const int *ids, size_t n_ids, bool skip_control, char **text, size_t *n_bytes, fct_error *err);

#endif
