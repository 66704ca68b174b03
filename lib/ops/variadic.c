/* Max Min Sum Mean of any number of tensors: one after the other into the output. */
#include <inttypes.h>

#include "ops/broadcast.h"
#include "ops/fast/fast.h"
#include "ops/kernel_tables.h"
#include "ops/pair_row.h"
#include "ops/rules.h"

#define STAMP "ops/variadic_tmpl.h"
#include "common/stamp_integers.h"
#define STAMP "ops/variadic_tmpl.h"
#include "common/stamp_floats.h"

static const struct ox_kernels max_kernels = {{OX_KERNELS_NUMBER(max)}};
static const struct ox_kernels min_kernels = {{OX_KERNELS_NUMBER(min)}};
static const struct ox_kernels sum_kernels = {{OX_KERNELS_FLOAT(sum)}};
static const struct ox_kernels mean_last_kernels = {{OX_KERNELS_FLOAT(mean_last)}};

/* The shape of all inputs broadcast. */
static enum ox_status common_shape(struct ox_run *r, unsigned *rank, int64_t *dims,
                                   struct ox_error *err)
{
    struct ox_broadcast b;
    *rank = 0;
    for (size_t k = 0; k < r->n_in; k++) {
        const struct ox_tensor *in = ox_run_in(r, k);
        unsigned ranks[2] = {*rank, in->rank};
        const int64_t *both[2] = {dims, in->dims};
        OX_TRY(ox_broadcast_dims(&b, r, 2, ranks, both, err));
        *rank = b.rank;
        for (unsigned i = 0; i < b.rank; i++)
            dims[i] = b.dims[i];
    }
    return OX_OK;
}

/* Before version 8 nothing is broadcast. */
static enum ox_status same_shapes(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *first = ox_run_in(r, 0);
    for (size_t k = 1; k < r->n_in; k++) {
        const struct ox_tensor *in = ox_run_in(r, k);
        bool same = in->rank == first->rank;
        for (unsigned i = 0; same && i < in->rank; i++)
            same = in->dims[i] == first->dims[i];
        if (!same)
            return ox_run_fail(r, err, OX_INPUT,
                               "input %zu has another shape than input 0, and opset %" PRId64
                               " does not broadcast here",
                               k, r->opset);
    }
    return OX_OK;
}

/* out = step(step(in[0], in[1]), in[2]) ...; the last step by `last`. */
static enum ox_status fold(struct ox_run *r, const struct ox_kernels *step,
                           const struct ox_kernels *last, struct ox_error *err)
{
    const struct ox_tensor *first = ox_run_in(r, 0);
    if (r->n_in == 1)
        return ox_run_out_tensor(r, 0, first, err);
    if (!step->of[first->dtype])
        return ox_run_fail(r, err, OX_UNSUPPORTED, "no kernel for %s", ox_dtype_name(first->dtype));
    if (r->opset < 8)
        OX_TRY(same_shapes(r, err));
    unsigned rank;
    int64_t dims[OX_BROADCAST_RANK];
    OX_TRY(common_shape(r, &rank, dims, err));
    struct ox_tensor *out;
    OX_TRY(ox_run_out(r, 0, first->dtype, rank, dims, &out, err));
    size_t bytes = ox_dtype_size(first->dtype);
    for (size_t k = 1; k < r->n_in; k++) {
        const struct ox_tensor *in = ox_run_in(r, k);
        const struct ox_tensor *left = k == 1 ? first : out;
        /* The output is an operand only to give its shape: it has stride 0 for nobody. */
        unsigned ranks[3] = {left->rank, in->rank, rank};
        const int64_t *shapes[3] = {left->dims, in->dims, dims};
        struct ox_broadcast b;
        OX_TRY(ox_broadcast_dims(&b, r, 3, ranks, shapes, err));
        const void *data[3] = {left->data, in->data, out->data};
        size_t sizes[3] = {bytes, bytes, bytes};
        const struct ox_kernels *kernels = k + 1 == r->n_in ? last : step;
        ox_broadcast_run(&b, r->env, data, sizes, out->data, bytes, kernels->of[first->dtype],
                         &r->n_in);
    }
    return OX_OK;
}

static enum ox_status run_max(struct ox_run *r, struct ox_error *err)
{
    return fold(r, &max_kernels, &max_kernels, err);
}

static enum ox_status run_min(struct ox_run *r, struct ox_error *err)
{
    return fold(r, &min_kernels, &min_kernels, err);
}

static enum ox_status run_sum(struct ox_run *r, struct ox_error *err)
{
    return fold(r, &sum_kernels, &sum_kernels, err);
}

static enum ox_status run_mean(struct ox_run *r, struct ox_error *err)
{
    return fold(r, &sum_kernels, &mean_last_kernels, err);
}

static const struct ox_expr *value_max(struct ox_infer *c, const struct ox_expr *const *v)
{
    return ox_infer_max(c, v[0], v[1]);
}

static const struct ox_expr *value_min(struct ox_infer *c, const struct ox_expr *const *v)
{
    return ox_infer_min(c, v[0], v[1]);
}

static const struct ox_expr *value_sum(struct ox_infer *c, const struct ox_expr *const *v)
{
    return ox_infer_add(c, v[0], v[1]);
}

static const struct ox_expr *value_first(struct ox_infer *c, const struct ox_expr *const *v)
{
    (void)c;
    return v[0];
}

/* Input k is of the first one's shape. */
static void infer_same(struct ox_infer *c, size_t k)
{
    unsigned rank, own;
    const struct ox_expr *const *first, *const *dims;
    if (!ox_infer_shape(c, 0, &rank, &first) || !ox_rule_rank(c, k, rank) ||
        !ox_infer_shape(c, k, &own, &dims))
        return;
    for (unsigned d = 0; d < rank; d++)
        ox_infer_equal(c, first[d], dims[d], "sizes of inputs that are not broadcast");
}

/* Values are carried for one and two inputs, as shape arithmetic has them. */
static void infer_fold(struct ox_infer *c,
                       const struct ox_expr *(*of)(struct ox_infer *c,
                                                   const struct ox_expr *const *v))
{
    ox_rule_broadcast(c);
    if (ox_infer_opset(c) < 8 && !ox_infer_by_rules_alone(c)) /* as same_shapes() has it */
        for (size_t k = 1; k < ox_infer_n_in(c); k++)
            infer_same(c, k);
    if (ox_infer_n_in(c) == 1)
        ox_rule_map(c, 1, value_first);
    else if (ox_infer_n_in(c) == 2 && of)
        ox_rule_map(c, 2, of);
}

static void infer_max(struct ox_infer *c)
{
    infer_fold(c, value_max);
}

static void infer_min(struct ox_infer *c)
{
    infer_fold(c, value_min);
}

static void infer_sum(struct ox_infer *c)
{
    infer_fold(c, value_sum);
}

static void infer_mean(struct ox_infer *c)
{
    infer_fold(c, NULL);
}

const struct ox_op ox_ops_variadic[] = {
    {"", "Max", 1, .infer = infer_max, .run = run_max, .fast = ox_fast_binary},
    {"", "Mean", 1, .infer = infer_mean, .run = run_mean},
    {"", "Min", 1, .infer = infer_min, .run = run_min, .fast = ox_fast_binary},
    {"", "Sum", 1, .infer = infer_sum, .run = run_sum, .fast = ox_fast_binary},
    {0}};
