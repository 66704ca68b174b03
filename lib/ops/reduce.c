/* ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kernels/folds.h"
#include "ops/broadcast.h"
#include "ops/fast/fast.h"
#include "ops/kernel_tables.h"
#include "ops/log_sum_exp.h"
#include "ops/move.h"
#include "ops/reduce_rules.h"
#include "ops/rules.h"
#include "ops/whole.h"

enum {
    LANES = OX_LOG_SUM_EXP_LANES,
    SHORT = 32,    /* floats of a row that may become a lane; twice as many integers, bytes again */
    TURNED = 16384 /* bytes of such rows at a time */
};

/* An operator: how elements are taken in, and what becomes of the accumulators. */
struct reducer {
    enum ox_fold_kind fold;
    const struct ox_fold *const
        *shifted; /* instead, by type: the greatest elements are the shifts; NULL */
    void (*end[OX_N_DTYPES])(const void *acc, void *out, size_t lanes, size_t n,
                             const void *shifts);
};

union accumulators {
    float f32[LANES];
    double f64[LANES];
    uint8_t u8[LANES];
    uint16_t u16[LANES];
    uint32_t u32[LANES];
    uint64_t u64[LANES];
};

/* exp(x - shift), where both may be infinite. */
static double shifted_exp(double x, double shift)
{
    return x == shift ? 1 : exp(x - shift);
}

static double shifted_log(double sum, double shift)
{
    return isinf(shift) ? shift : log(sum) + shift;
}

#define STAMP "ops/reduce_tmpl.h"
#include "common/stamp_integers.h"
#define STAMP "ops/reduce_tmpl.h"
#include "common/stamp_floats.h"

#define WIDE(name) OX_KERNELS_FLOAT(name), OX_KERNELS_WIDE_INTEGER(name)
#define NARROW(name)                                                                               \
    [OX_INT8] = name##_i8, [OX_INT16] = name##_i16, [OX_UINT8] = name##_u8,                        \
    [OX_UINT16] = name##_u16, [OX_BOOL] = name##_u8

static const struct ox_fold *const sums_of_exps[OX_N_DTYPES] = {WIDE(&sum_of_exps)};

static const struct reducer sum = {OX_FOLD_SUM, NULL, {WIDE(sum_end)}},
                            prod = {OX_FOLD_PRODUCT, NULL, {WIDE(sum_end)}},
                            mean = {OX_FOLD_SUM_IN_DOUBLE, NULL, {WIDE(mean_end)}},
                            max = {OX_FOLD_GREATEST,
                                   NULL,
                                   {WIDE(element_end), NARROW(element_end)}},
                            min = {OX_FOLD_LEAST, NULL, {WIDE(element_end), NARROW(element_end)}},
                            l1 = {OX_FOLD_SUM_OF_ABS, NULL, {WIDE(sum_end)}},
                            l2 = {OX_FOLD_SQUARES_IN_DOUBLE, NULL, {WIDE(root_end)}},
                            sum_square = {OX_FOLD_SUM_OF_SQUARES, NULL, {WIDE(sum_end)}},
                            log_sum = {OX_FOLD_SUM_IN_DOUBLE, NULL, {WIDE(logarithm_end)}},
                            log_sum_exp = {OX_FOLD_GREATEST_IN_DOUBLE,
                                           sums_of_exps,
                                           {WIDE(shifted_logarithm_end)}};

/* ---- The loops ---------------------------------------------------------------------------------------------------- */

/* Outer loops over what is kept and what is reduced; the innermost dimension is a run (reduced) or lanes (kept). */
struct loops {
    unsigned depth;
    size_t counts[OX_BROADCAST_RANK], strides[OX_BROADCAST_RANK];
    size_t total; /* product of counts */
};

