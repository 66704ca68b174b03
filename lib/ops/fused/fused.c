#include "ops/fused/fused.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    enum ox_unary unary;
} activations[] = {
    {"Clip", OX_UNARY_CLIP},
    {"Elu", OX_UNARY_ELU},
    {"Gelu", OX_UNARY_GELU},
    {"GeluTanh", OX_UNARY_GELU_TANH},
    {"HardSigmoid", OX_UNARY_HARD_SIGMOID},
    {"HardSwish", OX_UNARY_HARD_SWISH},
    {"LeakyRelu", OX_UNARY_LEAKY},
    {"Mish", OX_UNARY_MISH},
    {"Relu", OX_UNARY_CLIP},
    {"Sigmoid", OX_UNARY_SIGMOID},
    {"Softplus", OX_UNARY_SOFTPLUS},
    {"Swish", OX_UNARY_SWISH},
    {"Tanh", OX_UNARY_TANH},
};

static int find(const char *name)
{
    for (size_t i = 0; i < OX_COUNT(activations); i++)
        if (strcmp(activations[i].name, name) == 0)
            return (int)i;
    return -1;
}

bool ox_fused_has(const char *op_type)
{
    return find(op_type) >= 0;
}

static void run_row(const void *arg, size_t n, float *x)
{
    const struct ox_fused_row *row = arg;
    row->unary(n, x, x, row->a, row->b);
}

enum ox_status ox_fused_activation(const struct ox_run *r, struct ox_epilogue *end,
                                   struct ox_fused_row *row, struct ox_error *err)
{
    return ox_fused_activation_by(r, "activation", "alpha", "beta", end, row, err);
}

enum ox_status ox_fused_activation_by(const struct ox_run *r, const char *by, const char *alpha,
                                      const char *beta, struct ox_epilogue *end,
                                      struct ox_fused_row *row, struct ox_error *err)
{
    const char *name = ox_run_string(r, by);
    if (!name || !*name)
        return OX_OK;
    int i = find(name);
    if (i < 0)
        return ox_run_fail(r, err, OX_INPUT, "there is no activation '%.40s'", name);
    float a = ox_run_float(r, alpha, 0), b = ox_run_float(r, beta, 0);
    switch (activations[i].unary) {
    case OX_UNARY_CLIP:
        end->act = OX_ACT_CLIP;
        end->lo = a;
        end->hi = strcmp(name, "Relu") == 0 ? INFINITY : b;
        return OX_OK;
    case OX_UNARY_LEAKY:
        end->act = OX_ACT_LEAKY;
        end->alpha = a;
        return OX_OK;
    default:
        *row = (struct ox_fused_row){ox_rows(ox_cpu())->unary[activations[i].unary], a, b};
        end->act = OX_ACT_ROW;
        end->row = run_row;
        end->row_arg = row;
        return OX_OK;
    }
}

const float *ox_fused_scaled(struct ox_run *r, const struct ox_tensor *weights,
                             const struct ox_tensor *scale, size_t groups, struct ox_error *err)
{
    if (!scale)
        return weights->data;
    size_t rows = (size_t)weights->dims[0], cols = groups ? (size_t)weights->dims[1] : 1;
    size_t n = rows * cols, each = n ? weights->n / n : 0;
    float *out = ox_run_work(r, weights->n, sizeof(float), err);
    if (!out)
        return NULL;
    const float *from = weights->data;
    for (size_t m = 0; m < n; m++) {
        /* Matrix m: of an output channel; or of the one that its input channel's group and its place there make. */
        size_t channel = groups ? m / cols / (rows / groups) * cols + m % cols : m;
        float by = ((const float *)scale->data)[channel];
        for (size_t i = 0; i < each; i++)
            out[m * each + i] = from[m * each + i] * by;
    }
    return out;
}

enum ox_status ox_fused_first(struct ox_run *r, const struct ox_tensor *x, bool last,
                              struct ox_tensor **out, struct ox_error *err)
{
    struct ox_tensor *shape =
        ox_run_scratch(r, 1, sizeof *shape + (x->rank + 1) * sizeof *shape->dims, err);
    if (!shape)
        return OX_NO_MEMORY;
    shape->rank = x->rank;
    shape->n = x->n;
    shape->dtype = x->dtype;
    for (unsigned d = 0; d < x->rank; d++)
        shape->dims[d] = x->dims[d];
    for (unsigned d = 2; last && d < x->rank; d++)
        shape->dims[d] = x->dims[d - 1];
    if (last && x->rank > 1)
        shape->dims[1] = x->dims[x->rank - 1];
    *out = shape;
    return OX_OK;
}

enum ox_status ox_fused_check_list(const struct ox_run *r, size_t i, int64_t n, const char *what,
                                   struct ox_error *err)
{
    const struct ox_tensor *list = ox_run_in(r, i);
    if (list && list->dtype != OX_FLOAT32)
        return ox_run_fail(r, err, OX_INPUT, "the %s is not of float32", what);
    return ox_run_check_list(r, list, n, what, err);
}
