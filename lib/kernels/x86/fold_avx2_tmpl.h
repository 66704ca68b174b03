/* FOLD_RUN of fold_tmpl.h for floats, its OX_FOLD_PARTS parts held in registers. VA a vector of accumulators, LOAD(x) the
 * elements for one from memory, LOAD_SOME(x, m) those that the 32-bit mask m tells, and in the others what changes nothing;
 * VSTART() VSTEP(a, x) VJOIN(a, b) as in fold_tmpl.h, FINISH(a) joins the accumulators of a vector by halves. */
#define WIDTH (sizeof(VA) / sizeof(ACC))
#define VECTORS (OX_FOLD_PARTS / WIDTH)
static inline void FOLD_RUN(void *to, const void *from, size_t n, const void *shifts)
{
    ACC *acc = to;
    const float *in = from;
    VA part[VECTORS];
    size_t i = 0;
    (void)shifts;
#pragma GCC unroll 8
    for (size_t k = 0; k < VECTORS; k++)
        part[k] = VSTART();
    for (; i + OX_FOLD_PARTS <= n; i += OX_FOLD_PARTS) {
#pragma GCC unroll 8
        for (size_t k = 0; k < VECTORS; k++)
            part[k] = VSTEP(part[k], LOAD(in + i + k * WIDTH));
    }
    if (i < n) {
        const int32_t *mask = some_of_parts + OX_FOLD_PARTS - (n - i);
#pragma GCC unroll 8
        for (size_t k = 0; k < VECTORS; k++)
            part[k] = VSTEP(part[k], LOAD_SOME(in + i + k * WIDTH, mask + k * WIDTH));
    }
#pragma GCC unroll 4
    for (size_t half = VECTORS / 2; half; half /= 2) {
#pragma GCC unroll 4
        for (size_t k = 0; k < half; k++)
            part[k] = VJOIN(part[k], part[k + half]);
    }
    const ACC sum = FINISH(part[0]);
    acc[0] = JOIN(acc[0], sum);
}
#undef WIDTH
#undef VECTORS
