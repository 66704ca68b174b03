/* Products of few rows by a right side as it lies. They wait for memory alone, and a core reads more of it when it follows several
 * rows at once: eight that lie far apart, each from its beginning to its end. */
#include <string.h>

#include "common/compiler.h"
#include "kernels/dense_impl.h"

enum {
    FEW_ROWS = 4,
    STREAMS = 8,
    TASKS = 8,
    COLS_MOST = 4096,     /* of a task: sums stay in L1 */
    SLICE_LEAST = 1 << 16 /* floats of a task, when sums are in parts */
};

struct few {
    const struct ox_compute *t;
    const struct ox_dense *d;
    size_t cols, n_cols;  /* of a task */
    size_t depth, slices; /* of k; more than one leave sums in `parts`, [slices][m][n] */
    size_t wide;          /* floats of a slot for widened weights */
    float *work, *parts;
};

static size_t batch_of(const struct ox_dense *d, unsigned i)
{
    return d->batch[i] ? d->batch[i] : 1;
}

bool ox_dense_wants_unpacked(const struct ox_compute *t, size_t m, size_t n, size_t k, size_t b_row,
                             size_t b_col)
{
    (void)t;
    (void)n;
    (void)k;
    return m <= FEW_ROWS && (b_col == 1 || b_row == 1);
}

/* Packed weights lie in one stream, where rows as they lie often share the places of a cache, and what a core has in its L2 is read
 * fastest so; those that come from memory each time are read as fast by more streams. */
bool ox_dense_leaves_weights(const struct ox_compute *t, size_t m, size_t n, size_t k, size_t b_row,
                             size_t b_col)
{
    enum { NEAR = 1 << 18, LARGE = 1 << 22 }; /* floats */
    if (n == 0 || k <= NEAR / n)
        return false;
    const size_t packing = t->packed_rows + (b_col != 1);
    return ox_dense_wants_unpacked(t, m, n, k, b_row, b_col) && (m < packing || k >= LARGE / n);
}

bool ox_few(const struct ox_compute *t, const struct ox_dense *d)
{
    return d->m <= FEW_ROWS && d->b && d->a_col == 1 &&
           (d->b_col == 1 || (d->b_row == 1 && d->b_type == OX_WEIGHT_F32)) &&
           (!d->weights || ox_dense_leaves_weights(t, d->m, d->n, d->k, d->b_row, d->b_col));
}

/* Long rows are parted, short ones are read whole and k is parted. By shape alone. */
static void plan(const struct ox_compute *t, const struct ox_dense *d, struct few *f)
{
    memset(f, 0, sizeof *f);
    f->t = t;
    f->d = d;
    f->slices = 1;
    f->depth = d->k;
    const size_t even = ox_even_part(d->n, (d->n + TASKS - 1) / TASKS, 64);
    if (d->b_col != 1) {
        f->cols = even < 64 ? 64 : even;
    } else {
        f->cols = ox_even_part(d->n, COLS_MOST, 64);
        const size_t parts = (d->n + f->cols - 1) / f->cols,
                     others = batch_of(d, 0) * batch_of(d, 1);
        size_t slices = others == 1 ? TASKS / parts : 1;
        if (slices > d->k * d->n / SLICE_LEAST)
            slices = d->k * d->n / SLICE_LEAST;
        if (slices > 1) {
            f->depth = ox_even_part(d->k, (d->k + slices - 1) / slices, STREAMS);
            f->slices = (d->k + f->depth - 1) / f->depth;
        }
        f->wide = d->b_type == OX_WEIGHT_F32 ? 0 : STREAMS * f->cols;
    }
    f->n_cols = d->n ? (d->n + f->cols - 1) / f->cols : 0;
}

static size_t part_floats(const struct few *f)
{
    return f->slices > 1 ? f->slices * f->d->m * f->d->n : 0;
}

size_t ox_few_work(const struct ox_compute *t, const struct ox_env *env, const struct ox_dense *d)
{
    struct few f;
    plan(t, d, &f);
    return ox_slots(env) * f.wide + part_floats(&f);
}

/* Columns [first, first + cols) by rows of b. */
static void dots(const struct few *f, const float *a, const float *b, size_t cols, float *c)
{
    const struct ox_dense *d = f->d;
    const size_t step = cols / STREAMS, done = step * STREAMS;
    float sum[FEW_ROWS][STREAMS];
    for (size_t j = 0; j < step; j++) {
        f->t->dots(STREAMS, d->k, (unsigned)d->m, a, d->a_row, b + j * d->b_col, step * d->b_col,
                   sum[0], STREAMS);
        for (size_t i = 0; i < d->m; i++)
            for (size_t s = 0; s < STREAMS; s++)
                c[i * d->c_row + s * step + j] = sum[i][s];
    }
    if (done < cols)
        f->t->dots(cols - done, d->k, (unsigned)d->m, a, d->a_row, b + done * d->b_col, d->b_col,
                   c + done, d->c_row);
}

