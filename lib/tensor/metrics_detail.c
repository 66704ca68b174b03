/* Distances in units in the last place, the histogram of differences, and who is largest in each row. */
#include <math.h>
#include <string.h>

#include "tensor/metrics.h"

enum { CHUNK = 512, FINE = 16, MOST_TOP = 5 };

void ox_detail_merge(struct ox_detail *detail, const struct ox_detail *from)
{
    for (size_t i = 0; i < OX_ERROR_BINS; i++)
        detail->histogram[i] += from->histogram[i];
    for (size_t i = 0; i < OX_ULP_BUCKETS; i++)
        detail->ulp[i] += from->ulp[i];
    detail->n_ulp += from->n_ulp;
    if (from->ulp_max > detail->ulp_max)
        detail->ulp_max = from->ulp_max;
    detail->rows += from->rows;
    detail->top1 += from->top1;
    detail->top5_same += from->top5_same;
    detail->top5_all += from->top5_all;
}

/* ---- ULPs ---------------------------------------------------------------------------------------------------------- */

/* Exact below 2 * FINE, then FINE buckets an octave. */
static size_t bucket_of(uint64_t ulps)
{
    unsigned shift = 0;
    while (ulps >> shift >= 2 * FINE)
        shift++;
    return (size_t)shift * FINE + (size_t)(ulps >> shift);
}

/* The least of a bucket. */
static double bucket_value(size_t bucket)
{
    if (bucket < 2 * FINE)
        return (double)bucket;
    unsigned shift = (unsigned)(bucket / FINE) - 1;
    return ldexp((double)(bucket - (size_t)shift * FINE), (int)shift);
}

double ox_detail_ulp(const struct ox_detail *detail, double share)
{
    if (!detail->n_ulp)
        return NAN;
    uint64_t most = (uint64_t)ceil(share * (double)detail->n_ulp), sum = 0;
    for (size_t i = 0; i < OX_ULP_BUCKETS; i++) {
        sum += detail->ulp[i];
        if (sum >= most && sum)
            return fmin(bucket_value(i), (double)detail->ulp_max);
    }
    return (double)detail->ulp_max;
}

/* Codes whose order is that of the numbers, so that neighbours differ by 1; both zeros are one. */
static int64_t order(uint64_t bits, unsigned width)
{
    uint64_t sign = (uint64_t)1 << (width - 1);
    return bits & sign ? -(int64_t)(bits & (sign - 1)) : (int64_t)bits;
}

/* Bits of the mantissa; 0: no ULPs are told of that type. */
static int precision(enum ox_dtype dtype)
{
    switch (dtype) {
    case OX_FLOAT64:
        return 52;
    case OX_FLOAT32:
        return 23;
    case OX_FLOAT16:
        return 10;
    case OX_BFLOAT16:
        return 7;
    default:
        return 0;
    }
}

static int64_t code_at(enum ox_dtype dtype, const void *elements, size_t i)
{
    if (dtype == OX_FLOAT64)
        return order(((const uint64_t *)elements)[i], 64);
    if (dtype == OX_FLOAT32)
        return order(((const uint32_t *)elements)[i], 32);
    return order(((const uint16_t *)elements)[i], 16);
}

static void add_ulps(struct ox_detail *detail, const struct ox_tensor *a, const struct ox_tensor *b,
                     size_t begin, size_t n, const double *x, const double *y)
{
    uint64_t codes[2][CHUNK];
    enum ox_dtype to = precision(a->dtype) < precision(b->dtype) ? a->dtype : b->dtype;
    const struct ox_tensor *const sides[2] = {a, b};
    for (size_t k = 0; k < 2; k++)
        ox_elements_convert(to, codes[k], sides[k]->dtype,
                            (const char *)sides[k]->data + begin * ox_dtype_size(sides[k]->dtype),
                            n, false);
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i]) || !isfinite(y[i]))
            continue;
        int64_t p = code_at(to, codes[0], i), q = code_at(to, codes[1], i);
        uint64_t far = p > q ? (uint64_t)p - (uint64_t)q : (uint64_t)q - (uint64_t)p;
        detail->ulp[bucket_of(far)]++;
        detail->n_ulp++;
        if (far > detail->ulp_max)
            detail->ulp_max = far;
    }
}

/* ---- Histogram ----------------------------------------------------------------------------------------------------- */

static size_t bin_of(double difference)
{
    static const double bounds[OX_ERROR_BINS - 2] = {
        1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3,
        1e-2,  1e-1,  1e0,   1e1,   1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8};
    size_t low = 0, high = OX_COUNT(bounds);
    if (difference == 0)
        return 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (difference >= bounds[middle])
            low = middle + 1;
        else
            high = middle;
    }
    return low + 1;
}

/* ---- Rows ---------------------------------------------------------------------------------------------------------- */

/* Indices of the k largest, largest first; of equal ones the first. */
static size_t largest(const struct ox_tensor *t, size_t begin, size_t width, size_t k,
                      size_t top[MOST_TOP])
{
    double values[MOST_TOP];
    size_t n = 0;
    for (size_t i = 0; i < width; i++) {
        double x = ox_tensor_get_double(t, begin + i);
        if (isnan(x) || (n == k && !(x > values[n - 1])))
            continue;
        size_t at = n < k ? n++ : n - 1;
        for (; at > 0 && x > values[at - 1]; at--) {
            values[at] = values[at - 1];
            top[at] = top[at - 1];
        }
        values[at] = x;
        top[at] = i;
    }
    return n;
}

static void add_rows(struct ox_detail *detail, const struct ox_tensor *a, const struct ox_tensor *b)
{
    size_t width = a->rank ? (size_t)a->dims[a->rank - 1] : 0;
    if (width < 2)
        return;
    size_t k = width < MOST_TOP ? width : MOST_TOP;
    for (size_t begin = 0; begin < a->n; begin += width) {
        size_t x[MOST_TOP], y[MOST_TOP];
        size_t n = largest(a, begin, width, k, x), m = largest(b, begin, width, k, y);
        detail->rows++;
        detail->top1 += n && m && x[0] == y[0];
        detail->top5_all += k;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < m; j++)
                detail->top5_same += x[i] == y[j];
    }
}

void ox_detail_add(struct ox_detail *detail, const struct ox_tensor *a, const struct ox_tensor *b)
{
    double x[CHUNK], y[CHUNK];
    bool ulps = precision(a->dtype) && precision(b->dtype);
    for (size_t at = 0; at < a->n; at += CHUNK) {
        size_t n = a->n - at < CHUNK ? a->n - at : CHUNK;
        const struct ox_tensor *const sides[2] = {a, b};
        double *const to[2] = {x, y};
        for (size_t k = 0; k < 2; k++)
            ox_elements_convert(OX_FLOAT64, to[k], sides[k]->dtype,
                                (const char *)sides[k]->data + at * ox_dtype_size(sides[k]->dtype),
                                n, false);
        for (size_t i = 0; i < n; i++)
            if (isfinite(x[i]) && isfinite(y[i]))
                detail->histogram[bin_of(fabs(x[i] - y[i]))]++;
            else
                detail->histogram[x[i] == y[i] ? 0 : OX_ERROR_BINS - 1]++;
        if (ulps)
            add_ulps(detail, a, b, at, n, x, y);
    }
    if (ox_dtype_is_float(a->dtype) && ox_dtype_is_float(b->dtype))
        add_rows(detail, a, b);
}
