/* Resize and what became of Upsample; group normalization; quantization by axis and block. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/convert/convert_adapters.h"

/* ---- Resize ------------------------------------------------------------------------------------------------------- */

/* Version 10 rounds down and has its pixels at their corners. */
bool ox_up_resize_10(struct ox_adapt *c)
{
    struct ox_value *scales = ox_adapt_input(c, 1), *roi = ox_adapt_const_empty(c, OX_FLOAT32);
    if (!roi || !ox_adapt_set_string(c, "coordinate_transformation_mode", "asymmetric"))
        return false;
    if (!ox_adapt_is(c, "mode", "linear") && !ox_adapt_set_string(c, "nearest_mode", "floor"))
        return false;
    return ox_adapt_set_input(c, 2, scales) && ox_adapt_set_input(c, 1, roi);
}

/* Sizes and what they are of, as scales. */
static bool scales_of_sizes(struct ox_adapt *c)
{
    int64_t sizes[OX_ADAPT_RANK], dims[OX_ADAPT_RANK];
    size_t n;
    if (!ox_adapt_known_ints(c, 3, sizes, &n))
        return false;
    if (!ox_adapt_dims(c, ox_adapt_input(c, 0), dims) ||
        (int)n != ox_adapt_rank(c, ox_adapt_input(c, 0)))
        return ox_adapt_block(c, "opset %lld takes scales, and the input's sizes are not known",
                              (long long)c->next);
    struct ox_tensor *tensor;
    int64_t count = (int64_t)n;
    c->status = ox_tensor_new(&tensor, ox_env_budget(c->model->env), OX_FLOAT32, 1, &count, c->err);
    if (c->status != OX_OK)
        return false;
    bool good = true;
    for (size_t i = 0; i < n; i++) {
        float scale = dims[i] ? (float)((double)sizes[i] / (double)dims[i]) : 1;
        /* The size is what is left when scale times size is rounded down: the least scale that gives it. */
        while (dims[i] && floorf(scale * (float)dims[i]) < (float)sizes[i])
            scale = nextafterf(scale, INFINITY);
        good &= !dims[i] || (int64_t)floorf(scale * (float)dims[i]) == sizes[i];
        ((float *)tensor->data)[i] = scale;
    }
    struct ox_value *value = good ? ox_adapt_const(c, tensor) : NULL;
    ox_tensor_release(tensor);
    if (!good)
        return ox_adapt_block(c, "no float32 scale gives these sizes");
    return value && ox_adapt_set_input(c, 2, value);
}

static bool is_empty(struct ox_adapt *c, size_t i)
{
    const struct ox_value *value = ox_adapt_input(c, i);
    const struct ox_tensor *known = value ? ox_adapt_known(c, value) : NULL;
    return !value || (known && known->n == 0) || ox_adapt_dim(c, value, 0) == 0;
}

bool ox_down_resize_11(struct ox_adapt *c)
{
    bool linear = ox_adapt_is(c, "mode", "linear");
    if (ox_adapt_is(c, "mode", "cubic") || ox_adapt_has(c, "exclude_outside") ||
        !ox_adapt_is(c, "coordinate_transformation_mode", "asymmetric") ||
        (!linear && !ox_adapt_is(c, "nearest_mode", "floor")))
        return ox_adapt_block(c,
                              "opset %lld has asymmetric coordinates, linear or nearest by floor "
                              "alone",
                              (long long)c->next);
    ox_adapt_drop(c, "coordinate_transformation_mode");
    ox_adapt_drop(c, "nearest_mode");
    ox_adapt_drop(c, "cubic_coeff_a");
    ox_adapt_drop(c, "extrapolation_value");
    if (is_empty(c, 2) && !scales_of_sizes(c))
        return false;
    struct ox_value *scales = ox_adapt_input(c, 2);
    ox_adapt_cut_inputs(c, 3);
    c->node->inputs[2] = NULL;
    if (!ox_adapt_set_input(c, 1, scales))
        return false;
    ox_adapt_cut_inputs(c, 2);
    return true;
}

bool ox_down_resize_13(struct ox_adapt *c)
{
    for (size_t i = 1; i < 3; i++) {
        struct ox_value *empty = ox_adapt_input(c, i) ? NULL : ox_adapt_const_empty(c, OX_FLOAT32);
        if (!ox_adapt_input(c, i) && (!empty || !ox_adapt_set_input(c, i, empty)))
            return false;
    }
    return true;
}