struct reduction {
    const struct ox_fold *fold,
        *shift; /* shift: run before, its accumulators are the shifts; NULL */
    void (*end)(const void *acc, void *out, size_t lanes, size_t n, const void *shifts);
    struct loops kept, reduced;
    size_t run, lanes;       /* one of them is 1 */
    size_t rows, row_stride; /* of lanes, the innermost that are reduced */
    size_t n_reduced;        /* elements that an output takes in */
    size_t groups_a_task;
    const char *in;
    char *out;
    size_t bytes; /* an element */
    bool turns;   /* rows, first */
    void (*short_rows)(const void *x, size_t rows, size_t n, void *y);
};

static void add_loop(struct loops *loops, size_t count, size_t stride)
{
    loops->counts[loops->depth] = count;
    loops->strides[loops->depth++] = stride;
    loops->total *= count;
}

static void reverse_loops(struct loops *loops)
{
    for (unsigned i = 0; i < loops->depth / 2; i++) {
        unsigned j = loops->depth - 1 - i;
        size_t count = loops->counts[i], stride = loops->strides[i];
        loops->counts[i] = loops->counts[j];
        loops->strides[i] = loops->strides[j];
        loops->counts[j] = count;
        loops->strides[j] = stride;
    }
}

/* Adjacent axes of one kind are one loop. Only for inputs without zero dimensions. */
static void plan_loops(struct reduction *p, const struct ox_tensor *in, const bool *reduces)
{
    size_t stride = 1;
    p->run = p->lanes = 1;
    p->kept.total = p->reduced.total = 1;
    for (unsigned axis = in->rank; axis-- > 0;) {
        size_t count = (size_t)in->dims[axis];
        if (count == 1)
            continue;
        size_t from = stride;
        bool reduced = reduces[axis];
        stride *= count;
        while (axis > 0 && (reduces[axis - 1] == reduced || in->dims[axis - 1] == 1)) {
            axis--;
            count *= (size_t)in->dims[axis];
            stride *= (size_t)in->dims[axis];
        }
        if (from == 1)
            *(reduced ? &p->run : &p->lanes) = count;
        else
            add_loop(reduced ? &p->reduced : &p->kept, count, from);
    }
    reverse_loops(&p->kept);
    reverse_loops(&p->reduced);
    p->n_reduced = p->reduced.total * p->run;
    p->rows = 1;
    if (p->lanes > 1 && p->reduced.depth) {
        const unsigned innermost = --p->reduced.depth;
        p->rows = p->reduced.counts[innermost];
        p->row_stride = p->reduced.strides[innermost];
        p->reduced.total /= p->rows;
    }
}

/* The offset of iteration i: outermost loop first. */
static size_t loop_offset(const struct loops *loops, size_t i)
{
    size_t offset = 0;
    for (unsigned level = loops->depth; level-- > 1;) {
        offset += i % loops->counts[level] * loops->strides[level];
        i /= loops->counts[level];
    }
    return loops->depth ? offset + i * loops->strides[0] : 0;
}

static size_t step_loops(const struct loops *loops, size_t *at, size_t offset)
{
    for (unsigned level = loops->depth; level-- > 0;) {
        offset += loops->strides[level];
        if (++at[level] < loops->counts[level])
            return offset;
        offset -= loops->counts[level] * loops->strides[level];
        at[level] = 0;
    }
    return offset;
}

/* Takes all reduced elements of `lanes` neighbouring outputs into acc. */
static void take_in(const struct reduction *p, const struct ox_fold *fold, size_t base,
                    size_t lanes, void *acc, const void *shifts)
{
    size_t at[OX_BROADCAST_RANK], offset = base;
    memset(at, 0, p->reduced.depth * sizeof *at);
    fold->start(acc, lanes);
    for (size_t i = 0; i < p->reduced.total; i++) {
        const char *in = p->in + offset * p->bytes;
        if (p->lanes == 1)
            fold->run(acc, in, p->run, shifts);
        else
            fold->lanes(acc, in, lanes, p->rows, p->row_stride, shifts);
        offset = step_loops(&p->reduced, at, offset);
    }
}

