/* amx_tiles.h - the tile instructions of AMX: eight registers of up to 16 rows of 64 bytes.
 *
 * As inline assembly, so that the compiler knows that they read and write memory; or, with
 * FCT_TILES_IN_C, as plain C that does the same: a test runs the table on CPUs without tiles. */
#ifndef FCT_KERNELS_AMX_TILES_H
#define FCT_KERNELS_AMX_TILES_H

#include <stdint.h>
#include <string.h>

/* What ldtilecfg reads. */
struct tile_shapes {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

#ifdef FCT_TILES_IN_C

static _Thread_local struct {
    struct tile_shapes shapes;
    uint8_t rows[8][16][64];
} tiles;

static void tiles_shape(const struct tile_shapes *shapes) {
    memset(&tiles, 0, sizeof tiles);
    tiles.shapes = *shapes;
}
static void tiles_release(void) { memset(&tiles, 0, sizeof tiles); }
static void tile_zero(int tile) { memset(tiles.rows[tile], 0, sizeof tiles.rows[tile]); }
static void tile_load(int tile, const void *from, size_t stride) {
    tile_zero(tile);
    for (int r = 0; r < tiles.shapes.rows[tile]; r++)
        memcpy(tiles.rows[tile][r], (const char *)from + (size_t)r * stride,
               tiles.shapes.row_bytes[tile]);
}
static void tile_store(int tile, void *to, size_t stride) {
    for (int r = 0; r < tiles.shapes.rows[tile]; r++)
        memcpy((char *)to + (size_t)r * stride, tiles.rows[tile][r], tiles.shapes.row_bytes[tile]);
}
/* Of signed bytes a and unsigned bytes b: sum[m][n] += sum over k, i of a[m][4k + i] b[k][4n + i].
 */
static void tile_multiply(int sum, int a, int b) {
    for (int m = 0; m < tiles.shapes.rows[sum]; m++)
        for (int n = 0; n < tiles.shapes.row_bytes[sum] / 4; n++) {
            int32_t total;
            memcpy(&total, &tiles.rows[sum][m][4 * n], 4);
            for (int k = 0; k < tiles.shapes.row_bytes[a] / 4; k++)
                for (int i = 0; i < 4; i++)
                    total += (int8_t)tiles.rows[a][m][4 * k + i] * tiles.rows[b][k][4 * n + i];
            memcpy(&tiles.rows[sum][m][4 * n], &total, 4);
        }
}

#else

#define TILE_(TILE) "%%tmm" TILE_TEXT_(TILE)
#define TILE_TEXT_(TILE) #TILE
#define tiles_shape(shapes) __asm__ volatile("ldtilecfg %0" ::"m"(*(shapes)))
#define tiles_release() __asm__ volatile("tilerelease" ::: "memory")
#define tile_zero(TILE) __asm__ volatile("tilezero " TILE_(TILE)::: "memory")
#define tile_load(TILE, from, stride)                                                              \
    __asm__ volatile("tileloadd (%0,%1), " TILE_(TILE)::"r"(from), "r"((size_t)(stride))           \
                     : "memor"                                                                     \
                       "y")
#define tile_store(TILE, to, stride)                                                               \
    __asm__ volatile("tilestored " TILE_(TILE) ", (%0,%1)" ::"r"(to), "r"((size_t)(stride))        \
                     : "memory")
#define tile_multiply(SUM, A, B)                                                                   \
    __asm__ volatile("tdpbsud " TILE_(B) ", " TILE_(A) ", " TILE_(SUM)::: "memory")

#endif

#endif
