/* Tiles along a line of outputs, whose inputs are runs at equal steps. Stamped for each vector width, after tile_tmpl.h. */

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
    expect_sums(vecs, x->c);
    x->c += x->ldc;
    if (x->residual) {
#pragma GCC unroll 4
        for (unsigned v = 0; v < vecs; v += VW < 16 ? 2 : 1)
            __builtin_prefetch(x->residual + v * VW, 0, 2);
        if (VW < 16)
            __builtin_prefetch(x->residual + vecs * VW - 1, 0, 2);
        x->residual += x->residual_ld;
    }
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
#pragma GCC unroll 4
            for (unsigned u = 0; u < UNROLL; u++)
                even_step(rows, to, &a, u, &b, sum);
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
    VF sum[ROWS_MOST][VECS];
    clear(rows, to.vecs, sum);
    if (!every) {
        /* Lines that are near cost a tile of many of them more than they save. */
        if (!l->near || VW < 16)
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
    enum { PARTS = 4, SOON = VW < 16 ? 256 : 512 };
    VF sum[MR][VECS];
    clear(rows, to.vecs, sum);
    const size_t part = l->run / PARTS;
    struct panels b = panels_of(weights, 0);
    struct pairs a = pairs_of(l->row[0], l->step, rows);
    expect(out, rows, to.vecs, first);
    for (size_t p = part, n; p > 0; p -= n) {
        n = p < UNROLL ? 1 : UNROLL;
        /* Behind a part's end comes the same part of the next panel. */
        const size_t soon = p * NR > SOON ? SOON : SOON + (l->run - part) * NR;
        for (unsigned i = 0; i < PARTS; i++) {
            if (n == UNROLL) {
#pragma GCC unroll 16
                for (unsigned j = 0; j < UNROLL * NR; j += LINE)
                    __builtin_prefetch(b.at[0] + soon + j, 0, 3);
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
    const float *behind =
        b + (l->behind ? l->behind : (ptrdiff_t)(all < l->panel ? all : panels * l->panel));
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

LOW(ONE)
LOW(FEW)
#if MR > 6
HIGH(ONE)
HIGH(FEW)
static void(*const one_panel[MR]) LINE_OF_ROWS = {LOWS(one), HIGHS(one)};
static void (*const few[MR])(const struct ox_line *l, size_t first, const float *b) = {LOWS(few),
                                                                                       HIGHS(few)};
#else
static void(*const one_panel[MR]) LINE_OF_ROWS = {LOWS(one)};
static void (*const few[MR])(const struct ox_line *l, size_t first, const float *b) = {LOWS(few)};
#endif
#if PANELS > 1
LOW(TWO)
LOW(HALF)
HIGH(HALF)
static void(*const two_panels[]) LINE_OF_ROWS = {LOWS(two)};
static void(*const half_vector[MR]) LINE_OF_ROWS = {LOWS(half), HIGHS(half)};
#endif
#ifdef SLIM_ROWS
/* Sums of six rows of one vector are too few for a core that starts two products a cycle and ends them four cycles later. */
#define SLIM(n)                                                                                    \
    static void slim_##n LINE_OF_ROWS                                                              \
    {                                                                                              \
        line_tiles(l, n, (struct across){1, false}, part, first, b);                               \
    }
HIGH(SLIM)
static void(*const one_vector[SLIM_ROWS]) LINE_OF_ROWS = {LOWS(one), HIGHS(slim)};
#undef SLIM
#endif
#undef LINES
#undef ONE
#undef HALF
#undef TWO
#undef FEW

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

/* Weights of a panel, or of two, stay near while the line goes by. `halves`: half a vector takes half the time; beside whole ones it
 * takes no more anywhere. */
INLINE void line_by(const struct ox_line *l, const bool halves)
{
    if (l->count == 0)
        return;
    const float *b = l->b;
    const bool is_few = l->far && l->count <= MR && l->rows == 1;
    unsigned panels;
    (void)halves;
    for (size_t j = 0; j < l->cols; j += panels * NR, b += panels * l->panel) {
        const size_t left = l->cols - j;
        panels = PANELS > 1 && left > NR && !is_few ? 2 : 1;
        if (is_few)
            few[l->count - 1](l, j, b);
#if PANELS > 1
        else if (left > NR)
            line_past(l, two_panels, WIDE_ROWS, j, b);
        else if ((halves || left > VW) && (left - 1) % VW < VW / 2)
            line_past(l, half_vector, MR, j, b);
#endif
#ifdef SLIM_ROWS
        else if (left <= VW)
            line_past(l, one_vector, SLIM_ROWS, j, b);
#endif
        else
            line_past(l, one_panel, MR, j, b);
    }
}

static void line(const struct ox_line *l)
{
    line_by(l, false);
}

#if PANELS > 1
static void line_in_halves(const struct ox_line *l)
{
    line_by(l, true);
}
#endif
