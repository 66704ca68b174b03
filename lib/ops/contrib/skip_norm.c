/* Normalizations that onnxruntime's optimizer leaves in files: SkipLayerNormalization and its simplified form,
 * EmbedLayerNormalization and its form of 8-bit codes, and the operators it adds to ai.onnx. Computed in double, rounded once. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/threads.h"
#include "ops/contrib/contrib.h"
#include "ops/fast/fast.h"
#include "ops/infer.h"
#include "ops/real.h"

/* Rows of n elements, summed from up to three sources, then normalized. */
struct norm_rows {
    size_t count, n;
    const double *x, *skip, *bias; /* skip: repeated every skip_period elements; NULL: none */
    size_t skip_period;            /* a multiple of n */
    const double *gamma, *beta;    /* beta: NULL: none */
    double epsilon;
    bool centred;
    double *y, *sum; /* [count, n]; sum: NULL: that is x */
    double *mean, *inverse;
};

enum { ABREAST = 8 }; /* sums that do not wait for each other */

static double sum_up(size_t n, const double *v, double mean, bool squares)
{
    double sums[ABREAST] = {0}, all = 0;
    size_t i = 0;
    for (; i + ABREAST <= n; i += ABREAST)
        for (size_t k = 0; k < ABREAST; k++)
            sums[k] += squares ? (v[i + k] - mean) * (v[i + k] - mean) : v[i + k];
    for (; i < n; i++)
        sums[i % ABREAST] += squares ? (v[i] - mean) * (v[i] - mean) : v[i];
    for (size_t k = 0; k < ABREAST; k++)
        all += sums[k];
    return all;
}

static void norm_task(void *arg, size_t row)
{
    const struct norm_rows *j = arg;
    const size_t base = row * j->n, n = j->n;
    const double *x = j->x + base, *sum = x;
    double *y = j->y + base, mean = 0;
    if (j->sum) {
        const double *skip = j->skip ? j->skip + base % j->skip_period : NULL;
        double *made = j->sum + base;
        for (size_t i = 0; i < n; i++)
            made[i] = x[i] + (skip ? skip[i] : 0) + (j->bias ? j->bias[i] : 0);
        sum = made;
    }
    if (j->centred)
        mean = sum_up(n, sum, 0, false) / (double)n;
    const double inverse = 1 / sqrt(sum_up(n, sum, mean, true) / (double)n + j->epsilon);
    for (size_t i = 0; i < n; i++)
        y[i] = (sum[i] - mean) * inverse * j->gamma[i] + (j->beta ? j->beta[i] : 0);
    j->mean[row] = mean;
    j->inverse[row] = inverse;
}

static enum ox_status alloc_norm(struct ox_run *r, struct norm_rows *j, bool sums,
                                 struct ox_error *err)
{
    size_t all = j->count * j->n;
    j->y = ox_real_scratch(r, all, err);
    j->sum = sums ? ox_real_scratch(r, all, err) : NULL;
    j->mean = ox_real_scratch(r, j->count, err);
    j->inverse = ox_real_scratch(r, j->count, err);
    return j->y && (j->sum || !sums) && j->mean && j->inverse ? OX_OK : OX_NO_MEMORY;
}

/* A list of n elements. */
static enum ox_status list_in(struct ox_run *r, const char *what, size_t i, size_t n,
                              const double **out, struct ox_error *err)
{
    const struct ox_tensor *t = ox_run_in(r, i);
    if (t && t->n != n)
        return ox_run_fail(r, err, OX_INPUT, "%s has %zu elements, not %zu", what, t->n, n);
    return ox_real_in(r, i, out, err);
}

/* Output i, where it is used: statistics of rows, one of each in place of the last axis. */
static enum ox_status give_statistics(struct ox_run *r, size_t i, const struct ox_tensor *x,
                                      const double *values, struct ox_error *err)
{
    int64_t dims[OX_MOST_RANK];
    if (!ox_run_wants(r, i))
        return OX_OK;
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    dims[x->rank - 1] = 1;
    return ox_real_out(r, i, OX_FLOAT32, x->rank, dims, values, err);
}

