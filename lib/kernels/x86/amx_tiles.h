/* The tiles of AMX: how they are configured. */
#ifndef OX_KERNELS_X86_AMX_TILES_H
#define OX_KERNELS_X86_AMX_TILES_H

#include <immintrin.h>
#include <stdint.h>

/* As Intel's manual lays it out for palette 1. */
struct ox_amx_tiles {
    uint8_t palette, start_row, zero[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} __attribute__((aligned(64)));

/* The compiler does not know that tiles are loaded from memory. */
#define ox_amx_memory_is_written() __asm__ volatile("" ::: "memory")

static inline void ox_amx_start(const struct ox_amx_tiles *tiles)
{
    ox_amx_memory_is_written();
    _tile_loadconfig(tiles);
}

static inline void ox_amx_end(void)
{
    _tile_release();
    ox_amx_memory_is_written();
}

#endif