/* c += rows [at, at + apart, ...) of b by what a has for them; `s` has n, rows, lda, c and ldc. */
static void add_rows(const struct few *f, struct ox_stream *s, const float *a, const char *b,
                     size_t at, size_t apart, float *wide)
{
    const struct ox_dense *d = f->d;
    const size_t row = d->b_row * (wide ? sizeof(uint16_t) : sizeof(float));
    s->a = a + at;
    s->a_step = apart;
    s->b = (const float *)(const void *)(b + at * row);
    s->ldb = apart * d->b_row;
    if (wide) {
        for (unsigned q = 0; q < s->depth; q++)
            ox_widen(f->t, d->b_type, s->n, b + (at + q * apart) * row, wide + q * f->cols);
        s->b = wide;
        s->ldb = f->cols;
    }
    f->t->stream(s);
}

/* c = a[m x depth] b[depth x cols] */
static void stream(const struct few *f, const float *a, size_t depth, const char *b, size_t cols,
                   float *c, size_t ldc, float *wide)
{
    const struct ox_dense *d = f->d;
    const size_t apart = depth / STREAMS;
    struct ox_stream s = {.n = cols,
                          .depth = STREAMS,
                          .rows = (unsigned)d->m,
                          .lda = d->a_row,
                          .c = c,
                          .ldc = ldc,
                          .ahead = f->t->stream_ahead};
    for (size_t r = 0; r < d->m; r++)
        memset(c + r * ldc, 0, cols * sizeof *c);
    for (size_t p = 0; p < apart; p++)
        add_rows(f, &s, a, b, p, apart, wide);
    s.depth = (unsigned)(depth % STREAMS);
    if (s.depth)
        add_rows(f, &s, a, b, apart * STREAMS, 1, wide);
}

static void task(void *arg, size_t i, size_t slot)
{
    const struct few *f = arg;
    const struct ox_dense *d = f->d;
    const size_t g = i / f->slices / f->n_cols, g0 = g / batch_of(d, 1), g1 = g % batch_of(d, 1);
    const size_t slice = i / f->n_cols % f->slices, first = i % f->n_cols * f->cols;
    const size_t cols = d->n - first < f->cols ? d->n - first : f->cols, k0 = slice * f->depth;
    const size_t depth = d->k - k0 < f->depth ? d->k - k0 : f->depth;
    const float *a = d->a + g0 * d->a_batch[0] + g1 * d->a_batch[1] + k0;
    float *c = d->c + g0 * d->c_batch[0] + g1 * d->c_batch[1] + first;
    const size_t at = g0 * d->b_batch[0] + g1 * d->b_batch[1] + first * d->b_col + k0 * d->b_row;
    size_t ldc = d->c_row;
    if (f->slices > 1) {
        c = f->parts + slice * d->m * d->n + first;
        ldc = d->n;
    }
    if (d->b_col != 1) {
        dots(f, a, (const float *)d->b + at, cols, c);
    } else {
        const size_t size = d->b_type == OX_WEIGHT_F32 ? sizeof(float) : sizeof(uint16_t);
        stream(f, a, depth, (const char *)d->b + at * size, cols, c, ldc,
               f->wide ? f->work + slot * f->wide : NULL);
    }
    if (f->slices == 1) {
        const struct ox_epilogue end = ox_end_at(&d->end, 0, first);
        ox_end_all(f->t, d->m, cols, c, ldc, &end);
    }
}

/* Sums of slices in their order. */
static void join(const struct few *f)
{
    const struct ox_dense *d = f->d;
    const size_t pass = d->m * d->n;
    for (size_t r = 0; r < d->m; r++) {
        float *restrict c = d->c + r * d->c_row;
        memcpy(c, f->parts + r * d->n, d->n * sizeof *c);
        for (size_t s = 1; s < f->slices; s++) {
            const float *restrict part = f->parts + s * pass + r * d->n;
            for (size_t j = 0; j < d->n; j++)
                c[j] += part[j];
        }
    }
    const struct ox_epilogue end = ox_end_at(&d->end, 0, 0);
    ox_end_all(f->t, d->m, d->n, d->c, d->c_row, &end);
}

void ox_few_run(const struct ox_compute *t, struct ox_env *env, const struct ox_dense *d,
                float *work)
{
    struct few f;
    plan(t, d, &f);
    f.parts = work;
    f.work = work + part_floats(&f);
    const size_t batch = batch_of(d, 0) * batch_of(d, 1);
    /* A byte costs as much as eight operations. */
    const double flops = 32.0 * (double)d->m * (double)d->n * (double)d->k * (double)batch;
    (d->packed ? ox_spread_sums : ox_spread)(env, batch * f.slices * f.n_cols, flops, task, &f);
    if (f.slices > 1)
        join(&f);
}
