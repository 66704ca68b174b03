/* One pass over two arrays. Eight partial sums keep the order of additions the same everywhere and leave the compiler
 * free to use vectors; chunks of 512 keep sums of millions of elements accurate. */
#include <math.h>

#include "kernels/differences.h"
#include "tensor/metrics.h"

enum { CHUNK = 512, LANES = OX_DIFFERENCE_LANES };

/* A chunk in doubles: both sides, |a - b|, |b| and a * b. */
struct chunk {
    double a[CHUNK], b[CHUNK], d[CHUNK], m[CHUNK], p[CHUNK];
    size_t at[CHUNK]; /* places in the tensor, if packed */
    bool packed;      /* pairs that are not finite were taken out */
    size_t n, begin;
};

/* Polygraphy's stand-in for a reference of zero. */
static const double TINY = 2.220446049250313e-16;

void ox_sums_init(struct ox_sums *sums)
{
    *sums = (struct ox_sums){.a_min = INFINITY,
                             .a_max = -INFINITY,
                             .b_min = INFINITY,
                             .b_max = -INFINITY,
                             .worst = SIZE_MAX,
                             .bad = SIZE_MAX};
}

void ox_sums_merge(struct ox_sums *sums, const struct ox_sums *from)
{
    if (from->worst != SIZE_MAX && (sums->worst == SIZE_MAX || from->max_abs > sums->max_abs))
        sums->worst = from->worst;
    if (sums->bad == SIZE_MAX)
        sums->bad = from->bad;
    sums->n += from->n;
    sums->n_rel += from->n_rel;
    sums->n_mismatched += from->n_mismatched;
    sums->a_nan += from->a_nan;
    sums->b_nan += from->b_nan;
    sums->a_inf += from->a_inf;
    sums->b_inf += from->b_inf;
    sums->nan_difference |= from->nan_difference;
    sums->inf_difference |= from->inf_difference;
    sums->abs += from->abs;
    sums->rel += from->rel;
    sums->squares += from->squares;
    sums->aa += from->aa;
    sums->bb += from->bb;
    sums->ab += from->ab;
    sums->max_abs = fmax(sums->max_abs, from->max_abs);
    sums->max_rel = fmax(sums->max_rel, from->max_rel);
    sums->a_min = fmin(sums->a_min, from->a_min);
    sums->a_max = fmax(sums->a_max, from->a_max);
    sums->b_min = fmin(sums->b_min, from->b_min);
    sums->b_max = fmax(sums->b_max, from->b_max);
}

/* ---- Reading ------------------------------------------------------------------------------------------------------- */

static bool is_complex(enum ox_dtype dtype)
{
    return dtype == OX_COMPLEX64 || dtype == OX_COMPLEX128;
}

static bool is_wide_integer(enum ox_dtype dtype)
{
    return dtype == OX_INT64 || dtype == OX_UINT64;
}

/* |x - y| of integers of any two types, exactly where it fits 64 bits. */
static double integer_distance(const struct ox_tensor *a, const struct ox_tensor *b, size_t i)
{
    int64_t x =
        a->dtype == OX_UINT64 ? (int64_t)((const uint64_t *)a->data)[i] : ox_tensor_get_int(a, i);
    int64_t y =
        b->dtype == OX_UINT64 ? (int64_t)((const uint64_t *)b->data)[i] : ox_tensor_get_int(b, i);
    bool x_large = a->dtype == OX_UINT64 && x < 0, y_large = b->dtype == OX_UINT64 && y < 0;
    uint64_t u = (uint64_t)x, v = (uint64_t)y;
    if (x_large == y_large)
        return (double)(x >= y ? u - v : v - u);
    /* One is 2^63 or more; the other may be negative, then the distance may pass 64 bits. */
    if (x_large)
        return y >= 0 ? (double)(u - v) : (double)u - (double)y;
    return x >= 0 ? (double)(v - u) : (double)v - (double)x;
}

static void complex_at(const struct ox_tensor *t, size_t i, double out[2])
{
    for (size_t k = 0; k < 2; k++)
        out[k] = t->dtype == OX_COMPLEX64    ? (double)((const float *)t->data)[2 * i + k]
                 : t->dtype == OX_COMPLEX128 ? ((const double *)t->data)[2 * i + k]
                 : k == 0                    ? ox_tensor_get_double(t, i)
                                             : 0;
}

