/* Products of every kind at every level of the processor, against sums in double. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/compiler.h"
#include "kernels/dense_impl.h"
#include "onnxtool.h"
#include "tests/bench_kernels.h"
#include "tests/ending.h"
#include "tests/guarded.h"
#include "tests/run_suite.h"
#include "tests/tables.h"

struct sides {
    struct guarded a, b, c, packed, work, bias, rows, residual;
};

static void random_end(struct dice *d, struct ox_dense *p, struct sides *s)
{
    const size_t pieces = dice_next(d);
    const bool alone = p->batch[0] * p->batch[1] == 1;
    s->bias = guarded_new(d, p->n, true);
    s->rows = guarded_new(d, p->m, true);
    p->end.residual_ld = p->n + dice_between(d, 0, 3);
    s->residual = guarded_new(d, p->m * p->end.residual_ld, true);
    p->end.col_bias = pieces & 1 ? s->bias.at : NULL;
    p->end.row_bias = pieces & 2 && alone ? s->rows.at : NULL;
    p->end.residual = pieces & 4 && alone ? s->residual.at : NULL;
    p->end.residual_last = pieces & 8;
    p->end.scale = pieces & 16 ? 0.75f : 0;
    p->end.act = (enum ox_act)(pieces >> 5 & 3);
    p->end.lo = pieces & 128 ? 0 : -0.5f;
    p->end.hi = pieces & 256 ? INFINITY : 0.5f;
    p->end.alpha = 0.1f;
    p->end.row = ending_row;
}

static struct ox_dense random_product(struct dice *d, const struct ox_compute *t, struct sides *s)
{
    static const size_t most[] = {3, 7, 20, 70, 300};
    struct ox_dense p = {.m = dice_between(d, 1, most[dice_between(d, 0, 4)]),
                         .n = dice_between(d, 1, most[dice_between(d, 0, 4)]),
                         .k = dice_between(d, 0, most[dice_between(d, 0, 4)] * 4)};
    const size_t kind = dice_next(d);
    p.batch[0] = kind & 3 ? 1 : dice_between(d, 1, 3);
    p.batch[1] = kind & 3 ? 1 : dice_between(d, 1, 2);
    const bool square = (kind >> 8 & 15) == 0; /* a small one, that many rows go past */
    if (square) {
        p.m = dice_between(d, 64, 300);
        p.n = p.k = dice_between(d, 2, 4);
        p.batch[0] = p.batch[1] = 1;
    }
    const bool a_turned = !square && (kind >> 2 & 3) == 0, b_turned = kind >> 4 & 1;
    p.a_row = a_turned ? 1 : p.k + (square ? 0 : dice_between(d, 0, 5));
    p.a_col = a_turned ? p.m + dice_between(d, 0, 5) : 1;
    p.b_row = b_turned ? 1 : p.n + dice_between(d, 0, 5);
    p.b_col = b_turned ? p.k + dice_between(d, 0, 5) : 1;
    p.c_row = p.n + (square ? 0 : dice_between(d, 0, 5));
    const size_t a_one = p.m * p.a_row + p.k * p.a_col, b_one = p.k * p.b_row + p.n * p.b_col;
    p.a_batch[0] = a_one * p.batch[1];
    p.a_batch[1] = a_one;
    p.b_batch[1] = kind & 64 ? b_one : 0;
    p.b_batch[0] = p.b_batch[1] * p.batch[1];
    p.c_batch[1] = p.m * p.c_row;
    p.c_batch[0] = p.c_batch[1] * p.batch[1];
    s->a = guarded_new(d, a_one * p.batch[0] * p.batch[1], true);
    s->b = guarded_new(d, b_one * p.batch[0] * p.batch[1], true);
    s->c = guarded_new(d, p.m * p.c_row * p.batch[0] * p.batch[1], true);
    s->packed = guarded_new(d, ox_dense_packed(t, p.k, p.n), false);
    p.a = s->a.at;
    p.b = s->b.at;
    p.c = s->c.at;
    if (p.b_batch[1] == 0 && kind & 128) {
        ox_dense_pack(t, NULL, p.k, p.n, p.b, OX_WEIGHT_F32, p.b_row, p.b_col, s->packed.at);
        p.packed = s->packed.at;
        p.b = NULL;
    }
    random_end(d, &p, s);
    return p;
}

