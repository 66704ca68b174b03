/* The run, the rows and the lanes of fold_tmpl.h, their OX_FOLD_PARTS parts held in registers: N(FOLD_run), N(FOLD_rows), N(FOLD_lanes). VA a vector of accumulators, ACC one, LOAD(x) the
 * elements for one from memory, LOAD_SOME(x, m) those that the 32-bit mask m tells, and in the others what changes nothing;
 * VSTART VSTEP(a, x) VJOIN(a, b) and JOIN(a, b) as there, FINISH(a) joins the accumulators of a vector by halves. */
#define WIDTH (sizeof(VA) / sizeof(ACC))
#define VECTORS (OX_FOLD_PARTS / WIDTH)
static inline void N(OX_STAMP(FOLD, _run))(void *to, const void *from, size_t n, const void *shifts)
{
    ACC *acc = to;
    const T *in = from;
    VA part[VECTORS];
    size_t i = 0;
    (void)shifts;
#pragma GCC unroll 8
    for (size_t k = 0; k < VECTORS; k++)
        part[k] = VSTART;
    for (; i + OX_FOLD_PARTS <= n; i += OX_FOLD_PARTS) {
#pragma GCC unroll 8
        for (size_t k = 0; k < VECTORS; k++)
            part[k] = VSTEP(part[k], LOAD(in + i + k * WIDTH));
    }
    const int32_t *mask = some_of_parts + OX_FOLD_PARTS - (n - i);
#pragma GCC unroll 8
    for (size_t k = 0; k < VECTORS; k++) {
        if (n - i >= (k + 1) * WIDTH)
            part[k] = VSTEP(part[k], LOAD(in + i + k * WIDTH));
        else if (n - i > k * WIDTH)
            part[k] = VSTEP(part[k], LOAD_SOME(in + i + k * WIDTH, mask + k * WIDTH));
    }
#pragma GCC unroll 4
    for (size_t half = VECTORS / 2; half; half /= 2) {
        if (n <= half * WIDTH)
            continue; /* those would change nothing */
#pragma GCC unroll 4
        for (size_t k = 0; k < half; k++)
            part[k] = VJOIN(part[k], part[k + half]);
    }
    const ACC all = FINISH(part[0]);
    acc[0] = JOIN(acc[0], all);
}

/* Of no more elements than a vector or two have; the others' parts would change nothing. */
static void N(OX_STAMP(FOLD, _rows))(void *to, const void *from, size_t rows, size_t n)
{
    ACC *acc = to;
    const T *in = from;
    const int32_t *mask = some_of_parts + OX_FOLD_PARTS - (n <= WIDTH ? n : n - WIDTH);
    for (size_t i = 0; i < rows; i++, in += n) {
        if (n <= WIDTH) {
            const ACC all = FINISH(VSTEP(VSTART, LOAD_SOME(in, mask)));
            acc[i] = JOIN(acc[i], all);
        } else if (n <= 2 * WIDTH) {
            const VA first = VSTEP(VSTART, LOAD(in));
            const ACC all = FINISH(VJOIN(first, VSTEP(VSTART, LOAD_SOME(in + WIDTH, mask))));
            acc[i] = JOIN(acc[i], all);
        } else {
            N(OX_STAMP(FOLD, _run))(acc + i, in, n, NULL);
        }
    }
}

/* `vectors` of them, in registers over all rows. */
static inline __attribute__((always_inline)) void
N(OX_STAMP(FOLD, _strip))(ACC *acc, const T *in, size_t rows, size_t stride, const size_t vectors)
{
    VA part[STRIP];
#pragma GCC unroll 8
    for (size_t k = 0; k < vectors; k++)
        memcpy(&part[k], acc + k * WIDTH, sizeof part[k]);
    for (size_t row = 0; row < rows; row++, in += stride) {
#pragma GCC unroll 8
        for (size_t k = 0; k < vectors; k++)
            part[k] = VSTEP(part[k], LOAD(in + k * WIDTH));
    }
#pragma GCC unroll 8
    for (size_t k = 0; k < vectors; k++)
        memcpy(acc + k * WIDTH, &part[k], sizeof part[k]);
}

/* More lanes than whole vectors of them, none or one. */
static inline __attribute__((always_inline)) void N(OX_STAMP(FOLD, _last))(ACC *acc, const T *in,
                                                                           size_t n, size_t rows,
                                                                           size_t stride,
                                                                           const size_t vectors)
{
    const size_t whole = vectors * WIDTH;
    const int32_t *mask = some_of_parts + OX_FOLD_PARTS - (n - whole);
    VA first = VSTART, part = VSTART;
    memcpy(&first, acc, whole * sizeof *acc);
    memcpy(&part, acc + whole, (n - whole) * sizeof *acc);
    for (size_t row = 0; row < rows; row++, in += stride) {
        if (vectors)
            first = VSTEP(first, LOAD(in));
        part = VSTEP(part, LOAD_SOME(in + whole, mask));
    }
    memcpy(acc, &first, whole * sizeof *acc);
    memcpy(acc + whole, &part, (n - whole) * sizeof *acc);
}

static void N(OX_STAMP(FOLD, _lanes))(void *to, const void *from, size_t n, size_t rows,
                                      size_t stride, const void *shifts)
{
    (void)shifts;
    for (size_t row = 0, some; row < rows; row += some) {
        ACC *acc = to;
        const T *in = (const T *)from + row * stride;
        size_t i = 0;
        some = rows - row < TOGETHER ? rows - row : TOGETHER;
        for (; i + STRIP * WIDTH <= n; i += STRIP * WIDTH)
            N(OX_STAMP(FOLD, _strip))(acc + i, in + i, some, stride, STRIP);
        for (; i + 3 * WIDTH <= n; i += 3 * WIDTH)
            N(OX_STAMP(FOLD, _strip))(acc + i, in + i, some, stride, 3);
        if (i + 2 * WIDTH <= n) {
            N(OX_STAMP(FOLD, _strip))(acc + i, in + i, some, stride, 2);
            i += 2 * WIDTH;
        }
        if (i + WIDTH <= n)
            N(OX_STAMP(FOLD, _last))(acc + i, in + i, n - i, some, stride, 1);
        else if (i < n)
            N(OX_STAMP(FOLD, _last))(acc + i, in + i, n - i, some, stride, 0);
    }
}
#undef WIDTH
#undef VECTORS
#undef FOLD
#undef VSTEP
