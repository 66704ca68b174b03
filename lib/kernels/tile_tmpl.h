/* Register tiles, products of few rows, and what ends a row: stamped for each
 * vector width. The includer has included vec_<isa>.h and defines MR, PANELS (that are summed at once where there are more than
 * one) and POINTERS (rows whose addresses all fit into registers); NR is two vectors. */
#include "kernels/inline.h"

enum { NR = 2 * VW, LINE = 16, FAR = 128, PACK_AHEAD = 12, UNROLL = 4 };
/* Two panels at once take half as many rows, and fewer loads for as many products: where a core does two products a cycle but loads
 * one vector, it is the loads that count. */
enum { VECS = 2 * PANELS, WIDE_ROWS = MR / PANELS };

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

/* The sums of `vecs` vectors on their way to c; columns from `first` on. */
static void leave(const struct ox_tile *t, const unsigned rows, const unsigned vecs, size_t first,
                  const VF (*sums)[VECS])
{
    for (unsigned i = 0; i < rows; i++) {
        for (unsigned v = 0; v < vecs && first + v * VW < t->cols; v++) {
            const size_t j = first + v * VW, left = t->cols - j;
            const bool some = left < VW;
            const size_t m = some ? left : VW;
            float *to = t->c + i * t->ldc + j;
            VF x = sums[i][v];
            if (t->add)
                x = v_add(x, load_part(to, some, m));
            if (t->end)
                x = ending(t->end, x, i, j, some, m);
            store_part(to, some, m, x);
        }
    }
}

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
    for (unsigned v = 0; v < vecs; v++)
        row[v] = v_load(b->at[v / 2] + p * NR + v % 2 * VW);
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
enum { PAIRS = (MR + 1) / 2 };

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

/* Columns: whole vectors, and whether of the last one only the first half is wanted. */
struct across {
    unsigned vecs;
    bool half;
};

