#include "ops/broadcast.h"

#include <inttypes.h>
#include <string.h>

#include "common/env.h"
#include "common/machine.h"
#include "kernels/dense.h"
#include "kernels/inline.h"

static int64_t aligned_dim(unsigned out_rank, unsigned rank, const int64_t *dims, unsigned axis)
{
    unsigned missing = out_rank - rank;
    return axis < missing ? 1 : dims[axis - missing];
}

static enum ox_status result_dims(struct ox_broadcast *b, const struct ox_run *r,
                                  const unsigned *rank, const int64_t *const *dims,
                                  struct ox_error *err)
{
    b->rank = 0;
    for (unsigned k = 0; k < b->n_in; k++) {
        if (rank[k] > OX_BROADCAST_RANK) {
            ox_run_fail(r, err, OX_LIMIT, "input %u has rank %u, more than %d", k, rank[k],
                        OX_BROADCAST_RANK);
            return OX_LIMIT;
        }
        if (rank[k] > b->rank)
            b->rank = rank[k];
    }
    for (unsigned axis = 0; axis < b->rank; axis++) {
        b->dims[axis] = 1;
        for (unsigned k = 0; k < b->n_in; k++) {
            int64_t d = aligned_dim(b->rank, rank[k], dims[k], axis);
            if (d == 1 || d == b->dims[axis])
                continue;
            if (b->dims[axis] != 1) {
                ox_run_fail(r, err, OX_INPUT,
                            "inputs do not broadcast: input %u has %" PRId64
                            " where others have %" PRId64 " (axis %u of %u)",
                            k, d, b->dims[axis], axis, b->rank);
                return OX_INPUT;
            }
            b->dims[axis] = d;
        }
    }
    if (!ox_dims_count(b->rank, b->dims, &b->n)) {
        ox_run_fail(r, err, OX_LIMIT, "the broadcast result has too many elements");
        return OX_LIMIT;
    }
    return OX_OK;
}

/* Loops from the innermost axis outward; an axis joins the loop inside it when every operand passes both as one. */
static void build_loops(struct ox_broadcast *b, const unsigned *rank, const int64_t *const *dims)
{
    size_t counts[OX_BROADCAST_RANK] = {0};
    size_t strides[OX_BROADCAST_MAX][OX_BROADCAST_RANK] = {{0}};
    size_t passed[OX_BROADCAST_MAX] = {1, 1, 1, 1};
    unsigned depth = 0;
    for (unsigned axis = b->rank; axis-- > 0;) {
        size_t count = (size_t)b->dims[axis];
        if (count == 1)
            continue;
        size_t stride[OX_BROADCAST_MAX] = {0};
        bool joins = depth > 0;
        for (unsigned k = 0; k < b->n_in; k++) {
            bool repeated = aligned_dim(b->rank, rank[k], dims[k], axis) == 1;
            stride[k] = repeated ? 0 : passed[k];
            if (!repeated)
                passed[k] *= count;
            if (depth && stride[k] != strides[k][depth - 1] * counts[depth - 1])
                joins = false;
        }
        if (joins) {
            counts[depth - 1] *= count;
            continue;
        }
        counts[depth] = count;
        for (unsigned k = 0; k < b->n_in; k++)
            strides[k][depth] = stride[k];
        depth++;
    }
    b->inner = depth ? counts[0] : 1;
    b->rows = 1;
    b->depth = depth ? depth - 1 : 0;
    for (unsigned k = 0; k < b->n_in; k++)
        b->step[k] = depth ? strides[k][0] : 0;
    for (unsigned level = 0; level < b->depth; level++) {
        b->counts[level] = counts[depth - 1 - level];
        b->rows *= b->counts[level];
        for (unsigned k = 0; k < b->n_in; k++)
            b->strides[k][level] = strides[k][depth - 1 - level];
    }
}

enum ox_status ox_broadcast_dims(struct ox_broadcast *b, const struct ox_run *r, unsigned n_in,
                                 const unsigned *rank, const int64_t *const *dims,
                                 struct ox_error *err)
{
    b->n_in = n_in;
    b->n = 0;
    OX_TRY(result_dims(b, r, rank, dims, err));
    b->depth = 0;
    b->rows = b->inner = 0;
    if (b->n)
        build_loops(b, rank, dims);
    return OX_OK;
}

