/* Elementwise operators in float32 by the row kernels. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/doubles.h"
#include "ops/broadcast.h"
#include "ops/fast/fast.h"

/* ---- One input -------------------------------------------------------------------------------------------------- */

/* A parameter is an attribute's, or the number when it has no name. */
static const struct function {
    const char *name;
    enum ox_unary unary;
    const char *a_name, *b_name;
    float a, b;
} functions[] = {{"Abs", OX_UNARY_ABS, NULL, NULL, 0, 0},
                 {"Acos", OX_UNARY_ACOS, NULL, NULL, 0, 0},
                 {"Asin", OX_UNARY_ASIN, NULL, NULL, 0, 0},
                 {"Atan", OX_UNARY_ATAN, NULL, NULL, 0, 0},
                 {"Ceil", OX_UNARY_CEIL, NULL, NULL, 0, 0},
                 {"Celu", OX_UNARY_CELU, "alpha", NULL, 1, 0},
                 {"Cos", OX_UNARY_COS, NULL, NULL, 0, 0},
                 {"Elu", OX_UNARY_ELU, "alpha", NULL, 1, 0},
                 {"Erf", OX_UNARY_ERF, NULL, NULL, 0, 0},
                 {"Exp", OX_UNARY_EXP, NULL, NULL, 0, 0},
                 {"Floor", OX_UNARY_FLOOR, NULL, NULL, 0, 0},
                 {"Gelu", OX_UNARY_GELU, NULL, NULL, 0, 0},
                 {"HardSigmoid", OX_UNARY_HARD_SIGMOID, "alpha", "beta", 0.2f, 0.5f},
                 {"HardSwish", OX_UNARY_HARD_SWISH, NULL, NULL, 0, 0},
                 {"LeakyRelu", OX_UNARY_LEAKY, "alpha", NULL, 0.01f, 0},
                 {"Log", OX_UNARY_LOG, NULL, NULL, 0, 0},
                 {"Mish", OX_UNARY_MISH, NULL, NULL, 0, 0},
                 {"Neg", OX_UNARY_NEG, NULL, NULL, 0, 0},
                 {"QuickGelu", OX_UNARY_SWISH, "alpha", NULL, 1.702f, 0},
                 {"Reciprocal", OX_UNARY_RECIPROCAL, NULL, NULL, 0, 0},
                 {"Relu", OX_UNARY_CLIP, NULL, NULL, 0, INFINITY},
                 {"Round", OX_UNARY_ROUND, NULL, NULL, 0, 0},
                 {"Selu", OX_UNARY_SELU, "alpha", "gamma", 1.67326319217681884765625f,
                  1.05070102214813232421875f},
                 {"Sigmoid", OX_UNARY_SIGMOID, NULL, NULL, 0, 0},
                 {"Sin", OX_UNARY_SIN, NULL, NULL, 0, 0},
                 {"Softplus", OX_UNARY_SOFTPLUS, NULL, NULL, 0, 0},
                 {"Softsign", OX_UNARY_SOFTSIGN, NULL, NULL, 0, 0},
                 {"Sqrt", OX_UNARY_SQRT, NULL, NULL, 0, 0},
                 {"Swish", OX_UNARY_SWISH, "alpha", NULL, 1, 0},
                 {"Tanh", OX_UNARY_TANH, NULL, NULL, 0, 0},
                 {"ThresholdedRelu", OX_UNARY_THRESHOLD, "alpha", NULL, 1, 0}};

static bool parameter(const struct ox_node *node, const char *name, float *value)
{
    const struct ox_attr *attr = name ? ox_node_attr(node, name) : NULL;
    if (attr && (attr->ref || attr->type != OX_ATTR_FLOAT || attr->n != 1))
        return false;
    if (attr)
        *value = attr->f;
    return true;
}

static bool gelu_form(const struct ox_node *node, enum ox_unary *function)
{
    const struct ox_attr *attr = ox_node_attr(node, "approximate");
    if (!attr)
        return true;
    if (attr->ref || attr->type != OX_ATTR_STRING)
        return false;
    if (attr->s.n == 4 && memcmp(attr->s.p, "tanh", 4) == 0)
        *function = OX_UNARY_GELU_TANH;
    else if (attr->s.n != 4 || memcmp(attr->s.p, "none", 4) != 0)
        return false;
    return true;
}

bool ox_fast_function(const struct ox_node *node, enum ox_unary *function, float *a, float *b)
{
    for (size_t i = 0; i < OX_COUNT(functions); i++) {
        const struct function *f = &functions[i];
        if (strcmp(f->name, node->op_type) != 0)
            continue;
        *function = f->unary;
        *a = f->a;
        *b = f->b;
        return parameter(node, f->a_name, a) && parameter(node, f->b_name, b) &&
               (f->unary != OX_UNARY_GELU || gelu_form(node, function));
    }
    return false;
}

