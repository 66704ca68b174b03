/* Elementwise: see fused_steps.h. Each step is a row kernel's call on a stretch that stays in L1, so that the bits are those of the
 * operators run one by one. */
#include "ops/fused/fused_steps.h"

#include <math.h>
#include <string.h>

#include "kernels/affine.h"
#include "kernels/code_rows.h"
#include "ops/fast/fast.h"
#include "ops/int8/int8.h"
#include "ops/parts.h"
#include "ops/rules.h"

enum {
    STRETCH = 2048,
    ROWS_STRETCH = OX_STEPS_ROW /* of rows that are joined: their parts are read in long runs */
};

/* Codes at an end, or of an operand. */
struct codes {
    bool is; /* else floats are there */
    uint8_t flip;
    struct ox_bytes_code code;
};

/* The operand of element i is data[i / inner % count], or what codes[i] stands for. */
struct step {
    enum ox_step_kind kind;
    void (*unary)(size_t n, const float *x, float *y, float a, float b);
    void (*const *pair)(size_t n, const float *a, const float *b, float *y);
    float a, b;
    const float *data;
    size_t inner, count;
    bool reversed; /* the chain's value is the right one */
    const uint8_t *codes;
    struct codes from;
    struct ox_codes grid;
    int32_t zero; /* of the grid, whose scale is a */
    struct ox_norm_row norm;
};

struct shape {
    unsigned rank;
    size_t n;
    int64_t *dims;
};

struct part {
    const float *data;
    size_t n; /* of a row */
};

struct ox_steps {
    const float *x;
    float *y;
    const struct ox_bytes *bytes;
    const struct ox_rows *rows;
    struct codes from, to;
    const float *table; /* NULL: codes have a scale */
    const uint8_t *x_codes;
    uint8_t *y_codes;
    struct part *part;   /* NULL: x is there */
    size_t n_parts, row; /* elements of the last axis */
    bool by_rows;        /* a step is of whole rows */
    bool affine;         /* the steps are what kernels/affine.h does at once */
    size_t stretch;      /* elements; whole rows where they are joined and fit */
    size_t n, n_steps;
    struct step step[OX_MOST_STEPS];
};

static void apply_one(const struct step *s, size_t n, const float *x, const float *one, float *y)
{
    if (s->reversed)
        s->pair[OX_ROW_LEFT_ONE](n, one, x, y);
    else
        s->pair[OX_ROW_RIGHT_ONE](n, x, one, y);
}

static void apply_row(const struct step *s, size_t n, const float *x, const float *row, float *y)
{
    if (s->reversed)
        s->pair[OX_ROW_BOTH](n, row, x, y);
    else
        s->pair[OX_ROW_BOTH](n, x, row, y);
}

/* Elements [from, from + n) of a function of two. */
static void apply_pair(const struct step *s, size_t from, size_t n, const float *x, float *y)
{
    if (s->count == 1) {
        apply_one(s, n, x, s->data, y);
        return;
    }
    size_t unit = from / s->inner % s->count, at = from % s->inner;
    for (size_t done = 0; done < n;) {
        const size_t reach = s->inner == 1 ? s->count - unit : s->inner - at;
        const size_t some = reach < n - done ? reach : n - done;
        if (s->inner == 1)
            apply_row(s, some, x + done, s->data + unit, y + done);
        else
            apply_one(s, some, x + done, s->data + unit, y + done);
        done += some;
        at = 0;
        unit = s->inner == 1 || unit + 1 == s->count ? 0 : unit + 1;
    }
}

static void dequantize(const struct ox_steps *job, const struct codes *codes, const uint8_t *x,
                       size_t n, float *y)
{
    job->bytes->dequantize(n, x, codes->flip, codes->code.zero, codes->code.scale, y);
}

/* Elements [from, from + n) of a step. */
static void apply(const struct ox_steps *job, const struct step *s, size_t from, size_t n,
                  const float *x, float *y)
{
    _Alignas(64) float other[ROWS_STRETCH];
    if (s->kind == OX_STEP_UNARY) {
        s->unary(n, x, y, s->a, s->b);
    } else if (s->kind == OX_STEP_SOFTMAX) {
        for (size_t i = 0; i < n; i += job->row)
            job->rows->softmax(job->row, x + i, NULL, 1, y + i);
    } else if (s->kind == OX_STEP_NORM) {
        struct ox_norm_row row = s->norm;
        for (size_t i = 0; i < n; i += job->row) {
            row.x = x + i;
            row.y = y + i;
            job->rows->norm(job->row, &row);
        }
    } else if (s->kind == OX_STEP_GRID) {
        s->grid.quantize(n, x, 0, &s->a, &s->zero, other);
        s->grid.dequantize(n, other, 0, &s->a, &s->zero, y);
    } else if (s->codes) {
        dequantize(job, &s->from, s->codes + from, n, other);
        apply_row(s, n, x, other, y);
    } else {
        apply_pair(s, from, n, x, y);
    }
}

