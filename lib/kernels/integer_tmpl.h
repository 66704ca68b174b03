/* Register tiles of 8-bit products: stamped for each vector width. The includer
 * defines IV (a vector of 32-bit lanes), IW (their number), IR (rows: 12),
 * iv_zero(), iv_load(p), iv_store(p, v), iv_set(x) and iv_dot(sum, x, b), which
 * adds to each lane the products of its four bytes, or two words, of x and b.
 * Where those want the left side less IV_LESS, iv_less(sum, b) adds b times -IV_LESS
 * and iv_sub(a, b) subtracts. Where tiles take an end, iv_start(t, k) is what half k of a tile's rows begins with and iv_end(t, rows,
 * halves, sum) lets them leave. A tile of no more columns than a vector has forms the first half alone.
 */
#define INLINE static inline __attribute__((always_inline))
enum { INR = 2 * IW };

/* Up to four bytes; those past the end are not read. */
INLINE int32_t four_bytes(const uint8_t *p, size_t n)
{
    int32_t x = 0;
    memcpy(&x, p, n);
    return x;
}

INLINE void int_step(const unsigned rows, const unsigned halves, const uint8_t *const *a, size_t p,
                     const size_t bytes, const char *b, IV (*sum)[2])
{
    const IV b0 = iv_load(b), b1 = halves > 1 ? iv_load(b + sizeof(IV)) : b0;
#ifdef IV_LESS
    sum[IR][0] = iv_less(sum[IR][0], b0);
    if (halves > 1)
        sum[IR][1] = iv_less(sum[IR][1], b1);
#endif
#pragma GCC unroll 16
    for (unsigned i = 0; i < rows; i++) {
        const IV x = iv_set(four_bytes(a[i] + p, bytes));
        sum[i][0] = iv_dot(sum[i][0], x, b0);
        if (halves > 1)
            sum[i][1] = iv_dot(sum[i][1], x, b1);
    }
}

/* A tile that is cut at the right. */
static void int_leave(const struct ox_integer_tile *t, const IV (*sum)[2])
{
    for (unsigned i = 0; i < t->rows; i++)
        memcpy(t->c + i * t->ldc, sum[i], t->cols * sizeof *t->c);
}

#ifndef iv_start
#define iv_start(t, k) iv_zero()
#endif

/* The sums of whole rows to where they belong. */
INLINE void int_put(const struct ox_integer_tile *t, const unsigned rows, const unsigned halves,
                    IV (*sum)[2])
{
    (void)halves;
#ifdef iv_end
    if (t->end) {
        iv_end(t, rows, halves, sum);
        return;
    }
#endif
    if (t->cols < INR) {
        IV all[IR][2]; /* the sums' own address stays here, or they would live in
                      memory */
#pragma GCC unroll 16
        for (unsigned i = 0; i < rows; i++) {
            all[i][0] = sum[i][0];
            all[i][1] = sum[i][1];
        }
        int_leave(t, (const IV(*)[2])all);
        return;
    }
#pragma GCC unroll 16
    for (unsigned i = 0; i < rows; i++) {
        iv_store(t->c + i * t->ldc, sum[i][0]);
        iv_store(t->c + i * t->ldc + IW, sum[i][1]);
    }
}

INLINE void int_sum_up(const struct ox_integer_tile *t, const unsigned rows, const unsigned halves)
{
    enum { QUAD = 2 * sizeof(IV) };
    IV sum[IR + 1][2]; /* the last: what the others lack */
    const IV start[2] = {iv_start(t, 0), iv_start(t, 1)};
#pragma GCC unroll 16
    for (unsigned i = 0; i < rows; i++) {
        sum[i][0] = start[0];
        sum[i][1] = start[1];
    }
    sum[IR][0] = sum[IR][1] = iv_zero();
    const char *b = t->b;
    const uint8_t *const *pointers = t->a;
    for (size_t s = t->segments; s > 0; s--, pointers += IR) {
        const uint8_t *a[IR];
#pragma GCC unroll 16
        for (unsigned i = 0; i < rows; i++)
            a[i] = pointers[i];
        size_t p = 0;
        for (; p + 4 <= t->depth; p += 4, b += QUAD)
            int_step(rows, halves, a, p, 4, b, sum);
        if (p < t->depth) {
            const size_t left = t->depth - p;
            if (left == 1)
                int_step(rows, halves, a, p, 1, b, sum);
            else if (left == 2)
                int_step(rows, halves, a, p, 2, b, sum);
            else
                int_step(rows, halves, a, p, 3, b, sum);
            b += QUAD;
        }
    }
#ifdef IV_LESS
#pragma GCC unroll 16
    for (unsigned i = 0; i < rows; i++) {
        sum[i][0] = iv_sub(sum[i][0], sum[IR][0]);
        sum[i][1] = iv_sub(sum[i][1], sum[IR][1]);
    }
#endif
    int_put(t, rows, halves, sum);
}

#define ROWS(n)                                                                                    \
    static void int_rows_##n(const struct ox_integer_tile *t)                                      \
    {                                                                                              \
        int_sum_up(t, n, 2);                                                                       \
    }                                                                                              \
    static void int_narrow_##n(const struct ox_integer_tile *t)                                    \
    {                                                                                              \
        int_sum_up(t, n, 1);                                                                       \
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

static void int_tile(const struct ox_integer_tile *t)
{
    if (t->cols <= IW)
        int_narrow_by_rows[t->rows - 1](t);
    else
        int_by_rows[t->rows - 1](t);
}
