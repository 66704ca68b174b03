#include "ops/contrib.h"

#include <math.h>
#include <string.h>

#include "ops/infer.h"
#include "ops/move.h"
#include "ops/real.h"

static struct ox_run standard_run(const struct ox_run *r, const char *name, int64_t opset)
{
    struct ox_run inner = *r;
    inner.opset = opset;
    inner.schema = ox_schema_find("", name, opset);
    inner.op = ox_op_find("", name, opset);
    return inner;
}

enum ox_status ox_run_standard(struct ox_run *r, const char *name, int64_t opset,
                               struct ox_error *err)
{
    struct ox_run inner = standard_run(r, name, opset);
    if (!inner.op || !inner.op->run)
        return ox_run_fail(r, err, OX_UNSUPPORTED, "no kernel of %s %lld", name, (long long)opset);
    return inner.op->run(&inner, err);
}

enum { CALL_INPUTS = 8 };

enum ox_status ox_call_standard(struct ox_run *r, const char *name, int64_t opset,
                                const struct ox_tensor *const *in, size_t n_in,
                                struct ox_tensor **out, struct ox_error *err)
{
    struct ox_run inner = standard_run(r, name, opset);
    struct ox_datum *inputs[CALL_INPUTS] = {NULL}, *result = NULL;
    enum ox_status status = OX_OK;
    if (!inner.op || !inner.op->run || n_in > CALL_INPUTS)
        return ox_run_fail(r, err, OX_UNSUPPORTED, "no kernel of %s %lld", name, (long long)opset);
    for (size_t i = 0; status == OX_OK && i < n_in; i++)
        if (in[i])
            status = ox_datum_of_tensor(&inputs[i], in[i], err);
    inner.in = inputs;
    inner.n_in = n_in;
    inner.out = &result;
    inner.n_out = 1;
    if (status == OX_OK)
        status = inner.op->run(&inner, err);
    if (status == OX_OK)
        *out = ox_tensor_ref(result->tensor);
    ox_datum_release(result);
    for (size_t i = 0; i < n_in; i++)
        ox_datum_release(inputs[i]);
    return status;
}

void ox_infer_standard(struct ox_infer *c, const char *name, int64_t opset)
{
    const struct ox_op *op = ox_op_find("", name, opset);
    if (op && op->infer)
        op->infer(c);
}

/* ---- Activations -------------------------------------------------------------------------------------------------- */

