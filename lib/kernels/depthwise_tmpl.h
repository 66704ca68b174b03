/* Depthwise convolution. Stamped for each vector width. */

#ifndef v_in_register
#define v_in_register(x) ((void)(x))
#endif

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

/* Vectors of channels side by side, as many as registers have room for: the sums of one are so long that too few are under way. */
enum { ABREAST = VW < 16 ? 1 : 2 };

struct abreast {
    struct nine k[ABREAST];
    const float *row[3];
    float *out;
    bool some; /* of the last vector the first m channels alone */
    size_t m;
};

INLINE struct abreast abreast_of(const struct ox_depthwise *d, size_t c, size_t x0,
                                 const unsigned vecs, bool some, size_t m)
{
    struct abreast s = {.row = {d->row[0] + c, d->row[1] + c, d->row[2] + c},
                        .out = d->out + x0 * d->out_pixel + c,
                        .some = some,
                        .m = m};
#pragma GCC unroll 2
    for (unsigned v = 0; v < vecs; v++)
        s.k[v] = nine_of(d, c + v * VW, some && v + 1 == vecs, m);
    return s;
}

INLINE struct column abreast_column(const struct abreast *s, const unsigned vecs, const unsigned v,
                                    size_t at)
{
    return column_at(s->row, at + v * VW, s->some && v + 1 == vecs, s->m);
}

INLINE void abreast_leave(const struct abreast *s, const unsigned vecs, const unsigned v, VF sum)
{
    const struct nine *k = &s->k[v];
    store_part(s->out + v * VW, s->some && v + 1 == vecs, s->m, clipped(sum, k->lo, k->hi));
}

/* 3x3, step 1: each input column is read once and goes into three outputs. */
INLINE void depthwise_3x3(const struct ox_depthwise *d, size_t c, size_t x0, size_t n,
                          const unsigned vecs, bool some, size_t m)
{
    struct abreast s = abreast_of(d, c, x0, vecs, some, m);
    const size_t pixel = d->pixel, out_pixel = d->out_pixel;
    size_t at = x0 * pixel;
    VF a[ABREAST], b[ABREAST];
#pragma GCC unroll 2
    for (unsigned v = 0; v < vecs; v++) {
        struct column x = abreast_column(&s, vecs, v, at);
        a[v] = add_column(s.k[v].bias, &x, &s.k[v], 0);
        x = abreast_column(&s, vecs, v, at + pixel);
        a[v] = add_column(a[v], &x, &s.k[v], 1);
        b[v] = add_column(s.k[v].bias, &x, &s.k[v], 0);
    }
    at += pixel;
#pragma GCC unroll 3
    for (; n > 0; n--, s.out += out_pixel) {
        at += pixel;
#pragma GCC unroll 2
        for (unsigned v = 0; v < vecs; v++) {
            const struct column x = abreast_column(&s, vecs, v, at);
            abreast_leave(&s, vecs, v, add_column(a[v], &x, &s.k[v], 2));
            a[v] = add_column(b[v], &x, &s.k[v], 1);
            b[v] = add_column(s.k[v].bias, &x, &s.k[v], 0);
        }
    }
}

/* 3x3, step 2: of the columns of an output the last is the first of the next. */
INLINE void depthwise_3x3_2(const struct ox_depthwise *d, size_t c, size_t x0, size_t n,
                            const unsigned vecs, bool some, size_t m)
{
    struct abreast s = abreast_of(d, c, x0, vecs, some, m);
    const size_t pixel = d->pixel, out_pixel = d->out_pixel;
    size_t at = 2 * x0 * pixel;
    VF a[ABREAST];
#pragma GCC unroll 2
    for (unsigned v = 0; v < vecs; v++) {
        const struct column x = abreast_column(&s, vecs, v, at);
        a[v] = add_column(s.k[v].bias, &x, &s.k[v], 0);
    }
#pragma GCC unroll 2
    for (; n > 0; n--, s.out += out_pixel) {
#pragma GCC unroll 2
        for (unsigned v = 0; v < vecs; v++) {
            struct column x = abreast_column(&s, vecs, v, at + pixel);
            a[v] = add_column(a[v], &x, &s.k[v], 1);
            x = abreast_column(&s, vecs, v, at + 2 * pixel);
            abreast_leave(&s, vecs, v, add_column(a[v], &x, &s.k[v], 2));
            a[v] = add_column(s.k[v].bias, &x, &s.k[v], 0);
        }
        at += 2 * pixel;
    }
}

