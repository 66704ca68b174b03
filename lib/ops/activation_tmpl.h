/* Activations of a floating type. arg is a struct activation. NaN passes through, but where the standard's formula compares it
 * away. */
#define TI T
#define TO T

#define ALPHA const T alpha = (T)((const struct activation *)arg)->alpha;
#define BETA const T beta = (T)((const struct activation *)arg)->beta;

/* Without overflow on either side. */
static T N(sigmoid_of)(T x)
{
    T e = M(exp)(-M(fabs)(x));
    return (x < 0 ? e : 1) / (1 + e);
}

static T N(softplus_of)(T x)
{
    return M(log1p)(M(exp)(-M(fabs)(x))) + (x < 0 ? 0 : x);
}

static T N(hard_sigmoid_of)(T x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* max(0, x) + min(0, alpha * (exp(x / alpha) - 1)) */
static T N(celu_of)(T x, T alpha)
{
    T low = alpha * M(expm1)(x / alpha);
    return (x < 0 ? 0 : x) + (low > 0 ? 0 : low);
}

/* (1 + tanh u) / 2 is the sigmoid of 2 u, which does not cancel where u is far below 0. */
static T N(gelu_tanh_of)(T x)
{
    const T root_8_over_pi = (T)1.59576912160573071176;
    return x * N(sigmoid_of)(root_8_over_pi * (x + (T)0.044715 * x * x * x));
}

#define FN N(affine)
#define SETUP ALPHA BETA
#define OP(x) (alpha * (x) + beta)
#include "ops/unary_loop_tmpl.h"
#define FN N(celu)
#define SETUP ALPHA
#define OP(x) N(celu_of)((x), alpha)
#include "ops/unary_loop_tmpl.h"
#define FN N(elu)
#define SETUP ALPHA
#define OP(x) ((x) < 0 ? alpha * M(expm1)(x) : (x))
#include "ops/unary_loop_tmpl.h"
/* 1 + erf(x / sqrt 2) is erfc(-x / sqrt 2), which does not cancel where x is far below 0. */
#define FN N(gelu)
#define OP(x) ((T)0.5 * (x)*M(erfc)(-(x) * (T)0.70710678118654752440))
#include "ops/unary_loop_tmpl.h"
#define FN N(gelu_tanh)
#define OP(x) N(gelu_tanh_of)(x)
#include "ops/unary_loop_tmpl.h"
#define FN N(hard_sigmoid)
#define SETUP ALPHA BETA
#define OP(x) N(hard_sigmoid_of)(alpha * (x) + beta)
#include "ops/unary_loop_tmpl.h"
#define FN N(hard_swish)
#define OP(x) ((x)*N(hard_sigmoid_of)((x) / 6 + (T)0.5))
#include "ops/unary_loop_tmpl.h"
#define FN N(leaky_relu)
#define SETUP ALPHA
#define OP(x) ((x) < 0 ? alpha * (x) : (x))
#include "ops/unary_loop_tmpl.h"
#define FN N(mish)
#define OP(x) ((x)*M(tanh)(N(softplus_of)(x)))
#include "ops/unary_loop_tmpl.h"
#define FN N(parametric_softplus)
#define SETUP ALPHA BETA
#define OP(x) (alpha * N(softplus_of)(beta * (x)))
#include "ops/unary_loop_tmpl.h"
#define FN N(relu)
#define OP(x) ((x) < 0 ? 0 : (x))
#include "ops/unary_loop_tmpl.h"
#define FN N(scale)
#define SETUP ALPHA
#define OP(x) (alpha * (x))
#include "ops/unary_loop_tmpl.h"
#define FN N(scaled_tanh)
#define SETUP ALPHA BETA
#define OP(x) (alpha * M(tanh)(beta * (x)))
#include "ops/unary_loop_tmpl.h"
#define FN N(selu)
#define SETUP ALPHA BETA
#define OP(x) (beta * ((x) < 0 ? alpha * M(expm1)(x) : (x)))
#include "ops/unary_loop_tmpl.h"
#define FN N(shrink)
#define SETUP ALPHA BETA
#define OP(x) ((x) < -alpha ? (x) + beta : (x) > alpha ? (x)-beta : 0)
#include "ops/unary_loop_tmpl.h"
#define FN N(sigmoid)
#define OP(x) N(sigmoid_of)(x)
#include "ops/unary_loop_tmpl.h"
#define FN N(softplus)
#define OP(x) N(softplus_of)(x)
#include "ops/unary_loop_tmpl.h"
#define FN N(softsign)
#define OP(x) ((x) / (1 + M(fabs)(x)))
#include "ops/unary_loop_tmpl.h"
#define FN N(swish)
#define SETUP ALPHA
#define OP(x) ((x)*N(sigmoid_of)(alpha * (x)))
#include "ops/unary_loop_tmpl.h"
#define FN N(thresholded_relu)
#define SETUP ALPHA
#define OP(x) ((x) > alpha ? (x) : 0)
#include "ops/unary_loop_tmpl.h"

#undef ALPHA
#undef BETA
#undef TI
#undef TO
