/* What is done to a vector of sums before it leaves. Stamped for each vector width. */
#include "kernels/inline.h"

/* A whole vector, or its first m lanes. */
INLINE VF load_part(const float *p, bool some, size_t m)
{
    return some ? v_load_n(p, m) : v_load(p);
}

INLINE void store_part(float *p, bool some, size_t m, VF x)
{
    if (some)
        v_store_n(p, x, m);
    else
        v_store(p, x);
}

INLINE VF leaky(VF x, VF alpha)
{
    return v_select(v_lt(x, v_zero()), v_mul(x, alpha), x);
}

/* x = end(x) for lanes of row i at column j. */
INLINE VF ending(const struct ox_epilogue *end, VF x, size_t i, size_t j, bool some, size_t m)
{
    if (end->scale != 0)
        x = v_mul(x, v_set1(end->scale));
    if (end->col_bias)
        x = v_add(x, load_part(end->col_bias + j, some, m));
    if (end->row_bias)
        x = v_add(x, v_set1(end->row_bias[i]));
    if (end->residual && !end->residual_last) {
        x = v_add(x, load_part(end->residual + i * end->residual_ld + j, some, m));
    }
    if (end->act == OX_ACT_CLIP)
        x = v_min(v_set1(end->hi), v_max(v_set1(end->lo), x));
    else if (end->act == OX_ACT_LEAKY)
        x = leaky(x, v_set1(end->alpha));
    return x;
}
