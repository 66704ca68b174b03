/* Evidence in the numbers: constants against constants, the value that departs, and how touchy its node is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/forget.h"
#include "parity/causes.h"
#include "parity/relate.h"

enum { LEAST_WEIGHT = 4 }; /* elements that are hardly equal by chance */

/* ---- Constants ----------------------------------------------------------------------------------------------------- */

static void print_shape(char *text, size_t size, const struct ox_tensor *t)
{
    size_t at = (size_t)snprintf(text, size, "%s", ox_dtype_name(t->dtype));
    if (at < size)
        ox_tensor_print_dims(text + at, size - at, t);
}

static bool same_strings(const struct ox_tensor *a, const struct ox_tensor *b)
{
    const struct ox_str *x = a->data, *y = b->data;
    bool same = a->n == b->n;
    for (size_t i = 0; i < a->n && same; i++)
        same = x[i].n == y[i].n && (!x[i].n || memcmp(x[i].p, y[i].p, x[i].n) == 0);
    return same;
}

/* Weights are read piece by piece. */
static bool same_stored(const struct ox_stored *a, const struct ox_stored *b)
{
    return a->place == OX_STORED_RAW && b->place == OX_STORED_RAW && a->dtype == b->dtype &&
           a->rank == b->rank && a->raw_bytes == b->raw_bytes &&
           (!a->rank || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0) &&
           ox_mapping_equal(a->raw, b->raw, a->raw_bytes);
}

static bool same_bytes(const struct ox_tensor *a, const struct ox_tensor *b)
{
    if (a->dtype == OX_STRING && b->dtype == OX_STRING)
        return same_strings(a, b);
    return a->dtype == b->dtype && ox_tensor_same_dims(a, b) &&
           (!a->n || ox_mapping_equal(a->data, b->data, a->n * ox_dtype_size(a->dtype)));
}

static enum ox_status different_constant(struct ox_explaining *e, const char *what,
                                         const struct ox_tensor *x, const struct ox_tensor *y,
                                         struct ox_error *err)
{
    struct ox_datum *a = NULL, *b = NULL;
    struct ox_metrics m;
    enum ox_status status;
    OX_TRY_CLEANUP(ox_datum_of_tensor(&a, x, err));
    OX_TRY_CLEANUP(ox_datum_of_tensor(&b, y, err));
    OX_TRY_CLEANUP(ox_explain_distance(e, a, b, &m, err));
    bool slight = m.max_rel <= 1e-5;
    if (isnan(m.max_abs))
        ox_cause_add(e->causes, 84, "constant", "%s differs: %s", what, m.reason);
    else
        ox_cause_add(e->causes, slight ? 10 : 84, "constant",
                     "%s differs: %s (%llu of %llu elements, largest difference %.6g)", what,
                     m.reason, (unsigned long long)m.n_mismatched, (unsigned long long)m.n_elements,
                     m.max_abs);
cleanup:
    ox_datum_release(a);
    ox_datum_release(b);
    return status;
}

/* The initializer of B that holds those bytes: layers whose weights changed places. */
static enum ox_status find_elsewhere(const struct ox_explaining *e, const struct ox_tensor *x,
                                     const char **name, struct ox_error *err)
{
    const struct ox_graph *graph = e->parity->models[1]->graph;
    *name = NULL;
    for (size_t i = 0; graph && i < graph->n_inits && !*name; i++) {
        const struct ox_stored *stored = graph->inits[i];
        struct ox_tensor *t;
        if (!stored->name || stored->dtype != x->dtype || stored->rank != x->rank ||
            (x->rank && memcmp(stored->dims, x->dims, x->rank * sizeof *x->dims) != 0))
            continue;
        OX_TRY(ox_stored_load(graph->model, stored, &t, err));
        if (same_bytes(t, x))
            *name = stored->name;
        ox_tensor_release(t);
        ox_mapping_forget(stored->raw, stored->raw_bytes);
    }
    return OX_OK;
}