/* ---- SkipLayerNormalization --------------------------------------------------------------------------------------- */

static enum ox_status run_skip(struct ox_run *r, bool centred, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *skip = ox_run_in(r, 1);
    if (x->rank < 2 || x->rank > OX_MOST_RANK)
        return ox_run_fail(r, err, OX_INPUT, "the input has rank %u", x->rank);
    if (!ox_skip_fits(x, skip))
        return ox_run_fail(r, err, OX_INPUT, "skip does not have the shape of the input");
    struct norm_rows j = {.n = (size_t)x->dims[x->rank - 1], .centred = centred};
    j.count = j.n ? x->n / j.n : 0;
    j.skip_period = skip->n;
    j.epsilon = (double)ox_run_float(r, "epsilon", 1e-12f);
    OX_TRY(ox_real_in(r, 0, &j.x, err));
    OX_TRY(ox_real_in(r, 1, &j.skip, err));
    OX_TRY(list_in(r, "gamma", 2, j.n, &j.gamma, err));
    if (centred)
        OX_TRY(list_in(r, "beta", 3, j.n, &j.beta, err));
    OX_TRY(list_in(r, "bias", centred ? 4 : 3, j.n, &j.bias, err));
    OX_TRY(alloc_norm(r, &j, true, err));
    if (x->n)
        ox_parallel(r->env, j.count, norm_task, &j);
    OX_TRY(ox_real_out(r, 0, x->dtype, x->rank, x->dims, j.y, err));
    OX_TRY(give_statistics(r, 1, x, j.mean, err));
    OX_TRY(give_statistics(r, 2, x, j.inverse, err));
    return ox_run_wants(r, 3) ? ox_real_out(r, 3, x->dtype, x->rank, x->dims, j.sum, err) : OX_OK;
}

static enum ox_status run_skip_layer_norm(struct ox_run *r, struct ox_error *err)
{
    return run_skip(r, true, err);
}

static enum ox_status run_skip_simplified(struct ox_run *r, struct ox_error *err)
{
    return run_skip(r, false, err);
}

/* ---- What onnxruntime adds to ai.onnx ----------------------------------------------------------------------------- */

static enum ox_status run_simplified(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *scale = ox_run_in(r, 1);
    unsigned axis;
    if (x->rank > OX_MOST_RANK)
        return ox_run_fail(r, err, OX_LIMIT, "X has rank %u", x->rank);
    OX_TRY(ox_run_axis(r, ox_run_int(r, "axis", -1), x->rank, &axis, err));
    struct norm_rows j = {.n = 1, .count = 1};
    int64_t dims[OX_MOST_RANK];
    for (unsigned d = 0; d < x->rank; d++) {
        *(d < axis ? &j.count : &j.n) *= (size_t)x->dims[d];
        dims[d] = d < axis ? x->dims[d] : 1;
    }
    j.epsilon = (double)ox_run_float(r, "epsilon", 1e-5f);
    OX_TRY(ox_real_in(r, 0, &j.x, err));
    OX_TRY(list_in(r, "scale", 1, j.n, &j.gamma, err));
    if (x->dtype == OX_FLOAT64 && scale->dtype == OX_FLOAT64 && !ox_run_wants(r, 1))
        return ox_run_standard(r, "RMSNormalization", 23, err);
    OX_TRY(alloc_norm(r, &j, false, err));
    if (x->n)
        ox_parallel(r->env, j.count, norm_task, &j);
    OX_TRY(ox_real_out(r, 0, scale->dtype, x->rank, x->dims, j.y, err));
    return ox_run_wants(r, 1) ? ox_real_out(r, 1, OX_FLOAT32, x->rank, dims, j.inverse, err)
                              : OX_OK;
}

static enum ox_status run_layer_norm(struct ox_run *r, struct ox_error *err)
{
    return ox_run_standard(r, "LayerNormalization", 17, err);
}

