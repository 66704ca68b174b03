#include "ops/resample.h"
#include "ops/broadcast.h"

#include <math.h>
#include <string.h>

#include "kernels/inline.h"
#include "ops/real.h"

/* Where place i of the output lies in the input. */
static double original(const struct ox_resample *how, const struct ox_resample_axis *a, int64_t i)
{
    double x = (double)i, in = (double)a->in, out = (double)a->out;
    double width = a->scale * in; /* of the output before it was rounded */

    switch (how->coordinates) {
    case OX_COORD_HALF_PIXEL:
        return (x + 0.5) / a->scale - 0.5;
    case OX_COORD_HALF_PIXEL_SYMMETRIC:
        return in / 2 * (1 - out / width) + (x + 0.5) / a->scale - 0.5;
    case OX_COORD_PYTORCH_HALF_PIXEL:
        return out > 1 ? (x + 0.5) / a->scale - 0.5 : 0;
    case OX_COORD_ALIGN_CORNERS:
        return width == 1 ? 0 : x * (in - 1) / (width - 1);
    case OX_COORD_ASYMMETRIC:
        return x / a->scale;
    case OX_COORD_TF_HALF_PIXEL:
        return (x + 0.5) / a->scale;
    case OX_COORD_CROP:
        break;
    }
    return out > 1 ? a->start * (in - 1) + x * (a->end - a->start) * (in - 1) / (out - 1)
                   : 0.5 * (a->start + a->end) * (in - 1);
}

bool ox_resample_is_identity(const struct ox_resample *how, const struct ox_resample_axis *a)
{
    return a->in == a->out && fabs(a->scale - 1) <= 1e-9 &&
           (how->coordinates != OX_COORD_CROP || (a->start == 0 && a->end == 1)) &&
           how->coordinates != OX_COORD_TF_HALF_PIXEL;
}

static double clamped(double x, double low, double high)
{
    return !(x > low) ? low : x > high ? high : x; /* NaN is low */
}

static bool is_outside(const struct ox_resample *how, const struct ox_resample_axis *a, double x)
{
    return how->coordinates == OX_COORD_CROP && !(x >= 0 && x <= (double)(a->in - 1));
}

void ox_resample_nearest_list(const struct ox_resample *how, const struct ox_resample_axis *a,
                              int64_t *list)
{
    for (int64_t i = 0; i < a->out; i++) {
        double x = original(how, a, i), nearest;

        switch (how->nearest) {
        case OX_NEAREST_ROUND_FLOOR:
            nearest = ceil(x - 0.5);
            break;
        case OX_NEAREST_ROUND_CEIL:
            nearest = floor(x + 0.5);
            break;
        case OX_NEAREST_CEIL:
            nearest = ceil(x);
            break;
        case OX_NEAREST_SIMPLE:
            nearest = a->scale < 1 ? ceil(x) : floor(x);
            break;
        default:
            nearest = floor(x);
        }
        list[i] = is_outside(how, a, x) ? -1 : (int64_t)clamped(nearest, 0, (double)(a->in - 1));
    }
}

/* An antialiasing filter is stretched when the axis shrinks. */
static double stretch(const struct ox_resample *how, const struct ox_resample_axis *a)
{
    return how->antialias && a->scale < 1 ? a->scale : 1;
}

/* First tap, counted from the element left of the place. */
static double first_tap(const struct ox_resample *how, const struct ox_resample_axis *a)
{
    double reach = how->mode == OX_RESAMPLE_CUBIC ? 2 : 1;

    return floor(-reach / stretch(how, a)) + 1;
}

size_t ox_resample_taps(const struct ox_resample *how, const struct ox_resample_axis *a)
{
    double taps = 2 - 2 * first_tap(how, a);

    return taps >= 2 && taps < 1e9 ? (size_t)taps : 0;
}

static double linear_weight(double x)
{
    return clamped(1 - fabs(x), 0, 1);
}

