/* The shapes of Resize and Upsample. */
#include <math.h>
#include <string.h>

#include "ops/resize.h"
#include "ops/rules.h"

/* dim * scale where the scale is a whole number or the inverse of one. */
static const struct ox_expr *infer_scaled(struct ox_infer *c, const struct ox_expr *dim,
                                          double scale)
{
    double inverse = 1 / scale;
    int64_t number, out;

    if (ox_infer_is_num(dim, &number))
        return scale > 0 && ox_resize_scaled(number, 1, scale, &out) ? ox_infer_num(c, out) : NULL;
    if (scale >= 1 && scale < 1e9 && scale == floor(scale))
        return ox_infer_mul(c, dim, ox_infer_num(c, (int64_t)scale));
    if (inverse >= 1 && inverse < 1e9 && inverse == floor(inverse))
        return ox_infer_floordiv(c, dim, ox_infer_num(c, (int64_t)inverse));
    return NULL;
}

/* The input's dims, and a copy of them for the output. */
static bool copied_dims(struct ox_infer *c, unsigned *rank, const struct ox_expr *const **in,
                        const struct ox_expr ***out)
{
    if (!ox_infer_shape(c, 0, rank, in))
        return false;
    *out = ox_infer_dims(c, *rank);
    if (*out && *rank > 0)
        memcpy(*out, *in, *rank * sizeof **out);
    return *out || *rank == 0;
}

/* Output dims from a scale an axis; NULL scales: not known. */
static void infer_by_scales(struct ox_infer *c, const unsigned *which, size_t n,
                            const double *scales)
{
    const struct ox_expr *const *in, **out;
    unsigned rank;

    if (!copied_dims(c, &rank, &in, &out))
        return;
    for (size_t i = 0; i < n; i++) {
        out[which[i]] = scales ? infer_scaled(c, in[which[i]], scales[i]) : NULL;
        if (!out[which[i]])
            ox_infer_unknown(c, 0, "what it is resized to is not known");
    }
    ox_infer_set_shape(c, 0, rank, out);
}

/* The aspect ratio is kept: all must be known as numbers. */
static void infer_keep_aspect(struct ox_infer *c, const unsigned *which, size_t n,
                              const struct ox_expr *const *sizes, bool larger,
                              const struct ox_expr *const *in, const struct ox_expr **out)
{
    double scale = 0;
    int64_t size, dim;

    for (size_t i = 0; i < n; i++) {
        if (!ox_infer_is_num(sizes[i], &size) || !ox_infer_is_num(in[which[i]], &dim) || dim <= 0)
            return;
        double one = (double)size / (double)dim;

        if (i == 0 || (larger ? one > scale : one < scale))
            scale = one;
    }
    for (size_t i = 0; i < n; i++) {
        if (ox_infer_is_num(in[which[i]], &dim))
            out[which[i]] = ox_infer_num(c, (int64_t)floor(scale * (double)dim + 0.5));
    }
}

static void infer_by_sizes(struct ox_infer *c, const unsigned *which, size_t n,
                           const struct ox_expr *const *sizes)
{
    const char *policy = ox_infer_string_attr(c, "keep_aspect_ratio_policy");
    const struct ox_expr *const *in, **out;
    unsigned rank;

    if (!copied_dims(c, &rank, &in, &out))
        return;
    for (size_t i = 0; i < n; i++)
        out[which[i]] = policy && strcmp(policy, "stretch") != 0 ? NULL : sizes[i];
    if (policy && strcmp(policy, "stretch") != 0)
        infer_keep_aspect(c, which, n, sizes, strcmp(policy, "not_smaller") == 0, in, out);
    ox_infer_set_shape(c, 0, rank, out);
}

static bool infer_which(struct ox_infer *c, unsigned *which, size_t *n)
{
    const int64_t *axes = ox_infer_ints_attr(c, "axes", n);
    unsigned rank;

    if (!ox_infer_shape(c, 0, &rank, NULL) || rank > OX_MOVE_RANK)
        return false;
    if (axes && *n > rank) {
        ox_infer_conflict(c, "%zu axes for an input of rank %u", *n, rank);
        return false;
    }
    if (!axes)
        *n = rank;
    for (size_t i = 0; i < *n; i++) {
        which[i] = (unsigned)i;
        if (axes && !ox_infer_axis(c, axes[i], rank, &which[i]))
            return false;
    }
    return true;
}

