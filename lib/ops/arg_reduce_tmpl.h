/* ArgMax and ArgMin of a type over `count` elements a stride apart, for `lanes` neighbours at once; the first NaN wins, or the last. */
#ifdef T_FLOAT
#define BETTER(x, best, op) (((x)op(best)) | (((x) != (x)) & ((best) == (best))))
#define NOT_WORSE(x, best, op) (((x)op(best)) | ((x) != (x)))
#else
#define BETTER(x, best, op) ((x)op(best))
#define NOT_WORSE(x, best, op) ((x)op(best))
#endif

/* Without branches: vectors. */
INLINE void N(arg_row)(const T *row, int32_t i, size_t lanes, const bool least, const bool last,
                       T *best, int32_t *place)
{
    for (size_t lane = 0; lane < lanes; lane++) {
        const T x = row[lane], old = best[lane];
        const bool better = last ? (least ? NOT_WORSE(x, old, <=) : NOT_WORSE(x, old, >=))
                                 : (least ? BETTER(x, old, <) : BETTER(x, old, >));
        best[lane] = better ? x : old;
        place[lane] = better ? i : place[lane];
    }
}

static void N(arg_lanes)(const void *from, size_t count, size_t stride, size_t lanes, bool least,
                         bool last, int64_t *out)
{
    const T *in = from;
    T best[LANES];
    int32_t place[LANES];
    memcpy(best, in, lanes * sizeof *best);
    memset(place, 0, lanes * sizeof *place);
    for (size_t i = 1; i < count; i++) {
        const T *row = in + i * stride;
        if (last && least)
            N(arg_row)(row, (int32_t)i, lanes, true, true, best, place);
        else if (last)
            N(arg_row)(row, (int32_t)i, lanes, false, true, best, place);
        else if (least)
            N(arg_row)(row, (int32_t)i, lanes, true, false, best, place);
        else
            N(arg_row)(row, (int32_t)i, lanes, false, false, best, place);
    }
    for (size_t lane = 0; lane < lanes; lane++)
        out[lane] = place[lane];
}

#undef BETTER
#undef NOT_WORSE
