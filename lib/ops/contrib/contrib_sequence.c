/* BifurcationDetector CropAndResize RelativePositionBias GatedRelativePositionBias (com.microsoft). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kernels/dense.h"
#include "ops/fast/fast.h"
#include "ops/infer.h"
#include "ops/real.h"
#include "ops/real_math.h"

/* ---- BifurcationDetector: speculative decoding against a source text ---------------------------------------------- */

static int64_t token(const struct ox_tensor *t, size_t i)
{
    return ((const int64_t *)t->data)[i];
}

/* The first place at or after `from` where the source has the last n tokens; SIZE_MAX. */
static size_t find_suffix(const struct ox_tensor *source, const int64_t *tokens, size_t n_tokens,
                          size_t n, size_t from)
{
    const int64_t *suffix = tokens + n_tokens - n;
    for (size_t at = from; at + n <= source->n; at++)
        if (memcmp((const int64_t *)source->data + at, suffix, n * sizeof *suffix) == 0)
            return at;
    return SIZE_MAX;
}

/* Where the source goes on behind the shortest suffix that it has once; -1 where no length decides. */
static int64_t match_suffix(const struct ox_tensor *source, const int64_t *tokens, size_t n_tokens,
                            int64_t least, int64_t most)
{
    for (int64_t n = least; n <= most && (uint64_t)n <= n_tokens; n++) {
        size_t at = find_suffix(source, tokens, n_tokens, (size_t)n, 0);
        if (at == SIZE_MAX)
            return -1;
        size_t next = at + (size_t)n;
        if (next >= source->n)
            return (int64_t)next;
        if (find_suffix(source, tokens, n_tokens, (size_t)n, at + 1) == SIZE_MAX)
            return (int64_t)next;
    }
    return -1;
}

static enum ox_status run_bifurcation(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *source = ox_run_in(r, 0), *current = ox_run_in(r, 1);
    const struct ox_tensor *previous = ox_run_in(r, 2), *predicted = ox_run_in(r, 3);
    int64_t least = ox_run_int(r, "min_ngram_size", 1), most = ox_run_int(r, "max_ngram_size", 3);
    if (least < 1 || most < least || previous->n != 1)
        return ox_run_fail(r, err, OX_INPUT, "n-grams from %" PRId64 " to %" PRId64, least, most);
    size_t taken = 0;
    int64_t from = token(previous, 0);
    if (predicted) {
        if (from < 0 || (uint64_t)from > source->n || predicted->n != source->n + 1 - (size_t)from)
            return ox_run_fail(r, err, OX_INPUT,
                               "%zu predicted tokens for %zu of the source from %" PRId64,
                               predicted->n, source->n, from);
        while (taken < source->n - (size_t)from &&
               token(predicted, taken) == token(source, taken + (size_t)from))
            taken++;
        taken++;
    }
    int64_t n = (int64_t)(current->n + taken);
    struct ox_tensor *tokens, *index;
    OX_TRY(ox_run_out(r, 0, OX_INT64, 1, &n, &tokens, err));
    OX_TRY(ox_run_out(r, 1, OX_INT64, 0, NULL, &index, err));
    int64_t *to = tokens->data;
    if (current->n)
        memcpy(to, current->data, current->n * sizeof *to);
    if (taken)
        memcpy(to + current->n, predicted->data, taken * sizeof *to);
    *(int64_t *)index->data = match_suffix(source, to, tokens->n, least, most);
    return OX_OK;
}

static void infer_bifurcation(struct ox_infer *c)
{
    const struct ox_expr *n = ox_infer_data_dim(c, "tokens");
    ox_infer_set_dtype(c, 0, OX_INT64);
    ox_infer_set_dtype(c, 1, OX_INT64);
    ox_infer_set_shape(c, 0, 1, &n);
    ox_infer_set_shape(c, 1, 0, NULL);
}

/* ---- CropAndResize ------------------------------------------------------------------------------------------------ */

struct crop {
    size_t channels, in_h, in_w, out_h, out_w;
    bool nearest;
    double outside;
    const void *in; /* floats or doubles */
    bool floats;
    const double *boxes;
    const struct ox_tensor *batch;
    struct ox_tensor *y;
    double *work;              /* of each slot a row of the output */
    struct crop_place *places; /* of each slot those of columns, then of rows */
};

/* Places [low, high] of an axis and the part of the second; false: outside of the image. */
struct crop_place {
    size_t low, high;
    double part;
    bool inside;
};