/* Scales of a constant input; NULL: not known. */
static const double *infer_scales(struct ox_infer *c, size_t input, size_t n, double *scales)
{
    const struct ox_tensor *constant = ox_infer_const(c, input);

    if (!constant || constant->dtype == OX_STRING)
        return NULL;
    if (constant->n != n) {
        ox_infer_conflict(c, "%zu scales for %zu axes", constant->n, n);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        scales[i] = ox_tensor_get_double(constant, i);
    return scales;
}

static bool no_axis_twice(struct ox_infer *c, const unsigned *which, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        for (size_t k = 0; k < i; k++) {
            if (which[i] == which[k]) {
                ox_infer_conflict(c, "axis %u is named twice", which[i]);
                return false;
            }
        }
    }
    return true;
}

/* By the sizes that input 3 gives. */
static void infer_by_given_sizes(struct ox_infer *c, const unsigned *which, size_t n)
{
    const struct ox_expr *const *sizes;
    size_t n_sizes;

    if (!ox_infer_values(c, 3, &n_sizes, &sizes)) {
        ox_infer_equal(c, ox_infer_dim(c, 3, 0), ox_infer_num(c, (int64_t)n), "sizes and axes");
        infer_by_scales(c, which, n, NULL);
    } else if (n_sizes == n) {
        infer_by_sizes(c, which, n, sizes);
    } else {
        ox_infer_conflict(c, "%zu sizes for %zu axes", n_sizes, n);
    }
}

enum { SCALES = 2, SIZES = 3 };

/* Whether scales or sizes say anything: an empty list says as much as none, of scales an empty constant. */
static bool says_something(struct ox_infer *c, size_t input)
{
    const struct ox_value *value = ox_infer_has(c, input) ? ox_infer_node(c)->inputs[input] : NULL;
    int64_t length;

    if (!value || !ox_infer_is_num(ox_infer_dim(c, input, 0), &length) || length != 0)
        return value != NULL;
    bool constant = value->producer && strcmp(value->producer->op_type, "Constant") == 0;
    return input == SCALES && !value->init && !constant && !ox_infer_const(c, input);
}

static void scales_or_sizes(struct ox_infer *c)
{
    bool scales = says_something(c, SCALES), sizes = says_something(c, SIZES);

    if (ox_infer_opset(c) >= 13 && scales == sizes)
        ox_infer_conflict(c, scales ? "both scales and sizes are given"
                                    : "neither scales nor sizes are given");
}

void ox_infer_resize(struct ox_infer *c)
{
    const char *mode = ox_infer_string_attr(c, "coordinate_transformation_mode");
    const char *policy = ox_infer_string_attr(c, "keep_aspect_ratio_policy");
    const struct ox_expr *const *dims;
    unsigned which[OX_MOVE_RANK], rank;
    double scales[OX_MOVE_RANK];
    int64_t length = -1;
    size_t n;

    if (policy && strcmp(policy, "stretch") != 0 && strcmp(policy, "not_larger") != 0 &&
        strcmp(policy, "not_smaller") != 0)
        ox_infer_conflict(c, "keep_aspect_ratio_policy '%.40s' is unknown", policy);
    ox_infer_same_dtype(c, 0, 0);
    scales_or_sizes(c);
    if (!infer_which(c, which, &n) || !no_axis_twice(c, which, n) || !ox_rule_rank(c, 2, 1) ||
        !ox_rule_rank(c, 3, 1))
        return;
    bool has_scales = ox_infer_has(c, 2);

    /* An empty list of scales says as much as none. */
    if (has_scales && ox_infer_shape(c, 2, &rank, &dims) && rank == 1 &&
        ox_infer_is_num(dims[0], &length))
        has_scales = length != 0;
    if (ox_infer_has(c, 3) && !(has_scales && length > 0))
        infer_by_given_sizes(c, which, n);
    else if (mode && strcmp(mode, "tf_crop_and_resize") == 0)
        infer_by_scales(c, which, n, NULL); /* the region of interest decides too */
    else
        infer_by_scales(c, which, n, infer_scales(c, 2, n, scales));
}

void ox_infer_upsample(struct ox_infer *c)
{
    unsigned which[OX_MOVE_RANK];
    double scales[OX_MOVE_RANK];
    const struct ox_attr *attr;
    size_t n;

    ox_infer_same_dtype(c, 0, 0);
    if (!infer_which(c, which, &n))
        return;
    if (ox_infer_opset(c) >= 9) {
        infer_by_scales(c, which, n, infer_scales(c, 1, n, scales));
        return;
    }
    attr = ox_infer_attr(c, "scales");
    for (size_t i = 0; i < n; i++)
        scales[i] = attr && i < attr->n && attr->type == OX_ATTR_FLOATS ? attr->floats[i] : 1;
    if (ox_infer_opset(c) < 7 && n == 4) {
        scales[2] = ox_infer_float_attr(c, "height_scale", 1);
        scales[3] = ox_infer_float_attr(c, "width_scale", 1);
    }
    infer_by_scales(c, which, n, scales);
}