enum ox_status ox_explain_tensors(struct ox_explaining *e, const char *what,
                                  const struct ox_tensor *x, const struct ox_tensor *y,
                                  struct ox_error *err)
{
    struct ox_relation relation = {0};
    bool found = false;
    char id[64], is[160], other[160];
    if (same_bytes(x, y))
        return OX_OK;
    if (x->n == 1 && y->n == 1 && x->dtype != OX_STRING && y->dtype != OX_STRING) {
        double p = ox_tensor_get_double(x, 0), q = ox_tensor_get_double(y, 0);
        if (p != q)
            ox_cause_add(e->causes, 89, "constant", "%s is %.9g in A, %.9g in B", what, p, q);
        return OX_OK;
    }
    const bool strings = x->dtype == OX_STRING || y->dtype == OX_STRING;
    if (!strings)
        OX_TRY(ox_relate(x, y, &found, &relation, err));
    if (found) {
        snprintf(id, sizeof id, "constant-%s", relation.id);
        ox_cause_add(e->causes, strcmp(relation.id, "reshaped") == 0 ? 30 : 89, id, "%s: %s", what,
                     relation.text);
        return OX_OK;
    }
    const char *elsewhere = NULL;
    if (x->n >= LEAST_WEIGHT)
        OX_TRY(find_elsewhere(e, x, &elsewhere, err));
    if (elsewhere) {
        ox_cause_add(e->causes, 89, "constant-elsewhere", "%s: A has here what B has in '%.100s'",
                     what, elsewhere);
        return OX_OK;
    }
    if (x->n == y->n)
        return different_constant(e, what, x, y, err);
    print_shape(is, sizeof is, x);
    print_shape(other, sizeof other, y);
    ox_cause_add(e->causes, 84, "constant", "%s is %s in A, %s in B", what, is, other);
    return OX_OK;
}

static void forget_constant(const struct ox_value *value, struct ox_tensor *t)
{
    ox_tensor_release(t);
    if (value->init)
        ox_mapping_forget(value->init->raw, value->init->raw_bytes);
}

enum ox_status ox_explain_constants(struct ox_explaining *e, const struct ox_node *a,
                                    const struct ox_node *b, struct ox_error *err)
{
    for (size_t i = 0; i < a->n_inputs && i < b->n_inputs; i++) {
        struct ox_tensor *x = NULL, *y = NULL;
        char what[400], of[OX_WHAT_SIZE];
        if (!a->inputs[i] || !b->inputs[i] ||
            (a->inputs[i]->init && b->inputs[i]->init &&
             same_stored(a->inputs[i]->init, b->inputs[i]->init)))
            continue;
        enum ox_status status = ox_explain_constant(e, true, a->inputs[i], &x, err);
        if (status == OX_OK)
            status = ox_explain_constant(e, false, b->inputs[i], &y, err);
        snprintf(what, sizeof what, "constant '%.150s' of %s", b->inputs[i]->name,
                 ox_explain_what(e, b, of));
        if (status == OX_OK && x && y)
            status = ox_explain_tensors(e, what, x, y, err);
        forget_constant(a->inputs[i], x);
        forget_constant(b->inputs[i], y);
        OX_TRY(status);
    }
    return OX_OK;
}

/* ---- The value that departs ---------------------------------------------------------------------------------------- */

struct range {
    double largest;
    size_t nan, inf;
};

static struct range range_of(const struct ox_tensor *t)
{
    struct range r = {0};
    for (size_t i = 0; i < t->n; i++) {
        double v = ox_tensor_get_double(t, i);
        if (isnan(v))
            r.nan++;
        else if (isinf(v))
            r.inf++;
        else
            r.largest = fmax(r.largest, fabs(v));
    }
    return r;
}

static double limit_of(enum ox_dtype dtype)
{
    return dtype == OX_FLOAT16                           ? 65504
           : dtype == OX_FLOAT32 || dtype == OX_BFLOAT16 ? 3.4e38
                                                         : INFINITY;
}

/* NaN or infinity on one side where the other has numbers too large for the type. */
static void compare_ranges(struct ox_explaining *e, const struct ox_tensor *x,
                           const struct ox_tensor *y)
{
    const struct ox_tensor *const sides[2] = {x, y};
    struct range r[2] = {range_of(x), range_of(y)};
    for (int k = 0; k < 2; k++) {
        size_t bad = r[k].nan + r[k].inf;
        const char *name = k ? "B" : "A", *other = k ? "A" : "B";
        if (!bad || r[1 - k].nan + r[1 - k].inf >= bad)
            continue;
        double limit = limit_of(sides[k]->dtype);
        if (r[1 - k].largest > limit * 0.99)
            ox_cause_add(e->causes, 97, "overflow",
                         "%s holds %zu NaN and %zu infinite elements: %s reaches %.6g, the largest "
                         "%s is %.6g",
                         name, r[k].nan, r[k].inf, other, r[1 - k].largest,
                         ox_dtype_name(sides[k]->dtype), limit);
        else
            ox_cause_add(e->causes, 75, "nonfinite", "%s holds %zu NaN and %zu infinite elements",
                         name, r[k].nan, r[k].inf);
    }
    if (r[0].nan && r[0].nan == r[1].nan)
        ox_cause_add(e->causes, 55, "nan-on-both",
                     "both sides hold %zu NaN: --equal-nan lets NaN agree with NaN, "
                     "--trace-nonfinite says where the first arises",
                     r[0].nan);
    if (x->dtype != y->dtype)
        ox_cause_add(e->causes, 40, "element-type", "A computes it in %s, B in %s",
                     ox_dtype_name(x->dtype), ox_dtype_name(y->dtype));
}