static void free_sides(struct sides *s)
{
    guarded_free(&s->a);
    guarded_free(&s->b);
    guarded_free(&s->c);
    guarded_free(&s->packed);
    guarded_free(&s->work);
    guarded_free(&s->bias);
    guarded_free(&s->rows);
    guarded_free(&s->residual);
}

static void compare(const struct ox_dense *p, const struct sides *s, size_t g0, size_t g1)
{
    const float *a = p->a + g0 * p->a_batch[0] + g1 * p->a_batch[1];
    const float *b = s->b.at + g0 * p->b_batch[0] + g1 * p->b_batch[1];
    const float *c = p->c + g0 * p->c_batch[0] + g1 * p->c_batch[1];
    for (size_t i = 0; i < p->m; i++) {
        for (size_t j = 0; j < p->n; j++) {
            double sum = 0, size = 4;
            for (size_t q = 0; q < p->k; q++) {
                const double term =
                    (double)a[i * p->a_row + q * p->a_col] * b[q * p->b_row + j * p->b_col];
                sum += term;
                size += fabs(term);
            }
            const double want = ending(&p->end, sum, i, j);
            const double bound = size * (sqrt((double)p->k) + 4) * 0x1p-24;
            ck_assert_msg(fabs(want - c[i * p->c_row + j]) <= bound,
                          "%zux%zux%zu (%zu,%zu): %g, expected %g", p->m, p->n, p->k, i, j,
                          (double)c[i * p->c_row + j], want);
        }
    }
}

START_TEST(products_of_any_shape_are_near_the_sums_in_double)
{
    struct dice d = {(uint64_t)_i * 7919};
    const struct ox_compute *t = table_at((unsigned)_i % n_tables());
    struct ox_env *env = ox_env_new();
    ox_env_set_threads(env, 1 + (unsigned)_i % 3);
    struct sides s;
    struct ox_dense p = random_product(&d, t, &s);
    s.work = guarded_new(&d, ox_dense_work(t, env, &p), false);
    ox_dense_run(t, env, &p, s.work.at);
    for (size_t g0 = 0; g0 < p.batch[0]; g0++) {
        for (size_t g1 = 0; g1 < p.batch[1]; g1++)
            compare(&p, &s, g0, g1);
    }
    free_sides(&s);
    ox_env_release(env);
}
END_TEST

/* What line() is given, and room for its weights and results. */
struct line {
    struct guarded in, weights, out, bias, residual;
    const float *row[3];
    struct ox_line l;
    struct ox_epilogue end;
};

