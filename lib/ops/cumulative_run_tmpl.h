/* FN: OP run from START along `count` steps of `stride` elements (negative when reversed), for `lanes` <= LANES neighbours at once;
 * ROWS: along rows of `count` elements, one after another, forwards or backwards.
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

/* Several at a time: a sum waits for the one before it. */
static void ROWS(const void *from, size_t count, ptrdiff_t stride, size_t rows, bool exclusive,
                 void *to)
{
    enum { ABREAST = 4 };
    const T *in = from;
    T *out = to;
    size_t row = 0;
    for (; row + ABREAST <= rows; row += ABREAST, in += ABREAST * count, out += ABREAST * count) {
        ACC acc[ABREAST] = {START, START, START, START};
        ptrdiff_t at = 0;
        for (size_t i = 0; i < count; i++, at += stride)
            for (size_t k = 0; k < ABREAST; k++) {
                const size_t place = k * count + (size_t)at;
                const ACC before = acc[k];
                acc[k] = OP(before, (ACC)in[place]);
                out[place] = (T)(exclusive ? before : acc[k]);
            }
    }
    for (; row < rows; row++, in += count, out += count) {
        ACC acc = START;
        ptrdiff_t at = 0;
        for (size_t i = 0; i < count; i++, at += stride) {
            const ACC before = acc;
            acc = OP(before, (ACC)in[at]);
            out[at] = (T)(exclusive ? before : acc);
        }
    }
}
#undef FN
#undef ROWS
#undef START
#undef OP
#undef ACC
#undef NEEDS_MORE
