/* Functions of one number: Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor Log Neg Reciprocal Round Sign Sin
 * Sinh Sqrt Tan Tanh. */
#include <math.h>

#include "kernels/doubles.h"
#include "ops/broadcast.h"
#include "ops/fast/fast.h"
#include "ops/kernel_tables.h"
#include "ops/rules.h"

/* From the exponential function in double, which is within a bit of the float's last and five times as fast as tanhf(). */
static float tanh_of_f32(float x)
{
    const double wide = (double)x, square = wide * wide;
    const double series = wide * (1 - square * (1.0 / 3 - square * (2.0 / 15)));
    const double far = copysign(1 - 2 / (exp(2 * fabs(wide)) + 1), wide);
    return (float)(fabs(wide) < 1e-3 ? series : far);
}

static double tanh_of_f64(double x)
{
    return tanh(x);
}

#define STAMP "ops/unary_float_tmpl.h"
#include "common/stamp_floats.h"
#define STAMP "ops/unary_int_tmpl.h"
#include "common/stamp_integers.h"

/* Of the 16-bit floats by their codes: those of infinity and of one. */
static inline void sign_by_codes(const struct ox_row *row, uint16_t infinite, uint16_t one)
{
    const uint16_t *in = row->in[0];
    uint16_t *out = row->out;
    const size_t n = row->n;
    for (size_t i = 0; i < n; i++) {
        const uint16_t x = in[i], magnitude = x & 0x7fff;
        const uint16_t number = magnitude ? (uint16_t)((x & 0x8000) | one) : 0;
        out[i] = magnitude > infinite ? x : number;
    }
}

static void sign_half(const struct ox_row *row, const void *arg)
{
    (void)arg;
    sign_by_codes(row, 0x7c00, 0x3c00);
}

static void sign_bfloat(const struct ox_row *row, const void *arg)
{
    (void)arg;
    sign_by_codes(row, 0x7f80, 0x3f80);
}

static const struct ox_kernels absolute_kernels = {{OX_KERNELS_NUMBER(absolute)}};
static const struct ox_kernels negate_kernels = {
    {OX_KERNELS_FLOAT(negate), OX_KERNELS_SIGNED(negate)}};
static const struct ox_kernels sign_kernels = {
    {OX_KERNELS_NUMBER(sign), [OX_FLOAT16] = sign_half, [OX_BFLOAT16] = sign_bfloat}};
static const struct ox_kernels erf_kernels = {{OX_KERNELS_NUMBER(erf)}};

