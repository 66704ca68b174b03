/* Inputs read otherwise: channels turned, other numbers, another order of dimensions, each other's places, masks inverted. */
#include "parity/expected_inputs.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_INPUTS = 16 };

/* ---- One reading --------------------------------------------------------------------------------------------------- */

const struct ox_axis *ox_axis_of(const struct ox_tensor *t, unsigned which, struct ox_axis *axis)
{
    if (t->rank < 3 || t->rank > 5)
        return NULL;
    axis->at = which ? t->rank - 1 : t->rank == 3 ? 0 : 1;
    axis->inner = 1;
    for (unsigned k = axis->at + 1; k < t->rank; k++)
        axis->inner *= (size_t)t->dims[k];
    const int64_t n = t->dims[axis->at];
    return n == 1 || n == 3 || n == 4 ? axis : NULL;
}

/* What was given for an input, NULL: no tensor of numbers. */
static const struct ox_tensor *given(const struct ox_expecting *e, size_t i)
{
    const struct ox_tensor *t = e->inputs[i] ? ox_datum_get_tensor(e->inputs[i]) : NULL;
    return t && t->dtype != OX_STRING && t->rank <= OX_AXIS_RANK && t->n ? t : NULL;
}

/* What the reading makes of each input; NULL where it does not fit, or makes nothing else of it. */
static enum ox_status make_inputs(const struct ox_expecting *e, const struct ox_input_reading *r,
                                  struct ox_datum **made, size_t *n, struct ox_error *err)
{
    *n = 0;
    for (size_t i = 0; i < e->n_inputs && i < MOST_INPUTS; i++) {
        const struct ox_tensor *t = given(e, i);
        struct ox_tensor *read = NULL;
        if (t)
            OX_TRY(r->make(&read, r, e->env, t, err));
        if (!read)
            continue;
        enum ox_status status = OX_OK;
        if (memcmp(read->data, t->data, t->n * ox_dtype_size(t->dtype)) != 0) {
            status = ox_datum_of_tensor(&made[i], read, err);
            *n += status == OX_OK;
        }
        ox_tensor_release(read);
        OX_TRY(status);
    }
    return OX_OK;
}

/* The smallest and largest value, for the reader to judge by. */
static void print_range(const struct ox_tensor *t, char *text, size_t size)
{
    double low = ox_tensor_get_double(t, 0), high = low;
    for (size_t i = 1; i < t->n; i++) {
        const double v = ox_tensor_get_double(t, i);
        low = v < low ? v : low;
        high = v > high ? v : high;
    }
    snprintf(text, size, "[%.6g, %.6g]", low, high);
}

/* Input `only`, or all that were made, in the place of what was given. */
static enum ox_status try_made(struct ox_expecting *e, const struct ox_input_reading *r,
                               struct ox_datum *const *made, size_t only, struct ox_error *err)
{
    struct ox_datum *inputs[MOST_INPUTS];
    struct ox_verdict verdict;
    char what[256], text[OX_READING_TEXT], range[64];
    for (size_t i = 0; i < e->n_inputs; i++)
        inputs[i] = made[i] && (only == SIZE_MAX || only == i) ? made[i] : e->inputs[i];
    r->describe(r, what, sizeof what);
    if (only == SIZE_MAX) {
        snprintf(text, sizeof text, "%s for each input x of that kind", what);
    } else {
        print_range(given(e, only), range, sizeof range);
        snprintf(text, sizeof text, "%s for input x = '%.80s' (given in %s)", what,
                 ox_session_input_name(e->session, only), range);
    }
    const struct ox_reading reading = {r->weight, r->id, text};
    return ox_expecting_try_inputs(e, &reading, inputs, &verdict, err);
}

enum ox_status ox_try_reading(struct ox_expecting *e, const struct ox_input_reading *r,
                              struct ox_error *err)
{
    struct ox_datum *made[MOST_INPUTS] = {NULL};
    size_t n = 0;
    enum ox_status status = make_inputs(e, r, made, &n, err);
    if (status == OX_OK && n > 1)
        status = try_made(e, r, made, SIZE_MAX, err);
    for (size_t i = 0; i < MOST_INPUTS && status == OX_OK; i++)
        if (made[i])
            status = try_made(e, r, made, i, err);
    for (size_t i = 0; i < MOST_INPUTS; i++)
        ox_datum_release(made[i]);
    return status;
}

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
    const struct ox_tensor *x = given(e, i), *y = given(e, k);
    struct ox_datum *inputs[MOST_INPUTS];
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
    if (e->n_inputs > MOST_INPUTS)
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
