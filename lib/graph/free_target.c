/* Targets of Reshape for any size of what they reshape. */
#include <string.h>

#include "graph/free_dim.h"

static int64_t product(unsigned n, const int64_t *dims)
{
    int64_t all = 1;
    for (unsigned i = 0; i < n; i++) {
        if (OX_MUL_OVERFLOWS(all, dims[i], &all))
            return -1;
    }
    return all;
}

/* The output axis that an input's axis goes to: with as many elements before it, and of several the one that is as long
 * (plain: the axis is the dimension itself, not merged with others), or the outermost; -1: none. */
static int matching_axis(const int64_t *before, unsigned axis, bool plain, unsigned target_rank,
                         const int64_t *target)
{
    int64_t outer = product(axis, before);
    int found = -1;
    for (unsigned j = 0; j < target_rank && outer > 0; j++) {
        int64_t here = product(j, target);
        if (here > outer)
            break;
        if (here == outer && plain && target[j] == before[axis])
            return (int)j;
        if ((here == outer && found < 0) || (here < outer && here * target[j] > outer))
            found = (int)j;
    }
    return found;
}

bool ox_reshape_target_free(unsigned rank, const int64_t *before, const struct ox_expr *const *dims,
                            unsigned target_rank, const int64_t *target_before, bool zero_copies,
                            int64_t *target)
{
    bool has_rest = false;
    memcpy(target, target_before, target_rank * sizeof *target);
    for (unsigned i = 0; i < rank; i++) {
        int64_t now;
        if (ox_expr_is_int(dims[i], &now) && now == before[i])
            continue;
        int j =
            matching_axis(before, i, ox_expr_is_symbol(dims[i], NULL), target_rank, target_before);
        if (j < 0)
            return false;
        if ((unsigned)j == i && target_before[j] == before[i] && zero_copies) {
            target[j] = 0;
        } else if (target[j] != -1) {
            if (has_rest)
                return false;
            target[j] = -1;
            has_rest = true;
        }
    }
    return true;
}
