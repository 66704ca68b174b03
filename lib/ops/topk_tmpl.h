/* The first of a row, stamped a type. */

#include "ops/value_less.h"
#define SELECT_FIRST(a, b) (largest ? SELECT_LESS(b, a) : SELECT_LESS(a, b))

/* Whether element a goes before b: by value, then the lower index first. */
static bool N(topk_before)(const T *row, int64_t a, int64_t b, bool largest)
{
    if (SELECT_LESS(row[a], row[b]))
        return !largest;
    if (SELECT_LESS(row[b], row[a]))
        return largest;
    return a < b;
}

/* Lets the element at `at` sink: the last of all in order stays at the root. */
static void N(topk_sink)(const T *row, int64_t *heap, size_t n, size_t at, bool largest)
{
    int64_t moving = heap[at];

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= n)
            break;
        if (child + 1 < n && N(topk_before)(row, heap[child], heap[child + 1], largest))
            child++;
        if (!N(topk_before)(row, moving, heap[child], largest))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

/* topk_row() of few: a sorted list. */
static void N(topk_list)(const T *row, size_t n, size_t k, bool largest,
                         const struct ox_beyond *next, int64_t *order)
{
    T values[FEW];
    size_t kept = 0, looked = 0;
    for (size_t i = 0; i < n; i++) {
        if (kept == k)
            i = next->find(row, i, n, &values[k - 1], largest, &looked);
        if (i == n)
            break;
        const T x = row[i];
        size_t at = kept < k ? kept++ : k - 1;
        for (; at > 0 && SELECT_FIRST(x, values[at - 1]); at--) {
            values[at] = values[at - 1];
            order[at] = order[at - 1];
        }
        values[at] = x;
        order[at] = (int64_t)i;
    }
}

/* Indices of the first k >= 1 of the n elements of a row, in order. */
static void N(topk_row)(const void *data, size_t n, size_t k, bool largest,
                        const struct ox_beyond *next, int64_t *heap)
{
    const T *row = data;

    if (k <= FEW) {
        N(topk_list)(row, n, k, largest, next, heap);
        return;
    }
    for (size_t i = 0; i < k; i++)
        heap[i] = (int64_t)i;
    for (size_t i = k / 2; i-- > 0;)
        N(topk_sink)(row, heap, k, i, largest);
    for (size_t i = k, looked = 0; i < n; i++) {
        i = next->find(row, i, n, &row[heap[0]], largest, &looked);
        if (i == n)
            break;
        heap[0] = (int64_t)i;
        N(topk_sink)(row, heap, k, 0, largest);
    }
    for (size_t left = k; left > 1; left--) {
        int64_t last = heap[0];

        heap[0] = heap[left - 1];
        heap[left - 1] = last;
        N(topk_sink)(row, heap, left - 1, 0, largest);
    }
}

#undef SELECT_LESS
#undef SELECT_NAN
#undef SELECT_FIRST
