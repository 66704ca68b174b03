/* Outputs in another form: a function that one side has at its end and the other not, another order of axes, a factor. What is
 * tried needs no run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "parity/expected.h"
#include "parity/relate.h"

/* ---- Functions ----------------------------------------------------------------------------------------------------- */

/* n elements, `step` apart. */
struct line {
    double *at;
    size_t n, step;
};

static void softmax(const struct line *x)
{
    double most = -INFINITY, sum = 0;
    for (size_t i = 0; i < x->n; i++)
        most = fmax(most, x->at[i * x->step]);
    for (size_t i = 0; i < x->n; i++)
        sum += x->at[i * x->step] = exp(x->at[i * x->step] - most);
    for (size_t i = 0; i < x->n; i++)
        x->at[i * x->step] /= sum;
}

static void log_softmax(const struct line *x)
{
    double most = -INFINITY, sum = 0;
    for (size_t i = 0; i < x->n; i++)
        most = fmax(most, x->at[i * x->step]);
    for (size_t i = 0; i < x->n; i++)
        sum += exp(x->at[i * x->step] - most);
    for (size_t i = 0; i < x->n; i++)
        x->at[i * x->step] -= most + log(sum);
}

static void unit_length(const struct line *x)
{
    double sum = 0;
    for (size_t i = 0; i < x->n; i++)
        sum += x->at[i * x->step] * x->at[i * x->step];
    for (size_t i = 0; i < x->n && sum > 0; i++)
        x->at[i * x->step] /= sqrt(sum);
}

static void sigmoid(const struct line *x)
{
    for (size_t i = 0; i < x->n; i++)
        x->at[i * x->step] = 1 / (1 + exp(-x->at[i * x->step]));
}

static void exponential(const struct line *x)
{
    for (size_t i = 0; i < x->n; i++)
        x->at[i * x->step] = exp(x->at[i * x->step]);
}

static void logarithm(const struct line *x)
{
    for (size_t i = 0; i < x->n; i++)
        x->at[i * x->step] = log(x->at[i * x->step]);
}

static const struct function {
    const char *id, *name;
    void (*make)(const struct line *x);
    bool by_axis;
    bool inverse; /* of another one here: tried on one side only */
} functions[] = {
    /* Before softmax: that of a log-softmax equals its exponential. */
    {"output-exp", "exponential", exponential, false, true},
    {"output-log", "logarithm", logarithm, false, true},
    {"output-softmax", "softmax", softmax, true, false},
    {"output-log-softmax", "log-softmax", log_softmax, true, false},
    {"output-sigmoid", "sigmoid", sigmoid, false, false},
    {"output-normalized", "L2-normalized form", unit_length, true, false},
};

/* ---- One output ---------------------------------------------------------------------------------------------------- */

/* What is looked at, and what explains it. */
struct forming {
    struct ox_expecting *e;
    const struct ox_expected_pair *pair;
    const struct ox_tensor *x, *y; /* A's and what is expected */
    struct ox_parity_causes *found;
    struct ox_error *err;
};

static enum ox_status as_doubles(const struct forming *f, const struct ox_tensor *t,
                                 struct ox_tensor **out)
{
    OX_TRY(ox_tensor_new(out, ox_env_budget(f->e->env), OX_FLOAT64, t->rank, t->dims, f->err));
    ox_elements_convert(OX_FLOAT64, (*out)->data, t->dtype, t->data, t->n, false);
    return OX_OK;
}

static bool is_constant(const struct ox_tensor *t)
{
    for (size_t i = 1; i < t->n; i++)
        if (fabs(ox_tensor_get_double(t, i) - ox_tensor_get_double(t, 0)) > 1e-6)
            return false;
    return true;
}

/* Holds a form of A's output against a form of what is expected, in the shape of the latter. Of constants agreement says
 * nothing. */
