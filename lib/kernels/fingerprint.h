/* Fingerprints of elements in any order. */
#ifndef OX_KERNELS_FINGERPRINT_H
#define OX_KERNELS_FINGERPRINT_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu.h"

/* The sum, modulo 2^64, of a print of each of n floats by its bits, both zeros alike: any order gives the same, and every level too.
 * They may lie at any address. */
uint64_t ox_fingerprint(enum ox_cpu level, size_t n, const void *floats);

/* For fingerprint.c. */
uint64_t ox_fingerprint_avx2(size_t n, const void *floats);

/* Of one. One product of 32 bits, which every processor has for several elements at a time. */
static inline uint64_t ox_fingerprint_one(uint32_t bits)
{
    bits = bits << 1 ? bits : 0;
    const uint64_t product =
        (uint64_t)(bits + 0x9E3779B9u) * ((bits >> 16 | bits << 16) + 0x85EBCA6Bu);
    return product ^ product >> 29;
}

#endif
