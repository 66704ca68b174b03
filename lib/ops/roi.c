/* MaxRoiPool and RoiAlign. */
#include <math.h>
#include <string.h>

#include "common/threads.h"
#include "ops/infer.h"
#include "ops/real.h"
#include "ops/rules.h"

enum {
    CHANNELS = 32,
    BINS = 16
}; /* of a region, worked on side by side; that are stored together */

struct roi_job {
    const struct ox_tensor *x;
    struct ox_tensor *y;
    const double
        *planes; /* x as doubles; RoiAlign's with the channels of a group beside each other */
    size_t channels, height, width, out_height, out_width;
    const double *rois;
    size_t columns; /* of rois */
    const int64_t *images;
    double scale, shift;
    bool max, at_least_one; /* at_least_one: regions are no smaller than a pixel */
    int64_t sampling;
};

static void infer_rois(struct ox_infer *c, int64_t height, int64_t width)
{
    const struct ox_expr **dims = ox_infer_dims(c, 4);
    if (!dims)
        return;
    dims[0] = ox_infer_dim(c, 1, 0);
    dims[1] = ox_infer_dim(c, 0, 1);
    dims[2] = height >= 0 ? ox_infer_num(c, height) : NULL;
    dims[3] = width >= 0 ? ox_infer_num(c, width) : NULL;
    ox_infer_set_shape(c, 0, 4, dims);
}

static enum ox_status prepare(struct ox_run *r, struct roi_job *j, int64_t height, int64_t width,
                              int64_t columns, struct ox_error *err)
{
    const struct ox_tensor *x = j->x = ox_run_in(r, 0), *rois = ox_run_in(r, 1);
    if (x->rank != 4 || rois->rank != 2 || rois->dims[1] != columns)
        return ox_run_fail(r, err, OX_INPUT, "X is not [N, C, H, W] or rois is not [regions, %lld]",
                           (long long)columns);
    if (height < 1 || width < 1)
        return ox_run_fail(r, err, OX_INPUT, "the pooled size is %lld x %lld", (long long)height,
                           (long long)width);
    j->channels = (size_t)x->dims[1];
    j->height = (size_t)x->dims[2];
    j->width = (size_t)x->dims[3];
    j->out_height = (size_t)height;
    j->out_width = (size_t)width;
    j->columns = (size_t)columns;
    OX_TRY(ox_real_in(r, 1, &j->rois, err));
    for (size_t i = 0; i < rois->n; i++)
        if (!isfinite(j->rois[i]))
            return ox_run_fail(r, err, OX_INPUT, "coordinate %zu of region %zu is %g",
                               i % j->columns, i / j->columns, j->rois[i]);
    return ox_run_out(r, 0, x->dtype, 4,
                      (const int64_t[]){rois->dims[0], x->dims[1], height, width}, &j->y, err);
}

static enum ox_status check_image(struct ox_run *r, size_t region, double image,
                                  struct ox_error *err)
{
    int64_t images = ox_run_in(r, 0)->dims[0];
    if (image >= 0 && image < (double)images && image == floor(image))
        return OX_OK;
    return ox_run_fail(r, err, OX_INPUT, "region %zu is of image %g, outside of [0, %lld)", region,
                       image, (long long)images);
}

/* ---- MaxRoiPool -------------------------------------------------------------------------------------------------- */

static void infer_max_roi_pool(struct ox_infer *c)
{
    size_t n;
    const int64_t *shape = ox_infer_ints_attr(c, "pooled_shape", &n);
    infer_rois(c, n == 2 ? shape[0] : -1, n == 2 ? shape[1] : -1);
}

/* Part [*lo, *hi) of `limit` that bin i of n covers of a region from start, size long: whole pixels, rounded outward. */
static void bin_range(int64_t i, int64_t n, int64_t start, int64_t size, int64_t limit, int64_t *lo,
                      int64_t *hi)
{
    *lo = start + i * size / n;
    *hi = start + ((i + 1) * size + n - 1) / n;
    *lo = *lo < 0 ? 0 : *lo > limit ? limit : *lo;
    *hi = *hi < 0 ? 0 : *hi > limit ? limit : *hi;
}

struct bins {
    int64_t start, size, n, limit;
};

/* Ranges of bins [from, from + count). */
static void bin_ranges(const struct bins *b, size_t from, size_t count, int64_t lo[], int64_t hi[])
{
    for (size_t k = 0; k < count; k++)
        bin_range((int64_t)(from + k), b->n, b->start, b->size, b->limit, &lo[k], &hi[k]);
}

static double greatest_in(const double *plane, size_t width, int64_t top, int64_t bottom,
                          int64_t left, int64_t right)
{
    if (bottom <= top || right <= left)
        return 0;
    double best = -INFINITY;
    for (int64_t y = top; y < bottom; y++) {
        const double *row = plane + (size_t)y * width;
        for (int64_t x = left; x < right; x++)
            best = row[x] > best ? row[x] : best; /* never NaN */
    }
    return best;
}

