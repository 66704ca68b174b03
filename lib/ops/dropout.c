/* Dropout: by attribute is_test (1, 6), never training (7, 10), by inputs ratio and training_mode (12). */
#include "ops/broadcast.h"
#include "ops/random_source.h"
#include "ops/rules.h"

enum { CHUNK = 256 };

/* The mask's elements are ones or drawn; its type is bool from version 10 on and that of the data before. */
static enum ox_status make_mask(struct ox_run *r, const struct ox_tensor *x, enum ox_dtype dtype,
                                struct ox_tensor **mask, struct ox_error *err)
{
    *mask = NULL;
    if (!ox_run_wants(r, 1))
        return OX_OK;
    return ox_run_out(r, 1, dtype, x->rank, x->dims, mask, err);
}

static void put(struct ox_tensor *t, size_t at, const double *values, size_t n)
{
    ox_elements_convert(t->dtype, (char *)t->data + at * ox_dtype_size(t->dtype), OX_FLOAT64,
                        values, n, true);
}

static enum ox_status pass_through(struct ox_run *r, enum ox_dtype mask_dtype, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    struct ox_tensor *mask;
    double ones[CHUNK];
    OX_TRY(make_mask(r, x, mask_dtype, &mask, err));
    for (size_t i = 0; i < CHUNK; i++)
        ones[i] = 1;
    for (size_t at = 0; mask && at < x->n; at += CHUNK)
        put(mask, at, ones, x->n - at < CHUNK ? x->n - at : CHUNK);
    return ox_run_out_tensor(r, 0, x, err);
}

void ox_random_drop(const struct ox_tensor *x, double ratio, uint64_t seed, struct ox_tensor *out,
                    struct ox_tensor *mask)
{
    struct ox_mt19937 mt;
    double scale = 1 / (1 - ratio), keep[CHUNK], v[CHUNK];
    ox_mt19937_init(&mt, seed);
    for (size_t at = 0; at < x->n; at += CHUNK) {
        size_t n = x->n - at < CHUNK ? x->n - at : CHUNK;
        const char *in = (const char *)x->data + at * ox_dtype_size(x->dtype);
        ox_elements_convert(OX_FLOAT64, v, x->dtype, in, n, true);
        ox_mt19937_uniforms(&mt, n, keep);
        for (size_t i = 0; i < n; i++) {
            keep[i] = keep[i] >= ratio;
            v[i] *= keep[i] * scale;
        }
        put(out, at, v, n);
        if (mask)
            put(mask, at, keep, n);
    }
}

static enum ox_status drop(struct ox_run *r, double ratio, uint64_t seed, enum ox_dtype mask_dtype,
                           struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    struct ox_tensor *mask, *out;
    if (!(ratio >= 0 && ratio < 1))
        return ox_run_fail(r, err, OX_INPUT, "ratio is %g, outside [0, 1)", ratio);
    if (ratio == 0)
        return pass_through(r, mask_dtype, err);
    OX_TRY(make_mask(r, x, mask_dtype, &mask, err));
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, x->dims, &out, err));
    ox_random_drop(x, ratio, seed, out, mask);
    return OX_OK;
}

static enum ox_status run_dropout_is_test(struct ox_run *r, struct ox_error *err)
{
    enum ox_dtype dtype = ox_run_in(r, 0)->dtype;
    if (ox_run_int(r, "is_test", 0))
        return pass_through(r, dtype, err);
    return drop(r, (double)ox_run_float(r, "ratio", 0.5f), r->seed, dtype, err);
}

static enum ox_status run_dropout_7(struct ox_run *r, struct ox_error *err)
{
    return pass_through(r, ox_run_in(r, 0)->dtype, err);
}

static enum ox_status run_dropout_10(struct ox_run *r, struct ox_error *err)
{
    return pass_through(r, OX_BOOL, err);
}

static enum ox_status run_dropout(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *ratio = ox_run_in(r, 1), *training = ox_run_in(r, 2);
    if ((ratio && ratio->n != 1) || (training && training->n != 1))
        return ox_run_fail(r, err, OX_INPUT, "%s must be a scalar",
                           ratio && ratio->n != 1 ? "ratio" : "training_mode");
    if (!training || !ox_tensor_get_int(training, 0))
        return pass_through(r, OX_BOOL, err);
    uint64_t seed = ox_run_attr(r, "seed") ? (uint64_t)ox_run_int(r, "seed", 0) : r->seed;
    return drop(r, ratio ? ox_tensor_get_double(ratio, 0) : 0.5, seed, OX_BOOL, err);
}

static void infer_dropout(struct ox_infer *c)
{
    ox_rule_same(c);
    ox_rule_rank(c, 1, 0);
    ox_rule_rank(c, 2, 0);
    if (ox_infer_n_out(c) < 2)
        return;
    ox_infer_same_shape(c, 1, 0);
    if (ox_infer_opset(c) >= 10)
        ox_infer_set_dtype(c, 1, OX_BOOL);
    else
        ox_infer_same_dtype(c, 1, 0);
}

const struct ox_op ox_ops_dropout[] = {
    {"", "Dropout", 1, .flags = OX_OP_RANDOM, .infer = infer_dropout, .run = run_dropout_is_test},
    {"", "Dropout", 7, .infer = infer_dropout, .run = run_dropout_7},
    {"", "Dropout", 10, .infer = infer_dropout, .run = run_dropout_10},
    {"", "Dropout", 12, .flags = OX_OP_RANDOM | OX_OP_HALF, .infer = infer_dropout,
     .run = run_dropout},
    {0}};