/* Keys, Cubic Convolution Interpolation, equation (4). */
static double cubic_weight(double x, double a)
{
    x = fabs(x);
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Taps of one place. */
static void place_taps(const struct ox_resample *how, const struct ox_resample_axis *a, double x,
                       size_t taps, int64_t *index, double *weight)
{
    double by = stretch(how, a), sum = 0;
    double last = (double)(a->in - 1);
    double base = ceil(x) - 1; /* the element to the left, also of a place that is an element */
    double first = first_tap(how, a);

    for (size_t k = 0; k < taps; k++) {
        double at = base + first + (double)k, distance = (at - x) * by;
        bool outside = !(at >= 0 && at <= last);

        weight[k] = how->mode == OX_RESAMPLE_CUBIC ? cubic_weight(distance, how->cubic_a)
                                                   : linear_weight(distance);
        if (how->exclude_outside && outside)
            weight[k] = 0;
        index[k] = (int64_t)clamped(at, 0, last);
        sum += weight[k];
    }
    if ((how->antialias || how->exclude_outside) && sum != 0) {
        for (size_t k = 0; k < taps; k++)
            weight[k] /= sum;
    }
}

void ox_resample_table(const struct ox_resample *how, const struct ox_resample_axis *a, size_t taps,
                       int64_t *index, double *weight)
{
    for (int64_t i = 0; i < a->out; i++) {
        double x = original(how, a, i);

        place_taps(how, a, x, taps, index + (size_t)i * taps, weight + (size_t)i * taps);
        if (is_outside(how, a, x))
            index[(size_t)i * taps] = -1;
    }
}

struct application {
    const struct ox_resample_axis *a;
    size_t inner, taps;
    const int64_t *index;
    const double *weight, *src;
    double extrapolation, *dst;
};

enum { NEAR_MOST = 4, ROWS = 4 };

/* `rows` rows of an axis that is the last one but for `inner` neighbours, at most NEAR_MOST. What has no weight must not bring its NaN
 * or infinity in. */
INLINE void along(const struct application *p, size_t row, const size_t rows, const size_t inner,
                  const size_t taps)
{
    const size_t in = (size_t)p->a->in * inner, out = (size_t)p->a->out;
    const int64_t *index = p->index;
    const double *weight = p->weight, *src = p->src + row * in;
    double *dst = p->dst + row * out * inner;
    for (size_t i = 0; i < out; i++, index += taps, weight += taps, dst += inner) {
        const bool outside = index[0] < 0;
        double sum[ROWS][NEAR_MOST];
        for (size_t y = 0; y < rows; y++)
            for (size_t x = 0; x < inner; x++)
                sum[y][x] = outside ? p->extrapolation : 0;
        for (size_t k = 0; k < taps && !outside; k++) {
            const double *near = src + (size_t)index[k] * inner, w = weight[k];
            for (size_t y = 0; y < rows && w != 0; y++)
                for (size_t x = 0; x < inner; x++)
                    sum[y][x] += w * near[y * in + x];
        }
        for (size_t y = 0; y < rows; y++)
            for (size_t x = 0; x < inner; x++)
                dst[y * out * inner + x] = sum[y][x];
    }
}

INLINE void along_some(const struct application *p, size_t from, size_t to, const size_t rows,
                       const size_t inner)
{
    for (; from + rows <= to; from += rows)
        along(p, from, rows, inner, p->taps);
    for (; from < to; from++)
        along(p, from, 1, inner, p->taps);
}

/* Units are rows. */
static void apply_along(void *arg, size_t from, size_t to)
{
    const struct application *p = arg;
    switch (p->inner) {
    case 1:
        along_some(p, from, to, ROWS, 1);
        break;
    case 2:
        along_some(p, from, to, 2, 2);
        break;
    case 3:
        along_some(p, from, to, 1, 3);
        break;
    default:
        along_some(p, from, to, 1, NEAR_MOST);
    }
}

/* Four rows by weights that are not 0, in their order. */
static void add_four(size_t n, const double *restrict row, const int64_t *index, size_t inner,
                     const double *w, double *restrict dst)
{
    const double *a = row + (size_t)index[0] * inner, *b = row + (size_t)index[1] * inner,
                 *c = row + (size_t)index[2] * inner, *d = row + (size_t)index[3] * inner;
    for (size_t x = 0; x < n; x++)
        dst[x] = dst[x] + w[0] * a[x] + w[1] * b[x] + w[2] * c[x] + w[3] * d[x];
}

/* Units are places of the axis, of each row of it. */
static void apply_across(void *arg, size_t from, size_t to)
{
    enum { ABREAST = 4 };
    const struct application *p = arg;
    const size_t in = (size_t)p->a->in, out = (size_t)p->a->out, inner = p->inner;
    for (size_t unit = from; unit < to; unit++) {
        const double *src = p->src + unit / out * in * inner;
        const int64_t *index = p->index + unit % out * p->taps;
        const double *weight = p->weight + unit % out * p->taps;
        double *restrict dst = p->dst + unit * inner;
        const bool outside = index[0] < 0;
        for (size_t x = 0; x < inner; x++)
            dst[x] = outside ? p->extrapolation : 0;
        for (size_t k = 0; k < p->taps && !outside;) {
            const double *w = weight + k;
            if (k + ABREAST <= p->taps && w[0] != 0 && w[1] != 0 && w[2] != 0 && w[3] != 0) {
                add_four(inner, src, index + k, inner, w, dst);
                k += ABREAST;
                continue;
            }
            const double *row = src + (size_t)index[k++] * inner, by = *w;
            /* What has no weight must not bring its NaN or infinity in. */
            for (size_t x = 0; x < inner && by != 0; x++)
                dst[x] += by * row[x];
        }
    }
}

void ox_resample_apply(struct ox_env *env, const struct ox_resample_axis *a, size_t outer,
                       size_t inner, size_t taps, const int64_t *index, const double *weight,
                       double extrapolation, const double *src, double *dst)
{
    struct application p = {a, inner, taps, index, weight, src, extrapolation, dst};
    const bool near = inner <= NEAR_MOST;
    const size_t out = (size_t)a->out, terms = taps * (near ? out * inner : inner);
    ox_ranges_run(env, near ? outer : outer * out, OX_GRAIN / terms + 1,
                  near ? apply_along : apply_across, &p);
}

/* ---- Elements as doubles ------------------------------------------------------------------------------------------ */

double *ox_resample_load(struct ox_run *r, const struct ox_tensor *in, struct ox_error *err)
{
    size_t n = in->n * ox_resample_parts(in->dtype);
    double *values = ox_real_scratch(r, n + 1, err);

    if (!values)
        return NULL;
    if (in->dtype == OX_COMPLEX64) {
        for (size_t i = 0; i < n; i++)
            values[i] = ((const float *)in->data)[i];
    } else if (in->dtype == OX_COMPLEX128) {
        memcpy(values, in->data, n * sizeof(values[0]));
    } else {
        ox_real_load(in, 0, n, values);
    }
    return values;
}

enum ox_status ox_resample_store(struct ox_run *r, enum ox_dtype dtype, unsigned rank,
                                 const int64_t *dims, double *values, struct ox_error *err)
{
    struct ox_tensor *out, *wide;

    if (dtype == OX_FLOAT32 || dtype == OX_FLOAT64)
        return ox_real_out(r, 0, dtype, rank, dims, values, err);
    if (ox_resample_parts(dtype) == 2) {
        OX_TRY(ox_run_out(r, 0, dtype, rank, dims, &out, err));
        for (size_t i = 0; i < 2 * out->n && dtype == OX_COMPLEX64; i++)
            ((float *)out->data)[i] = (float)values[i];
        if (dtype == OX_COMPLEX128 && out->n > 0)
            memcpy(out->data, values, 2 * out->n * sizeof(values[0]));
        return OX_OK;
    }
    OX_TRY(ox_tensor_borrow(&wide, OX_FLOAT64, rank, dims, values, NULL, NULL, err));
    enum ox_status status = ox_tensor_convert(&out, ox_env_budget(r->env), wide, dtype, true, err);

    ox_tensor_release(wide);
    OX_TRY(status);
    status = ox_run_out_tensor(r, 0, out, err);
    ox_tensor_release(out);
    return status;
}
