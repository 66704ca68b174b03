/* ai.onnx.preview.training: Adagrad, Adam, Momentum. All formulas run in double, element by element. */
#include <math.h>
#include <string.h>

#include "ops/infer.h"
#include "ops/real.h"

enum method { ADAGRAD, ADAM, MOMENTUM, NESTEROV };

/* Inputs after R and T: n tensors, n gradients, then `states` times n accumulators. Outputs: n tensors, then the accumulators. */
static void infer_groups(struct ox_infer *c, size_t groups)
{
    size_t n = ox_infer_n_in(c) > 2 ? (ox_infer_n_in(c) - 2) / groups : 0;
    for (size_t i = 0; i < ox_infer_n_out(c); i++)
        if (2 + (i < n ? i : i + n) < ox_infer_n_in(c))
            ox_infer_same(c, i, 2 + (i < n ? i : i + n));
}

static void infer_three(struct ox_infer *c)
{
    infer_groups(c, 3);
}

static void infer_four(struct ox_infer *c)
{
    infer_groups(c, 4);
}

struct step {
    enum method method;
    double rate, norm, norm_post, alpha, beta, epsilon;
    bool first;
};

static void advance(const struct step *s, size_t n, double *x, const double *gradient, double *v,
                    double *h)
{
    for (size_t i = 0; i < n; i++) {
        double g = s->norm * x[i] + gradient[i];
        switch (s->method) {
        case ADAGRAD:
            v[i] += g * g;
            x[i] -= s->rate * g / (sqrt(v[i]) + s->epsilon);
            break;
        case ADAM:
            v[i] = s->alpha * v[i] + (1 - s->alpha) * g;
            h[i] = s->beta * h[i] + (1 - s->beta) * g * g;
            x[i] -= s->rate * (v[i] / (sqrt(h[i]) + s->epsilon));
            x[i] *= 1 - s->norm_post;
            break;
        case MOMENTUM:
        case NESTEROV:
            v[i] = s->alpha * v[i] + (s->first ? 1 : s->beta) * g;
            x[i] -= s->rate * (s->method == NESTEROV ? g + s->alpha * v[i] : v[i]);
            break;
        }
    }
}

static double *copy_in(struct ox_run *r, size_t i, struct ox_error *err)
{
    const struct ox_tensor *t = ox_run_in(r, i);
    double *out = ox_real_scratch(r, t->n, err);
    if (out)
        ox_real_load(t, 0, t->n, out);
    return out;
}

static enum ox_status run_step(struct ox_run *r, const struct step *s, struct ox_error *err)
{
    size_t groups = s->method == ADAM ? 4 : 3, n = r->n_in > 2 ? (r->n_in - 2) / groups : 0;
    if (r->n_in < 3 || (r->n_in - 2) % groups != 0 || r->n_out > n * (groups - 1))
        return ox_run_fail(r, err, OX_INPUT, "%zu inputs and %zu outputs: not sets of %zu", r->n_in,
                           r->n_out, groups);
    for (size_t i = 0; i < n; i++) {
        const struct ox_tensor *x = ox_run_in(r, 2 + i);
        double *part[4] = {0};
        for (size_t g = 0; g < groups; g++) {
            const struct ox_tensor *own = ox_run_in(r, 2 + g * n + i);
            if (!own || own->rank != x->rank ||
                memcmp(own->dims, x->dims, x->rank * sizeof *x->dims) != 0)
                return ox_run_fail(r, err, OX_INPUT,
                                   "input %zu has not the shape of the tensor it belongs to",
                                   2 + g * n + i);
            part[g] = copy_in(r, 2 + g * n + i, err);
            if (!part[g])
                return OX_NO_MEMORY;
        }
        advance(s, x->n, part[0], part[1], part[2], part[3]);
        for (size_t g = 0; g < groups; g++) {
            size_t out = (g ? g - 1 : 0) * n + i;
            if (g != 1 && ox_run_wants(r, out))
                OX_TRY(ox_real_out(r, out, x->dtype, x->rank, x->dims, part[g], err));
        }
    }
    return OX_OK;
}

static enum ox_status read_step(struct ox_run *r, struct step *s, struct ox_error *err)
{
    if (r->n_in < 2 || !ox_run_has(r, 0) || !ox_run_has(r, 1) || ox_run_in(r, 0)->n != 1 ||
        ox_run_in(r, 1)->n != 1)
        return ox_run_fail(r, err, OX_INPUT, "learning rate or update count is no scalar");
    s->rate = ox_real_scalar(r, 0, 0);
    s->norm = (double)ox_run_float(r, "norm_coefficient", 0);
    s->first = ox_tensor_get_int(ox_run_in(r, 1), 0) <= 0;
    return OX_OK;
}

static enum ox_status run_adagrad(struct ox_run *r, struct ox_error *err)
{
    struct step s = {.method = ADAGRAD};
    OX_TRY(read_step(r, &s, err));
    double count = (double)ox_tensor_get_int(ox_run_in(r, 1), 0);
    s.rate /= 1 + count * (double)ox_run_float(r, "decay_factor", 0);
    s.epsilon = (double)ox_run_float(r, "epsilon", 1e-6f);
    return run_step(r, &s, err);
}

static enum ox_status run_adam(struct ox_run *r, struct ox_error *err)
{
    struct step s = {.method = ADAM};
    OX_TRY(read_step(r, &s, err));
    s.alpha = (double)ox_run_float(r, "alpha", 0.9f);
    s.beta = (double)ox_run_float(r, "beta", 0.999f);
    s.epsilon = (double)ox_run_float(r, "epsilon", 1e-6f);
    s.norm_post = (double)ox_run_float(r, "norm_coefficient_post", 0);
    double count = (double)ox_tensor_get_int(ox_run_in(r, 1), 0);
    if (!s.first)
        s.rate *= sqrt(1 - pow(s.beta, count)) / (1 - pow(s.alpha, count));
    return run_step(r, &s, err);
}

static enum ox_status run_momentum(struct ox_run *r, struct ox_error *err)
{
    struct step s = {.method = MOMENTUM};
    OX_TRY(read_step(r, &s, err));
    const char *mode = ox_run_string(r, "mode");
    if (mode && strcmp(mode, "nesterov") == 0)
        s.method = NESTEROV;
    else if (!mode || strcmp(mode, "standard") != 0)
        return ox_run_fail(r, err, OX_INPUT, "mode '%.40s' is unknown", mode ? mode : "");
    s.alpha = (double)ox_run_float(r, "alpha", 0);
    s.beta = (double)ox_run_float(r, "beta", 0);
    return run_step(r, &s, err);
}

#define TRAINING "ai.onnx.preview.training"

const struct ox_op ox_ops_training[] = {
    {TRAINING, "Adagrad", 1, .infer = infer_three, .run = run_adagrad},
    {TRAINING, "Adam", 1, .infer = infer_four, .run = run_adam},
    {TRAINING, "Momentum", 1, .infer = infer_three, .run = run_momentum},
    {0}};
