#include "kernels/casts.h"

#include "kernels/casts_tmpl.h"

static const struct ox_cast *find(enum ox_cpu level, enum ox_dtype from, enum ox_dtype to)
{
#if defined(__x86_64__)
    if (level >= OX_CPU_AVX2)
        return ox_casts_avx2(from, to);
#endif
    (void)level;
    return casts_find(from, to);
}

/* Whether float32 on the way changes no result. It holds every 16-bit float and small integer; an integer that it rounds is
 * beyond float16 either way, but not beyond bfloat16. */
static bool may_pass_float(enum ox_dtype from, enum ox_dtype to)
{
    const bool small = from == OX_UINT8 || from == OX_INT8 || from == OX_BOOL ||
                       from == OX_UINT16 || from == OX_INT16;
    if (from == OX_FLOAT16 || from == OX_BFLOAT16)
        return from != to;
    if (to == OX_FLOAT16)
        return from != OX_FLOAT64;
    return to == OX_BFLOAT16 && small;
}

bool ox_cast_run(enum ox_cpu level, enum ox_dtype from, enum ox_dtype to, size_t n, const void *x,
                 void *y)
{
    enum { BLOCK = 1024 };
    const struct ox_cast *direct = find(level, from, to);
    if (direct) {
        direct->run(n, x, y);
        return true;
    }
    const struct ox_cast *first = find(level, from, OX_FLOAT32);
    const struct ox_cast *second = find(level, OX_FLOAT32, to);
    if (!first || !second || !may_pass_float(from, to))
        return false;
    const size_t x_bytes = ox_dtype_size(from), y_bytes = ox_dtype_size(to);
    float block[BLOCK];
    for (size_t at = 0; at < n; at += BLOCK) {
        const size_t part = n - at < BLOCK ? n - at : BLOCK;
        first->run(part, (const char *)x + at * x_bytes, block);
        second->run(part, block, (char *)y + at * y_bytes);
    }
    return true;
}
