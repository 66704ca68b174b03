/* ArgMax and ArgMin of a type over `count` elements a stride apart, for `lanes` neighbours at once; the first NaN wins. */
#ifdef T_FLOAT
#define BETTER(x, best, op) ((x)op(best) || ((x) != (x) && (best) == (best)))
#define AS_GOOD(x, best) ((x) == (best) || ((x) != (x) && (best) != (best)))
#else
#define BETTER(x, best, op) ((x)op(best))
#define AS_GOOD(x, best) ((x) == (best))
#endif

static void N(arg_lanes)(const void *from, size_t count, size_t stride, size_t lanes, bool least,
                         bool last, int64_t *out)
{
    const T *in = from;
    T best[LANES];
    for (size_t lane = 0; lane < lanes; lane++) {
        best[lane] = in[lane];
        out[lane] = 0;
    }
    for (size_t i = 1; i < count; i++) {
        const T *row = in + i * stride;
        for (size_t lane = 0; lane < lanes; lane++) {
            T x = row[lane];
            bool better = least ? BETTER(x, best[lane], <) : BETTER(x, best[lane], >);
            if (better || (last && AS_GOOD(x, best[lane]))) {
                best[lane] = x;
                out[lane] = (int64_t)i;
            }
        }
    }
}

#undef BETTER
#undef AS_GOOD
