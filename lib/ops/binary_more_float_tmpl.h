/* PRelu, SwiGLU and powers of a floating type. */
#define TA T
#define TB T
#define TO T

/* A function, so that slopes are read whatever the sign, and there is no branch. */
static inline T N(prelu_of)(T x, T slope)
{
    const T low = x * slope;
    return x < 0 ? low : x;
}

#define FN N(prelu)
#define OP(x, y) N(prelu_of)((x), (y))
#include "ops/binary_loop_tmpl.h"

#define FN N(pow_any)
#define OP(x, y) M(pow)((x), (y))
#include "ops/binary_loop_tmpl.h"

static void N(square_row)(const struct ox_row *row)
{
    const T *x = row->in[0];
    T *out = row->out;
    for (size_t i = 0; i < row->n; i++)
        out[i] = x[i] * x[i];
}

/* A single exponent of 2 is by far the most frequent; the product is its power rounded once. */
static void N(pow_same)(const struct ox_row *row, const void *arg)
{
    if (row->step[0] && !row->step[1] && *(const T *)row->in[1] == 2)
        N(square_row)(row);
    else
        N(pow_any)(row, arg);
}

#define FN N(swiglu)
#define SETUP const T alpha = (T) * (const double *)arg;
#define OP(x, y) ((x) / (1 + M(exp)(-alpha * (x))) * (y))
#include "ops/binary_loop_tmpl.h"

#undef TB
#define TB double
#define FN N(pow_any_double)
#define OP(x, y) pow((double)(x), (y))
#include "ops/binary_loop_tmpl.h"

static void N(pow_double)(const struct ox_row *row, const void *arg)
{
    if (row->step[0] && !row->step[1] && *(const double *)row->in[1] == 2)
        N(square_row)(row);
    else
        N(pow_any_double)(row, arg);
}

#undef TA
#undef TB
#undef TO