/* Sizes or scales of some axes become those of all. */
static bool spread_axes(struct ox_adapt *c, const int64_t *axes, size_t n, int rank)
{
    const struct ox_value *x = ox_adapt_input(c, 0);
    bool by_sizes = is_empty(c, 2);
    const struct ox_tensor *given = ox_adapt_known(c, ox_adapt_input(c, by_sizes ? 3 : 2));
    if (!given || given->n != n)
        return ox_adapt_block(c, "it has axes, and %s are no constant",
                              by_sizes ? "sizes" : "scales");
    if (!is_empty(c, 1) && ox_adapt_is(c, "coordinate_transformation_mode", "tf_crop_and_resize"))
        return ox_adapt_block(c, "opset %lld has no axes for a region", (long long)c->next);
    int64_t sizes[OX_ADAPT_RANK], count = rank;
    struct ox_tensor *tensor;
    for (int i = 0; i < rank; i++) {
        sizes[i] = ox_adapt_dim(c, x, i);
        bool listed = false;
        for (size_t k = 0; k < n; k++)
            listed |= axes[k] == i;
        if (by_sizes && !listed && sizes[i] < 0)
            return ox_adapt_block(c, "it has axes, and the size of axis %d is not known", i);
    }
    c->status = ox_tensor_new(&tensor, ox_env_budget(c->model->env),
                              by_sizes ? OX_INT64 : OX_FLOAT32, 1, &count, c->err);
    if (c->status != OX_OK)
        return false;
    for (int i = 0; i < rank; i++) {
        if (by_sizes)
            ((int64_t *)tensor->data)[i] = sizes[i];
        else
            ((float *)tensor->data)[i] = 1;
    }
    for (size_t k = 0; k < n; k++) {
        if (by_sizes)
            ((int64_t *)tensor->data)[axes[k]] = ox_tensor_get_int(given, k);
        else
            ((float *)tensor->data)[axes[k]] = (float)ox_tensor_get_double(given, k);
    }
    struct ox_value *value = ox_adapt_const(c, tensor);
    ox_tensor_release(tensor);
    return value && ox_adapt_set_input(c, by_sizes ? 3 : 2, value);
}

bool ox_down_resize_18(struct ox_adapt *c)
{
    int64_t antialias, axes[OX_ADAPT_RANK];
    size_t n;
    bool found;
    int rank;
    if (!ox_adapt_int(c, "antialias", 0, &antialias) ||
        !ox_adapt_int_list(c, "axes", axes, &n, &found))
        return false;
    if (antialias)
        return ox_adapt_block(c, "opset %lld has no antialias", (long long)c->next);
    if (ox_adapt_has(c, "keep_aspect_ratio_policy") &&
        !ox_adapt_is(c, "keep_aspect_ratio_policy", "stretch"))
        return ox_adapt_block(c, "opset %lld keeps no aspect ratio", (long long)c->next);
    ox_adapt_drop(c, "antialias");
    ox_adapt_drop(c, "keep_aspect_ratio_policy");
    ox_adapt_drop(c, "axes");
    if (!found)
        return true;
    if (!ox_adapt_need_rank(c, 0, &rank))
        return false;
    for (size_t i = 0; i < n; i++) {
        axes[i] += axes[i] < 0 ? rank : 0;
        if (axes[i] < 0 || axes[i] >= rank)
            return ox_adapt_block(c, "axis %lld is outside", (long long)axes[i]);
    }
    return spread_axes(c, axes, n, rank);
}

bool ox_down_resize_19(struct ox_adapt *c)
{
    return !ox_adapt_is(c, "coordinate_transformation_mode", "half_pixel_symmetric") ||
           ox_adapt_block(c, "opset %lld has no half_pixel_symmetric", (long long)c->next);
}

bool ox_up_upsample_gone(struct ox_adapt *c)
{
    c->to = c->from = ox_schema_find("", "Resize", c->next);
    return ox_adapt_set_op(c, "Resize");
}

bool ox_birth_resize(struct ox_adapt *c)
{
    c->to = c->from = ox_schema_find("", "Upsample", c->next);
    const struct ox_tensor *scales = ox_adapt_known(c, ox_adapt_input(c, 1));
    for (size_t i = 0; scales && i < scales->n; i++) {
        if (ox_tensor_get_double(scales, i) < 1)
            return ox_adapt_block(c, "opset %lld scales up only", (long long)c->next);
    }
    return ox_adapt_set_op(c, "Upsample");
}

