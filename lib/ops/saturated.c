#include "ops/saturated.h"

static int32_t beyond(int32_t pair)
{
    return pair > INT16_MAX ? INT16_MAX - pair : pair < INT16_MIN ? INT16_MIN - pair : 0;
}

void ox_saturate(const struct ox_saturated *s, double scale, const double *by, size_t step,
                 double *c)
{
    for (size_t i = 0; i < s->m; i++) {
        for (size_t p = 0; p + 1 < s->k; p += 2) {
            const int32_t x = s->a[i * s->k + p], y = s->a[i * s->k + p + 1];
            const int8_t *u = s->b + p * s->n, *v = u + s->n;
            for (size_t j = 0; j < s->n; j++) {
                const int32_t lost = beyond(x * u[j] + y * v[j]);
                if (lost)
                    c[i * s->n + j] += scale * (by ? by[j * step] : 1) * lost;
            }
        }
    }
}