/* The same as step(), of p of both. */
INLINE void even_step(const unsigned rows, const struct across to, const struct pairs *a,
                      const size_t p, const struct panels *b, VF (*sum)[VECS])
{
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

#ifdef v_load_quarters
/* UNROLL steps of even_step() for one vector, which has a float to load for each of its products: of five rows in twelve four floats
 * are loaded at once and spread by the unit that has time to, so that loads and products take equally long. */
INLINE void even_steps(const unsigned rows, const struct pairs *a, const struct panels *b,
                       VF (*sum)[VECS])
{
    VF quarters[MR];
#pragma GCC unroll 16
    for (unsigned i = 0; i < rows; i++) {
        if (i * 5 % 12 < 5)
            quarters[i] = v_load_quarters(a->at[i / 2] + (i % 2 ? a->apart : 0));
    }
#pragma GCC unroll 4
    for (unsigned u = 0; u < UNROLL; u++) {
        const VF row = v_load(b->at[0] + u * NR);
#pragma GCC unroll 16
        for (unsigned i = 0; i < rows; i++) {
            const VF x = i * 5 % 12 < 5 ? v_spread_quarters(quarters[i], u)
                                        : v_set1(a->at[i / 2][u + (i % 2 ? a->apart : 0)]);
            v_accumulate(&sum[i][0], x, row);
        }
    }
}
#endif

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

/* The common ends of `vecs` vectors, in registers: bias, residual, limits or LeakyRelu. Of its last vector the first m lanes. */
INLINE void leave_common(const struct ox_tile *t, const unsigned rows, const unsigned vecs,
                         size_t first, const bool some, const size_t m, VF (*sum)[VECS])
{
    const unsigned last = some ? vecs - 1 : vecs;
    const struct ox_epilogue *end = t->end;
    const bool clip = end && end->act == OX_ACT_CLIP;
    const float *r = end && end->residual && !end->residual_last ? end->residual + first : NULL;
    float *c = t->c + first;
    if (t->add) {
#pragma GCC unroll 16
        for (unsigned i = 0; i < rows; i++) {
#pragma GCC unroll 4
            for (unsigned v = 0; v < vecs; v++)
                sum[i][v] = v_add(sum[i][v], load_part(c + i * t->ldc + v * VW, v == last, m));
        }
    }
    if (end && end->col_bias) {
#pragma GCC unroll 4
        for (unsigned v = 0; v < vecs; v++) {
            const VF bias = load_part(end->col_bias + first + v * VW, v == last, m);
#pragma GCC unroll 16
            for (unsigned i = 0; i < rows; i++)
                sum[i][v] = v_add(sum[i][v], bias);
        }
    }
    if (r) {
#pragma GCC unroll 16
        for (unsigned i = 0; i < rows; i++, r += end->residual_ld) {
#pragma GCC unroll 4
            for (unsigned v = 0; v < vecs; v++)
                sum[i][v] = v_add(sum[i][v], load_part(r + v * VW, v == last, m));
        }
    }
    if (clip) {
        const VF lo = v_set1(end->lo), hi = v_set1(end->hi);
#pragma GCC unroll 16
        for (unsigned i = 0; i < rows; i++) {
#pragma GCC unroll 4
            for (unsigned v = 0; v < vecs; v++)
                sum[i][v] = v_max(lo, sum[i][v]);
        }
        if (end->hi != INFINITY) {
#pragma GCC unroll 16
            for (unsigned i = 0; i < rows; i++) {
#pragma GCC unroll 4
                for (unsigned v = 0; v < vecs; v++)
                    sum[i][v] = v_min(hi, sum[i][v]);
            }
        }
    } else if (end && end->act == OX_ACT_LEAKY) {
        const VF alpha = v_set1(end->alpha);
#pragma GCC unroll 16
        for (unsigned i = 0; i < rows; i++) {
#pragma GCC unroll 4
            for (unsigned v = 0; v < vecs; v++)
                sum[i][v] = leaky(sum[i][v], alpha);
        }
    }
#pragma GCC unroll 16
    for (unsigned i = 0; i < rows; i++, c += t->ldc) {
#pragma GCC unroll 4
        for (unsigned v = 0; v < vecs; v++)
            store_part(c + v * VW, v == last, m, sum[i][v]);
    }
}

/* Of columns that need nothing rare the sums never leave their registers. */
INLINE void leave_panel(const struct ox_tile *t, const unsigned rows, const unsigned vecs,
                        size_t first, bool common, VF (*sum)[VECS])
{
    const size_t left = t->cols - first;
    if (common && left >= vecs * VW) {
        leave_common(t, rows, vecs, first, false, VW, sum);
        return;
    }
    if (common) {
        leave_common(t, rows, vecs, first, true, left - (vecs - 1) * VW, sum);
        return;
    }
    VF sums[MR][VECS];
#pragma GCC unroll 16
    for (unsigned i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (unsigned v = 0; v < vecs; v++)
            sums[i][v] = sum[i][v];
    }
    leave(t, rows, vecs, first, (const VF(*)[VECS])sums);
}

INLINE bool is_common(const struct ox_epilogue *end)
{
    return !end || (end->scale == 0 && !end->row_bias);
}

INLINE void clear(const unsigned rows, const unsigned vecs, VF (*sum)[VECS])
{
#pragma GCC unroll 16
    for (unsigned i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (unsigned v = 0; v < vecs; v++)
            sum[i][v] = v_zero();
    }
}

/* Where the sums will go, and what is added to them, comes nearer while they are summed. */
INLINE void expect(const struct ox_tile *t, const unsigned rows, const unsigned vecs, size_t first)
{
    const float *c = t->c + first;
#pragma GCC unroll 16
    for (unsigned i = 0; i < rows; i++, c += t->ldc) {
#pragma GCC unroll 4
        for (unsigned v = 0; v < vecs; v += VW < 16 ? 2 : 1)
            __builtin_prefetch(c + v * VW, 1);
    }
    if (t->end && t->end->residual) {
        const float *r = t->end->residual + first;
#pragma GCC unroll 16
        for (unsigned i = 0; i < rows; i++, r += t->end->residual_ld) {
#pragma GCC unroll 4
            for (unsigned v = 0; v < vecs; v += VW < 16 ? 2 : 1)
                __builtin_prefetch(r + v * VW);
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
        even_step(rows, (struct across){vecs, false}, &a, 0, &b, sum);
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

/* What the next tile reads, where its sums will go and what is added to them. Its lines come nearer a row at a time while this tile is
 * summed: asked for all at once they would keep weights waiting, and so late that the stores wait for them. */
struct soon {
    const float *c, *residual; /* NULL: none */
    size_t ldc, residual_ld;
    size_t every, left;   /* steps of UNROLL from row to row, and until the next one */
    const float *a, *row; /* the rest of a row, and the row behind it; NULL: they are near */
    size_t step;
};

INLINE struct soon soon_of(const struct ox_line *l, const struct ox_tile *t, const unsigned rows,
                           size_t x0, size_t first, size_t every)
{
    const struct ox_epilogue *end = t->end;
    struct soon x = {.c = t->c + first + rows * t->ldc, .ldc = t->ldc, .every = every};
    if (l->fetch && first == 0) {
        x.row = l->row[0] + (x0 + rows) * l->step;
        x.step = l->step;
    }
    if (end && end->residual) {
        x.residual = end->residual + first + rows * end->residual_ld;
        x.residual_ld = end->residual_ld;
    }
    return x;
}

INLINE void soon_row(struct soon *x, const unsigned rows, const unsigned vecs)
{
    __asm__("" : "+m"(*x)); /* registers are for tiles */
    if (x->a) {
#pragma GCC unroll 4
        for (unsigned i = 0; i < rows * UNROLL; i += LINE)
            __builtin_prefetch(x->a + i, 0, 2);
        x->a += rows * UNROLL;
    }
    if (x->left-- > 0)
        return;
    if (x->row) {
        x->a = x->row;
        x->row += x->step;
    }
    x->left = x->every - 1;
#pragma GCC unroll 4
    for (unsigned v = 0; v < vecs; v += VW < 16 ? 2 : 1)
        __builtin_prefetch(x->c + v * VW, 1);
    x->c += x->ldc;
    if (x->residual) {
#pragma GCC unroll 4
        for (unsigned v = 0; v < vecs; v += VW < 16 ? 2 : 1)
            __builtin_prefetch(x->residual + v * VW, 0, 2);
        x->residual += x->residual_ld;
    }
}

INLINE void line_steps(const unsigned rows, const struct across to, const struct pairs *a,
                       const struct panels *b, VF (*sum)[VECS])
{
#ifdef v_load_quarters
    if (to.vecs == 1 && !to.half) {
        even_steps(rows, a, b, sum);
        return;
    }
#endif
#pragma GCC unroll 4
    for (unsigned u = 0; u < UNROLL; u++)
        even_step(rows, to, a, u, b, sum);
}

/* Runs of a line for outputs [x, x + rows). Two pointers serve six rows: the others are at equal steps. `next` are weights that are
 * read later, `bytes` of them for UNROLL steps of a run, and as many a panel behind them. */
INLINE void line_sums(const struct ox_line *l, const unsigned rows, const struct across to,
                      size_t x, const float *weights, const char *next, size_t bytes,
                      struct soon *soon, VF (*sum)[VECS])
{
    const size_t run = l->run, step = l->step, panel = l->panel * sizeof *weights;
    struct panels b = panels_of(weights, l->panel);
    for (unsigned r = 0; r < l->rows; r++) {
        struct pairs a = pairs_of(l->row[r] + x * step, step, rows);
        size_t p = run;
        for (; p >= UNROLL; p -= UNROLL, go_on(&b, to.vecs, UNROLL * NR)) {
            if (soon)
                soon_row(soon, rows, to.vecs);
            come_nearer(next, bytes);
            if (to.vecs > 2)
                come_nearer(next + panel, bytes);
            next += bytes;
            line_steps(rows, to, &a, &b, sum);
            advance(&a, rows, UNROLL);
        }
        for (; p > 0; p--, go_on(&b, to.vecs, NR)) {
            even_step(rows, to, &a, 0, &b, sum);
            advance(&a, rows, 1);
        }
    }
}

/* `every`: steps until the next tile's rows come nearer, one by one; 0: this one's do, all at once. */
INLINE void line_panel(const struct ox_line *l, const struct ox_tile *out, const unsigned rows,
                       const struct across to, size_t x, size_t first, const float *weights,
                       bool common, const char *next, size_t bytes, size_t every)
{
    VF sum[MR][VECS];
    clear(rows, to.vecs, sum);
    if (!every) {
        expect(out, rows, to.vecs, first);
        line_sums(l, rows, to, x, weights, next, bytes, NULL, sum);
    } else {
        struct soon soon = soon_of(l, out, rows, x, first, every);
        line_sums(l, rows, to, x, weights, next, bytes, &soon, sum);
    }
    leave_panel(out, rows, to.vecs, first, common, sum);
}

/* The same of one run and one panel for few rows, which wait for the weights alone: a core reads more of them from far away when it
 * follows several parts of a run at once, and when the sums of all rows are made as they come. */
INLINE void few_panel(const struct ox_line *l, const struct ox_tile *out, const unsigned rows,
                      const struct across to, size_t first, const float *weights, bool common)
{
    enum { PARTS = 4, SOON = 256 };
    VF sum[MR][VECS];
    clear(rows, to.vecs, sum);
    const size_t part = l->run / PARTS;
    struct panels b = panels_of(weights, 0);
    struct pairs a = pairs_of(l->row[0], l->step, rows);
    expect(out, rows, to.vecs, first);
    for (size_t p = part, n; p > 0; p -= n) {
        n = p < UNROLL ? 1 : UNROLL;
        for (unsigned i = 0; i < PARTS; i++) {
            if (n == UNROLL) {
#pragma GCC unroll 16
                for (unsigned j = SOON; j < SOON + UNROLL * NR; j += LINE)
                    __builtin_prefetch(b.at[0] + j, 0, 3);
#pragma GCC unroll 4
                for (unsigned u = 0; u < UNROLL; u++)
                    even_step(rows, to, &a, u, &b, sum);
            } else {
                even_step(rows, to, &a, 0, &b, sum);
            }
            go_on(&b, to.vecs, part * NR);
            advance(&a, rows, part);
        }
        go_on(&b, to.vecs, (n - PARTS * part) * NR);
        advance(&a, rows, n - PARTS * part);
    }
    go_on(&b, to.vecs, (PARTS - 1) * part * NR);
    advance(&a, rows, (PARTS - 1) * part);
    for (size_t p = PARTS * part; p < l->run; p++, go_on(&b, to.vecs, NR)) {
        even_step(rows, to, &a, 0, &b, sum);
        advance(&a, rows, 1);
    }
    leave_panel(out, rows, to.vecs, first, common, sum);
}

/* Tiles of a line that are equally high, one after another: `n` of them from output x on, of `all`. */
struct line_part {
    size_t x, n, before, all; /* `before`: tiles that came first */
};

/* Tiles from which on the next one's sums are looked after. */
enum { FOLLOWING = 4 };

INLINE void line_tiles(const struct ox_line *l, const unsigned rows, const struct across to,
                       const struct line_part *part, size_t first, const float *b)
{
    const bool common = is_common(l->end);
    struct ox_epilogue end;
    struct ox_tile out = {
        .c = l->c + part->x * l->ldc, .ldc = l->ldc, .cols = l->cols, .rows = rows, .add = l->add};
    if (l->end) {
        end = *l->end;
        end.row_bias = end.row_bias ? end.row_bias + part->x : NULL;
        end.residual = end.residual ? end.residual + part->x * end.residual_ld : NULL;
        out.end = &end;
    }
    /* Each tile brings its part of what comes behind nearer: the panels' next steps, or the next panels. */
    const size_t next_step = (NR * sizeof *b + part->all - 1) / part->all;
    const size_t all = l->rows * l->run * NR, panels = to.vecs > 2 ? 2 : 1;
    const float *behind = b + (all < l->panel ? all : panels * l->panel);
    const char *next = (const char *)behind + part->before * next_step * l->rows * l->run;
    const size_t every = l->near || part->all < FOLLOWING ? 0 : l->rows * l->run / UNROLL / rows;
    if (part->before == 0 && every)
        expect(&out, rows, to.vecs, first);
    for (size_t i = 0, x = part->x; i < part->n; i++, x += rows) {
        line_panel(l, &out, rows, to, x, first, b, common, next, UNROLL * next_step, every);
        next += next_step * l->rows * l->run;
        out.c += rows * l->ldc;
        if (l->end) {
            end.row_bias = end.row_bias ? end.row_bias + rows : NULL;
            end.residual = end.residual ? end.residual + rows * end.residual_ld : NULL;
        }
    }
}

/* Columns that are summed at once: of one panel, of one whose last vector needs its first half alone, of two panels. */
enum width { ONE_PANEL, HALF_VECTOR, TWO_PANELS, WIDTHS };

INLINE void line_rows(const struct ox_line *l, const unsigned rows, const enum width width,
                      const struct line_part *part, size_t first, const float *b)
{
    const size_t left = l->cols - first;
    const bool half = width == HALF_VECTOR;
    if (width == TWO_PANELS && left > 3 * VW)
        line_tiles(l, rows, (struct across){VECS, false}, part, first, b);
    else if (width == TWO_PANELS)
        line_tiles(l, rows, (struct across){VECS - 1, false}, part, first, b);
    else if (left > VW)
        line_tiles(l, rows, (struct across){2, half}, part, first, b);
    else
        line_tiles(l, rows, (struct across){1, half}, part, first, b);
}

/* A panel past a line of few rows. */
INLINE void few_rows(const struct ox_line *l, const unsigned rows, size_t first, const float *b)
{
    const struct ox_tile out = {
        .c = l->c, .ldc = l->ldc, .cols = l->cols, .rows = rows, .add = l->add, .end = l->end};
    const bool common = is_common(l->end);
    if (l->cols - first > VW)
        few_panel(l, &out, rows, (struct across){2, false}, first, b, common);
    else
        few_panel(l, &out, rows, (struct across){1, false}, first, b, common);
}

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
#define LINE_OF_ROWS                                                                               \
    (const struct ox_line *l, const struct line_part *part, size_t first, const float *b)
#define LINES(name, n, width)                                                                      \
    static void name##_##n LINE_OF_ROWS                                                            \
    {                                                                                              \
        line_rows(l, n, width, part, first, b);                                                    \
    }
#define ONE(n) LINES(one, n, ONE_PANEL)
#define HALF(n) LINES(half, n, HALF_VECTOR)
#define TWO(n) LINES(two, n, TWO_PANELS)
#define FEW(n)                                                                                     \
    static void few_##n(const struct ox_line *l, size_t first, const float *b)                     \
    {                                                                                              \
        few_rows(l, n, first, b);                                                                  \
    }
#define LOW(m) m(1) m(2) m(3) m(4) m(5) m(6)
#define HIGH(m) m(7) m(8) m(9) m(10) m(11) m(12)
#define LOWS(name) name##_1, name##_2, name##_3, name##_4, name##_5, name##_6
#define HIGHS(name) name##_7, name##_8, name##_9, name##_10, name##_11, name##_12

LOW(TILE)
LOW(ONE)
LOW(FEW)
#if MR > 6
HIGH(EVEN)
HIGH(ONE)
HIGH(FEW)
static void(*const one_panel[MR]) LINE_OF_ROWS = {LOWS(one), HIGHS(one)};
static void (*const few[MR])(const struct ox_line *l, size_t first, const float *b) = {LOWS(few),
                                                                                       HIGHS(few)};
static void (*const evens[])(const struct ox_tile *t) = {HIGHS(even)};
#else
static void(*const one_panel[MR]) LINE_OF_ROWS = {LOWS(one)};
static void (*const few[MR])(const struct ox_line *l, size_t first, const float *b) = {LOWS(few)};
#endif
#if POINTERS > 6
HIGH(TILE)
static void (*const tiles[])(const struct ox_tile *t) = {LOWS(tile), HIGHS(tile)};
#else
static void (*const tiles[])(const struct ox_tile *t) = {LOWS(tile)};
#endif
#if PANELS > 1
LOW(TWO)
LOW(HALF)
HIGH(HALF)
static void(*const two_panels[]) LINE_OF_ROWS = {LOWS(two)};
static void(*const half_vector[MR]) LINE_OF_ROWS = {LOWS(half), HIGHS(half)};
#endif
#undef TILE
#undef EVEN
#undef LINES
#undef ONE
#undef HALF
#undef TWO
#undef FEW
#undef LOW
#undef HIGH
#undef LOWS
#undef HIGHS

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

/* Outputs of a line past some of its panels. Tiles are of equal height: a last one of a row or two would be slow. */
static void line_past(const struct ox_line *l, void(*const *of) LINE_OF_ROWS, size_t most,
                      size_t first, const float *b)
{
    const size_t parts = (l->count + most - 1) / most;
    const size_t rows = l->count / parts, higher = l->count % parts;
    const struct line_part low = {.n = parts - higher, .all = parts};
    const struct line_part high = {.x = low.n * rows, .n = higher, .before = low.n, .all = parts};
    of[rows - 1](l, &low, first, b);
    if (higher)
        of[rows](l, &high, first, b);
}

/* Weights of a panel, or of two, stay near while the line goes by. */
static void line(const struct ox_line *l)
{
    if (l->count == 0)
        return;
    const float *b = l->b;
    const bool is_few = l->far && l->count <= MR && l->rows == 1;
    unsigned panels;
    for (size_t j = 0; j < l->cols; j += panels * NR, b += panels * l->panel) {
        const size_t left = l->cols - j;
        panels = PANELS > 1 && left > NR && !is_few ? 2 : 1;
        if (is_few)
            few[l->count - 1](l, j, b);
#if PANELS > 1
        else if (left > NR)
            line_past(l, two_panels, WIDE_ROWS, j, b);
        else if ((left - 1) % VW < VW / 2)
            line_past(l, half_vector, MR, j, b);
#endif
        else
            line_past(l, one_panel, MR, j, b);
    }
}

static void finish(size_t n, const struct ox_epilogue *end, float *x)
{
    for (size_t j = 0; j < n; j += VW) {
        const bool some = n - j < VW;
        const size_t m = some ? n - j : VW;
        VF y = ending(end, load_part(x + j, some, m), 0, j, some, m);
        if (end->residual && end->residual_last)
            y = v_add(y, load_part(end->residual + j, some, m));
        store_part(x + j, some, m, y);
    }
}

/* Columns [j, j + vecs vectors), the last vector cut to `left` lanes where
 * `some`. */
INLINE void stream_part(const struct ox_stream *s, const unsigned rows, const unsigned depth,
                        float (*a)[8], const unsigned vecs, size_t j, bool some, size_t left)
{
    VF sum[4][4]; /* from zero: a long sum in parts rounds less */
#pragma GCC unroll 4
    for (unsigned i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (unsigned v = 0; v < vecs; v++) {
            sum[i][v] = v_zero();
        }
    }
#pragma GCC unroll 8
    for (unsigned p = 0; p < depth; p++) {
        const float *b = s->b + p * s->ldb + j;
#pragma GCC unroll 4
        for (unsigned v = 0; v < vecs; v += LINE / VW)
            __builtin_prefetch(b + v * VW + s->ahead, 0, 3);
#pragma GCC unroll 4
        for (unsigned v = 0; v < vecs; v++) {
            const VF x = some ? v_load_n(b + v * VW, left) : v_load(b + v * VW);
#pragma GCC unroll 4
            for (unsigned i = 0; i < rows; i++)
                sum[i][v] = v_fma(v_set1(a[i][p]), x, sum[i][v]);
        }
    }
#pragma GCC unroll 4
    for (unsigned i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (unsigned v = 0; v < vecs; v++) {
            float *c = s->c + i * s->ldc + j + v * VW;
            if (some)
                v_store_n(c, v_add(v_load_n(c, left), sum[i][v]), left);
            else
                v_store(c, v_add(v_load(c), sum[i][v]));
        }
    }
}

INLINE void stream_rows(const struct ox_stream *s, const unsigned rows, const unsigned depth)
{
    const unsigned vecs = rows > 2 ? 2 : 4;
    float a[4][8];
    for (unsigned i = 0; i < rows; i++) {
        for (unsigned p = 0; p < depth; p++)
            a[i][p] = s->a[i * s->lda + p * s->a_step];
    }
    size_t j = 0;
    for (; j + vecs * VW <= s->n; j += vecs * VW)
        stream_part(s, rows, depth, a, vecs, j, false, VW);
    for (; j + VW <= s->n; j += VW)
        stream_part(s, rows, depth, a, 1, j, false, VW);
    if (j < s->n)
        stream_part(s, rows, depth, a, 1, j, true, s->n - j);
}

static void stream(const struct ox_stream *s)
{
    if (s->depth < 8) {
        for (unsigned i = 0; i < s->rows; i++) {
            struct ox_stream row = *s;
            row.a += i * s->lda;
            row.c += i * s->ldc;
            stream_rows(&row, 1, s->depth);
        }
    } else if (s->rows == 1) {
        stream_rows(s, 1, 8);
    } else if (s->rows == 2) {
        stream_rows(s, 2, 8);
    } else if (s->rows == 3) {
        stream_rows(s, 3, 8);
    } else {
        stream_rows(s, 4, 8);
    }
}

INLINE void dot_block(size_t k, const unsigned rows, const unsigned cols, const float *a,
                      size_t lda, const float *b, size_t ldb, float *c, size_t ldc)
{
    VF sum[4][8];
#pragma GCC unroll 4
    for (unsigned i = 0; i < rows; i++) {
#pragma GCC unroll 8
        for (unsigned j = 0; j < cols; j++)
            sum[i][j] = v_zero();
    }
    size_t p = 0;
    for (; p + VW <= k; p += VW) {
        VF x[4];
        if (p % LINE == 0) { /* the rows' ends, then those that come next */
            const float *far = b + p + FAR + (p + FAR < k ? 0 : cols * ldb - k);
#pragma GCC unroll 8
            for (unsigned j = 0; j < cols; j++)
                __builtin_prefetch(far + j * ldb, 0, 3);
        }
#pragma GCC unroll 4
        for (unsigned i = 0; i < rows; i++)
            x[i] = v_load(a + i * lda + p);
#pragma GCC unroll 8
        for (unsigned j = 0; j < cols; j++) {
            const VF y = v_load(b + j * ldb + p);
#pragma GCC unroll 4
            for (unsigned i = 0; i < rows; i++)
                sum[i][j] = v_fma(x[i], y, sum[i][j]);
        }
    }
    const size_t m = k - p;
    for (unsigned i = 0; i < rows && m > 0; i++) {
        const VF x = v_load_n(a + i * lda + p, m);
#pragma GCC unroll 8
        for (unsigned j = 0; j < cols; j++)
            sum[i][j] = v_fma(x, v_load_n(b + j * ldb + p, m), sum[i][j]);
    }
#pragma GCC unroll 4
    for (unsigned i = 0; i < rows; i++) {
        if (cols == 8) {
            v_sum_8(sum[i], c + i * ldc);
            continue;
        }
#pragma GCC unroll 4
        for (unsigned j = 0; j < cols; j++)
            c[i * ldc + j] = v_sum(sum[i][j]);
    }
}

INLINE void dot_rows(size_t n, size_t k, const unsigned rows, const unsigned cols, const float *a,
                     size_t lda, const float *b, size_t ldb, float *c, size_t ldc)
{
    size_t j = 0;
    for (; j + cols <= n; j += cols)
        dot_block(k, rows, cols, a, lda, b + j * ldb, ldb, c + j, ldc);
    for (; j < n; j++)
        dot_block(k, rows, 1, a, lda, b + j * ldb, ldb, c + j, ldc);
}

static void dots(size_t n, size_t k, unsigned rows, const float *a, size_t lda, const float *b,
                 size_t ldb, float *c, size_t ldc)
{
    if (rows == 1)
        dot_rows(n, k, 1, 8, a, lda, b, ldb, c, ldc);
    else if (rows == 2)
        dot_rows(n, k, 2, 4, a, lda, b, ldb, c, ldc);
    else if (rows == 3)
        dot_rows(n, k, 3, MR > 6 ? 8 : 4, a, lda, b, ldb, c, ldc);
    else
        dot_rows(n, k, 4, MR > 6 ? 4 : 2, a, lda, b, ldb, c, ldc);
}

static void pack(size_t k, unsigned cols, const float *b, size_t row, size_t col, float *out)
{
    if (row == 1 && cols == NR && k >= 8) {
        for (unsigned j = 0; j < NR; j += 8)
            transpose_floats(8, k, b + j * col, col, out + j, NR);
        return;
    }
    for (size_t p = 0; p < k; p++, out += NR) {
        const float *from = b + p * row;
        __builtin_prefetch(from + PACK_AHEAD * row, 0, 3);
        if (VW > 8)
            __builtin_prefetch(from + PACK_AHEAD * row + LINE, 0, 3);
        if (col == 1) {
            v_store(out, cols < VW ? v_load_n(from, cols) : v_load(from));
            if (cols < NR)
                v_store(out + VW, cols > VW ? v_load_n(from + VW, cols - VW) : v_zero());
            else
                v_store(out + VW, v_load(from + VW));
            continue;
        }
        for (unsigned j = 0; j < cols; j++)
            out[j] = from[j * col];
        for (unsigned j = cols; j < NR; j++)
            out[j] = 0;
    }
}

static double probe(size_t loops)
{
    const VF half = v_set1(0.5f), one = v_set1(1);
    VF x[12];
#pragma GCC unroll 12
    for (unsigned i = 0; i < 12; i++)
        x[i] = v_set1((float)i);
    for (size_t n = 0; n < loops; n++) {
#pragma GCC unroll 12
        for (unsigned i = 0; i < 12; i++)
            x[i] = v_fma(x[i], half, one);
    }
    VF sum = x[0];
#pragma GCC unroll 12
    for (unsigned i = 1; i < 12; i++)
        sum = v_add(sum, x[i]);
    volatile float keep = v_sum(sum);
    (void)keep;
    return 2.0 * 12 * VW * (double)loops;
}
