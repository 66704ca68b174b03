/* Winograd's transforms of a line: six pixels to six points, those to four outputs, and three weights to six points. Stamped for
 * each vector width after winograd_tmpl.h. */

INLINE void winograd_in_line_part(const struct ox_winograd_in *w, size_t c, bool some, size_t m)
{
    VF d[6], v[6];
#pragma GCC unroll 6
    for (unsigned i = 0; i < 6; i++)
        d[i] = load_part(w->in[i] + c, some, m);
    in_4(d, v);
#pragma GCC unroll 6
    for (unsigned i = 0; i < 6; i++)
        store_part(w->out + i * w->plane + c, some, m, v[i]);
}

INLINE void winograd_out_line_part(const struct ox_winograd_out *w, size_t c, bool some, size_t m)
{
    const size_t step = w->rows > 1 ? w->row : w->pixel, n = (size_t)w->rows * w->cols;
    const size_t residual_step = w->rows > 1 ? w->residual_row : w->residual_pixel;
    const VF bias = w->bias ? load_part(w->bias + c, some, m) : v_zero();
    const VF lo = v_set1(w->lo), hi = v_set1(w->hi);
    VF v[6], y[4];
#pragma GCC unroll 6
    for (unsigned i = 0; i < 6; i++)
        v[i] = load_part(w->in + i * w->plane + c, some, m);
    out_4(v, y);
#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++) {
        if (i >= n)
            break;
        VF x = v_add(y[i], bias);
        if (w->residual)
            x = v_add(x, load_part(w->residual + i * residual_step + c, some, m));
        store_part(w->out + i * step + c, some, m, clipped(x, lo, hi));
    }
}

static void winograd_in_line(const struct ox_winograd_in *w)
{
    size_t c = 0;
    for (; c + VW <= w->channels; c += VW)
        winograd_in_line_part(w, c, false, VW);
    if (c < w->channels)
        winograd_in_line_part(w, c, true, w->channels - c);
}

static void winograd_out_line(const struct ox_winograd_out *w)
{
    size_t c = 0;
    for (; c + VW <= w->channels; c += VW)
        winograd_out_line_part(w, c, false, VW);
    if (c < w->channels)
        winograd_out_line_part(w, c, true, w->channels - c);
}

INLINE void line_weights_part(const struct ox_winograd_weights *w, const float *in, float *out)
{
    VF g[3], v[6];
#pragma GCC unroll 3
    for (unsigned q = 0; q < 3; q++)
        g[q] = v_load(in + q * w->tap);
    weights_4(g, v);
#pragma GCC unroll 6
    for (unsigned i = 0; i < 6; i++)
        v_store(out + i * w->plane, v_mul(v_set1((float)scale_4[i]), v[i]));
}

static void winograd_weights_line(const struct ox_winograd_weights *w)
{
    const float *in = w->in;
    float *out = w->out;
    for (size_t u = 0; u < w->depth; u++, in += w->step, out += 2 * VW) {
        line_weights_part(w, in, out);
        line_weights_part(w, in + VW, out + VW);
    }
}
