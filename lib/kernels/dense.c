#include "kernels/dense.h"

#include <string.h>

#include "common/compiler.h"
#include "common/forget.h"
#include "kernels/dense_impl.h"
#include "kernels/sizes.h"

enum { WIDEN = 64 };

static size_t times(size_t a, size_t b)
{
    size_t out;
    return OX_MUL_OVERFLOWS(a, b, &out) ? SIZE_MAX : out;
}

size_t ox_dense_packed(const struct ox_compute *t, size_t k, size_t n)
{
    return n > SIZE_MAX - t->nr ? SIZE_MAX : times(ox_round_up(n, t->nr), k);
}

struct packing {
    const struct ox_compute *t;
    size_t k, n;
    const char *b;
    enum ox_weight_type type;
    size_t row, col;
    float *out;
    size_t panel; /* floats from panel to panel of out */
    bool forget;  /* columns of a mapped file, once they are packed */
};

/* Columns of two-byte weights are widened a piece at a time and packed from there. */
static void pack_narrow(const struct packing *p, const uint16_t *b, unsigned cols, float *out)
{
    const struct ox_compute *t = p->t;
    float piece[OX_TILE_COLS_MAX][WIDEN];
    for (size_t at = 0; at < p->k; at += WIDEN) {
        const size_t depth = ox_least(WIDEN, p->k - at);
        for (unsigned j = 0; j < cols; j++) {
            const uint16_t *from = b + at * p->row + j * p->col;
            if (p->row == 1) {
                ox_widen(t, p->type, depth, from, piece[j]);
            } else {
                for (size_t i = 0; i < depth; i++)
                    ox_widen(t, p->type, 1, from + i * p->row, &piece[j][i]);
            }
        }
        t->pack(depth, cols, piece[0], 1, WIDEN, out + at * t->nr);
    }
}

static void pack_panel(void *arg, size_t i, size_t slot)
{
    const struct packing *p = arg;
    const struct ox_compute *t = p->t;
    const size_t first = i * t->nr;
    const unsigned cols = (unsigned)ox_least(t->nr, p->n - first);
    float *out = p->out + i * p->panel;
    (void)slot;
    if (p->type == OX_WEIGHT_F32) {
        t->pack(p->k, cols, (const float *)(const void *)p->b + first * p->col, p->row, p->col,
                out);
        return;
    }
    const uint16_t *b = (const uint16_t *)(const void *)p->b + first * p->col;
    if (p->col != 1) {
        pack_narrow(p, b, cols, out);
        return;
    }
    for (size_t q = 0; q < p->k; q++, out += t->nr) {
        ox_widen(t, p->type, cols, b + q * p->row, out);
        for (unsigned j = cols; j < t->nr; j++)
            out[j] = 0;
    }
}

static size_t weight_bytes(enum ox_weight_type type)
{
    return type == OX_WEIGHT_F32 ? sizeof(float) : sizeof(uint16_t);
}

static void pack_task(void *arg, size_t i, size_t slot)
{
    const struct packing *p = arg;
    const size_t first = i * p->t->nr, column = p->col * weight_bytes(p->type);
    pack_panel(arg, i, slot);
    if (p->forget)
        ox_mapping_forget(p->b + first * column, ox_least(p->t->nr, p->n - first) * column);
}

/* Of a large matrix in a mapped file what is packed is given back while the rest is, so that not all of it is in memory twice. */
void ox_dense_pack(const struct ox_compute *t, struct ox_env *env, size_t k, size_t n,
                   const void *b, enum ox_weight_type type, size_t b_row, size_t b_col, float *out)
{
    enum { LARGE = 1 << 17 };
    const size_t panels = (n + t->nr - 1) / t->nr, row = b_row * weight_bytes(type);
    const bool parts = n > 0 && k > LARGE / n, by_rows = parts && b_col == 1;
    struct packing p = {t, k, n, b, type, b_row, b_col, out, k * t->nr, parts && b_row == 1};
    for (size_t k0 = 0; k0 < k; k0 += p.k) {
        p.k = by_rows ? ox_least(LARGE / 4 / n + 1, k - k0) : k;
        p.b = (const char *)b + k0 * row;
        p.out = out + k0 * t->nr;
        ox_spread(env, panels, (double)p.k * (double)n * 40, pack_task, &p);
        if (by_rows)
            ox_mapping_forget(p.b, p.k * row);
    }
}

