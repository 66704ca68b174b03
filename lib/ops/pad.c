/* Operators that add and remove margins: Pad, CenterCropPad. */
#include <inttypes.h>
#include <string.h>

#include "kernels/dense.h"
#include "kernels/inline.h"
#include "ops/carry.h"
#include "ops/pad.h"

enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP };

/* Output 0 of the dims that the margins give. */
static enum ox_status padded_out(struct ox_run *r, const struct ox_tensor *in,
                                 const struct ox_margin *margins, struct ox_tensor **out,
                                 struct ox_error *err)
{
    int64_t dims[OX_MOVE_RANK];

    for (unsigned i = 0; i < in->rank; i++) {
        if (margins[i].before < -INT64_MAX / 2 || margins[i].after < -INT64_MAX / 2 ||
            OX_ADD_OVERFLOWS(in->dims[i], margins[i].before, &dims[i]) ||
            OX_ADD_OVERFLOWS(dims[i], margins[i].after, &dims[i]) || dims[i] < 0)
            return ox_run_fail(r, err, OX_INPUT,
                               "pads %" PRId64 " and %" PRId64 " do not fit axis %u of %" PRId64
                               " elements",
                               margins[i].before, margins[i].after, i, in->dims[i]);
    }
    return ox_run_out(r, 0, in->dtype, in->rank, dims, out, err);
}

/* ---- The data itself around ------------------------------------------------------------------------------------------ */

/* Which element of an axis of `dim` elements stands at place i of it, counted from the first (negative before it). */
static int64_t pad_source(enum pad_mode mode, int64_t i, int64_t dim)
{
    if (mode == PAD_EDGE)
        return i < 0 ? 0 : i >= dim ? dim - 1 : i;
    if (mode == PAD_WRAP)
        return i % dim < 0 ? i % dim + dim : i % dim;
    if (dim == 1)
        return 0;
    int64_t period = 2 * (dim - 1), at = i % period;

    at = at < 0 ? at + period : at;
    return at < dim ? at : period - at;
}

/* Sources of each place of each axis, one list after the other; negative pads crop before the others are added. Of the last axis, whose
 * inside is copied in one piece, they are those before it, where it begins, and those behind it. */
static enum ox_status pad_sources(struct ox_run *r, enum pad_mode mode, const struct ox_tensor *in,
                                  const struct ox_margin *margins, const struct ox_tensor *out,
                                  int64_t **lists, struct ox_error *err)
{
    for (unsigned i = 0; i < in->rank; i++) {
        int64_t crop = margins[i].before < 0 ? -margins[i].before : 0;
        int64_t left = in->dims[i] - crop + (margins[i].after < 0 ? margins[i].after : 0);
        int64_t shift = margins[i].before > 0 ? margins[i].before : 0;
        const int64_t n = out->dims[i], end = shift + left < n ? shift + left : n;
        const int64_t inside = i + 1 < in->rank ? end : shift + 1;

        if (left <= 0)
            return ox_run_fail(r, err, OX_INPUT, "axis %u has no elements to pad with", i);
        int64_t *list = ox_run_scratch(r, (size_t)(inside + n - end), sizeof(*list), err);
        if (!list)
            return OX_NO_MEMORY;
        for (int64_t k = 0; k < shift; k++)
            list[k] = crop + pad_source(mode, k - shift, left);
        for (int64_t k = shift; k < inside; k++)
            list[k] = crop + k - shift;
        for (int64_t k = end; k < n; k++)
            list[inside + k - end] = crop + pad_source(mode, k - shift, left);
        lists[i] = list;
    }
    return OX_OK;
}

struct padding {
    const struct ox_tensor *in;
    struct ox_tensor *out;
    int64_t *lists[OX_MOVE_RANK]; /* of each axis, where its places come from */
    int64_t from[OX_MOVE_RANK];   /* elements of the input from one to the next */
    int64_t first, end;           /* of a row: what lies over the input in one piece */
    size_t rows;                  /* of a task */
};

/* n elements by their places. */
INLINE void pick(char *to, const char *row, const int64_t *list, int64_t n, const size_t size)
{
    for (int64_t k = 0; k < n; k++)
        memcpy(to + (size_t)k * size, row + (size_t)list[k] * size, size);
}

