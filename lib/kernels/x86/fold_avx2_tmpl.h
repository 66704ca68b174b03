/* The run and the rows of fold_tmpl.h, their OX_FOLD_PARTS parts held in registers: N(FOLD_run), N(FOLD_rows). VA a vector of accumulators, ACC one, LOAD(x) the
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
#undef WIDTH
#undef VECTORS
#undef FOLD
#undef VSTEP