/* Output i of n between the box's edges. */
static struct crop_place crop_place(const struct crop *c, double low, double high, size_t i,
                                    size_t n, size_t size)
{
    const double last = (double)size - 1;
    const double at = n < 2 ? 0.5 * (low + high) * last
                            : low * last + (double)i * (high - low) * last / (double)(n - 1);
    struct crop_place p = {.inside = at >= 0 && at <= last};
    if (!p.inside)
        return p;
    p.low = (size_t)(c->nearest ? round(at) : floor(at));
    p.high = (size_t)ceil(at);
    p.part = at - (double)p.low;
    return p;
}

static inline double crop_at(const void *in, bool floats, size_t i)
{
    return floats ? (double)((const float *)in)[i] : ((const double *)in)[i];
}

static inline void crop_row(const struct crop *c, bool floats, size_t plane,
                            const struct crop_place *y, const struct crop_place *columns,
                            double *out)
{
    const size_t up = plane + y->low * c->in_w, down = plane + y->high * c->in_w;
    for (size_t i = 0; i < c->out_w; i++) {
        const struct crop_place *x = &columns[i];
        if (!y->inside || !x->inside) {
            out[i] = c->outside;
            continue;
        }
        const double first = crop_at(c->in, floats, up + x->low);
        if (c->nearest) {
            out[i] = first;
            continue;
        }
        const double second = crop_at(c->in, floats, up + x->high);
        const double third = crop_at(c->in, floats, down + x->low);
        const double fourth = crop_at(c->in, floats, down + x->high);
        const double above = first + (second - first) * x->part;
        const double below = third + (fourth - third) * x->part;
        out[i] = above + (below - above) * y->part;
    }
}

/* Of the work of a slot: cores do not write beside each other. */
static size_t crop_width(const struct crop *c)
{
    return c->out_w + OX_SLOT_APART / sizeof *c->work;
}

/* All channels of a box. */
static void crop_box(void *arg, size_t box, size_t slot)
{
    const struct crop *c = arg;
    const double *b = c->boxes + box * 4;
    const size_t area = c->in_h * c->in_w, image = (size_t)ox_tensor_get_int(c->batch, box);
    double *row = c->work + slot * crop_width(c);
    struct crop_place *columns = c->places + slot * (c->out_w + c->out_h),
                      *rows = columns + c->out_w;
    for (size_t i = 0; i < c->out_w; i++)
        columns[i] = crop_place(c, b[1], b[3], i, c->out_w, c->in_w);
    for (size_t i = 0; i < c->out_h; i++)
        rows[i] = crop_place(c, b[0], b[2], i, c->out_h, c->in_h);
    for (size_t k = 0; k < c->channels; k++) {
        const size_t plane = box * c->channels + k;
        for (size_t y = 0; y < c->out_h; y++) {
            const size_t at = (image * c->channels + k) * area;
            if (c->floats)
                crop_row(c, true, at, &rows[y], columns, row);
            else
                crop_row(c, false, at, &rows[y], columns, row);
            ox_real_store(c->y, (plane * c->out_h + y) * c->out_w, c->out_w, row);
        }
    }
}

static enum ox_status read_crop(struct ox_run *r, struct crop *c, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *rois = ox_run_in(r, 1), *batch = ox_run_in(r, 2);
    const struct ox_tensor *size = ox_run_in(r, 3);
    const char *mode = ox_run_string(r, "mode");
    c->nearest = mode && strcmp(mode, "nearest") == 0;
    if (mode && !c->nearest && strcmp(mode, "bilinear") != 0)
        return ox_run_fail(r, err, OX_INPUT, "attribute mode is '%s'", mode);
    if (x->rank != 4 || rois->rank != 2 || rois->dims[1] != 4 ||
        (int64_t)batch->n != rois->dims[0] || size->n != 2)
        return ox_run_fail(r, err, OX_INPUT, "X, rois, batch_indices and crop_size do not fit");
    int64_t h = ox_tensor_get_int(size, 0), w = ox_tensor_get_int(size, 1);
    if (h < 1 || w < 1 || x->dims[2] < 1 || x->dims[3] < 1)
        return ox_run_fail(r, err, OX_INPUT, "crop_size is %" PRId64 " x %" PRId64, h, w);
    c->channels = (size_t)x->dims[1];
    c->in_h = (size_t)x->dims[2];
    c->in_w = (size_t)x->dims[3];
    c->out_h = (size_t)h;
    c->out_w = (size_t)w;
    c->outside = (double)ox_run_float(r, "extrapolation_value", 0);
    for (size_t i = 0; i < batch->n; i++) {
        int64_t b = ox_tensor_get_int(batch, i);
        if (b < 0 || b >= x->dims[0])
            return ox_run_fail(r, err, OX_INPUT,
                               "batch_indices[%zu] is %" PRId64 " of %" PRId64 " images", i, b,
                               x->dims[0]);
    }
    return OX_OK;
}

