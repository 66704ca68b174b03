/* Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kernels/draws.h"
#include "ops/broadcast.h"
#include "ops/random_source.h"
#include "ops/real.h"
#include "ops/rules.h"

enum { CHUNK = 256 };

/* The attribute is a float: a whole number stands for itself, another one for its bits. Without it the run decides. */
static uint64_t seed_of(const struct ox_run *r)
{
    if (!ox_run_attr(r, "seed"))
        return r->seed;
    float seed = ox_run_float(r, "seed", 0);
    if (seed == floorf(seed) && fabsf(seed) < 0x1p62f)
        return (uint64_t)(int64_t)seed;
    uint32_t bits;
    memcpy(&bits, &seed, sizeof bits);
    return bits | UINT64_C(1) << 63;
}

/* ---- RandomNormal, RandomUniform, and their Like ------------------------------------------------------------------ */

struct random_job {
    uint64_t seed;
    double base, scale;
    bool normal;
    const struct ox_tensor *probability; /* of Bernoulli */
    struct ox_tensor *out;
};

/* Numbers [from, from + n), n <= CHUNK; from is even, as tasks and chunks begin. */
static void draw(const struct random_job *job, size_t from, size_t n, double v[CHUNK])
{
    const struct ox_draws *draws = ox_draws(ox_cpu());
    (job->normal ? draws->normal : draws->uniform)(job->seed, from / 2, (n + 1) / 2, v);
}

static void random_task(void *arg, size_t from, size_t to)
{
    const struct random_job *job = arg;
    double v[CHUNK];
    while (from < to) {
        size_t n = to - from < CHUNK ? to - from : CHUNK;
        draw(job, from, n, v);
        for (size_t i = 0; i < n; i++)
            v[i] = job->base + job->scale * v[i];
        char *out = (char *)job->out->data + from * ox_dtype_size(job->out->dtype);
        ox_elements_convert(job->out->dtype, out, OX_FLOAT64, v, n, true);
        from += n;
    }
}

static void load_parameters(const struct ox_run *r, struct random_job *job, bool normal)
{
    job->seed = seed_of(r);
    job->normal = normal;
    if (normal) {
        job->base = (double)ox_run_float(r, "mean", 0);
        job->scale = (double)ox_run_float(r, "scale", 1);
    } else {
        job->base = (double)ox_run_float(r, "low", 0);
        job->scale = (double)ox_run_float(r, "high", 1) - job->base;
    }
}

/* The attribute dtype, else the type of the input, which has to be one that numbers can be drawn in. */
static enum ox_status drawn_type(struct ox_run *r, const struct ox_tensor *like,
                                 enum ox_dtype *dtype, struct ox_error *err)
{
    int64_t wanted = ox_run_int(r, "dtype", 0);
    *dtype = like ? like->dtype : OX_FLOAT32;
    if (wanted > 0 && wanted < OX_N_DTYPES)
        *dtype = (enum ox_dtype)wanted;
    if (!ox_dtype_is_float(*dtype) || ox_dtype_bits(*dtype) < 16)
        return ox_run_fail(r, err, OX_INPUT, "%s is no type to draw random numbers in",
                           ox_dtype_name(*dtype));
    return OX_OK;
}

static enum ox_status run_drawn(struct ox_run *r, bool normal, struct ox_error *err)
{
    struct random_job job = {0};
    enum ox_dtype dtype;
    size_t rank;
    const int64_t *shape = ox_run_ints(r, "shape", &rank);
    load_parameters(r, &job, normal);
    OX_TRY(drawn_type(r, NULL, &dtype, err));
    if (rank > OX_BROADCAST_RANK)
        return ox_run_fail(r, err, OX_LIMIT, "attribute shape has %zu dimensions, more than %d",
                           rank, OX_BROADCAST_RANK);
    for (size_t i = 0; i < rank; i++)
        if (shape[i] < 0)
            return ox_run_fail(r, err, OX_INPUT, "attribute shape has a dimension of %" PRId64,
                               shape[i]);
    OX_TRY(ox_run_out(r, 0, dtype, (unsigned)rank, shape, &job.out, err));
    ox_ranges_run(r->env, job.out->n, OX_GRAIN, random_task, &job);
    return OX_OK;
}

