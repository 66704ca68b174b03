/* Depthwise convolution, Winograd's transforms, pooling and blending: stamped for each vector width after tile_tmpl.h. */

#ifndef v_in_register
#define v_in_register(x) ((void)(x))
#endif

INLINE VF clipped(VF x, VF lo, VF hi)
{
    return v_min(hi, v_max(lo, x));
}

/* Nine weights of a vector of channels, what its sums begin with, and their limits: all stay in registers. */
struct nine {
    VF w[9], bias, lo, hi;
};

INLINE struct nine nine_of(const struct ox_depthwise *d, size_t c, bool some, size_t m)
{
    struct nine k = {.bias = d->bias ? load_part(d->bias + c, some, m) : v_zero(),
                     .lo = v_set1(d->lo),
                     .hi = v_set1(d->hi)};
#pragma GCC unroll 9
    for (unsigned i = 0; i < 9; i++)
        k.w[i] = load_part(d->weights + i * d->weights_ld + c, some, m);
    return k;
}

/* Pixels of a column, each read once. */
struct column {
    VF x[3];
};

INLINE struct column column_at(const float *const *row, size_t at, bool some, size_t m)
{
    struct column c;
#pragma GCC unroll 3
    for (unsigned r = 0; r < 3; r++) {
        c.x[r] = load_part(row[r] + at, some, m);
        v_in_register(&c.x[r]);
    }
    return c;
}

/* sum += column by column q of the weights. */
INLINE VF add_column(VF sum, const struct column *c, const struct nine *k, const unsigned q)
{
#pragma GCC unroll 3
    for (unsigned r = 0; r < 3; r++)
        sum = v_fma(c->x[r], k->w[3 * r + q], sum);
    return sum;
}

/* 3x3, step 1: each input column is read once and goes into three outputs. */
INLINE void depthwise_3x3(const struct ox_depthwise *d, size_t c, size_t x0, size_t n, bool some,
                          size_t m)
{
    const struct nine k = nine_of(d, c, some, m);
    const size_t pixel = d->pixel, out_pixel = d->out_pixel;
    const float *const row[3] = {d->row[0] + c, d->row[1] + c, d->row[2] + c};
    float *out = d->out + x0 * out_pixel + c;
    size_t at = x0 * pixel;
    struct column x = column_at(row, at, some, m);
    VF a = add_column(k.bias, &x, &k, 0), b;
    x = column_at(row, at += pixel, some, m);
    a = add_column(a, &x, &k, 1);
    b = add_column(k.bias, &x, &k, 0);
#pragma GCC unroll 3
    for (; n > 0; n--, out += out_pixel) {
        x = column_at(row, at += pixel, some, m);
        a = add_column(a, &x, &k, 2);
        store_part(out, some, m, clipped(a, k.lo, k.hi));
        a = add_column(b, &x, &k, 1);
        b = add_column(k.bias, &x, &k, 0);
    }
}

/* 3x3, step 2: of the columns of an output the last is the first of the next. */
INLINE void depthwise_3x3_2(const struct ox_depthwise *d, size_t c, size_t x0, size_t n, bool some,
                            size_t m)
{
    const struct nine k = nine_of(d, c, some, m);
    const size_t pixel = d->pixel, out_pixel = d->out_pixel;
    const float *const row[3] = {d->row[0] + c, d->row[1] + c, d->row[2] + c};
    float *out = d->out + x0 * out_pixel + c;
    size_t at = 2 * x0 * pixel;
    struct column x = column_at(row, at, some, m);
    VF a = add_column(k.bias, &x, &k, 0);
#pragma GCC unroll 2
    for (; n > 0; n--, out += out_pixel) {
        x = column_at(row, at += pixel, some, m);
        a = add_column(a, &x, &k, 1);
        x = column_at(row, at += pixel, some, m);
        a = add_column(a, &x, &k, 2);
        store_part(out, some, m, clipped(a, k.lo, k.hi));
        a = add_column(k.bias, &x, &k, 0);
    }
}