/* Sizes and distances in the plane; the product is that of the vectors. */
static void load_complex(struct chunk *c, const struct ox_tensor *a, const struct ox_tensor *b)
{
    for (size_t i = 0; i < c->n; i++) {
        double x[2], y[2];
        complex_at(a, c->begin + i, x);
        complex_at(b, c->begin + i, y);
        c->a[i] = hypot(x[0], x[1]);
        c->b[i] = c->m[i] = hypot(y[0], y[1]);
        c->d[i] = hypot(x[0] - y[0], x[1] - y[1]);
        c->p[i] = x[0] * y[0] + x[1] * y[1];
    }
}

static void to_double(const struct ox_tensor *t, size_t begin, size_t n, double *out)
{
    size_t size = ox_dtype_size(t->dtype);
    ox_elements_convert(OX_FLOAT64, out, t->dtype, (const char *)t->data + begin * size, n, false);
}

static void load(struct chunk *c, const struct ox_tensor *a, const struct ox_tensor *b,
                 size_t begin, size_t n)
{
    c->packed = false;
    c->begin = begin;
    c->n = n;
    if (is_complex(a->dtype) || is_complex(b->dtype)) {
        load_complex(c, a, b);
        return;
    }
    to_double(a, begin, n, c->a);
    to_double(b, begin, n, c->b);
    for (size_t i = 0; i < n; i++) {
        c->d[i] = fabs(c->a[i] - c->b[i]);
        c->m[i] = fabs(c->b[i]);
        c->p[i] = c->a[i] * c->b[i];
    }
    bool wide = is_wide_integer(a->dtype) || is_wide_integer(b->dtype);
    if (wide && !ox_dtype_is_float(a->dtype) && !ox_dtype_is_float(b->dtype))
        for (size_t i = 0; i < n; i++)
            c->d[i] = integer_distance(a, b, begin + i);
}

/* ---- What is not finite -------------------------------------------------------------------------------------------- */

static bool all_finite(const struct chunk *c)
{
    double poison[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= c->n; i += LANES)
        for (size_t l = 0; l < LANES; l++)
            poison[l] += (c->a[i + l] + c->d[i + l]) * 0;
    for (; i < c->n; i++)
        poison[0] += (c->a[i] + c->d[i]) * 0;
    double sum = 0;
    for (size_t l = 0; l < LANES; l++)
        sum += poison[l];
    return sum == 0;
}

/* Judges the pairs that are not finite and takes them out. */
static void pack_finite(struct chunk *c, struct ox_sums *s, bool nan_agrees)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->n; i++) {
        double a = c->a[i], b = c->b[i];
        if (isfinite(a) && isfinite(b) && isfinite(c->d[i])) {
            c->a[kept] = a;
            c->b[kept] = b;
            c->d[kept] = c->d[i];
            c->m[kept] = c->m[i];
            c->p[kept] = c->p[i];
            c->at[kept++] = c->begin + i;
            continue;
        }
        s->a_nan += isnan(a);
        s->b_nan += isnan(b);
        s->a_inf += isinf(a) != 0;
        s->b_inf += isinf(b) != 0;
        bool any_nan = isnan(a) || isnan(b);
        if (a == b || (nan_agrees && isnan(a) && isnan(b)))
            continue;
        s->nan_difference |= any_nan;
        s->inf_difference |= !any_nan;
        s->n_mismatched++;
        if (s->bad == SIZE_MAX)
            s->bad = c->begin + i;
    }
    c->packed = true;
    c->n = kept;
}

/* ---- Sums ---------------------------------------------------------------------------------------------------------- */

static inline void add_one(struct ox_difference_lanes *s, size_t l, const struct chunk *c, size_t i,
                           const struct ox_metrics_options *options, bool element)
{
    const double d = c->d[i], m = c->m[i];
    const double rtol = options->tolerance.rtol, atol = options->tolerance.atol;
    const bool bad = element ? d > atol && d / (m > 0 ? m : TINY) > rtol : d > atol + rtol * m;
    ox_difference_add(s, l, c->a[i], c->b[i], d, m, c->p[i], bad);
}

