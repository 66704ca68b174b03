/* The run, the rows and the lanes of fold_tmpl.h, their OX_FOLD_PARTS parts held in registers: N(FOLD_run), N(FOLD_rows), N(FOLD_lanes). VA a vector of accumulators, ACC one, LOAD(x) the
 * elements for one from memory, LOAD_SOME(x, m) those that the 32-bit mask m tells, and in the others what changes nothing;
 * VSTART VSTEP(a, x) VJOIN(a, b) and JOIN(a, b) as there, VFIRST(x) is VSTEP(VSTART, x) but for the sign of a zero, FINISH(a) joins the
 * accumulators of a vector by halves, FINISH_FOUR(a, to) those of four. */
#define WIDTH (sizeof(VA) / sizeof(ACC))
#define VECTORS (OX_FOLD_PARTS / WIDTH)
/* A row's parts, joined to a vector of them; what is left after rounds of all parts, none unless rounds, has `whole` vectors and perhaps
 * more. What parts begin with is only added where nothing else is. */
static inline __attribute__((always_inline)) VA N(OX_STAMP(FOLD, _parts))(const T *in, size_t n,
                                                                          const int32_t *mask,
                                                                          const size_t whole,
                                                                          const bool rounds)
{
    VA part[VECTORS];
    size_t i = rounds ? OX_FOLD_PARTS : 0;
#pragma GCC unroll 8
    for (size_t k = 0; k < VECTORS; k++)
        part[k] = rounds || k < whole ? VFIRST(LOAD(in + k * WIDTH)) : VSTART;
    for (; rounds && i + OX_FOLD_PARTS <= n; i += OX_FOLD_PARTS) {
#pragma GCC unroll 8
        for (size_t k = 0; k < VECTORS; k++)
            part[k] = VSTEP(part[k], LOAD(in + i + k * WIDTH));
    }
#pragma GCC unroll 8
    for (size_t k = 0; rounds && k < whole; k++)
        part[k] = VSTEP(part[k], LOAD(in + i + k * WIDTH));
    if (n - i > whole * WIDTH)
        part[whole] = VSTEP(part[whole], LOAD_SOME(in + i + whole * WIDTH, mask));
#pragma GCC unroll 4
    for (size_t half = VECTORS / 2; half; half /= 2) {
        if (!rounds && half > whole)
            continue; /* those would change nothing */
#pragma GCC unroll 4
        for (size_t k = 0; k < half; k++)
            part[k] = VJOIN(part[k], part[k + half]);
    }
    return part[0];
}

/* Four rows are finished side by side. */
static inline __attribute__((always_inline)) void N(OX_STAMP(FOLD, _fours))(ACC *acc, const T *in,
                                                                            size_t rows, size_t n,
                                                                            const size_t whole,
                                                                            const bool rounds)
{
    const int32_t *mask = some_of_parts + OX_FOLD_PARTS - n % WIDTH;
    for (size_t some; rows; rows -= some, in += some * n, acc += some) {
        VA part[4];
        ACC all[4];
        some = rows < 4 ? rows : 4;
#pragma GCC unroll 1
        for (size_t b = 0; b < some; b++)
            part[b] = N(OX_STAMP(FOLD, _parts))(in + b * n, n, mask, whole, rounds);
        if (some == 4)
            FINISH_FOUR(part, all);
        for (size_t b = 0; some < 4 && b < some; b++)
            all[b] = FINISH(part[b]);
        for (size_t b = 0; b < some; b++)
            acc[b] = JOIN(acc[b], all[b]);
    }
}

/* Of no more elements than a vector or two have: the others' parts would change nothing. */
static inline void N(OX_STAMP(FOLD, _few))(ACC *acc, const T *in, size_t rows, size_t n)
{
    const int32_t *mask = some_of_parts + OX_FOLD_PARTS - (n <= WIDTH ? n : n - WIDTH);
    for (; rows >= 4; rows -= 4, acc += 4) {
        VA part[4];
        ACC all[4];
#pragma GCC unroll 4
        for (size_t b = 0; b < 4; b++, in += n) {
            part[b] = n <= WIDTH ? VFIRST(LOAD_SOME(in, mask))
                                 : VJOIN(VFIRST(LOAD(in)), VFIRST(LOAD_SOME(in + WIDTH, mask)));
        }
        FINISH_FOUR(part, all);
        for (size_t b = 0; b < 4; b++)
            acc[b] = JOIN(acc[b], all[b]);
    }
    for (size_t b = 0; b < rows; b++, in += n) {
        VA part = VFIRST(LOAD_SOME(in, mask));
        if (n > WIDTH)
            part = VJOIN(VFIRST(LOAD(in)), VFIRST(LOAD_SOME(in + WIDTH, mask)));
        const ACC all = FINISH(part);
        acc[b] = JOIN(acc[b], all);
    }
}

static void N(OX_STAMP(FOLD, _rows))(void *to, const void *from, size_t rows, size_t n)
{
    if (n <= 2 * WIDTH && rows >= 4) {
        N(OX_STAMP(FOLD, _few))(to, from, rows, n);
        return;
    }
#define FOURS(whole)                                                                               \
    case whole:                                                                                    \
        if (n < OX_FOLD_PARTS)                                                                     \
            N(OX_STAMP(FOLD, _fours))(to, from, rows, n, (whole) % VECTORS, false);                \
        else                                                                                       \
            N(OX_STAMP(FOLD, _fours))(to, from, rows, n, (whole) % VECTORS, true);                 \
        break;
    switch (n / WIDTH % VECTORS) {
        FOURS(0)
        FOURS(1)
        FOURS(2)
        FOURS(3)
        FOURS(4)
        FOURS(5)
        FOURS(6)
        FOURS(7)
    }
#undef FOURS
}

static void N(OX_STAMP(FOLD, _run))(void *to, const void *from, size_t n, const void *shifts)
{
    (void)shifts;
    N(OX_STAMP(FOLD, _rows))(to, from, 1, n);
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
#undef VFIRST
