/* How one reduction takes in elements. RED its name, ACC the accumulator's type, START(), STEP(a, x, s) one element (s: the
 * shift of its lane, where there is one), JOIN(a, b) two accumulators, END(a, n) the result of n elements; T the element
 * type. A run is reduced in PARTS interleaved parts: one fixed order, and too many
 * for the compiler to unroll instead of using vector registers. */
static void N(OX_STAMP(RED, _start))(void *to, size_t lanes)
{
    ACC *acc = to;
    for (size_t i = 0; i < lanes; i++)
        acc[i] = START();
}

static void N(OX_STAMP(RED, _run))(void *to, const void *from, size_t n, const void *shifts)
{
    ACC *acc = to;
    const T *in = from;
    ACC part[PARTS];
    size_t i = 0;
    const ACC shift = shifts ? *(const ACC *)shifts : (ACC)0;
    (void)shift;
    for (size_t k = 0; k < PARTS; k++)
        part[k] = START();
    for (; i + PARTS <= n; i += PARTS)
        for (size_t k = 0; k < PARTS; k++)
            part[k] = (ACC)(STEP(part[k], in[i + k], shift));
    for (size_t k = 0; i < n; i++, k++)
        part[k] = (ACC)(STEP(part[k], in[i], shift));
    for (size_t half = PARTS / 2; half; half /= 2)
        for (size_t k = 0; k < half; k++)
            part[k] = (ACC)(JOIN(part[k], part[k + half]));
    acc[0] = (ACC)(JOIN(acc[0], part[0]));
}

static void N(OX_STAMP(RED, _lanes))(void *to, const void *from, size_t lanes, const void *shifts)
{
    ACC *acc = to;
    const T *in = from;
    const ACC *shift = shifts;
    (void)shift;
    for (size_t i = 0; i < lanes; i++)
        acc[i] = (ACC)(STEP(acc[i], in[i], shift[i]));
}

static void N(OX_STAMP(RED, _end))(const void *from, void *to, size_t lanes, size_t n,
                                   const void *shifts)
{
    const ACC *acc = from;
    const ACC *shift = shifts;
    T *out = to;
    (void)n;
    (void)shift;
    for (size_t i = 0; i < lanes; i++)
        out[i] = (T)(END(acc[i], n, shift[i]));
}

static const struct reducer N(RED) = {N(OX_STAMP(RED, _start)), N(OX_STAMP(RED, _run)),
                                      N(OX_STAMP(RED, _lanes)), N(OX_STAMP(RED, _end)), SHIFT};

#undef RED
#undef ACC
#undef START
#undef STEP
#undef JOIN
#undef END
#undef SHIFT
