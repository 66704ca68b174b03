/* FN: OP run from START along `count` steps of `stride` elements (negative when reversed), for `lanes` <= LANES neighbours at once.
 * float is kept in double and rounded at each output; other types go on from the output before. */
#ifdef T_FLOAT
#define ACC double
#define NEEDS_MORE (sizeof(T) < sizeof(ACC))
#else
#define ACC W
#define NEEDS_MORE false /* what wraps, wraps in either */
#endif

static void FN(const void *from, size_t count, ptrdiff_t stride, size_t lanes, bool exclusive,
               void *to)
{
    const T *in = from;
    T *out = to;
    if (lanes == 1) { /* in a register */
        ACC acc = START;
        for (size_t i = 0; i < count; i++, in += stride, out += stride) {
            const ACC before = acc;
            acc = OP(before, (ACC)*in);
            *out = (T)(exclusive ? before : acc);
        }
        return;
    }
    if (NEEDS_MORE) {
        ACC acc[LANES];
        for (size_t lane = 0; lane < lanes; lane++)
            acc[lane] = START;
        for (size_t i = 0; i < count; i++, in += stride, out += stride)
            for (size_t lane = 0; lane < lanes; lane++) {
                const ACC before = acc[lane], after = OP(before, (ACC)in[lane]);
                out[lane] = (T)(exclusive ? before : after);
                acc[lane] = after;
            }
        return;
    }
    for (size_t lane = 0; lane < lanes; lane++)
        out[lane] = (T)(exclusive ? START : OP((ACC)START, (ACC)in[lane]));
    for (size_t i = 1; i < count; i++) {
        const T *restrict before = out, *restrict x = exclusive ? in : in + stride;
        T *restrict after = out += stride;
        in += stride;
        for (size_t lane = 0; lane < lanes; lane++)
            after[lane] = (T)OP((ACC)before[lane], (ACC)x[lane]);
    }
}
#undef FN
#undef START
#undef OP
#undef ACC
#undef NEEDS_MORE