static double sigmoid(double x)
{
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

static void activate_gelu(enum ox_activation kind, double alpha, double *v, size_t n)
{
    const double root_half = 0.70710678118654752440, root_two_over_pi = 0.79788456080286535588;
    if (kind == OX_ACT_GELU)
        for (size_t i = 0; i < n; i++)
            v[i] = 0.5 * v[i] * (1 + erf(v[i] * root_half));
    else if (kind == OX_ACT_FAST_GELU)
        for (size_t i = 0; i < n; i++)
            v[i] =
                0.5 * v[i] * (1 + tanh(root_two_over_pi * (v[i] + 0.044715 * v[i] * v[i] * v[i])));
    else
        for (size_t i = 0; i < n; i++)
            v[i] *= sigmoid(alpha * v[i]);
}

void ox_activate(enum ox_activation kind, const double p[2], double *v, size_t n)
{
    switch (kind) {
    case OX_ACT_NONE:
        break;
    case OX_ACT_RELU:
        for (size_t i = 0; i < n; i++)
            v[i] = v[i] < 0 ? 0 : v[i];
        break;
    case OX_ACT_TANH:
        for (size_t i = 0; i < n; i++)
            v[i] = tanh(v[i]);
        break;
    case OX_ACT_SIGMOID:
        for (size_t i = 0; i < n; i++)
            v[i] = sigmoid(v[i]);
        break;
    case OX_ACT_LEAKY_RELU:
        for (size_t i = 0; i < n; i++)
            v[i] = v[i] < 0 ? p[0] * v[i] : v[i];
        break;
    case OX_ACT_CLIP:
        for (size_t i = 0; i < n; i++)
            v[i] = v[i] < p[0] ? p[0] : v[i] > p[1] ? p[1] : v[i];
        break;
    case OX_ACT_HARD_SIGMOID:
        for (size_t i = 0; i < n; i++) {
            double x = p[0] * v[i] + p[1];
            v[i] = x < 0 ? 0 : x > 1 ? 1 : x;
        }
        break;
    case OX_ACT_SOFTPLUS:
        for (size_t i = 0; i < n; i++)
            v[i] = v[i] > 0 ? v[i] + log1p(exp(-v[i])) : log1p(exp(v[i]));
        break;
    case OX_ACT_GELU:
    case OX_ACT_FAST_GELU:
    case OX_ACT_QUICK_GELU:
        activate_gelu(kind, p[0], v, n);
        break;
    }
}

enum ox_status ox_activation_of(const struct ox_run *r, const char *name, enum ox_activation *out,
                                struct ox_error *err)
{
    static const struct {
        const char *name;
        enum ox_activation kind;
    } known[] = {{"Relu", OX_ACT_RELU},         {"Tanh", OX_ACT_TANH},
                 {"Sigmoid", OX_ACT_SIGMOID},   {"LeakyRelu", OX_ACT_LEAKY_RELU},
                 {"Clip", OX_ACT_CLIP},         {"HardSigmoid", OX_ACT_HARD_SIGMOID},
                 {"Softplus", OX_ACT_SOFTPLUS}, {"Gelu", OX_ACT_GELU}};
    *out = OX_ACT_NONE;
    if (!name || !*name)
        return OX_OK;
    for (size_t i = 0; i < OX_COUNT(known); i++)
        if (strcmp(name, known[i].name) == 0) {
            *out = known[i].kind;
            return OX_OK;
        }
    return ox_run_fail(r, err, OX_UNSUPPORTED, "attribute activation is '%s'", name);
}

void ox_activate_tensor(enum ox_activation kind, const double parameters[2], struct ox_tensor *t)
{
    enum { STRETCH = 512 };
    double v[STRETCH];
    for (size_t at = 0; kind != OX_ACT_NONE && at < t->n; at += STRETCH) {
        size_t n = t->n - at < STRETCH ? t->n - at : STRETCH;
        ox_real_load(t, at, n, v);
        ox_activate(kind, parameters, v, n);
        ox_real_store(t, at, n, v);
    }
}

/* ---- Order of axes ------------------------------------------------------------------------------------------------ */

void ox_channels_perm(unsigned rank, bool to_first, unsigned *perm)
{
    for (unsigned i = 0; i < rank; i++)
        perm[i] = i;
    for (unsigned i = 1; i < rank; i++)
        perm[i] = to_first ? (i == 1 ? rank - 1 : i - 1) : (i + 1 == rank ? 1 : i + 1);
}

enum ox_status ox_permuted(struct ox_run *r, const struct ox_tensor *in, const unsigned *perm,
                           struct ox_tensor **out, struct ox_error *err)
{
    int64_t dims[OX_MOVE_RANK], from[OX_MOVE_RANK], to[OX_MOVE_RANK];
    struct ox_move move = {0};
    OX_TRY(ox_move_rank(r, in->rank, err));
    for (unsigned i = 0; i < in->rank; i++)
        dims[i] = in->dims[perm[i]];
    OX_TRY(ox_tensor_new(out, ox_env_budget(r->env), in->dtype, in->rank, dims, err));
    ox_move_strides(in->rank, in->dims, from);
    ox_move_strides(in->rank, dims, to);
    for (unsigned i = 0; i < in->rank; i++)
        ox_move_axis(&move, dims[i], to[i], from[perm[i]]);
    if (in->n)
        ox_move_run(&move, ox_dtype_size(in->dtype), (*out)->data, in->data);
    return OX_OK;
}