/* Rows `from` to `end` of the output, the first of which stands at `at`. */
INLINE void pad_rows(const struct padding *p, size_t from, size_t end, int64_t *at,
                     const size_t size)
{
    const unsigned last = p->in->rank - 1;
    const int64_t *list = p->lists[last], n = p->out->dims[last], first = p->first;
    const size_t whole = (size_t)(p->end - first) * size;
    const char *in = p->in->data;
    char *to = (char *)p->out->data + from * (size_t)n * size;
    for (size_t row = from; row < end; row++, to += (size_t)n * size) {
        int64_t base = 0;
        for (unsigned d = 0; d < last; d++)
            base += p->lists[d][at[d]] * p->from[d];
        const char *x = in + (size_t)base * size;
        pick(to, x, list, first, size);
        if (whole)
            memcpy(to + (size_t)first * size, x + (size_t)list[first] * size, whole);
        pick(to + (size_t)p->end * size, x, list + first + 1, n - p->end, size);
        for (unsigned d = last; d-- > 0 && ++at[d] == p->out->dims[d];)
            at[d] = 0;
    }
}

static void pad_task(void *arg, size_t i, size_t slot)
{
    const struct padding *p = arg;
    const unsigned last = p->in->rank - 1;
    const size_t size = ox_dtype_size(p->in->dtype);
    const size_t all = p->out->n / (size_t)p->out->dims[last], first = i * p->rows;
    const size_t end = all - first < p->rows ? all : first + p->rows;
    int64_t at[OX_MOVE_RANK];
    size_t rest = first;
    (void)slot;
    for (unsigned d = last; d-- > 0;) {
        at[d] = (int64_t)(rest % (size_t)p->out->dims[d]);
        rest /= (size_t)p->out->dims[d];
    }
    if (size == 1)
        pad_rows(p, first, end, at, 1);
    else if (size == 2)
        pad_rows(p, first, end, at, 2);
    else if (size == 4)
        pad_rows(p, first, end, at, 4);
    else if (size == 8)
        pad_rows(p, first, end, at, 8);
    else
        pad_rows(p, first, end, at, size);
}

static enum ox_status pad_with_data(struct ox_run *r, enum pad_mode mode,
                                    const struct ox_tensor *in, const struct ox_margin *margins,
                                    struct ox_tensor *out, struct ox_error *err)
{
    enum { TASK = 1 << 14 }; /* bytes, about */
    struct padding p = {.in = in, .out = out};
    const size_t size = ox_dtype_size(in->dtype);
    if (in->rank == 0) {
        memcpy(out->data, in->data, size);
        return OX_OK;
    }
    const unsigned last = in->rank - 1;
    const int64_t n = out->dims[last], over = in->dims[last] + margins[last].before;
    OX_TRY(pad_sources(r, mode, in, margins, out, p.lists, err));
    ox_move_strides(in->rank, in->dims, p.from);
    p.first = margins[last].before > 0 ? margins[last].before : 0;
    p.end = over < n ? over : n;
    p.end = p.end < p.first ? p.first : p.end;
    p.rows = TASK / ((size_t)n * size) + 1;
    const size_t rows = out->n / (size_t)n;
    ox_spread(r->env, (rows + p.rows - 1) / p.rows, (double)(out->n * size) * 5, pad_task, &p);
    return ox_env_poll(r->env, err);
}

/* ---- Pad ------------------------------------------------------------------------------------------------------------- */

/* Pads and axes from attributes (before opset 11) or inputs. */
static enum ox_status pad_margins(struct ox_run *r, const struct ox_tensor *in,
                                  struct ox_margin *margins, struct ox_error *err)
{
    const int64_t *pads, *axes = NULL;
    size_t n, n_axes = in->rank;
    unsigned which[OX_MOVE_RANK];

    if (r->opset < 11) {
        pads = ox_run_ints(r, r->opset < 2 ? "paddings" : "pads", &n);
    } else {
        OX_TRY(ox_move_list(r, 1, &pads, &n, err));
        if (ox_run_has(r, 3))
            OX_TRY(ox_move_list(r, 3, &axes, &n_axes, err));
    }
    if (n != 2 * n_axes)
        return ox_run_fail(r, err, OX_INPUT, "%zu pads for %zu axes", n, n_axes);
    if (axes)
        OX_TRY(ox_move_axes(r, axes, n_axes, in->rank, which, err));
    memset(margins, 0, in->rank * sizeof(margins[0]));
    for (size_t i = 0; i < n_axes; i++)
        margins[axes ? which[i] : i] = (struct ox_margin){pads[i], pads[n_axes + i]};
    return OX_OK;
}

/* 'wrap' came with opset 19; files that name it before mean the same. */
static enum ox_status pad_mode_of(const struct ox_run *r, enum pad_mode *mode, struct ox_error *err)
{
    static const char *const names[] = {"constant", "reflect", "edge", "wrap"};
    const char *name = ox_run_string(r, "mode");

