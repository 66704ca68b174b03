/* Gates of com.microsoft: ScaledSiLU GatedAdd GatedRMSNorm LinearAttentionGate. In double, by stretches of rows; rounded on the way
 * only where the operator's formula says so. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/threads.h"
#include "ops/infer.h"
#include "ops/product.h"
#include "ops/real.h"
#include "ops/real_math.h"
#include "ops/rules.h"

enum { STRETCH = 1024 }; /* elements of a task */

/* 1 at a size of 0, so that sizes divide. */
static size_t last_axis(const struct ox_tensor *x)
{
    return x->rank && x->dims[x->rank - 1] > 0 ? (size_t)x->dims[x->rank - 1] : 1;
}

static size_t stretches(size_t n)
{
    return n / STRETCH + (n % STRETCH != 0);
}

static size_t stretch_of(size_t n, size_t task)
{
    return n - task * STRETCH < STRETCH ? n - task * STRETCH : STRETCH;
}

/* ---- ScaledSiLU --------------------------------------------------------------------------------------------------- */

struct silu {
    const struct ox_tensor *x;
    struct ox_tensor *y;
    double scale;
};

static void silu_task(void *arg, size_t task)
{
    const struct silu *j = arg;
    double z[STRETCH], s[STRETCH];
    const size_t n = stretch_of(j->x->n, task);
    ox_real_load(j->x, task * STRETCH, n, z);
    for (size_t i = 0; i < n; i++)
        z[i] *= j->scale;
    ox_real_round(j->x->dtype, z, n);
    for (size_t i = 0; i < n; i++)
        s[i] = ox_sigmoid(z[i]);
    ox_real_round(j->x->dtype, s, n);
    for (size_t i = 0; i < n; i++)
        z[i] *= s[i];
    ox_real_store(j->y, task * STRETCH, n, z);
}

static enum ox_status run_scaled_silu(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *scale = ox_run_in(r, 1);
    struct silu j = {.x = ox_run_in(r, 0)};
    if (scale && scale->rank)
        return ox_run_fail(r, err, OX_INPUT, "scale has rank %u, it is no scalar", scale->rank);
    j.scale = ox_real_scalar(r, 1, (double)ox_run_float(r, "alpha", 1));
    OX_TRY(ox_run_out(r, 0, j.x->dtype, j.x->rank, j.x->dims, &j.y, err));
    ox_parallel(r->env, stretches(j.x->n), silu_task, &j);
    return ox_env_poll(r->env, err);
}

/* ---- GatedAdd ----------------------------------------------------------------------------------------------------- */

struct gated_add {
    const struct ox_tensor *x, *y, *gate;
    const double *gates; /* of rows, where they are projected; NULL */
    struct ox_tensor *out;
    size_t width;
};

/* Elements [from, from + n) of one row in float32, whose product is rounded as it is made. */
static void add_floats(const struct gated_add *j, size_t from, size_t n)
{
    const float *x = (const float *)j->x->data + from, *y = (const float *)j->y->data + from;
    const float gate = ((const float *)j->gate->data)[from / j->width];
    float *out = (float *)j->out->data + from;
    for (size_t i = 0; i < n; i++)
        out[i] = x[i] + y[i] * gate;
}

static void add_row(const struct gated_add *j, size_t from, size_t n)
{
    double x[STRETCH], y[STRETCH], gate;
    ox_real_load(j->x, from, n, x);
    ox_real_load(j->y, from, n, y);
    if (j->gates)
        gate = j->gates[from / j->width];
    else
        ox_real_load(j->gate, from / j->width, 1, &gate);
    for (size_t i = 0; i < n; i++)
        y[i] *= gate;
    ox_real_round(j->x->dtype, y, n);
    for (size_t i = 0; i < n; i++)
        x[i] += y[i];
    ox_real_store(j->out, from, n, x);
}

static void gated_add_task(void *arg, size_t task)
{
    const struct gated_add *j = arg;
    const size_t from = task * STRETCH, end = from + stretch_of(j->x->n, task);
    for (size_t at = from, next; at < end; at = next) {
        const size_t left = j->width - at % j->width;
        next = left < end - at ? at + left : end;
        if (j->x->dtype == OX_FLOAT32)
            add_floats(j, at, next - at);
        else
            add_row(j, at, next - at);
    }
}

static bool same_rows(const struct ox_tensor *x, const struct ox_tensor *gate)
{
    return gate->rank == x->rank &&
           memcmp(gate->dims, x->dims, (x->rank - 1) * sizeof *x->dims) == 0;
}

