/* The first of a row by 64-bit keys, where they are not few; stamped a type, after topk_tmpl.h. */
#include "ops/key_order_tmpl.h"

/* Keys whose order is that of topk_before(), but of doubles that have the upper half of their order in common. */
static inline uint64_t N(topk_key)(const T *row, size_t i, T least, bool largest)
{
    const uint32_t order = N(key_order)(row[i], least);
    return (uint64_t)(largest ? ~order : order) << 32 | i;
}

/* Puts neighbours in order whose keys do not tell them apart. False: there are too many of them. */
static bool N(topk_settle)(const T *row, uint64_t *keys, size_t n, bool largest)
{
    enum { MOVES = 8 }; /* a key, on the average */
    size_t moves = sizeof(T) == 8 ? MOVES * n : 0;
    for (size_t i = 1; moves && i < n; i++) {
        const uint64_t key = keys[i];
        size_t at = i;
        for (; at > 0 && keys[at - 1] >> 32 == key >> 32 &&
               N(topk_before)(row, (uint32_t)key, (uint32_t)keys[at - 1], largest);
             at--) {
            if (--moves == 0)
                return false;
            keys[at] = keys[at - 1];
        }
        keys[at] = key;
    }
    return true;
}

/* Keys of the first k of a row, in order; NULL: keys do not tell its elements apart. Those that may be among them gather behind the best k of
 * all before; when there is no room for more, the best k of both are kept. `keys` has room for topk_room() twice. */
static const uint64_t *N(topk_keys)(const void *data, size_t n_row, size_t k, bool largest,
                                    uint64_t *keys)
{
    const T *row = data;
    const size_t room = topk_room(n_row, k);
    uint64_t *work = keys + room;
    size_t n = 0;
    T least;
    if (!N(key_least)(row, n_row, &least))
        return NULL;
    for (; n < room; n++)
        keys[n] = N(topk_key)(row, n, least, largest);
    for (size_t i = n, looked = 0;;) {
        uint64_t *sorted = ox_keys_sort(keys, n, work);
        work = sorted == keys ? work : keys;
        keys = sorted;
        if (!N(topk_settle)(row, keys, n, largest))
            return NULL;
        n = k;
        const T last = row[(uint32_t)keys[k - 1]];
        for (; n < room; i++) {
            i = N(topk_next)(row, i, n_row, last, largest, &looked);
            if (i == n_row)
                break;
            keys[n++] = N(topk_key)(row, i, least, largest);
        }
        if (n == k)
            return keys;
    }
}
