/* Places that tuples of indices name: GatherND and ScatterND. */
#include "kernels/inline.h"
#include "ops/move.h"

/* Whether all indices are inside; with k known in advance. */
INLINE bool find_places(const int64_t *index, size_t n, const size_t k, const int64_t *dims,
                        const int64_t *strides, int64_t *place)
{
    bool outside = false;

    for (size_t i = 0; i < n; i++, index += k) {
        uint64_t at = 0; /* wraps where an index is outside, or the data is empty */

        for (size_t m = 0; m < k; m++) {
            const int64_t one = index[m] + (index[m] < 0 ? dims[m] : 0);

            outside |= (uint64_t)one >= (uint64_t)dims[m];
            at += (uint64_t)one * (uint64_t)strides[m];
        }
        place[i] = (int64_t)at;
    }
    return !outside;
}

enum ox_status ox_move_tuples(const struct ox_run *r, const int64_t *index, size_t first, size_t n,
                              size_t k, const int64_t *dims, const int64_t *strides, int64_t *place,
                              struct ox_error *err)
{
    const int64_t *from = index + first * k;
    const bool inside = k == 1   ? find_places(from, n, 1, dims, strides, place)
                        : k == 2 ? find_places(from, n, 2, dims, strides, place)
                        : k == 3 ? find_places(from, n, 3, dims, strides, place)
                        : k == 4 ? find_places(from, n, 4, dims, strides, place)
                                 : find_places(from, n, k, dims, strides, place);
    int64_t one;

    for (size_t i = 0; !inside && i < n * k; i++)
        OX_TRY(ox_move_index(r, "indices", first * k + i, from[i], dims[i % k], &one, err));
    return OX_OK;
}