void ox_block_panels(const struct ox_block *b)
{
    const struct ox_compute *t = b->t;
    const struct ox_tile tile = {.a = b->a,
                                 .segments = b->segments,
                                 .depth = b->depth,
                                 .b = b->packed,
                                 .panel = b->panel * t->nr,
                                 .c = b->c,
                                 .ldc = b->ldc,
                                 .cols = b->cols,
                                 .rows = b->rows,
                                 .add = b->add,
                                 .end = b->end,
                                 .ahead = b->ahead,
                                 .ahead_step = b->ahead_step};
    t->tile(&tile);
    if (b->end)
        ox_end_rows(t, b->rows, b->cols, b->c, b->ldc, b->end);
}

/* Of few tasks in an odd number the last leaves one of two threads idle: one part more of the rows, or half as wide columns, where
 * tasks stay as large as is wanted; else one part less. */
static void make_even(const struct ox_compute *t, size_t m, size_t n, size_t wanted,
                      size_t *row_parts, size_t *col_parts)
{
    enum { FEW = 12 };
    const size_t parts = *row_parts * *col_parts;
    if (parts % 2 == 0 || parts == 1 || parts >= FEW)
        return;
    if (parts + *col_parts <= wanted && m / (*row_parts + 1) >= (size_t)3 * t->mr)
        ++*row_parts;
    else if (2 * parts <= wanted && (n + t->nr - 1) / t->nr >= 2 * *col_parts)
        *col_parts *= 2;
    else
        --*(*col_parts > 1 ? col_parts : row_parts);
}

/* In floating-point operations: by few rows a core could do so many as for ROWS while their weights come from where the next core's
 * come from too. */
static double product_work(const struct ox_compute *t, size_t m, size_t n, size_t k, bool pack)
{
    enum { ROWS = 16 };
    const double rows = !pack && m <= t->mr && m < ROWS ? ROWS : (double)m;
    return 2.0 * rows * (double)n * (double)k;
}

void ox_blocking_plan(const struct ox_compute *t, size_t m, size_t n, size_t k, size_t depth,
                      size_t others, bool pack, struct ox_blocking *out)
{
    enum { TASKS = 32, COLS_LEAST = 64, ROWS_PACKING = 192, COLS_PACKING = 192 };
    const bool few = !pack && m <= t->mr;
    const double work = product_work(t, m, n, k, pack) * (double)others;
    out->depth = depth;
    size_t most = t->block_floats / (out->depth ? out->depth : 1) / t->nr * t->nr;
    most = most < t->nr ? t->nr : most;
    size_t rows_most = SIZE_MAX;
    /* Enough pieces for every thread there may be, none so small that a thread is not worth its call. Columns are parted
     * first: packed ones stay in L2 while all rows go by. Those who pack part rows first, so as to pack once, and columns no finer
     * than pays for reading the rows again. */
    size_t wanted = work < TASKS * 1e6 ? (size_t)(work / 1e6 + few) : TASKS;
    wanted = wanted == 1 ? 2 : wanted; /* two threads share what is worth a part of its own */
    wanted = (wanted + others - 1) / others;
    if (wanted > 1 && m > 0 && n > 0) {
        const size_t rows_least = pack ? ROWS_PACKING : (size_t)4 * t->mr;
        const size_t cols_least = few ? t->nr : ox_round_up(COLS_LEAST, t->nr);
        size_t row_parts = ox_least(
            wanted, pack && m > rows_least ? m / rows_least : (m + rows_least - 1) / rows_least);
        size_t col_parts =
            ox_least((wanted + row_parts - 1) / row_parts, (n + COLS_PACKING - 1) / COLS_PACKING);
        if (!pack) {
            col_parts = ox_least(wanted, (n + cols_least - 1) / cols_least);
            row_parts = ox_least((wanted + col_parts - 1) / col_parts, m / rows_least);
            row_parts = row_parts ? row_parts : 1;
            make_even(t, m, n, wanted, &row_parts, &col_parts);
        }
        if (row_parts > 1)
            rows_most = (m + row_parts - 1) / row_parts;
        most = ox_least(most, ox_round_up((n + col_parts - 1) / col_parts, t->nr));
    }
    out->cols = ox_even_part(n, most, t->nr);
    out->rows = rows_most >= m ? ox_round_up(m, t->mr) : ox_even_part(m, rows_most, t->mr);
    out->n_rows = m ? (m + out->rows - 1) / out->rows : 0;
    out->n_cols = n ? (n + out->cols - 1) / out->cols : 0;
    /* Weights that a core keeps are best read by all: it finds the rows that it made itself in the job before. */
    out->by_rows = !pack && m > n && n > 0 && k <= t->block_floats / n;
}

