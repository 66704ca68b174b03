/* Values in order by 64-bit keys: what decides is in the upper half, the index of the value in the lower. */
#ifndef OX_OPS_KEYS_H
#define OX_OPS_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Numbers in the order of floats that are none of them NaN; zeros are one. */
static inline uint32_t ox_key_order(float value)
{
    uint32_t bits;
    value += 0.0f; /* of -0 it makes 0 */
    memcpy(&bits, &value, sizeof bits);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

/* The upper half of the same of doubles. */
static inline uint32_t ox_key_upper(double value)
{
    uint64_t bits;
    value += 0.0;
    memcpy(&bits, &value, sizeof bits);
    return (uint32_t)((bits >> 63 ? ~bits : bits | UINT64_C(1) << 63) >> 32);
}

/* In ascending order, with `work` as large as the keys; the result is in one of both, which is returned. Those whose upper halves
 * are the same must stand in the order of their lower ones. */
uint64_t *ox_keys_sort(uint64_t *keys, size_t n, uint64_t *work);

/* Puts those in order whose upper halves are the same, by what `before` tells of two lower ones. False, and the keys in any order:
 * there are too many of them. */
bool ox_keys_settle(uint64_t *keys, size_t n,
                    bool (*before)(const void *context, uint32_t a, uint32_t b),
                    const void *context);

/* Moves the least to the front, `few` of them or some more, each part in the order that it had; returns how many. */
size_t ox_keys_part(uint64_t *keys, size_t n, size_t few, uint64_t *work);

#endif
