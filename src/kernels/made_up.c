/* made_up.c - numbers and weights that nobody trained, for checking and measuring kernels. */
#include "kernels/made_up.h"
#include "base/half.h"

#include <math.h>
#include <string.h>

static uint32_t next_random(uint32_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* Both signs, magnitudes from 2^-10 to 2^3. */
static float random_float(uint32_t *state) {
    uint32_t r = next_random(state);
    float x = ldexpf(1.0f + (float)(r & 0xFFFF) / 65536.0f, (int)(r >> 16) % 13 - 10);
    return r >> 31 ? -x : x;
}

void fct_made_up_floats(float *x, size_t n, uint32_t seed) {
    for (size_t i = 0; i < n; i++) x[i] = random_float(&seed);
}

static uint16_t random_half_scale(uint32_t *state) {
    return fct_float_half(0.01f + (float)(next_random(state) % 1000) * 1e-4f);
}

static void fill_scales(const struct fct_matrix *w, uint8_t *data, uint32_t *state) {
    size_t strip_bytes = fct_strip_bytes(w->scheme, w->group, w->columns);
    for (int strip = 0; strip < fct_strips(w->rows); strip++, data += strip_bytes) {
        if (w->group) {
            size_t tile_bytes = fct_tile_bytes(w->scheme, w->group);
            for (size_t at = 0; at < strip_bytes; at += tile_bytes)
                for (int i = 0; i < 32; i++)
                    ((uint16_t *)(data + at))[i] = random_half_scale(state);
        } else {
            float *scales = (float *)(data + strip_bytes - 64);
            for (int row = 0; row < FCT_STRIP; row++) scales[row] = 0.01f * random_float(state);
        }
    }
}

void fct_made_up_matrix(const struct fct_matrix *w, uint8_t *data, uint32_t seed) {
    size_t bytes = fct_matrix_bytes(w);
    if (w->scheme == FCT_F32) {
        fct_made_up_floats((float *)data, bytes / 4, seed);
        return;
    }
    for (size_t i = 0; i < bytes; i += 4) {
        uint32_t r = next_random(&seed);
        memcpy(data + i, &r, 4);
    }
    fill_scales(w, data, &seed);
}