static enum ox_status run_abs(struct ox_run *r, struct ox_error *err)
{
    return ox_run_elementwise(r, &absolute_kernels, 1, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_neg(struct ox_run *r, struct ox_error *err)
{
    return ox_run_elementwise(r, &negate_kernels, 1, OX_UNDEFINED, NULL, err);
}

static void sign_doubles(const struct ox_row *row, const void *arg)
{
    const struct ox_doubles *t = arg;
    t->sign(row->n, row->in[0], row->out);
}

static enum ox_status run_sign(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels quick = {{[OX_FLOAT64] = sign_doubles}};
    const struct ox_doubles *t = ox_doubles(ox_cpu());
    if (t->sign && ox_run_in(r, 0)->dtype == OX_FLOAT64)
        return ox_run_elementwise(r, &quick, 1, OX_UNDEFINED, t, err);
    return ox_run_elementwise(r, &sign_kernels, 1, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_erf(struct ox_run *r, struct ox_error *err)
{
    return ox_run_elementwise(r, &erf_kernels, 1, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_acos(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(acos)}};
    return ox_run_elementwise(r, &kernels, 1, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_acosh(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(acosh)}};
    return ox_run_elementwise(r, &kernels, 1, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_asin(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(asin)}};
    return ox_run_elementwise(r, &kernels, 1, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_asinh(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(asinh)}};
    return ox_run_elementwise(r, &kernels, 1, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_atan(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(atan)}};
    return ox_run_elementwise(r, &kernels, 1, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_atanh(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(atanh)}};
    return ox_run_elementwise(r, &kernels, 1, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_ceil(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(ceil)}};
    return ox_run_elementwise(r, &kernels, 1, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_cos(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(cos)}};
    return ox_run_elementwise(r, &kernels, 1, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_cosh(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(cosh)}};
    return ox_run_elementwise(r, &kernels, 1, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_exp(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(exp)}};
    return ox_run_elementwise(r, &kernels, 1, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_floor(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(floor)}};
    return ox_run_elementwise(r, &kernels, 1, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_log(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(log)}};
    return ox_run_elementwise(r, &kernels, 1, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_reciprocal(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(reciprocal)}};
    return ox_run_elementwise(r, &kernels, 1, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_round(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(round)}};
    return ox_run_elementwise(r, &kernels, 1, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_sin(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(sin)}};
    return ox_run_elementwise(r, &kernels, 1, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_sinh(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(sinh)}};
    return ox_run_elementwise(r, &kernels, 1, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_sqrt(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(sqrt)}};
    return ox_run_elementwise(r, &kernels, 1, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_tan(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(tan)}};
    return ox_run_elementwise(r, &kernels, 1, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_tanh(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels kernels = {{OX_KERNELS_FLOAT(tanh)}};
    return ox_run_elementwise(r, &kernels, 1, OX_UNDEFINED, NULL, err);
}

/* ---- Values that shape arithmetic passes through ------------------------------------------------------------------ */

static const struct ox_expr *value_abs(struct ox_infer *c, const struct ox_expr *const *v)
{
    int64_t bound;
    if (!v[0])
        return NULL;
    if (ox_expr_least(v[0], &bound) && bound >= 0)
        return v[0];
    return ox_infer_max(c, v[0], ox_infer_sub(c, ox_infer_num(c, 0), v[0]));
}

static const struct ox_expr *value_neg(struct ox_infer *c, const struct ox_expr *const *v)
{
    return ox_infer_sub(c, ox_infer_num(c, 0), v[0]);
}

static const struct ox_expr *value_sign(struct ox_infer *c, const struct ox_expr *const *v)
{
    int64_t bound;
    if (!v[0])
        return NULL;
    if (ox_infer_is_num(v[0], &bound))
        return ox_infer_num(c, (bound > 0) - (bound < 0));
    if (ox_expr_least(v[0], &bound) && bound > 0)
        return ox_infer_num(c, 1);
    if (ox_expr_greatest(v[0], &bound) && bound < 0)
        return ox_infer_num(c, -1);
    return NULL;
}

static const struct ox_expr *value_floor(struct ox_infer *c, const struct ox_expr *const *v)
{
    const struct ox_expr *over;
    int64_t under;
    return ox_expr_ratio_parts(v[0], &over, &under)
               ? ox_infer_floordiv(c, over, ox_infer_num(c, under))
               : NULL;
}

static const struct ox_expr *value_ceil(struct ox_infer *c, const struct ox_expr *const *v)
{
    const struct ox_expr *over;
    int64_t under;
    return ox_expr_ratio_parts(v[0], &over, &under)
               ? ox_infer_ceildiv(c, over, ox_infer_num(c, under))
               : NULL;
}

/* Round: of what is whole already. */
static const struct ox_expr *value_same(struct ox_infer *c, const struct ox_expr *const *v)
{
    (void)c;
    return v[0];
}

static const struct ox_expr *value_sqrt(struct ox_infer *c, const struct ox_expr *const *v)
{
    int64_t x;
    if (!ox_infer_is_num(v[0], &x) || x < 0 || x > (INT64_C(1) << 52))
        return NULL;
    double root = sqrt((double)x);
    return root == floor(root) ? ox_infer_num(c, (int64_t)root) : NULL;
}

static void infer_abs(struct ox_infer *c)
{
    ox_rule_same(c);
    ox_rule_map(c, 1, value_abs);
}

static void infer_neg(struct ox_infer *c)
{
    ox_rule_same(c);
    ox_rule_map(c, 1, value_neg);
}

static void infer_sign(struct ox_infer *c)
{
    ox_rule_same(c);
    ox_rule_map(c, 1, value_sign);
}

static void infer_floor(struct ox_infer *c)
{
    ox_rule_same(c);
    ox_rule_map_ratios(c, 1, value_floor);
}

static void infer_ceil(struct ox_infer *c)
{
    ox_rule_same(c);
    ox_rule_map_ratios(c, 1, value_ceil);
}

static void infer_round(struct ox_infer *c)
{
    ox_rule_same(c);
    ox_rule_map(c, 1, value_same);
}

static void infer_sqrt(struct ox_infer *c)
{
    ox_rule_same(c);
    ox_rule_map(c, 1, value_sqrt);
}

const struct ox_op ox_ops_elementwise_unary[] = {
    {"", "Abs", 1, .infer = infer_abs, .run = run_abs, .fast = ox_fast_unary},
    {"", "Acos", 7, .infer = ox_rule_same, .run = run_acos, .fast = ox_fast_unary},
    {"", "Acosh", 9, .infer = ox_rule_same, .run = run_acosh},
    {"", "Asin", 7, .infer = ox_rule_same, .run = run_asin, .fast = ox_fast_unary},
    {"", "Asinh", 9, .infer = ox_rule_same, .run = run_asinh},
    {"", "Atan", 7, .infer = ox_rule_same, .run = run_atan, .fast = ox_fast_unary},
    {"", "Atanh", 9, .infer = ox_rule_same, .run = run_atanh},
    {"", "Ceil", 1, OX_OP_DOUBLE, .infer = infer_ceil, .run = run_ceil, .fast = ox_fast_unary},
    {"", "Cos", 7, OX_OP_DOUBLE, .infer = ox_rule_same, .run = run_cos, .fast = ox_fast_unary},
    {"", "Cosh", 9, .infer = ox_rule_same, .run = run_cosh},
    {"", "Erf", 9, .infer = ox_rule_same, .run = run_erf, .fast = ox_fast_unary},
    {"", "Exp", 1, OX_OP_DOUBLE, .infer = ox_rule_same, .run = run_exp, .fast = ox_fast_unary},
    {"", "Floor", 1, OX_OP_DOUBLE, .infer = infer_floor, .run = run_floor, .fast = ox_fast_unary},
    {"", "Log", 1, OX_OP_DOUBLE, .infer = ox_rule_same, .run = run_log, .fast = ox_fast_unary},
    {"", "Neg", 1, .infer = infer_neg, .run = run_neg, .fast = ox_fast_unary},
    {"", "Reciprocal", 1, .infer = ox_rule_same, .run = run_reciprocal, .fast = ox_fast_unary},
    {"", "Round", 11, OX_OP_DOUBLE, .infer = infer_round, .run = run_round, .fast = ox_fast_unary},
    {"", "Sign", 9, OX_OP_HALF, .infer = infer_sign, .run = run_sign},
    {"", "Sin", 7, OX_OP_DOUBLE, .infer = ox_rule_same, .run = run_sin, .fast = ox_fast_unary},
    {"", "Sinh", 9, .infer = ox_rule_same, .run = run_sinh},
    {"", "Sqrt", 1, .infer = infer_sqrt, .run = run_sqrt, .fast = ox_fast_unary},
    {"", "Tan", 7, .infer = ox_rule_same, .run = run_tan},
    {"", "Tanh", 1, OX_OP_DOUBLE, .infer = ox_rule_same, .run = run_tanh, .fast = ox_fast_unary},
    {0}};