/* Values that sit at the ends of what the type or a clip allows. */
static void find_ends(struct ox_explaining *e, const struct ox_tensor *t,
                      const struct ox_tensor *other, const char *side)
{
    double low = INFINITY, high = -INFINITY, reach = 0;
    size_t at_low = 0, at_high = 0;
    for (size_t i = 0; i < t->n; i++) {
        double v = ox_tensor_get_double(t, i);
        low = fmin(low, v);
        high = fmax(high, v);
    }
    for (size_t i = 0; i < t->n; i++) {
        double v = ox_tensor_get_double(t, i), w = ox_tensor_get_double(other, i);
        bool beyond_low = v == low && w < low, beyond_high = v == high && w > high;
        at_low += beyond_low;
        at_high += beyond_high;
        if (beyond_low || beyond_high)
            reach = fmax(reach, fabs(w));
    }
    if (at_low + at_high >= 4 && (at_low + at_high) * 200 >= t->n)
        ox_cause_add(e->causes, 65, "saturation",
                     "%s stops at [%.6g, %.6g]: %zu of %zu elements are at an end where the other "
                     "side goes on to %.6g",
                     side, low, high, at_low + at_high, t->n, reach);
}

/* Codes of a quantizer that rounded what lay near a tie. */
static void find_steps(struct ox_explaining *e, const struct ox_tensor *x,
                       const struct ox_tensor *y)
{
    size_t n = 0;
    if (x->dtype != y->dtype || (x->dtype != OX_UINT8 && x->dtype != OX_INT8))
        return;
    for (size_t i = 0; i < x->n; i++) {
        double steps = fabs(ox_tensor_get_double(x, i) - ox_tensor_get_double(y, i));
        if (steps > 1)
            return;
        n += steps > 0;
    }
    if (n)
        ox_cause_add(e->causes, 70, "requantization",
                     "%zu of %zu codes are one quantization step apart and none more: what was "
                     "rounded lay near a tie",
                     n, x->n);
}

static bool is_near(const struct ox_tensor *t, const struct ox_tensor *in, double (*make)(double))
{
    for (size_t i = 0; i < t->n; i++) {
        double should = make(ox_tensor_get_double(in, i)), is = ox_tensor_get_double(t, i);
        if (!(fabs(is - should) <= 2e-6 * fmax(1, fabs(should))))
            return false;
    }
    return true;
}

