/* Register tiles of 8-bit products: stamped for each vector width. The includer
 * defines IV (a vector of 32-bit lanes), IW (their number), IR (rows: 12),
 * iv_zero(), iv_load(p), iv_store(p, v), iv_set(x) and iv_dot(sum, x, b), which
 * adds to each lane the products of its four bytes, or two words, of x and b.
 * Where those want the left side less IV_LESS, iv_less(sum, b) adds b times -IV_LESS
 * and iv_sub(a, b) subtracts. Where tiles take an end, iv_start(t, k) is what part k of a tile's rows begins with and iv_end(t,
 * first, rows, parts, sum) lets those from `first` on leave. Parts are vectors of columns: two, or the first alone for no more columns than a vector has. Where
 * there are registers for it, the includer defines IP, 4, and two panels (or three vectors of them) are multiplied at a time by half of the
 * rows: that loads least for its products, and some processors load one vector in the time of two products.
 */
#include "kernels/inline.h"

#ifndef IP
#define IP 2
#endif
#ifndef IN
#define IN 2 /* vectors of a panel */
#endif
enum { INR = IN * IW, IPANELS = IP / IN };

/* Up to four bytes; those past the end are not read. */
INLINE int32_t four_bytes(const uint8_t *p, size_t n)
{
    int32_t x = 0;
    memcpy(&x, p, n);
    return x;
}

INLINE void int_step(const unsigned rows, const unsigned parts, const uint8_t *const *a, size_t p,
                     const size_t bytes, const char *b, size_t panel, IV (*sum)[IP])
{
    IV w[IP];
#pragma GCC unroll 4
    for (unsigned k = 0; k < parts; k++) {
        w[k] = iv_load(b + k / IN * panel + k % IN * sizeof(IV));
#ifdef IV_LESS
        sum[IR][k] = iv_less(sum[IR][k], w[k]);
#endif
    }
#pragma GCC unroll 16
    for (unsigned i = 0; i < rows; i++) {
        const IV x = iv_set(four_bytes(a[i] + p, bytes));
#pragma GCC unroll 4
        for (unsigned k = 0; k < parts; k++)
            sum[i][k] = iv_dot(sum[i][k], x, w[k]);
    }
}

/* A tile that is cut at the right. */
static void int_leave(const struct ox_integer_tile *t, int32_t *c, unsigned rows,
                      const IV (*sum)[IP])
{
    for (unsigned i = 0; i < rows; i++)
        memcpy(c + i * t->ldc, sum[i], t->cols * sizeof *t->c);
}

#ifndef iv_start
#define iv_start(t, k) iv_zero()
#endif