static enum ox_status run_drawn_like(struct ox_run *r, bool normal, struct ox_error *err)
{
    struct random_job job = {0};
    const struct ox_tensor *like = ox_run_in(r, 0);
    enum ox_dtype dtype;
    load_parameters(r, &job, normal);
    OX_TRY(drawn_type(r, like, &dtype, err));
    OX_TRY(ox_run_out(r, 0, dtype, like->rank, like->dims, &job.out, err));
    ox_ranges_run(r->env, job.out->n, OX_GRAIN, random_task, &job);
    return OX_OK;
}

static enum ox_status run_random_normal(struct ox_run *r, struct ox_error *err)
{
    return run_drawn(r, true, err);
}

static enum ox_status run_random_normal_like(struct ox_run *r, struct ox_error *err)
{
    return run_drawn_like(r, true, err);
}

static enum ox_status run_random_uniform(struct ox_run *r, struct ox_error *err)
{
    return run_drawn(r, false, err);
}

static enum ox_status run_random_uniform_like(struct ox_run *r, struct ox_error *err)
{
    return run_drawn_like(r, false, err);
}

/* ---- Bernoulli, Multinomial --------------------------------------------------------------------------------------- */

static void bernoulli_task(void *arg, size_t from, size_t to)
{
    const struct random_job *job = arg;
    double u[CHUNK], v[CHUNK];
    while (from < to) {
        size_t n = to - from < CHUNK ? to - from : CHUNK;
        const char *in =
            (const char *)job->probability->data + from * ox_dtype_size(job->probability->dtype);
        ox_elements_convert(OX_FLOAT64, v, job->probability->dtype, in, n, true);
        draw(job, from, n, u);
        for (size_t i = 0; i < n; i++)
            v[i] = u[i] < v[i];
        char *out = (char *)job->out->data + from * ox_dtype_size(job->out->dtype);
        ox_elements_convert(job->out->dtype, out, OX_FLOAT64, v, n, true);
        from += n;
    }
}

static enum ox_status run_bernoulli(struct ox_run *r, struct ox_error *err)
{
    struct random_job job = {.seed = seed_of(r), .probability = ox_run_in(r, 0)};
    const struct ox_tensor *p = job.probability;
    int64_t wanted = ox_run_int(r, "dtype", 0);
    enum ox_dtype dtype = wanted > 0 && wanted < OX_N_DTYPES ? (enum ox_dtype)wanted : p->dtype;
    if (dtype == OX_STRING)
        return ox_run_fail(r, err, OX_INPUT, "attribute dtype is string");
    OX_TRY(ox_run_out(r, 0, dtype, p->rank, p->dims, &job.out, err));
    ox_ranges_run(r->env, p->n, OX_GRAIN, bernoulli_task, &job);
    return OX_OK;
}

/* One row: cumulative weights from unnormalized logarithms, then each sample by bisection. */
static enum ox_status sample_row(struct ox_run *r, const double *logs, size_t classes, size_t row,
                                 size_t samples, uint64_t seed, double *running, int64_t *out,
                                 struct ox_error *err)
{
    double most = -(double)INFINITY, total = 0;
    for (size_t i = 0; i < classes; i++)
        most = logs[i] > most ? logs[i] : most;
    for (size_t i = 0; i < classes; i++)
        running[i] = total += logs[i] == most ? 1 : exp(logs[i] - most);
    if (!(total > 0) || isinf(most))
        return ox_run_fail(r, err, OX_INPUT,
                           "row %zu has no finite log-probability or one that is NaN or infinite",
                           row);
    for (size_t k = 0; k < samples; k++) {
        double u = ox_random_uniform(seed, row * samples + k) * total;
        size_t low = 0, high = classes - 1;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (running[middle] > u)
                high = middle;
            else
                low = middle + 1;
        }
        out[k] = (int64_t)low;
    }
    return OX_OK;
}