/* Outputs of which as many as the innermost loop has take in a row each, one after another; perhaps again and again. */
static bool has_rows(const struct reduction *p)
{
    return !p->shift && p->run > 1 && p->lanes == 1 && p->kept.depth > 0 &&
           p->kept.strides[p->kept.depth - 1] == p->run;
}

/* Short rows of what does not mind the order: they become lanes first, but those of floats that have few vectors. */
static bool may_turn(enum ox_fold_kind fold, enum ox_dtype type, size_t run)
{
    if (type == OX_FLOAT32 || type == OX_FLOAT64)
        return run > SHORT / 2 && run <= SHORT &&
               (fold == OX_FOLD_GREATEST || fold == OX_FOLD_LEAST);
    return run <= (ox_dtype_size(type) == 1 ? 4 * SHORT : 2 * SHORT);
}

static void reduce_rows(const struct reduction *p, size_t from, size_t to)
{
    union accumulators sums;
    _Alignas(64) char turned[TURNED];
    const size_t row_bytes = p->run * p->bytes, rows = p->kept.counts[p->kept.depth - 1];
    for (size_t n; from < to; from += n) {
        size_t at[OX_BROADCAST_RANK] = {0}, offset = loop_offset(&p->kept, from);
        const size_t left = rows - from % rows, most = left < LANES ? left : LANES;
        n = to - from < most ? to - from : most;
        if (p->turns && n * row_bytes > TURNED)
            n = TURNED / row_bytes / 16 * 16;
        p->fold->start(&sums, n);
        for (size_t i = 0; i < p->reduced.total; i++) {
            const char *in = p->in + offset * p->bytes;
            if (p->turns) {
                ox_move_turn(p->bytes, n, p->run, in, turned);
                p->fold->lanes(&sums, turned, n, p->run, n, NULL);
            } else {
                p->fold->rows(&sums, in, n, p->run);
            }
            offset = step_loops(&p->reduced, at, offset);
        }
        p->end(&sums, p->out + from * p->bytes, n, p->n_reduced, NULL);
    }
}

static size_t lane_blocks(const struct reduction *p)
{
    return (p->lanes - 1) / LANES + 1;
}

/* Units are blocks of lanes of groups. */
static void reduce_task(void *arg, size_t from, size_t to)
{
    const struct reduction *p = arg;
    union accumulators sums, shifts;
    if (has_rows(p)) {
        reduce_rows(p, from, to);
        return;
    }
    const size_t blocks = lane_blocks(p);
    for (size_t unit = from; unit < to; unit++) {
        const size_t group = unit / blocks, lane = unit % blocks * LANES;
        const size_t lanes = p->lanes - lane < LANES ? p->lanes - lane : LANES;
        const size_t base = loop_offset(&p->kept, group) + lane;
        if (p->shift)
            take_in(p, p->shift, base, lanes, &shifts, NULL);
        take_in(p, p->fold, base, lanes, &sums, &shifts);
        p->end(&sums, p->out + (group * p->lanes + lane) * p->bytes, lanes, p->n_reduced, &shifts);
    }
}

/* Nothing to reduce: every output is what the reduction starts with. */
static void reduce_nothing(const struct reduction *p, struct ox_tensor *out, bool is_min)
{
    union accumulators sums, shifts;
    if (p->shift)
        p->shift->start(&shifts, 1);
    for (size_t i = 0; i < out->n; i++) {
        p->fold->start(&sums, 1);
        p->end(&sums, (char *)out->data + i * p->bytes, 1, 0, &shifts);
        if (out->dtype == OX_BOOL)
            ((uint8_t *)out->data)[i] = is_min;
    }
}

/* ---- Axes --------------------------------------------------------------------------------------------------------- */