static void random_line(struct dice *d, const struct ox_compute *t, struct line *x)
{
    const size_t nr = t->nr, run = dice_between(d, 1, dice_between(d, 0, 1) ? 4 : 70);
    const size_t count = dice_between(d, 0, 3 * t->mr + 2), cols = dice_between(d, 1, 3 * nr + 1);
    const size_t panels = (cols + nr - 1) / nr, ldc = cols + dice_between(d, 0, 3);
    const unsigned rows = (unsigned)dice_between(d, 1, 3);
    const size_t step = dice_between(d, 1, run + 2), span = count * step + run;
    const size_t panel = rows * run * nr + dice_between(d, 0, 1) * nr;
    x->in = guarded_new(d, rows * span, true);
    x->weights = guarded_new(d, panels * panel, false);
    x->out = guarded_new(d, count * ldc, true);
    x->bias = guarded_new(d, cols, true);
    x->residual = guarded_new(d, count * ldc, true);
    x->end = (struct ox_epilogue){.col_bias = dice_between(d, 0, 1) ? x->bias.at : NULL,
                                  .residual = dice_between(d, 0, 1) ? x->residual.at : NULL,
                                  .residual_ld = ldc,
                                  .act = dice_between(d, 0, 1) ? OX_ACT_CLIP : OX_ACT_NONE,
                                  .hi = INFINITY};
    for (unsigned r = 0; r < rows; r++)
        x->row[r] = x->in.at + r * span;
    x->l = (struct ox_line){.row = x->row,
                            .rows = rows,
                            .run = run,
                            .step = step,
                            .count = count,
                            .b = x->weights.at,
                            .panel = panel,
                            .c = x->out.at,
                            .ldc = ldc,
                            .cols = cols,
                            .add = dice_between(d, 0, 1),
                            .far = dice_between(d, 0, 1),
                            .one_stream = dice_between(d, 0, 1),
                            .fetch = rows == 1 && dice_between(d, 0, 1),
                            .behind = dice_between(d, 0, 1) ? (ptrdiff_t)panel : 0,
                            .end = dice_between(d, 0, 1) ? &x->end : NULL};
}

START_TEST(lines_of_any_size_are_near_the_sums_in_double)
{
    struct dice d = {(uint64_t)_i * 101};
    const struct ox_compute *t = table_at((unsigned)_i % n_tables());
    struct line x;
    random_line(&d, t, &x);
    const struct ox_line *l = &x.l;
    float *before = calloc(x.out.n + 1, sizeof *before);
    ck_assert_ptr_nonnull(before);
    memcpy(before, x.out.at, x.out.n * sizeof *before);
    t->line(l);
    for (size_t i = 0; i < l->count; i++) {
        for (size_t j = 0; j < l->ldc; j++) {
            double sum = l->add ? (double)before[i * l->ldc + j] : 0, size = 4;
            for (size_t q = 0; j < l->cols && q < l->rows * l->run; q++) {
                const double term = (double)l->row[q / l->run][i * l->step + q % l->run] *
                                    l->b[j / t->nr * l->panel + q * t->nr + j % t->nr];
                sum += term;
                size += fabs(term);
            }
            double want = l->end && j < l->cols ? ending(l->end, sum, i, j) : sum;
            want = j < l->cols ? want : (double)before[i * l->ldc + j]; /* not its own */
            ck_assert(fabs(want - (double)x.out.at[i * l->ldc + j]) <= size * 20 * 0x1p-24);
        }
    }
    free(before);
    guarded_free(&x.in);
    guarded_free(&x.weights);
    guarded_free(&x.out);
    guarded_free(&x.bias);
    guarded_free(&x.residual);
}
END_TEST

/* Of tiles that sum fewer columns in another form, too. */
START_TEST(lines_of_fewer_columns_have_the_bits_of_whole_panels)
{
    enum { RUN = 19 };
    struct dice d = {(uint64_t)_i * 103 + 1};
    const struct ox_compute *t = table_at((unsigned)_i % n_tables());
    const size_t count = dice_between(&d, 1, 3 * t->mr + 2), nr = t->nr;
    const size_t cols = dice_between(&d, 1, nr);
    struct guarded in = guarded_new(&d, count * RUN, true);
    struct guarded weights = guarded_new(&d, RUN * nr, false);
    struct guarded all = guarded_new(&d, count * nr, true);
    struct guarded some = guarded_new(&d, count * cols, true);
    const float *row = in.at;
    struct ox_line l = {.row = &row,
                        .rows = 1,
                        .run = RUN,
                        .step = RUN,
                        .count = count,
                        .b = weights.at,
                        .panel = RUN * nr,
                        .c = all.at,
                        .ldc = nr,
                        .cols = nr};
    t->line(&l);
    l.c = some.at;
    l.ldc = l.cols = cols;
    t->line(&l);
    for (size_t i = 0; i < count; i++)
        ck_assert_mem_eq(some.at + i * cols, all.at + i * nr, cols * sizeof *some.at);
    guarded_free(&in);
    guarded_free(&weights);
    guarded_free(&all);
    guarded_free(&some);
}
END_TEST

