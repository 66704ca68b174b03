/* NonMaxSuppression. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/boxes.h"
#include "ops/infer.h"
#include "ops/kernel_tables.h"
#include "ops/keys.h"
#include "ops/real.h"

#define STAMP "ops/nms_tmpl.h"
#include "common/stamp_floats.h"

static void infer_nms(struct ox_infer *c)
{
    const struct ox_expr **dims = ox_infer_dims(c, 2);
    if (!dims)
        return;
    dims[0] = ox_infer_data_dim(c, "selected");
    dims[1] = ox_infer_num(c, 3);
    ox_infer_set_dtype(c, 0, OX_INT64);
    ox_infer_set_shape(c, 0, 2, dims);
}

struct candidate {
    double score;
    size_t box;
};

/* Best score first, of equals the first box; NaN last. */
static int by_score(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (isnan(a->score) || isnan(b->score)) {
        if (!isnan(a->score) || !isnan(b->score))
            return isnan(a->score) ? 1 : -1;
    } else if (a->score != b->score) {
        return a->score > b->score ? -1 : 1;
    }
    return a->box < b->box ? -1 : a->box > b->box;
}

/* ---- Order by keys of float32 scores ------------------------------------------------------------------------------ */

/* Keys whose order is that of by_score(): the best comes first, then the box. */
static uint64_t key_of(float score, size_t box)
{
    return (uint64_t)(isnan(score) ? UINT32_MAX : ~ox_key_order(score)) << 32 | (uint32_t)box;
}

struct nms {
    const struct ox_tensor *boxes, *scores;
    size_t n_boxes, most;
    bool centre, has_score;
    double iou, score;
    struct candidate *candidates; /* or keys and their work, where the scores are float32 */
    size_t *kept;
    void *blocks; /* of those kept (boxes.h) */
};

/* Boxes of one class whose scores suffice, the best first, of which the first `ordered` are in `kept`. */
struct boxes {
    size_t n, ordered;
};

static uint64_t *keys_of(const struct nms *s)
{
    return (uint64_t *)(void *)s->candidates;
}

/* The keys from n_before on, up to n. */
static void order_keys(const struct nms *s, size_t n_before, size_t n)
{
    uint64_t *keys = keys_of(s);
    const uint64_t *sorted = ox_keys_sort(keys + n_before, n - n_before, keys + s->n_boxes);
    for (size_t i = n_before; i < n; i++)
        s->kept[i] = (uint32_t)*sorted++;
}

static struct boxes order_boxes(const struct nms *s, size_t plane)
{
    struct boxes b = {0, 0};
    if (s->scores->dtype == OX_FLOAT32 && s->n_boxes <= UINT32_MAX) {
        const float *scores = (const float *)s->scores->data + plane * s->n_boxes;
        uint64_t *keys = keys_of(s);
        for (size_t i = 0; i < s->n_boxes; i++) {
            keys[b.n] = key_of(scores[i], i);
            b.n += !s->has_score || (double)scores[i] > s->score;
        }
        /* Most are not looked at where few are kept. */
        b.ordered = b.n / 4 > s->most
                        ? ox_keys_part(keys, b.n, s->most + s->most / 4, keys + s->n_boxes)
                        : b.n;
        order_keys(s, 0, b.ordered);
        return b;
    }
    for (size_t i = 0; i < s->n_boxes; i++) {
        double score = ox_tensor_get_double(s->scores, plane * s->n_boxes + i);
        if (!s->has_score || score > s->score)
            s->candidates[b.n++] = (struct candidate){score, i};
    }
    qsort(s->candidates, b.n, sizeof *s->candidates, by_score);
    for (size_t i = 0; i < b.n; i++)
        s->kept[i] = s->candidates[i].box;
    b.ordered = b.n;
    return b;
}

/* Fills kept with the boxes of one class; returns how many. */
static size_t select_boxes(const struct nms *s, size_t plane)
{
    bool (*const keep)(const void *boxes, size_t i, bool centre, void *blocks, size_t n_kept,
                       double threshold) = s->boxes->dtype == OX_FLOAT32 ? keep_f32 : keep_f64;
    const struct boxes b = order_boxes(s, plane);
    const size_t first = plane / (size_t)s->scores->dims[1] * s->n_boxes;
    size_t n_kept = 0;
    for (size_t i = 0; i < b.n && n_kept < s->most; i++) {
        if (i == b.ordered)
            order_keys(s, i, b.n);
        const size_t box = s->kept[i];
        if (keep(s->boxes->data, first + box, s->centre, s->blocks, n_kept, s->iou))
            s->kept[n_kept++] = box;
    }
    return n_kept;
}