struct job {
    const struct ox_compute *t;
    const struct ox_dense *d;
    struct ox_blocking by;
    size_t batch;
    float *work;
    size_t right, left; /* floats of a slot for packed columns and straightened rows */
};

static size_t batch_of(const struct ox_dense *d, unsigned i)
{
    return d->batch[i] ? d->batch[i] : 1;
}

static void plan(const struct ox_compute *t, const struct ox_dense *d, struct job *j)
{
    memset(j, 0, sizeof *j);
    j->t = t;
    j->d = d;
    j->batch = batch_of(d, 0) * batch_of(d, 1);
    ox_blocking_plan(t, d->m, d->n, d->k, ox_even_part(d->k, t->depth_most, 1),
                     j->batch ? j->batch : 1, !d->packed, &j->by);
    j->right = d->packed ? 0 : j->by.depth * j->by.cols;
    j->left = d->a_col == 1 ? 0 : ox_round_up(j->by.rows * j->by.depth, 16);
}

size_t ox_dense_work(const struct ox_compute *t, const struct ox_env *env, const struct ox_dense *d)
{
    struct job j;
    if (d->made)
        return ox_made_work(t, env, d);
    if (ox_few(t, d))
        return ox_few_work(t, env, d);
    plan(t, d, &j);
    if (j.left && j.by.rows > SIZE_MAX / 8 / (j.by.depth + 1))
        return SIZE_MAX;
    return times(ox_slots(env), ox_round_up(j.right + j.left, 16));
}

/* rows x depth of a left side that does not lie row by row, into `out` with rows of `depth`. */
static void straighten(const struct job *j, const float *a, size_t rows, size_t depth, float *out)
{
    const struct ox_dense *d = j->d;
    if (d->a_row == 1) {
        j->t->transpose(depth, rows, a, d->a_col, out, depth);
        return;
    }
    for (size_t i = 0; i < rows; i++) {
        for (size_t p = 0; p < depth; p++)
            out[i * depth + p] = a[i * d->a_row + p * d->a_col];
    }
}

static const float *right_side(const struct job *j, size_t offset, size_t k0, size_t depth,
                               size_t first, size_t cols, float *out)
{
    enum { ROWS = 8 };
    const struct ox_dense *d = j->d;
    const size_t size = weight_bytes(d->b_type);
    struct packing p = {.t = j->t,
                        .k = depth,
                        .n = cols,
                        .b =
                            (const char *)d->b + (offset + k0 * d->b_row + first * d->b_col) * size,
                        .type = d->b_type,
                        .row = d->b_row,
                        .col = d->b_col,
                        .out = out,
                        .panel = depth * j->t->nr};
    /* Some rows at a time past all panels, so that what is read of each lies together. */
    p.k = d->b_col == 1 ? ROWS : depth;
    for (size_t at = 0; at < depth; at += p.k) {
        p.k = ox_least(p.k, depth - at);
        for (size_t i = 0; i * j->t->nr < cols; i++)
            pack_panel(&p, i, 0);
        p.b += p.k * d->b_row * size;
        p.out += p.k * j->t->nr;
    }
    return out;
}