static enum ox_status run_crop_and_resize(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *rois = ox_run_in(r, 1), *batch = ox_run_in(r, 2);
    struct crop c = {.batch = batch};
    OX_TRY(read_crop(r, &c, err));
    c.floats = x->dtype == OX_FLOAT32;
    c.in = c.floats ? x->data : ox_real_all(r, x, err);
    if (!c.in && x->n)
        return OX_NO_MEMORY;
    OX_TRY(ox_real_in(r, 1, &c.boxes, err));
    const int64_t dims[4] = {rois->dims[0], x->dims[1], (int64_t)c.out_h, (int64_t)c.out_w};
    OX_TRY(ox_run_out(r, 0, x->dtype, 4, dims, &c.y, err));
    if (!c.y->n)
        return OX_OK;
    const size_t slots = ox_slots(r->env);
    c.work = ox_real_scratch(r, slots * crop_width(&c), err);
    c.places =
        c.work ? ox_run_scratch(r, slots * (c.out_w + c.out_h), sizeof *c.places, err) : NULL;
    if (!c.places)
        return OX_NO_MEMORY;
    ox_spread(r->env, batch->n, 300 * (double)c.y->n, crop_box, &c);
    return ox_env_poll(r->env, err);
}

static void infer_crop_and_resize(struct ox_infer *c)
{
    size_t n;
    const struct ox_expr *const *size;
    ox_infer_same_dtype(c, 0, 0);
    const struct ox_expr *dims[4] = {ox_infer_dim(c, 1, 0), ox_infer_dim(c, 0, 1), NULL, NULL};
    if (ox_infer_values(c, 3, &n, &size) && n == 2) {
        dims[2] = size[0];
        dims[3] = size[1];
    }
    ox_infer_set_shape(c, 0, 4, dims);
}

/* ---- Relative positions ------------------------------------------------------------------------------------------- */

/* T5's buckets: one a distance while they are near, then logarithmically wider up to max_distance. */
static size_t bucket_of(int64_t distance, bool both_ways, size_t buckets, double most)
{
    size_t first = 0;
    int64_t n = -distance;
    if (both_ways) {
        buckets /= 2;
        if (n < 0) {
            first = buckets;
            n = -n;
        }
    } else if (n < 0) {
        n = 0;
    }
    size_t exact = buckets / 2;
    if ((uint64_t)n < exact)
        return first + (size_t)n;
    double far =
        log((double)n / (double)exact) / log(most / (double)exact) * (double)(buckets - exact);
    size_t bucket = exact + (far > 0 && far < 1e9 ? (size_t)far : 0);
    return first + (bucket < buckets - 1 ? bucket : buckets - 1);
}

static enum ox_status run_relative_bias(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *table = ox_run_in(r, 0);
    const struct ox_tensor *q = ox_run_in(r, 1), *k = ox_run_in(r, 2);
    bool both_ways = ox_run_int(r, "is_bidirectional", 0) != 0;
    int64_t most = ox_run_int(r, "max_distance", 0);
    if (table->rank != 2 || table->dims[0] < (both_ways ? 4 : 2) || q->n != 1 || k->n != 1 ||
        most < 1)
        return ox_run_fail(r, err, OX_INPUT,
                           "a table of rank %u and a greatest distance of %" PRId64, table->rank,
                           most);
    int64_t rows = ox_tensor_get_int(q, 0), cols = ox_tensor_get_int(k, 0);
    const int64_t dims[4] = {1, table->dims[1], rows, cols};
    struct ox_tensor *y;
    if (rows < 0 || cols < 0)
        return ox_run_fail(r, err, OX_INPUT, "lengths of %" PRId64 " and %" PRId64, rows, cols);
    OX_TRY(ox_run_out(r, 0, table->dtype, 4, dims, &y, err));
    size_t heads = (size_t)table->dims[1];
    for (size_t i = 0; i < y->n; i++) {
        int64_t col = (int64_t)(i % (size_t)cols), row = (int64_t)(i / (size_t)cols) % rows;
        size_t head = i / (size_t)cols / (size_t)rows;
        size_t bucket = bucket_of(col - row, both_ways, (size_t)table->dims[0], (double)most);
        double value = ox_tensor_get_double(table, bucket * heads + head);
        ox_real_store(y, i, 1, &value);
    }
    return OX_OK;
}