static enum ox_status run_multinomial(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    int64_t samples = ox_run_int(r, "sample_size", 1), wanted = ox_run_int(r, "dtype", OX_INT32);
    if (in->rank != 2)
        return ox_run_fail(r, err, OX_INPUT, "the input has rank %u, not 2", in->rank);
    if (samples < 0)
        return ox_run_fail(r, err, OX_INPUT, "attribute sample_size is %" PRId64, samples);
    if (wanted != OX_INT32 && wanted != OX_INT64)
        return ox_run_fail(r, err, OX_INPUT, "attribute dtype is %" PRId64 ", not int32 or int64",
                           wanted);
    size_t rows = (size_t)in->dims[0], classes = (size_t)in->dims[1];
    struct ox_tensor *out;
    OX_TRY(ox_run_out(r, 0, (enum ox_dtype)wanted, 2, (const int64_t[]){in->dims[0], samples}, &out,
                      err));
    if (out->n == 0)
        return OX_OK;
    if (classes == 0)
        return ox_run_fail(r, err, OX_INPUT, "there are no classes to sample from");
    double *running = ox_real_scratch(r, classes, err), *logs = ox_real_scratch(r, classes, err);
    int64_t *row_out = ox_run_scratch(r, (size_t)samples, sizeof *row_out, err);
    if (!running || !logs || !row_out)
        return OX_NO_MEMORY;
    for (size_t row = 0; row < rows; row++) {
        ox_real_load(in, row * classes, classes, logs);
        OX_TRY(
            sample_row(r, logs, classes, row, (size_t)samples, seed_of(r), running, row_out, err));
        char *to = (char *)out->data + row * (size_t)samples * ox_dtype_size(out->dtype);
        ox_elements_convert(out->dtype, to, OX_INT64, row_out, (size_t)samples, true);
    }
    return OX_OK;
}

/* ---- Shapes ------------------------------------------------------------------------------------------------------- */

static void infer_drawn(struct ox_infer *c)
{
    size_t rank;
    const int64_t *shape = ox_infer_ints_attr(c, "shape", &rank);
    enum ox_dtype dtype = ox_rule_dtype_attr(c, "dtype");
    if (dtype)
        ox_infer_set_dtype(c, 0, dtype);
    if (!shape || rank > OX_BROADCAST_RANK)
        return;
    const struct ox_expr **dims = ox_infer_dims(c, (unsigned)rank);
    for (size_t i = 0; dims && i < rank; i++)
        dims[i] = ox_infer_num(c, shape[i]);
    if (dims)
        ox_infer_set_shape(c, 0, (unsigned)rank, dims);
}

static void infer_like(struct ox_infer *c)
{
    enum ox_dtype dtype = ox_rule_dtype_attr(c, "dtype");
    if (dtype)
        ox_infer_set_dtype(c, 0, dtype);
    else
        ox_infer_same_dtype(c, 0, 0);
    ox_infer_same_shape(c, 0, 0);
}

static void infer_multinomial(struct ox_infer *c)
{
    unsigned rank;
    const struct ox_expr *const *in;
    int64_t dtype = ox_infer_int_attr(c, "dtype", OX_INT32);
    if (dtype == OX_INT32 || dtype == OX_INT64)
        ox_infer_set_dtype(c, 0, (enum ox_dtype)dtype);
    const struct ox_expr **dims = ox_infer_dims(c, 2);
    if (!dims)
        return;
    if (ox_infer_shape(c, 0, &rank, &in)) {
        if (rank != 2) {
            ox_infer_conflict(c, "the input has rank %u, not 2", rank);
            return;
        }
        dims[0] = in[0];
    }
    dims[1] = ox_infer_num(c, ox_infer_int_attr(c, "sample_size", 1));
    ox_infer_set_shape(c, 0, 2, dims);
}

enum { FLAGS = OX_OP_RANDOM | OX_OP_HALF };

const struct ox_op ox_ops_random_ops[] = {
    {"", "Bernoulli", 15, .flags = FLAGS, .infer = infer_like, .run = run_bernoulli},
    {"", "Multinomial", 7, .flags = FLAGS, .infer = infer_multinomial, .run = run_multinomial},
    {"", "RandomNormal", 1, .flags = FLAGS, .infer = infer_drawn, .run = run_random_normal},
    {"", "RandomNormalLike", 1, .flags = FLAGS, .infer = infer_like, .run = run_random_normal_like},
    {"", "RandomUniform", 1, .flags = FLAGS, .infer = infer_drawn, .run = run_random_uniform},
    {"", "RandomUniformLike", 1, .flags = FLAGS, .infer = infer_like,
     .run = run_random_uniform_like},
    {0}};