    *mode = PAD_CONSTANT;
    for (unsigned i = 0; name && i < OX_COUNT(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            *mode = (enum pad_mode)i;
            return OX_OK;
        }
    }
    if (name)
        return ox_run_fail(r, err, OX_INPUT, "mode '%s' is none of constant, reflect, edge, wrap",
                           name);
    return OX_OK;
}

static enum ox_status run_pad(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0), *value = r->opset >= 11 ? ox_run_in(r, 2) : NULL;
    struct ox_margin margins[OX_MOVE_RANK];
    struct ox_tensor *out, *made = NULL;
    enum pad_mode mode;
    static const char zeros[16];

    OX_TRY(ox_move_rank(r, in->rank, err));
    OX_TRY(pad_mode_of(r, &mode, err));
    OX_TRY(pad_margins(r, in, margins, err));
    if (value && value->n != 1)
        return ox_run_fail(r, err, OX_INPUT, "constant_value has %zu elements, not 1", value->n);
    OX_TRY(padded_out(r, in, margins, &out, err));
    if (out->n == 0)
        return OX_OK;
    if (mode != PAD_CONSTANT) {
        OX_TRY(pad_with_data(r, mode, in, margins, out, err));
        return ox_move_own(out, err);
    }
    if (r->opset < 11)
        OX_TRY(ox_move_scalar(r, in->dtype, ox_run_float(r, "value", 0), &made, err));
    ox_pad_constant(r->env, in, margins, made ? made->data : value ? value->data : zeros, out);
    ox_tensor_release(made);
    return ox_move_own(out, err);
}

/* The axes that input 3 gives; true where there are none, false where they are not known or cannot be. */
static bool infer_axes(struct ox_infer *c, unsigned rank, size_t *n, const int64_t **axes)
{
    bool is_named[OX_MOVE_RANK] = {false};
    unsigned axis;

    if (ox_infer_opset(c) < 11 || !ox_infer_has(c, 3))
        return true;
    if (!ox_infer_ints(c, 3, n, axes))
        return false;
    for (size_t i = 0; i < *n; i++) {
        if (!ox_infer_axis(c, (*axes)[i], rank, &axis))
            return false;
        if (is_named[axis]) {
            ox_infer_conflict(c, "axis %u is named twice", axis);
            return false;
        }
        is_named[axis] = true;
    }
    return true;
}

/* Pads and axes as a rule knows them: expressions a margin, NULL where one is not known. */
static bool infer_margins(struct ox_infer *c, unsigned rank, const struct ox_expr **before,
                          const struct ox_expr **after)
{
    const struct ox_expr *const *pads = NULL, *numbers[2 * OX_MOVE_RANK];
    const int64_t *attr, *axes = NULL;
    size_t n, n_axes = rank;
    unsigned axis;

    for (unsigned i = 0; i < rank; i++)
        before[i] = after[i] = ox_infer_num(c, 0);
    if (ox_infer_opset(c) < 11) {
        attr = ox_infer_ints_attr(c, ox_infer_opset(c) < 2 ? "paddings" : "pads", &n);
        for (size_t i = 0; i < n && i < OX_COUNT(numbers); i++)
            numbers[i] = ox_infer_num(c, attr[i]);
        pads = numbers;
    } else if (!infer_axes(c, rank, &n_axes, &axes) || !ox_infer_values(c, 1, &n, &pads)) {
        return false;
    }
    if (n != 2 * n_axes) {
        ox_infer_conflict(c, "%zu pads for %zu axes", n, n_axes);
        return false;
    }
    for (size_t i = 0; i < n_axes; i++) {
        if (!ox_infer_axis(c, axes ? axes[i] : (int64_t)i, rank, &axis))
            return false;
        before[axis] = pads[i];
        after[axis] = pads[n_axes + i];
    }
    return true;
}

static void infer_pad_values(struct ox_infer *c, const struct ox_expr *before,
                             const struct ox_expr *after)
{
    const struct ox_expr *values[OX_CARRY_VALUES], *fill = ox_infer_num(c, 0);
    const char *mode = ox_infer_string_attr(c, "mode");
    struct ox_carry_value value;
    int64_t n_before, n_after, number;

    if ((mode && strcmp(mode, "constant") != 0) || !ox_carry_value(c, 0, &value) ||
        value.rank != 1 || !ox_infer_is_num(before, &n_before) ||
        !ox_infer_is_num(after, &n_after) || n_before < 0 || n_after < 0 ||
        n_before > OX_CARRY_VALUES || n_after > OX_CARRY_VALUES)
        return;
    size_t n = value.n + (size_t)n_before + (size_t)n_after;

    if (n > OX_CARRY_VALUES)
        return;
    if (ox_infer_has(c, 2))
        fill = ox_carry_int(c, 2, &number) ? ox_infer_num(c, number) : NULL;
    ox_move_fill(values, n, sizeof(fill), &fill);
    memcpy(values + n_before, value.values, value.n * sizeof(values[0]));
    ox_infer_set_values(c, 0, n, values);
}