/* Which axes: attribute, or input 1; none given means all, unless noop_with_empty_axes. */
static enum ox_status given_axes(struct ox_run *r, bool by_input, const int64_t **axes, size_t *n,
                                 struct ox_error *err)
{
    const struct ox_tensor *t = ox_run_in(r, 1);
    if (!by_input) {
        *axes = ox_run_ints(r, "axes", n);
        return OX_OK;
    }
    *axes = NULL;
    *n = 0;
    if (!t)
        return OX_OK;
    if (t->rank > 1)
        return ox_run_fail(r, err, OX_INPUT, "axes must be a list, but has rank %u", t->rank);
    *axes = t->data;
    *n = t->n;
    return OX_OK;
}

static enum ox_status reduced_axes(struct ox_run *r, const struct ox_tensor *in, bool by_input,
                                   bool *reduces, struct ox_error *err)
{
    const int64_t *axes;
    size_t n;
    OX_TRY(given_axes(r, by_input, &axes, &n, err));
    bool all = n == 0 && !(by_input && ox_run_int(r, "noop_with_empty_axes", 0));
    for (unsigned i = 0; i < in->rank; i++)
        reduces[i] = all;
    for (size_t i = 0; i < n; i++) {
        unsigned axis;
        if (in->rank == 0 && (axes[i] == 0 || axes[i] == -1))
            continue; /* a scalar reduced along its only imaginable axis, as numpy has it */
        OX_TRY(ox_run_axis(r, axes[i], in->rank, &axis, err));
        reduces[axis] = true;
    }
    return OX_OK;
}

/* ReduceLogSumExp of rows in float32. */
static void log_sum_exp_task(void *arg, size_t from, size_t to)
{
    const struct reduction *p = arg;
    for (size_t group = from; group < to; group++) {
        const size_t base = loop_offset(&p->kept, group);
        ((float *)(void *)p->out)[group] =
            ox_log_sum_exp_row((const float *)(const void *)p->in + base, p->run);
    }
}

static void log_sum_exp_short_task(void *arg, size_t from, size_t to)
{
    const struct reduction *p = arg;
    for (size_t rows; from < to; from += rows) {
        rows = to - from < LANES / p->run ? to - from : LANES / p->run;
        p->short_rows(p->in + from * p->run * p->bytes, rows, p->run, p->out + from * p->bytes);
    }
}

/* Rows one after another, short enough for several at a time. */
static bool has_short_rows(const struct reduction *p)
{
    return p->lanes == 1 && p->run == p->n_reduced && p->reduced.depth == 0 && p->kept.depth == 1 &&
           p->kept.strides[0] == p->run && p->run <= LANES / 4;
}

/* By exponentials abreast, where they serve. */
static void reduce_quickly(struct reduction *p, enum ox_dtype type, struct ox_fold *own,
                           void (**task)(void *arg, size_t from, size_t to))
{
    enum { FEW = 16 /* beyond which a table of whole powers is as good */ };
    p->short_rows = has_short_rows(p) && (type == OX_FLOAT32 || p->run <= FEW)
                        ? ox_log_sum_exp_short(type)
                        : NULL;
    if (p->short_rows) {
        *task = log_sum_exp_short_task;
    } else if (type != OX_FLOAT32) {
        ox_log_sum_exp_of_integers(type, &p->shift, &p->fold, &p->end);
    } else if (p->lanes > 1) {
        *own = *p->fold;
        own->lanes = ox_log_sum_exp_abreast;
        p->fold = own;
        p->end = ox_log_sum_exp_finish;
    } else if (p->run == p->n_reduced && p->reduced.depth == 0) {
        *task = log_sum_exp_task;
    } else {
        *own = *p->fold;
        own->run = ox_log_sum_exp_run;
        p->fold = own;
    }
}

static enum ox_status made_output(struct ox_run *r, const struct ox_tensor *in, const bool *reduces,
                                  struct ox_tensor **out, struct ox_error *err)
{
    int64_t dims[OX_BROADCAST_RANK];
    const bool keep = ox_run_int(r, "keepdims", 1) == 1;
    unsigned rank = 0;
    for (unsigned i = 0; i < in->rank; i++) {
        if (!reduces[i])
            dims[rank++] = in->dims[i];
        else if (keep)
            dims[rank++] = 1;
    }
    return ox_run_out(r, 0, in->dtype, rank, dims, out, err);
}