/* Of [m, k] by [k, n], side by side. */
static struct ox_dense dense_product(size_t m, size_t n, size_t k, const float *a, const float *b,
                                     float *c)
{
    return (struct ox_dense){.m = m,
                             .n = n,
                             .k = k,
                             .a = a,
                             .a_row = k,
                             .a_col = 1,
                             .b = b,
                             .b_row = n,
                             .b_col = 1,
                             .c = c,
                             .c_row = n,
                             .batch = {1, 1}};
}

START_TEST(the_bits_are_the_same_for_any_number_of_threads)
{
    struct dice d = {(uint64_t)_i};
    const struct ox_compute *t = table_at((unsigned)_i % n_tables());
    const size_t m = _i & 4 ? dice_between(&d, 1, 4) : 150, n = 430,
                 k = 701; /* few rows: in parts */
    struct guarded a = guarded_new(&d, m * k, true), b = guarded_new(&d, k * n, true);
    struct guarded one = guarded_new(&d, m * n, true), four = guarded_new(&d, m * n, true);
    for (unsigned threads = 1; threads <= 4; threads += 3) {
        struct ox_env *env = ox_env_new();
        ox_env_set_threads(env, threads);
        struct ox_dense p = dense_product(m, n, k, a.at, b.at, threads == 1 ? one.at : four.at);
        struct guarded work = guarded_new(&d, ox_dense_work(t, env, &p), false);
        ox_dense_run(t, env, &p, work.at);
        struct sides s = {.b = b};
        compare(&p, &s, 0, 0);
        guarded_free(&work);
        ox_env_release(env);
    }
    ck_assert(memcmp(one.at, four.at, m * n * sizeof(float)) == 0);
    guarded_free(&a);
    guarded_free(&b);
    guarded_free(&one);
    guarded_free(&four);
}
END_TEST

START_TEST(tasks_cover_a_product_once)
{
    enum { ROWS = 300, COLS = 500 };
    static unsigned char seen[ROWS * COLS];
    struct dice d = {(uint64_t)_i * 31};
    const struct ox_compute *t = table_at((unsigned)_i % n_tables());
    const size_t m = dice_between(&d, 1, ROWS), n = dice_between(&d, 1, COLS);
    const size_t k = dice_between(&d, 1, 600);
    struct ox_blocking by;
    ox_blocking_plan(t, m, n, k, k, 1, false, &by);
    const size_t tasks = by.n_rows * by.n_cols;
    memset(seen, 0, sizeof seen);
    for (size_t i = 0; i < tasks; i++) {
        size_t row, col;
        ox_blocking_at(&by, i, &row, &col);
        for (size_t r = row; r < m && r < row + by.rows; r++)
            for (size_t c = col; c < n && c < col + by.cols; c++)
                seen[r * n + c]++;
    }
    size_t once = 0;
    for (size_t i = 0; i < m * n; i++)
        once += seen[i] == 1;
    ck_assert_uint_eq(once, m * n);
}
END_TEST

START_TEST(two_threads_get_as_many_of_few_tasks)
{
    static const size_t shapes[][3] = {{49, 192, 1152}, {49, 320, 1152}, {169, 48, 384}};
    for (unsigned level = 0; level < n_tables(); level++) {
        for (size_t i = 0; i < OX_COUNT(shapes); i++) {
            const size_t *s = shapes[i];
            struct ox_blocking by;
            ox_blocking_plan(table_at(level), s[0], s[1], s[2], s[2], 1, false, &by);
            ck_assert_uint_eq(by.n_rows * by.n_cols % 2, 0);
        }
    }
}
END_TEST

