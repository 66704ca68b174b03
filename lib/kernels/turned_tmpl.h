/* Convolution of groups of few channels. Stamped for each vector width that has v_pick(). */

/* sum[i] += a turn of `cols` neighbouring taps of a row for output i. What is read once goes, turned, into as many outputs as need it. */
INLINE void turned_piece(VF sum[8], const float *in, size_t pixel, const float *weights, size_t ld,
                         VI from, const unsigned n, const unsigned cols, const unsigned step,
                         bool some, size_t m)
{
    VF w[3];
#pragma GCC unroll 3
    for (unsigned q = 0; q < 3; q++)
        w[q] = q < cols ? load_part(weights + q * ld, some, m) : v_zero();
#pragma GCC unroll 18
    for (unsigned x = 0; x < (n - 1) * step + cols; x++, in += pixel) {
        if (cols < step && x % step >= cols)
            continue;
        VF v = v_pick(load_part(in, some, m), from);
        v_in_register(&v);
#pragma GCC unroll 8
        for (unsigned i = 0; i < n; i++) {
            if (x >= i * step && x - i * step < cols)
                sum[i] = v_fma(v, w[x - i * step], sum[i]);
        }
    }
}

/* Lane i has that of its group which is `turn` behind, around. */
INLINE VI turn_of(unsigned turns, unsigned turn)
{
    int32_t from[VW];
    for (unsigned i = 0; i < VW; i++)
        from[i] = (int32_t)(i / turns * turns + (i + turn) % turns);
    return vi_load(from);
}

/* n outputs, by a kernel of three columns without dilation at a step that is known beforehand, or any (step 0). */
INLINE void turned_outputs(const struct ox_depthwise *d, const VI *from, size_t c, size_t x0,
                           const unsigned n, const unsigned step, bool some, size_t m)
{
    const VF bias = d->bias ? load_part(d->bias + c, some, m) : v_zero();
    const VF lo = v_set1(d->lo), hi = v_set1(d->hi);
    const size_t pixel = d->pixel, ld = d->weights_ld;
    const float *w = d->weights + c;
    VF sum[8];
#pragma GCC unroll 8
    for (unsigned i = 0; i < n; i++)
        sum[i] = bias;
    for (unsigned r = 0; r < d->rows; r++) {
        const float *in = d->row[r] + x0 * d->step * pixel + c;
        for (unsigned s = 0; s < d->turns; s++) {
            if (step) {
                turned_piece(sum, in, pixel, w, ld, from[s], n, 3, step, some, m);
                w += 3 * ld;
                continue;
            }
            for (unsigned q = 0; q < d->cols; q++, w += ld)
                turned_piece(sum, in + q * d->dilation * pixel, d->step * pixel, w, ld, from[s], n,
                             1, 1, some, m);
        }
    }
#pragma GCC unroll 8
    for (unsigned i = 0; i < n; i++)
        store_part(d->out + (x0 + i) * d->out_pixel + c, some, m, clipped(sum[i], lo, hi));
}

INLINE void turned_strip(const struct ox_depthwise *d, const VI *from, size_t c, size_t x, size_t n,
                         const unsigned step, bool some, size_t m)
{
    for (size_t i = 0; i < n;) {
        const unsigned part = strip_part(n - i, n, 8);
        i = n - i < part ? n - part : i;
        if (part == 8)
            turned_outputs(d, from, c, x + i, 8, step, some, m);
        else if (part == 4)
            turned_outputs(d, from, c, x + i, 4, step, some, m);
        else
            turned_outputs(d, from, c, x + i, 1, step, some, m);
        i += part;
    }
}

static void turned(const struct ox_depthwise *d)
{
    /* Outputs whose lines stay in L1 from one vector to the next. */
    enum { OUTPUTS = 32 };
    const bool run = d->cols == 3 && d->dilation == 1;
    VI from[VW];
    for (unsigned s = 0; s < d->turns; s++)
        from[s] = turn_of(d->turns, s);
    for (size_t x = 0; x < d->count; x += OUTPUTS) {
        const size_t n = d->count - x < OUTPUTS ? d->count - x : OUTPUTS;
        size_t c = 0;
        for (; c + VW <= d->channels; c += VW) {
            if (run && d->step == 1)
                turned_strip(d, from, c, x, n, 1, false, VW);
            else if (run && d->step == 2)
                turned_strip(d, from, c, x, n, 2, false, VW);
            else
                turned_strip(d, from, c, x, n, 0, false, VW);
        }
        if (c < d->channels)
            turned_strip(d, from, c, x, n, 0, true, d->channels - c);
    }
}
