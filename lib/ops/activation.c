/* Activations: Celu Elu Gelu HardSigmoid HardSwish LeakyRelu Mish Relu Selu Shrink Sigmoid Softplus Softsign Swish
 * ThresholdedRelu, and those that left the standard: Affine ParametricSoftplus Scale ScaledTanh. */
#include <math.h>
#include <string.h>

#include "ops/broadcast.h"
#include "ops/fast/fast.h"
#include "ops/kernel_tables.h"
#include "ops/rules.h"
#include "ops/whole.h"

/* Coefficients by their place in the formula: alpha (lambd of Shrink, scale of Scale), beta (gamma of Selu, bias of Shrink). */
struct activation {
    double alpha, beta;
};

#define STAMP "ops/activation_tmpl.h"
#include "common/stamp_floats.h"
#define STAMP "ops/activation_int_tmpl.h"
#include "common/stamp_integers.h"

static enum ox_status run_with(struct ox_run *r, const struct ox_kernels *kernels,
                               const char *alpha, float alpha_default, const char *beta,
                               float beta_default, struct ox_error *err)
{
    struct activation p = {0, 0};
    if (alpha)
        p.alpha = ox_run_float(r, alpha, alpha_default);
    if (beta)
        p.beta = ox_run_float(r, beta, beta_default);
    return ox_run_elementwise(r, kernels, 1, OX_UNDEFINED, &p, err);
}

static enum ox_status run_affine(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(affine)}};
    return run_with(r, &kernels, "alpha", 1, "beta", 0, err);
}

static enum ox_status run_celu(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(celu)}};
    return run_with(r, &kernels, "alpha", 1, NULL, 0, err);
}

static enum ox_status run_elu(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(elu)}};
    return run_with(r, &kernels, "alpha", 1, NULL, 0, err);
}

static enum ox_status run_gelu(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels exact = {{OX_KERNELS_FLOAT(gelu)}};
    static const struct ox_kernels tanh_form = {{OX_KERNELS_FLOAT(gelu_tanh)}};
    const char *approximate = ox_run_string(r, "approximate");
    if (!approximate || !strcmp(approximate, "none"))
        return run_with(r, &exact, NULL, 0, NULL, 0, err);
    if (!strcmp(approximate, "tanh"))
        return run_with(r, &tanh_form, NULL, 0, NULL, 0, err);
    return ox_run_fail(r, err, OX_INPUT, "attribute approximate is '%.32s', not none or tanh",
                       approximate);
}

static enum ox_status run_hard_sigmoid(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(hard_sigmoid)}};
    return run_with(r, &kernels, "alpha", 0.2f, "beta", 0.5f, err);
}

static enum ox_status run_hard_swish(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(hard_swish)}};
    return run_with(r, &kernels, NULL, 0, NULL, 0, err);
}

static enum ox_status run_leaky_relu(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(leaky_relu)}};
    return run_with(r, &kernels, "alpha", 0.01f, NULL, 0, err);
}

static enum ox_status run_mish(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(mish)}};
    return run_with(r, &kernels, NULL, 0, NULL, 0, err);
}

/* Both coefficients must be given: the operators' page never had defaults, and onnxruntime knows none. */
static enum ox_status run_given(struct ox_run *r, const struct ox_kernels *kernels,
                                struct ox_error *err)
{
    static const char *const names[] = {"alpha", "beta"};
    for (size_t i = 0; i < OX_COUNT(names); i++)
        if (!ox_run_attr(r, names[i]))
            return ox_run_fail(r, err, OX_INPUT, "attribute '%s' is missing", names[i]);
    return run_with(r, kernels, "alpha", 0, "beta", 0, err);
}

static enum ox_status run_parametric_softplus(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(parametric_softplus)}};
    return run_given(r, &kernels, err);
}

static enum ox_status run_relu(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(relu), OX_KERNELS_SIGNED(relu)}};
    return run_with(r, &kernels, NULL, 0, NULL, 0, err);
}

static enum ox_status run_scale(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(scale)}};
    return run_with(r, &kernels, "scale", 1, NULL, 0, err);
}

static enum ox_status run_scaled_tanh(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(scaled_tanh)}};
    return run_given(r, &kernels, err);
}

