/* Winograd's transforms of integer_winograd.c: stamped for a vector width. The includer defines W(op), the intrinsic of that name and
 * width, WV, its vector, WN, the words in it, w_load(p) and w_store(p, v), and of codes, half as wide, WH, h_set(x), h_load(p) and
 * h_part(p, n), of n codes at p alone. */
enum { POINTS = 36 };

static inline WV twice(WV a)
{
    return W(slli_epi16)(a, 1);
}

static inline WV four_times(WV a)
{
    return W(slli_epi16)(a, 2);
}

/* B' of six. */
static inline void six_to_points(const WV d[6], WV out[6])
{
    const WV even = W(sub_epi16)(d[4], four_times(d[2])),
             odd = W(sub_epi16)(d[3], four_times(d[1]));
    const WV near = W(sub_epi16)(d[4], d[2]), far = twice(W(sub_epi16)(d[3], d[1]));
    const WV first = four_times(W(sub_epi16)(d[0], d[2])),
             last = four_times(W(sub_epi16)(d[1], d[3]));
    out[0] = W(add_epi16)(W(sub_epi16)(first, d[2]), d[4]);
    out[1] = W(add_epi16)(even, odd);
    out[2] = W(sub_epi16)(even, odd);
    out[3] = W(add_epi16)(near, far);
    out[4] = W(sub_epi16)(near, far);
    out[5] = W(add_epi16)(W(sub_epi16)(last, d[3]), d[5]);
}

/* Up to WN channels. */
static inline __attribute__((always_inline)) void
some_channels(const struct ox_integer_points *p, size_t c, const size_t n, const bool whole)
{
    const WH flip = h_set((char)p->flip);
    WV half[6][6]; /* by column of the pixels */
    for (unsigned x = 0; x < 6; x++) {
        WV d[6];
#pragma GCC unroll 6
        for (unsigned y = 0; y < 6; y++) {
            const uint8_t *at = p->in[y * 6 + x] + c;
            const WH codes = whole ? h_load(at) : h_part(at, n);
            d[y] = W(cvtepu8_epi16)(codes ^ flip);
        }
        six_to_points(d, half[x]);
    }
    for (unsigned y = 0; y < 6; y++) {
        WV d[6], points[6];
#pragma GCC unroll 6
        for (unsigned x = 0; x < 6; x++)
            d[x] = half[x][y];
        six_to_points(d, points);
#pragma GCC unroll 6
        for (unsigned x = 0; x < 6; x++)
            w_store(p->out + (y * 6 + x) * p->plane + c, points[x]);
    }
}

static void points(const struct ox_integer_points *p)
{
    size_t c = 0;
    for (; c + WN <= p->channels; c += WN)
        some_channels(p, c, WN, true);
    if (c < p->channels)
        some_channels(p, c, p->channels - c, false);
}

/* The rows of A' with the factors that integer_winograd.c tells of. */
static inline void six_to_outputs(const WV m[6], WV out[4])
{
    const WV less = W(add_epi32)(m[1], m[2]), more = W(add_epi32)(m[3], m[4]);
    const WV near = W(sub_epi32)(m[2], m[1]), far = W(sub_epi32)(m[3], m[4]);
    const WV first = W(add_epi32)(W(slli_epi32)(m[0], 1), more);
    const WV last = W(add_epi32)(W(slli_epi32)(W(add_epi32)(far, m[5]), 1), near);
    out[0] = W(add_epi32)(first, W(slli_epi32)(W(sub_epi32)(m[0], less), 2));
    out[1] = W(add_epi32)(W(slli_epi32)(near, 1), far);
    out[2] = W(sub_epi32)(more, less);
    out[3] = W(add_epi32)(last, W(slli_epi32)(m[5], 2));
}

static void outputs(const struct ox_integer_outputs *o)
{
    const WV ninth = W(set1_epi32)(OX_INTEGER_NINTH);
    static const int twos[4] = {3, 2, 1, 1};
    for (size_t j = 0; j < o->n; j += WN / 2) {
        WV half[6][4];
        for (unsigned x = 0; x < 6; x++) {
            WV m[6];
#pragma GCC unroll 6
            for (unsigned y = 0; y < 6; y++)
                m[y] = w_load(o->in + (y * 6 + x) * o->plane + j);
            six_to_outputs(m, half[x]);
        }
#pragma GCC unroll 4
        for (unsigned y = 0; y < 4; y++) {
            WV m[6], out[4];
#pragma GCC unroll 6
            for (unsigned x = 0; x < 6; x++)
                m[x] = half[x][y];
            six_to_outputs(m, out);
#pragma GCC unroll 4
            for (unsigned x = 0; x < 4; x++) {
                const WV whole = W(mullo_epi32)(out[x], ninth);
                w_store(o->out + (y * 4 + x) * o->ld + j,
                        W(srai_epi32)(whole, (unsigned)(twos[y] + twos[x])));
            }
        }
    }
}