static enum ox_status hold(const struct forming *f, const struct ox_tensor *x,
                           const struct ox_tensor *y, bool *agrees)
{
    struct ox_tensor *view = NULL;
    struct ox_datum *is = NULL, *expected = NULL;
    struct ox_metrics m;
    enum ox_status status;
    struct ox_error *err = f->err;
    *agrees = false;
    f->e->n_readings++;
    OX_TRY(ox_tensor_view(&view, x, y->rank, y->dims, err));
    OX_TRY_CLEANUP(ox_datum_of_tensor(&is, view, err));
    OX_TRY_CLEANUP(ox_datum_of_tensor(&expected, y, err));
    OX_TRY_CLEANUP(ox_expecting_compare(f->e, f->pair, is, expected, &m, err));
    *agrees = m.agree && (y->n == 1 || !is_constant(y)) &&
              ox_expecting_is_clear(f->pair->max_abs, m.max_abs);
cleanup:
    ox_tensor_release(view);
    ox_datum_release(is);
    ox_datum_release(expected);
    return status;
}

/* What was made of one side against the other. */
static enum ox_status hold_made(const struct forming *f, const struct ox_tensor *made,
                                bool of_expected, bool *agrees)
{
    return of_expected ? hold(f, f->x, made, agrees) : hold(f, made, f->y, agrees);
}

/* Steps of an axis. */
static struct line first_line(const struct ox_tensor *t, unsigned axis)
{
    struct line line = {t->data, (size_t)t->dims[axis], 1};
    for (unsigned k = axis + 1; k < t->rank; k++)
        line.step *= (size_t)t->dims[k];
    return line;
}

static void apply(const struct function *function, struct ox_tensor *t, unsigned axis)
{
    struct line line = {t->data, t->n, 1};
    if (!function->by_axis) {
        function->make(&line);
        return;
    }
    line = first_line(t, axis);
    for (size_t outer = 0; outer < t->n; outer += line.n * line.step)
        for (size_t inner = 0; inner < line.step; inner++) {
            line.at = (double *)t->data + outer + inner;
            function->make(&line);
        }
}

/* A distribution along the axis: softmax was there already. */
static bool is_distribution(const struct ox_tensor *t, unsigned axis)
{
    const struct line line = first_line(t, axis);
    for (size_t outer = 0; outer < t->n; outer += line.n * line.step)
        for (size_t inner = 0; inner < line.step; inner++) {
            double sum = 0;
            for (size_t i = 0; i < line.n; i++) {
                const double v = ox_tensor_get_double(t, outer + inner + i * line.step);
                sum += v >= 0 ? v : NAN;
            }
            if (!(fabs(sum - 1) < 1e-3))
                return false;
        }
    return true;
}

static void tell_function(const struct forming *f, const struct function *function, unsigned axis,
                          bool of_expected)
{
    const bool twice =
        function->make == softmax && is_distribution(of_expected ? f->y : f->x, axis);
    char along[32] = "";
    if (function->by_axis)
        snprintf(along, sizeof along, " along axis %u", axis);
    if (of_expected)
        ox_cause_add(f->found, 90, function->id, "'%.80s' is the %s%s of what is expected%s",
                     f->pair->name, function->name, along,
                     twice ? ", which is one already: A does it twice"
                           : ": A has one more at its end");
    else
        ox_cause_add(f->found, 90, function->id, "what is expected is the %s%s of '%.80s'%s",
                     function->name, along, f->pair->name,
                     twice ? ", which is one already: it was done twice" : ": A leaves it out");
}

/* A function of one side against the other. */
static enum ox_status try_function(const struct forming *f, const struct function *function,
                                   unsigned axis, bool of_expected)
{
    const struct ox_tensor *from = of_expected ? f->y : f->x;
    struct ox_tensor *made = NULL;
    bool agrees = false;
    if (function->by_axis && from->dims[axis] < 2)
        return OX_OK;
    OX_TRY(as_doubles(f, from, &made));
    apply(function, made, axis);
    enum ox_status status = OX_OK;
    if (!is_constant(made))
        status = hold_made(f, made, of_expected, &agrees);
    if (agrees)
        tell_function(f, function, axis, of_expected);
    ox_tensor_release(made);
    return status;
}