struct unary_job {
    void (*function)(size_t n, const float *x, float *y, float a, float b);
    const float *x;
    float *y;
    float a, b;
};

static void unary_task(void *arg, size_t from, size_t to)
{
    const struct unary_job *job = arg;
    job->function(to - from, job->x + from, job->y + from, job->a, job->b);
}

static enum ox_status run_unary(struct ox_run *r, enum ox_unary function, float a, float b,
                                struct ox_error *err)
{
    const struct ox_tensor *x = ox_fast_in(r, 0);
    struct ox_tensor *y;
    OX_TRY(ox_run_out_reuse(r, 0, 0, OX_FLOAT32, x->rank, x->dims, &y, err));
    struct unary_job job = {ox_fast_rows()->unary[function], x->data, y->data, a, b};
    ox_fast_spread(r->env, x->n, 16384, 0.5, unary_task, &job);
    return OX_OK;
}

struct doubles_job {
    void (*function)(size_t n, const double *x, double *y, double a, double b);
    const double *x;
    double *y;
    double a, b;
};

static void doubles_task(void *arg, size_t from, size_t to)
{
    const struct doubles_job *job = arg;
    job->function(to - from, job->x + from, job->y + from, job->a, job->b);
}

static enum ox_status run_doubles(struct ox_run *r, const struct ox_tensor *x,
                                  enum ox_unary function, double a, double b, struct ox_error *err)
{
    struct doubles_job job = {
        .function = ox_doubles(ox_cpu())->unary[function], .x = x->data, .a = a, .b = b};
    struct ox_tensor *y;
    if (!job.function)
        return OX_UNSUPPORTED;
    OX_TRY(ox_run_out_reuse(r, 0, 0, OX_FLOAT64, x->rank, x->dims, &y, err));
    job.y = y->data;
    ox_fast_spread(r->env, x->n, 8192, 2, doubles_task, &job);
    return OX_OK;
}

enum ox_status ox_fast_unary(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    enum ox_unary function;
    float a, b;
    if (x && x->dtype == OX_FLOAT64 && ox_fast_function(r->node, &function, &a, &b))
        return run_doubles(r, x, function, (double)a, (double)b, err);
    if (!ox_fast_in(r, 0) || !ox_fast_function(r->node, &function, &a, &b))
        return OX_UNSUPPORTED;
    return run_unary(r, function, a, b, err);
}

struct biased {
    const struct unary_job *unary;
    const float *bias;
    size_t row; /* elements, as many as biases */
};

static void biased_rows(void *arg, size_t from, size_t to)
{
    const struct biased *b = arg;
    for (size_t i = from; i < to; i++) {
        float *y = b->unary->y + i * b->row;
        ox_fast_rows()->binary[OX_BINARY_ADD][OX_ROW_BOTH](b->row, b->unary->x + i * b->row,
                                                           b->bias, y);
        b->unary->function(b->row, y, y, 0, 0);
    }
}

enum ox_status ox_fast_bias_gelu(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_fast_in(r, 0), *bias = ox_run_in(r, 1);
    const enum ox_unary function =
        strcmp(r->node->op_type, "FastGelu") == 0 ? OX_UNARY_GELU_TANH : OX_UNARY_GELU;
    struct ox_tensor *y;
    if (!x || (bias && (!x->rank || !bias->n || bias->dtype != OX_FLOAT32 || bias->rank != 1 ||
                        bias->dims[0] != x->dims[x->rank - 1])))
        return OX_UNSUPPORTED;
    if (!bias)
        return run_unary(r, function, 0, 0, err);
    OX_TRY(ox_run_out_reuse(r, 0, 0, OX_FLOAT32, x->rank, x->dims, &y, err));
    struct unary_job unary = {ox_fast_rows()->unary[function], x->data, y->data, 0, 0};
    struct biased job = {&unary, bias->data, bias->n};
    ox_fast_spread(r->env, x->n / bias->n, 16384 / bias->n + 1, 0.5 * (double)bias->n, biased_rows,
                   &job);
    return OX_OK;
}

