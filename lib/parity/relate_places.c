/* The same elements in other places: transposed, reversed, reordered along an axis. */
#include <stdlib.h>
#include <string.h>

#include "parity/relate.h"

enum { MOST_RANK = 5, MOST_SLICES = 65536 };

/* ---- Transposed ---------------------------------------------------------------------------------------------------- */

/* a, read flat, is b with its axes in the order of perm; flips: axes of b that run backwards. */
static bool is_transposed(const struct ox_arrays *x, const unsigned *perm, unsigned flips)
{
    const struct ox_tensor *b = x->tb;
    size_t stride[MOST_RANK], index[MOST_RANK] = {0};
    unsigned rank = b->rank;
    size_t step = 1;
    for (unsigned k = rank; k-- > 0;) {
        stride[k] = step;
        step *= (size_t)b->dims[k];
    }
    for (size_t i = 0; i < x->n; i++) {
        size_t from = 0;
        for (unsigned k = 0; k < rank; k++) {
            unsigned axis = perm[k];
            size_t at = flips >> axis & 1 ? (size_t)b->dims[axis] - 1 - index[k] : index[k];
            from += at * stride[axis];
        }
        if (!ox_arrays_equal(x, x->a[i], x->b[from]))
            return false;
        for (unsigned k = rank; k-- > 0;) {
            if (++index[k] < (size_t)b->dims[perm[k]])
                break;
            index[k] = 0;
        }
    }
    return true;
}

bool ox_next_permutation(unsigned *perm, unsigned n)
{
    unsigned i = n - 1;
    while (i > 0 && perm[i - 1] >= perm[i])
        i--;
    if (i == 0)
        return false;
    unsigned j = n - 1;
    while (perm[j] <= perm[i - 1])
        j--;
    unsigned t = perm[i - 1];
    perm[i - 1] = perm[j];
    perm[j] = t;
    for (unsigned k = n - 1; i < k; i++, k--) {
        t = perm[i];
        perm[i] = perm[k];
        perm[k] = t;
    }
    return true;
}

static bool relate_transposed(const struct ox_arrays *x, struct ox_relation *r)
{
    unsigned rank = x->tb->rank, perm[MOST_RANK];
    if (rank < 2 || rank > MOST_RANK)
        return false;
    for (unsigned k = 0; k < rank; k++)
        perm[k] = k;
    while (ox_next_permutation(perm, rank)) {
        if (!is_transposed(x, perm, 0))
            continue;
        size_t at = (size_t)snprintf(r->text, sizeof r->text, "A is B transposed by [");
        for (unsigned k = 0; k < rank; k++)
            at +=
                (size_t)snprintf(r->text + at, sizeof r->text - at, "%s%u", k ? "," : "", perm[k]);
        snprintf(r->text + at, sizeof r->text - at, "]%s",
                 rank == 4 ? ox_tensor_same_dims(x->ta, x->tb) ? " but has B's shape" : " (layout)"
                           : "");
        r->id = "transposed";
        return true;
    }
    return false;
}

static bool relate_reshaped(const struct ox_arrays *x, struct ox_relation *r)
{
    for (size_t i = 0; i < x->n; i++)
        if (!ox_arrays_equal(x, x->a[i], x->b[i]))
            return false;
    if (ox_tensor_same_dims(x->ta, x->tb))
        return false;
    r->id = "reshaped";
    snprintf(r->text, sizeof r->text, "the same elements in another shape");
    return true;
}

static bool relate_reversed(const struct ox_arrays *x, struct ox_relation *r)
{
    unsigned rank = x->tb->rank, perm[MOST_RANK];
    if (!ox_tensor_same_dims(x->ta, x->tb) || rank < 1 || rank > MOST_RANK)
        return false;
    for (unsigned k = 0; k < rank; k++)
        perm[k] = k;
    for (unsigned flips = 1; flips < 1u << rank; flips++) {
        bool moves = true;
        for (unsigned k = 0; k < rank; k++)
            moves = moves && !(flips >> k & 1 && x->tb->dims[k] < 2);
        if (!moves || !is_transposed(x, perm, flips))
            continue;
        size_t at = (size_t)snprintf(r->text, sizeof r->text, "A is B backwards along axis");
        for (unsigned k = 0; k < rank; k++)
            if (flips >> k & 1)
                at += (size_t)snprintf(r->text + at, sizeof r->text - at, " %u", k);
        if (rank == 4 && flips == 12)
            snprintf(r->text + at, sizeof r->text - at, " (kernels flipped)");
        else if (flips == 2 && rank >= 3 && (x->tb->dims[1] == 3 || x->tb->dims[1] == 4))
            snprintf(r->text + at, sizeof r->text - at, " (order of channels: RGB and BGR)");
        r->id = "reversed";
        return true;
    }
    return false;
}

/* ---- Moved along one axis -------------------------------------------------------------------------------------------- */

