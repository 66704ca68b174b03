/* Kernels of the operators in acme.schema. To build and use them:
 *
 *     cc -shared -fPIC -Ilib -o acme.so testdata/custom-op/acme.c
 *     onnxtool run model.onnx --schema testdata/custom-op/acme.schema --op-library ./acme.so --random 1 */
#include "onnxtool_op.h"

/* Inc: y = x + step */
static int run_inc(const struct onnxtool_host_v1 *host, struct onnxtool_call_v1 *call)
{
    struct onnxtool_tensor_v1 x;
    if (!host->input(call, 0, &x) || (x.type != ONNXTOOL_FLOAT && x.type != ONNXTOOL_INT32))
        return host->fail(call, "x is neither float nor int32");
    const float step = host->attr_float(call, "step", 1);
    void *y = host->output(call, 0, x.type, x.rank, x.dims);
    if (!y)
        return 1;
    for (uint64_t i = 0; i < x.count; i++) {
        if (x.type == ONNXTOOL_FLOAT)
            ((float *)y)[i] = ((const float *)x.data)[i] + step;
        else
            ((int32_t *)y)[i] = ((const int32_t *)x.data)[i] + (int32_t)step;
    }
    return 0;
}

/* Keep: the rows of x whose first element is over `above`, and how many they are. */
static int run_keep(const struct onnxtool_host_v1 *host, struct onnxtool_call_v1 *call)
{
    struct onnxtool_tensor_v1 x;
    if (!host->input(call, 0, &x) || x.type != ONNXTOOL_FLOAT || x.rank != 2)
        return host->fail(call, "x is no matrix of floats");
    const float *in = (const float *)x.data;
    const float above = host->attr_float(call, "above", 0);
    int64_t dims[2] = {0, x.dims[1]};
    if (x.dims[1] == 0)
        return host->fail(call, "x has no columns");
    for (int64_t row = 0; row < x.dims[0]; row++)
        dims[0] += in[row * x.dims[1]] > above;
    float *out = (float *)host->output(call, 0, ONNXTOOL_FLOAT, 2, dims);
    if (!out)
        return 1;
    for (int64_t row = 0; row < x.dims[0]; row++) {
        const float *from = in + row * x.dims[1];
        for (int64_t k = 0; k < x.dims[1] && from[0] > above; k++)
            *out++ = from[k];
    }
    if (!host->wants(call, 1))
        return 0;
    int64_t *count = (int64_t *)host->output(call, 1, ONNXTOOL_INT64, 0, 0);
    if (!count)
        return 1;
    *count = dims[0];
    return 0;
}

static const struct onnxtool_op_v1 operators[] = {
    {sizeof operators[0], "com.acme", "Inc", 1, run_inc},
    {sizeof operators[0], "com.acme", "Keep", 1, run_keep},
};

const struct onnxtool_op_v1 *onnxtool_ops_v1(size_t *n)
{
    *n = sizeof operators / sizeof operators[0];
    return operators;
}