static enum ox_status try_functions(const struct forming *f)
{
    if (!ox_tensor_same_dims(f->x, f->y) || !f->x->rank)
        return OX_OK;
    for (size_t i = 0; i < OX_COUNT(functions); i++)
        for (int of_expected = 0; of_expected < (functions[i].inverse ? 1 : 2); of_expected++) {
            const unsigned last = f->x->rank - 1;
            OX_TRY(try_function(f, &functions[i], last, of_expected));
            if (functions[i].by_axis && last > 1)
                OX_TRY(try_function(f, &functions[i], 1, of_expected));
        }
    return OX_OK;
}

/* ---- Places -------------------------------------------------------------------------------------------------------- */

enum { MOST_AXES = 5 };

/* Whether an order moves any axis of more than one element past another. */
static bool moves(const struct ox_tensor *t, const unsigned *perm)
{
    unsigned before = 0;
    for (unsigned k = 0; k < t->rank; k++) {
        if (t->dims[perm[k]] < 2)
            continue;
        if (perm[k] + 1 < before)
            return true;
        before = perm[k] + 1;
    }
    return false;
}

static void print_order(const struct ox_tensor *x, const unsigned *perm, char *text, size_t size)
{
    size_t at = (size_t)snprintf(text, size, "[");
    for (unsigned k = 0; k < x->rank; k++)
        at += (size_t)snprintf(text + at, size - at, "%s%u", k ? "," : "", perm[k]);
    snprintf(text + at, size - at, "]");
}

static enum ox_status try_order(const struct forming *f, const unsigned *perm, bool *agrees)
{
    struct ox_tensor *turned = NULL;
    char order[32], shape[OX_LABEL_SIZE];
    OX_TRY(ox_expected_permute(&turned, f->e->env, f->x, f->x->rank, f->x->dims, perm, f->x->rank,
                               f->x->dims, f->err));
    enum ox_status status = hold(f, turned, f->y, agrees);
    ox_tensor_release(turned);
    print_order(f->x, perm, order, sizeof order);
    if (*agrees)
        ox_cause_add(f->found, 88, "output-transposed",
                     "what is expected is '%.80s' transposed by %s%s, in the shape %s",
                     f->pair->name, order,
                     f->x->rank == 4 && strcmp(order, "[0,2,3,1]") == 0   ? " (channels last)"
                     : f->x->rank == 4 && strcmp(order, "[0,3,1,2]") == 0 ? " (channels first)"
                                                                          : "",
                     ox_tensor_print_dims(shape, sizeof shape, f->y));
    return status;
}

static enum ox_status try_places(const struct forming *f)
{
    unsigned perm[MOST_AXES] = {0, 1, 2, 3, 4};
    char is[OX_LABEL_SIZE], other[OX_LABEL_SIZE];
    bool agrees = false;
    if (f->x->n != f->y->n || f->x->n < 2)
        return OX_OK;
    if (!ox_tensor_same_dims(f->x, f->y)) {
        OX_TRY(hold(f, f->x, f->y, &agrees));
        if (agrees)
            ox_cause_add(f->found, 89, "output-shape",
                         "'%.80s' is %s, what is expected holds the same elements as %s",
                         f->pair->name, ox_tensor_print_dims(is, sizeof is, f->x),
                         ox_tensor_print_dims(other, sizeof other, f->y));
    }
    if (f->x->rank < 2 || f->x->rank > MOST_AXES)
        return OX_OK;
    while (!agrees && ox_next_permutation(perm, f->x->rank))
        if (moves(f->x, perm))
            OX_TRY(try_order(f, perm, &agrees));
    return OX_OK;
}

