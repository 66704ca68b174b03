/* One array is a function of the other, element by element. */
#include <math.h>
#include <string.h>

#include "parity/relate.h"

bool ox_arrays_equal(const struct ox_arrays *x, double a, double b)
{
    return a == b || fabs(a - b) <= x->eps * fmax(fabs(a), fabs(b)) || (isnan(a) && isnan(b));
}

/* Every element of one side is `make` of the other's. */
static bool all_are(const struct ox_arrays *x, bool swap, double (*make)(double v, double arg),
                    double arg)
{
    const double *to = swap ? x->b : x->a, *from = swap ? x->a : x->b;
    for (size_t i = 0; i < x->n; i++)
        if (!ox_arrays_equal(x, to[i], make(from[i], arg)))
            return false;
    return true;
}

static double times(double v, double arg)
{
    return v * arg;
}

static double square_root(double v, double arg)
{
    (void)arg;
    return sqrt(v);
}

static double logical_not(double v, double arg)
{
    (void)arg;
    return v == 0 ? 1 : 0;
}

static double truncated(double v, double arg)
{
    (void)arg;
    return trunc(v);
}

static double rounded(double v, double arg)
{
    (void)arg;
    return nearbyint(v);
}

static double clipped_to_int32(double v, double arg)
{
    (void)arg;
    return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
}

static double wrapped_to_int32(double v, double arg)
{
    (void)arg;
    return fabs(v) < 9e18 ? (double)(int32_t)(uint32_t)(uint64_t)(int64_t)v : v;
}

static double wrapped_to_uint8(double v, double arg)
{
    (void)arg;
    return v - 256 * floor(v / 256);
}

/* The upper half of a float32, as a converter takes it that does not round. */
static double cut_to_bfloat16(double v, double arg)
{
    (void)arg;
    float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    bits &= 0xFFFF0000u;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Whether what would be narrowed passes those bounds anywhere. */
static bool is_beyond(const struct ox_arrays *x, bool swap, double low, double high)
{
    const double *from = swap ? x->a : x->b;
    for (size_t i = 0; i < x->n; i++)
        if (from[i] < low || from[i] > high)
            return true;
    return false;
}

static bool relate_narrowed(const struct ox_arrays *x, struct ox_relation *r)
{
    static const enum ox_dtype types[] = {OX_FLOAT16, OX_BFLOAT16, OX_FLOAT8E4M3FN, OX_FLOAT8E5M2,
                                          OX_FLOAT32};
    for (size_t t = 0; t < OX_COUNT(types); t++)
        for (int swap = 0; swap < 2; swap++) {
            const double *to = swap ? x->b : x->a, *from = swap ? x->a : x->b;
            enum ox_dtype has = swap ? x->ta->dtype : x->tb->dtype;
            bool same = ox_dtype_is_float(has) && ox_dtype_bits(has) > ox_dtype_bits(types[t]);
            for (size_t i = 0; i < x->n && same; i++) {
                uint64_t narrow = 0;
                double back;
                ox_elements_convert(types[t], &narrow, OX_FLOAT64, &from[i], 1, true);
                ox_elements_convert(OX_FLOAT64, &back, types[t], &narrow, 1, true);
                same = back == to[i] || (isnan(back) && isnan(to[i]));
            }
            if (same) {
                r->id = "narrowed";
                snprintf(r->text, sizeof r->text, "%s is %s rounded to %s", swap ? "B" : "A",
                         swap ? "A" : "B", ox_dtype_name(types[t]));
                return true;
            }
        }
    return false;
}

/* One side is the other within bounds that it reaches itself, more than once: a single one is an end of any tensor. */
static bool relate_saturated(const struct ox_arrays *x, struct ox_relation *r)
{
    for (int swap = 0; swap < 2; swap++) {
        const double *to = swap ? x->b : x->a, *from = swap ? x->a : x->b;
        double low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < x->n; i++) {
            low = fmin(low, to[i]);
            high = fmax(high, to[i]);
        }
        size_t cut = 0;
        bool same = x->n > 1 && low < high;
        for (size_t i = 0; i < x->n && same; i++) {
            bool out = from[i] < low || from[i] > high;
            same = ox_arrays_equal(x, to[i], fmin(fmax(from[i], low), high));
            cut += out && !ox_arrays_equal(x, to[i], from[i]);
        }
        if (same && cut > 1) {
            r->id = "saturation";
            snprintf(r->text, sizeof r->text,
                     "%s is %s held between %.6g and %.6g: %zu of %zu elements are at a bound",
                     swap ? "B" : "A", swap ? "A" : "B", low, high, cut, x->n);
            return true;
        }
    }
    return false;
}