enum ox_status ox_broadcast_init(struct ox_broadcast *b, const struct ox_run *r, unsigned n_in,
                                 const struct ox_tensor *const *in, struct ox_error *err)
{
    unsigned rank[OX_BROADCAST_MAX];
    const int64_t *dims[OX_BROADCAST_MAX];
    for (unsigned k = 0; k < n_in; k++) {
        rank[k] = in[k]->rank;
        dims[k] = in[k]->dims;
    }
    return ox_broadcast_dims(b, r, n_in, rank, dims, err);
}

enum ox_status ox_broadcast_into_first(const struct ox_broadcast *b, const struct ox_run *r,
                                       const struct ox_tensor *first, struct ox_error *err)
{
    bool same = b->rank == first->rank;
    for (unsigned axis = 0; same && axis < b->rank; axis++)
        same = b->dims[axis] == first->dims[axis];
    if (!same)
        return ox_run_fail(r, err, OX_INPUT,
                           "the second input does not broadcast to the shape of the first");
    return OX_OK;
}

/* ---- Running ------------------------------------------------------------------------------------------------------ */

struct ranges {
    size_t n, grain;
    void (*task)(void *arg, size_t from, size_t to);
    void *arg;
};

static void run_range(void *arg, size_t i, size_t slot)
{
    const struct ranges *ranges = arg;
    const size_t from = i * ranges->grain, left = ranges->n - from;
    (void)slot;
    ranges->task(ranges->arg, from, from + (left < ranges->grain ? left : ranges->grain));
}

void ox_ranges_run(struct ox_env *env, size_t n, size_t grain,
                   void (*task)(void *arg, size_t from, size_t to), void *arg)
{
    static const double work_of_ns = 80; /* as ox_spread() counts */
    struct ranges ranges = {.n = n, .grain = grain ? grain : 1, .task = task, .arg = arg};
    if (n <= ranges.grain) {
        if (n)
            task(arg, 0, n);
        return;
    }
    /* What an element costs lies a hundredfold apart: the first range tells. */
    const size_t count = (n - 1) / ranges.grain + 1;
    const uint64_t start = ox_clock_ns();
    run_range(&ranges, 0, 0);
    const uint64_t ns = ox_clock_ns() - start;
    ox_spread_rest(env, count, 1, work_of_ns * (double)ns * (double)(count - 1), run_range,
                   &ranges);
}

struct broadcast_job {
    const struct ox_broadcast *b;
    const char *in[OX_BROADCAST_MAX];
    size_t in_size[OX_BROADCAST_MAX];
    char *out;
    size_t out_size;
    void (*kernel)(const struct ox_row *row, const void *arg);
    const void *arg;
};

/* Row number to a place in the loop nest: the only divisions, once a task. */
static void seek_row(const struct ox_broadcast *b, size_t row, size_t *at, size_t *offset)
{
    for (unsigned k = 0; k < b->n_in; k++)
        offset[k] = 0;
    for (unsigned level = b->depth; level-- > 0;) {
        at[level] = row % b->counts[level];
        row /= b->counts[level];
        for (unsigned k = 0; k < b->n_in; k++)
            offset[k] += at[level] * b->strides[k][level];
    }
}

static void next_row(const struct ox_broadcast *b, size_t *at, size_t *offset)
{
    for (unsigned level = b->depth; level-- > 0;) {
        bool wraps = ++at[level] == b->counts[level];
        if (!wraps) {
            for (unsigned k = 0; k < b->n_in; k++)
                offset[k] += b->strides[k][level];
            return;
        }
        at[level] = 0;
        for (unsigned k = 0; k < b->n_in; k++)
            offset[k] -= (b->counts[level] - 1) * b->strides[k][level];
    }
}

/* How an operand goes through rows that are taken together. */
enum lying { LIES, REPEATED, SPREAD };

/* Short rows are taken together where each operand lies so, or is laid down: the same row several times, or an element of each row as
 * often as the row is long. */
struct together {
    size_t rows; /* at most; 1: they are not short */
    enum lying how[OX_BROADCAST_MAX];
    const char *of[OX_BROADCAST_MAX]; /* the row that is laid down */
    _Alignas(64) char row[OX_BROADCAST_MAX][4096];
};

