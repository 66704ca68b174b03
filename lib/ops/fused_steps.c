/* Elementwise: see fused_steps.h. Each step is a row kernel's call on a stretch that stays in L1, so that the bits are those of the
 * operators run one by one. */
#include "ops/fused_steps.h"

#include <string.h>

#include "ops/fast.h"
#include "ops/rules.h"

enum { STRETCH = 2048 };

/* The operand of element i is data[i / inner % count]. */
struct step {
    void (*unary)(size_t n, const float *x, float *y, float a, float b);
    void (*const *pair)(size_t n, const float *a, const float *b, float *y);
    float a, b;
    const float *data;
    size_t inner, count;
    bool reversed; /* the chain's value is the right one */
};

struct job {
    const float *x;
    float *y;
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

static void run_stretches(void *arg, size_t first, size_t last)
{
    const struct job *job = arg;
    float work[STRETCH];
    for (size_t i = first; i < last; i++) {
        const size_t from = i * STRETCH, n = job->n - from < STRETCH ? job->n - from : STRETCH;
        const float *x = job->x + from;
        for (size_t k = 0; k < job->n_steps; k++) {
            const struct step *s = &job->step[k];
            /* The result may lie where input 0 does: it is written last. */
            float *y = k + 1 == job->n_steps ? job->y + from : work;
            if (s->unary)
                s->unary(n, x, y, s->a, s->b);
            else
                apply_pair(s, from, n, x, y);
            x = work;
        }
    }
}

/* How an operand repeats in the chain's shape: ones, then dimensions that are the same, then ones. */
static bool find_repeats(const struct ox_tensor *x, const struct ox_tensor *other, struct step *s)
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

static enum ox_status read_step(struct ox_run *r, const int64_t *field, const struct ox_tensor *x,
                                struct step *s, struct ox_error *err)
{
    const struct ox_rows *t = ox_fast_rows();
    const int64_t function = field[OX_STEP_FUNCTION];
    *s = (struct step){.reversed = field[OX_STEP_KIND] == OX_STEP_RIGHT};
    if (field[OX_STEP_KIND] == OX_STEP_UNARY && function >= 0 && function < OX_UNARIES) {
        s->unary = t->unary[function];
        s->a = float_of(field[OX_STEP_A]);
        s->b = float_of(field[OX_STEP_B]);
        return OX_OK;
    }
    const struct ox_tensor *other = field[OX_STEP_A] > 0 && field[OX_STEP_A] < (int64_t)r->n_in
                                        ? ox_fast_in(r, (size_t)field[OX_STEP_A])
                                        : NULL;
    if (!other || function < 0 || function >= OX_BINARIES || !find_repeats(x, other, s))
        return ox_run_fail(r, err, OX_INPUT, "the operands do not fit each other");
    s->pair = t->binary[function];
    return OX_OK;
}

static enum ox_status run_steps(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_fast_in(r, 0);
    const struct ox_attr *steps = ox_node_attr(r->node, "steps");
    struct ox_tensor *y;
    if (!x || !steps || steps->type != OX_ATTR_INTS || !steps->n || steps->n % OX_STEP_FIELDS ||
        steps->n > OX_MOST_STEPS * OX_STEP_FIELDS)
        return ox_run_fail(r, err, OX_INPUT, "the data is no float32, or there are no steps");
    struct job job = {.x = x->data, .n = x->n, .n_steps = steps->n / OX_STEP_FIELDS};
    for (size_t k = 0; x->n && k < job.n_steps; k++)
        OX_TRY(read_step(r, steps->ints + k * OX_STEP_FIELDS, x, &job.step[k], err));
    OX_TRY(ox_run_out_reuse(r, 0, 0, OX_FLOAT32, x->rank, x->dims, &y, err));
    job.y = y->data;
    if (x->n)
        ox_fast_spread(r->env, (x->n - 1) / STRETCH + 1, 4, STRETCH * 0.3 * (double)job.n_steps,
                       run_stretches, &job);
    return ox_env_poll(r->env, err);
}

const struct ox_op ox_ops_fused_steps[] = {
    {OX_OWN_DOMAIN, "Elementwise", 1, .infer = ox_rule_same, .run = run_steps}, {0}};
