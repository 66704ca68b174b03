#include "ops/contrib/contrib.h"

#include <math.h>
#include <string.h>

#include "ops/infer.h"
#include "ops/move.h"
#include "ops/real.h"
#include "ops/real_math.h"

/* Its work memory is its own: whoever runs it releases that. */
static struct ox_run standard_run(const struct ox_run *r, const char *name, int64_t opset)
{
    struct ox_run inner = *r;
    inner.opset = opset;
    inner.schema = ox_schema_find("", name, opset);
    inner.op = ox_op_find("", name, opset);
    memset(inner.work, 0, sizeof inner.work);
    inner.lent = NULL;
    return inner;
}

enum ox_status ox_run_standard(struct ox_run *r, const char *name, int64_t opset,
                               struct ox_error *err)
{
    struct ox_run inner = standard_run(r, name, opset);
    if (!inner.op || !inner.op->run)
        return ox_run_fail(r, err, OX_UNSUPPORTED, "no kernel of %s %lld", name, (long long)opset);
    const enum ox_status status = inner.op->run(&inner, err);
    ox_run_release_work(&inner);
    return status;
}

enum { CALL_INPUTS = 14 };

/* Runs the operator that `inner` stands for on those inputs by a function of its. */
static enum ox_status run_on(struct ox_run *inner, const char *name,
                             enum ox_status (*run)(struct ox_run *r, struct ox_error *err),
                             const struct ox_tensor *const *in, size_t n_in, struct ox_error *err)
{
    struct ox_datum *inputs[CALL_INPUTS] = {NULL};
    enum ox_status status = OX_OK;
    if (!run || n_in > CALL_INPUTS)
        return ox_run_fail(inner, err, OX_UNSUPPORTED, "no kernel of %s %lld", name,
                           (long long)inner->opset);
    for (size_t i = 0; status == OX_OK && i < n_in; i++)
        if (in[i])
            status = ox_datum_of_tensor(&inputs[i], in[i], err);
    inner->in = inputs;
    inner->n_in = n_in;
    if (status == OX_OK)
        status = run(inner, err);
    ox_run_release_work(inner);
    for (size_t i = 0; i < n_in; i++)
        ox_datum_release(inputs[i]);
    inner->in = NULL;
    inner->n_in = 0;
    return status;
}

enum ox_status ox_run_standard_on(struct ox_run *r, const char *name, int64_t opset,
                                  const struct ox_tensor *const *in, size_t n_in,
                                  struct ox_error *err)
{
    struct ox_run inner = standard_run(r, name, opset);
    return run_on(&inner, name, inner.op ? inner.op->run : NULL, in, n_in, err);
}

enum ox_status ox_fast_standard_on(struct ox_run *r, const char *name, int64_t opset,
                                   const struct ox_tensor *const *in, size_t n_in,
                                   struct ox_error *err)
{
    struct ox_run inner = standard_run(r, name, opset);
    return run_on(&inner, name, inner.op ? inner.op->fast : NULL, in, n_in, err);
}

enum ox_status ox_call_standard(struct ox_run *r, const char *name, int64_t opset,
                                const struct ox_tensor *const *in, size_t n_in,
                                struct ox_tensor **out, struct ox_error *err)
{
    struct ox_run inner = standard_run(r, name, opset);
    struct ox_datum *result = NULL;
    inner.out = &result;
    inner.n_out = 1;
    enum ox_status status = run_on(&inner, name, inner.op ? inner.op->run : NULL, in, n_in, err);
    if (status == OX_OK)
        *out = ox_tensor_ref(result->tensor);
    ox_datum_release(result);
    return status;
}

void ox_infer_standard(struct ox_infer *c, const char *name, int64_t opset)
{
    const struct ox_op *op = ox_op_find("", name, opset);
    if (op && op->infer)
        op->infer(c);
}

/* ---- Activations -------------------------------------------------------------------------------------------------- */

