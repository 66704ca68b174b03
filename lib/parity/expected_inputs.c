/* Inputs read otherwise: channels turned, other numbers, another order of dimensions, each other's places, masks inverted. */
#include "parity/expected_inputs.h"

#include <string.h>

/* ---- Channels ------------------------------------------------------------------------------------------------------ */

static enum ox_status turn_channels(struct ox_tensor **out, const struct ox_input_reading *r,
                                    struct ox_env *env, const struct ox_tensor *t,
                                    struct ox_error *err)
{
    const size_t size = ox_dtype_size(t->dtype);
    struct ox_axis place;
    const struct ox_axis *axis = ox_axis_of(t, r->axis, &place);
    if (!axis || t->dims[axis->at] < 3)
        return OX_OK;
    const size_t n = (size_t)t->dims[axis->at], bytes = axis->inner * size;
    OX_TRY(ox_tensor_new(out, ox_env_budget(env), t->dtype, t->rank, t->dims, err));
    for (size_t i = 0; i * axis->inner < t->n; i++) {
        const size_t c = i % n, from = i - c + ox_turned_channel(c);
        memcpy((char *)(*out)->data + i * bytes, (const char *)t->data + from * bytes, bytes);
    }
    return OX_OK;
}

static void describe_channels(const struct ox_input_reading *r, char *text, size_t size)
{
    snprintf(text, size, "the first three channels turned (RGB and BGR, %s)",
             r->axis ? "channels last" : "channels first");
}

/* ---- Order of dimensions ------------------------------------------------------------------------------------------- */

/* The axes with one of them moved to another place. */
static void move_axis(unsigned *order, unsigned rank, unsigned from, unsigned to)
{
    unsigned axis = 0;
    for (unsigned k = 0; k < rank; k++) {
        if (k == to) {
            order[k] = from;
            continue;
        }
        axis += axis == from;
        order[k] = axis++;
    }
}

/* Elements in memory that were meant in the other order of channels and places: reshaped where they should have been
 * transposed, on this side or (turned) on the other. */
static enum ox_status reorder(struct ox_tensor **out, const struct ox_input_reading *r,
                              struct ox_env *env, const struct ox_tensor *t, struct ox_error *err)
{
    struct ox_axis place;
    const struct ox_axis *axis = ox_axis_of(t, r->axis, &place);
    unsigned order[4], back[4];
    int64_t dims[4];
    if (!axis || t->rank > 4 || t->dims[axis->at] < 3)
        return OX_OK;
    move_axis(order, t->rank, axis->at, r->axis ? t->rank - 3 : t->rank - 1);
    for (unsigned k = 0; k < t->rank; k++) {
        dims[k] = t->dims[order[k]];
        back[order[k]] = k;
    }
    return ox_expected_permute(out, env, t, t->rank, r->turned ? t->dims : dims,
                               r->turned ? order : back, t->rank, t->dims, err);
}

static void describe_order(const struct ox_input_reading *r, char *text, size_t size)
{
    const bool last = r->axis != 0;
    if (r->turned)
        snprintf(text, size, "%s elements reshaped, not transposed, to %s", last ? "NCHW" : "NHWC",
                 last ? "NHWC" : "NCHW");
    else
        snprintf(text, size, "elements taken as %s in memory and transposed to %s",
                 last ? "NCHW" : "NHWC", last ? "NHWC" : "NCHW");
}

/* Two axes of one size: height and width of a square picture, batch and time. */
static enum ox_status exchange_axes(struct ox_tensor **out, const struct ox_input_reading *r,
                                    struct ox_env *env, const struct ox_tensor *t,
                                    struct ox_error *err)
{
    unsigned perm[OX_AXIS_RANK];
    if (r->to >= t->rank || t->dims[r->from] != t->dims[r->to] || t->dims[r->to] < 2)
        return OX_OK;
    for (unsigned k = 0; k < t->rank; k++)
        perm[k] = k == r->from ? r->to : k == r->to ? r->from : k;
    return ox_expected_permute(out, env, t, t->rank, t->dims, perm, t->rank, t->dims, err);
}

static void describe_exchange(const struct ox_input_reading *r, char *text, size_t size)
{
    snprintf(text, size, "axes %u and %u exchanged", r->from, r->to);
}

