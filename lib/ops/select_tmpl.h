/* Comparing and selecting, stamped a type. */

#ifdef T_FLOAT
/* NaN is greater than all others and equal to itself. */
#define SELECT_LESS(a, b) ((a) < (b) || ((b) != (b) && (a) == (a)))
#else
#define SELECT_LESS(a, b) ((a) < (b))
#endif

static int N(compare)(const void *data, size_t a, size_t b)
{
    const T *values = data;

    return SELECT_LESS(values[a], values[b]) ? -1 : SELECT_LESS(values[b], values[a]) ? 1 : 0;
}

static void N(not_zero)(const void *data, size_t n, uint8_t *flags)
{
    const T *values = data;

    for (size_t i = 0; i < n; i++)
        flags[i] = values[i] != 0;
}

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

/* Whether one of the 16 from x on may go before `root` by its value. Where one of the two is no number it may. */
static bool N(topk_any)(const T *x, T root, bool largest)
{
    unsigned any = 0;
    if (largest) {
        for (unsigned j = 0; j < 16; j++)
            any |= (unsigned)!(x[j] <= root);
    } else {
        for (unsigned j = 0; j < 16; j++)
            any |= (unsigned)!(x[j] >= root);
    }
    return any != 0;
}

/* Indices of the first k >= 1 of the n elements of a row, in order. */
static void N(topk_row)(const void *data, size_t n, size_t k, bool largest, int64_t *heap)
{
    const T *row = data;

    for (size_t i = 0; i < k; i++)
        heap[i] = (int64_t)i;
    for (size_t i = k / 2; i-- > 0;)
        N(topk_sink)(row, heap, k, i, largest);
    for (size_t i = k, looked = k; i < n; i++) {
        while (i >= looked && n - i > 16 && !N(topk_any)(row + i, row[heap[0]], largest))
            i += 16;
        looked = i < looked ? looked : i + 16;
        if (N(topk_before)(row, (int64_t)i, heap[0], largest)) {
            heap[0] = (int64_t)i;
            N(topk_sink)(row, heap, k, 0, largest);
        }
    }
    for (size_t left = k; left > 1; left--) {
        int64_t last = heap[0];

        heap[0] = heap[left - 1];
        heap[left - 1] = last;
        N(topk_sink)(row, heap, left - 1, 0, largest);
    }
}

#undef SELECT_LESS