static void max_roi_task(void *arg, size_t i)
{
    enum { STRETCH = 32 }; /* of bins of a row, whose ranges serve all rows */
    const struct roi_job *j = arg;
    const double *roi = j->rois + i / j->channels * 5;
    const double *plane =
        j->planes + ((size_t)roi[0] * j->channels + i % j->channels) * j->height * j->width;
    int64_t x0 = (int64_t)round(roi[1] * j->scale), y0 = (int64_t)round(roi[2] * j->scale);
    int64_t x1 = (int64_t)round(roi[3] * j->scale), y1 = (int64_t)round(roi[4] * j->scale);
    int64_t height = y1 - y0 + 1 > 1 ? y1 - y0 + 1 : 1, width = x1 - x0 + 1 > 1 ? x1 - x0 + 1 : 1;
    const struct bins down = {y0, height, (int64_t)j->out_height, (int64_t)j->height};
    const struct bins across = {x0, width, (int64_t)j->out_width, (int64_t)j->width};
    int64_t left[STRETCH], right[STRETCH], top, bottom;
    double best[STRETCH];
    for (size_t x = 0, n; x < j->out_width; x += n) {
        n = j->out_width - x < STRETCH ? j->out_width - x : STRETCH;
        bin_ranges(&across, x, n, left, right);
        for (size_t y = 0; y < j->out_height; y++) {
            bin_ranges(&down, y, 1, &top, &bottom);
            for (size_t k = 0; k < n; k++)
                best[k] = greatest_in(plane, j->width, top, bottom, left[k], right[k]);
            ox_real_store(j->y, (i * j->out_height + y) * j->out_width + x, n, best);
        }
    }
}

static enum ox_status run_max_roi_pool(struct ox_run *r, struct ox_error *err)
{
    size_t n;
    const int64_t *shape = ox_run_ints(r, "pooled_shape", &n);
    struct roi_job j = {.scale = (double)ox_run_float(r, "spatial_scale", 1)};
    if (n != 2 || shape[0] > 1 << 20 || shape[1] > 1 << 20)
        return ox_run_fail(r, err, OX_INPUT, "pooled_shape is not two sizes up to 2^20");
    OX_TRY(prepare(r, &j, shape[0], shape[1], 5, err));
    OX_TRY(ox_real_in(r, 0, &j.planes, err));
    size_t regions = (size_t)j.y->dims[0];
    for (size_t i = 0; i < regions; i++) {
        OX_TRY(check_image(r, i, j.rois[i * 5], err));
        for (size_t k = 1; k < 5; k++)
            if (!(fabs(j.rois[i * 5 + k] * j.scale) < 1e9))
                return ox_run_fail(r, err, OX_INPUT, "coordinate %zu of region %zu is %g", k, i,
                                   j.rois[i * 5 + k]);
    }
    ox_parallel(r->env, regions * j.channels, max_roi_task, &j);
    return ox_env_poll(r->env, err);
}

/* ---- RoiAlign ---------------------------------------------------------------------------------------------------- */

static void infer_roi_align(struct ox_infer *c)
{
    ox_rule_rank(c, 0, 4);
    if (ox_rule_rank(c, 1, 2) && ox_rule_rank(c, 2, 1))
        ox_infer_equal(c, ox_infer_dim(c, 1, 0), ox_infer_dim(c, 2, 0),
                       "regions and their batches");
    if (ox_infer_opset(c) >= 22)
        ox_infer_equal(c, ox_infer_dim(c, 1, 1), ox_infer_num(c, 4), "coordinates of a region");
    infer_rois(c, ox_infer_int_attr(c, "output_height", 1),
               ox_infer_int_attr(c, "output_width", 1));
}

/* Sample points of one bin on one axis: start + (i + 0.5) * step, i < count, of which [lo, hi) are on the map. */
struct samples {
    double start, step, count;
    int64_t lo, hi;
};

static struct samples sample_axis(double start, double bin, size_t index, double count,
                                  size_t limit)
{
    static const double most =
        1e15; /* beyond it whole numbers are not exact: nothing on the map is met there */
    struct samples s = {.start = start + (double)index * bin, .step = bin / count, .count = count};
    double lo = 0, hi = count;
    if (s.step > 0) {
        lo = floor((-1 - s.start) / s.step - 1);
        hi = ceil(((double)limit - s.start) / s.step + 1);
    } else if (
        count >
        4096) { /* only regions turned inside out, whose samples are as many as asked for, get here otherwise */
        hi = 0;
    }
    lo = lo > 0 ? lo : 0;
    hi = hi < count ? hi : count;
    if (lo < hi && lo < most) {
        s.lo = (int64_t)lo;
        s.hi = hi < most ? (int64_t)hi : s.lo;
    }
    return s;
}

