/* How a reduction takes in elements of type T. FOLD_RUN and FOLD_LANES are the names (undefined at the end), ACC the accumulator's type, START() the
 * value that changes nothing, STEP(a, x, s) one element (s: the shift of its lane, where there is one), JOIN(a, b) two
 * accumulators. */
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
    for (size_t k = 0; i < n; i++, k++)
        part[k] = (ACC)(STEP(part[k], in[i], shift));
    for (; half; half /= 2)
        for (size_t k = 0; k < half; k++)
            part[k] = (ACC)(JOIN(part[k], part[k + half]));
    acc[0] = (ACC)(JOIN(acc[0], part[0]));
}

static void FOLD_LANES(void *to, const void *from, size_t lanes, const void *shifts)
{
    ACC *acc = to;
    const T *in = from;
    const ACC *shift = shifts;
    (void)shift;
    for (size_t i = 0; i < lanes; i++)
        acc[i] = (ACC)(STEP(acc[i], in[i], shift[i]));
}
#undef FOLD_RUN
#undef FOLD_LANES