static void activate_gelu(enum ox_fused kind, double alpha, double *v, size_t n)
{
    const double root_half = 0.70710678118654752440, root_two_over_pi = 0.79788456080286535588;
    if (kind == OX_FUSED_GELU)
        for (size_t i = 0; i < n; i++)
            v[i] = 0.5 * v[i] * (1 + erf(v[i] * root_half));
    else if (kind == OX_FUSED_FAST_GELU)
        for (size_t i = 0; i < n; i++)
            v[i] =
                0.5 * v[i] * (1 + tanh(root_two_over_pi * (v[i] + 0.044715 * v[i] * v[i] * v[i])));
    else
        for (size_t i = 0; i < n; i++)
            v[i] *= ox_sigmoid(alpha * v[i]);
}

void ox_fused_apply(enum ox_fused kind, const double p[2], double *v, size_t n)
{
    switch (kind) {
    case OX_FUSED_NONE:
        break;
    case OX_FUSED_RELU:
        for (size_t i = 0; i < n; i++)
            v[i] = v[i] < 0 ? 0 : v[i];
        break;
    case OX_FUSED_TANH:
        for (size_t i = 0; i < n; i++)
            v[i] = tanh(v[i]);
        break;
    case OX_FUSED_SIGMOID:
        for (size_t i = 0; i < n; i++)
            v[i] = ox_sigmoid(v[i]);
        break;
    case OX_FUSED_LEAKY_RELU:
        for (size_t i = 0; i < n; i++)
            v[i] = v[i] < 0 ? p[0] * v[i] : v[i];
        break;
    case OX_FUSED_CLIP:
        for (size_t i = 0; i < n; i++)
            v[i] = v[i] < p[0] ? p[0] : v[i] > p[1] ? p[1] : v[i];
        break;
    case OX_FUSED_HARD_SIGMOID:
        for (size_t i = 0; i < n; i++) {
            double x = p[0] * v[i] + p[1];
            v[i] = x < 0 ? 0 : x > 1 ? 1 : x;
        }
        break;
    case OX_FUSED_SOFTPLUS:
        for (size_t i = 0; i < n; i++)
            v[i] = ox_softplus(v[i]);
        break;
    case OX_FUSED_GELU:
    case OX_FUSED_FAST_GELU:
    case OX_FUSED_QUICK_GELU:
        activate_gelu(kind, p[0], v, n);
        break;
    }
}

enum ox_status ox_fused_of(const struct ox_run *r, const char *name, enum ox_fused *out,
                           struct ox_error *err)
{
    static const struct {
        const char *name;
        enum ox_fused kind;
    } known[] = {{"Relu", OX_FUSED_RELU},         {"Tanh", OX_FUSED_TANH},
                 {"Sigmoid", OX_FUSED_SIGMOID},   {"LeakyRelu", OX_FUSED_LEAKY_RELU},
                 {"Clip", OX_FUSED_CLIP},         {"HardSigmoid", OX_FUSED_HARD_SIGMOID},
                 {"Softplus", OX_FUSED_SOFTPLUS}, {"Gelu", OX_FUSED_GELU}};
    *out = OX_FUSED_NONE;
    if (!name || !*name)
        return OX_OK;
    for (size_t i = 0; i < OX_COUNT(known); i++)
        if (strcmp(name, known[i].name) == 0) {
            *out = known[i].kind;
            return OX_OK;
        }
    return ox_run_fail(r, err, OX_UNSUPPORTED, "attribute activation is '%s'", name);
}

void ox_fused_apply_tensor(enum ox_fused kind, const double parameters[2], struct ox_tensor *t)
{
    enum { STRETCH = 512 };
    double v[STRETCH];
    for (size_t at = 0; kind != OX_FUSED_NONE && at < t->n; at += STRETCH) {
        size_t n = t->n - at < STRETCH ? t->n - at : STRETCH;
        ox_real_load(t, at, n, v);
        ox_fused_apply(kind, parameters, v, n);
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
        ox_move_spread(r->env, &move, ox_dtype_size(in->dtype), (*out)->data, in->data);
    return OX_OK;
}