/* The two pixels around a coordinate and the part of the second; false: outside of the map. */
static bool around(double at, size_t limit, size_t *low, size_t *high, double *part)
{
    if (!(at >= -1 && at <= (double)limit))
        return false;
    at = at > 0 ? at : 0;
    *low = (size_t)at;
    if (*low >= limit - 1) {
        *low = *high = limit - 1;
        *part = 0;
    } else {
        *high = *low + 1;
        *part = at - (double)*low;
    }
    return true;
}

/* A group of n channels of a region. */
struct bin_sums {
    const double *planes; /* [height, width, n] */
    size_t n;
    double sum[CHANNELS], best[CHANNELS];
    int64_t inside;
};

/* Takes in one sample: four neighbours and their weights. */
static void take_sample(struct bin_sums *s, const size_t at[4], const double weight[4], bool max)
{
    const double *restrict p = s->planes + at[0] * s->n, *restrict q = s->planes + at[1] * s->n;
    const double *restrict u = s->planes + at[2] * s->n, *restrict v = s->planes + at[3] * s->n;
    s->inside++;
    for (size_t c = 0; c < s->n && !max; c++)
        s->sum[c] += weight[0] * p[c] + weight[1] * q[c] + weight[2] * u[c] + weight[3] * v[c];
    /* The largest weighted neighbour, as the reference has it, not the largest interpolated value. */
    for (size_t c = 0; c < s->n && max; c++) {
        const double of[4] = {weight[0] * p[c], weight[1] * q[c], weight[2] * u[c],
                              weight[3] * v[c]};
        double best = s->best[c];
        best = of[0] > best ? of[0] : best;
        best = of[1] > best ? of[1] : best;
        best = of[2] > best ? of[2] : best;
        s->best[c] = of[3] > best ? of[3] : best;
    }
}

static void pool_bin(const struct roi_job *j, const struct samples *v, const struct samples *h,
                     struct bin_sums *s)
{
    s->inside = 0;
    for (size_t c = 0; c < s->n; c++) {
        s->sum[c] = 0;
        s->best[c] = -INFINITY;
    }
    for (int64_t a = v->lo; a < v->hi; a++) {
        size_t y0, y1, x0, x1;
        double y, x;
        if (!around(v->start + ((double)a + 0.5) * v->step, j->height, &y0, &y1, &y))
            continue;
        for (int64_t b = h->lo; b < h->hi; b++) {
            if (!around(h->start + ((double)b + 0.5) * h->step, j->width, &x0, &x1, &x))
                continue;
            const size_t at[4] = {y0 * j->width + x0, y0 * j->width + x1, y1 * j->width + x0,
                                  y1 * j->width + x1};
            const double weight[4] = {(1 - y) * (1 - x), (1 - y) * x, y * (1 - x), y * x};
            take_sample(s, at, weight, j->max);
        }
    }
    const double count = v->count * h->count;
    for (size_t c = 0; c < s->n; c++) {
        const double best = s->best[c];
        if (!j->max)
            s->sum[c] /= count > 1 ? count : 1;
        else
            s->sum[c] = count < 1 ? 0 : (double)s->inside < count && !(best > 0) ? 0 : best;
    }
}

struct grouping {
    const struct ox_tensor *x;
    size_t channels, area;
    double *to;
};

/* A group of channels of an image, some places at a time. */
static void group_task(void *arg, size_t i)
{
    enum { PLACES = 64 };
    const struct grouping *g = arg;
    const size_t groups = (g->channels - 1) / CHANNELS + 1, first = i % groups * CHANNELS;
    const size_t n = g->channels - first < CHANNELS ? g->channels - first : CHANNELS;
    const size_t from = (i / groups * g->channels + first) * g->area;
    double *to = g->to + from, places[PLACES];
    for (size_t at = 0, some; at < g->area; at += some, to += some * n) {
        some = g->area - at < PLACES ? g->area - at : PLACES;
        for (size_t c = 0; c < n; c++) {
            ox_real_load(g->x, from + c * g->area + at, some, places);
            for (size_t k = 0; k < some; k++)
                to[k * n + c] = places[k];
        }
    }
}

static enum ox_status group_channels(struct ox_run *r, struct roi_job *j, struct ox_error *err)
{
    struct grouping g = {.x = j->x, .channels = j->channels, .area = j->height * j->width};
    g.to = ox_run_work(r, j->x->n + 1, sizeof *g.to, err);
    if (!g.to)
        return err->status;
    j->planes = g.to;
    if (j->x->n)
        ox_parallel(r->env, (size_t)j->x->dims[0] * ((j->channels - 1) / CHANNELS + 1), group_task,
                    &g);
    return OX_OK;
}