/* The sums of whole rows to where they belong. */
INLINE void int_put(const struct ox_integer_tile *t, const unsigned first, const unsigned rows,
                    const unsigned parts, IV (*sum)[IP])
{
    int32_t *c = t->c + first * t->ldc;
#ifdef iv_end
    if (t->end) {
        iv_end(t, first, rows, parts, sum);
        return;
    }
#endif
    if (t->cols < parts * IW) {
        IV all[IR][IP]; /* the sums' own address stays here, or they would live in
                      memory */
#pragma GCC unroll 16
        for (unsigned i = 0; i < rows; i++)
#pragma GCC unroll 4
            for (unsigned k = 0; k < parts; k++)
                all[i][k] = sum[i][k];
        int_leave(t, c, rows, (const IV(*)[IP])all);
        return;
    }
#pragma GCC unroll 16
    for (unsigned i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (unsigned k = 0; k < parts; k++)
            iv_store(c + i * t->ldc + k * IW, sum[i][k]);
}

/* What comes into the cache beside a step: with few rows, which are multiplied sooner than weights arrive, these far ahead; else a
 * line of what is multiplied later. */
INLINE void int_fetch(const unsigned rows, const unsigned parts, const char *b, size_t panel,
                      const char *later)
{
    enum { FEW = 2, AHEAD = 2048 };
    if (parts <= 2)
        return;
    if (rows > FEW) {
        __builtin_prefetch(later, 0, 2);
        return;
    }
#pragma GCC unroll 4
    for (unsigned k = 0; k < parts; k++)
        __builtin_prefetch(b + AHEAD + k / IN * panel + k % IN * sizeof(IV), 0, 3);
}

/* Rows `first` and on. */
INLINE void int_sum_up(const struct ox_integer_tile *t, const unsigned first, const unsigned rows,
                       const unsigned parts)
{
    enum { QUAD = IN * sizeof(IV) };
    const char *later = t->later ? t->later : t->b;
    if (parts > 2 && t->later && first)
        later += t->segments * (t->depth / 4) * t->later_step;
    const size_t further = t->later ? t->later_step : 0;
    IV sum[IR + 1][IP]; /* the last: what the others lack */
#pragma GCC unroll 4
    for (unsigned k = 0; k < parts; k++) {
        const IV start = iv_start(t, k);
#pragma GCC unroll 16
        for (unsigned i = 0; i < rows; i++)
            sum[i][k] = start;
        sum[IR][k] = iv_zero();
    }
    const char *b = t->b;
    const uint8_t *const *pointers = t->a + first;
    for (size_t s = t->segments; s > 0; s--, pointers += IR) {
        const uint8_t *a[IR];
#pragma GCC unroll 16
        for (unsigned i = 0; i < rows; i++)
            a[i] = pointers[i];
        size_t p = 0;
        for (; p + 4 <= t->depth; p += 4, b += QUAD, later += further) {
            int_fetch(rows, parts, b, t->panel, later);
            int_step(rows, parts, a, p, 4, b, t->panel, sum);
        }
        if (p < t->depth) {
            const size_t left = t->depth - p;
            if (left == 1)
                int_step(rows, parts, a, p, 1, b, t->panel, sum);
            else if (left == 2)
                int_step(rows, parts, a, p, 2, b, t->panel, sum);
            else
                int_step(rows, parts, a, p, 3, b, t->panel, sum);
            b += QUAD;
        }
    }
#ifdef IV_LESS
#pragma GCC unroll 16
    for (unsigned i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (unsigned k = 0; k < parts; k++)
            sum[i][k] = iv_sub(sum[i][k], sum[IR][k]);
#endif
    int_put(t, first, rows, parts, sum);
}

#define ROWS(n)                                                                                    \
    static void int_rows_##n(const struct ox_integer_tile *t)                                      \
    {                                                                                              \
        int_sum_up(t, 0, n, 2);                                                                    \
    }                                                                                              \
    static void int_narrow_##n(const struct ox_integer_tile *t)                                    \
    {                                                                                              \
        int_sum_up(t, 0, n, 1);                                                                    \
    }
ROWS(1)
ROWS(2)
ROWS(3)
ROWS(4)
ROWS(5)
ROWS(6)
ROWS(7)
ROWS(8)
ROWS(9)
ROWS(10)
ROWS(11)
ROWS(12)
#undef ROWS

static void (*const int_by_rows[IR])(const struct ox_integer_tile *t) = {
    int_rows_1, int_rows_2, int_rows_3, int_rows_4,  int_rows_5,  int_rows_6,
    int_rows_7, int_rows_8, int_rows_9, int_rows_10, int_rows_11, int_rows_12};
static void (*const int_narrow_by_rows[IR])(const struct ox_integer_tile *t) = {
    int_narrow_1, int_narrow_2, int_narrow_3, int_narrow_4,  int_narrow_5,  int_narrow_6,
    int_narrow_7, int_narrow_8, int_narrow_9, int_narrow_10, int_narrow_11, int_narrow_12};

#if IP == 4
#define WIDE(n)                                                                                    \
    static void int_wide_##n(const struct ox_integer_tile *t, unsigned first)                      \
    {                                                                                              \
        int_sum_up(t, first, n, IP);                                                               \
    }                                                                                              \
    static void int_three_##n(const struct ox_integer_tile *t, unsigned first)                     \
    {                                                                                              \
        int_sum_up(t, first, n, 3);                                                                \
    }
WIDE(1)
WIDE(2)
WIDE(3)
WIDE(4)
WIDE(5)
WIDE(6)
#undef WIDE

/* Of two panels; rows go by halves where they are more than there are registers for. */
static void int_wide(const struct ox_integer_tile *t)
{
    enum { MOST = IR / 2 };
    static void (*const by_rows[2][MOST])(const struct ox_integer_tile *t, unsigned first) = {
        {int_three_1, int_three_2, int_three_3, int_three_4, int_three_5, int_three_6},
        {int_wide_1, int_wide_2, int_wide_3, int_wide_4, int_wide_5, int_wide_6}};
    const unsigned half = t->rows <= MOST ? t->rows : (t->rows + 1) / 2;
    const bool all = t->cols > 3 * IW;
    by_rows[all][half - 1](t, 0);
    if (half < t->rows)
        by_rows[all][t->rows - half - 1](t, half);
}
#endif

static void int_tile(const struct ox_integer_tile *t)
{
#if IP == 4
    if (t->cols > INR) {
        int_wide(t);
        return;
    }
#endif
    if (t->cols <= IW)
        int_narrow_by_rows[t->rows - 1](t);
    else
        int_by_rows[t->rows - 1](t);
}
