/* Image operators that left the standard with its experimental ones, as onnxruntime runs them until opset 9: Crop ImageScaler. */
#include <inttypes.h>

#include "ops/move.h"
#include "ops/rules.h"

/* Images are [N, C, H, W]. */
static enum ox_status check_images(const struct ox_run *r, const struct ox_tensor *x,
                                   struct ox_error *err)
{
    return x->rank == 4 ? OX_OK
                        : ox_run_fail(r, err, OX_INPUT,
                                      "the input has rank %u, not 4 ([N, C, H, W])", x->rank);
}

/* ---- ImageScaler -------------------------------------------------------------------------------------------------- */

/* x * scale + bias[channel] */
static enum ox_status run_image_scaler(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    size_t n;
    const float *bias = ox_run_floats(r, "bias", &n);
    const double scale = (double)ox_run_float(r, "scale", 1);
    struct ox_tensor *y;
    OX_TRY(check_images(r, x, err));
    if (n != (size_t)x->dims[1])
        return ox_run_fail(r, err, OX_INPUT,
                           "attribute bias has %zu elements for %" PRId64 " channels", n,
                           x->dims[1]);
    OX_TRY(ox_run_out(r, 0, x->dtype, 4, x->dims, &y, err));
    const size_t plane = (size_t)(x->dims[2] * x->dims[3]);
    for (size_t at = 0, c = 0; at < x->n; at += plane, c = c + 1 == n ? 0 : c + 1) {
        if (y->dtype == OX_FLOAT64)
            for (size_t i = at; i < at + plane; i++)
                ((double *)y->data)[i] = ((const double *)x->data)[i] * scale + (double)bias[c];
        else
            for (size_t i = at; i < at + plane; i++)
                ((float *)y->data)[i] = ((const float *)x->data)[i] * (float)scale + bias[c];
    }
    return OX_OK;
}

static void infer_image_scaler(struct ox_infer *c)
{
    ox_infer_same(c, 0, 0);
    ox_rule_rank(c, 0, 4);
}

/* ---- Crop --------------------------------------------------------------------------------------------------------- */

/* border: what goes away on the left, at the top, on the right and at the bottom; scale: height and width that are left, in place
 * of the latter two. */
struct crop {
    const int64_t *border, *scale;
    size_t n_border, n_scale;
};

static bool none_negative(const int64_t *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] < 0)
            return false;
    return true;
}

/* What is wrong with the attributes; NULL: nothing. */
static const char *crop_fault(const struct crop *crop)
{
    if (crop->n_border != 4 || !none_negative(crop->border, 4))
        return "attribute border is not four numbers of 0 or more (left, top, right, bottom)";
    if (crop->n_scale && (crop->n_scale != 2 || !none_negative(crop->scale, 2)))
        return "attribute scale is not two numbers of 0 or more (height, width)";
    return NULL;
}

/* What is left of the height (axis 0) or width (axis 1); -1: the image is smaller than what is cut. */
static int64_t crop_length(const struct crop *crop, unsigned axis, int64_t size)
{
    const int64_t rest = size - crop->border[1 - axis], after = crop->border[3 - axis];
    if (crop->n_scale)
        return crop->scale[axis] <= rest ? crop->scale[axis] : -1;
    return after <= rest ? rest - after : -1;
}

static enum ox_status run_crop(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    struct crop crop;
    crop.border = ox_run_ints(r, "border", &crop.n_border);
    crop.scale = ox_run_ints(r, "scale", &crop.n_scale);
    OX_TRY(check_images(r, x, err));
    const char *fault = crop_fault(&crop);
    if (fault)
        return ox_run_fail(r, err, OX_INPUT, "%s", fault);
    int64_t dims[4] = {x->dims[0], x->dims[1]}, from[4], to[4];
    for (unsigned k = 0; k < 2; k++) {
        dims[2 + k] = crop_length(&crop, k, x->dims[2 + k]);
        if (dims[2 + k] < 0)
            return ox_run_fail(r, err, OX_INPUT,
                               "more is cut than the %s of %" PRId64 " that the image has",
                               k ? "width" : "height", x->dims[2 + k]);
    }
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, x->dtype, 4, dims, &y, err));
    struct ox_move move = {0};
    ox_move_strides(4, x->dims, from);
    ox_move_strides(4, dims, to);
    for (unsigned k = 0; k < 4; k++)
        ox_move_axis(&move, dims[k], to[k], from[k]);
    const size_t size = ox_dtype_size(x->dtype);
    const int64_t first = crop.border[1] * from[2] + crop.border[0];
    if (y->n)
        ox_move_run(&move, size, y->data, (const char *)x->data + (size_t)first * size);
    return OX_OK;
}

static void infer_crop(struct ox_infer *c)
{
    unsigned rank;
    const struct ox_expr *const *x;
    struct crop crop;
    ox_infer_same_dtype(c, 0, 0);
    crop.border = ox_infer_ints_attr(c, "border", &crop.n_border);
    crop.scale = ox_infer_ints_attr(c, "scale", &crop.n_scale);
    const char *fault = crop_fault(&crop);
    if (fault)
        ox_infer_conflict(c, "%s", fault);
    if (fault || !ox_rule_rank(c, 0, 4) || !ox_infer_shape(c, 0, &rank, &x))
        return;
    const struct ox_expr *dims[4] = {x[0], x[1]};
    for (unsigned k = 0; k < 2; k++) {
        int64_t size;
        if (ox_infer_is_num(x[2 + k], &size)) {
            const int64_t length = crop_length(&crop, k, size);
            if (length < 0) {
                ox_infer_conflict(c, "more is cut than the %s of %" PRId64 " that the image has",
                                  k ? "width" : "height", size);
                return;
            }
            dims[2 + k] = ox_infer_num(c, length);
        } else if (crop.n_scale) {
            dims[2 + k] = ox_infer_num(c, crop.scale[k]);
        } else {
            dims[2 + k] =
                ox_infer_sub(c, ox_infer_sub(c, x[2 + k], ox_infer_num(c, crop.border[1 - k])),
                             ox_infer_num(c, crop.border[3 - k]));
        }
    }
    ox_infer_set_shape(c, 0, 4, dims);
}

const struct ox_op ox_ops_experimental[] = {
    {"", "Crop", 1, OX_OP_HALF, .infer = infer_crop, .run = run_crop},
    {"", "ImageScaler", 1, .infer = infer_image_scaler, .run = run_image_scaler},
    {0}};