/* Version 1 has other defaults; the schema gives them. */
static enum ox_status run_selu(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(selu)}};
    return run_with(r, &kernels, "alpha", 1.67326319217681884765625f, "gamma",
                    1.05070102214813232421875f, err);
}

static enum ox_status run_selu_1(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(selu)}};
    return run_with(r, &kernels, "alpha", 1.6732f, "gamma", 1.0507f, err);
}

static enum ox_status run_shrink(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_NUMBER(shrink)}};
    return run_with(r, &kernels, "lambd", 0.5f, "bias", 0, err);
}

static enum ox_status run_sigmoid(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(sigmoid)}};
    return run_with(r, &kernels, NULL, 0, NULL, 0, err);
}

static enum ox_status run_softplus(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(softplus)}};
    return run_with(r, &kernels, NULL, 0, NULL, 0, err);
}

static enum ox_status run_softsign(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(softsign)}};
    return run_with(r, &kernels, NULL, 0, NULL, 0, err);
}

static enum ox_status run_swish(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(swish)}};
    return run_with(r, &kernels, "alpha", 1, NULL, 0, err);
}

static enum ox_status run_thresholded_relu(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(thresholded_relu)}};
    return run_with(r, &kernels, "alpha", 1, NULL, 0, err);
}

static const struct ox_expr *value_relu(struct ox_infer *c, const struct ox_expr *const *v)
{
    int64_t least;
    if (v[0] && ox_expr_least(v[0], &least) && least >= 0)
        return v[0];
    return ox_infer_max(c, v[0], ox_infer_num(c, 0));
}

static void infer_relu(struct ox_infer *c)
{
    ox_rule_same(c);
    ox_rule_map(c, 1, value_relu);
}

const struct ox_op ox_ops_activation[] = {
    {"", "Affine", 1, .infer = ox_rule_same, .run = run_affine},
    {"", "Celu", 12, .infer = ox_rule_same, .run = run_celu, .fast = ox_fast_unary},
    {"", "Elu", 1, OX_OP_DOUBLE, .infer = ox_rule_same, .run = run_elu, .fast = ox_fast_unary},
    {"", "Gelu", 20, OX_OP_DOUBLE, .infer = ox_rule_same, .run = run_gelu, .fast = ox_fast_unary},
    {"", "HardSigmoid", 1, .infer = ox_rule_same, .run = run_hard_sigmoid, .fast = ox_fast_unary},
    {"", "HardSwish", 14, .infer = ox_rule_same, .run = run_hard_swish, .fast = ox_fast_unary},
    {"", "LeakyRelu", 1, .infer = ox_rule_same, .run = run_leaky_relu, .fast = ox_fast_unary},
    {"", "Mish", 18, OX_OP_DOUBLE, .infer = ox_rule_same, .run = run_mish, .fast = ox_fast_unary},
    {"", "ParametricSoftplus", 1, .infer = ox_rule_same, .run = run_parametric_softplus},
    {"", "Relu", 1, OX_OP_DOUBLE, .infer = infer_relu, .run = run_relu, .fast = ox_fast_unary},
    {"", "Scale", 1, .infer = ox_rule_same, .run = run_scale},
    {"", "ScaledTanh", 1, .infer = ox_rule_same, .run = run_scaled_tanh},
    {"", "Selu", 1, .infer = ox_rule_same, .run = run_selu_1},
    {"", "Selu", 6, OX_OP_DOUBLE, .infer = ox_rule_same, .run = run_selu, .fast = ox_fast_unary},
    {"", "Shrink", 9, .infer = ox_rule_same, .run = run_shrink},
    {"", "Sigmoid", 1, OX_OP_DOUBLE, .infer = ox_rule_same, .run = run_sigmoid,
     .fast = ox_fast_unary},
    {"", "Softplus", 1, OX_OP_DOUBLE, .infer = ox_rule_same, .run = run_softplus,
     .fast = ox_fast_unary},
    {"", "Softsign", 1, .infer = ox_rule_same, .run = run_softsign, .fast = ox_fast_unary},
    {"", "Swish", 24, OX_OP_DOUBLE, .infer = ox_rule_same, .run = run_swish, .fast = ox_fast_unary},
    {"", "ThresholdedRelu", 10, .infer = ox_rule_same, .run = run_thresholded_relu,
     .fast = ox_fast_unary},
    {0}};
