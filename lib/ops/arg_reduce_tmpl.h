/* ArgMax and ArgMin of a type over `count` elements a stride apart, for `lanes` neighbours at once; the first NaN wins. */
#ifdef T_FLOAT
#define BETTER(x, best, op) (((x)op(best)) | (((x) != (x)) & ((best) == (best))))
#define AS_GOOD(x, best) (((x) == (best)) | (((x) != (x)) & ((best) != (best))))
#else
#define BETTER(x, best, op) ((x)op(best))
#define AS_GOOD(x, best) ((x) == (best))
#endif

/* Without branches: vectors. */
INLINE void N(arg_row)(const T *row, int32_t i, size_t lanes, const bool least, T *best,
                       int32_t *place)
{
    for (size_t lane = 0; lane < lanes; lane++) {
        const T x = row[lane], old = best[lane];
        const bool better = least ? BETTER(x, old, <) : BETTER(x, old, >);
        best[lane] = better ? x : old;
        place[lane] = better ? i : place[lane];
    }
}

static void N(arg_last_row)(const T *row, int32_t i, size_t lanes, bool least, T *best,
                            int32_t *place)
{
    for (size_t lane = 0; lane < lanes; lane++) {
        const T x = row[lane];
        const bool better = least ? BETTER(x, best[lane], <) : BETTER(x, best[lane], >);
        if (better || AS_GOOD(x, best[lane])) {
            best[lane] = x;
            place[lane] = i;
        }
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
        if (last)
            N(arg_last_row)(in + i * stride, (int32_t)i, lanes, least, best, place);
        else if (least)
            N(arg_row)(in + i * stride, (int32_t)i, lanes, true, best, place);
        else
            N(arg_row)(in + i * stride, (int32_t)i, lanes, false, best, place);
    }
    for (size_t lane = 0; lane < lanes; lane++)
        out[lane] = place[lane];
}

#undef BETTER
#undef AS_GOOD