/* Whether few rows wait for weights that are more than a core keeps, which their sums then follow in an order of its own
 * (few_panel() of lines_tmpl.h). */
static bool waits(const struct ox_compute *t, const struct ox_dense *d)
{
    enum { FAR = 1 << 17 }; /* floats */
    return d->m <= t->mr && d->k >= FAR / d->n;
}

/* As many panels as are summed at once go past a part of the rows, which stays in L2 with its sums. */
void ox_dense_past_panels(const struct ox_compute *t, const struct ox_dense *d, size_t depth,
                          const float *a, size_t a_row, size_t row0, size_t rows, size_t col0,
                          size_t cols, float *c)
{
    enum { FAR = 1 << 17 }; /* floats that are more than a core keeps */
    const size_t nr = t->nr, wide = t->wide;
    const float *row;
    struct ox_line l = {.row = &row,
                        .rows = 1,
                        .step = a_row,
                        .ldc = d->c_row,
                        .panel = d->k * nr,
                        .far = waits(t, d)};
    l.count = ox_even_part(rows, 2 * t->block_floats / (d->k + cols) + 1, t->mr);
    for (size_t r = 0; r < rows; r += l.count) {
        struct ox_epilogue end;
        l.count = ox_least(l.count, rows - r);
        for (size_t col = 0; col < cols; col += wide) {
            end = ox_end_at(&d->end, row0 + r, col0 + col);
            l.c = c + r * d->c_row + col;
            l.cols = ox_least(wide, cols - col);
            l.fetch = col == 0 && d->m * a_row > FAR;
            for (size_t k0 = 0; k0 < d->k; k0 += l.run) {
                l.b = d->packed + (col0 + col) * d->k + k0 * nr;
                row = a + r * a_row + k0;
                l.run = ox_least(depth, d->k - k0);
                l.add = k0 > 0;
                l.end = k0 + l.run == d->k ? &end : NULL;
                t->line(&l);
            }
        }
        end = ox_end_at(&d->end, row0 + r, col0);
        ox_end_rows(t, l.count, cols, c + r * d->c_row, d->c_row, &end);
    }
}

/* Few rows by a part of k of columns that were packed just now, summed as ox_dense_past_panels() does. */
static void few_by_block(const struct ox_dense *d, const struct ox_block *b, const float *a,
                         size_t rows, float *c)
{
    const struct ox_compute *t = b->t;
    for (size_t col = 0; col < b->cols; col += t->wide) {
        struct ox_epilogue end;
        struct ox_line l = {.row = &a,
                            .rows = 1,
                            .run = b->depth,
                            .step = d->a_row,
                            .count = rows,
                            .b = b->packed + col * b->depth,
                            .panel = b->depth * t->nr,
                            .c = c + col,
                            .ldc = d->c_row,
                            .cols = ox_least(t->wide, b->cols - col),
                            .add = b->add,
                            .far = true};
        if (b->end) {
            end = ox_end_at(b->end, 0, col);
            l.end = &end;
        }
        t->line(&l);
    }
    if (b->end)
        ox_end_rows(t, rows, b->cols, c, d->c_row, b->end);
}