static enum ox_status prepare(struct ox_run *r, struct nms *s, struct ox_error *err)
{
    s->boxes = ox_run_in(r, 0);
    s->scores = ox_run_in(r, 1);
    const struct ox_tensor *most = ox_run_in(r, 2), *score = ox_run_in(r, 4);
    if (s->boxes->rank != 3 || s->boxes->dims[2] != 4 || s->scores->rank != 3 ||
        s->scores->dims[0] != s->boxes->dims[0] || s->scores->dims[2] != s->boxes->dims[1])
        return ox_run_fail(r, err, OX_INPUT,
                           "boxes and scores are not [batches, boxes, 4] and [batches, classes, "
                           "boxes]");
    int64_t centre = ox_run_int(r, "center_point_box", 0);
    if (centre != 0 && centre != 1)
        return ox_run_fail(r, err, OX_INPUT, "center_point_box is %lld, not 0 or 1",
                           (long long)centre);
    s->n_boxes = (size_t)s->boxes->dims[1];
    s->centre = centre == 1;
    int64_t limit = most && most->n ? ox_tensor_get_int(most, 0) : 0;
    s->most = limit < 0 ? 0 : (uint64_t)limit < s->n_boxes ? (size_t)limit : s->n_boxes;
    s->iou = ox_real_scalar(r, 3, 0);
    s->has_score = score && score->n;
    s->score = ox_real_scalar(r, 4, 0);
    if (!(s->iou >= 0 && s->iou <= 1))
        return ox_run_fail(r, err, OX_INPUT, "iou_threshold is %g, outside of [0, 1]", s->iou);
    s->candidates = ox_run_work(r, s->n_boxes, sizeof *s->candidates, err);
    s->kept = ox_run_work(r, s->n_boxes, sizeof *s->kept, err);
    const size_t side = s->boxes->dtype == OX_FLOAT32 ? sizeof(float) : sizeof(double);
    s->blocks =
        ox_run_work(r, s->most / OX_BOXES_ABREAST + 1, side * OX_BOX_SIDES * OX_BOXES_ABREAST, err);
    return s->candidates && s->kept && s->blocks ? OX_OK : OX_NO_MEMORY;
}

static enum ox_status run_nms(struct ox_run *r, struct ox_error *err)
{
    struct nms s = {0};
    OX_TRY(prepare(r, &s, err));
    size_t classes = (size_t)s.scores->dims[1],
           planes = s.n_boxes && s.most ? s.scores->n / s.n_boxes : 0;
    size_t n = 0, cap = 0;
    int64_t *found = NULL;
    for (size_t plane = 0; plane < planes; plane++) {
        OX_TRY(ox_env_poll(r->env, err));
        size_t n_kept = select_boxes(&s, plane);
        if (n + n_kept > cap) {
            size_t more = 2 * cap > n + n_kept ? 2 * cap : n + n_kept;
            int64_t *grown = ox_run_scratch(r, more, 3 * sizeof *grown, err);
            if (!grown)
                return OX_NO_MEMORY;
            for (size_t i = 0; i < 3 * n; i++)
                grown[i] = found[i];
            found = grown;
            cap = more;
        }
        for (size_t k = 0; k < n_kept; k++, n++) {
            found[n * 3] = (int64_t)(plane / classes);
            found[n * 3 + 1] = (int64_t)(plane % classes);
            found[n * 3 + 2] = (int64_t)s.kept[k];
        }
    }
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, OX_INT64, 2, (const int64_t[]){(int64_t)n, 3}, &y, err));
    for (size_t i = 0; i < 3 * n; i++)
        ((int64_t *)y->data)[i] = found[i];
    return OX_OK;
}

const struct ox_op ox_ops_nms[] = {
    {"", "NonMaxSuppression", 10, .infer = infer_nms, .run = run_nms},
    {"", "NonMaxSuppression", 11, .infer = infer_nms, .run = run_nms},
    {0}};