/* A few in line: a call costs more than they do. */
static void copy(size_t n, const float *from, float *to)
{
    if (n % 4 == 0 && n <= 128) {
        for (size_t i = 0; i < n; i += 4)
            memcpy(to + i, from + i, 4 * sizeof *to);
    } else {
        memcpy(to, from, n * sizeof *to);
    }
}

/* Elements [from, from + n) of the parts joined. */
static void gather(const struct ox_steps *job, size_t from, size_t n, float *to)
{
    size_t row = from / job->row, at = from % job->row, i = 0;
    for (; at >= job->part[i].n; i++)
        at -= job->part[i].n;
    while (n) {
        const struct part *p = &job->part[i];
        const size_t some = p->n - at < n ? p->n - at : n;
        copy(some, p->data + row * p->n + at, to);
        to += some;
        n -= some;
        at = 0;
        if (++i == job->n_parts) {
            i = 0;
            row++;
        }
    }
}

/* Whole rows, a part after the other. */
static void gather_rows(const struct ox_steps *job, size_t row, size_t rows, float *to)
{
    for (size_t i = 0; i < job->n_parts; to += job->part[i].n, i++) {
        const size_t n = job->part[i].n, bytes = n * sizeof *to;
        if (n)
            ox_parts_copy_rows(rows, (const char *)(job->part[i].data + row * n), bytes, (char *)to,
                               job->row * sizeof *to, bytes);
    }
}

/* Elements [from, from + n): the result in `last`, which may lie where input 0 does, as it is written last; NULL: in the codes. */
static void run_stretch(const struct ox_steps *job, size_t from, size_t n, float *last)
{
    _Alignas(64) float work[ROWS_STRETCH]; /* vectors are not to lie in two lines */
    const float *x = job->part || job->from.is || job->table ? work : job->x + from;
    if (job->part && job->stretch % job->row == 0)
        gather_rows(job, from / job->row, n / job->row, work);
    else if (job->part)
        gather(job, from, n, work);
    if (job->table)
        job->bytes->look_up_floats(n, job->x_codes + from, job->table, work);
    if (job->from.is)
        dequantize(job, &job->from, job->x_codes + from, n, work);
    for (size_t k = 0; k < job->n_steps; k++) {
        apply(job, &job->step[k], from, n, x, k + 1 == job->n_steps && last ? last : work);
        x = work;
    }
    if (!last)
        job->bytes->quantize(n, work, &job->to.code, job->y_codes + from);
}

static void run_stretches(void *arg, size_t first, size_t last)
{
    const struct ox_steps *job = arg;
    for (size_t i = first; i < last; i++) {
        const size_t from = i * job->stretch, left = job->n - from;
        run_stretch(job, from, left < job->stretch ? left : job->stretch,
                    job->to.is ? NULL : job->y + from);
    }
}

/* How an operand repeats in the chain's shape: ones, then dimensions that are the same, then ones. */
static bool find_repeats(const struct shape *x, const struct ox_tensor *other, struct step *s)
{
    unsigned d = other->rank;
    s->inner = 1;
    s->count = other->n;
    s->data = other->data;
    if (other->rank > x->rank || !other->n)
        return false;
    for (; d > 0 && other->dims[d - 1] == 1; d--)
        s->inner *= (size_t)x->dims[x->rank - other->rank + d - 1];
    for (; d > 0 && other->dims[d - 1] == x->dims[x->rank - other->rank + d - 1]; d--)
        ;
    for (; d > 0 && other->dims[d - 1] == 1; d--)
        ;
    return d == 0;
}

static float float_of(int64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}

/* The codes of which input `at` is the scale (0: floats). */
static enum ox_status read_codes(struct ox_run *r, size_t at, enum ox_dtype dtype,
                                 struct codes *codes, struct ox_error *err)
{
    const struct ox_tensor *scale = at ? ox_fast_in(r, at) : NULL;
    const struct ox_tensor *zero = ox_run_in(r, at + 1);
    codes->is = at != 0;
    if (!at)
        return OX_OK;
    if (!scale || scale->n != 1 || (dtype != OX_UINT8 && dtype != OX_INT8) ||
        (zero && (zero->n != 1 || zero->dtype != dtype)))
        return ox_run_fail(r, err, OX_INPUT, "codes without one scale and zero point");
    codes->flip = dtype == OX_INT8 ? 0x80 : 0;
    codes->code = (struct ox_bytes_code){.scale = *(const float *)scale->data,
                                         .zero = ox_int8_zero(zero),
                                         .lo = dtype == OX_INT8 ? -128 : 0,
                                         .hi = dtype == OX_INT8 ? 127 : 255};
    return OX_OK;
}