/* Any kernel: `n` outputs share each weight. */
INLINE void depthwise_some(const struct ox_depthwise *d, size_t c, size_t x0, const unsigned n,
                           bool some, size_t m)
{
    const VF bias = d->bias ? load_part(d->bias + c, some, m) : v_zero();
    const VF lo = v_set1(d->lo), hi = v_set1(d->hi);
    const size_t step = d->step * d->pixel, next = d->dilation * d->pixel, ld = d->weights_ld;
    VF sum[8];
#pragma GCC unroll 8
    for (unsigned i = 0; i < 8; i++)
        sum[i] = bias;
    const float *w = d->weights + c;
    for (unsigned r = 0; r < d->rows; r++) {
        const float *in = d->row[r] + x0 * step + c;
        for (unsigned q = 0; q < d->cols; q++) {
            const VF weight = load_part(w, some, m);
            const float *at = in;
#pragma GCC unroll 8
            for (unsigned i = 0; i < n; i++, at += step)
                sum[i] = v_fma(load_part(at, some, m), weight, sum[i]);
            w += ld;
            in += next;
        }
    }
#pragma GCC unroll 8
    for (unsigned i = 0; i < n; i++)
        store_part(d->out + (x0 + i) * d->out_pixel + c, some, m, clipped(sum[i], lo, hi));
}

/* The same without dilation, at a step that is known beforehand: what is read once goes into as many outputs as need it. */
INLINE void depthwise_run(const struct ox_depthwise *d, size_t c, size_t x0, const unsigned n,
                          const unsigned cols, const unsigned step, bool some, size_t m)
{
    const VF bias = d->bias ? load_part(d->bias + c, some, m) : v_zero();
    const VF lo = v_set1(d->lo), hi = v_set1(d->hi);
    const size_t pixel = d->pixel, ld = d->weights_ld;
    VF sum[8], w[7];
#pragma GCC unroll 8
    for (unsigned i = 0; i < 8; i++)
        sum[i] = bias;
    const float *weights = d->weights + c;
    for (unsigned r = 0; r < d->rows; r++) {
        const float *in = d->row[r] + x0 * step * pixel + c;
#pragma GCC unroll 7
        for (unsigned q = 0; q < cols; q++, weights += ld)
            w[q] = load_part(weights, some, m);
#pragma GCC unroll 21
        for (unsigned x = 0; x < (n - 1) * step + cols; x++, in += pixel) {
            VF v = load_part(in, some, m);
            v_in_register(&v);
#pragma GCC unroll 8
            for (unsigned i = 0; i < n; i++) {
                if (x >= i * step && x - i * step < cols)
                    sum[i] = v_fma(v, w[x - i * step], sum[i]);
            }
        }
    }
#pragma GCC unroll 8
    for (unsigned i = 0; i < n; i++)
        store_part(d->out + (x0 + i) * d->out_pixel + c, some, m, clipped(sum[i], lo, hi));
}

enum form { FORM_3X3, FORM_3X3_2, FORM_RUN_5, FORM_RUN_7, FORM_RUN_5_2, FORM_RUN_7_2, FORM_ANY };

INLINE void depthwise_outputs(const struct ox_depthwise *d, const enum form form, size_t c,
                              size_t x, const unsigned n, bool some, size_t m)
{
    if (form == FORM_RUN_5)
        depthwise_run(d, c, x, n, 5, 1, some, m);
    else if (form == FORM_RUN_7)
        depthwise_run(d, c, x, n, 7, 1, some, m);
    else if (form == FORM_RUN_5_2)
        depthwise_run(d, c, x, n, 5, 2, some, m);
    else if (form == FORM_RUN_7_2)
        depthwise_run(d, c, x, n, 7, 2, some, m);
    else
        depthwise_some(d, c, x, n, some, m);
}

/* Outputs [x, x + n) of a vector of channels. */
INLINE void depthwise_strip(const struct ox_depthwise *d, size_t c, size_t x, size_t n,
                            const enum form form, bool some, size_t m)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        depthwise_outputs(d, form, c, x + i, 8, some, m);
    if (n < 4) {
        for (; i < n; i++)
            depthwise_outputs(d, form, c, x + i, 1, some, m);
        return;
    }
    /* The last eight or four overlap those before: that is faster than one at a time. */
    if (n - i > 4 && n >= 8) {
        depthwise_outputs(d, form, c, x + n - 8, 8, some, m);
        return;
    }
    if (n - i > 4)
        depthwise_outputs(d, form, c, x, 4, some, m);
    if (i < n)
        depthwise_outputs(d, form, c, x + n - 4, 4, some, m);
}

static void depthwise_slow(const struct ox_depthwise *d, size_t c, size_t x, size_t n, bool some,
                           size_t m)
{
    depthwise_strip(d, c, x, n, FORM_ANY, some, m);
}

