/* ArgMax and ArgMin of a type over `count` elements a stride apart, for `lanes` neighbours at once; the first NaN wins. */
#ifdef T_FLOAT
#define BETTER(x, best, op) (((x)op(best)) | (((x) != (x)) & ((best) == (best))))
#define AS_GOOD(x, best) ((x) == (best) || ((x) != (x) && (best) != (best)))
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

INLINE T N(better_of)(T x, T old, const bool least)
{
    return (least ? BETTER(x, old, <) : BETTER(x, old, >)) ? x : old;
}

/* Of a row of adjacent elements, without places: vectors, or for wide integers registers. NaN is looked for beside. */
INLINE T N(best_of)(const T *in, size_t count, const bool least)
{
#ifdef T_FLOAT
    enum { PARTS = 32 / sizeof(T) };
#else
    enum { PARTS = sizeof(T) == 8 ? 4 : 32 };
#endif
    T part[PARTS], best = in[0];
    size_t i = 0;
    if (count >= PARTS) {
        memcpy(part, in, sizeof part);
#ifdef T_FLOAT
        T odd[PARTS] = {0};
        for (; i + PARTS <= count; i += PARTS)
            for (size_t k = 0; k < PARTS; k++) {
                const T x = in[i + k], old = part[k];
                part[k] = (least ? x < old : x > old) ? x : old;
                odd[k] += x * 0;
            }
        for (size_t k = 0; k < PARTS; k++)
            i = odd[k] == 0 ? i : 0; /* infinity or NaN: again */
        if (i == 0)
            memcpy(part, in, sizeof part);
#else
        for (i = PARTS; i + PARTS <= count; i += PARTS)
            for (size_t k = 0; k < PARTS; k++)
                part[k] = N(better_of)(in[i + k], part[k], least);
#endif
        for (size_t k = 0; k < PARTS; k++)
            best = N(better_of)(part[k], best, least);
    }
    for (; i < count; i++)
        best = N(better_of)(in[i], best, least);
    return best;
}

/* Where the best value stands first or last. */
static int64_t N(arg_line)(const void *from, size_t count, bool least, bool last)
{
    const T *in = from;
    const T best = least ? N(best_of)(in, count, true) : N(best_of)(in, count, false);
    for (size_t i = 0; i < count; i++) {
        const size_t at = last ? count - 1 - i : i;
        if (AS_GOOD(in[at], best))
            return (int64_t)at;
    }
    return 0;
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