/* A row of as many elements as rows have, or nothing. */
static bool read_row(struct ox_run *r, size_t at, size_t n, const float **row)
{
    const struct ox_tensor *in = ox_run_has(r, at) ? ox_fast_in(r, at) : NULL;
    *row = in ? in->data : NULL;
    return in ? in->n == n : !ox_run_has(r, at);
}

static enum ox_status read_norm(struct ox_run *r, const int64_t *field, size_t row, struct step *s,
                                struct ox_error *err)
{
    const size_t at = (size_t)field[OX_STEP_A];
    s->norm = (struct ox_norm_row){.epsilon = float_of(field[OX_STEP_B]),
                                   .centred = field[OX_STEP_FUNCTION] != 0};
    if (!read_row(r, at, row, &s->norm.scale) || !read_row(r, at + 1, row, &s->norm.shift))
        return ox_run_fail(r, err, OX_INPUT, "scale or shift has not %zu elements", row);
    return OX_OK;
}

static enum ox_status read_pair(struct ox_run *r, const int64_t *field, const struct shape *x,
                                struct step *s, struct ox_error *err)
{
    const int64_t function = field[OX_STEP_FUNCTION];
    const size_t at = (size_t)field[OX_STEP_A];
    const struct ox_tensor *other = at ? ox_run_in(r, at) : NULL;
    const bool codes = other && (other->dtype == OX_UINT8 || other->dtype == OX_INT8);
    if (other && !codes)
        other = ox_fast_in(r, at);
    if (!other || function < 0 || function >= OX_BINARIES || !find_repeats(x, other, s) ||
        (codes && other->n != x->n))
        return ox_run_fail(r, err, OX_INPUT, "the operands do not fit each other");
    s->reversed = field[OX_STEP_KIND] == OX_STEP_RIGHT;
    s->pair = ox_fast_rows()->binary[function];
    if (!codes)
        return OX_OK;
    s->codes = other->data;
    OX_TRY(read_codes(r, at + 1, other->dtype, &s->from, err));
    s->from.code.zero += s->from.flip;
    return OX_OK;
}

static enum ox_status read_step(struct ox_run *r, const int64_t *field, const struct shape *x,
                                size_t row, struct step *s, struct ox_error *err)
{
    const int64_t function = field[OX_STEP_FUNCTION];
    *s = (struct step){.kind = (enum ox_step_kind)field[OX_STEP_KIND]};
    switch (s->kind) {
    case OX_STEP_UNARY:
        if (function < 0 || function >= OX_UNARIES)
            return ox_run_fail(r, err, OX_INPUT, "there is no such function");
        s->unary = ox_fast_rows()->unary[function];
        s->a = float_of(field[OX_STEP_A]);
        s->b = float_of(field[OX_STEP_B]);
        return OX_OK;
    case OX_STEP_SOFTMAX:
        return OX_OK;
    case OX_STEP_GRID:
        s->grid = ox_codes(ox_cpu(), (enum ox_dtype)function);
        s->a = float_of(field[OX_STEP_A]);
        s->zero = (int32_t)field[OX_STEP_B];
        return s->grid.quantize ? OX_OK : ox_run_fail(r, err, OX_INPUT, "there are no such codes");
    case OX_STEP_NORM:
        return read_norm(r, field, row, s, err);
    default:
        return read_pair(r, field, x, s, err);
    }
}