/* Gates of rows, gate [..., K] by gate_weight [K, 1] through a sigmoid, rounded behind either. */
static enum ox_status project_gates(struct ox_run *r, struct gated_add *j, struct ox_error *err)
{
    const struct ox_tensor *x = j->x, *gate = j->gate, *weight = ox_run_in(r, 3);
    const double *in, *weights;
    if (x->dtype != OX_BFLOAT16 && !r->oracle)
        return ox_run_fail(r, err, OX_UNSUPPORTED, "gate_weight is for bfloat16, not %s",
                           ox_dtype_name(x->dtype));
    if (!same_rows(x, gate) || weight->rank != 2 || weight->dims[1] != 1 ||
        weight->dims[0] != gate->dims[x->rank - 1] || !weight->n)
        return ox_run_fail(r, err, OX_INPUT,
                           "gate and gate_weight are not [rows of X, K] and [K, 1]");
    const size_t rows = gate->n / weight->n;
    double *gates = ox_real_scratch(r, rows, err);
    if (!gates)
        return OX_NO_MEMORY;
    OX_TRY(ox_real_in(r, 2, &in, err));
    OX_TRY(ox_real_in(r, 3, &weights, err));
    for (size_t row = 0; row < rows; row++)
        gates[row] = ox_dot(in + row * weight->n, weights, weight->n);
    ox_real_round(x->dtype, gates, rows);
    for (size_t row = 0; row < rows; row++)
        gates[row] = ox_sigmoid(gates[row]);
    ox_real_round(x->dtype, gates, rows);
    j->gates = gates;
    return OX_OK;
}

static enum ox_status run_gated_add(struct ox_run *r, struct ox_error *err)
{
    struct gated_add j = {.x = ox_run_in(r, 0), .y = ox_run_in(r, 1), .gate = ox_run_in(r, 2)};
    const struct ox_tensor *x = j.x, *gate = j.gate;
    if (!x->rank || !ox_tensor_same_dims(x, j.y))
        return ox_run_fail(r, err, OX_INPUT, "X has rank %u, or Y another shape", x->rank);
    if (ox_run_has(r, 3))
        OX_TRY(project_gates(r, &j, err));
    else if (!same_rows(x, gate) || gate->dims[x->rank - 1] != 1)
        return ox_run_fail(r, err, OX_INPUT, "gate has not the shape of X with a last axis of 1");
    j.width = last_axis(x);
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, x->dims, &j.out, err));
    ox_parallel(r->env, stretches(x->n), gated_add_task, &j);
    return ox_env_poll(r->env, err);
}

/* ---- GatedRMSNorm ------------------------------------------------------------------------------------------------- */

struct gated_norm {
    const struct ox_tensor *x, *gate;
    struct ox_tensor *y;
    const double *scale;
    size_t width, at_once; /* rows of a task */
    double epsilon;
    bool silu; /* else a plain sigmoid */
    struct ox_task_state state;
};

static void gated_norm_task(void *arg, size_t task)
{
    struct gated_norm *j = arg;
    const size_t width = j->width, rows = j->x->n / width;
    double *x = ox_task_alloc(&j->state, 2 * width, sizeof *x), *gate = x + width;
    for (size_t row = task * j->at_once; x && row < rows && row < (task + 1) * j->at_once; row++) {
        double squares = 0;
        ox_real_load(j->x, row * width, width, x);
        ox_real_load(j->gate, row * width, width, gate);
        for (size_t i = 0; i < width; i++)
            squares += x[i] * x[i];
        const double inverse = 1 / sqrt(squares / (double)width + j->epsilon);
        for (size_t i = 0; i < width; i++)
            x[i] = x[i] * inverse * j->scale[i] * (j->silu ? gate[i] : 1) * ox_sigmoid(gate[i]);
        ox_real_store(j->y, row * width, width, x);
    }
    if (x)
        ox_task_free(&j->state, x, 2 * width, sizeof *x);
}

static enum ox_status read_activation(const struct ox_run *r, bool *silu, struct ox_error *err)
{
    const char *name = ox_run_string(r, "activation");
    *silu = !name || !strcmp(name, "silu") || !strcmp(name, "swish");
    if (*silu || !strcmp(name, "sigmoid"))
        return OX_OK;
    return ox_run_fail(r, err, OX_INPUT, "activation '%s' is none of silu, swish, sigmoid", name);
}

