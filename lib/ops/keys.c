#include "ops/keys.h"

#include <stdbool.h>

/* ---- Few: merging -------------------------------------------------------------------------------------------------- */

/* Merges sorted [0, middle) and [middle, n). */
static void merge(const uint64_t *from, size_t middle, size_t n, uint64_t *to)
{
    size_t a = 0, b = middle;
    for (size_t i = 0; i < n; i++) {
        const bool first = b == n || (a < middle && from[a] < from[b]);
        to[i] = from[first ? a : b];
        a += first;
        b += !first;
    }
}

static uint64_t *sort_by_merging(uint64_t *keys, size_t n, uint64_t *work)
{
    enum { RUN = 8 };
    for (size_t from = 0; from < n; from += RUN) {
        const size_t to = n - from < RUN ? n : from + RUN;
        for (size_t i = from + 1; i < to; i++) {
            const uint64_t key = keys[i];
            size_t at = i;
            for (; at > from && keys[at - 1] > key; at--)
                keys[at] = keys[at - 1];
            keys[at] = key;
        }
    }
    for (size_t run = RUN; run < n; run *= 2) {
        for (size_t from = 0; from < n; from += 2 * run) {
            const size_t some = n - from < 2 * run ? n - from : 2 * run;
            merge(keys + from, some < run ? some : run, some, work + from);
        }
        uint64_t *sorted = work;
        work = keys;
        keys = sorted;
    }
    return keys;
}

/* ---- Many: by digits of the upper half, the lowest first ---------------------------------------------------------- */

enum { DIGIT = 11, DIGITS = 3, VALUES = 1 << DIGIT, FEW = 512 };

static size_t digit_of(uint64_t key, unsigned which)
{
    return (size_t)(key >> (32 + which * DIGIT)) & (VALUES - 1);
}

static uint64_t *sort_by_digits(uint64_t *keys, size_t n, uint64_t *work)
{
    uint32_t counts[DIGITS][VALUES] = {{0}};
    for (size_t i = 0; i < n; i++)
        for (unsigned d = 0; d < DIGITS; d++)
            counts[d][digit_of(keys[i], d)]++;
    for (unsigned d = 0; d < DIGITS; d++) {
        uint32_t *at = counts[d], next = 0;
        if (at[digit_of(keys[0], d)] == n) /* all the same */
            continue;
        for (size_t v = 0; v < VALUES; v++) {
            const uint32_t some = at[v];
            at[v] = next;
            next += some;
        }
        for (size_t i = 0; i < n; i++)
            work[at[digit_of(keys[i], d)]++] = keys[i];
        uint64_t *sorted = work;
        work = keys;
        keys = sorted;
    }
    return keys;
}

uint64_t *ox_keys_sort(uint64_t *keys, size_t n, uint64_t *work)
{
    return n < FEW || n > UINT32_MAX ? sort_by_merging(keys, n, work)
                                     : sort_by_digits(keys, n, work);
}