/* What was at place p along the axis is at p + by; what came in at the edge is anything. */
static bool is_moved(const struct ox_arrays *x, size_t size, size_t inner, int by)
{
    bool tells = false;
    for (size_t i = 0; i < x->n; i++) {
        const size_t at = i / inner % size;
        if (by > 0 ? at == 0 : at + 1 == size)
            continue;
        if (!ox_arrays_equal(x, x->a[i], x->b[by > 0 ? i - inner : i + inner]))
            return false;
        tells = tells || !ox_arrays_equal(x, x->a[i], x->b[i]);
    }
    return tells;
}

/* By one place: a mask of causes, positions, padding at the other end. */
static bool relate_moved(const struct ox_arrays *x, struct ox_relation *r)
{
    enum { LEAST = 3, LEAST_ELEMENTS = 8 };
    size_t inner = 1;
    if (!ox_tensor_same_dims(x->ta, x->tb) || x->n < LEAST_ELEMENTS)
        return false;
    for (unsigned k = x->tb->rank; k-- > 0;) {
        const size_t size = (size_t)x->tb->dims[k];
        for (int by = -1; by <= 1; by += 2)
            if (size >= LEAST && is_moved(x, size, inner, by)) {
                r->id = "moved";
                snprintf(r->text, sizeof r->text, "A is B moved by one place %s along axis %u",
                         by > 0 ? "up" : "down", k);
                return true;
            }
        inner *= size;
    }
    return false;
}

/* ---- Reordered along one axis -------------------------------------------------------------------------------------- */

struct slices {
    size_t outer, n, inner; /* elements [outer][n][inner] */
};

static bool same_slice(const struct ox_arrays *x, const struct slices *s, size_t p, size_t q)
{
    for (size_t o = 0; o < s->outer; o++)
        for (size_t i = 0; i < s->inner; i++)
            if (!ox_arrays_equal(x, x->a[(o * s->n + p) * s->inner + i],
                                 x->b[(o * s->n + q) * s->inner + i]))
                return false;
    return true;
}

/* from[p] is the slice of b that is slice p of a; the neighbour of the last one found is tried first. */
static bool find_slices(const struct ox_arrays *x, const struct slices *s, size_t *from, bool *used)
{
    size_t misses = 0;
    memset(used, 0, s->n * sizeof *used);
    for (size_t p = 0; p < s->n; p++) {
        size_t guess = p ? (from[p - 1] + 1) % s->n : 0, k = 0;
        while (k < s->n && (used[(guess + k) % s->n] || !same_slice(x, s, p, (guess + k) % s->n)))
            k++;
        misses += k;
        if (k == s->n || misses > 16 * s->n + 4096)
            return false;
        from[p] = (guess + k) % s->n;
        used[from[p]] = true;
    }
    return true;
}

/* "0-11 24-35 36-47 12-23" */
static void print_order(char *text, size_t size, const size_t *from, size_t n)
{
    size_t at = 0;
    for (size_t p = 0; p < n && at + 48 < size;) {
        size_t end = p + 1;
        while (end < n && from[end] == from[end - 1] + 1)
            end++;
        at +=
            (size_t)(end - p > 1 ? snprintf(text + at, size - at, "%s%zu-%zu", p ? " " : "",
                                            from[p], from[end - 1])
                                 : snprintf(text + at, size - at, "%s%zu", p ? " " : "", from[p]));
        p = end;
        if (p < n && at + 48 >= size)
            snprintf(text + at, size - at, " ...");
    }
}

static bool relate_reordered(const struct ox_arrays *x, struct ox_relation *r, bool *failed)
{
    const struct ox_tensor *b = x->tb;
    if (!ox_tensor_same_dims(x->ta, b))
        return false;
    for (unsigned axis = 0; axis < b->rank; axis++) {
        struct slices s = {1, (size_t)b->dims[axis], 1};
        for (unsigned k = 0; k < axis; k++)
            s.outer *= (size_t)b->dims[k];
        for (unsigned k = axis + 1; k < b->rank; k++)
            s.inner *= (size_t)b->dims[k];
        if (s.n < 2 || s.n > MOST_SLICES)
            continue;
        size_t *from = calloc(s.n, sizeof *from);
        bool *used = calloc(s.n, sizeof *used);
        *failed = *failed || !from || !used;
        bool found = !*failed && find_slices(x, &s, from, used);
        if (found) {
            char order[160];
            print_order(order, sizeof order, from, s.n);
            snprintf(r->text, sizeof r->text, "A is B in another order along axis %u: %s", axis,
                     order);
            r->id = "reordered";
        }
        free(from);
        free(used);
        if (found || *failed)
            return found;
    }
    return false;
}

bool ox_relate_places(const struct ox_arrays *x, struct ox_relation *r, bool *failed)
{
    return relate_reshaped(x, r) || relate_transposed(x, r) || relate_reversed(x, r) ||
           relate_reordered(x, r, failed) || (!*failed && relate_moved(x, r));
}