static void sum_chunk(struct ox_difference_lanes *s, const struct chunk *c,
                      const struct ox_metrics_options *options, bool element)
{
    size_t i = 0;
    for (; i + LANES <= c->n; i += LANES)
        for (size_t l = 0; l < LANES; l++)
            add_one(s, l, c, i + l, options, element);
    for (size_t l = 0; i < c->n; i++, l++)
        add_one(s, l, c, i, options, element);
}

static size_t place_of(const struct chunk *c, double difference)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->d[i] == difference)
            return c->packed ? c->at[i] : c->begin + i;
    return SIZE_MAX;
}

static void lanes_init(struct ox_difference_lanes *s)
{
    *s = (struct ox_difference_lanes){.abs = {0}};
    for (size_t l = 0; l < LANES; l++) {
        s->a_min[l] = s->b_min[l] = INFINITY;
        s->a_max[l] = s->b_max[l] = -INFINITY;
    }
}

static void join_lanes(struct ox_sums *all, const struct ox_difference_lanes *s, size_t n)
{
    ox_sums_init(all);
    all->n = n;
    for (size_t l = 0; l < LANES; l++) {
        all->abs += s->abs[l];
        all->rel += s->rel[l];
        all->squares += s->squares[l];
        all->aa += s->aa[l];
        all->bb += s->bb[l];
        all->ab += s->ab[l];
        all->n_rel += (uint64_t)s->n_rel[l];
        all->n_mismatched += (uint64_t)s->n_bad[l];
        all->max_abs = ox_larger(all->max_abs, s->max_abs[l]);
        all->max_rel = ox_larger(all->max_rel, s->max_rel[l]);
        all->a_min = ox_smaller(all->a_min, s->a_min[l]);
        all->a_max = ox_larger(all->a_max, s->a_max[l]);
        all->b_min = ox_smaller(all->b_min, s->b_min[l]);
        all->b_max = ox_larger(all->b_max, s->b_max[l]);
    }
}

static void add_chunk(struct ox_sums *sums, const struct chunk *c,
                      const struct ox_metrics_options *options)
{
    struct ox_difference_lanes s;
    struct ox_sums all;
    lanes_init(&s);
    if (options->agreement == OX_AGREE_ELEMENT)
        sum_chunk(&s, c, options, true);
    else
        sum_chunk(&s, c, options, false);
    join_lanes(&all, &s, c->n);
    if (all.max_abs > sums->max_abs)
        all.worst = place_of(c, all.max_abs);
    ox_sums_merge(sums, &all);
}

/* The same figures by vectors, for n floats that are all finite. */
static bool add_floats(struct ox_sums *sums, const struct ox_metrics_options *options,
                       const struct ox_tensor *a, const struct ox_tensor *b, size_t begin, size_t n)
{
    const struct ox_tolerance *tolerance = &options->tolerance;
    struct ox_difference_lanes s;
    struct ox_sums all;
    if (a->dtype != OX_FLOAT32 || b->dtype != OX_FLOAT32 || n % LANES ||
        options->agreement == OX_AGREE_ELEMENT)
        return false;
    lanes_init(&s);
    if (!ox_differences(ox_cpu(), &s, n, (const float *)a->data + begin,
                        (const float *)b->data + begin, tolerance->rtol, tolerance->atol))
        return false;
    join_lanes(&all, &s, n);
    if (all.max_abs > sums->max_abs) {
        struct chunk c;
        load(&c, a, b, begin, n);
        all.worst = place_of(&c, all.max_abs);
    }
    ox_sums_merge(sums, &all);
    return true;
}

void ox_sums_add(struct ox_sums *sums, const struct ox_metrics_options *options,
                 const struct ox_tensor *a, const struct ox_tensor *b, size_t begin, size_t end)
{
    struct chunk c;
    for (size_t at = begin; at < end; at += CHUNK) {
        const size_t n = end - at < CHUNK ? end - at : CHUNK;
        if (add_floats(sums, options, a, b, at, n))
            continue;
        load(&c, a, b, at, n);
        if (!all_finite(&c))
            pack_finite(&c, sums, options->tolerance.nan_agrees);
        add_chunk(sums, &c, options);
    }
}
