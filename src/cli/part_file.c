/* part_file.c - what is being written goes away with Ctrl+C. */
#include "cli/part_file.h"

#include "base/buffer.h"
#include "cli/interrupt.h"

fct_status fct_part_guard(const char *out, fct_error *err) {
    struct fct_text part = {0};
    fct_text_printf(&part, "%s.part", out);
    char *path = fct_text_finish(&part, NULL, err);
    if (!path) return FCT_ERR_MEMORY;
    fct_interrupt_removes(path);
    fct_free(path);
    return FCT_OK;
}