static enum ox_status reduce_by(struct ox_run *r, const struct reducer *reducer, bool by_input,
                                bool quick, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    bool reduces[OX_BROADCAST_RANK];
    struct reduction p = {
        .end = reducer->end[in->dtype], .in = in->data, .bytes = ox_dtype_size(in->dtype)};
    if (!p.end)
        return ox_run_fail(r, err, OX_UNSUPPORTED, "no kernel for %s", ox_dtype_name(in->dtype));
    if (in->rank > OX_BROADCAST_RANK)
        return ox_run_fail(r, err, OX_LIMIT, "the input has rank %u, more than %d", in->rank,
                           OX_BROADCAST_RANK);
    OX_TRY(reduced_axes(r, in, by_input, reduces, err));
    struct ox_tensor *out;
    OX_TRY(made_output(r, in, reduces, &out, err));
    if (out->n == 0)
        return OX_OK;
    p.fold = ox_folds(ox_cpu())->of[reducer->fold][in->dtype];
    if (reducer->shifted) {
        p.shift = p.fold;
        p.fold = reducer->shifted[in->dtype];
    }
    if (in->n == 0) {
        reduce_nothing(&p, out, reducer == &min);
        return OX_OK;
    }
    plan_loops(&p, in, reduces);
    p.turns = may_turn(reducer->fold, in->dtype, p.run);
    p.out = out->data;
    struct ox_fold own;
    void (*task)(void *arg, size_t from, size_t to) = reduce_task;
    if (quick)
        reduce_quickly(&p, in->dtype, &own, &task);
    const size_t work = p.n_reduced * (p.lanes < LANES ? p.lanes : LANES);
    ox_ranges_run(r->env, p.kept.total * lane_blocks(&p), work >= OX_GRAIN ? 1 : OX_GRAIN / work,
                  task, &p);
    return OX_OK;
}

static enum ox_status reduce(struct ox_run *r, const struct reducer *reducer, bool by_input,
                             struct ox_error *err)
{
    return reduce_by(r, reducer, by_input, false, err);
}

/* ---- Operators ---------------------------------------------------------------------------------------------------- */

static enum ox_status run_l1_attribute(struct ox_run *r, struct ox_error *err)
{
    return reduce(r, &l1, false, err);
}

static enum ox_status run_l1(struct ox_run *r, struct ox_error *err)
{
    return reduce(r, &l1, true, err);
}

static enum ox_status run_l2_attribute(struct ox_run *r, struct ox_error *err)
{
    return reduce(r, &l2, false, err);
}

static enum ox_status run_l2(struct ox_run *r, struct ox_error *err)
{
    return reduce(r, &l2, true, err);
}

static enum ox_status run_log_sum_attribute(struct ox_run *r, struct ox_error *err)
{
    return reduce(r, &log_sum, false, err);
}

static enum ox_status run_log_sum(struct ox_run *r, struct ox_error *err)
{
    return reduce(r, &log_sum, true, err);
}

static enum ox_status run_log_sum_exp_attribute(struct ox_run *r, struct ox_error *err)
{
    return reduce(r, &log_sum_exp, false, err);
}

static enum ox_status fast_log_sum_exp_attribute(struct ox_run *r, struct ox_error *err)
{
    return reduce_by(r, &log_sum_exp, false, true, err);
}

static enum ox_status fast_log_sum_exp(struct ox_run *r, struct ox_error *err)
{
    return reduce_by(r, &log_sum_exp, true, true, err);
}

static enum ox_status run_log_sum_exp(struct ox_run *r, struct ox_error *err)
{
    return reduce(r, &log_sum_exp, true, err);
}

static enum ox_status run_max_attribute(struct ox_run *r, struct ox_error *err)
{
    return reduce(r, &max, false, err);
}