/* What input 0 and those joined to it make: its shape (without data) in *shape. */
static enum ox_status read_parts(struct ox_run *r, const struct ox_tensor *x, struct ox_steps *job,
                                 struct shape *shape, struct ox_error *err)
{
    const int64_t joined = ox_run_int(r, "joined", 0);
    int64_t *dims = ox_run_scratch(r, x->rank + 1, sizeof *dims, err);
    if (!dims)
        return OX_NO_MEMORY;
    *shape = (struct shape){x->rank, x->n, dims};
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    job->row = x->rank ? (size_t)dims[x->rank - 1] : 1;
    if (!joined)
        return OX_OK;
    if (joined < 1 || (size_t)joined >= r->n_in || x->rank < 1)
        return ox_run_fail(r, err, OX_INPUT, "there is nothing to join");
    job->n_parts = r->n_in - (size_t)joined + 1;
    job->part = ox_run_scratch(r, job->n_parts, sizeof *job->part, err);
    if (!job->part)
        return OX_NO_MEMORY;
    const unsigned last = x->rank - 1;
    dims[last] = 0;
    for (size_t i = 0; i < job->n_parts; i++) {
        const struct ox_tensor *t = i ? ox_fast_in(r, (size_t)joined + i - 1) : x;
        if (!t || t->rank != x->rank || memcmp(t->dims, x->dims, last * sizeof *dims) != 0 ||
            OX_ADD_OVERFLOWS(dims[last], t->dims[last], &dims[last]))
            return ox_run_fail(r, err, OX_INPUT, "the inputs do not fit each other");
        job->part[i] = (struct part){t->data, (size_t)t->dims[last]};
    }
    job->row = (size_t)dims[last];
    if (!ox_dims_count(shape->rank, dims, &shape->n))
        return ox_run_fail(r, err, OX_LIMIT, "the result is too large");
    return OX_OK;
}

static enum ox_status read_ends(struct ox_run *r, const struct ox_tensor *x, struct ox_steps *job,
                                enum ox_dtype *dtype, struct ox_error *err)
{
    const struct ox_tensor *zero = ox_run_in(r, (size_t)ox_run_int(r, "to", 0) + 1);
    const size_t at = (size_t)ox_run_int(r, "table", 0);
    const struct ox_tensor *table = at ? ox_fast_in(r, at) : NULL;
    if (at && (!table || table->n != 256 || (x->dtype != OX_UINT8 && x->dtype != OX_INT8)))
        return ox_run_fail(r, err, OX_INPUT, "the table has not 256 floats, or there are no codes");
    job->table = table ? table->data : NULL;
    OX_TRY(read_codes(r, (size_t)ox_run_int(r, "from", 0), x->dtype, &job->from, err));
    *dtype = zero ? zero->dtype : OX_UINT8;
    OX_TRY(read_codes(r, (size_t)ox_run_int(r, "to", 0), *dtype, &job->to, err));
    if (!job->to.is)
        *dtype = OX_FLOAT32;
    job->from.code.zero += job->from.flip;
    job->bytes = ox_bytes(ox_cpu());
    job->x_codes = x->data;
    return OX_OK;
}

/* Steps of rows need whole ones in a stretch. */
static enum ox_status read_steps(struct ox_run *r, const struct shape *shape, struct ox_steps *job,
                                 struct ox_error *err)
{
    const struct ox_attr *steps = ox_node_attr(r->node, "steps");
    if (!steps || steps->type != OX_ATTR_INTS || !steps->n || steps->n % OX_STEP_FIELDS ||
        steps->n > OX_MOST_STEPS * OX_STEP_FIELDS)
        return ox_run_fail(r, err, OX_INPUT, "there are no steps");
    job->n_steps = steps->n / OX_STEP_FIELDS;
    job->n = shape->n;
    if (!job->n)
        return OX_OK;
    for (size_t k = 0; k < job->n_steps; k++) {
        const int64_t *field = steps->ints + k * OX_STEP_FIELDS;
        OX_TRY(read_step(r, field, shape, job->row, &job->step[k], err));
        job->by_rows |= job->step[k].kind >= OX_STEP_SOFTMAX;
    }
    if (job->by_rows && job->row > OX_STEPS_ROW)
        return ox_run_fail(r, err, OX_LIMIT, "rows have more than %d elements", OX_STEPS_ROW);
    const size_t most = job->part || job->row > STRETCH ? ROWS_STRETCH : STRETCH;
    const bool whole = (job->part && job->row <= ROWS_STRETCH) || job->by_rows;
    job->stretch = whole ? most / job->row * job->row : STRETCH;
    return OX_OK;
}

/* Whether the step's operand is an element for each of a row. */
static bool is_by_column(const struct ox_steps *job, const struct step *s, enum ox_binary pair)
{
    return s->pair == job->rows->binary[pair] && !s->codes && s->inner == 1 &&
           s->count == job->row && s->count > 1;
}

/* Whether the chain is a batch norm, with or without limits. */
static bool is_affine(const struct ox_steps *job)
{
    const struct step *s = job->step;
    return job->n && (job->n_steps == 2 || job->n_steps == 3) &&
           is_by_column(job, &s[0], OX_BINARY_MUL) && is_by_column(job, &s[1], OX_BINARY_ADD) &&
           (job->n_steps == 2 || s[2].unary == job->rows->unary[OX_UNARY_CLIP]);
}

