#include "tests/guarded.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 128, FILL = 0xa5 };

uint64_t dice_next(struct dice *d)
{
    d->state += 0x9e3779b97f4a7c15u;
    uint64_t x = d->state;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

size_t dice_between(struct dice *d, size_t low, size_t high)
{
    return low + (size_t)(dice_next(d) % (high - low + 1));
}

float dice_float(struct dice *d)
{
    return (float)((double)(int64_t)(dice_next(d) >> 40) / (double)(1 << 23) - 1);
}

struct guarded guarded_new(struct dice *d, size_t n, bool offset)
{
    const size_t shift = offset ? dice_between(d, 0, 15) : 0;
    const size_t bytes = ((n + shift) * sizeof(float) + 2 * GUARD + 63) / 64 * 64;
    struct guarded g = {.n = n, .block = aligned_alloc(64, bytes)};
    ck_assert_ptr_nonnull(g.block);
    memset(g.block, FILL, bytes);
    g.at = (float *)(void *)(g.block + GUARD) + shift;
    for (size_t i = 0; i < n; i++)
        g.at[i] = dice_float(d);
    return g;
}

void guarded_free(struct guarded *g)
{
    const unsigned char *before = g->block, *first = (const unsigned char *)g->at;
    const unsigned char *after = (const unsigned char *)(g->at + g->n);
    for (const unsigned char *p = before; p < first; p++)
        ck_assert_msg(*p == FILL, "changed %td bytes before the buffer", first - p);
    for (size_t i = 0; i < GUARD - 64; i++)
        ck_assert_msg(after[i] == FILL, "changed %zu bytes after the buffer", i);
    free(g->block);
    g->block = NULL;
}