bool ox_down_space_to_depth(struct ox_adapt *c)
{
    int64_t block;
    if (!ox_adapt_is(c, "mode", "CRD")) {
        ox_adapt_drop(c, "mode");
        return true;
    }
    int64_t d[OX_ADAPT_RANK];
    if (!ox_adapt_int(c, "blocksize", 1, &block))
        return false;
    if (!ox_adapt_dims(c, ox_adapt_input(c, 0), d) || block < 1 ||
        ox_adapt_rank(c, ox_adapt_input(c, 0)) != 4)
        return ox_adapt_block(c, "opset %lld has no mode CRD, and sizes are not known",
                              (long long)c->next);
    long long b = block;
    return ox_adapt_replace(
        c,
        "(x) => (y) { s = Constant<value = int64[6] {%lld,%lld,%lld,%lld,%lld,%lld}>() "
        "r = Reshape(x, s) t = Transpose<perm = [0,1,3,5,2,4]>(r) "
        "e = Constant<value = int64[4] {%lld,%lld,%lld,%lld}>() y = Reshape(t, e) }",
        (long long)d[0], (long long)d[1], (long long)(d[2] / b), b, (long long)(d[3] / b), b,
        (long long)d[0], (long long)(d[1] * b * b), (long long)(d[2] / b), (long long)(d[3] / b));
}

/* ---- Group normalization ------------------------------------------------------------------------------------------ */

static bool group_parts(struct ox_adapt *c, int64_t *groups, float *epsilon)
{
    return ox_adapt_int(c, "num_groups", 0, groups) &&
           ox_adapt_float(c, "epsilon", 1e-5f, epsilon) &&
           (*groups > 0 || ox_adapt_block(c, "it has no groups"));
}

/* Scale and bias of groups become those of channels. */
bool ox_up_group_norm(struct ox_adapt *c)
{
    int64_t groups;
    float epsilon;
    int64_t channels = ox_adapt_dim(c, ox_adapt_input(c, 0), 1);
    if (!group_parts(c, &groups, &epsilon))
        return false;
    if (channels < 0 || channels % groups)
        return ox_adapt_block(c, "the number of channels is not known");
    for (size_t i = 1; i < 3; i++) {
        int64_t column[2] = {groups, 1}, grid[2] = {groups, channels / groups}, flat = -1;
        struct ox_value *in[2] = {c->node->inputs[i], ox_adapt_const_ints(c, column, 2)};
        struct ox_node *node = in[1] ? ox_adapt_add(c, "Reshape", in, 2) : NULL;
        if (!node)
            return false;
        in[0] = node->outputs[0];
        in[1] = ox_adapt_const_ints(c, grid, 2);
        node = in[1] ? ox_adapt_add(c, "Expand", in, 2) : NULL;
        if (!node)
            return false;
        in[0] = node->outputs[0];
        in[1] = ox_adapt_const_ints(c, &flat, 1);
        node = in[1] ? ox_adapt_add(c, "Reshape", in, 2) : NULL;
        if (!node)
            return false;
        c->node->inputs[i] = node->outputs[0];
    }
    return true;
}

/* By the mean and variance of the groups; scale and bias are of channels. */
bool ox_down_group_norm(struct ox_adapt *c)
{
    int64_t groups, stash;
    float epsilon;
    int rank;
    enum ox_dtype dtype;
    if (!group_parts(c, &groups, &epsilon) || !ox_adapt_need_rank(c, 0, &rank) ||
        !ox_adapt_need_dtype(c, 0, &dtype) || !ox_adapt_int(c, "stash_type", 1, &stash))
        return false;
    char ones[4 * OX_ADAPT_RANK] = "";
    for (int i = 2; i < rank; i++)
        strcat(ones, ",1");
    return ox_adapt_replace(
        c,
        "(x, scale, bias) => (y) { s = Shape(x) d = Constant<value = int64[3] {0,%lld,-1}>() "
        "xf = Cast<to = %d>(x) g = Reshape(xf, d) a = Constant<value = int64[1] {2}>() "
        "m = ReduceMean(g, a) v = Sub(g, m) q = Mul(v, v) w = ReduceMean(q, a) ef = Constant<value "
        "= float {%.9g}>() e = Cast<to = %d>(ef) "
        "we = Add(w, e) r = Sqrt(we) n = Div(v, r) z = Reshape(n, s) zt = Cast<to = %d>(z) "
        "p = Constant<value = int64[%d] {-1%s}>() sp = Reshape(scale, p) bp = Reshape(bias, p) "
        "k = Mul(zt, sp) y = Add(k, bp) }",
        (long long)groups, (int)stash, (double)epsilon, (int)stash, dtype, rank - 1, ones);
}

bool ox_birth_group_norm(struct ox_adapt *c)
{
    int64_t groups;
    float epsilon;
    enum ox_dtype dtype;
    if (!group_parts(c, &groups, &epsilon) || !ox_adapt_need_dtype(c, 0, &dtype))
        return false;
    return ox_adapt_replace(
        c,
        "(x, scale, bias) => (y) { s = Shape(x) d = Constant<value = int64[3] {0,%lld,-1}>() "
        "g = Reshape(x, d) n = InstanceNormalization<epsilon = %.8e>(g, scale, bias) "
        "y = Reshape(n, s) }",
        (long long)groups, (double)epsilon);
}