static void begin_together(const struct broadcast_job *job, struct together *x)
{
    enum { LEAST = 4, SPREAD_BYTES = 128 };
    const struct ox_broadcast *b = job->b;
    size_t size = 1;
    x->rows = 1;
    if (!b->depth)
        return;
    for (unsigned k = 0; k < b->n_in; k++) {
        const size_t stride = b->strides[k][b->depth - 1], bytes = b->inner * job->in_size[k];
        x->how[k] = stride == b->step[k] * b->inner ? LIES : b->step[k] ? REPEATED : SPREAD;
        x->of[k] = NULL;
        if ((x->how[k] == REPEATED && stride) || (x->how[k] == SPREAD && bytes > SPREAD_BYTES))
            return;
        size = job->in_size[k] > size ? job->in_size[k] : size;
    }
    size_t rows = sizeof x->row[0] / size / b->inner;
    rows = rows < b->counts[b->depth - 1] ? rows : b->counts[b->depth - 1];
    x->rows = rows < LEAST ? 1 : rows;
}

/* Rows from the one at `offset` on of which all are in one run of the innermost loop and in `n` elements. */
static size_t rows_together(const struct broadcast_job *job, const struct together *x,
                            const size_t *at, size_t n)
{
    const struct ox_broadcast *b = job->b;
    if (x->rows == 1)
        return 1;
    size_t rows = b->counts[b->depth - 1] - at[b->depth - 1];
    rows = rows < x->rows ? rows : x->rows;
    return n / b->inner < rows ? n / b->inner : rows;
}

/* Of a size that the compiler knows. */
INLINE void fill_with(char *to, const char *from, size_t n, const size_t size)
{
    uint64_t word = 0;
    memcpy(&word, from, size);
    for (size_t i = 0; i < n; i++)
        memcpy(to + i * size, &word, size);
}

/* n copies of an element. */
static void fill(char *to, const char *from, size_t n, size_t size)
{
    switch (size) {
    case 1:
        memset(to, *from, n);
        break;
    case 2:
        fill_with(to, from, n, 2);
        break;
    case 4:
        fill_with(to, from, n, 4);
        break;
    case 8:
        fill_with(to, from, n, 8);
        break;
    default:
        for (size_t i = 0; i < n; i++)
            memcpy(to + i * size, from, size);
    }
}

static const char *lay_down(const struct broadcast_job *job, struct together *x, unsigned k,
                            const char *from, size_t rows)
{
    const struct ox_broadcast *b = job->b;
    const size_t size = job->in_size[k], bytes = b->inner * size;
    const size_t stride = b->strides[k][b->depth - 1] * size;
    for (size_t i = 0; x->how[k] == SPREAD && i < rows; i++)
        fill(x->row[k] + i * bytes, from + i * stride, b->inner, size);
    for (size_t i = 0; x->how[k] == REPEATED && x->of[k] != from && i < x->rows; i++)
        memcpy(x->row[k] + i * bytes, from, bytes);
    x->of[k] = from;
    return x->row[k];
}

static void broadcast_task(void *arg, size_t from, size_t to)
{
    const struct broadcast_job *job = arg;
    const struct ox_broadcast *b = job->b;
    size_t at[OX_BROADCAST_RANK], offset[OX_BROADCAST_MAX];
    size_t column = from % b->inner;
    seek_row(b, from / b->inner, at, offset);
    struct ox_row row;
    struct together together;
    begin_together(job, &together);
    while (from < to) {
        const size_t rows = column ? 1 : rows_together(job, &together, at, to - from);
        row.n = b->inner - column < to - from ? b->inner - column : to - from;
        for (unsigned k = 0; k < b->n_in; k++) {
            const char *in = job->in[k] + (offset[k] + column * b->step[k]) * job->in_size[k];
            const bool laid = rows > 1 && together.how[k] != LIES;
            row.in[k] = laid ? lay_down(job, &together, k, in, rows) : in;
            row.step[k] = laid ? 1 : b->step[k];
        }
        row.out = job->out + from * job->out_size;
        if (rows > 1) {
            row.n = rows * b->inner;
            at[b->depth - 1] += rows - 1;
            for (unsigned k = 0; k < b->n_in; k++)
                offset[k] += (rows - 1) * b->strides[k][b->depth - 1];
        }
        job->kernel(&row, job->arg);
        from += row.n;
        column = 0;
        next_row(b, at, offset);
    }
}