/* ---- Factors ------------------------------------------------------------------------------------------------------- */

/* y = factor x + offset as the least squares have it: either alone, or both. */
struct fit {
    double factor, offset;
};

static struct fit fit_line(const struct forming *f, bool scales, bool shifts)
{
    double n = (double)f->x->n, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (size_t i = 0; i < f->x->n; i++) {
        const double x = ox_tensor_get_double(f->x, i), y = ox_tensor_get_double(f->y, i);
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
    }
    struct fit fit = {1, 0};
    if (scales)
        fit.factor = shifts ? (n * sxy - sx * sy) / (n * sxx - sx * sx) : sxy / sxx;
    if (shifts)
        fit.offset = (sy - fit.factor * sx) / n;
    return fit;
}

/* "0.00392157 (1/255)" */
static void print_factor(double factor, char *text, size_t size)
{
    const double part = 1 / factor, whole = nearbyint(part);
    if (fabs(whole) > 1 && fabs(part - whole) < 1e-4 * fabs(whole))
        snprintf(text, size, "%.6g (1/%.0f)", factor, whole);
    else
        snprintf(text, size, "%.6g", factor);
}

static enum ox_status try_fit(const struct forming *f, bool scales, bool shifts, bool *agrees)
{
    const struct fit fit = fit_line(f, scales, shifts);
    struct ox_tensor *made = NULL;
    char factor[64], text[160] = "";
    if (!isfinite(fit.factor) || !isfinite(fit.offset) || fit.factor == 0)
        return OX_OK;
    OX_TRY(as_doubles(f, f->x, &made));
    double *to = made->data;
    for (size_t i = 0; i < made->n; i++)
        to[i] = fit.factor * to[i] + fit.offset;
    enum ox_status status = hold(f, made, f->y, agrees);
    ox_tensor_release(made);
    print_factor(fit.factor, factor, sizeof factor);
    if (scales)
        snprintf(text, sizeof text, " times %s", factor);
    if (shifts)
        snprintf(text + strlen(text), sizeof text - strlen(text), " plus %.6g", fit.offset);
    if (*agrees)
        ox_cause_add(f->found, 86, shifts && !scales ? "output-shifted" : "output-scaled",
                     "what is expected is '%.80s'%s in all of %zu elements", f->pair->name, text,
                     f->x->n);
    return status;
}

static enum ox_status try_fits(const struct forming *f)
{
    enum { LEAST = 4, LEAST_OF_BOTH = 8 };
    struct ox_tensor *level = NULL;
    bool agrees = false;
    double sum = 0;
    if (!ox_tensor_same_dims(f->x, f->y) || f->x->n < LEAST)
        return OX_OK;
    /* Where its mean alone would do, any line does. */
    OX_TRY(as_doubles(f, f->y, &level));
    double *to = level->data;
    for (size_t i = 0; i < level->n; i++)
        sum += to[i];
    for (size_t i = 0; i < level->n; i++)
        to[i] = sum / (double)level->n;
    enum ox_status status = hold(f, level, f->y, &agrees);
    ox_tensor_release(level);
    OX_TRY(status);
    if (agrees)
        return OX_OK;
    OX_TRY(try_fit(f, true, false, &agrees));
    if (!agrees)
        OX_TRY(try_fit(f, false, true, &agrees));
    if (!agrees && f->x->n >= LEAST_OF_BOTH)
        OX_TRY(try_fit(f, true, true, &agrees));
    return OX_OK;
}

/* ---- The largest along an axis ------------------------------------------------------------------------------------- */

