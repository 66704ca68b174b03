/* Shape and Size: what a tensor measures, as numbers. */
#include <string.h>

#include "ops/carry.h"
#include "ops/rules.h"

static void infer_shape(struct ox_infer *c)
{
    unsigned rank, from, to;
    const struct ox_expr *const *dims;
    const struct ox_expr **out = ox_infer_dims(c, 1);

    ox_infer_set_dtype(c, 0, OX_INT64);
    if (!out)
        return;
    if (!ox_infer_shape(c, 0, &rank, &dims)) {
        ox_infer_set_shape(c, 0, 1, out);
        ox_infer_unknown(c, 0, "the rank of the input is not known");
        return;
    }
    ox_rule_shape_range(ox_infer_int_attr(c, "start", 0), ox_infer_int_attr(c, "end", rank), rank,
                        &from, &to);
    out[0] = ox_infer_num(c, to - from);
    ox_infer_set_shape(c, 0, 1, out);
    ox_infer_set_values(c, 0, to - from, dims + from);
}

static enum ox_status run_shape(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    struct ox_tensor *out;
    unsigned from, to;

    ox_rule_shape_range(ox_run_int(r, "start", 0), ox_run_int(r, "end", in->rank), in->rank, &from,
                        &to);
    int64_t n = to - from;

    OX_TRY(ox_run_out(r, 0, OX_INT64, 1, &n, &out, err));
    if (n > 0)
        memcpy(out->data, in->dims + from, (size_t)n * sizeof(int64_t));
    return OX_OK;
}

static void infer_size(struct ox_infer *c)
{
    unsigned rank;
    const struct ox_expr *const *dims;

    ox_infer_set_dtype(c, 0, OX_INT64);
    ox_infer_set_shape(c, 0, 0, NULL);
    if (!ox_infer_shape(c, 0, &rank, &dims))
        return;
    const struct ox_expr *size = ox_carry_product(c, rank, dims);

    ox_infer_set_values(c, 0, 1, &size);
}

static enum ox_status run_size(struct ox_run *r, struct ox_error *err)
{
    struct ox_tensor *out;

    OX_TRY(ox_run_out(r, 0, OX_INT64, 0, NULL, &out, err));
    *(int64_t *)out->data = (int64_t)ox_run_in(r, 0)->n;
    return OX_OK;
}

const struct ox_op ox_ops_shape[] = {
    {"", "Shape", 1, OX_OP_HALF, .infer = infer_shape, .run = run_shape},
    {"", "Size", 1, OX_OP_HALF, .infer = infer_size, .run = run_size},
    {0}};
