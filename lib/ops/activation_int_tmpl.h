/* Relu (14) and Shrink (9) of an integer type. */
#define TI T
#define TO T

#if T_SIGNED
#define FN N(relu)
#define OP(x) ((x) < 0 ? 0 : (x))
#include "ops/unary_loop_tmpl.h"
#endif

/* Bound and bias are floats: compared in double; the result truncates and wraps. */
static T N(shrink_of)(T x, double lambd, double bias)
{
    double value = (double)x, shrunk;
    if (value < -lambd)
        shrunk = value + bias;
    else if (value > lambd)
        shrunk = value - bias;
    else
        return 0;
    return bias == 0 ? x : N(ox_whole)(shrunk);
}

#define FN N(shrink)
#define SETUP const struct activation *p = arg;
#define OP(x) N(shrink_of)((x), p->alpha, p->beta)
#include "ops/unary_loop_tmpl.h"

#undef TI
#undef TO
