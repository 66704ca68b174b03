/* Attend of our own domain, in float32: y = softmax(scale q k' + mask) v over heads.
 *
 * q, k, v, y are [batch, heads, rows, size], or with q_rows_first, k_rows_first, v_rows_first, y_rows_first set [batch,
 * rows, heads, size]; `group` queries share a head of k and v; mask, if any, is broadcast against the scores, and the scores
 * against it, as Add does. Where q_heads, k_heads or v_heads is set, the tensor has the heads of others too: those meant are that
 * many from q_first on, each q_every-th. */
#include "ops/fast/attend_fast.h"
#include "ops/fast/fast.h"
#include "ops/fused/fused.h"
#include "ops/infer.h"

/* A tensor as [batch, heads, rows, size]. */
struct view {
    size_t batch, heads, rows, size;
    struct ox_heads_step at;
    const float *from;
};

const struct ox_attend_names ox_attend_names[3] = {
    {"q_rows_first", "q_heads", "q_first", "q_every"},
    {"k_rows_first", "k_heads", "k_first", "k_every"},
    {"v_rows_first", "v_heads", "v_first", "v_every"}};

static bool read_view(struct ox_run *r, size_t i, struct view *v)
{
    const struct ox_tensor *in = ox_fast_in(r, i);
    const struct ox_attend_names *names = &ox_attend_names[i];
    const bool rows_first = ox_run_int(r, names->rows_first, 0) != 0;
    if (!in || in->rank != 4)
        return false;
    const size_t all = (size_t)in->dims[rows_first ? 2 : 1];
    const int64_t heads = ox_run_int(r, names->heads, 0);
    const int64_t first = heads ? ox_run_int(r, names->first, 0) : 0;
    const int64_t every = heads ? ox_run_int(r, names->every, 1) : 1;
    v->batch = (size_t)in->dims[0];
    v->heads = heads ? (size_t)heads : all;
    v->rows = (size_t)in->dims[rows_first ? 1 : 2];
    v->size = (size_t)in->dims[3];
    v->at.row = rows_first ? all * v->size : v->size;
    const size_t step = rows_first ? v->size : v->rows * v->size;
    v->at.head = (size_t)every * step;
    v->at.batch = all * v->rows * v->size;
    v->from = (const float *)in->data + (size_t)first * step;
    return heads == 0 ||
           (heads > 0 && first >= 0 && every > 0 && (uint64_t)(first + (heads - 1) * every) < all);
}

/* Grows a dimension of 1, which then repeats. */
static bool meet(size_t *size, size_t *step, size_t with)
{
    if (with == 1 || with == *size)
        return true;
    if (*size != 1)
        return false;
    *size = with;
    *step = 0;
    return true;
}

/* Scores take on the shape that adding the mask gives them. */
static bool grow_to_mask(struct ox_heads *h, const struct ox_tensor *mask)
{
    size_t size[4] = {1, 1, 1, 1};
    if (mask->rank > 4)
        return false;
    for (unsigned d = 0; d < mask->rank; d++)
        size[4 - mask->rank + d] = (size_t)mask->dims[d];
    size_t batch = h->batch, same = batch;
    bool fits = meet(&h->batch, &h->q_at.batch, size[0]);
    fits = fits && meet(&batch, &h->k_at.batch, size[0]) && meet(&same, &h->v_at.batch, size[0]);
    fits =
        fits && meet(&h->heads, &h->q_at.head, size[1]) && meet(&h->queries, &h->q_at.row, size[2]);
    return fits && ox_heads_mask(h, mask);
}

static enum ox_status run_attend(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *mask = ox_run_in(r, 3);
    struct view q, k, v;
    size_t group = (size_t)ox_run_int(r, "group", 1);
    if (!read_view(r, 0, &q) || !read_view(r, 1, &k) || !read_view(r, 2, &v) || q.size != k.size ||
        k.rows != v.rows || k.heads != v.heads || k.heads * group != q.heads ||
        k.batch != q.batch || v.batch != q.batch)
        return ox_run_fail(r, err, OX_INPUT, "queries, keys and values do not fit each other");
    struct ox_heads h = {.batch = q.batch,
                         .heads = q.heads,
                         .kv_heads = k.heads,
                         .queries = q.rows,
                         .keys = k.rows,
                         .depth = q.size,
                         .v_depth = v.size,
                         .q = q.from,
                         .k = k.from,
                         .v = v.from,
                         .q_at = q.at,
                         .k_at = k.at,
                         .v_at = v.at,
                         .scale = ox_run_float(r, "scale", 1)};
    if (mask && (mask->dtype != OX_FLOAT32 || !grow_to_mask(&h, mask)))
        return ox_run_fail(r, err, OX_INPUT, "the mask does not fit the scores");
    const bool rows_first = ox_run_int(r, "y_rows_first", 0) != 0;
    int64_t dims[4] = {(int64_t)h.batch, (int64_t)h.heads, (int64_t)h.queries, (int64_t)v.size};
    if (rows_first) {
        dims[1] = (int64_t)h.queries;
        dims[2] = (int64_t)h.heads;
    }
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, 4, dims, &y, err));
    h.y = y->data;
    h.y_at.row = rows_first ? h.heads * v.size : v.size;
    h.y_at.head = rows_first ? v.size : h.queries * v.size;
    h.y_at.batch = h.heads * h.queries * v.size;
    return ox_heads_run(r, &h, err);
}

static void infer_attend(struct ox_infer *c)
{
    unsigned rank, v_rank;
    const struct ox_expr *const *q;
    const struct ox_expr *const *v;
    ox_infer_same_dtype(c, 0, 0);
    if (!ox_infer_shape(c, 0, &rank, &q) || rank != 4 || !ox_infer_shape(c, 2, &v_rank, &v) ||
        v_rank != 4 || ox_infer_has(c, 3))
        return;
    const bool from = ox_infer_int_attr(c, "q_rows_first", 0) != 0;
    const bool to = ox_infer_int_attr(c, "y_rows_first", 0) != 0;
    const int64_t few = ox_infer_int_attr(c, "q_heads", 0);
    const struct ox_expr *heads = few ? ox_infer_num(c, few) : q[from ? 2 : 1];
    const struct ox_expr *rows = q[from ? 1 : 2];
    const struct ox_expr *dims[4] = {q[0], to ? rows : heads, to ? heads : rows, v[3]};
    ox_infer_set_shape(c, 0, 4, dims);
}

const struct ox_op ox_ops_fused_attention[] = {
    {OX_OWN_DOMAIN, "Attend", 1, .infer = infer_attend, .run = run_attend}, {0}};
