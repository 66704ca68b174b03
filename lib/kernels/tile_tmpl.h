/* Register tiles: sums of a few rows by one panel or two of packed weights. Stamped for each vector width, after ends_tmpl.h. */

/* Where the panels are read that fill some vectors: a pointer each. */
struct panels {
    const float *at[PANELS];
};

INLINE struct panels panels_of(const float *b, size_t panel)
{
    struct panels x;
    for (unsigned i = 0; i < PANELS; i++)
        x.at[i] = b + i * panel;
    return x;
}

/* The compiler is kept from making one pointer and many offsets of them. */
INLINE void go_on(struct panels *b, const unsigned vecs, size_t by)
{
#pragma GCC unroll 2
    for (unsigned i = 0; 2 * i < vecs; i++) {
        b->at[i] += by;
        __asm__("" : "+r"(b->at[i]));
    }
}

/* Vectors of row p of the panels. */
INLINE void load_row(const unsigned vecs, const struct panels *b, size_t p, VF *row)
{
#pragma GCC unroll 4
    for (unsigned v = 0; v < vecs; v++) {
        row[v] = v_load(b->at[v / 2] + p * NR + v % 2 * VW);
#ifdef v_in_register
        v_in_register(&row[v]);
#endif
    }
}

/* sum += a[i][p] * row u of b. */
INLINE void step(const unsigned rows, const unsigned vecs, const float *const *a, size_t p,
                 const struct panels *b, size_t u, VF (*sum)[VECS])
{
    VF row[VECS];
    load_row(vecs, b, u, row);
#pragma GCC unroll 16
    for (unsigned i = 0; i < rows; i++) {
        const VF x = v_set1(a[i][p]);
#pragma GCC unroll 4
        for (unsigned v = 0; v < vecs; v++)
            v_accumulate(&sum[i][v], x, row[v]);
    }
}

/* Rows at equal steps: a pointer for each two of them, of which an instruction takes the first as it is and the second at an index.
 * More instructions a step, or pointers kept in memory, cost where the core is shared with a neighbour. */
enum { PAIRS = (ROWS_MOST + 1) / 2 };

struct pairs {
    const float *at[PAIRS];
    size_t apart;
};

INLINE struct pairs pairs_of(const float *a, size_t apart, const unsigned rows)
{
    struct pairs x;
#pragma GCC unroll 8
    for (unsigned i = 0; i < (rows + 1) / 2; i++)
        x.at[i] = a + 2 * i * apart;
    x.apart = apart;
    return x;
}

INLINE void advance(struct pairs *a, const unsigned rows, size_t by)
{
#pragma GCC unroll 8
    for (unsigned i = 0; i < (rows + 1) / 2; i++) {
        a->at[i] += by;
        __asm__("" : "+r"(a->at[i]));
    }
}

/* Columns: whole vectors, whether of the last one only the first half is wanted, and whether the halves of two rows go together. */
struct across {
    unsigned vecs;
    bool half, paired;
};

#ifdef v_twice
/* One vector and half of another: sums of the halves of two rows are side by side, with those of the first. */
INLINE void paired_step(const unsigned rows, const struct pairs *a, const size_t p,
                        const struct panels *b, VF (*sum)[VECS])
{
    VF whole = v_load(b->at[0] + p * NR), half = v_twice(b->at[0] + p * NR + VW);
    v_in_register(&whole);
    v_in_register(&half);
#pragma GCC unroll 8
    for (unsigned i = 0; i < rows; i += 2) {
        const float *at = a->at[i / 2] + p;
        const bool two = i + 1 < rows;
        const VF x = v_set1(*at), y = two ? v_set1(at[a->apart]) : x;
        v_accumulate(&sum[i][0], x, whole);
        if (two)
            v_accumulate(&sum[i + 1][0], y, whole);
        v_accumulate(&sum[i][1], two ? v_halves(x, y) : x, half);
    }
}

INLINE void part_pairs(const unsigned rows, VF (*sum)[VECS])
{
#pragma GCC unroll 8
    for (unsigned i = 1; i < rows; i += 2)
        sum[i][1] = v_second_half(sum[i - 1][1]);
}
#endif

