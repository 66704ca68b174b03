/* Winograd's transforms at stride 1, and of weights at both strides. Stamped for each vector width; the matrices are in compute.c. */

/* B' of F(2,3). */
INLINE void in_2(const VF d[6], VF v[6])
{
    v[0] = v_sub(d[0], d[2]);
    v[1] = v_add(d[1], d[2]);
    v[2] = v_sub(d[2], d[1]);
    v[3] = v_sub(d[1], d[3]);
}

INLINE void out_2(const VF v[6], VF y[4])
{
    y[0] = v_add(v_add(v[0], v[1]), v[2]);
    y[1] = v_sub(v_sub(v[1], v[2]), v[3]);
}

/* B' of F(4,3), common parts taken out. */
INLINE void in_4(const VF d[6], VF v[6])
{
    const VF even = v_sub(d[4], d[2]), odd = v_sub(d[3], d[1]);
    const VF half = v_set1(0.5f), more = v_set1(1.5f), most = v_set1(2.5f);
    v[0] = v_fma(more, odd, v_add(v_sub(d[0], d[2]), even));
    v[1] = v_add(v_fma(half, d[2], d[4]), v_sub(v_mul(most, d[3]), d[1]));
    v[2] = v_add(v_fma(half, d[3], d[1]), v_sub(d[4], v_mul(most, d[2])));
    v[3] = v_add(even, v_add(odd, odd));
    v[4] = v_sub(even, v_mul(half, odd));
    v[5] = v_fma(more, even, v_sub(v_sub(d[5], d[3]), odd));
}

INLINE void out_4(const VF v[6], VF y[4])
{
    const VF sum = v_add(v[1], v[2]), difference = v_sub(v[1], v[2]);
    y[0] = v_add(v_add(v[0], sum), v_add(v[3], v[4]));
    y[1] = v_fma(v_set1(-2), v[4], v_fma(v_set1(0.5f), v[3], difference));
    y[2] = v_fma(v_set1(4), v[4], v_fma(v_set1(0.25f), v[3], sum));
    y[3] = v_fma(v_set1(-8), v[4], v_fma(v_set1(0.125f), v[3], v_add(difference, v[5])));
}

INLINE void winograd_in(const struct ox_winograd_in *w, const unsigned alpha, size_t c, bool some,
                        size_t m)
{
    VF half[6][6], d[6], v[6];
#pragma GCC unroll 6
    for (unsigned j = 0; j < alpha; j++) {
#pragma GCC unroll 6
        for (unsigned i = 0; i < alpha; i++)
            d[i] = load_part(w->in[i * alpha + j] + c, some, m);
        if (alpha == 6)
            in_4(d, v);
        else
            in_2(d, v);
#pragma GCC unroll 6
        for (unsigned i = 0; i < alpha; i++)
            half[i][j] = v[i];
    }
    float *out = w->out + c;
    for (unsigned i = 0; i < alpha; i++) {
        if (alpha == 6)
            in_4(half[i], v);
        else
            in_2(half[i], v);
#pragma GCC unroll 6
        for (unsigned j = 0; j < alpha; j++, out += w->plane)
            store_part(out, some, m, v[j]);
    }
}

INLINE void winograd_out(const struct ox_winograd_out *w, const unsigned alpha, size_t c, bool some,
                         size_t m)
{
    VF half[4][6], v[6], y[4];
    const float *in = w->in + c;
#pragma GCC unroll 6
    for (unsigned j = 0; j < alpha; j++) {
#pragma GCC unroll 6
        for (unsigned i = 0; i < alpha; i++)
            v[i] = load_part(in + (i * alpha + j) * w->plane, some, m);
        if (alpha == 6)
            out_4(v, y);
        else
            out_2(v, y);
#pragma GCC unroll 4
        for (unsigned i = 0; i < alpha - 2; i++)
            half[i][j] = y[i];
    }
    const VF bias = w->bias ? load_part(w->bias + c, some, m) : v_zero();
    const VF lo = v_set1(w->lo), hi = v_set1(w->hi);
    for (unsigned i = 0; i < alpha - 2 && i < w->rows; i++) {
        if (alpha == 6)
            out_4(half[i], y);
        else
            out_2(half[i], y);
#pragma GCC unroll 4
        for (unsigned j = 0; j < alpha - 2; j++) {
            if (j >= w->cols)
                break;
            VF x = v_add(y[j], bias);
            if (w->residual)
                x = v_add(x,
                          load_part(w->residual + i * w->residual_row + j * w->residual_pixel + c,
                                    some, m));
            store_part(w->out + i * w->row + j * w->pixel + c, some, m, clipped(x, lo, hi));
        }
    }
}

