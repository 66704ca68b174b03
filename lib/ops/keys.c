#include "ops/keys.h"

/* ---- Few: merging -------------------------------------------------------------------------------------------------- */

/* Merges sorted [0, half) and [half, n), of which the second has as many or one more: from both ends at once and without a branch, as
 * neither end can pass the middle of `to`. */
static void merge(const uint64_t *from, size_t half, size_t n, uint64_t *to)
{
    const uint64_t *second = from + half;
    size_t taken = 0, left = half; /* of the first, from the front and not from the back */
    for (size_t i = 0, k = n - 1; i < half; i++, k--) {
        const uint64_t x = from[taken], y = second[i - taken];
        const uint64_t u = from[left - 1], v = second[k - left];
        to[i] = x < y ? x : y;
        taken += x < y;
        to[k] = u > v ? u : v;
        left -= u > v;
    }
    if (n > 2 * half)
        to[half] = taken < left ? from[taken] : second[half - taken];
}

static void order_two(uint64_t *a, uint64_t *b)
{
    const uint64_t x = *a, y = *b;
    *a = x < y ? x : y;
    *b = x < y ? y : x;
}

static void sort_four(uint64_t *keys, size_t n)
{
    if (n > 3) {
        order_two(keys, keys + 3);
        order_two(keys + 1, keys + 3);
        order_two(keys + 2, keys + 3);
    }
    if (n > 2) {
        order_two(keys, keys + 2);
        order_two(keys + 1, keys + 2);
    }
    if (n > 1)
        order_two(keys, keys + 1);
}

/* The result is in `work` or stays in `keys`. */
static void sort_by_merging(uint64_t *keys, size_t n, uint64_t *work, bool to_work)
{
    const size_t half = n / 2;
    if (n <= 4) {
        sort_four(keys, n);
        if (to_work)
            memcpy(work, keys, n * sizeof *keys);
        return;
    }
    sort_by_merging(keys, half, work, !to_work);
    sort_by_merging(keys + half, n - half, work + half, !to_work);
    merge(to_work ? keys : work, half, n, to_work ? work : keys);
}

/* ---- Many: by digits of the upper half, the lowest first ---------------------------------------------------------- */

enum { DIGIT = 11, DIGITS = 3, VALUES = 1 << DIGIT, FEW = 1024 };

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
    if (n >= FEW && n <= UINT32_MAX)
        return sort_by_digits(keys, n, work);
    sort_by_merging(keys, n, work, false);
    return keys;
}

/* ---- The least of many -------------------------------------------------------------------------------------------- */

bool ox_keys_settle(uint64_t *keys, size_t n,
                    bool (*before)(const void *context, uint32_t a, uint32_t b),
                    const void *context)
{
    enum { MOVES = 8 }; /* a key, on the average */
    size_t moves = MOVES * n;
    for (size_t i = 1; i < n; i++) {
        const uint64_t key = keys[i];
        size_t at = i;
        for (; at > 0 && keys[at - 1] >> 32 == key >> 32 &&
               before(context, (uint32_t)key, (uint32_t)keys[at - 1]);
             at--) {
            if (--moves == 0)
                return false;
            keys[at] = keys[at - 1];
        }
        keys[at] = key;
    }
    return true;
}

size_t ox_keys_part(uint64_t *keys, size_t n, size_t few, uint64_t *work)
{
    uint32_t counts[VALUES] = {0};
    if (n > UINT32_MAX || n == 0)
        return n;
    uint64_t least = keys[0], most = keys[0];
    for (size_t i = 1; i < n; i++) {
        least = keys[i] < least ? keys[i] : least;
        most = keys[i] > most ? keys[i] : most;
    }
    unsigned shift = 0;
    while ((most - least) >> shift >= VALUES)
        shift++;
    for (size_t i = 0; i < n; i++)
        counts[(keys[i] - least) >> shift]++;
    size_t end = 0, front = 0, back = 0;
    while (front < few && end < VALUES)
        front += counts[end++];
    for (size_t i = 0, to = 0; i < n; i++) {
        const uint64_t key = keys[i];
        const bool behind = (key - least) >> shift >= end;
        keys[to] = key;
        work[back] = key;
        to += !behind;
        back += behind;
    }
    memcpy(keys + front, work, back * sizeof *keys);
    return front;
}