/* The same as step(), of p of both. */
INLINE void even_step(const unsigned rows, const struct across to, const struct pairs *a,
                      const size_t p, const struct panels *b, VF (*sum)[VECS])
{
#ifdef v_twice
    if (to.paired) {
        paired_step(rows, a, p, b, sum);
        return;
    }
#endif
    VF row[VECS];
    load_row(to.vecs, b, p, row);
#pragma GCC unroll 16
    for (unsigned i = 0; i < rows; i++) {
        const float *at = a->at[i / 2] + p + (i % 2 ? a->apart : 0);
#ifdef v_accumulate_half
        if (to.half && to.vecs == 1) {
            v_accumulate_half_at(&sum[i][0], at, row[0]);
            continue;
        }
#endif
        const VF x = v_set1(*at);
#pragma GCC unroll 4
        for (unsigned v = 0; v < to.vecs; v++) {
#ifdef v_accumulate_half
            if (to.half && v + 1 == to.vecs) {
                v_accumulate_half(&sum[i][v], x, row[v]);
                continue;
            }
#endif
            v_accumulate(&sum[i][v], x, row[v]);
        }
    }
}

/* The weights of a step that comes soon. */
INLINE void near(const unsigned vecs, const struct panels *b, size_t p)
{
#pragma GCC unroll 4
    for (unsigned v = 0; v < vecs; v += VW < 16 ? 2 : 1)
        __builtin_prefetch(b->at[v / 2] + p * NR + AHEAD + v % 2 * VW, 0, 3);
}

/* The lines of so many bytes, at most eight, towards L2. */
INLINE void come_nearer(const char *next, size_t bytes)
{
    enum { BYTES = LINE * sizeof(float) };
    __builtin_prefetch(next, 0, 2);
    if (bytes > BYTES) {
        __builtin_prefetch(next + BYTES, 0, 2);
        if (bytes > 2 * BYTES) {
#pragma GCC unroll 8
            for (unsigned i = 2; i < 4; i++)
                __builtin_prefetch(next + i * BYTES, 0, 2);
            if (bytes > 4 * BYTES) {
#pragma GCC unroll 8
                for (unsigned i = 4; i < 8; i++)
                    __builtin_prefetch(next + i * BYTES, 0, 2);
            }
        }
    }
}

/* Columns of as many panels as the vectors fill. */
INLINE void tile_panel(const struct ox_tile *t, const unsigned rows, const unsigned vecs,
                       size_t first, const float *weights, bool common)
{
    VF sum[MR][VECS];
    clear(rows, vecs, sum);
    const float *const *pointers = t->a;
    const size_t depth = t->depth, bytes = UNROLL * t->ahead_step;
    const size_t panel = t->panel * sizeof *weights;
    struct panels b = panels_of(weights, t->panel);
    const char *next = (const char *)weights + t->ahead;
    expect(t, rows, vecs, first);
    for (size_t s = t->segments; s > 0; s--, pointers += MR) {
        const float *a[POINTERS];
#pragma GCC unroll 16
        for (unsigned i = 0; i < rows; i++)
            a[i] = pointers[i];
        size_t p = 0;
        for (; p + UNROLL <= depth; p += UNROLL, go_on(&b, vecs, UNROLL * NR)) {
            come_nearer(next, bytes);
            if (vecs > 2)
                come_nearer(next + panel, bytes);
            next += bytes;
            if (ROWS_AHEAD && t->follow && p % LINE == 0) {
#pragma GCC unroll 16
                for (unsigned i = 0; i < rows; i++)
                    __builtin_prefetch(pointers[MR + i] + p, 0, 3);
            }
#pragma GCC unroll 4
            for (unsigned u = 0; u < UNROLL; u++) {
                if (vecs <= 2)
                    near(vecs, &b, u);
                step(rows, vecs, a, p + u, &b, u, sum);
            }
        }
        for (; p < depth; p++, go_on(&b, vecs, NR)) {
            __builtin_prefetch(next, 0, 2);
            next += bytes / UNROLL;
            step(rows, vecs, a, p, &b, 0, sum);
        }
    }
    leave_panel(t, rows, vecs, first, common, sum);
}

/* Of one panel, more rows than there are registers for their addresses: rows at equal steps do without. */
INLINE void even_panel(const struct ox_tile *t, const unsigned rows, const unsigned vecs,
                       size_t first, const float *weights, bool common)
{
    VF sum[MR][VECS];
    clear(rows, vecs, sum);
    struct pairs a = pairs_of(t->a[0], (size_t)(t->a[1] - t->a[0]), rows);
    struct panels b = panels_of(weights, 0);
    const size_t next_step = t->ahead_step;
    const char *next = (const char *)weights + t->ahead;
    expect(t, rows, vecs, first);
    for (size_t p = t->depth; p > 0; p--, go_on(&b, vecs, NR)) {
        near(vecs, &b, 0);
        __builtin_prefetch(next, 0, 2);
        next += next_step;
        even_step(rows, (struct across){.vecs = vecs}, &a, 0, &b, sum);
        advance(&a, rows, 1);
    }
    leave_panel(t, rows, vecs, first, common, sum);
}