static void infer_relative_bias(struct ox_infer *c)
{
    size_t n;
    const struct ox_expr *const *v;
    const struct ox_expr *dims[4] = {ox_infer_num(c, 1), ox_infer_dim(c, 0, 1), NULL, NULL};
    ox_infer_same_dtype(c, 0, 0);
    for (size_t i = 1; i < 3; i++)
        if (ox_infer_values(c, i, &n, &v) && n == 1)
            dims[i + 1] = v[0];
    ox_infer_set_shape(c, 0, 4, dims);
}

struct gated {
    size_t batch, rows, heads, size, depth;
    const double *query, *query_bias, *weight, *bias, *eco;
};

/* The factor of a token's row of a head: two gates, each the sum of half of the projected query. */
static double gate_of(const struct gated *g, size_t b, size_t h, size_t row)
{
    const double *query = g->query + ((b * g->rows + row) * g->heads + h) * g->size;
    double sums[2] = {0, 0};
    for (size_t d = 0; d < g->depth; d++) {
        double sum = g->bias[d];
        for (size_t i = 0; i < g->size; i++)
            sum += (query[i] + g->query_bias[h * g->size + i]) * g->weight[i * g->depth + d];
        sums[d >= g->depth / 2] += sum;
    }
    return ox_sigmoid(sums[0]) * (ox_sigmoid(sums[1]) * g->eco[h] - 1) + 2;
}

static enum ox_status run_gated_bias(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *q = ox_run_in(r, 0), *position = ox_run_in(r, 2), *w = ox_run_in(r, 3);
    int64_t heads = ox_run_int(r, "num_heads", 0);
    const double *table;
    if (ox_run_has(r, 6))
        return ox_run_fail(r, err, OX_UNSUPPORTED, "token_offset is not served");
    if (q->rank != 3 || heads < 1 || q->dims[2] % heads || position->rank != 4 || w->rank != 2 ||
        w->dims[0] != q->dims[2] / heads || position->dims[0] != 1 || position->dims[1] != heads ||
        position->dims[2] != q->dims[1] || position->dims[3] != q->dims[1] ||
        (int64_t)ox_run_in(r, 1)->n != q->dims[2] || (int64_t)ox_run_in(r, 4)->n != w->dims[1] ||
        (int64_t)ox_run_in(r, 5)->n != heads)
        return ox_run_fail(r, err, OX_INPUT, "the inputs do not fit each other");
    struct gated g = {.batch = (size_t)q->dims[0],
                      .rows = (size_t)q->dims[1],
                      .heads = (size_t)heads,
                      .size = (size_t)w->dims[0],
                      .depth = (size_t)w->dims[1]};
    OX_TRY(ox_real_in(r, 0, &g.query, err));
    OX_TRY(ox_real_in(r, 1, &g.query_bias, err));
    OX_TRY(ox_real_in(r, 2, &table, err));
    OX_TRY(ox_real_in(r, 3, &g.weight, err));
    OX_TRY(ox_real_in(r, 4, &g.bias, err));
    OX_TRY(ox_real_in(r, 5, &g.eco, err));
    const int64_t dims[4] = {q->dims[0], heads, q->dims[1], q->dims[1]};
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, q->dtype, 4, dims, &y, err));
    double *row = ox_real_scratch(r, g.rows, err);
    if (!row)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < g.batch * g.heads * g.rows; i++) {
        size_t at = i % g.rows, h = i / g.rows % g.heads;
        double gate = gate_of(&g, i / g.rows / g.heads, h, at);
        for (size_t k = 0; k < g.rows; k++)
            row[k] = gate * table[(h * g.rows + at) * g.rows + k];
        ox_real_store(y, i * g.rows, g.rows, row);
    }
    return OX_OK;
}

static void infer_gated_bias(struct ox_infer *c)
{
    const struct ox_expr *rows = ox_infer_dim(c, 0, 1);
    const struct ox_expr *dims[4] = {
        ox_infer_dim(c, 0, 0), ox_infer_num(c, ox_infer_int_attr(c, "num_heads", 0)), rows, rows};
    ox_infer_same_dtype(c, 0, 0);
    if (!ox_infer_has(c, 6))
        ox_infer_set_shape(c, 0, 4, dims);
}

#define MS "com.microsoft"

const struct ox_op ox_ops_contrib_sequence[] = {
    {MS, "BifurcationDetector", 1, .infer = infer_bifurcation, .run = run_bifurcation},
    {MS, "CropAndResize", 1, .infer = infer_crop_and_resize, .run = run_crop_and_resize},
    {MS, "GatedRelativePositionBias", 1, .infer = infer_gated_bias, .run = run_gated_bias},
    {MS, "RelativePositionBias", 1, .infer = infer_relative_bias, .run = run_relative_bias},
    {0}};
