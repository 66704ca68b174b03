/* Winograd's transforms at stride 2: stamped for a vector width after compute_tmpl.h; the matrices are in compute.c. */

INLINE void in_strided(const VF d[9], VF v[9])
{
    const VF half = v_set1(0.5f), odd = v_sub(d[6], d[2]);
    v[0] = v_fnma(half, v_sub(d[4], d[0]), odd);
    v[1] = v_fma(half, v_sub(d[4], d[2]), d[6]);
    v[2] = v_fma(half, d[2], v_fnma(v_set1(1.5f), d[4], d[6]));
    v[3] = odd;
    v[4] = v_fnma(half, odd, v_sub(d[8], d[4]));
#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++)
        v[5 + i] = d[2 * i + 1];
}

INLINE void out_strided(const VF v[9], VF y[4])
{
    const VF sum = v_add(v[1], v[2]), difference = v_sub(v[1], v[2]);
    y[0] = v_add(v_add(v[0], sum), v_add(v[3], v[5]));
    y[1] = v_fma(v_set1(0.5f), v[3], v_add(difference, v[6]));
    y[2] = v_fma(v_set1(0.25f), v[3], v_add(sum, v[7]));
    y[3] = v_fma(v_set1(0.125f), v[3], v_add(v_add(difference, v[4]), v[8]));
}

INLINE void winograd_in_part(const struct ox_winograd_in *w, size_t c, bool some, size_t m)
{
    VF half[9][9], d[9], v[9];
    for (unsigned j = 0; j < 9; j++) {
#pragma GCC unroll 9
        for (unsigned i = 0; i < 9; i++)
            d[i] = load_part(w->in[i * 9 + j] + c, some, m);
        in_strided(d, v);
#pragma GCC unroll 9
        for (unsigned i = 0; i < 9; i++)
            half[i][j] = v[i];
    }
    float *out = w->out + c;
    for (unsigned i = 0; i < 9; i++) {
        in_strided(half[i], v);
#pragma GCC unroll 9
        for (unsigned j = 0; j < 9; j++, out += w->plane)
            store_part(out, some, m, v[j]);
    }
}

INLINE void winograd_out_part(const struct ox_winograd_out *w, size_t c, bool some, size_t m)
{
    VF half[4][9], v[9], y[4];
    const float *in = w->in + c;
    for (unsigned j = 0; j < 9; j++) {
#pragma GCC unroll 9
        for (unsigned i = 0; i < 9; i++)
            v[i] = load_part(in + (i * 9 + j) * w->plane, some, m);
        out_strided(v, y);
#pragma GCC unroll 4
        for (unsigned i = 0; i < 4; i++)
            half[i][j] = y[i];
    }
    const VF bias = w->bias ? load_part(w->bias + c, some, m) : v_zero();
    const VF lo = v_set1(w->lo), hi = v_set1(w->hi);
    for (unsigned i = 0; i < w->rows; i++) {
        out_strided(half[i], y);
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            if (j >= w->cols)
                break;
            VF x = v_add(y[j], bias);
            const size_t at = i * w->residual_row + j * w->residual_pixel + c;
            if (w->residual)
                x = v_add(x, load_part(w->residual + at, some, m));
            store_part(w->out + i * w->row + j * w->pixel + c, some, m, clipped(x, lo, hi));
        }
    }
}

static void winograd_in_strided(const struct ox_winograd_in *w)
{
    size_t c = 0;
    for (; c + VW <= w->channels; c += VW)
        winograd_in_part(w, c, false, VW);
    if (c < w->channels)
        winograd_in_part(w, c, true, w->channels - c);
}

static void winograd_out_strided(const struct ox_winograd_out *w)
{
    size_t c = 0;
    for (; c + VW <= w->channels; c += VW)
        winograd_out_part(w, c, false, VW);
    if (c < w->channels)
        winograd_out_part(w, c, true, w->channels - c);
}