/* One block of rows by one block of columns, all of k. */
static void block(void *arg, size_t i, size_t slot)
{
    const struct job *j = arg;
    const struct ox_dense *d = j->d;
    const struct ox_compute *t = j->t;
    const size_t blocks = j->by.n_rows * j->by.n_cols;
    const size_t g = i / blocks, g0 = g / batch_of(d, 1), g1 = g % batch_of(d, 1);
    size_t row0, col0;
    ox_blocking_at(&j->by, i % blocks, &row0, &col0);
    const size_t rows = ox_least(j->by.rows, d->m - row0);
    const size_t cols = ox_least(j->by.cols, d->n - col0);
    const float *a = d->a + g0 * d->a_batch[0] + g1 * d->a_batch[1] + row0 * d->a_row;
    float *c = d->c + g0 * d->c_batch[0] + g1 * d->c_batch[1] + row0 * d->c_row + col0;
    if (d->packed && d->a_col == 1) {
        ox_dense_past_panels(t, d, j->by.depth, a, d->a_row, row0, rows, col0, cols, c);
        return;
    }
    float *work = j->work + slot * ox_round_up(j->right + j->left, 16);
    float *left = work + j->right;
    const float *pointers[OX_TILE_ROWS_MAX] = {NULL};
    struct ox_block b = {.t = t, .a = pointers, .segments = 1, .ldc = d->c_row, .cols = cols};
    const size_t tiles = (rows + t->mr - 1) / t->mr;
    b.ahead_step = d->packed ? ox_block_ahead_step(&b, tiles) : 0;
    for (size_t k0 = 0; k0 < d->k; k0 += j->by.depth) {
        b.depth = ox_least(j->by.depth, d->k - k0);
        b.add = k0 > 0;
        const float *from = a + k0 * d->a_col;
        size_t from_row = d->a_row;
        if (d->packed) {
            b.packed = d->packed + col0 * d->k + k0 * t->nr;
            b.panel = d->k;
        } else {
            b.packed = right_side(j, g0 * d->b_batch[0] + g1 * d->b_batch[1], k0, b.depth, col0,
                                  cols, work);
            b.panel = b.depth;
        }
        if (!d->packed && d->a_col == 1 && waits(t, d)) {
            const struct ox_epilogue end = ox_end_at(&d->end, row0, col0);
            b.end = k0 + b.depth == d->k ? &end : NULL;
            few_by_block(d, &b, from, rows, c);
            continue;
        }
        if (j->left) {
            straighten(j, from, rows, b.depth, left);
            from = left;
            from_row = b.depth;
        }
        for (size_t r = 0; r < rows; r += b.rows) {
            /* Tiles of about equal height: a last one of a row or two would be slow. */
            b.rows = (unsigned)ox_even_part(rows - r, t->mr, 1);
            if (d->packed)
                b.ahead = ox_block_ahead(&b, d->k, k0, j->by.cols, r / t->mr, tiles);
            for (unsigned q = 0; q < b.rows; q++)
                pointers[q] = from + (r + q) * from_row;
            b.c = c + r * d->c_row;
            const struct ox_epilogue end = ox_end_at(&d->end, row0 + r, col0);
            b.end = k0 + b.depth == d->k ? &end : NULL;
            ox_block_panels(&b);
        }
    }
}

static void empty_sums(const struct job *j)
{
    const struct ox_dense *d = j->d;
    for (size_t g = 0; g < j->batch; g++) {
        const size_t g0 = g / batch_of(d, 1), g1 = g % batch_of(d, 1);
        float *c = d->c + g0 * d->c_batch[0] + g1 * d->c_batch[1];
        for (size_t i = 0; i < d->m; i++)
            memset(c + i * d->c_row, 0, d->n * sizeof *c);
        ox_end_all(j->t, d->m, d->n, c, d->c_row, &d->end);
    }
}

void ox_dense_run(const struct ox_compute *t, struct ox_env *env, const struct ox_dense *d,
                  float *work)
{
    struct job j;
    if (d->m == 0 || d->n == 0)
        return;
    if (d->made) {
        ox_made_run(t, env, d, work);
        return;
    }
    if (d->k && ox_few(t, d)) {
        ox_few_run(t, env, d, work);
        return;
    }
    plan(t, d, &j);
    j.work = work;
    if (d->k == 0) {
        empty_sums(&j);
        return;
    }
    const double operations = product_work(t, d->m, d->n, d->k, !d->packed) * (double)j.batch;
    (d->packed ? ox_spread_sums : ox_spread)(env, j.batch * j.by.n_rows * j.by.n_cols, operations,
                                             block, &j);
}
