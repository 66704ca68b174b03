/* The first of a row by 64-bit keys, where they are not few; stamped a type, after topk_tmpl.h. */
#include "ops/key_order_tmpl.h"
#include "ops/value_less.h"

/* Keys whose order is that of topk_before(), but of doubles that have the upper half of their order in common. Of integers of 64 bits the
 * distances from the worst of those looked at first: what comes later is better. False: it is too far. */
static inline bool N(topk_key)(const T *row, size_t i, T worst, bool largest, uint64_t *key)
{
#if defined(T_BITS) && T_BITS == 64
    const W order = largest ? (W)row[i] - (W)worst : (W)worst - (W)row[i];
    *key = (uint64_t) ~(uint32_t)order << 32 | i;
    return order <= UINT32_MAX;
#else
    const uint32_t order = N(key_order)(row[i], worst);
    *key = (uint64_t)(largest ? ~order : order) << 32 | i;
    return true;
#endif
}

static inline T N(topk_worst)(const T *row, size_t n, bool largest)
{
    (void)row;
    (void)n;
    (void)largest;
#if defined(T_FLOAT)
    return 0;
#elif T_BITS == 64
    T worst = row[0];
    for (size_t i = 1; i < n; i++)
        worst = (largest ? row[i] < worst : row[i] > worst) ? row[i] : worst;
    return worst;
#else
    return T_MIN;
#endif
}

static bool N(topk_key_before)(const void *row_, uint32_t a, uint32_t b)
{
    const struct topk_row *row = row_;
    return N(topk_before)(row->data, a, b, row->largest);
}

/* Doubles alone have keys that do not tell them apart. False: too many of them. */
static bool N(topk_settle)(const T *row, uint64_t *keys, size_t n, bool largest)
{
#ifdef T_FLOAT
    const bool by_halves = sizeof(T) == 8;
#else
    const bool by_halves = false;
#endif
    const struct topk_row context = {row, largest};
    return !by_halves || ox_keys_settle(keys, n, N(topk_key_before), &context);
}

/* Whether *bound is worse than at least k elements of a row, by the best of as many groups as there is room for, side by side; `keys` has
 * room for those twice and for their best. */
static bool N(topk_bound)(const T *row, size_t n_row, size_t k, bool largest,
                          const struct ox_fold *best, uint64_t *keys, T *bound)
{
    enum { LEAST = 4 }; /* of a group */
    const size_t groups = topk_room(n_row, k), size = n_row / groups;
    T *found = (T *)(void *)(keys + 2 * groups);
    if (!best || size < LEAST)
        return false;
    best->start(found, groups);
    best->lanes(found, row, groups, size, groups, NULL);
    const T worst = N(topk_worst)(found, groups, largest);
    for (size_t i = 0; i < groups; i++)
        if (!N(topk_key)(found, i, worst, largest, &keys[i]))
            return false;
    uint64_t *sorted = ox_keys_sort(keys, groups, keys + groups);
    if (!N(topk_settle)(found, sorted, groups, largest))
        return false;
    const T last = found[(uint32_t)sorted[k - 1]];
    size_t i = k;
    for (; i < groups; i++) {
        const T x = found[(uint32_t)sorted[i]];
        if (SELECT_LESS(x, last) || SELECT_LESS(last, x))
            break;
    }
    if (i == groups)
        return false;
    *bound = found[(uint32_t)sorted[i]];
    return true;
}

/* Keys of the first k of a row, in order; NULL: keys do not tell its elements apart. Those that may be among them gather behind the best k of
 * all before; when there is no room for more, the best k of both are kept. `keys` has room for topk_room() three times. */
static const uint64_t *N(topk_keys)(const void *data, size_t n_row, size_t k, bool largest,
                                    const struct ox_beyond *next, const struct ox_fold *best,
                                    uint64_t *keys)
{
    const T *row = data;
    const size_t room = topk_room(n_row, k);
    uint64_t *work = keys + room;
    T last;
    const bool bounded = N(topk_bound)(row, n_row, k, largest, best, keys, &last);
    const T worst = bounded ? last : N(topk_worst)(row, room, largest);
    size_t n = 0, i = 0, looked = 0;
    for (; n < room && !bounded; n++)
        if (!N(topk_key)(row, n, worst, largest, &keys[n]))
            return NULL;
    for (i = n;;) {
        for (; n < room; i++) {
            i = next->find(row, i, n_row, &last, largest, &looked);
            if (i == n_row)
                break;
            if (!N(topk_key)(row, i, worst, largest, &keys[n++]))
                return NULL;
        }
        uint64_t *sorted = ox_keys_sort(keys, n, work);
        work = sorted == keys ? work : keys;
        keys = sorted;
        if (!N(topk_settle)(row, keys, n, largest))
            return NULL;
        if (i == n_row)
            return keys;
        n = k;
        last = row[(uint32_t)keys[k - 1]];
    }
}

#undef SELECT_LESS
#undef SELECT_NAN
