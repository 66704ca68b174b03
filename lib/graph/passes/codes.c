#include "graph/passes/codes.h"

#include <math.h>
#include <string.h>

static bool is_either(const struct ox_node *node, const char *op_type)
{
    return ox_is_op(node, op_type) || ox_is_domain_op(node, "com.microsoft", op_type);
}

bool ox_is_dequantize(const struct ox_node *node)
{
    return node && is_either(node, "DequantizeLinear");
}

bool ox_is_quantize(const struct ox_node *node)
{
    return node && is_either(node, "QuantizeLinear");
}

static bool is_narrow(enum ox_dtype dtype)
{
    return dtype == OX_UINT8 || dtype == OX_INT8;
}

/* Scale and zero point, inputs 1 and 2: constants; the zero point of that type. */
static bool read_parameters(struct ox_rewrite *rw, const struct ox_node *node, enum ox_dtype dtype,
                            struct ox_codes *out)
{
    struct ox_value *scale = ox_input(node, 1), *zero = ox_input(node, 2);
    const struct ox_stored *stored = scale ? ox_rw_stored(rw, scale) : NULL;
    const struct ox_stored *points = zero ? ox_rw_stored(rw, zero) : NULL;
    size_t n, n_points;
    double point = 0;
    if (!stored || stored->dtype != OX_FLOAT32 || !ox_dims_count(stored->rank, stored->dims, &n) ||
        ox_attr_int(node, "block_size", 0) || stored->rank > 1 || n == 0)
        return false;
    if (zero && (!points || points->dtype != dtype ||
                 !ox_dims_count(points->rank, points->dims, &n_points) || n_points != n))
        return false;
    *out = (struct ox_codes){.scale = scale,
                             .zero = zero,
                             .dtype = dtype,
                             .one = n == 1,
                             .axis = (int)ox_attr_int(node, "axis", 1)};
    if (!out->one)
        return true;
    if (!ox_const_scalar(rw, scale, &out->scale_is) || !(out->scale_is > 0) ||
        !isfinite(out->scale_is) || (zero && !ox_const_scalar(rw, zero, &point)))
        return false;
    out->zero_is = (int)point;
    return true;
}

bool ox_codes_of(struct ox_rewrite *rw, const struct ox_value *value, struct ox_codes *out)
{
    const struct ox_node *node = value ? value->producer : NULL;
    struct ox_value *codes = ox_is_dequantize(node) ? ox_input(node, 0) : NULL;
    if (!codes || node->graph != rw->graph || value->graph != rw->graph || value->outer)
        return false;
    const enum ox_dtype dtype = ox_dtype_of_value(rw, codes);
    const int64_t made = ox_attr_int(node, "output_dtype", 0);
    if (!is_narrow(dtype) || (made && made != OX_FLOAT32) || !read_parameters(rw, node, dtype, out))
        return false;
    out->codes = codes;
    return true;
}

bool ox_codes_of_one(struct ox_rewrite *rw, const struct ox_value *value, struct ox_codes *out)
{
    return ox_codes_of(rw, value, out) && out->one;
}

bool ox_codes_made(struct ox_rewrite *rw, const struct ox_node *node, struct ox_codes *out)
{
    if (!ox_is_quantize(node) || node->n_outputs != 1 || !ox_input(node, 0) ||
        ox_dtype_of_value(rw, node->inputs[0]) != OX_FLOAT32)
        return false;
    const enum ox_dtype dtype = ox_dtype_of_value(rw, node->outputs[0]);
    const int64_t precision = ox_attr_int(node, "precision", 0);
    if (!is_narrow(dtype) || (precision && precision != OX_FLOAT32) ||
        !read_parameters(rw, node, dtype, out) || !out->one)
        return false;
    out->codes = node->outputs[0];
    return true;
}

struct ox_node *ox_codes_taken(struct ox_rewrite *rw, const struct ox_value *value,
                               struct ox_codes *out)
{
    struct ox_node *node = ox_rw_only_user(rw, value);
    return node && ox_codes_made(rw, node, out) && node->inputs[0] == value ? node : NULL;
}

bool ox_codes_are_alike(const struct ox_codes *a, const struct ox_codes *b)
{
    return a->one && b->one && a->dtype == b->dtype && a->scale_is == b->scale_is &&
           a->zero_is == b->zero_is;
}

int ox_codes_round(const struct ox_codes *codes, double x)
{
    const int low = codes->dtype == OX_INT8 ? -128 : 0;
    const double q = rint((double)((float)x / (float)codes->scale_is)) + codes->zero_is;
    return q > low ? q < low + 255 ? (int)q : low + 255 : low;
}

const struct ox_type *ox_codes_type(struct ox_rewrite *rw, const struct ox_value *like,
                                    enum ox_dtype dtype)
{
    const struct ox_type *type = ox_rw_type(rw, like);
    if (!type || type->kind != OX_TYPE_TENSOR || !type->has_rank)
        return NULL;
    return ox_rw_tensor_type(rw, dtype, type->rank, type->dims);
}
