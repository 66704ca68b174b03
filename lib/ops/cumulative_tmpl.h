/* Running sums and products of a type along an axis: `count` steps of `stride` elements (negative when reversed), for `lanes`
 * neighbours at once. Floats are kept in double and rounded at each output. */
#ifdef T_FLOAT
#define ACC double
#else
#define ACC W
#endif

static void N(cum_sum)(const void *from, size_t count, ptrdiff_t stride, size_t lanes,
                       bool exclusive, void *to)
{
    const T *in = from;
    T *out = to;
    ACC acc[LANES];
    if (lanes == 1) { /* in a register */
        ACC sum = 0;
        for (size_t i = 0; i < count; i++, in += stride, out += stride) {
            const ACC before = sum;
            sum = before + (ACC)*in;
            *out = (T)(exclusive ? before : sum);
        }
        return;
    }
    for (size_t lane = 0; lane < lanes; lane++)
        acc[lane] = 0;
    for (size_t i = 0; i < count; i++, in += stride, out += stride)
        for (size_t lane = 0; lane < lanes; lane++) {
            ACC before = acc[lane];
            acc[lane] = before + (ACC)in[lane];
            out[lane] = (T)(exclusive ? before : acc[lane]);
        }
}

static void N(cum_prod)(const void *from, size_t count, ptrdiff_t stride, size_t lanes,
                        bool exclusive, void *to)
{
    const T *in = from;
    T *out = to;
    ACC acc[LANES];
    for (size_t lane = 0; lane < lanes; lane++)
        acc[lane] = 1;
    for (size_t i = 0; i < count; i++, in += stride, out += stride)
        for (size_t lane = 0; lane < lanes; lane++) {
            ACC before = acc[lane];
            acc[lane] = before * (ACC)in[lane];
            out[lane] = (T)(exclusive ? before : acc[lane]);
        }
}

#undef ACC