INLINE bool is_even(const struct ox_tile *t)
{
    if (t->segments != 1)
        return false;
    for (unsigned i = 2; i < t->rows; i++)
        if ((uintptr_t)t->a[i] - (uintptr_t)t->a[i - 1] != (uintptr_t)t->a[1] - (uintptr_t)t->a[0])
            return false;
    return true;
}

/* Rows whose addresses are in registers. */
INLINE void tile_rows(const struct ox_tile *t, const unsigned rows)
{
    const bool common = is_common(t->end), wide = PANELS > 1 && rows <= WIDE_ROWS;
    const float *b = t->b;
    unsigned panels;
    for (size_t j = 0; j < t->cols; j += panels * NR, b += panels * t->panel) {
        const size_t left = t->cols - j;
        panels = wide && left > NR ? 2 : 1;
        if (wide && left > 3 * VW)
            tile_panel(t, rows, VECS, j, b, common);
        else if (wide && left > NR)
            tile_panel(t, rows, VECS - 1, j, b, common);
        else if (left > VW)
            tile_panel(t, rows, 2, j, b, common);
        else
            tile_panel(t, rows, 1, j, b, common);
    }
}

INLINE void even_rows(const struct ox_tile *t, const unsigned rows)
{
    const bool common = is_common(t->end);
    const float *b = t->b;
    for (size_t j = 0; j < t->cols; j += NR, b += t->panel) {
        if (t->cols - j > VW)
            even_panel(t, rows, 2, j, b, common);
        else
            even_panel(t, rows, 1, j, b, common);
    }
}

#define LOW(m) m(1) m(2) m(3) m(4) m(5) m(6)
#define HIGH(m) m(7) m(8) m(9) m(10) m(11) m(12)
#define LOWS(name) name##_1, name##_2, name##_3, name##_4, name##_5, name##_6
#define HIGHS(name) name##_7, name##_8, name##_9, name##_10, name##_11, name##_12

/* A function for each number of rows. */
#define TILE(n)                                                                                    \
    static void tile_##n(const struct ox_tile *t)                                                  \
    {                                                                                              \
        tile_rows(t, n);                                                                           \
    }
#define EVEN(n)                                                                                    \
    static void even_##n(const struct ox_tile *t)                                                  \
    {                                                                                              \
        even_rows(t, n);                                                                           \
    }

LOW(TILE)
#if MR > 6
HIGH(EVEN)
static void (*const evens[])(const struct ox_tile *t) = {HIGHS(even)};
#endif
#if POINTERS > 6
HIGH(TILE)
static void (*const tiles[])(const struct ox_tile *t) = {LOWS(tile), HIGHS(tile)};
#else
static void (*const tiles[])(const struct ox_tile *t) = {LOWS(tile)};
#endif
#undef TILE
#undef EVEN

#if MR > 6
/* Two tiles of half the rows; the first brings nearer what is read later. */
static void tile_in_two(const struct ox_tile *t)
{
    struct ox_tile part = *t;
    struct ox_epilogue end;
    part.rows = t->rows - t->rows / 2;
    tiles[part.rows - 1](&part);
    if (t->end) {
        end = ox_end_at(t->end, part.rows, 0);
        part.end = &end;
    }
    part.a += part.rows;
    part.c += part.rows * t->ldc;
    part.rows = t->rows / 2;
    part.ahead_step = 0;
    tiles[part.rows - 1](&part);
}

static void tile(const struct ox_tile *t)
{
    if (t->rows <= 6)
        tiles[t->rows - 1](t);
    else if (PANELS > 1 && t->cols > NR)
        tile_in_two(t);
    else if (is_even(t))
        evens[t->rows - 7](t);
    else if (t->rows > POINTERS)
        tile_in_two(t);
    else
        tiles[t->rows - 1](t);
}
#else
static void tile(const struct ox_tile *t)
{
    tiles[t->rows - 1](t);
}
#endif
