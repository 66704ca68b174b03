/* Products by triples of bfloat16, in plain C everywhere and by tiles where the processor has them. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/compiler.h"
#include "kernels/convolve_impl.h"
#include "kernels/triples.h"
#include "onnxtool.h"
#include "tests/ending.h"
#include "tests/guarded.h"
#include "tests/run_suite.h"
#include "tests/tables.h"

/* The tables that have them: none without AVX2. */
static unsigned tables_with_triples(const struct ox_compute *found[2])
{
    unsigned n = 0;
    for (unsigned i = 0; i < n_tables(); i++)
        if (table_at(i)->triples)
            found[n++] = table_at(i);
    return n;
}

/* Wherever the emulated table is built in there is one. */
START_TEST(one_table_of_x86_has_them)
{
    const struct ox_compute *t[2];
    const unsigned n = tables_with_triples(t);
    for (unsigned i = 0; i < n; i++)
        ck_assert_uint_eq(t[i]->nr, OX_TRIPLES_COLS);
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
    ck_assert_uint_ge(n, ox_cpu_probe() >= OX_CPU_AVX2);
#endif
}
END_TEST

static float number(uint16_t high)
{
    const uint32_t bits = (uint32_t)high << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static const struct ox_triples *triples_at(int i)
{
    const struct ox_compute *t[2];
    return i == 0 ? &ox_triples_c : i <= (int)tables_with_triples(t) ? t[i - 1]->triples : NULL;
}

START_TEST(parts_add_up_to_their_number)
{
    enum { N = OX_TRIPLES_DEPTH };
    const struct ox_triples *t = triples_at(_i);
    struct dice d = {(uint64_t)_i};
    float x[N];
    _Alignas(64) static uint16_t out[OX_TRIPLES_PARTS * OX_TRIPLES_TILE];
    for (int turn = 0; t && turn < 2000; turn++) {
        for (size_t i = 0; i < N; i++)
            x[i] = ldexpf(dice_float(&d), (int)dice_between(&d, 0, 200) - 90);
        x[0] = turn & 1 ? FLT_MIN * 0x1p30f : -0x1.fefffep127f; /* the largest that has */
        ck_assert_uint_eq(t->rows(1, N, x, N, out), 0);
        for (size_t p = 0; p < N; p++) {
            const size_t at = p % (N / 2) * 2 + p / (N / 2);
            const double high = number(out[at]), middle = number(out[OX_TRIPLES_TILE + at]);
            const double low = number(out[2 * OX_TRIPLES_TILE + at]);
            ck_assert(high + middle + low == x[p]);
            ck_assert(fabs(low) <= fabs((double)x[p]) * 0x1p-16);
        }
    }
}
END_TEST

START_TEST(what_has_no_parts_is_told)
{
    static const float odd[] = {INFINITY, -INFINITY, NAN, FLT_MAX, -0x1.ffp127f};
    const struct ox_triples *t = triples_at(_i);
    _Alignas(64) static uint16_t out[2 * 2 * OX_TRIPLES_PARTS * OX_TRIPLES_TILE];
    static float x[40 * OX_TRIPLES_COLS];
    for (size_t at = 0; t && at < 40; at += 13) {
        for (size_t i = 0; i < OX_COUNT(odd); i++) {
            x[2 * 40 + at] = odd[i];
            ck_assert_uint_eq(t->rows(4, 40, x, 40, out), 4);
            x[2 * 40 + at] = 1;
            x[at * OX_TRIPLES_COLS + 17] = odd[i];
            ck_assert(t->panel(40, x, out));
            x[at * OX_TRIPLES_COLS + 17] = 1;
            ck_assert(!t->panel(40, x, out));
        }
    }
}
END_TEST

/* A line, and what its sums begin with. */
struct line {
    struct guarded in, weights, before, bias, residual;
    const float *row;
    struct ox_line l;
    struct ox_epilogue end;
};

static struct line *random_line(struct dice *d)
{
    struct line *x = calloc(1, sizeof *x);
    ck_assert_ptr_nonnull(x);
    const size_t run = dice_between(d, 1, 150), count = dice_between(d, 1, 300);
    const size_t cols = dice_between(d, 1, 100), ldc = cols + dice_between(d, 0, 3);
    const size_t step = run + dice_between(d, 0, 2), panel = run * OX_TRIPLES_COLS;
    x->in = guarded_new(d, count * step, true);
    x->weights = guarded_new(d, (cols + OX_TRIPLES_COLS - 1) / OX_TRIPLES_COLS * panel, false);
    x->before = guarded_new(d, count * ldc, true);
    x->bias = guarded_new(d, cols, true);
    x->residual = guarded_new(d, count * ldc, true);
    x->row = x->in.at;
    x->end = (struct ox_epilogue){.scale = dice_between(d, 0, 1) ? 0.5f : 0,
                                  .col_bias = dice_between(d, 0, 1) ? x->bias.at : NULL,
                                  .residual = dice_between(d, 0, 1) ? x->residual.at : NULL,
                                  .residual_ld = ldc,
                                  .act = (enum ox_act)dice_between(d, 0, 2),
                                  .alpha = 0.1f,
                                  .hi = 1};
    x->l = (struct ox_line){.row = &x->row,
                            .rows = 1,
                            .run = run,
                            .step = step,
                            .count = count,
                            .b = x->weights.at,
                            .panel = panel,
                            .ldc = ldc,
                            .cols = cols,
                            .add = dice_between(d, 0, 1),
                            .end = dice_between(d, 0, 1) ? &x->end : NULL};
    return x;
}

static void free_line(struct line *x)
{
    struct guarded *const all[] = {&x->in, &x->weights, &x->before, &x->bias, &x->residual};
    for (size_t i = 0; i < OX_COUNT(all); i++)
        guarded_free(all[i]);
    free(x);
}

/* All outputs, rows [0, cut) and those behind them as two lines that follow each other. */
static struct guarded run_line(struct dice *d, const struct ox_compute *t, const struct line *x,
                               size_t cut)
{
    struct guarded out = guarded_new(d, x->before.n, true);
    struct guarded work = guarded_new(d, ox_triples_work(x->l.run + 7), false);
    struct ox_triples_lines lines = ox_triples_begin(work.at, x->l.run + 7);
    memcpy(out.at, x->before.at, out.n * sizeof *out.at);
    for (size_t first = 0; first < x->l.count; first = first < cut ? cut : x->l.count) {
        const float *row = x->row + first * x->l.step;
        struct ox_line l = x->l;
        struct ox_epilogue end = x->end;
        l.row = &row;
        l.count = (first < cut ? cut : x->l.count) - first;
        l.c = out.at + first * l.ldc;
        end.residual = end.residual ? end.residual + first * end.residual_ld : NULL;
        l.end = x->l.end ? &end : NULL;
        ox_triples_line(t, &l, &lines, first < cut ? l.b : NULL, l.run);
    }
    guarded_free(&work);
    return out;
}

START_TEST(sums_are_nearer_to_those_in_double_than_one_by_one)
{
    const struct ox_compute *tables[2];
    struct dice d = {(uint64_t)_i * 37};
    const unsigned n = tables_with_triples(tables);
    struct line *x = random_line(&d);
    const struct ox_line *l = &x->l;
    for (unsigned table = 0; table < n; table++) {
        struct guarded out = run_line(&d, tables[table], x, 0);
        for (size_t i = 0; i < l->count; i++) {
            for (size_t j = 0; j < l->ldc; j++) {
                const double before = x->before.at[i * l->ldc + j];
                double sum = l->add ? before : 0, size = fabs(sum) + 2;
                for (size_t p = 0; j < l->cols && p < l->run; p++) {
                    const double term = (double)x->row[i * l->step + p] *
                                        l->b[j / OX_TRIPLES_COLS * l->panel + p * OX_TRIPLES_COLS +
                                             j % OX_TRIPLES_COLS];
                    sum += term;
                    size += fabs(term);
                }
                const double want = j >= l->cols ? before
                                    : l->end     ? ending(l->end, sum, i, j)
                                                 : sum;
                const double error = fabs(want - (double)out.at[i * l->ldc + j]);
                ck_assert_msg(error <= 3 * size * 0x1p-24, "(%zu,%zu) of %zu: %g", i, j, l->run,
                              error / size * 0x1p24);
            }
        }
        guarded_free(&out);
    }
    free_line(x);
}
END_TEST

START_TEST(bits_do_not_depend_on_the_rows_beside_nor_on_the_tiles)
{
    const struct ox_compute *tables[2];
    struct dice d = {(uint64_t)_i * 41};
    const unsigned n = tables_with_triples(tables);
    struct line *x = random_line(&d);
    for (unsigned table = 0; table < n; table++) {
        struct guarded one = run_line(&d, tables[0], x, 0);
        struct guarded two = run_line(&d, tables[table], x, dice_between(&d, 0, x->l.count));
        ck_assert(memcmp(one.at, two.at, one.n * sizeof *one.at) == 0);
        guarded_free(&one);
        guarded_free(&two);
    }
    free_line(x);
}
END_TEST

/* Rows and panels that have no parts go as they would without. */
START_TEST(infinities_and_nans_come_out_as_of_lines)
{
    static const float odd[] = {INFINITY, -INFINITY, NAN, FLT_MAX};
    const struct ox_compute *tables[2];
    struct dice d = {(uint64_t)_i * 43};
    const unsigned n = tables_with_triples(tables);
    struct line *x = random_line(&d);
    const struct ox_line *l = &x->l;
    const size_t row = dice_between(&d, 0, l->count - 1), col = dice_between(&d, 0, l->cols - 1);
    for (unsigned table = 0; table < n; table++) {
        const struct ox_compute *t = tables[table];
        struct guarded plain = run_line(&d, t, x, 0);
        float *in = x->in.at + row * l->step + dice_between(&d, 0, l->run - 1), was = *in;
        *in = odd[_i % 4];
        struct guarded out = run_line(&d, t, x, dice_between(&d, 0, l->count));
        for (size_t i = 0; i < l->count; i++) {
            const float *at = out.at + i * l->ldc, *without = plain.at + i * l->ldc;
            float want[100];
            const float *one = x->row + i * l->step;
            const struct ox_epilogue end = ox_end_at(&x->end, i, 0);
            memcpy(want, x->before.at + i * l->ldc, l->cols * sizeof *want);
            for (size_t j = 0; j < l->cols; j += t->wide) {
                const struct ox_epilogue some = ox_end_at(&end, 0, j);
                struct ox_line part = *l;
                part.row = &one;
                part.count = 1;
                part.b = l->b + j / t->nr * l->panel;
                part.c = want + j;
                part.cols = l->cols - j < t->wide ? l->cols - j : t->wide;
                part.end = l->end ? &some : NULL;
                t->line(&part);
            }
            ck_assert(memcmp(at, i == row ? want : without, l->cols * sizeof *want) == 0);
        }
        *in = was;
        float *weight = x->weights.at + col / OX_TRIPLES_COLS * l->panel + col % OX_TRIPLES_COLS;
        was = *weight;
        *weight = odd[_i % 4];
        struct guarded other = run_line(&d, t, x, 0);
        for (size_t i = 0; i < l->count; i++)
            for (size_t j = 0; j < l->cols; j++)
                if (j / OX_TRIPLES_COLS != col / OX_TRIPLES_COLS)
                    ck_assert(plain.at[i * l->ldc + j] == other.at[i * l->ldc + j]);
        ck_assert(_i % 4 != 2 || l->end || isnan(other.at[col]));
        *weight = was;
        guarded_free(&plain);
        guarded_free(&out);
        guarded_free(&other);
    }
    free_line(x);
}
END_TEST

/* Rows of taps that are copied: strides, padding, dilation and gaps between pixels. */
START_TEST(convolutions_of_copied_rows_are_near_those_without)
{
    const struct ox_compute *tables[2];
    struct dice d = {(uint64_t)_i * 47};
    const unsigned n = tables_with_triples(tables);
    const size_t side = dice_between(&d, 34, 37), gap = dice_between(&d, 0, 1);
    struct ox_conv c = {.batch = dice_between(&d, 1, 2),
                        .groups = 1,
                        .in_channels = dice_between(&d, 18, 21),
                        .out_channels = 160 - dice_between(&d, 0, 5),
                        .kernel = {3, 3},
                        .stride = {2, 1 + (size_t)_i % 2},
                        .dilation = {1, 1 + (size_t)_i / 2 % 2},
                        .pad = {1, 1},
                        .in = {side, side}};
    c.in_pixel = c.in_channels + gap;
    c.out_pixel = c.out_channels;
    for (unsigned axis = 0; axis < 2; axis++)
        c.out[axis] = (side + 2 - 2 * c.dilation[axis] - 1) / c.stride[axis] + 1;
    const size_t k = 9 * c.in_channels, outputs = c.batch * c.out[0] * c.out[1] * c.out_channels;
    struct guarded in = guarded_new(&d, c.batch * side * side * c.in_pixel, true);
    struct guarded weights = guarded_new(&d, k * c.out_channels, true);
    for (unsigned table = 0; table < n; table++) {
        struct guarded out[2];
        for (unsigned with = 0; with < 2; with++) {
            struct ox_compute t = *tables[table];
            const struct ox_epilogue end = {.act = OX_ACT_CLIP, .lo = -1, .hi = INFINITY};
            t.triples = with ? t.triples : NULL;
            ck_assert_uint_eq(ox_triples_pay(&t, outputs / c.out_channels, c.out_channels, k),
                              with);
            struct ox_conv few = c; /* that one run would take as they are stored */
            few.batch = 1;
            few.out[0] = 100 / few.out[1];
            few.out_channels = 512;
            ck_assert_int_eq(ox_conv_reads_stored(&t, OX_CONV_INDIRECT, &few), !with);
            struct ox_env *env = ox_env_new();
            ox_env_set_threads(env, 1 + (unsigned)_i % 3);
            struct guarded packed =
                guarded_new(&d, ox_conv_packed(&t, OX_CONV_INDIRECT, &c), false);
            struct guarded work =
                guarded_new(&d, ox_conv_work(&t, env, OX_CONV_INDIRECT, &c), false);
            out[with] = guarded_new(&d, outputs, true);
            ox_conv_pack(&t, env, OX_CONV_INDIRECT, &c, weights.at, OX_WEIGHT_F32, packed.at);
            ox_conv_run(&t, env, OX_CONV_INDIRECT, &c, packed.at, in.at, out[with].at, &end,
                        work.at);
            guarded_free(&packed);
            guarded_free(&work);
            ox_env_release(env);
        }
        for (size_t i = 0; i < outputs; i++)
            ck_assert_float_le(fabsf(out[0].at[i] - out[1].at[i]), (float)k * 0x1p-22f);
        guarded_free(&out[0]);
        guarded_free(&out[1]);
    }
    guarded_free(&in);
    guarded_free(&weights);
}
END_TEST

/* 3x3 of as many channels in as out, by the side of the map. */
static enum ox_conv_way way_of(const struct ox_compute *t, size_t channels, size_t side,
                               unsigned may)
{
    const struct ox_conv c = {.batch = 1,
                              .groups = 1,
                              .in_channels = channels,
                              .out_channels = channels,
                              .kernel = {3, 3},
                              .stride = {1, 1},
                              .dilation = {1, 1},
                              .pad = {1, 1},
                              .in = {side, side},
                              .out = {side, side},
                              .in_pixel = channels,
                              .out_pixel = channels};
    return ox_conv_choose(t, &c, may);
}

/* As measured, by what transforming weights costs on the processors that have triples: heavy weights of few tiles go directly then, unless
 * they serve one run. */
START_TEST(few_tiles_of_heavy_weights_go_directly)
{
    const unsigned may = OX_CONV_MAY_WINOGRAD2 | OX_CONV_MAY_WINOGRAD4;
    const struct ox_compute *tables[2];
    const unsigned n = tables_with_triples(tables);
    for (unsigned i = 0; i < n; i++) {
        struct ox_compute with = *tables[i], without;
        with.late_weights[0] = 270;
        with.late_weights[1] = 400;
        without = with;
        without.triples = NULL;
        ck_assert_int_eq(way_of(&with, 1024, 13, may), OX_CONV_INDIRECT);
        ck_assert_int_ne(way_of(&without, 1024, 13, may), OX_CONV_INDIRECT);
        ck_assert_int_ne(way_of(&with, 1024, 13, may | OX_CONV_PACKED_FOR_ONE_RUN),
                         OX_CONV_INDIRECT);
        ck_assert_int_ne(way_of(&with, 512, 28, may), OX_CONV_INDIRECT);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("triples");
    TCase *tc = tcase_create("triples");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, one_table_of_x86_has_them);
    tcase_add_loop_test(tc, parts_add_up_to_their_number, 0, 3);
    tcase_add_loop_test(tc, what_has_no_parts_is_told, 0, 3);
    tcase_add_loop_test(tc, sums_are_nearer_to_those_in_double_than_one_by_one, 0, 24);
    tcase_add_loop_test(tc, bits_do_not_depend_on_the_rows_beside_nor_on_the_tiles, 0, 24);
    tcase_add_loop_test(tc, infinities_and_nans_come_out_as_of_lines, 0, 16);
    tcase_add_loop_test(tc, convolutions_of_copied_rows_are_near_those_without, 0, 8);
    tcase_add_test(tc, few_tiles_of_heavy_weights_go_directly);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
