/* unpack.h - weights as plain numbers, for the kernels that need no speed: portable.c, and floats
 * of every table. */
#ifndef FCT_KERNELS_UNPACK_H
#define FCT_KERNELS_UNPACK_H

#include "base/half.h"
#include "kernels/blocks.h"

enum { LONGEST_RUN = 128 };

/* Inputs that are unpacked at a time: a group, or 32 where the whole row has one scale. */
static inline int run_length(const struct fct_matrix *w) { return w->group ? w->group : 32; }

static inline const uint8_t *strip_data(const struct fct_matrix *w, int strip) {
    return w->data + (size_t)strip * fct_strip_bytes(w->scheme, w->group, w->columns);
}

/* The units of a run of a strip. */
static inline const uint8_t *run_units(const struct fct_matrix *w, int strip, int run) {
    size_t run_bytes = (size_t)run_length(w) * FCT_STRIP * (size_t)fct_scheme_bits(w->scheme) / 8;
    const uint8_t *data = strip_data(w, strip);
    if (!w->group) return data + (size_t)run * run_bytes;
    return data + (size_t)(run / 2) * fct_tile_bytes(w->scheme, w->group) + 64 +
           (size_t)(run % 2) * run_bytes;
}

/* The scales of a run's 16 rows. */
static inline void run_scales(const struct fct_matrix *w, int strip, int run,
                              float scales[FCT_STRIP]) {
    const uint8_t *data = strip_data(w, strip);
    if (!w->group) {
        memcpy(scales, data + fct_strip_bytes(w->scheme, 0, w->columns) - 64, 64);
        return;
    }
    const uint8_t *halves =
        data + (size_t)(run / 2) * fct_tile_bytes(w->scheme, w->group) + 32 * (run % 2);
    for (int row = 0; row < FCT_STRIP; row++)
        scales[row] = fct_half_float(((const uint16_t *)halves)[row]);
}

/* codes[input][row] of n inputs. Four inputs of a row are a word, so that a shift finds one input
 * of all rows. */
static inline void unpack_codes(enum fct_scheme scheme, const uint8_t *units, int n,
                                int8_t codes[][FCT_STRIP]) {
    int bits = fct_scheme_bits(scheme), per_byte = 8 / bits;
    uint32_t mask = (1u << bits) - 1, offset = scheme == FCT_Q4 ? 8 : scheme == FCT_Q2 ? 2 : 0;
    for (int input = 0; input < n; input++) {
        uint32_t words[FCT_STRIP];
        int shift = input % 4 * 8 + input / 4 % per_byte * bits;
        memcpy(words, units + (size_t)(input / (4 * per_byte)) * 64, sizeof words);
        for (int row = 0; row < FCT_STRIP; row++)
            codes[input][row] = (int8_t)((words[row] >> shift & mask) - offset);
    }
}

#endif
