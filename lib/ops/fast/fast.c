#include "ops/fast/fast.h"

#include <string.h>

#include "kernels/dense.h"

const struct ox_rows *ox_fast_rows(void)
{
    return ox_rows(ox_cpu());
}

const struct ox_tensor *ox_fast_in(const struct ox_run *r, size_t i)
{
    const struct ox_tensor *in = ox_run_in(r, i);
    return in && in->dtype == OX_FLOAT32 ? in : NULL;
}

bool ox_fast_finite(size_t n, const float *x)
{
    const uint32_t exponent = 0x7f800000;
    uint32_t found = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        found |= (bits & exponent) == exponent;
    }
    return !found;
}

struct spread {
    size_t n, grain;
    void (*task)(void *arg, size_t from, size_t to);
    void *arg;
};

static void spread_task(void *arg, size_t i, size_t slot)
{
    const struct spread *s = arg;
    (void)slot;
    size_t from = i * s->grain;
    s->task(s->arg, from, s->n - from < s->grain ? s->n : from + s->grain);
}

void ox_fast_spread(struct ox_env *env, size_t n, size_t grain, double ns,
                    void (*task)(void *arg, size_t from, size_t to), void *arg)
{
    const double flops_a_ns = 80; /* in which ox_spread() counts */
    struct spread s = {n, grain ? grain : 1, task, arg};
    if (n)
        ox_spread(env, (n - 1) / s.grain + 1, (double)n * ns * flops_a_ns, spread_task, &s);
}
