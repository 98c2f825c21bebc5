/* loss.c - what quantizing lost: the error of all weights against their size. */
#include "convert/loss.h"

#include <math.h>
#include <string.h>

#include "base/half.h"

static void add(struct fct_loss *loss, float wanted, float made) {
    double error = (double)made - (double)wanted;
    loss->error += error * error;
    loss->power += (double)wanted * (double)wanted;
}

/* The code of an input and row in units that hold `bits` a code: blocks.h has the order. */
static int code_in(const uint8_t *units, int bits, int input, int row) {
    int per_byte = 8 / bits, unit = input / (4 * per_byte), shift = input / 4 % per_byte * bits;
    uint8_t byte = units[unit * FCT_LINE + 4 * row + input % 4];
    if (bits == 8) return (int8_t)byte;
    return (byte >> shift & ((1 << bits) - 1)) - (1 << (bits - 1));
}

static float weight_in(enum fct_scheme scheme, int group, int columns, const uint8_t *strip,
                       int row, int column) {
    int bits = fct_scheme_bits(scheme);
    float scale;
    if (scheme == FCT_F32) {
        memcpy(&scale, strip + (size_t)column * FCT_LINE + (size_t)row * sizeof scale,
               sizeof scale);
        return scale;
    }
    if (!group) {
        memcpy(&scale, strip + fct_strip_bytes(scheme, 0, columns) - FCT_LINE + 4 * row,
               sizeof scale);
        return scale * (float)code_in(strip, bits, column, row);
    }
    size_t tile_bytes = fct_tile_bytes(scheme, group);
    const uint8_t *tile = strip + (size_t)(column / (2 * group)) * tile_bytes;
    int half = column / group % 2;
    uint16_t bits16;
    memcpy(&bits16, tile + (half * FCT_STRIP + row) * (int)sizeof bits16, sizeof bits16);
    const uint8_t *units = tile + FCT_LINE + (size_t)half * (tile_bytes - FCT_LINE) / 2;
    return fct_half_float(bits16) * (float)code_in(units, bits, column % group, row);
}

void fct_loss_add_strip(struct fct_loss *loss, enum fct_scheme scheme, int group, const float *x,
                        int n_rows, int columns, const uint8_t *strip) {
    for (int row = 0; row < n_rows; row++)
        for (int column = 0; column < columns; column++)
            add(loss, x[(size_t)row * (size_t)columns + (size_t)column],
                weight_in(scheme, group, columns, strip, row, column));
}

void fct_loss_add_table_row(struct fct_loss *loss, enum fct_scheme scheme, int blocks,
                            const float *x, int columns, const uint8_t *row) {
    int bits = fct_scheme_bits(scheme), n = columns / (blocks ? blocks : 1);
    const uint8_t *codes = row + (size_t)blocks * sizeof(float);
    for (int i = 0; i < columns; i++) {
        float scale;
        if (scheme == FCT_F32) {
            add(loss, x[i], x[i]);
            continue;
        }
        memcpy(&scale, row + (size_t)(i / n) * sizeof scale, sizeof scale);
        int per_byte = 8 / bits, byte = codes[i / per_byte];
        int code = bits == 8
                       ? (int8_t)byte
                       : (byte >> i % per_byte * bits & ((1 << bits) - 1)) - (1 << (bits - 1));
        add(loss, x[i], scale * (float)code);
    }
}

double fct_loss_relative(const struct fct_loss *loss) {
    return loss->power > 0 ? sqrt(loss->error / loss->power) : 0;
}
