/* MatMulNBits in float32: for few rows codes become weights in registers, or rows become digits that meet the codes; for many a slab of
 * columns is widened and multiplied, so that no more than that ever lies in memory as floats. Where a node asks for no more than 8 bits of
 * the rows, they become bytes. */
#include <stdatomic.h>
#include <string.h>

#include "kernels/dense.h"
#include "kernels/few_bits_bytes.h"
#include "kernels/few_bits_digits.h"
#include "kernels/few_bits_parts.h"
#include "ops/contrib/nbits.h"
#include "ops/fast/fast.h"

enum {
    FEW = 8,   /* rows for which a slab costs more than it saves */
    COLS = 32, /* of a task of few rows */
    SLAB_COLS = 256,
    CODE_COSTS = 8, /* as many operations, where rows are few */
    DIGIT_COSTS = 4,
    QUARTER_COSTS = 32, /* of 2 bits, where they become floats */
    BYTES = 4           /* the accuracy_level of 8 bits */
};

struct job {
    const struct ox_bits_product *p;
    const struct ox_few_bits *w;
    const struct ox_few_bits_kernels *t;
    const float *a;                           /* [m, k], arranged */
    float *slab;                              /* [columns, k] */
    size_t first;                             /* column of the slab */
    const struct ox_few_bits_bytes *of_bytes; /* by which rows become bytes; NULL */
    struct ox_byte_rows bytes;
    const struct ox_few_digits *of_digits;
    struct ox_digit_rows digits;
    atomic_bool wild; /* a row is not finite */
};

static void quantize_task(void *arg, size_t row, size_t slot)
{
    struct job *j = arg;
    (void)slot;
    if (!j->of_bytes->quantize(&j->bytes, j->a + row * j->w->k, row))
        atomic_store_explicit(&j->wild, true, memory_order_relaxed);
}

static void add_bias(const struct ox_bits_product *p, size_t first, size_t n)
{
    for (size_t i = 0; p->bias && i < p->m; i++)
        for (size_t c = first; c < first + n; c++)
            p->y[i * p->n + c] += p->bias[c];
}

static void bytes_task(void *arg, size_t i, size_t slot)
{
    const struct job *j = arg;
    const struct ox_bits_product *p = j->p;
    const size_t first = i * COLS, n = p->n - first < COLS ? p->n - first : COLS;
    (void)slot;
    j->of_bytes->dots(j->w, first, n, &j->bytes, p->y + first, p->n);
    add_bias(p, first, n);
}

/* False in *done: rows are not finite, and go as floats. */
static enum ox_status run_bytes(struct ox_run *r, struct job *j, bool *done, struct ox_error *err)
{
    const struct ox_bits_product *p = j->p;
    struct ox_byte_rows *b = &j->bytes;
    *b = ox_byte_rows(j->w, p->m);
    b->codes = ox_run_scratch(r, p->m * p->w.k, 1, err);
    float *floats = b->codes ? ox_run_scratch(r, p->m * b->blocks * 2, sizeof *floats, err) : NULL;
    if (!floats)
        return OX_NO_MEMORY;
    b->scales = floats;
    b->sums = floats + p->m * b->blocks;
    ox_spread(r->env, p->m, (double)(p->m * p->w.k), quantize_task, j);
    *done = !atomic_load_explicit(&j->wild, memory_order_relaxed);
    if (*done)
        ox_spread(r->env, (p->n + COLS - 1) / COLS,
                  (double)CODE_COSTS * (double)p->n * (double)p->w.k, bytes_task, j);
    return OX_OK;
}

static unsigned digits_of(const struct ox_bits_product *p)
{
    return p->as_bytes ? 1 : OX_DIGITS;
}

static void split_task(void *arg, size_t row, size_t slot)
{
    struct job *j = arg;
    (void)slot;
    if (!j->of_digits->quantize(j->w, &j->digits, j->p->a + row * j->w->k, row))
        atomic_store_explicit(&j->wild, true, memory_order_relaxed);
}

static void digits_task(void *arg, size_t i, size_t slot)
{
    const struct job *j = arg;
    const struct ox_bits_product *p = j->p;
    const size_t first = i * COLS, n = p->n - first < COLS ? p->n - first : COLS;
    (void)slot;
    j->of_digits->dots(j->w, first, n, &j->digits, p->y + first, p->n);
    add_bias(p, first, n);
}

