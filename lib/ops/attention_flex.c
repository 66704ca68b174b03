/* FlexAttention (ai.onnx.preview): attention whose scores and probabilities pass through subgraphs of the node. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/infer.h"
#include "ops/product.h"
#include "ops/real.h"
#include "ops/rules.h"

struct flex {
    size_t batch, q_heads, kv_heads, queries, keys, size, v_size;
    const double *q, *k, *v;
    double *scores; /* [batch, q_heads, queries, keys] */
    size_t n_scores;
    enum ox_dtype precision;
};

static enum ox_status read_flex(struct ox_run *r, struct flex *f, struct ox_error *err)
{
    const struct ox_tensor *q = ox_run_in(r, 0), *k = ox_run_in(r, 1), *v = ox_run_in(r, 2);
    if (q->rank != 4 || k->rank != 4 || v->rank != 4)
        return ox_run_fail(r, err, OX_INPUT, "Q, K and V are of ranks %u, %u, %u, not 4", q->rank,
                           k->rank, v->rank);
    if (q->dims[0] != k->dims[0] || k->dims[0] != v->dims[0] || k->dims[1] != v->dims[1] ||
        k->dims[2] != v->dims[2] || q->dims[3] != k->dims[3])
        return ox_run_fail(r, err, OX_INPUT,
                           "Q, K and V do not agree in batch, heads, length or head size");
    if (k->dims[1] < 1 || q->dims[1] % k->dims[1])
        return ox_run_fail(r, err, OX_INPUT, "%lld query heads are no multiple of %lld key heads",
                           (long long)q->dims[1], (long long)k->dims[1]);
    f->batch = (size_t)q->dims[0];
    f->q_heads = (size_t)q->dims[1];
    f->kv_heads = (size_t)k->dims[1];
    f->queries = (size_t)q->dims[2];
    f->keys = (size_t)k->dims[2];
    f->size = (size_t)q->dims[3];
    f->v_size = (size_t)v->dims[3];
    int64_t dims[4] = {q->dims[0], q->dims[1], q->dims[2], k->dims[2]};
    if (!ox_dims_count(4, dims, &f->n_scores))
        return ox_run_fail(r, err, OX_LIMIT, "the scores are too large");
    int64_t precision = ox_run_int(r, "softmax_precision", 0);
    f->precision = q->dtype == OX_FLOAT64 ? OX_FLOAT64 : OX_FLOAT32; /* half types run in float32 */
    if (ox_dtype_is_real(precision))
        f->precision = r->oracle ? OX_FLOAT64 : (enum ox_dtype)precision;
    else if (precision)
        return ox_run_fail(r, err, OX_INPUT, "softmax_precision %lld is no floating type",
                           (long long)precision);
    OX_TRY(ox_real_in(r, 0, &f->q, err));
    OX_TRY(ox_real_in(r, 1, &f->k, err));
    OX_TRY(ox_real_in(r, 2, &f->v, err));
    f->scores = ox_real_scratch(r, f->n_scores, err);
    return f->scores ? OX_OK : OX_NO_MEMORY;
}

/* Product of each query head's matrix by that of the key head it shares. right: [.., keys, width], transposed for the scores. */
static enum ox_status by_heads(struct ox_run *r, const struct flex *f, bool scores, const double *a,
                               const double *b, double *c, struct ox_error *err)
{
    size_t heads = f->batch * f->q_heads, m = f->queries;
    size_t n = scores ? f->keys : f->v_size, k = scores ? f->size : f->keys;
    size_t *at = ox_run_scratch(r, heads, 3 * sizeof *at, err);
    if (!at)
        return OX_NO_MEMORY;
    for (size_t h = 0; h < heads; h++) {
        size_t shared = h / f->q_heads * f->kv_heads + h % f->q_heads / (f->q_heads / f->kv_heads);
        at[h] = h * m * k;
        at[heads + h] = shared * n * k;
        at[2 * heads + h] = h * m * n;
    }
    struct ox_product p = {.dtype = OX_FLOAT64,
                           .m = m,
                           .n = n,
                           .k = k,
                           .a = a,
                           .a_row = k,
                           .a_col = 1,
                           .b = b,
                           .b_row = scores ? 1 : n,
                           .b_col = scores ? k : 1,
                           .c = c,
                           .ldc = n,
                           .batches = heads,
                           .a_at = at,
                           .b_at = at + heads,
                           .c_at = at + 2 * heads};
    return ox_product_run(r, &p, err);
}