static enum ox_status run_max(struct ox_run *r, struct ox_error *err)
{
    return reduce(r, &max, true, err);
}

static enum ox_status run_mean_attribute(struct ox_run *r, struct ox_error *err)
{
    return reduce(r, &mean, false, err);
}

static enum ox_status run_mean(struct ox_run *r, struct ox_error *err)
{
    return reduce(r, &mean, true, err);
}

static enum ox_status run_min_attribute(struct ox_run *r, struct ox_error *err)
{
    return reduce(r, &min, false, err);
}

static enum ox_status run_min(struct ox_run *r, struct ox_error *err)
{
    return reduce(r, &min, true, err);
}

static enum ox_status run_prod_attribute(struct ox_run *r, struct ox_error *err)
{
    return reduce(r, &prod, false, err);
}

static enum ox_status run_prod(struct ox_run *r, struct ox_error *err)
{
    return reduce(r, &prod, true, err);
}

static enum ox_status run_sum_attribute(struct ox_run *r, struct ox_error *err)
{
    return reduce(r, &sum, false, err);
}

static enum ox_status run_sum(struct ox_run *r, struct ox_error *err)
{
    return reduce(r, &sum, true, err);
}

static enum ox_status run_sum_square_attribute(struct ox_run *r, struct ox_error *err)
{
    return reduce(r, &sum_square, false, err);
}

static enum ox_status run_sum_square(struct ox_run *r, struct ox_error *err)
{
    return reduce(r, &sum_square, true, err);
}

const struct ox_op ox_ops_reduce[] = {
    {"", "ReduceL1", 1, .infer = ox_infer_reduce_attribute, .run = run_l1_attribute},
    {"", "ReduceL1", 18, .infer = ox_infer_reduce_input, .run = run_l1},
    {"", "ReduceL2", 1, .infer = ox_infer_reduce_attribute, .run = run_l2_attribute},
    {"", "ReduceL2", 18, .infer = ox_infer_reduce_input, .run = run_l2},
    {"", "ReduceLogSum", 1, .infer = ox_infer_reduce_attribute, .run = run_log_sum_attribute},
    {"", "ReduceLogSum", 18, .infer = ox_infer_reduce_input, .run = run_log_sum},
    {"", "ReduceLogSumExp", 1, OX_OP_DOUBLE, .infer = ox_infer_reduce_attribute,
     .run = run_log_sum_exp_attribute, .fast = fast_log_sum_exp_attribute},
    {"", "ReduceLogSumExp", 18, OX_OP_DOUBLE, .infer = ox_infer_reduce_input,
     .run = run_log_sum_exp, .fast = fast_log_sum_exp},
    {"", "ReduceMax", 1, .infer = ox_infer_reduce_max_attribute, .run = run_max_attribute},
    {"", "ReduceMax", 18, .infer = ox_infer_reduce_max, .run = run_max},
    {"", "ReduceMean", 1, .infer = ox_infer_reduce_attribute, .run = run_mean_attribute},
    {"", "ReduceMean", 18, .infer = ox_infer_reduce_input, .run = run_mean},
    {"", "ReduceMin", 1, .infer = ox_infer_reduce_min_attribute, .run = run_min_attribute},
    {"", "ReduceMin", 18, .infer = ox_infer_reduce_min, .run = run_min},
    {"", "ReduceProd", 1, .infer = ox_infer_reduce_prod_attribute, .run = run_prod_attribute},
    {"", "ReduceProd", 18, .infer = ox_infer_reduce_prod, .run = run_prod},
    {"", "ReduceSum", 1, .infer = ox_infer_reduce_sum_attribute, .run = run_sum_attribute},
    {"", "ReduceSum", 13, .infer = ox_infer_reduce_sum, .run = run_sum},
    {"", "ReduceSumSquare", 1, .infer = ox_infer_reduce_attribute, .run = run_sum_square_attribute},
    {"", "ReduceSumSquare", 18, .infer = ox_infer_reduce_input, .run = run_sum_square},
    {0}};
