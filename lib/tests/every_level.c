#include "tests/every_level.h"

#include <check.h>
#include <math.h>
#include <string.h>

#include "common/env.h"

char slow[MOST_BYTES], fast[MOST_BYTES];

size_t run_at(enum ox_cpu cpu, int level, const char *text, const struct given *in, void *out)
{
    struct text_run f;
    const struct ox_run_options options = {.level = level};
    ox_cpu_limit(cpu);
    text_must_plan(&f, text, &options);
    for (size_t i = 0; i < INPUTS && in[i].dtype; i++)
        text_give(&f, in[i].dtype, in[i].rank, in[i].dims, in[i].data);
    text_must_run(&f);
    const struct ox_tensor *y = ox_datum_get_tensor(f.out[0]);
    const size_t bytes = y->n * ox_dtype_size(y->dtype);
    ck_assert_uint_le(bytes, MOST_BYTES);
    if (bytes)
        memcpy(out, y->data, bytes);
    text_close(&f);
    ox_cpu_limit(ox_cpu_probe());
    return bytes;
}

size_t run_both(const char *text, const struct given *in)
{
    const size_t bytes = run_at(OX_CPU_C, 0, text, in, slow);
    ck_assert_uint_eq(run_at(ox_cpu_probe(), 2, text, in, fast), bytes);
    return bytes;
}

void same_bits(const char *text, const struct given *in)
{
    const size_t bytes = run_both(text, in);
    size_t at = 0;
    while (at < bytes && slow[at] == fast[at])
        at++;
    ck_assert_msg(at == bytes, "byte %zu of %zu: %s", at, bytes, text);
}

void same_floats(const char *text, const struct given *in, float reach)
{
    const size_t n = run_both(text, in) / sizeof(float);
    for (size_t i = 0; i < n; i++) {
        float x, y;
        memcpy(&x, slow + i * sizeof x, sizeof x);
        memcpy(&y, fast + i * sizeof y, sizeof y);
        if ((isnan(x) && isnan(y)) || x == y || fabsf(x - y) <= reach * (1 + fabsf(x)))
            continue;
        ck_abort_msg("%zu: %g, not %g: %s", i, (double)y, (double)x, text);
    }
}

const float *floats(struct dice *d, size_t n, bool hard)
{
    static float values[INPUTS][MOST];
    static unsigned next;
    float *x = values[next++ % INPUTS];
    const float odd[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f};
    ck_assert_uint_le(n, MOST);
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)dice_between(d, 0, 400) / 64 - 3;
        if (hard && !dice_between(d, 0, 60))
            x[i] = odd[dice_between(d, 0, OX_COUNT(odd) - 1)];
    }
    return x;
}