START_TEST(columns_in_many_parts_leave_rows_together)
{
    for (unsigned level = 0; level < n_tables(); level++) {
        const struct ox_compute *t = table_at(level);
        struct ox_blocking by;
        ox_blocking_plan(t, 128, 768, 3072, ox_dense_depth(t, 3072), 1, false, &by);
        ck_assert(t->triples || (by.n_rows == 1 && by.n_cols >= 12));
    }
}
END_TEST

/* A left side that lies somewhere, given row by row. */
struct lying {
    const float *from;
    size_t k;
};

static void give_rows(const void *arg, size_t first, size_t n, float *to)
{
    const struct lying *l = arg;
    memcpy(to, l->from + first * l->k, n * l->k * sizeof *to);
}

START_TEST(rows_that_are_made_as_they_are_read_give_the_same_bits)
{
    struct dice d = {(uint64_t)_i};
    const struct ox_compute *t = table_at((unsigned)_i % n_tables());
    const size_t n = dice_between(&d, 1, 150), k = dice_between(&d, 1, _i & 8 ? 1100 : 70);
    const size_t m = dice_between(&d, 16 * t->mr, 400);
    struct guarded a = guarded_new(&d, m * k, true), b = guarded_new(&d, k * n, true);
    struct guarded want = guarded_new(&d, m * n, true), got = guarded_new(&d, m * n, true);
    struct guarded bias = guarded_new(&d, n, true), residual = guarded_new(&d, m * n, true);
    struct guarded packed = guarded_new(&d, ox_dense_packed(t, k, n), false);
    const struct lying lying = {a.at, k};
    const struct ox_made made = {give_rows, &lying};
    ox_dense_pack(t, NULL, k, n, b.at, OX_WEIGHT_F32, n, 1, packed.at);
    struct ox_dense p = {.m = m,
                         .n = n,
                         .k = k,
                         .a = a.at,
                         .a_row = k,
                         .a_col = 1,
                         .packed = packed.at,
                         .c = want.at,
                         .c_row = n,
                         .end = {.col_bias = bias.at,
                                 .residual = residual.at,
                                 .residual_ld = n,
                                 .residual_last = _i & 1,
                                 .act = OX_ACT_CLIP,
                                 .hi = INFINITY}};
    ck_assert(ox_dense_makes_rows(t, m, k));
    struct guarded own = guarded_new(&d, ox_dense_work(t, NULL, &p), false);
    ox_dense_run(t, NULL, &p, own.at);
    guarded_free(&own);
    p.a = NULL;
    p.made = &made;
    p.c = got.at;
    struct ox_env *env = ox_env_new();
    ox_env_set_threads(env, 1 + (unsigned)_i % 3);
    struct guarded work = guarded_new(&d, ox_dense_work(t, env, &p), false);
    ox_dense_run(t, env, &p, work.at);
    ck_assert(memcmp(want.at, got.at, m * n * sizeof(float)) == 0);
    ox_env_release(env);
    struct guarded *const all[] = {&a, &b, &want, &got, &bias, &residual, &packed, &work};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        guarded_free(all[i]);
}
END_TEST