/* ---- EmbedLayerNormalization -------------------------------------------------------------------------------------- */

enum { NO_INPUT = OX_MOST_RANK };

/* A table and, where it holds codes, what makes numbers of them: inputs of the node. */
struct table {
    const char *what;
    size_t ids, codes, scale, zero; /* NO_INPUT: none */
};

struct step {
    double scale, zero;
};

static enum ox_status read_step(struct ox_run *r, const struct table *t, struct step *step,
                                struct ox_error *err)
{
    const struct ox_tensor *scale = ox_run_in(r, t->scale), *zero = ox_run_in(r, t->zero);
    *step = (struct step){.scale = 1};
    if (t->scale == NO_INPUT)
        return OX_OK;
    if (!scale || !zero || scale->n != 1 || zero->n != 1)
        return ox_run_fail(r, err, OX_INPUT, "%s has no scale and zero point of one element each",
                           t->what);
    *step = (struct step){ox_tensor_get_double(scale, 0), ox_tensor_get_double(zero, 0)};
    return OX_OK;
}

static void to_numbers(const struct step *step, double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        values[i] = (values[i] - step->zero) * step->scale;
}

/* A list of n elements. */
static enum ox_status table_list(struct ox_run *r, const struct table *t, size_t n,
                                 const double **out, struct ox_error *err)
{
    struct step step;
    OX_TRY(read_step(r, t, &step, err));
    OX_TRY(list_in(r, t->what, t->codes, n, out, err));
    if (t->scale == NO_INPUT)
        return OX_OK;
    double *values = ox_real_scratch(r, n, err);
    if (!values)
        return OX_NO_MEMORY;
    memcpy(values, *out, n * sizeof *values);
    to_numbers(&step, values, n);
    *out = values;
    return OX_OK;
}

/* Rows of a table added to those of the result, by ids (omitted: counted along the sequence). */
static enum ox_status add_rows(struct ox_run *r, const struct table *t, size_t batch, size_t length,
                               size_t width, double *sum, struct ox_error *err)
{
    const struct ox_tensor *ids = ox_run_in(r, t->ids), *table = ox_run_in(r, t->codes);
    struct step step;
    if (!table)
        return OX_OK;
    if (table->rank != 2 || (size_t)table->dims[1] != width)
        return ox_run_fail(r, err, OX_INPUT, "%s has rank %u and rows of %" PRId64 ", not %zu",
                           t->what, table->rank, table->rank == 2 ? table->dims[1] : 0, width);
    if (ids && ids->n != batch * length && ids->n != length)
        return ox_run_fail(r, err, OX_INPUT, "ids for %s: %zu of them, not %zu", t->what, ids->n,
                           batch * length);
    OX_TRY(read_step(r, t, &step, err));
    double *row = ox_real_scratch(r, width, err);
    if (!row)
        return OX_NO_MEMORY;
    for (size_t k = 0; k < batch * length; k++) {
        int64_t id = ids ? ox_tensor_get_int(ids, k % ids->n) : (int64_t)(k % length);
        if (id < 0 || id >= table->dims[0])
            return ox_run_fail(r, err, OX_INPUT,
                               "id %" PRId64 " at place %zu is outside of the %" PRId64
                               " rows of %s",
                               id, k, table->dims[0], t->what);
        ox_real_load(table, (size_t)id * width, width, row);
        to_numbers(&step, row, width);
        for (size_t i = 0; i < width; i++)
            sum[k * width + i] += row[i];
    }
    return OX_OK;
}

