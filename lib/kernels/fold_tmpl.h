/* How a reduction takes in elements of type T: N(FOLD), a struct ox_fold, and its functions. ACC the accumulator's type, START() the value
 * that changes nothing, STEP(a, x, s) one element (s: the shift of its lane, where there is one), JOIN(a, b) two accumulators.
 * FOLD_RUN_MADE: N(FOLD_run), N(FOLD_lanes) and N(FOLD_rows) are there already. FOLD_PLAIN_ROWS: short rows are not worth
 * code of their own. All but T and N are undefined at the end. */
#define FOLD_NAME(part) N(OX_STAMP(FOLD, part))
#define FOLD_RUN FOLD_NAME(_run)

static void FOLD_NAME(_start)(void *to, size_t lanes)
{
    ACC *acc = to;
    for (size_t i = 0; i < lanes; i++)
        acc[i] = START();
}

#ifndef FOLD_RUN_MADE
static void FOLD_RUN(void *to, const void *from, size_t n, const void *shifts)
{
    ACC *acc = to;
    const T *in = from;
    ACC part[OX_FOLD_PARTS];
    size_t i = 0, half = OX_FOLD_PARTS / 2;
    const ACC shift = shifts ? *(const ACC *)shifts : (ACC)0;
    (void)shift;
    /* What begins a part changes nothing where it is joined: short rows leave such parts out. */
    if (n <= OX_FOLD_PARTS / 8) {
        half = OX_FOLD_PARTS / 16;
        for (size_t k = 0; k < OX_FOLD_PARTS / 8; k++)
            part[k] = START();
    } else if (n <= OX_FOLD_PARTS / 2) {
        half = OX_FOLD_PARTS / 4;
        for (size_t k = 0; k < OX_FOLD_PARTS / 2; k++)
            part[k] = START();
    } else {
        for (size_t k = 0; k < OX_FOLD_PARTS; k++)
            part[k] = START();
    }
    for (; i + OX_FOLD_PARTS <= n; i += OX_FOLD_PARTS)
        for (size_t k = 0; k < OX_FOLD_PARTS; k++)
            part[k] = (ACC)(STEP(part[k], in[i + k], shift));
    /* What is left, and the joining, in steps of known length: they are vectors then. */
    size_t at = 0;
    for (; i + OX_FOLD_PARTS / 4 <= n; i += OX_FOLD_PARTS / 4, at += OX_FOLD_PARTS / 4)
        for (size_t k = 0; k < OX_FOLD_PARTS / 4; k++)
            part[at + k] = (ACC)(STEP(part[at + k], in[i + k], shift));
    for (; i < n; i++, at++)
        part[at] = (ACC)(STEP(part[at], in[i], shift));
#pragma GCC unroll 5
    for (size_t step = OX_FOLD_PARTS / 2; step; step /= 2)
        for (size_t k = 0; step <= half && k < step; k++)
            part[k] = (ACC)(JOIN(part[k], part[k + step]));
    acc[0] = (ACC)(JOIN(acc[0], part[0]));
}

/* Four rows at a time: the accumulators are loaded and stored once for them. */
static void FOLD_NAME(_lanes)(void *to, const void *from, size_t lanes, size_t rows, size_t stride,
                              const void *shifts)
{
    ACC *restrict acc = to;
    const T *in = from;
    const ACC *shift = shifts;
    size_t row = 0;
    (void)shift;
    for (; row + 4 <= rows; row += 4, in += 4 * stride) {
        const T *second = in + stride, *third = second + stride, *fourth = third + stride;
        for (size_t i = 0; i < lanes; i++) {
            ACC a = acc[i];
            a = (ACC)(STEP(a, in[i], shift[i]));
            a = (ACC)(STEP(a, second[i], shift[i]));
            a = (ACC)(STEP(a, third[i], shift[i]));
            acc[i] = (ACC)(STEP(a, fourth[i], shift[i]));
        }
    }
    for (; row < rows; row++, in += stride)
        for (size_t i = 0; i < lanes; i++)
            acc[i] = (ACC)(STEP(acc[i], in[i], shift[i]));
}
#endif

#if defined(FOLD_RUN_MADE)
/* Its rows are there, too. */
#elif defined(FOLD_PLAIN_ROWS)
static void FOLD_NAME(_rows)(void *to, const void *from, size_t rows, size_t n)
{
    ACC *acc = to;
    const T *in = from;
    for (size_t i = 0; i < rows; i++)
        FOLD_RUN(acc + i, in + i * n, n, NULL);
}
#else
/* Four short rows side by side, a part each element: joined in FOLD_RUN's order. */
static inline __attribute__((always_inline)) void FOLD_NAME(_short)(ACC *acc, const T *in, size_t n,
                                                                    size_t rows, const size_t most)
{
    ACC part[OX_FOLD_PARTS / 2][4];
    for (size_t k = 0; k < n; k++)
        for (size_t b = 0; b < 4; b++)
            part[k][b] = (ACC)(STEP((ACC)(START()), in[(b < rows ? b : 0) * n + k], (ACC)0));
    for (size_t half = most / 2; half; half /= 2)
        for (size_t k = 0; k < half && k + half < n; k++)
            for (size_t b = 0; b < 4; b++)
                part[k][b] = (ACC)(JOIN(part[k][b], part[k + half][b]));
    for (size_t b = 0; b < rows; b++)
        acc[b] = (ACC)(JOIN(acc[b], part[0][b]));
}

static void FOLD_NAME(_rows)(void *to, const void *from, size_t rows, size_t n)
{
    ACC *acc = to;
    const T *in = from;
    if (n > OX_FOLD_PARTS / 2) {
        for (size_t i = 0; i < rows; i++)
            FOLD_RUN(acc + i, in + i * n, n, NULL);
        return;
    }
    for (size_t i = 0; i < rows; i += 4) {
        const size_t some = rows - i < 4 ? rows - i : 4;
        if (n > OX_FOLD_PARTS / 8)
            FOLD_NAME(_short)(acc + i, in + i * n, n, some, OX_FOLD_PARTS / 2);
        else if (some == 4)
            FOLD_NAME(_short)(acc + i, in + i * n, n, 4, OX_FOLD_PARTS / 8);
        else
            FOLD_NAME(_short)(acc + i, in + i * n, n, some, OX_FOLD_PARTS / 8);
    }
}
#endif

static const struct ox_fold N(FOLD) = {FOLD_NAME(_start), FOLD_RUN, FOLD_NAME(_lanes),
                                       FOLD_NAME(_rows)};

#undef FOLD
#undef FOLD_NAME
#undef FOLD_RUN
#undef FOLD_RUN_MADE
#undef ACC
#undef START
#undef STEP
#undef JOIN