/* A model's first run, which packs a block at a time, and its later ones, by weights that are packed. */
START_TEST(weights_packed_before_or_as_they_are_read_give_the_same_bits)
{
    struct dice d = {(uint64_t)_i};
    const struct ox_compute *t = table_at((unsigned)_i % n_tables());
    const size_t n = dice_between(&d, 150, 400), k = dice_between(&d, 300, 1100);
    const bool few = ox_dense_leaves_weights(t, 1, n, k, n, 1);
    const size_t m = dice_between(&d, few ? t->packed_rows : 1, _i & 8 ? 40 : t->mr + 2);
    struct guarded a = guarded_new(&d, m * k, true), b = guarded_new(&d, k * n, true);
    struct guarded want = guarded_new(&d, m * n, true), got = guarded_new(&d, m * n, true);
    struct guarded packed = guarded_new(&d, ox_dense_packed(t, k, n), false);
    struct sides s = {0};
    struct ox_dense p = dense_product(m, n, k, a.at, b.at, want.at);
    p.weights = true;
    random_end(&d, &p, &s);
    struct ox_env *env = ox_env_new();
    struct guarded work = guarded_new(&d, ox_dense_work(t, env, &p), false);
    ox_dense_run(t, env, &p, work.at);
    ox_dense_pack(t, NULL, k, n, b.at, OX_WEIGHT_F32, n, 1, packed.at);
    p.packed = packed.at;
    p.b = NULL;
    p.c = got.at;
    guarded_free(&work);
    work = guarded_new(&d, ox_dense_work(t, env, &p), false);
    ox_dense_run(t, env, &p, work.at);
    ck_assert(memcmp(want.at, got.at, m * n * sizeof(float)) == 0);
    ox_env_release(env);
    struct guarded *const all[] = {&a,    &b,      &want,   &got,       &packed,
                                   &work, &s.bias, &s.rows, &s.residual};
    for (size_t i = 0; i < OX_COUNT(all); i++)
        guarded_free(all[i]);
}
END_TEST

START_TEST(weights_of_two_bytes_give_what_they_are_worth)
{
    struct dice d = {(uint64_t)_i + 99};
    const enum ox_weight_type type = _i % 2 ? OX_WEIGHT_F16 : OX_WEIGHT_BF16;
    const size_t m = _i % 3 ? 20 : 2, n = dice_between(&d, 1, 70), k = dice_between(&d, 1, 150);
    uint16_t *narrow = calloc(n * k, sizeof *narrow);
    struct guarded wide = guarded_new(&d, n * k, true), a = guarded_new(&d, m * k, true);
    struct guarded want = guarded_new(&d, m * n, true), got = guarded_new(&d, m * n, true);
    ck_assert_ptr_nonnull(narrow);
    for (size_t i = 0; i < n * k; i++) /* positive, at most 2; all bits of the fraction used */
        narrow[i] = (uint16_t)(dice_next(&d) % 0x3c00);
    for (unsigned level = 0; level < n_tables(); level++) {
        const struct ox_compute *t = table_at(level);
        const bool turned = _i & 4;
        struct ox_dense p = {.m = m,
                             .n = n,
                             .k = k,
                             .a = a.at,
                             .a_row = k,
                             .a_col = 1,
                             .b = wide.at,
                             .b_row = turned ? 1 : n,
                             .b_col = turned ? k : 1,
                             .c = want.at,
                             .c_row = n};
        ox_compute(OX_CPU_C)->widen_bf16(n * k, narrow, wide.at);
        if (type == OX_WEIGHT_F16)
            ox_compute(OX_CPU_C)->widen_f16(n * k, narrow, wide.at);
        struct guarded work = guarded_new(&d, ox_dense_work(t, NULL, &p) + 64 * 1024, false);
        struct guarded packed = guarded_new(&d, ox_dense_packed(t, k, n), false);
        ox_dense_pack(t, NULL, k, n, wide.at, OX_WEIGHT_F32, p.b_row, p.b_col, packed.at);
        p.packed = packed.at;
        p.b = NULL;
        ox_dense_run(t, NULL, &p, work.at);
        ox_dense_pack(t, NULL, k, n, narrow, type, p.b_row, p.b_col, packed.at);
        p.c = got.at;
        ox_dense_run(t, NULL, &p, work.at);
        ck_assert(memcmp(want.at, got.at, m * n * sizeof(float)) == 0);
        p.packed = NULL;
        p.b = narrow;
        p.b_type = type;
        ck_assert(ox_dense_work(t, NULL, &p) <= work.n);
        ox_dense_run(t, NULL, &p, work.at);
        for (size_t i = 0; i < m * n; i++)
            ck_assert(fabsf(want.at[i] - got.at[i]) <= 1e-4f * (fabsf(want.at[i]) + 1));
        guarded_free(&work);
        guarded_free(&packed);
    }
    free(narrow);
    guarded_free(&wide);
    guarded_free(&a);
    guarded_free(&want);
    guarded_free(&got);
}
END_TEST

