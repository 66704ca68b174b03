/* EyeLike: ones on a diagonal. */
#include <inttypes.h>
#include <string.h>

#include "ops/carry.h"
#include "ops/rules.h"

static void infer_eye_like(struct ox_infer *c)
{
    enum ox_dtype dtype = ox_rule_dtype_attr(c, "dtype");
    unsigned rank;

    if (dtype)
        ox_infer_set_dtype(c, 0, dtype);
    else
        ox_infer_same_dtype(c, 0, 0);
    if (ox_infer_shape(c, 0, &rank, NULL) && rank != 2)
        ox_infer_conflict(c, "the input has rank %u, not 2", rank);
    ox_infer_same_shape(c, 0, 0);
}

static enum ox_status run_eye_like(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    int64_t dtype = ox_run_int(r, "dtype", in->dtype), k = ox_run_int(r, "k", 0);
    struct ox_tensor *out, *one;

    if (in->rank != 2)
        return ox_run_fail(r, err, OX_INPUT, "the input has rank %u, not 2", in->rank);
    if (dtype <= 0 || dtype >= OX_N_DTYPES || dtype == OX_STRING)
        return ox_run_fail(r, err, OX_INPUT, "dtype is %" PRId64, dtype);
    OX_TRY(ox_run_out(r, 0, (enum ox_dtype)dtype, 2, in->dims, &out, err));
    OX_TRY(ox_move_scalar(r, out->dtype, 1, &one, err));
    int64_t rows = in->dims[0], columns = in->dims[1];
    size_t size = ox_dtype_size(out->dtype);

    if (out->n > 0)
        memset(out->data, 0, out->n * size);
    if (k > -rows && k < columns) {
        for (int64_t i = k < 0 ? -k : 0; i < rows && i + k < columns; i++)
            memcpy((char *)out->data + (size_t)(i * columns + i + k) * size, one->data, size);
    }
    ox_tensor_release(one);
    return OX_OK;
}

const struct ox_op ox_ops_eye_like[] = {
    {"", "EyeLike", 9, OX_OP_HALF | OX_OP_ROUNDED, .infer = infer_eye_like, .run = run_eye_like},
    {0}};