/* Outputs of a row that are summed at once at the most: their chains hide what each waits for. */
enum { AT_ONCE = VW < 16 ? 8 : 16, TWO_SEVENS = VW < 16 ? 7 : 14 };

/* Any kernel: `n` outputs share each weight. */
INLINE void depthwise_some(const struct ox_depthwise *d, size_t c, size_t x0, const unsigned n,
                           bool some, size_t m)
{
    const VF bias = d->bias ? load_part(d->bias + c, some, m) : v_zero();
    const VF lo = v_set1(d->lo), hi = v_set1(d->hi);
    const size_t step = d->step * d->pixel, next = d->dilation * d->pixel, ld = d->weights_ld;
    VF sum[AT_ONCE];
#pragma GCC unroll 16
    for (unsigned i = 0; i < n; i++)
        sum[i] = bias;
    const float *w = d->weights + c;
    for (unsigned r = 0; r < d->rows; r++) {
        const float *in = d->row[r] + x0 * step + c;
        for (unsigned q = 0; q < d->cols; q++) {
            const VF weight = load_part(w, some, m);
            const float *at = in;
#pragma GCC unroll 16
            for (unsigned i = 0; i < n; i++, at += step)
                sum[i] = v_fma(load_part(at, some, m), weight, sum[i]);
            w += ld;
            in += next;
        }
    }
#pragma GCC unroll 16
    for (unsigned i = 0; i < n; i++)
        store_part(d->out + (x0 + i) * d->out_pixel + c, some, m, clipped(sum[i], lo, hi));
}

/* sum[i] += the next `cols` taps of a row for output i: what is read once goes into as many outputs as need it. */
INLINE void depthwise_piece(VF sum[AT_ONCE], const float *in, size_t pixel, const float *weights,
                            size_t ld, const unsigned n, const unsigned cols, const unsigned step,
                            bool some, size_t m)
{
    VF w[7];
#pragma GCC unroll 7
    for (unsigned q = 0; q < 7; q++)
        w[q] = q < cols ? load_part(weights + q * ld, some, m) : v_zero();
#pragma GCC unroll 37
    for (unsigned x = 0; x < (n - 1) * step + cols; x++, in += pixel) {
        VF v = load_part(in, some, m);
        v_in_register(&v);
#pragma GCC unroll 16
        for (unsigned i = 0; i < n; i++) {
            if (x >= i * step && x - i * step < cols)
                sum[i] = v_fma(v, w[x - i * step], sum[i]);
        }
    }
}

/* A kernel without dilation, at a step that is known beforehand, as are its columns; 0: any number, in pieces of seven, five and
 * three, at step 1. */
INLINE void depthwise_run(const struct ox_depthwise *d, size_t c, size_t x0, const unsigned n,
                          const unsigned cols, const unsigned step, bool some, size_t m)
{
    const VF bias = d->bias ? load_part(d->bias + c, some, m) : v_zero();
    const VF lo = v_set1(d->lo), hi = v_set1(d->hi);
    const size_t pixel = d->pixel, ld = d->weights_ld;
    VF sum[AT_ONCE];
#pragma GCC unroll 16
    for (unsigned i = 0; i < n; i++)
        sum[i] = bias;
    const float *w = d->weights + c;
    for (unsigned r = 0; r < d->rows; r++) {
        const float *in = d->row[r] + x0 * step * pixel + c;
        if (cols) {
            depthwise_piece(sum, in, pixel, w, ld, n, cols, step, some, m);
            w += cols * ld;
            continue;
        }
        unsigned left = d->cols;
        for (; left >= 7; left -= 7, w += 7 * ld, in += 7 * pixel)
            depthwise_piece(sum, in, pixel, w, ld, n, 7, 1, some, m);
        if (left >= 5) {
            depthwise_piece(sum, in, pixel, w, ld, n, 5, 1, some, m);
            left -= 5, w += 5 * ld, in += 5 * pixel;
        } else if (left >= 3) {
            depthwise_piece(sum, in, pixel, w, ld, n, 3, 1, some, m);
            left -= 3, w += 3 * ld, in += 3 * pixel;
        }
        for (; left; left--, w += ld, in += pixel)
            depthwise_piece(sum, in, pixel, w, ld, n, 1, 1, some, m);
    }
#pragma GCC unroll 16
    for (unsigned i = 0; i < n; i++)
        store_part(d->out + (x0 + i) * d->out_pixel + c, some, m, clipped(sum[i], lo, hi));
}