/* A region's channels, CHANNELS of them in a task. */
static void roi_align_task(void *arg, size_t i)
{
    const struct roi_job *j = arg;
    const size_t groups = (j->channels - 1) / CHANNELS + 1;
    const size_t region = i / groups, first = i % groups * CHANNELS;
    const size_t bins = j->out_height * j->out_width;
    const double *roi = j->rois + region * 4;
    struct bin_sums s = {.planes = j->planes + ((size_t)j->images[region] * j->channels + first) *
                                                   j->height * j->width,
                         .n = j->channels - first < CHANNELS ? j->channels - first : CHANNELS};
    double x = roi[0] * j->scale - j->shift, y = roi[1] * j->scale - j->shift;
    double width = roi[2] * j->scale - j->shift - x, height = roi[3] * j->scale - j->shift - y;
    if (j->at_least_one) {
        width = width > 1 ? width : 1;
        height = height > 1 ? height : 1;
    }
    double bin_h = height / (double)j->out_height, bin_w = width / (double)j->out_width;
    double n_v = j->sampling > 0 ? (double)j->sampling : ceil(bin_h);
    double n_h = j->sampling > 0 ? (double)j->sampling : ceil(bin_w);
    const bool any = n_v > 0 && n_h > 0 && j->height && j->width;
    double pooled[CHANNELS][BINS] = {{0}};
    for (size_t from = 0, n; from < bins; from += n) {
        n = bins - from < BINS ? bins - from : BINS;
        for (size_t o = from; any && o < from + n; o++) {
            struct samples v = sample_axis(y, bin_h, o / j->out_width, n_v, j->height);
            struct samples h = sample_axis(x, bin_w, o % j->out_width, n_h, j->width);
            pool_bin(j, &v, &h, &s);
            for (size_t c = 0; c < s.n; c++)
                pooled[c][o - from] = s.sum[c];
        }
        for (size_t c = 0; c < s.n; c++)
            ox_real_store(j->y, (region * j->channels + first + c) * bins + from, n, pooled[c]);
    }
}

static enum ox_status run_roi_align(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *images = ox_run_in(r, 2);
    const char *mode = ox_run_string(r, "mode");
    const char *transform = ox_run_string(r, "coordinate_transformation_mode");
    struct roi_job j = {.scale = (double)ox_run_float(r, "spatial_scale", 1),
                        .max = mode && strcmp(mode, "max") == 0,
                        .sampling = ox_run_int(r, "sampling_ratio", 0)};
    if (mode && !j.max && strcmp(mode, "avg") != 0)
        return ox_run_fail(r, err, OX_INPUT, "mode '%.40s' is unknown", mode);
    if (transform && strcmp(transform, "half_pixel") != 0 &&
        strcmp(transform, "output_half_pixel") != 0)
        return ox_run_fail(r, err, OX_INPUT, "coordinate_transformation_mode '%.40s' is unknown",
                           transform);
    if (j.sampling < 0 || j.sampling > 1 << 12)
        return ox_run_fail(r, err, OX_INPUT, "sampling_ratio is %lld, outside of [0, 4096]",
                           (long long)j.sampling);
    bool half_pixel = r->opset >= 16 && !(transform && strcmp(transform, "output_half_pixel") == 0);
    j.shift = half_pixel ? 0.5 : 0;
    j.at_least_one = !half_pixel;
    OX_TRY(prepare(r, &j, ox_run_int(r, "output_height", 1), ox_run_int(r, "output_width", 1), 4,
                   err));
    size_t regions = (size_t)j.y->dims[0];
    if (images->rank != 1 || images->n != regions)
        return ox_run_fail(r, err, OX_INPUT, "batch_indices has %zu elements for %zu regions",
                           images->n, regions);
    j.images = images->data;
    for (size_t i = 0; i < regions; i++)
        OX_TRY(check_image(r, i, (double)j.images[i], err));
    OX_TRY(group_channels(r, &j, err));
    if (j.channels)
        ox_parallel(r->env, regions * ((j.channels - 1) / CHANNELS + 1), roi_align_task, &j);
    return ox_env_poll(r->env, err);
}

const struct ox_op ox_ops_roi[] = {
    {"", "MaxRoiPool", 1, .infer = infer_max_roi_pool, .run = run_max_roi_pool},
    {"", "MaxRoiPool", 22, .infer = infer_max_roi_pool, .run = run_max_roi_pool},
    {"", "RoiAlign", 10, .infer = infer_roi_align, .run = run_roi_align},
    {"", "RoiAlign", 16, .infer = infer_roi_align, .run = run_roi_align},
    {"", "RoiAlign", 22, .infer = infer_roi_align, .run = run_roi_align},
    {0}};