INLINE void depthwise_part(const struct ox_depthwise *d, enum form form, size_t c, size_t x,
                           size_t n)
{
    if (form == FORM_3X3)
        depthwise_3x3(d, c, x, n, false, VW);
    else if (form == FORM_3X3_2)
        depthwise_3x3_2(d, c, x, n, false, VW);
    else if (form == FORM_RUN_5)
        depthwise_strip(d, c, x, n, FORM_RUN_5, false, VW);
    else if (form == FORM_RUN_7)
        depthwise_strip(d, c, x, n, FORM_RUN_7, false, VW);
    else if (form == FORM_RUN_5_2)
        depthwise_strip(d, c, x, n, FORM_RUN_5_2, false, VW);
    else if (form == FORM_RUN_7_2)
        depthwise_strip(d, c, x, n, FORM_RUN_7_2, false, VW);
    else
        depthwise_slow(d, c, x, n, false, VW);
}

static enum form depthwise_form(const struct ox_depthwise *d)
{
    if (d->dilation != 1 || d->step > 2)
        return FORM_ANY;
    const bool one = d->step == 1;
    if (d->rows == 3 && d->cols == 3)
        return one ? FORM_3X3 : FORM_3X3_2;
    if (d->cols == 5)
        return one ? FORM_RUN_5 : FORM_RUN_5_2;
    if (d->cols == 7)
        return one ? FORM_RUN_7 : FORM_RUN_7_2;
    return FORM_ANY;
}

/* The last channels, less than a vector. The order of the sum is that of the others. */
static void depthwise_tail(const struct ox_depthwise *d, enum form form, size_t c, size_t x,
                           size_t n)
{
    const size_t m = d->channels - c;
    if (form == FORM_3X3)
        depthwise_3x3(d, c, x, n, true, m);
    else if (form == FORM_3X3_2)
        depthwise_3x3_2(d, c, x, n, true, m);
    else
        depthwise_slow(d, c, x, n, true, m);
}

/* The lines that the row of outputs below will need come while these are summed: outputs [x, x + n), all channels of a
 * block. */
static void depthwise_ahead(const struct ox_depthwise *d, size_t c0, size_t c1, size_t x, size_t n)
{
    if (d->rows < 2)
        return;
    const ptrdiff_t down = d->row[d->rows - 1] - d->row[d->rows - 2];
    for (size_t s = 1; s <= d->step; s++) {
        const uintptr_t from = (uintptr_t)(d->row[d->rows - 1] + x * d->step * d->pixel + c0) +
                               (uintptr_t)(down * (ptrdiff_t)s) * sizeof(float);
        for (size_t q = 0; q < n * d->step; q++) {
            for (size_t c = 0; c < c1 - c0; c += LINE)
                __builtin_prefetch((const void *)(from + (q * d->pixel + c) * sizeof(float)), 0, 2);
        }
    }
}

static void depthwise(const struct ox_depthwise *d)
{
    /* A block of channels by a block of outputs whose lines stay in L1 from one vector to the next. */
    enum { FLOATS = 6144, OUTPUTS = 32 };
    const enum form form = depthwise_form(d);
    const size_t each = FLOATS / ((OUTPUTS * d->step + d->cols) * d->rows) / LINE * LINE;
    const size_t channels = each ? each : LINE;
    for (size_t c0 = 0; c0 < d->channels; c0 += channels) {
        const size_t c1 = d->channels - c0 < channels ? d->channels : c0 + channels;
        for (size_t x = 0; x < d->count; x += OUTPUTS) {
            const size_t n = d->count - x < OUTPUTS ? d->count - x : OUTPUTS;
            size_t c = c0;
            if (d->ahead)
                depthwise_ahead(d, c0, c1, x, n);
            for (; c + VW <= c1; c += VW)
                depthwise_part(d, form, c, x, n);
            if (c < c1)
                depthwise_tail(d, form, c, x, n);
        }
    }
}

/* B' of F(2,3): see compute.c for the matrices. */
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

INLINE void weights_line(const enum weights_form form, const VF w[3], VF v[6])
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
            g[r] = v_load(in + (3 * r + q) * w->tap);
        weights_line(form, g, v);
#pragma GCC unroll 6
        for (unsigned i = 0; i < alpha; i++)
            half[i][q] = v[i];
    }
