/* END: the name; ACC the accumulators' type, RESULT(a, n, s) what one of n elements becomes, s the greatest of them where shifts are
 * given, as SHIFT (double); T the element type. */
#ifndef SHIFT
#define SHIFT double
#endif
static void N(OX_STAMP(END, _end))(const void *from, void *to, size_t lanes, size_t n,
                                   const void *shifts)
{
    const ACC *acc = from;
    const SHIFT *shift = shifts;
    T *out = to;
    (void)n;
    (void)shift;
    for (size_t i = 0; i < lanes; i++)
        out[i] = (T)(RESULT(acc[i], n, shift[i]));
}
#undef END
#undef ACC
#undef RESULT
#undef SHIFT