static double gelu_tanh(double x)
{
    return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

static double gelu_erf(double x)
{
    return 0.5 * x * (1 + erf(x * 0.7071067811865476));
}

static double gelu_sigmoid(double x)
{
    return x / (1 + exp(-1.702 * x));
}

/* Which form of Gelu each side follows, whatever it is made of. */
static enum ox_status compare_gelu(struct ox_explaining *e, const struct ox_tensor *x,
                                   const struct ox_tensor *y, struct ox_error *err)
{
    static const struct {
        double (*make)(double);
        const char *name;
    } forms[] = {{gelu_erf, "erf"}, {gelu_tanh, "tanh"}, {gelu_sigmoid, "sigmoid"}};
    for (size_t k = 0; k < e->b.n_entries && k < 4; k++) {
        struct ox_datum *in = NULL;
        const char *of[2] = {NULL, NULL};
        if (!e->b.entries[k]->producer)
            continue;
        OX_TRY(ox_explain_fetch(e, false, &e->b.entries[k]->name, 1, &in, err));
        const struct ox_tensor *t = in ? in->tensor : NULL;
        bool fits = t && in->kind == OX_DATUM_TENSOR && t->n == y->n && t->n > 1 &&
                    ox_dtype_is_float(t->dtype);
        for (size_t f = 0; f < OX_COUNT(forms) && fits; f++) {
            of[0] = is_near(x, t, forms[f].make) ? forms[f].name : of[0];
            of[1] = is_near(y, t, forms[f].make) ? forms[f].name : of[1];
        }
        ox_datum_release(in);
        if (of[0] && of[1] && of[0] != of[1]) {
            ox_cause_add(e->causes, 96, "gelu-approximation",
                         "A computes Gelu by its %s form, B by its %s form", of[0], of[1]);
            return OX_OK;
        }
    }
    return OX_OK;
}

enum ox_status ox_explain_values(struct ox_explaining *e, struct ox_error *err)
{
    struct ox_relation relation;
    bool found;
    if (!e->a_out || !e->b_out || e->a_out->kind != OX_DATUM_TENSOR ||
        e->b_out->kind != OX_DATUM_TENSOR)
        return OX_OK;
    const struct ox_tensor *x = e->a_out->tensor, *y = e->b_out->tensor;
    if (x->dtype == OX_STRING || y->dtype == OX_STRING)
        return OX_OK;
    compare_ranges(e, x, y);
    OX_TRY(ox_relate(x, y, &found, &relation, err));
    if (found) {
        char id[64];
        bool strong = strcmp(relation.id, "damaged") != 0 && strcmp(relation.id, "scaled") != 0;
        snprintf(id, sizeof id, "value-%s", relation.id);
        ox_cause_add(e->causes, strong ? 86 : 45, id, "%s", relation.text);
    }
    bool same_shape = x->n == y->n && x->rank == y->rank;
    if (!same_shape)
        return OX_OK;
    if (!found || strcmp(relation.id, "saturation") != 0) {
        find_ends(e, x, y, "A");
        find_ends(e, y, x, "B");
    }
    find_steps(e, x, y);
    return compare_gelu(e, x, y, err);
}

/* ---- Condition ----------------------------------------------------------------------------------------------------- */

struct nudge {
    const struct ox_explaining *e;
    uint64_t state;
};

static double next_nudge(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 63 ? 0x1p-23 : -0x1p-23;
}

/* Moves each element of what enters the region by about one ULP of float32. */
static enum ox_status nudge_value(void *arg, const char *name, struct ox_datum **value,
                                  struct ox_error *err)
{
    struct nudge *n = arg;
    const struct ox_region *region = &n->e->b;
    bool enters = false;
    for (size_t i = 0; i < region->n_entries; i++)
        enters = enters || strcmp(region->entries[i]->name, name) == 0;
    if (!enters || (*value)->kind != OX_DATUM_TENSOR || (*value)->tensor->dtype != OX_FLOAT32)
        return OX_OK;
    const struct ox_tensor *from = (*value)->tensor;
    struct ox_tensor *to;
    struct ox_datum *moved;
    OX_TRY(ox_tensor_new(&to, ox_env_budget(n->e->parity->env), from->dtype, from->rank, from->dims,
                         err));
    const float *x = from->data;
    float *y = to->data;
    for (size_t i = 0; i < from->n; i++)
        y[i] = (float)((double)x[i] * (1 + next_nudge(&n->state)));
    enum ox_status status = ox_datum_of_tensor(&moved, to, err);
    ox_tensor_release(to);
    OX_TRY(status);
    ox_datum_release(*value);
    *value = moved;
    return OX_OK;
}

/* B's value by our kernels; nudge NULL: as it is. */
static enum ox_status compute_value(const struct ox_explaining *e, struct nudge *nudge,
                                    struct ox_datum **out, struct ox_error *err)
{
    const struct ox_run_options options = {.lean = true,
                                           .seed = e->parity->options.seed,
                                           .outputs = &e->pair->b->name,
                                           .n_outputs = 1,
                                           .on_replace = nudge ? nudge_value : NULL,
                                           .replace_arg = nudge};
    struct ox_session *session;
    OX_TRY(ox_session_new(&session, e->parity->models[1], &options, err));
    enum ox_status status = ox_session_run(session, e->b_inputs, out, err);
    ox_session_release(session);
    return status;
}

enum ox_status ox_explain_condition(struct ox_explaining *e, struct ox_error *err)
{
    struct nudge nudge = {e, 12345};
    struct ox_datum *moved = NULL, *still = NULL;
    struct ox_metrics by_nudge, seen;
    enum ox_status status;
    if (!e->b_out || !ox_explain_is_of_model(e, false, e->pair->b->name))
        return OX_OK;
    /* What another engine computed is off ours for other reasons too. */
    if (e->parity->options.recorded[1])
        OX_TRY_CLEANUP(compute_value(e, NULL, &still, err));
    OX_TRY_CLEANUP(compute_value(e, &nudge, &moved, err));
    OX_TRY_CLEANUP(ox_explain_distance(e, moved, still ? still : e->b_out, &by_nudge, err));
    ox_meter_read(e->pair->meter, &seen);
    if (by_nudge.max_abs > 0 && seen.max_abs <= 16 * by_nudge.max_abs)
        ox_cause_add(
            e->causes, 82, "ill-conditioned",
            "moving what comes in by one unit in the last place of float32 moves B's value "
            "by %.3g, and the sides are %.3g apart: another order of the same sums is "
            "enough",
            by_nudge.max_abs, seen.max_abs);
cleanup:
    ox_datum_release(moved);
    ox_datum_release(still);
    return status;
}