/* ---- Masks --------------------------------------------------------------------------------------------------------- */

static enum ox_status invert_mask(struct ox_tensor **out, const struct ox_input_reading *r,
                                  struct ox_env *env, const struct ox_tensor *t,
                                  struct ox_error *err)
{
    struct ox_tensor *wide = NULL;
    (void)r;
    for (size_t i = 0; i < t->n; i++)
        if (ox_tensor_get_double(t, i) != 0 && ox_tensor_get_double(t, i) != 1)
            return OX_OK;
    OX_TRY(ox_tensor_new(&wide, ox_env_budget(env), OX_FLOAT64, t->rank, t->dims, err));
    double *to = wide->data;
    for (size_t i = 0; i < t->n; i++)
        to[i] = 1 - ox_tensor_get_double(t, i);
    enum ox_status status = ox_tensor_convert(out, ox_env_budget(env), wide, t->dtype, true, err);
    ox_tensor_release(wide);
    return status;
}

static void describe_mask(const struct ox_input_reading *r, char *text, size_t size)
{
    (void)r;
    snprintf(text, size, "0 and 1 inverted");
}

/* ---- Inputs in each other's places --------------------------------------------------------------------------------- */

static enum ox_status exchange_inputs(struct ox_expecting *e, size_t i, size_t k,
                                      struct ox_error *err)
{
    const struct ox_tensor *x = ox_given_tensor(e, i), *y = ox_given_tensor(e, k);
    struct ox_datum *inputs[OX_READ_INPUTS];
    struct ox_verdict verdict;
    char text[OX_READING_TEXT];
    if (!x || !y || x->dtype != y->dtype || !ox_tensor_same_dims(x, y) ||
        memcmp(x->data, y->data, x->n * ox_dtype_size(x->dtype)) == 0)
        return OX_OK;
    memcpy(inputs, e->inputs, e->n_inputs * sizeof *inputs);
    inputs[i] = e->inputs[k];
    inputs[k] = e->inputs[i];
    snprintf(text, sizeof text, "inputs '%.80s' and '%.80s' exchanged",
             ox_session_input_name(e->session, i), ox_session_input_name(e->session, k));
    const struct ox_reading reading = {84, "inputs-exchanged", text};
    return ox_expecting_try_inputs(e, &reading, inputs, &verdict, err);
}

/* ---- All ----------------------------------------------------------------------------------------------------------- */

static enum ox_status try_orders(struct ox_expecting *e, struct ox_error *err)
{
    struct ox_input_reading r = {
        .id = "input-layout", .weight = 76, .make = reorder, .describe = describe_order};
    for (r.axis = 0; r.axis < OX_CHANNEL_AXES; r.axis++)
        for (int turned = 0; turned < 2; turned++) {
            r.turned = turned;
            OX_TRY(ox_try_reading(e, &r, err));
        }
    r = (struct ox_input_reading){.id = "input-transposed",
                                  .weight = 77,
                                  .make = exchange_axes,
                                  .describe = describe_exchange};
    for (r.from = 0; r.from < OX_AXIS_RANK; r.from++)
        for (r.to = r.from + 1; r.to < OX_AXIS_RANK; r.to++)
            OX_TRY(ox_try_reading(e, &r, err));
    return OX_OK;
}

enum ox_status ox_expecting_inputs(struct ox_expecting *e, struct ox_error *err)
{
    if (e->n_inputs > OX_READ_INPUTS)
        return OX_OK;
    for (size_t i = 0; i < e->n_inputs; i++)
        for (size_t k = i + 1; k < e->n_inputs; k++)
            OX_TRY(exchange_inputs(e, i, k, err));
    struct ox_input_reading r = {
        .id = "input-mask", .weight = 83, .make = invert_mask, .describe = describe_mask};
    OX_TRY(ox_try_reading(e, &r, err));
    r = (struct ox_input_reading){
        .id = "input-channels", .weight = 82, .make = turn_channels, .describe = describe_channels};
    for (r.axis = 0; r.axis < OX_CHANNEL_AXES; r.axis++)
        OX_TRY(ox_try_reading(e, &r, err));
    OX_TRY(try_orders(e, err));
    return ox_try_pixels(e, err);
}