#pragma GCC unroll 6
    for (unsigned i = 0; i < alpha; i++) {
        weights_line(form, half[i], v);
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

INLINE void pool_part(const struct ox_pool *p, const bool max, size_t c, bool some, size_t m)
{
    VF x = load_part(p->in[0] + c, some, m);
    for (size_t i = 1; i < p->n; i++) {
        const VF y = load_part(p->in[i] + c, some, m);
        /* A NaN so far gives way to y, a NaN in y to what is there. */
        x = max ? v_select(v_unordered(x, x), y, v_max(y, x)) : v_add(x, y);
    }
    if (!max && p->divisor != 1)
        x = v_div(x, v_set1(p->divisor));
    store_part(p->out + c, some, m, x);
}

/* Channels from c on. */
INLINE void pool_rest(const struct ox_pool *p, const bool max, size_t c)
{
    for (; c + VW <= p->channels; c += VW)
        pool_part(p, max, c, false, VW);
    if (c < p->channels)
        pool_part(p, max, c, true, p->channels - c);
}

/* Four vectors of channels. A maximum that begins at minus infinity passes over NaN by itself; only where nothing larger came does it
 * matter whether all was NaN. */
INLINE void pool_max_four(const struct ox_pool *p, size_t c)
{
    VF x[4];
#pragma GCC unroll 4
    for (unsigned v = 0; v < 4; v++)
        x[v] = v_set1(-INFINITY);
    for (size_t i = 0; i < p->n; i++) {
        const float *in = p->in[i] + c;
#pragma GCC unroll 4
        for (unsigned v = 0; v < 4; v++)
            x[v] = v_max(v_load(in + v * VW), x[v]);
    }
    const VF least = v_min(v_min(x[0], x[1]), v_min(x[2], x[3]));
    if (v_most(v_sub(v_zero(), least)) == INFINITY) {
        for (unsigned v = 0; v < 4; v++)
            pool_part(p, true, c + v * VW, false, VW);
        return;
    }
#pragma GCC unroll 4
    for (unsigned v = 0; v < 4; v++)
        v_store(p->out + c + v * VW, x[v]);
}

static void pool_max(const struct ox_pool *p)
{
    size_t c = 0;
    for (; c + 4 * VW <= p->channels; c += 4 * VW)
        pool_max_four(p, c);
    pool_rest(p, true, c);
}

/* Several vectors of channels: a sum alone waits for itself. */
INLINE void pool_sums(const struct ox_pool *p, size_t c, const unsigned vecs)
{
    VF x[4];
#pragma GCC unroll 4
    for (unsigned v = 0; v < vecs; v++)
        x[v] = v_load(p->in[0] + c + v * VW);
    for (size_t i = 1; i < p->n; i++) {
        const float *in = p->in[i] + c;
#pragma GCC unroll 4
        for (unsigned v = 0; v < vecs; v++)
            x[v] = v_add(x[v], v_load(in + v * VW));
    }
#pragma GCC unroll 4
    for (unsigned v = 0; v < vecs; v++) {
        if (p->divisor != 1)
            x[v] = v_div(x[v], v_set1(p->divisor));
        v_store(p->out + c + v * VW, x[v]);
    }
}

static void pool_sum(const struct ox_pool *p)
{
    size_t c = 0;
    for (; c + 4 * VW <= p->channels; c += 4 * VW)
        pool_sums(p, c, 4);
    for (; c + 2 * VW <= p->channels; c += 2 * VW)
        pool_sums(p, c, 2);
    pool_rest(p, false, c);
}

static void blend(size_t n, const float w[4], const float *const in[4], float *y)
{
    const VF w0 = v_set1(w[0]), w1 = v_set1(w[1]), w2 = v_set1(w[2]), w3 = v_set1(w[3]);
    for (size_t i = 0; i < n; i += VW) {
        const bool some = n - i < VW;
        const size_t m = some ? n - i : VW;
        const VF top = v_add(v_mul(w0, load_part(in[0] + i, some, m)),
                             v_mul(w1, load_part(in[1] + i, some, m)));
        const VF low = v_add(v_mul(w2, load_part(in[2] + i, some, m)),
                             v_mul(w3, load_part(in[3] + i, some, m)));
        store_part(y + i, some, m, v_add(top, low));
    }
}

/* What this vector width fills in of the table. */
static void fill_table(struct ox_compute *t)
{
    t->mr = MR;
    t->nr = NR;
    t->wide = PANELS * NR;
    t->width = VW;
    t->tile = tile;
    t->line = line;
    t->stream = stream;
    t->dots = dots;
    t->finish = finish;
    t->pack = pack;
    t->depthwise = depthwise;
    t->winograd_in[0] = winograd_in2;
    t->winograd_in[1] = winograd_in4;
    t->winograd_out[0] = winograd_out2;
    t->winograd_out[1] = winograd_out4;
    t->winograd_weights[0] = winograd_weights2;
    t->winograd_weights[1] = winograd_weights4;
    t->winograd_weights[2] = winograd_weights_strided;
    t->pool_max = pool_max;
    t->pool_sum = pool_sum;
    t->blend = blend;
    t->probe = probe;
}