static enum ox_status make_largest(const struct forming *f, const struct ox_tensor *t,
                                   unsigned axis, const struct ox_tensor *like,
                                   struct ox_tensor **out)
{
    const struct line line = first_line(t, axis);
    const size_t n = line.n, inner = line.step;
    OX_TRY(ox_tensor_new(out, ox_env_budget(f->e->env), OX_INT64, like->rank, like->dims, f->err));
    int64_t *to = (*out)->data;
    for (size_t i = 0; i < like->n; i++) {
        const size_t from = i / inner * n * inner + i % inner;
        size_t best = 0;
        for (size_t k = 1; k < n; k++)
            if (ox_tensor_get_double(t, from + k * inner) >
                ox_tensor_get_double(t, from + best * inner))
                best = k;
        to[i] = (int64_t)best;
    }
    return OX_OK;
}

/* Whether one side is the index of the largest of the other along that axis. */
static enum ox_status try_largest(const struct forming *f, unsigned axis, bool of_expected)
{
    const struct ox_tensor *from = of_expected ? f->y : f->x, *other = of_expected ? f->x : f->y;
    struct ox_tensor *made = NULL;
    bool agrees = false;
    if (axis >= from->rank || from->dims[axis] < 2 || !other->n ||
        from->n != other->n * (size_t)from->dims[axis])
        return OX_OK;
    OX_TRY(make_largest(f, from, axis, other, &made));
    enum ox_status status = hold_made(f, made, of_expected, &agrees);
    ox_tensor_release(made);
    if (agrees && of_expected)
        ox_cause_add(f->found, 87, "output-argmax",
                     "'%.80s' is the argmax along axis %u of what is expected (%zu elements)",
                     f->pair->name, axis, other->n);
    else if (agrees)
        ox_cause_add(f->found, 87, "output-argmax",
                     "what is expected is the argmax along axis %u of '%.80s' (%zu elements)", axis,
                     f->pair->name, other->n);
    return status;
}

static enum ox_status try_forms(const struct forming *f)
{
    OX_TRY(try_functions(f));
    OX_TRY(try_places(f));
    for (int of_expected = 0; of_expected < 2; of_expected++) {
        const unsigned rank = of_expected ? f->y->rank : f->x->rank;
        OX_TRY(try_largest(f, rank - 1, of_expected));
        if (rank > 2)
            OX_TRY(try_largest(f, 1, of_expected));
    }
    return f->found->n ? OX_OK : try_fits(f);
}

/* ---- All ----------------------------------------------------------------------------------------------------------- */

/* What explains this output goes to `found`. */
static enum ox_status form_output(struct ox_expecting *e, const struct ox_expected_pair *pair,
                                  struct ox_parity_causes *found, struct ox_error *err)
{
    const struct ox_tensor *x = ox_datum_get_tensor(e->outputs[pair->output]);
    const struct ox_tensor *y = ox_datum_get_tensor(pair->expected);
    if (!x || !y || x->dtype == OX_STRING || y->dtype == OX_STRING || x->rank > OX_AXIS_RANK ||
        y->rank > OX_AXIS_RANK)
        return OX_OK;
    const struct forming f = {e, pair, x, y, found, err};
    return try_forms(&f);
}

/* Each output that departs must have a form of its own. */
enum ox_status ox_expecting_forms(struct ox_expecting *e, struct ox_error *err)
{
    struct ox_parity_causes found = {.n = 0};
    bool all = true;
    enum ox_status status = OX_OK;
    ox_arena_init(&found.arena, ox_env_budget(e->env));
    for (size_t i = 0; i < e->n_pairs && all && status == OX_OK; i++) {
        const size_t before = found.n;
        if (e->pairs[i].agrees)
            continue;
        status = form_output(e, &e->pairs[i], &found, err);
        all = found.n > before;
    }
    if (status == OX_OK && found.failed)
        status = ox_no_memory(err);
    for (size_t i = 0; i < found.n && all && status == OX_OK; i++) {
        ox_cause_add(e->causes, found.weights[i], found.items[i].id, "%s", found.items[i].text);
        e->n_agree++;
    }
    ox_arena_release(&found.arena);
    free(found.items);
    free(found.weights);
    return status;
}