static enum ox_status run_gated_norm(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *scale = ox_run_in(r, 1);
    struct gated_norm j = {.x = x,
                           .gate = ox_run_in(r, 2),
                           .width = scale->n,
                           .epsilon = (double)ox_run_float(r, "epsilon", 1e-5F)};
    OX_TRY(read_activation(r, &j.silu, err));
    if (!x->rank || !ox_tensor_same_dims(x, j.gate))
        return ox_run_fail(r, err, OX_INPUT, "X has rank %u, or gate another shape", x->rank);
    if (!j.width || (size_t)x->dims[x->rank - 1] % j.width)
        return ox_run_fail(r, err, OX_INPUT, "%zu scales do not divide a last axis of %" PRId64,
                           j.width, x->dims[x->rank - 1]);
    OX_TRY(ox_real_in(r, 1, &j.scale, err));
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, x->dims, &j.y, err));
    j.state.budget = ox_env_budget(r->env);
    j.at_once = STRETCH / j.width + 1;
    ox_parallel(r->env, x->n ? (x->n / j.width - 1) / j.at_once + 1 : 0, gated_norm_task, &j);
    OX_TRY(ox_env_poll(r->env, err));
    return j.state.no_memory ? ox_run_fail(r, err, OX_NO_MEMORY, "out of memory") : OX_OK;
}

/* ---- LinearAttentionGate ------------------------------------------------------------------------------------------ */

struct linear_gate {
    const struct ox_tensor *a, *b;
    struct ox_tensor *decay, *beta; /* beta: NULL when it is not asked for */
    const double *bias, *scale;     /* a head */
    size_t heads;
};

static void linear_gate_task(void *arg, size_t task)
{
    const struct linear_gate *j = arg;
    double x[STRETCH];
    const size_t from = task * STRETCH, n = stretch_of(j->a->n, task);
    ox_real_load(j->a, from, n, x);
    for (size_t i = 0, head = from % j->heads; i < n; i++, head++) {
        head = head < j->heads ? head : 0;
        x[i] = j->scale[head] * ox_softplus(x[i] + j->bias[head]);
    }
    ox_real_store(j->decay, from, n, x);
    if (!j->beta)
        return;
    ox_real_load(j->b, from, n, x);
    for (size_t i = 0; i < n; i++)
        x[i] = ox_sigmoid(x[i]);
    ox_real_store(j->beta, from, n, x);
}

static enum ox_status run_linear_gate(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *a = ox_run_in(r, 0), *bias = ox_run_in(r, 1), *scale = ox_run_in(r, 2);
    struct linear_gate j = {.a = a, .b = ox_run_in(r, 3), .heads = last_axis(a)};
    if (!a->rank || bias->n != (size_t)a->dims[a->rank - 1] || scale->n != bias->n)
        return ox_run_fail(r, err, OX_INPUT,
                           "dt_bias has %zu elements, decay_scale %zu: not one a head", bias->n,
                           scale->n);
    if (j.b && !ox_tensor_same_dims(a, j.b))
        return ox_run_fail(r, err, OX_INPUT, "b does not have the shape of a");
    if (!j.b && ox_run_wants(r, 1))
        return ox_run_fail(r, err, OX_INPUT, "beta is asked for, and there is no b");
    OX_TRY(ox_real_in(r, 1, &j.bias, err));
    OX_TRY(ox_real_in(r, 2, &j.scale, err));
    OX_TRY(ox_run_out(r, 0, a->dtype, a->rank, a->dims, &j.decay, err));
    if (ox_run_wants(r, 1))
        OX_TRY(ox_run_out(r, 1, a->dtype, a->rank, a->dims, &j.beta, err));
    ox_parallel(r->env, stretches(a->n), linear_gate_task, &j);
    return ox_env_poll(r->env, err);
}

static void infer_linear_gate(struct ox_infer *c)
{
    ox_infer_same(c, 0, 0);
    if (ox_infer_n_out(c) > 1)
        ox_infer_same(c, 1, 0);
}

#define MS "com.microsoft"

const struct ox_op ox_ops_gates[] = {
    {MS, "GatedAdd", 1, OX_OP_HALF | OX_OP_ROUNDED, .infer = ox_rule_same, .run = run_gated_add},
    {MS, "GatedRMSNorm", 1, OX_OP_HALF, .infer = ox_rule_same, .run = run_gated_norm},
    {MS, "LinearAttentionGate", 1, OX_OP_HALF, .infer = infer_linear_gate, .run = run_linear_gate},
    {MS, "ScaledSiLU", 1, OX_OP_HALF | OX_OP_ROUNDED, .infer = ox_rule_same,
     .run = run_scaled_silu},
    {0}};