void ox_broadcast_run(const struct ox_broadcast *b, struct ox_env *env, const void *const *in,
                      const size_t *in_size, void *out, size_t out_size,
                      void (*kernel)(const struct ox_row *row, const void *arg), const void *arg)
{
    struct broadcast_job job = {
        .b = b, .out = out, .out_size = out_size, .kernel = kernel, .arg = arg};
    for (unsigned k = 0; k < b->n_in; k++) {
        job.in[k] = in[k];
        job.in_size[k] = in_size[k];
    }
    ox_ranges_run(env, b->n, OX_GRAIN, broadcast_task, &job);
}

/* ---- Operators ---------------------------------------------------------------------------------------------------- */

static enum ox_status run_kernel(struct ox_run *r, const struct ox_broadcast *b,
                                 const struct ox_kernels *kernels, unsigned n_in,
                                 const struct ox_tensor *const *in, enum ox_dtype out_dtype,
                                 const void *arg, struct ox_error *err)
{
    enum ox_dtype dtype = in[0]->dtype;
    if (!kernels->of[dtype])
        return ox_run_fail(r, err, OX_UNSUPPORTED, "no kernel for %s", ox_dtype_name(dtype));
    struct ox_tensor *out;
    OX_TRY(ox_run_out(r, 0, out_dtype ? out_dtype : dtype, b->rank, b->dims, &out, err));
    const void *data[OX_BROADCAST_MAX] = {NULL};
    size_t size[OX_BROADCAST_MAX] = {0};
    for (unsigned k = 0; k < n_in; k++) {
        data[k] = in[k]->data;
        size[k] = ox_dtype_size(in[k]->dtype);
    }
    ox_broadcast_run(b, r->env, data, size, out->data, ox_dtype_size(out->dtype),
                     kernels->of[dtype], arg);
    return OX_OK;
}

enum ox_status ox_run_elementwise(struct ox_run *r, const struct ox_kernels *kernels, unsigned n_in,
                                  enum ox_dtype out_dtype, const void *arg, struct ox_error *err)
{
    const struct ox_tensor *in[OX_BROADCAST_MAX];
    for (unsigned k = 0; k < n_in; k++)
        in[k] = ox_run_in(r, k);
    struct ox_broadcast b;
    OX_TRY(ox_broadcast_init(&b, r, n_in, in, err));
    return run_kernel(r, &b, kernels, n_in, in, out_dtype, arg, err);
}

/* Operand 1's shape with ones before and after it, so that numpy's rule does what `axis` says. */
static enum ox_status align_second(struct ox_run *r, const struct ox_tensor *a,
                                   const struct ox_tensor *b, int64_t *dims, unsigned *rank,
                                   struct ox_error *err)
{
    *rank = a->rank;
    for (unsigned i = 0; i < a->rank; i++)
        dims[i] = 1;
    if (b->n == 1)
        return OX_OK;
    int64_t axis = ox_run_int(r, "axis", (int64_t)a->rank - (int64_t)b->rank);
    if (axis < 0 && ox_run_attr(r, "axis"))
        axis += a->rank;
    if (axis < 0 || axis > (int64_t)a->rank - (int64_t)b->rank)
        return ox_run_fail(r, err, OX_INPUT,
                           "B of rank %u does not fit into A of rank %u at axis %" PRId64, b->rank,
                           a->rank, axis);
    for (unsigned i = 0; i < b->rank; i++)
        dims[(unsigned)axis + i] = b->dims[i];
    return OX_OK;
}

enum ox_status ox_run_elementwise_axis(struct ox_run *r, const struct ox_kernels *kernels,
                                       enum ox_dtype out_dtype, const void *arg,
                                       struct ox_error *err)
{
    const struct ox_tensor *in[2] = {ox_run_in(r, 0), ox_run_in(r, 1)};
    int64_t second[OX_BROADCAST_RANK];
    unsigned rank[2] = {in[0]->rank, in[1]->rank};
    const int64_t *dims[2] = {in[0]->dims, in[1]->dims};
    if (ox_run_int(r, "broadcast", 0)) {
        if (rank[0] > OX_BROADCAST_RANK)
            return ox_run_fail(r, err, OX_LIMIT, "input 0 has rank %u, more than %d", rank[0],
                               OX_BROADCAST_RANK);
        OX_TRY(align_second(r, in[0], in[1], second, &rank[1], err));
        dims[1] = second;
    }
    struct ox_broadcast b;
    OX_TRY(ox_broadcast_dims(&b, r, 2, rank, dims, err));
    OX_TRY(ox_broadcast_into_first(&b, r, in[0], err));
    return run_kernel(r, &b, kernels, 2, in, out_dtype, arg, err);
}