enum form {
    FORM_3X3,
    FORM_3X3_2,
    FORM_RUN_5,
    FORM_RUN_7,
    FORM_RUN_5_2,
    FORM_RUN_7_2,
    FORM_RUN,
    FORM_ANY
};

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
    else if (form == FORM_RUN)
        depthwise_run(d, c, x, n, 0, 1, some, m);
    else
        depthwise_some(d, c, x, n, some, m);
}

/* Of `left` outputs of n how many are summed at once: 16, 14, 8, 7, 4 or 1. Where fewer are left some are summed once more: that is faster
 * than one at a time. */
INLINE unsigned strip_part(size_t left, size_t n, const unsigned most)
{
    if (most > 8 && n % 7 == 0)
        return left > 7 ? 14 : 7;
    if (most > 8 && left > 8 && n >= 16)
        return 16;
    if (left >= 8 || (left > 4 && n >= 8))
        return 8;
    return n < 4 ? 1 : 4;
}

/* Outputs [x, x + n) of a vector of channels. */
INLINE void depthwise_strip(const struct ox_depthwise *d, size_t c, size_t x, size_t n,
                            const enum form form, bool some, size_t m)
{
    const unsigned most = form == FORM_ANY ? 8 : AT_ONCE;
    for (size_t i = 0; i < n;) {
        const unsigned part = strip_part(n - i, n, most);
        i = n - i < part ? n - part : i;
        if (most > 8 && part == 16)
            depthwise_outputs(d, form, c, x + i, AT_ONCE, some, m);
        else if (most > 8 && part == 14)
            depthwise_outputs(d, form, c, x + i, TWO_SEVENS, some, m);
        else if (most > 8 && part == 7)
            depthwise_outputs(d, form, c, x + i, 7, some, m);
        else if (part == 8)
            depthwise_outputs(d, form, c, x + i, 8, some, m);
        else if (part == 4)
            depthwise_outputs(d, form, c, x + i, 4, some, m);
        else
            depthwise_outputs(d, form, c, x + i, 1, some, m);
        i += part;
    }
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
        depthwise_3x3(d, c, x, n, 1, false, VW);
    else if (form == FORM_3X3_2)
        depthwise_3x3_2(d, c, x, n, 1, false, VW);
    else if (form == FORM_RUN_5)
        depthwise_strip(d, c, x, n, FORM_RUN_5, false, VW);
    else if (form == FORM_RUN_7)
        depthwise_strip(d, c, x, n, FORM_RUN_7, false, VW);
    else if (form == FORM_RUN_5_2)
        depthwise_strip(d, c, x, n, FORM_RUN_5_2, false, VW);
    else if (form == FORM_RUN_7_2)
        depthwise_strip(d, c, x, n, FORM_RUN_7_2, false, VW);
    else if (form == FORM_RUN)
        depthwise_strip(d, c, x, n, FORM_RUN, false, VW);
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
    return one && d->cols > 2 ? FORM_RUN : FORM_ANY;
}

/* The last channels, less than a vector. The order of the sum is that of the others. */
static void depthwise_tail(const struct ox_depthwise *d, enum form form, size_t c, size_t x,
                           size_t n)
{
    const size_t m = d->channels - c;
    if (form == FORM_3X3)
        depthwise_3x3(d, c, x, n, 1, true, m);
    else if (form == FORM_3X3_2)
        depthwise_3x3_2(d, c, x, n, 1, true, m);
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
    enum { FLOATS = 6144 };
    const size_t outputs = AT_ONCE > 8 && d->count % 14 == 0 ? 28 : 32;
    const enum form form = depthwise_form(d);
    const size_t each = FLOATS / ((outputs * d->step + d->cols) * d->rows) / LINE * LINE;
    const size_t channels = each ? each : LINE;
    for (size_t c0 = 0; c0 < d->channels; c0 += channels) {
        const size_t c1 = d->channels - c0 < channels ? d->channels : c0 + channels;
        for (size_t x = 0; x < d->count; x += outputs) {
            const size_t n = d->count - x < outputs ? d->count - x : outputs;
            size_t c = c0;
            if (d->ahead)
                depthwise_ahead(d, c0, c1, x, n);
            for (; form == FORM_3X3 && c + ABREAST * VW <= c1; c += ABREAST * VW)
                depthwise_3x3(d, c, x, n, ABREAST, false, VW);
            for (; form == FORM_3X3_2 && c + ABREAST * VW <= c1; c += ABREAST * VW)
                depthwise_3x3_2(d, c, x, n, ABREAST, false, VW);
            for (; c + VW <= c1; c += VW)
                depthwise_part(d, form, c, x, n);
            if (c < c1)
                depthwise_tail(d, form, c, x, n);
        }
    }
}