static bool relate_scaled(const struct ox_arrays *x, struct ox_relation *r)
{
    size_t at = 0;
    for (size_t i = 1; i < x->n; i++)
        if (fabs(x->b[i]) > fabs(x->b[at]))
            at = i;
    if (!x->n || x->b[at] == 0 || x->a[at] == 0 || !isfinite(x->a[at] / x->b[at]))
        return false;
    const double ratio = x->a[at] / x->b[at];
    /* Rounding is no factor. */
    if (fabs(ratio - 1) <= 8 * x->eps || !all_are(x, false, times, ratio))
        return false;
    const double larger = fabs(ratio) > 1 ? ratio : 1 / ratio;
    const bool pixels = fabs(larger - 255) <= 255 * 8 * x->eps;
    r->id = ratio == -1 ? "negated" : "scaled";
    if (ratio == -1)
        snprintf(r->text, sizeof r->text, "A is B with the other sign");
    else
        snprintf(r->text, sizeof r->text, "A is B times %.6g%s", ratio,
                 pixels ? " (pixels go from 0 to 255 on one side, from 0 to 1 on the other)" : "");
    return true;
}

static bool relate_shifted(const struct ox_arrays *x, struct ox_relation *r)
{
    double offset = x->a[0] - x->b[0];
    bool same = x->n > 1 && isfinite(offset) && offset != 0;
    for (size_t i = 0; i < x->n && same; i++)
        same = fabs(x->a[i] - x->b[i] - offset) <=
               x->eps * fmax(fmax(fabs(x->a[i]), fabs(x->b[i])), fabs(offset)) * 4;
    if (same) {
        r->id = "shifted";
        snprintf(r->text, sizeof r->text, "A is B plus %.6g", offset);
    }
    return same;
}

/* What lies between A and B depends on the place along one axis alone: a bias. */
static bool is_bias(const struct ox_arrays *x, size_t size, size_t inner)
{
    bool any = false;
    for (size_t i = 0; i < x->n; i++) {
        /* The first element at that place. */
        const size_t at = i / inner % size * inner;
        const double d = x->a[i] - x->b[i], e = x->a[at] - x->b[at];
        const double reach = fmax(fmax(fabs(x->a[i]), fabs(x->b[i])), fabs(x->a[at]));
        any = any || fabs(d) > 64 * x->eps * reach;
        if (!(fabs(d - e) <= 8 * x->eps * fmax(reach, fabs(x->b[at]))))
            return false;
    }
    return any;
}

static bool relate_biased(const struct ox_arrays *x, struct ox_relation *r)
{
    size_t inner = 1;
    for (unsigned k = x->ta->rank; k-- > 0;) {
        const size_t size = (size_t)x->ta->dims[k];
        if (size > 1 && x->n >= 2 * size && is_bias(x, size, inner)) {
            r->id = "biased";
            snprintf(r->text, sizeof r->text,
                     "A is B plus a constant at each place of axis %u (a bias): %.6g, %.6g, ...", k,
                     x->a[0] - x->b[0], x->a[inner] - x->b[inner]);
            return true;
        }
        inner *= size;
    }
    return false;
}

bool ox_relate_values(const struct ox_arrays *x, struct ox_relation *r)
{
    static const struct {
        const char *id, *text;
        double (*make)(double, double);
        double low, high; /* only of numbers beyond these; both 0: of any */
    } table[] = {
        {"clipped-to-int32", "%s is %s held within int32", clipped_to_int32, INT32_MIN, INT32_MAX},
        {"wrapped-to-int32", "%s holds the low 32 bits of %s", wrapped_to_int32, INT32_MIN,
         INT32_MAX},
        {"wrapped-to-uint8", "%s is %s modulo 256: computed in 8 bits", wrapped_to_uint8, 0,
         UINT8_MAX},
        {"narrowed", "%s is %s cut to bfloat16, not rounded", cut_to_bfloat16, 0, 0},
        {"zero", "%s is all zero where %s is not", times, 0, 0},
        {"truncated", "%s is %s cut to whole numbers", truncated, 0, 0},
        {"truncated", "%s is %s rounded to whole numbers", rounded, 0, 0},
        {"inverted", "%s is the logical opposite of %s", logical_not, 0, 0},
        {"square-root", "%s is the square root of %s", square_root, 0, 0},
    };
    if (relate_narrowed(x, r))
        return true;
    for (size_t i = 0; i < OX_COUNT(table); i++)
        for (int swap = 0; swap < 2; swap++) {
            const bool any = table[i].low == 0 && table[i].high == 0;
            if ((any || is_beyond(x, swap, table[i].low, table[i].high)) &&
                all_are(x, swap, table[i].make, 0)) {
                r->id = table[i].id;
                /* The formats are those of this table. */
                const char *to = swap ? "B" : "A", *from = swap ? "A" : "B";
                const char *rest = strstr(table[i].text + 2, "%s");
                snprintf(r->text, sizeof r->text, "%s%.*s%s%s", to, (int)(rest - table[i].text - 2),
                         table[i].text + 2, from, rest + 2);
                return true;
            }
        }
    return relate_saturated(x, r) || relate_scaled(x, r) || relate_shifted(x, r) ||
           relate_biased(x, r);
}