enum ox_status ox_steps_read(struct ox_run *r, struct ox_steps **steps, size_t *row,
                             struct ox_error *err)
{
    const struct ox_tensor *x = ox_fast_in(r, 0);
    struct ox_steps *job = ox_run_scratch(r, 1, sizeof *job, err);
    struct shape shape;
    if (!job)
        return OX_NO_MEMORY;
    if (!x)
        return ox_run_fail(r, err, OX_INPUT, "the data is no float32");
    *job = (struct ox_steps){.x = x->data, .rows = ox_fast_rows(), .bytes = ox_bytes(ox_cpu())};
    OX_TRY(read_parts(r, x, job, &shape, err));
    OX_TRY(read_steps(r, &shape, job, err));
    job->affine = is_affine(job);
    *steps = job;
    *row = job->row;
    return OX_OK;
}

static void affine_rows(const struct ox_steps *job, size_t first, size_t n, float *to)
{
    const struct step *s = job->step;
    const struct part whole = {job->x, job->row}, *part = job->part ? job->part : &whole;
    const bool limited = job->n_steps == 3;
    struct ox_affine a = {.rows = n,
                          .scale = s[0].data,
                          .shift = s[1].data,
                          .lo = limited ? s[2].a : -INFINITY,
                          .hi = limited ? s[2].b : INFINITY,
                          .y = to,
                          .y_step = job->row};
    for (size_t i = 0; i < (job->part ? job->n_parts : 1); i++) {
        a.n = a.x_step = part[i].n;
        a.x = part[i].data + first * a.n;
        ox_affine(job->rows->level, &a);
        a.scale += a.n;
        a.shift += a.n;
        a.y += a.n;
    }
}

void ox_steps_rows(const void *steps, size_t first, size_t n, float *to)
{
    const struct ox_steps *job = steps;
    if (job->affine) {
        affine_rows(job, first, n, to);
        return;
    }
    const size_t end = (first + n) * job->row;
    size_t some;
    for (size_t from = first * job->row; from < end; from += some, to += some) {
        some = job->stretch < end - from ? job->stretch : end - from;
        run_stretch(job, from, some, to);
    }
}

static enum ox_status run_steps(struct ox_run *r, struct ox_error *err)
{
    const bool from = ox_run_int(r, "from", 0) != 0 || ox_run_int(r, "table", 0) != 0;
    const struct ox_tensor *x = from ? ox_run_in(r, 0) : ox_fast_in(r, 0);
    enum ox_dtype dtype = OX_FLOAT32;
    struct ox_tensor *y;
    if (!x)
        return ox_run_fail(r, err, OX_INPUT, "the data is no float32");
    struct shape shape;
    struct ox_steps job = {.x = x->data, .rows = ox_fast_rows()};
    OX_TRY(read_ends(r, x, &job, &dtype, err));
    OX_TRY(read_parts(r, x, &job, &shape, err));
    OX_TRY(read_steps(r, &shape, &job, err));
    if (job.part || from || job.to.is)
        OX_TRY(ox_run_out(r, 0, dtype, x->rank, shape.dims, &y, err));
    else
        OX_TRY(ox_run_out_reuse(r, 0, 0, OX_FLOAT32, x->rank, x->dims, &y, err));
    job.y = y->data;
    job.y_codes = y->data;
    if (job.n)
        ox_fast_spread(r->env, (job.n - 1) / job.stretch + 1, job.stretch > STRETCH ? 1 : 4,
                       0.3 * (double)(job.stretch * job.n_steps), run_stretches, &job);
    return ox_env_poll(r->env, err);
}

static void infer_steps(struct ox_infer *c)
{
    const int64_t from = ox_infer_int_attr(c, "from", 0) + ox_infer_int_attr(c, "table", 0);
    const int64_t to = ox_infer_int_attr(c, "to", 0);
    if (!ox_infer_int_attr(c, "joined", 0))
        ox_infer_same_shape(c, 0, 0);
    if (to && ox_infer_has(c, (size_t)to + 1))
        ox_infer_same_dtype(c, 0, (size_t)to + 1);
    else if (from || to)
        ox_infer_set_dtype(c, 0, to ? OX_UINT8 : OX_FLOAT32);
    else
        ox_infer_same_dtype(c, 0, 0);
}

const struct ox_op ox_ops_fused_steps[] = {
    {OX_OWN_DOMAIN, "Elementwise", 1, .infer = infer_steps, .run = run_steps}, {0}};