/* Sends the scores through the subgraph of that name, if there is one. */
static enum ox_status modify(struct ox_run *r, const struct flex *f, const char *name,
                             struct ox_error *err)
{
    const struct ox_graph *graph = ox_run_graph(r, name);
    if (!graph)
        return OX_OK;
    if (!r->subgraph || graph->n_inputs != 1 || graph->n_outputs != 1)
        return ox_run_fail(r, err, OX_INPUT, "%s has %zu inputs and %zu outputs, not one of each",
                           name, graph->n_inputs, graph->n_outputs);
    int64_t dims[4] = {(int64_t)f->batch, (int64_t)f->q_heads, (int64_t)f->queries,
                       (int64_t)f->keys};
    struct ox_tensor *wide = NULL, *narrow = NULL;
    struct ox_datum *in = NULL, *out = NULL;
    enum ox_status status;
    OX_TRY_CLEANUP(ox_tensor_borrow(&wide, OX_FLOAT64, 4, dims, f->scores, NULL, NULL, err));
    OX_TRY_CLEANUP(
        ox_tensor_convert(&narrow, ox_env_budget(r->env), wide, f->precision, false, err));
    OX_TRY_CLEANUP(ox_datum_of_tensor(&in, narrow, err));
    OX_TRY_CLEANUP(r->subgraph(r, graph, &in, 1, &out, 1, err));
    const struct ox_tensor *got = out && out->kind == OX_DATUM_TENSOR ? out->tensor : NULL;
    if (!got || got->rank != 4 || memcmp(got->dims, dims, sizeof dims) != 0) {
        status = ox_run_fail(r, err, OX_INPUT, "%s does not keep the shape of its input", name);
        goto cleanup;
    }
    ox_real_load(got, 0, f->n_scores, f->scores);
cleanup:
    ox_datum_release(in);
    ox_datum_release(out);
    ox_tensor_release(narrow);
    ox_tensor_release(wide);
    return status;
}

static void softmax(double *x, size_t n)
{
    double most = -INFINITY, sum = 0;
    for (size_t j = 0; j < n; j++)
        most = x[j] > most ? x[j] : most;
    for (size_t j = 0; j < n; j++)
        sum += x[j] = exp(x[j] - most);
    for (size_t j = 0; j < n; j++)
        x[j] /= sum;
}

/* Q or K times the root of the scale, in their own type. */
static enum ox_status rescale(struct ox_run *r, const struct ox_tensor *t, double factor,
                              const double **values, struct ox_error *err)
{
    double *out = ox_real_scratch(r, t->n, err);
    if (!out)
        return OX_NO_MEMORY;
    ox_real_round(t->dtype, &factor, 1);
    for (size_t i = 0; i < t->n; i++)
        out[i] = (*values)[i] * factor;
    ox_real_round(t->dtype, out, t->n);
    *values = out;
    return OX_OK;
}