enum ox_status ox_embed_mask_index(struct ox_run *r, size_t batch, size_t length,
                                   struct ox_error *err)
{
    const struct ox_tensor *mask = ox_run_in(r, 7);
    int64_t rows = (int64_t)batch;
    struct ox_tensor *out;
    if (!ox_run_wants(r, 1))
        return OX_OK;
    if (mask && mask->n != batch * length)
        return ox_run_fail(r, err, OX_INPUT, "the mask has %zu elements, not %zu", mask->n,
                           batch * length);
    OX_TRY(ox_run_out(r, 1, OX_INT32, 1, &rows, &out, err));
    for (size_t b = 0; b < batch; b++) {
        int32_t count = 0;
        for (size_t k = 0; mask && k < length; k++)
            count += ox_tensor_get_int(mask, b * length + k) == 1;
        ((int32_t *)out->data)[b] = count;
    }
    return OX_OK;
}

struct embedding {
    struct table words, places, segments, gamma, beta;
};

static enum ox_status run_embedding(struct ox_run *r, const struct embedding *e,
                                    enum ox_dtype dtype, struct ox_error *err)
{
    const struct ox_tensor *ids = ox_run_in(r, 0), *words = ox_run_in(r, 2);
    if (ids->rank != 2 || words->rank != 2)
        return ox_run_fail(r, err, OX_INPUT, "input_ids has rank %u, word_embedding %u, not 2",
                           ids->rank, words->rank);
    size_t batch = (size_t)ids->dims[0], length = (size_t)ids->dims[1];
    struct norm_rows j = {.n = (size_t)words->dims[1], .count = ids->n, .centred = true};
    size_t all;
    if (OX_MUL_OVERFLOWS(j.n, j.count, &all))
        return ox_run_fail(r, err, OX_LIMIT, "the result is too big");
    double *sum = ox_real_scratch(r, all, err);
    if (!sum)
        return OX_NO_MEMORY;
    j.x = sum;
    j.epsilon = (double)ox_run_float(r, "epsilon", 1e-12f);
    OX_TRY(add_rows(r, &e->words, batch, length, j.n, sum, err));
    OX_TRY(add_rows(r, &e->places, batch, length, j.n, sum, err));
    if (ox_run_has(r, e->segments.ids))
        OX_TRY(add_rows(r, &e->segments, batch, length, j.n, sum, err));
    OX_TRY(table_list(r, &e->gamma, j.n, &j.gamma, err));
    OX_TRY(table_list(r, &e->beta, j.n, &j.beta, err));
    OX_TRY(alloc_norm(r, &j, true, err));
    if (all)
        ox_parallel(r->env, j.count, norm_task, &j);
    const int64_t dims[3] = {ids->dims[0], ids->dims[1], words->dims[1]};
    OX_TRY(ox_real_out(r, 0, dtype, 3, dims, j.y, err));
    OX_TRY(ox_embed_mask_index(r, batch, length, err));
    return ox_run_wants(r, 2) ? ox_real_out(r, 2, dtype, 3, dims, j.sum, err) : OX_OK;
}

static enum ox_status run_embed_layer_norm(struct ox_run *r, struct ox_error *err)
{
    static const struct embedding embedding = {
        .words = {"word_embedding", 0, 2, NO_INPUT, NO_INPUT},
        .places = {"position_embedding", 8, 3, NO_INPUT, NO_INPUT},
        .segments = {"segment_embedding", 1, 4, NO_INPUT, NO_INPUT},
        .gamma = {"gamma", NO_INPUT, 5, NO_INPUT, NO_INPUT},
        .beta = {"beta", NO_INPUT, 6, NO_INPUT, NO_INPUT}};
    return run_embedding(r, &embedding, ox_run_in(r, 2)->dtype, err);
}

static enum ox_status run_embed_codes(struct ox_run *r, struct ox_error *err)
{
    static const struct embedding embedding = {
        .words = {"word_embedding_quant", 0, 2, 8, 13},
        .places = {"position_embedding_quant", NO_INPUT, 3, 9, 14},
        .segments = {"segment_embedding", 1, 4, 10, 15},
        .gamma = {"gamma_quant", NO_INPUT, 5, 11, 16},
        .beta = {"beta_quant", NO_INPUT, 6, 12, 17}};
    return run_embedding(r, &embedding, OX_FLOAT32, err);
}

/* ---- Shapes ------------------------------------------------------------------------------------------------------- */

