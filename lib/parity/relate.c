#include "parity/relate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ELEMENTS = 1 << 26 };

/* A few elements, or the sign of some, and the rest is the same. */
static bool relate_parts(const struct ox_arrays *x, struct ox_relation *r)
{
    size_t n_differ = 0, first = 0, n_negated = 0;
    for (size_t i = 0; i < x->n; i++)
        if (!ox_arrays_equal(x, x->a[i], x->b[i])) {
            first = n_differ ? first : i;
            n_differ++;
            n_negated += ox_arrays_equal(x, x->a[i], -x->b[i]);
        }
    if (n_differ && n_negated == n_differ && n_differ > 1) {
        r->id = "negated";
        snprintf(r->text, sizeof r->text,
                 "%zu of %zu elements have the other sign, from element %zu on", n_differ, x->n,
                 first);
        return true;
    }
    if (n_differ && (n_differ == 1 || n_differ * 50 <= x->n)) {
        r->id = "damaged";
        snprintf(r->text, sizeof r->text,
                 "%zu of %zu elements differ, the first is element %zu: %.6g in A, %.6g in B",
                 n_differ, x->n, first, x->a[first], x->b[first]);
        return true;
    }
    return false;
}

static double coarseness(enum ox_dtype dtype)
{
    switch (dtype) {
    case OX_FLOAT64:
        return 1e-13;
    case OX_FLOAT32:
        return 1e-6;
    case OX_FLOAT16:
        return 2e-3;
    case OX_BFLOAT16:
        return 1e-2;
    default:
        return ox_dtype_is_float(dtype) ? 0.1 : 0;
    }
}

static bool all_equal(const struct ox_arrays *x)
{
    for (size_t i = 0; i < x->n; i++)
        if (!(x->a[i] == x->b[i] || (isnan(x->a[i]) && isnan(x->b[i]))))
            return false;
    return true;
}

/* Element by element the same bytes, backwards: written on a machine of the other order. */
static bool relate_bytes(const struct ox_tensor *a, const struct ox_tensor *b,
                         struct ox_relation *r)
{
    const size_t size = ox_dtype_size(a->dtype);
    const unsigned char *x = a->data, *y = b->data;
    if (a->dtype != b->dtype || size < 2 || ox_dtype_bits(a->dtype) != 8 * size)
        return false;
    for (size_t i = 0; i < a->n; i++)
        for (size_t k = 0; k < size; k++)
            if (x[i * size + k] != y[i * size + size - 1 - k])
                return false;
    r->id = "byte-swapped";
    snprintf(
        r->text, sizeof r->text,
        "A's elements are B's with their bytes in the other order (big against little endian)");
    return true;
}

enum ox_status ox_relate(const struct ox_tensor *a, const struct ox_tensor *b, bool *found,
                         struct ox_relation *relation, struct ox_error *err)
{
    bool none = a->n != b->n || a->n == 0 || a->n > MOST_ELEMENTS || a->dtype == OX_STRING ||
                b->dtype == OX_STRING;
    *found = false;
    *relation = (struct ox_relation){.id = NULL};
    if (none)
        return OX_OK;
    if (relate_bytes(a, b, relation)) {
        *found = memcmp(a->data, b->data, a->n * ox_dtype_size(a->dtype)) != 0;
        return OX_OK;
    }
    struct ox_arrays x = {.ta = a,
                          .tb = b,
                          .n = a->n,
                          .a = malloc(a->n * sizeof *x.a),
                          .b = malloc(a->n * sizeof *x.b),
                          .eps = fmax(coarseness(a->dtype), coarseness(b->dtype))};
    bool failed = !x.a || !x.b;
    if (!failed) {
        ox_elements_convert(OX_FLOAT64, x.a, a->dtype, a->data, a->n, false);
        ox_elements_convert(OX_FLOAT64, x.b, b->dtype, b->data, b->n, false);
        const bool same_shape = ox_tensor_same_dims(a, b);
        *found =
            !(same_shape && all_equal(&x)) &&
            ((same_shape && ox_relate_values(&x, relation)) ||
             ox_relate_places(&x, relation, &failed) || (same_shape && relate_parts(&x, relation)));
    }
    free(x.a);
    free(x.b);
    return failed ? ox_no_memory(err) : OX_OK;
}