enum ox_status ox_fast_clip(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *lo = ox_run_in(r, 1), *hi = ox_run_in(r, 2);
    if (!ox_fast_in(r, 0) || (lo && (lo->n != 1 || lo->dtype != OX_FLOAT32)) ||
        (hi && (hi->n != 1 || hi->dtype != OX_FLOAT32)))
        return OX_UNSUPPORTED;
    float least = lo ? *(const float *)lo->data : -FLT_MAX;
    float most = hi ? *(const float *)hi->data : FLT_MAX;
    if (isnan(least) || isnan(most))
        return OX_UNSUPPORTED;
    return run_unary(r, OX_UNARY_CLIP, least, most, err);
}

/* ---- Two inputs ------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum ox_binary binary;
} pairs[] = {{"Add", OX_BINARY_ADD}, {"Sub", OX_BINARY_SUB},    {"Mul", OX_BINARY_MUL},
             {"Div", OX_BINARY_DIV}, {"Max", OX_BINARY_MAX},    {"Min", OX_BINARY_MIN},
             {"Sum", OX_BINARY_ADD}, {"PRelu", OX_BINARY_PRELU}};

bool ox_fast_pair(const char *op_type, enum ox_binary *function)
{
    for (size_t i = 0; i < OX_COUNT(pairs); i++) {
        if (strcmp(pairs[i].name, op_type) == 0) {
            *function = pairs[i].binary;
            return true;
        }
    }
    return false;
}

static void pair_row(const struct ox_row *row, const void *arg)
{
    void (*const *forms)(size_t n, const float *a, const float *b, float *y) = arg;
    enum ox_row_form form = row->step[1] == 0   ? OX_ROW_RIGHT_ONE
                            : row->step[0] == 0 ? OX_ROW_LEFT_ONE
                                                : OX_ROW_BOTH;
    size_t n = row->n;
    float one;
    if (row->step[0] == 0 && row->step[1] == 0) { /* one value all along */
        forms[OX_ROW_BOTH](1, row->in[0], row->in[1], &one);
        for (size_t i = 0; i < n; i++)
            ((float *)row->out)[i] = one;
        return;
    }
    forms[form](n, row->in[0], row->in[1], row->out);
}

/* An input whose memory the result may take: one that is not broadcast. */
static enum ox_status make_result(struct ox_run *r, const struct ox_broadcast *b,
                                  const struct ox_tensor *const *in, struct ox_tensor **out,
                                  struct ox_error *err)
{
    for (size_t i = 0; i < b->n_in; i++) {
        if (in[i]->n == b->n && r->is_last_use && r->is_last_use(r, i))
            return ox_run_out_reuse(r, 0, i, OX_FLOAT32, b->rank, b->dims, out, err);
    }
    return ox_run_out(r, 0, OX_FLOAT32, b->rank, b->dims, out, err);
}

/* Reading and writing some 12 bytes an element costs less than waking a thread below this. */
enum { ALONE = 1 << 17 };

/* Max, Min and Sum take one shape alone before version 8, as their reference says. */
static bool may_differ(const struct ox_run *r)
{
    enum { BROADCAST_SINCE = 8 };
    const char *name = r->node->op_type;
    return r->opset >= BROADCAST_SINCE ||
           (strcmp(name, "Max") != 0 && strcmp(name, "Min") != 0 && strcmp(name, "Sum") != 0);
}

static bool are_one_shape(const struct ox_tensor *a, const struct ox_tensor *b)
{
    return a->rank == b->rank &&
           (a->rank == 0 || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0);
}

enum ox_status ox_fast_binary(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in[2] = {ox_fast_in(r, 0), ox_fast_in(r, 1)};
    enum ox_binary function;
    if (r->n_in != 2 || !in[0] || !in[1] || !ox_fast_pair(r->node->op_type, &function) ||
        (!may_differ(r) && !are_one_shape(in[0], in[1])))
        return OX_UNSUPPORTED;
    struct ox_broadcast b;
    OX_TRY(ox_broadcast_init(&b, r, 2, in, err));
    if (function == OX_BINARY_PRELU && b.n != in[0]->n)
        return OX_UNSUPPORTED;
    struct ox_tensor *out;
    OX_TRY(make_result(r, &b, in, &out, err));
    const void *data[] = {in[0]->data, in[1]->data};
    const size_t size[] = {sizeof(float), sizeof(float)};
    ox_broadcast_run(&b, b.n < ALONE ? NULL : r->env, data, size, out->data, sizeof(float),
                     pair_row, ox_fast_rows()->binary[function]);
    return OX_OK;
}

enum { CUBES = 1 << 11 }; /* that are in the first cache between both steps */

struct cubing {
    const float *x;
    float *y;
};