START_TEST(every_half_and_bfloat_widens_to_the_same_bits)
{
    static uint16_t all[1 << 16];
    static float want[1 << 16], got[1 << 16];
    for (size_t i = 0; i < 1 << 16; i++)
        all[i] = (uint16_t)i;
    for (unsigned level = 1; level < n_tables(); level++) {
        for (size_t n = (1 << 16) - 9; n <= 1 << 16; n++) {
            ox_compute(OX_CPU_C)->widen_f16(n, all, want);
            table_at(level)->widen_f16(n, all, got);
            ck_assert(memcmp(want, got, n * sizeof *got) == 0);
            ox_compute(OX_CPU_C)->widen_bf16(n, all, want);
            table_at(level)->widen_bf16(n, all, got);
            ck_assert(memcmp(want, got, n * sizeof *got) == 0);
        }
    }
}
END_TEST

START_TEST(infinities_and_nans_pass_through_relu_as_numpy_has_it)
{
    for (unsigned level = 0; level < n_tables(); level++) {
        const struct ox_compute *t = table_at(level);
        float a[3] = {1, 1, 1}, c[3 * 40], b[40], packed[64];
        const float odd[4] = {NAN, INFINITY, -INFINITY, -0.5f};
        for (size_t i = 0; i < 40; i++)
            b[i] = odd[i % 4];
        ox_dense_pack(t, NULL, 1, 40, b, OX_WEIGHT_F32, 40, 1, packed);
        struct ox_dense p = {.m = 3,
                             .n = 40,
                             .k = 1,
                             .a = a,
                             .a_row = 1,
                             .a_col = 1,
                             .packed = packed,
                             .c = c,
                             .c_row = 40,
                             .end = {.act = OX_ACT_CLIP, .hi = INFINITY}};
        ox_dense_run(t, NULL, &p, NULL);
        for (size_t i = 0; i < 120; i += 4) {
            ck_assert(isnan(c[i]));
            ck_assert(c[i + 1] == INFINITY);
            ck_assert(c[i + 2] == 0 && c[i + 3] == 0);
        }
    }
}
END_TEST

/* --bench [LEVEL [KIND]] prints speeds instead. */
int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
        enum ox_cpu level = ox_cpu();
        if (argc > 2 && !ox_cpu_find(argv[2], &level))
            return 2;
        bench_kernels(level, argc > 3 ? argv[3] : NULL);
        return 0;
    }
    Suite *s = suite_create("dense");
    TCase *tc = tcase_create("dense");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, products_of_any_shape_are_near_the_sums_in_double, 0, 600);
    tcase_add_loop_test(tc, lines_of_any_size_are_near_the_sums_in_double, 0, 400);
    tcase_add_loop_test(tc, lines_of_fewer_columns_have_the_bits_of_whole_panels, 0, 400);
    tcase_add_loop_test(tc, the_bits_are_the_same_for_any_number_of_threads, 0, 16);
    tcase_add_loop_test(tc, tasks_cover_a_product_once, 0, 400);
    tcase_add_test(tc, two_threads_get_as_many_of_few_tasks);
    tcase_add_test(tc, columns_in_many_parts_leave_rows_together);
    tcase_add_loop_test(tc, rows_that_are_made_as_they_are_read_give_the_same_bits, 0, 48);
    tcase_add_loop_test(tc, weights_packed_before_or_as_they_are_read_give_the_same_bits, 0, 96);
    tcase_add_loop_test(tc, weights_of_two_bytes_give_what_they_are_worth, 0, 24);
    tcase_add_test(tc, every_half_and_bfloat_widens_to_the_same_bits);
    tcase_add_test(tc, infinities_and_nans_pass_through_relu_as_numpy_has_it);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