/* False in *done: rows have no digits, and go as floats. */
static enum ox_status run_digits(struct ox_run *r, struct job *j, bool *done, struct ox_error *err)
{
    const struct ox_bits_product *p = j->p;
    const double codes = (double)p->n * (double)p->w.k;
    j->digits = ox_digit_rows(j->w, p->m, digits_of(p));
    void *room = ox_run_work(r, ox_digit_rows_bytes(&j->digits), 1, err);
    if (!room)
        return OX_NO_MEMORY;
    ox_digit_rows_place(&j->digits, room);
    ox_spread(r->env, p->m, (double)(p->m * p->w.k), split_task, j);
    *done = !atomic_load_explicit(&j->wild, memory_order_relaxed);
    if (*done)
        ox_spread(r->env, (p->n + COLS - 1) / COLS, DIGIT_COSTS * codes, digits_task, j);
    return OX_OK;
}

/* False in *done: rows have no parts, and go as floats. */
static enum ox_status run_parts(struct ox_run *r, const struct job *j, bool *done,
                                struct ox_error *err)
{
    const struct ox_bits_product *p = j->p;
    const struct ox_triples *t = ox_compute(ox_cpu())->triples;
    const size_t group = ox_few_parts_group(j->w, p->m);
    uint16_t *rows = ox_run_work(r, ox_few_parts_bytes(j->w, group), 1, err);
    if (!rows)
        return OX_NO_MEMORY;
    *done = true;
    for (size_t first = 0; *done && first < p->m; first += group) {
        const struct ox_few_parts made = {.w = j->w,
                                          .m = p->m - first < group ? p->m - first : group,
                                          .n = p->n,
                                          .bias = p->bias,
                                          .c = p->y + first * p->n,
                                          .ldc = p->n};
        *done = ox_few_parts_run(r->env, t, &made, p->a + first * p->w.k, rows);
        OX_TRY(ox_env_poll(r->env, err));
    }
    return OX_OK;
}

static void few_task(void *arg, size_t i, size_t slot)
{
    const struct job *j = arg;
    const struct ox_bits_product *p = j->p;
    const size_t first = i * COLS, n = p->n - first < COLS ? p->n - first : COLS;
    (void)slot;
    for (size_t row = 0, rows; row < p->m; row += rows) {
        rows = p->m - row < j->t->rows ? p->m - row : j->t->rows;
        j->t->dots(j->w, first, n, (unsigned)rows, j->a + row * p->w.k, p->w.k,
                   p->y + row * p->n + first, p->n);
    }
    add_bias(p, first, n);
}

static void widen_task(void *arg, size_t i, size_t slot)
{
    const struct job *j = arg;
    (void)slot;
    j->t->widen(j->w, j->first + i, j->slab + i * j->w->k);
}

static enum ox_status run_panels(struct ox_run *r, const struct job *j, struct ox_error *err)
{
    const struct ox_bits_product *p = j->p;
    struct ox_few_bits_product made = {.w = j->w,
                                       .kernels = j->t,
                                       .compute = ox_compute(ox_cpu()),
                                       .m = p->m,
                                       .n = p->n,
                                       .a = p->a,
                                       .bias = p->bias,
                                       .c = p->y};
    const size_t floats = ox_few_bits_work(r->env, &made);
    if (floats == SIZE_MAX)
        return ox_run_fail(r, err, OX_LIMIT, "the product is too big");
    made.work = ox_run_work(r, floats, sizeof *made.work, err);
    if (!made.work)
        return OX_NO_MEMORY;
    ox_few_bits_run(r->env, &made);
    return ox_env_poll(r->env, err);
}

static enum ox_status run_slabs(struct ox_run *r, struct job *j, struct ox_error *err)
{
    const struct ox_bits_product *p = j->p;
    const struct ox_compute *t = ox_compute(ox_cpu());
    size_t floats, all;
    const size_t cols = p->n < SLAB_COLS ? p->n : SLAB_COLS;
    struct ox_dense d = {.m = p->m,
                         .n = cols,
                         .k = p->w.k,
                         .a = j->a,
                         .a_row = p->w.k,
                         .a_col = 1,
                         .b_row = 1,
                         .b_col = p->w.k,
                         .c_row = p->n,
                         .end = {.scale = 1}};
    const size_t work = (ox_dense_work(t, r->env, &d) + 15) / 16 * 16;
    if (OX_MUL_OVERFLOWS(cols, p->w.k, &floats) || OX_ADD_OVERFLOWS(floats, work, &all))
        return ox_run_fail(r, err, OX_LIMIT, "the product is too big");
    float *room = ox_run_work(r, all, sizeof *room, err);
    if (!room)
        return OX_NO_MEMORY;
    d.b = j->slab = room + work;
    for (j->first = 0; j->first < p->n; j->first += cols) {
        const size_t n = p->n - j->first < cols ? p->n - j->first : cols;
        ox_spread(r->env, n, (p->w.bits == 2 ? QUARTER_COSTS : 1) * (double)(n * p->w.k),
                  widen_task, j);
        d.n = n;
        d.c = p->y + j->first;
        d.end.col_bias = p->bias ? p->bias + j->first : NULL;
        ox_dense_run(t, r->env, &d, room);
        OX_TRY(ox_env_poll(r->env, err));
    }
    return OX_OK;
}