#define WINOGRAD(what, n, alpha)                                                                   \
    static void what##n(const struct ox_##what *w)                                                 \
    {                                                                                              \
        size_t c = 0;                                                                              \
        for (; c + VW <= w->channels; c += VW)                                                     \
            what(w, alpha, c, false, VW);                                                          \
        if (c < w->channels)                                                                       \
            what(w, alpha, c, true, w->channels - c);                                              \
    }
WINOGRAD(winograd_in, 2, 4)
WINOGRAD(winograd_in, 4, 6)
WINOGRAD(winograd_out, 2, 4)
WINOGRAD(winograd_out, 4, 6)
#undef WINOGRAD

/* G of F(2,3) and of F(4,3), common parts taken out; what the latter's rows are divided by is left to the end, for both ways at once:
 * a weight is rounded less often. */
static const double scale_4[6] = {1, 1.0 / 3, 1.0 / 3, -4.0 / 15, 1.0 / 15, 1};

INLINE void weights_2(const VF w[3], VF v[6])
{
    const VF half = v_set1(0.5f), ends = v_mul(half, v_add(w[0], w[2]));
    v[0] = w[0];
    v[1] = v_fma(half, w[1], ends);
    v[2] = v_fnma(half, w[1], ends);
    v[3] = w[2];
}

INLINE void weights_4(const VF w[3], VF v[6])
{
    const VF ends = v_add(w[0], w[2]), twice = v_add(w[1], w[1]);
    v[0] = w[0];
    v[1] = v_add(w[1], ends);
    v[2] = v_sub(w[1], ends);
    v[3] = v_fma(v_set1(4), w[0], v_add(twice, w[2]));
    v[4] = v_fma(v_set1(4), w[2], v_sub(w[0], twice));
    v[5] = w[2];
}

/* At stride 2: F(4,2) of the outer taps, and the middle one as it is. */
INLINE void weights_strided(const VF w[3], VF v[6])
{
    const VF twice = v_add(w[0], w[0]);
    v[0] = twice;
    v[1] = v_add(w[0], w[2]);
    v[2] = v_mul(v_set1(1.0f / 3), v_sub(w[2], w[0]));
    v[3] = v_mul(v_set1(-4.0f / 3), v_add(twice, w[2]));
    v[4] = w[2];
    v[5] = w[1];
}

enum weights_form { WEIGHTS_2, WEIGHTS_4, WEIGHTS_STRIDED };

INLINE void weights_at(const enum weights_form form, const VF w[3], VF v[6])
{
    if (form == WEIGHTS_4)
        weights_4(w, v);
    else if (form == WEIGHTS_STRIDED)
        weights_strided(w, v);
    else
        weights_2(w, v);
}

INLINE void weights_part(const struct ox_winograd_weights *w, const enum weights_form form,
                         const float *in, float *out)
{
    const unsigned alpha = form == WEIGHTS_2 ? 4 : 6;
    VF half[6][3], g[3], v[6];
#pragma GCC unroll 3
    for (unsigned q = 0; q < 3; q++) {
#pragma GCC unroll 3
        for (unsigned r = 0; r < 3; r++)
            g[r] = v_load(in + r * w->row + q * w->tap);
        weights_at(form, g, v);
#pragma GCC unroll 6
        for (unsigned i = 0; i < alpha; i++)
            half[i][q] = v[i];
    }
#pragma GCC unroll 6
    for (unsigned i = 0; i < alpha; i++) {
        weights_at(form, half[i], v);
#pragma GCC unroll 6
        for (unsigned p = 0; p < alpha; p++, out += w->plane) {
            if (form == WEIGHTS_4)
                v[p] = v_mul(v_set1((float)(scale_4[i] * scale_4[p])), v[p]);
            v_store(out, v[p]);
        }
    }
}

INLINE void winograd_weights(const struct ox_winograd_weights *w, const enum weights_form form)
{
    enum { AHEAD_CHANNELS = 4 };
    const float *in = w->in;
    float *out = w->out;
    for (size_t u = 0; u < w->depth; u++, in += w->step, out += 2 * VW) {
        if (w->tap == 2 * VW) {
            /* One stream: the processor does not look as far ahead as in nine. */
#pragma GCC unroll 18
            for (unsigned at = 0; at < 9 * 2 * VW; at += 16)
                __builtin_prefetch(in + AHEAD_CHANNELS * w->step + at);
        }
        weights_part(w, form, in, out);
        weights_part(w, form, in + VW, out + VW);
    }
}

static void winograd_weights2(const struct ox_winograd_weights *w)
{
    winograd_weights(w, WEIGHTS_2);
}

static void winograd_weights4(const struct ox_winograd_weights *w)
{
    winograd_weights(w, WEIGHTS_4);
}

static void winograd_weights_strided(const struct ox_winograd_weights *w)
{
    winograd_weights(w, WEIGHTS_STRIDED);
}