static void infer_statistics(struct ox_infer *c, size_t from, size_t to, unsigned axis)
{
    unsigned rank;
    const struct ox_expr *const *x;
    if (!ox_infer_shape(c, 0, &rank, &x) || axis >= rank)
        return;
    const struct ox_expr **dims = ox_infer_dims(c, rank);
    for (unsigned d = 0; dims && d < rank; d++)
        dims[d] = d < axis ? x[d] : ox_infer_num(c, 1);
    for (size_t i = from; dims && i < to && i < ox_infer_n_out(c); i++) {
        ox_infer_set_dtype(c, i, OX_FLOAT32);
        ox_infer_set_shape(c, i, rank, dims);
    }
}

static void infer_skip(struct ox_infer *c)
{
    unsigned rank;
    ox_infer_same(c, 0, 0);
    if (ox_infer_shape(c, 0, &rank, NULL) && rank)
        infer_statistics(c, 1, 3, rank - 1);
    if (ox_infer_n_out(c) > 3)
        ox_infer_same(c, 3, 0);
}

static void infer_simplified(struct ox_infer *c)
{
    unsigned rank, axis;
    ox_infer_same_shape(c, 0, 0);
    ox_infer_same_dtype(c, 0, 1);
    if (ox_infer_shape(c, 0, &rank, NULL) &&
        ox_infer_axis(c, ox_infer_int_attr(c, "axis", -1), rank, &axis))
        infer_statistics(c, 1, 2, axis);
}

static void infer_layer_norm(struct ox_infer *c)
{
    ox_infer_same_dtype(c, 0, 0);
    ox_infer_standard(c, "LayerNormalization", 17);
}

static void infer_embedding(struct ox_infer *c, size_t like)
{
    unsigned ri, rw;
    const struct ox_expr *const *ids;
    const struct ox_expr *const *words;
    ox_infer_same_dtype(c, 0, like);
    if (ox_infer_n_out(c) > 1)
        ox_infer_set_dtype(c, 1, OX_INT32);
    if (ox_infer_n_out(c) > 2)
        ox_infer_same_dtype(c, 2, like);
    if (!ox_infer_shape(c, 0, &ri, &ids) || !ox_infer_shape(c, 2, &rw, &words) || ri != 2 ||
        rw != 2)
        return;
    const struct ox_expr *dims[3] = {ids[0], ids[1], words[1]};
    ox_infer_set_shape(c, 0, 3, dims);
    if (ox_infer_n_out(c) > 1)
        ox_infer_set_shape(c, 1, 1, dims);
    if (ox_infer_n_out(c) > 2)
        ox_infer_set_shape(c, 2, 3, dims);
}

static void infer_embed_layer_norm(struct ox_infer *c)
{
    infer_embedding(c, 2);
}

static void infer_embed_codes(struct ox_infer *c)
{
    infer_embedding(c, 8);
}

#define MS "com.microsoft"

const struct ox_op ox_ops_skip_norm[] = {
    {"", "LayerNormalization", 1, .infer = infer_layer_norm, .run = run_layer_norm,
     .fast = ox_fast_layer_norm},
    {"", "SimplifiedLayerNormalization", 1, .infer = infer_simplified, .run = run_simplified,
     .fast = ox_fast_layer_norm},
    {MS, "EmbedLayerNormalization", 1, .infer = infer_embed_layer_norm, .run = run_embed_layer_norm,
     .fast = ox_fast_embed_norm},
    {MS, "QEmbedLayerNormalization", 1, .infer = infer_embed_codes, .run = run_embed_codes,
     .fast = ox_fast_embed_codes},
    {MS, "SkipLayerNormalization", 1, .infer = infer_skip, .run = run_skip_layer_norm,
     .fast = ox_fast_skip_norm},
    {MS, "SkipSimplifiedLayerNormalization", 1, .infer = infer_skip, .run = run_skip_simplified,
     .fast = ox_fast_skip_norm},
    {0}};
