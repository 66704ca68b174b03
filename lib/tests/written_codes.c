#include "tests/written_codes.h"

#include <math.h>

#include "tensor/tensor.h"

struct form {
    int64_t axis, block, saturate;
    enum ox_dtype precision;
};

static int64_t int_attr(const struct ox_node *node, const char *name, int64_t fallback)
{
    const struct ox_attr *attr = ox_node_attr(node, name);
    return attr ? attr->i : fallback;
}

/* "The type of `y_scale` determines the precision of the division operation between `x` and `y_scale`, unless the
 * `precision` attribute is specified." Scales that are no floats to compute in leave it to float32. */
static struct form form_of(const struct ox_node *node, const struct ox_tensor *scale,
                           bool in_double)
{
    struct form form = {int_attr(node, "axis", 1), int_attr(node, "block_size", 0),
                        int_attr(node, "saturate", 1),
                        (enum ox_dtype)int_attr(node, "precision", OX_UNDEFINED)};
    if (form.precision == OX_UNDEFINED)
        form.precision = scale->dtype;
    if (in_double)
        form.precision = OX_FLOAT64;
    else if (form.precision != OX_FLOAT16 && form.precision != OX_BFLOAT16)
        form.precision = OX_FLOAT32;
    return form;
}

static double in_type(enum ox_dtype dtype, double value)
{
    uint64_t bits = 0;
    ox_elements_convert(dtype, &bits, OX_FLOAT64, &value, 1, false);
    ox_elements_convert(OX_FLOAT64, &value, dtype, &bits, 1, false);
    return value;
}

static size_t scale_of(const struct form *form, const struct ox_tensor *x,
                       const struct ox_tensor *scale, size_t at)
{
    if (scale->n == 1 || x->rank == 0)
        return 0;
    const size_t axis = x->rank == 1      ? 0
                        : form->axis >= 0 ? (size_t)form->axis
                                          : (size_t)(form->axis + x->rank);
    size_t inner = 1;
    for (size_t d = axis + 1; d < x->rank; d++)
        inner *= (size_t)x->dims[d];
    const size_t size = (size_t)x->dims[axis], i = at / inner % size;
    if (form->block == 0)
        return i;
    const size_t outer = at / inner / size, blocks = (size_t)scale->dims[axis];
    return (outer * blocks + i / (size_t)form->block) * inner + at % inner;
}

/* "y = saturate((x / y_scale) + y_zero_point)" and "For (x / y_scale), it rounds to the nearest even." */
static double code_of(const struct form *form, enum ox_dtype dtype, double quotient, double zero)
{
    double code;
    uint64_t bits = 0;
    if (!ox_dtype_is_integer(dtype)) {
        code = quotient + zero;
        ox_elements_convert(dtype, &bits, OX_FLOAT64, &code, 1, form->saturate != 0);
        ox_elements_convert(OX_FLOAT64, &code, dtype, &bits, 1, true);
        return code;
    }
    const int n = (int)ox_dtype_bits(dtype) - ox_dtype_is_signed(dtype);
    const double low = ox_dtype_is_signed(dtype) ? -ldexp(1, n) : 0, high = ldexp(1, n) - 1;
    return fmin(fmax(nearbyint(quotient) + zero, low), high);
}

bool written_codes_match(const struct ox_node *node, const struct ox_tensor *const in[3],
                         const struct ox_tensor *y, bool in_double, size_t *at)
{
    const struct form form = form_of(node, in[1], in_double);
    for (*at = 0; *at < y->n; ++*at) {
        const size_t k = scale_of(&form, in[0], in[1], *at);
        const double x = in_type(form.precision, ox_tensor_get_double(in[0], *at)),
                     scale = in_type(form.precision, ox_tensor_get_double(in[1], k)),
                     quotient = in_type(form.precision, x / scale),
                     zero = in[2] ? ox_tensor_get_double(in[2], k) : 0,
                     got = ox_tensor_get_double(y, *at);
        if (isnan(quotient)) /* what integer stands for it is not said */
            continue;
        const double want = code_of(&form, y->dtype, quotient, zero);
        if (got != want && !(isnan(got) && isnan(want)))
            return false;
    }
    return true;
}