static void infer_pad(struct ox_infer *c)
{
    const struct ox_expr *const *in, **out, *before[OX_MOVE_RANK], *after[OX_MOVE_RANK];
    unsigned rank;
    int64_t dim;

    ox_infer_same_dtype(c, 0, 0);
    if (!ox_infer_shape(c, 0, &rank, &in) || rank > OX_MOVE_RANK)
        return;
    out = ox_infer_dims(c, rank);
    if (!out && rank > 0)
        return;
    if (!infer_margins(c, rank, before, after)) {
        ox_infer_unknown(c, 0, "the pads are not known");
        ox_infer_set_shape(c, 0, rank, out);
        return;
    }
    for (unsigned i = 0; i < rank; i++) {
        out[i] = ox_infer_add(c, ox_infer_add(c, in[i], before[i]), after[i]);
        if (ox_infer_is_num(out[i], &dim) && dim < 0)
            ox_infer_conflict(c, "axis %u is left with %" PRId64 " elements", i, dim);
    }
    ox_infer_set_shape(c, 0, rank, out);
    if (rank == 1)
        infer_pad_values(c, before[0], after[0]);
}

/* ---- CenterCropPad --------------------------------------------------------------------------------------------------- */

static void infer_center_crop_pad(struct ox_infer *c)
{
    const struct ox_expr *const *in, *const *shape, **out;
    unsigned rank, axis;
    size_t n, n_axes;
    const int64_t *axes = ox_infer_ints_attr(c, "axes", &n_axes);

    ox_infer_same_dtype(c, 0, 0);
    if (!ox_infer_shape(c, 0, &rank, &in))
        return;
    out = ox_infer_dims(c, rank);
    if (!out)
        return;
    if (!axes)
        n_axes = rank;
    memcpy(out, in, rank * sizeof(out[0]));
    bool known = ox_infer_values(c, 1, &n, &shape);

    if (known && n != n_axes) {
        ox_infer_conflict(c, "%zu sizes for %zu axes", n, n_axes);
        return;
    }
    for (size_t i = 0; i < n_axes; i++) {
        if (!ox_infer_axis(c, axes ? axes[i] : (int64_t)i, rank, &axis))
            return;
        out[axis] = known ? shape[i] : NULL;
    }
    if (!known)
        ox_infer_unknown(c, 0, "the target shape is not known");
    ox_infer_set_shape(c, 0, rank, out);
}

/* An odd difference leaves the cropping window half an element to the left, and the data when padded too. */
static int64_t center_before(int64_t dim, int64_t target)
{
    return target >= dim ? (target - dim) / 2 : -((dim - target) / 2);
}

static enum ox_status run_center_crop_pad(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    struct ox_margin margins[OX_MOVE_RANK] = {{0, 0}};
    unsigned which[OX_MOVE_RANK];
    const int64_t *shape;
    struct ox_tensor *out;
    size_t n, n_axes;
    const int64_t *axes = ox_run_ints(r, "axes", &n_axes);
    static const char zeros[16];

    OX_TRY(ox_move_rank(r, in->rank, err));
    OX_TRY(ox_move_list(r, 1, &shape, &n, err));
    if (!axes)
        n_axes = in->rank;
    if (n != n_axes)
        return ox_run_fail(r, err, OX_INPUT, "%zu sizes for %zu axes", n, n_axes);
    if (axes)
        OX_TRY(ox_move_axes(r, axes, n_axes, in->rank, which, err));
    for (size_t i = 0; i < n_axes; i++) {
        unsigned axis = axes ? which[i] : (unsigned)i;

        if (shape[i] < 0)
            return ox_run_fail(r, err, OX_INPUT, "shape[%zu] is %" PRId64, i, shape[i]);
        margins[axis].before = center_before(in->dims[axis], shape[i]);
        margins[axis].after = shape[i] - in->dims[axis] - margins[axis].before;
    }
    OX_TRY(padded_out(r, in, margins, &out, err));
    if (out->n > 0)
        ox_pad_constant(r->env, in, margins, zeros, out);
    return ox_move_own(out, err);
}

const struct ox_op ox_ops_pad[] = {{"", "Pad", 1, OX_OP_HALF, .infer = infer_pad, .run = run_pad},
                                   {"", "CenterCropPad", 18, OX_OP_HALF,
                                    .infer = infer_center_crop_pad, .run = run_center_crop_pad},
                                   {0}};