static void cube(void *arg, size_t from, size_t to)
{
    const struct cubing *c = arg;
    const struct ox_rows *t = ox_fast_rows();
    for (size_t n; from < to; from += n) {
        n = to - from < CUBES ? to - from : CUBES;
        t->unary[OX_UNARY_SQUARE](n, c->x + from, c->y + from, 0, 0);
        t->binary[OX_BINARY_MUL][OX_ROW_BOTH](n, c->y + from, c->x + from, c->y + from);
    }
}

/* e^(y log x) in double, for the positive; special values by the C library. */
static void power_row(const struct ox_row *row, const void *arg)
{
    enum { BLOCK = 256 };
    const float *x = row->in[0], *y = row->in[1];
    float *out = row->out;
    const struct ox_doubles *t = arg;
    double power[BLOCK];
    for (size_t at = 0; at < row->n; at += BLOCK) {
        const size_t n = row->n - at < BLOCK ? row->n - at : BLOCK;
        const float *base = x + at * row->step[0], *exponent = y + at * row->step[1];
        unsigned special = 0;
        for (size_t i = 0; i < n; i++)
            power[i] = (double)base[i * row->step[0]];
        t->unary[OX_UNARY_LOG](n, power, power, 0, 0);
        for (size_t i = 0; i < n; i++) {
            const float b = base[i * row->step[0]], e = exponent[i * row->step[1]];
            special |= !((b > 0) & (b <= FLT_MAX) & (e >= -FLT_MAX) & (e <= FLT_MAX));
            power[i] *= (double)e;
        }
        t->unary[OX_UNARY_EXP](n, power, power, 0, 0);
        for (size_t i = 0; i < n; i++)
            out[at + i] = (float)power[i];
        for (size_t i = 0; special && i < n; i++) {
            const float b = base[i * row->step[0]], e = exponent[i * row->step[1]];
            if (!(b > 0 && b <= FLT_MAX && e >= -FLT_MAX && e <= FLT_MAX))
                out[at + i] = powf(b, e);
        }
    }
}

static enum ox_status run_powers(struct ox_run *r, const struct ox_tensor *const in[2],
                                 struct ox_error *err)
{
    struct ox_broadcast b;
    struct ox_tensor *out;
    const struct ox_doubles *t = ox_doubles(ox_cpu());
    if (!t->unary[OX_UNARY_LOG] || !t->unary[OX_UNARY_EXP])
        return OX_UNSUPPORTED;
    OX_TRY(ox_broadcast_init(&b, r, 2, in, err));
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, b.rank, b.dims, &out, err));
    const void *data[] = {in[0]->data, in[1]->data};
    const size_t size[] = {sizeof(float), sizeof(float)};
    ox_broadcast_run(&b, r->env, data, size, out->data, sizeof(float), power_row, t);
    return OX_OK;
}

struct double_powers {
    const double *x;
    double *y;
    bool cube;
};

static void double_power(void *arg, size_t from, size_t to)
{
    const struct double_powers *j = arg;
    for (size_t i = from; i < to; i++)
        j->y[i] = j->x[i] * j->x[i] * (j->cube ? j->x[i] : 1);
}

/* Squares and cubes. */
static enum ox_status run_double_powers(struct ox_run *r, double p, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    if (x->dtype != OX_FLOAT64 || (p != 2 && p != 3))
        return OX_UNSUPPORTED;
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT64, x->rank, x->dims, &y, err));
    struct double_powers job = {x->data, y->data, p == 3};
    ox_fast_spread(r->env, x->n, CUBES, 1, double_power, &job);
    return OX_OK;
}

enum ox_status ox_fast_pow(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *power = ox_run_in(r, 1), *x = ox_fast_in(r, 0);
    const bool one = power->n == 1 && power->rank <= ox_run_in(r, 0)->rank;
    const double p = one ? ox_tensor_get_double(power, 0) : 0;
    float narrow = (float)p;
    if (!x)
        return one ? run_double_powers(r, p, err) : OX_UNSUPPORTED;
    if (one && p == 2)
        return run_unary(r, OX_UNARY_SQUARE, 0, 0, err);
    if (!one || p != 3) {
        /* Exponents of integers are given as such. */
        const struct ox_tensor as_float = {.dtype = OX_FLOAT32, .n = 1, .data = &narrow};
        if (one && (double)narrow == p)
            power = &as_float;
        return power->dtype == OX_FLOAT32
                   ? run_powers(r, (const struct ox_tensor *const[]){x, power}, err)
                   : OX_UNSUPPORTED;
    }
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, x->rank, x->dims, &y, err));
    struct cubing cubing = {x->data, y->data};
    ox_fast_spread(r->env, x->n, CUBES, 0.5, cube, &cubing);
    return OX_OK;
}