static enum ox_status run_flex(struct ox_run *r, struct ox_error *err)
{
    struct flex f = {0};
    OX_TRY(read_flex(r, &f, err));
    double scale =
        ox_run_attr(r, "scale") ? (double)ox_run_float(r, "scale", 1) : 1 / sqrt((double)f.size);
    const struct ox_tensor *q = ox_run_in(r, 0), *k = ox_run_in(r, 1);
    OX_TRY(rescale(r, q, sqrt(scale), &f.q, err));
    OX_TRY(rescale(r, k, sqrt(scale), &f.k, err));
    OX_TRY(by_heads(r, &f, true, f.q, f.k, f.scores, err));
    ox_real_round(q->dtype, f.scores, f.n_scores);
    OX_TRY(modify(r, &f, "score_mod", err));
    for (size_t i = 0; i < f.n_scores; i += f.keys)
        softmax(f.scores + i, f.keys);
    OX_TRY(modify(r, &f, "prob_mod", err));
    int64_t dims[4] = {q->dims[0], q->dims[1], q->dims[2], (int64_t)f.v_size};
    size_t n;
    if (!ox_dims_count(4, dims, &n))
        return ox_run_fail(r, err, OX_LIMIT, "the output is too large");
    double *y = ox_real_scratch(r, n, err);
    if (!y)
        return OX_NO_MEMORY;
    OX_TRY(by_heads(r, &f, false, f.scores, f.v, y, err));
    return ox_real_out(r, 0, q->dtype, 4, dims, y, err);
}

/* scores: their type. */
static void infer_graph(struct ox_infer *c, const char *name, const struct ox_type *scores)
{
    const struct ox_attr *attr = ox_infer_attr(c, name);
    if (!attr || attr->type != OX_ATTR_GRAPH || !attr->n)
        return;
    const struct ox_graph *graph = attr->graphs[0];
    if (graph->n_inputs != 1 || graph->n_outputs != 1)
        ox_infer_conflict(c, "%s has %zu inputs and %zu outputs, not one of each", name,
                          graph->n_inputs, graph->n_outputs);
    else
        ox_infer_subgraph(c, name, &scores, 1, &(const struct ox_type *){NULL}, 1);
}

static void infer_flex(struct ox_infer *c)
{
    for (size_t i = 0; i < 3; i++)
        if (!ox_rule_rank(c, i, 4))
            return;
    const struct ox_expr *dims[4] = {ox_infer_dim(c, 0, 0), ox_infer_dim(c, 0, 1),
                                     ox_infer_dim(c, 0, 2), ox_infer_dim(c, 2, 3)};
    const struct ox_expr *key_batch = ox_infer_dim(c, 1, 0);
    dims[0] = ox_infer_equal(c, dims[0], key_batch, "batch of query and key");
    dims[0] = ox_infer_equal(c, dims[0], ox_infer_dim(c, 2, 0), "batch of query and value");
    ox_infer_equal(c, ox_infer_dim(c, 1, 1), ox_infer_dim(c, 2, 1), "heads of key and value");
    int64_t q_heads, kv_heads;
    if (ox_infer_is_num(dims[1], &q_heads) && ox_infer_is_num(ox_infer_dim(c, 1, 1), &kv_heads) &&
        q_heads != kv_heads && (kv_heads < 1 || q_heads % kv_heads))
        ox_infer_conflict(
            c, "%" PRId64 " heads of the query are no multiple of %" PRId64 " of the key", q_heads,
            kv_heads);
    const struct ox_expr *keys =
        ox_infer_equal(c, ox_infer_dim(c, 1, 2), ox_infer_dim(c, 2, 2), "length of key and value");
    ox_infer_equal(c, ox_infer_dim(c, 0, 3), ox_infer_dim(c, 1, 3), "size of query and key");
    ox_infer_set_shape(c, 0, 4, dims);
    /* What softmax_precision makes of the scores' element type, the graphs declare. */
    const struct ox_type *scores = ox_infer_make_tensor(
        c, OX_UNDEFINED, true, 4, (const struct ox_expr *[]){dims[0], dims[1], dims[2], keys});
    infer_graph(c, "score_mod", scores);
    infer_graph(c, "prob_mod", scores);
}

const struct ox_op ox_ops_attention_flex[] = {
    {"ai.onnx.preview", "FlexAttention", 1, OX_OP_HALF, .infer = infer_flex, .run = run_flex}, {0}};