static enum ox_status run_floats(struct ox_run *r, struct job *j, struct ox_error *err)
{
    const struct ox_bits_product *p = j->p;
    const size_t k = p->w.k;
    if (p->m > FEW && ox_few_bits_makes_panels(j->t, j->w, ox_compute(ox_cpu())->nr))
        return run_panels(r, j, err);
    float *arranged = ox_run_work(r, p->m * k, sizeof *arranged, err);
    if (!arranged)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < p->m; i++)
        ox_few_bits_arrange(j->t, j->w, p->a + i * k, arranged + i * k);
    j->a = arranged;
    if (p->m > FEW)
        return run_slabs(r, j, err);
    ox_spread(r->env, (p->n + COLS - 1) / COLS, (double)CODE_COSTS * (double)p->n * (double)k,
              few_task, j);
    return OX_OK;
}

enum ox_status ox_bits_multiply(struct ox_run *r, const struct ox_bits_product *p,
                                struct ox_error *err)
{
    struct job j = {.p = p, .w = &p->w, .t = ox_few_bits_kernels(ox_cpu(), &p->w), .a = p->a};
    if (p->w.values)
        return run_floats(r, &j, err);
    j.of_bytes = p->as_bytes ? ox_few_bits_bytes(ox_cpu(), &p->w) : NULL;
    if (j.of_bytes) {
        bool done;
        OX_TRY(run_bytes(r, &j, &done, err));
        if (done)
            return OX_OK;
    }
    if (ox_few_parts_pay(ox_compute(ox_cpu())->triples, j.w, p->m, p->n)) {
        bool done;
        OX_TRY(run_parts(r, &j, &done, err));
        if (done)
            return OX_OK;
    }
    if (p->m <= FEW)
        j.of_digits = ox_few_digits(ox_cpu(), &p->w, digits_of(p));
    if (j.of_digits && (p->as_bytes || p->m <= j.of_digits->rows)) {
        bool done;
        OX_TRY(run_digits(r, &j, &done, err));
        if (done)
            return OX_OK;
    }
    return run_floats(r, &j, err);
}

/* Rows of whole blocks: zeros meet the codes with which the last block is filled up. NULL: no memory. */
static const float *fill_up(struct ox_run *r, const struct ox_nbits *w, const float *a, size_t k,
                            struct ox_error *err)
{
    float *out = k == w->k ? NULL : ox_run_work(r, w->m, k * sizeof *out, err);
    if (k == w->k)
        return a;
    for (size_t i = 0; out && i < w->m; i++) {
        memcpy(out + i * k, a + i * w->k, w->k * sizeof *out);
        memset(out + i * k + w->k, 0, (k - w->k) * sizeof *out);
    }
    return out;
}

enum ox_status ox_fast_nbits(struct ox_run *r, struct ox_error *err)
{
    struct ox_nbits w;
    const struct ox_tensor *a = ox_fast_in(r, 0);
    struct ox_tensor *y;
    OX_TRY(ox_nbits_read(r, &w, err));
    if (!a || !ox_fast_in(r, 2) || w.group || w.m == 0 || (w.as_reals && !ox_fast_in(r, 3)) ||
        (w.bias && !ox_fast_in(r, 5)))
        return OX_UNSUPPORTED;
    if (w.bits == 2)
        OX_TRY(ox_nbits_double(r, &w, err));
    const size_t k = w.blocks * w.block;
    struct ox_bits_product p = {.w = {.k = k,
                                      .block = w.block,
                                      .blocks = w.blocks,
                                      .bits = w.bits,
                                      .codes = w.codes,
                                      .scales = w.scales->data,
                                      .zeros = w.zeros,
                                      .zero_bytes = w.zero_bytes,
                                      .real_zeros = w.as_reals ? w.as_reals->data : NULL},
                                .m = w.m,
                                .n = w.n,
                                .a = fill_up(r, &w, a->data, k, err),
                                .bias = w.bias ? w.bias->data : NULL,
                                .as_bytes = ox_run_int(r, "accuracy_level", 0) == BYTES};
    if (!p.a)
        return OX_NO_MEMORY;
    int64_t dims[OX_MOST_RANK];
    ox_nbits_dims(r, &w, dims);
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, a->rank, dims, &y, err));
    p.y = y->data;
    return ox_bits_multiply(r, &p, err);
}
