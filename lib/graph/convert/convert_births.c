/* Operators that the older version does not have, by those that it has. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "graph/convert/convert_adapters.h"
#include "ops/move.h"

/* ---- Renamed ------------------------------------------------------------------------------------------------------ */

bool ox_birth_scatter(struct ox_adapt *c)
{
    if (c->next < 9)
        return ox_adapt_block(c, "there is nothing like it in opset %lld", (long long)c->next);
    c->from = c->to = ox_schema_find("", "Scatter", c->next);
    return ox_down_axis(c) && ox_adapt_set_op(c, "Scatter");
}

bool ox_gone_scatter(struct ox_adapt *c)
{
    c->from = c->to = ox_schema_find("", "ScatterElements", c->next);
    return ox_adapt_set_op(c, "ScatterElements");
}

/* ---- Shapes and types --------------------------------------------------------------------------------------------- */

bool ox_birth_shape_part(struct ox_adapt *c)
{
    int64_t start, end;
    if (!ox_adapt_int(c, "start", 0, &start) || !ox_adapt_int(c, "end", INT64_MAX, &end))
        return false;
    ox_adapt_drop(c, "start");
    ox_adapt_drop(c, "end");
    if (start == 0 && end == INT64_MAX)
        return true;
    /* Slice clamps as Shape does; an end before the start is empty in both. */
    return ox_adapt_replace(c,
                            "(x) => (y) { s = Shape(x) b = Constant<value = int64[1] {%lld}>() "
                            "e = Constant<value = int64[1] {%lld}>() y = Slice(s, b, e) }",
                            (long long)start, (long long)end);
}

bool ox_birth_cast_like(struct ox_adapt *c)
{
    enum ox_dtype dtype;
    if (!ox_adapt_need_dtype(c, 1, &dtype) || !ox_adapt_set_op(c, "Cast"))
        return false;
    ox_adapt_cut_inputs(c, 1);
    ox_adapt_drop(c, "saturate");
    ox_adapt_drop(c, "round_mode");
    c->from = c->to = ox_schema_find("", "Cast", c->next);
    return ox_adapt_set_int(c, "to", dtype);
}

bool ox_birth_constant_of_shape(struct ox_adapt *c)
{
    const struct ox_attr *attr = ox_node_attr(c->node, "value");
    struct ox_tensor *tensor = NULL, *scalar = NULL;
    if (c->next < 8)
        return ox_adapt_block(c, "there is nothing like it in opset %lld", (long long)c->next);
    if (attr && (attr->ref || attr->type != OX_ATTR_TENSOR || !attr->n))
        return ox_adapt_block(c, "attribute 'value' is a parameter of the function");
    struct ox_value *value = NULL;
    if (attr) {
        c->status = ox_stored_load(c->model, attr->tensor, &tensor, c->err);
        if (c->status == OX_OK)
            c->status = ox_tensor_view(&scalar, tensor, 0, NULL, c->err);
        if (c->status == OX_OK)
            value = ox_adapt_const(c, scalar);
        ox_tensor_release(scalar);
        ox_tensor_release(tensor);
    } else {
        value = ox_adapt_const_number(c, OX_FLOAT32, 0, 0);
    }
    ox_adapt_drop(c, "value");
    c->from = c->to = ox_schema_find("", "Expand", c->next);
    return value && ox_adapt_set_op(c, "Expand") && ox_adapt_set_input(c, 1, c->node->inputs[0]) &&
           ox_adapt_set_input(c, 0, value);
}

bool ox_birth_eye_like(struct ox_adapt *c)
{
    int64_t dims[OX_ADAPT_RANK], k, type;
    enum ox_dtype dtype = ox_adapt_dtype(c, ox_adapt_input(c, 0));
    if (!ox_adapt_int(c, "k", 0, &k) || !ox_adapt_int(c, "dtype", dtype, &type))
        return false;
    if (!ox_adapt_dims(c, ox_adapt_input(c, 0), dims) ||
        ox_adapt_rank(c, ox_adapt_input(c, 0)) != 2 || type <= 0 || type >= OX_N_DTYPES ||
        type == OX_STRING)
        return ox_adapt_block(c, "opset %lld has nothing like it, and sizes are not known",
                              (long long)c->next);
    struct ox_tensor *wide, *tensor = NULL;
    c->status = ox_tensor_new(&wide, ox_env_budget(c->model->env), OX_FLOAT64, 2, dims, c->err);
    if (c->status != OX_OK)
        return false;
    for (int64_t i = 0; i < dims[0]; i++) {
        for (int64_t j = 0; j < dims[1]; j++)
            ((double *)wide->data)[i * dims[1] + j] = j - i == k;
    }
    c->status = ox_tensor_convert(&tensor, ox_env_budget(c->model->env), wide, (enum ox_dtype)type,
                                  true, c->err);
    ox_tensor_release(wide);
    ox_adapt_drop(c, "k");
    ox_adapt_drop(c, "dtype");
    ox_adapt_cut_inputs(c, 0);
    c->from = c->to = ox_schema_find("", "Constant", c->next);
    bool good = c->status == OX_OK && ox_adapt_set_op(c, "Constant") &&
                (ox_node_set_tensor(c->node, "value", tensor) || ox_adapt_no_memory(c));
    ox_tensor_release(tensor);
    return good;
}

/* A tensor of one value. NULL: it is blocked, or c->status says why. */
static struct ox_tensor *filled(struct ox_adapt *c, enum ox_dtype dtype, unsigned rank,
                                const int64_t *dims, const void *element)
{
    struct ox_tensor *tensor;
    for (unsigned i = 0; i < rank; i++)
        if (dims[i] < 0) {
            ox_adapt_block(c, "the shape that it is given holds %lld", (long long)dims[i]);
            return NULL;
        }
    c->status = ox_tensor_new(&tensor, ox_env_budget(c->model->env), dtype, rank, dims, c->err);
    if (c->status != OX_OK)
        return NULL;
    ox_move_fill(tensor->data, tensor->n, ox_dtype_size(dtype), element);
    return tensor;
}

/* One element, given that shape, is a constant. */
static bool expand_element(struct ox_adapt *c, const struct ox_tensor *element, size_t n,
                           const int64_t *shape)
{
    int64_t dims[OX_ADAPT_RANK];
    unsigned rank = n > element->rank ? (unsigned)n : element->rank;
    for (unsigned i = 0; i < rank; i++)
        dims[i] = i + n < rank ? 1 : shape[i + n - rank];
    struct ox_tensor *all = filled(c, element->dtype, rank, dims, element->data);
    if (!all)
        return false;
    ox_adapt_cut_inputs(c, 0);
    c->from = c->to = ox_schema_find("", "Constant", c->next);
    bool good = ox_adapt_set_op(c, "Constant") &&
                (ox_node_set_tensor(c->node, "value", all) || ox_adapt_no_memory(c));
    ox_tensor_release(all);
    return good && ox_down_constant_init(c);
}

/* All ones of a type that Mul takes. */
static struct ox_value *ones_of(struct ox_adapt *c, enum ox_dtype dtype, size_t n,
                                const int64_t *shape)
{
    struct ox_tensor *number, *one, *ones = NULL;
    c->status = ox_tensor_new(&number, ox_env_budget(c->model->env), OX_FLOAT64, 0, NULL, c->err);
    if (c->status != OX_OK)
        return NULL;
    *(double *)number->data = 1;
    c->status = ox_tensor_convert(&one, ox_env_budget(c->model->env), number, dtype, true, c->err);
    ox_tensor_release(number);
    if (c->status != OX_OK)
        return NULL;
    ones = filled(c, dtype, (unsigned)n, shape, one->data);
    struct ox_value *value = ones ? ox_adapt_const(c, ones) : NULL;
    ox_tensor_release(one);
    ox_tensor_release(ones);
    return value;
}

bool ox_birth_expand(struct ox_adapt *c)
{
    int64_t shape[OX_ADAPT_RANK];
    size_t n;
    enum ox_dtype dtype;
    if (!ox_adapt_known_ints(c, 1, shape, &n) || !ox_adapt_need_dtype(c, 0, &dtype))
        return false;
    const struct ox_tensor *element = ox_adapt_known(c, ox_adapt_input(c, 0));
    if (element && element->n == 1 && element->dtype != OX_STRING && element->rank <= OX_ADAPT_RANK)
        return expand_element(c, element, n, shape);
    const struct ox_schema *mul = ox_schema_find("", "Mul", c->next);
    if (!ox_type_set_has(mul->inputs[0].allowed, 't', dtype) || c->next < 7)
        return ox_adapt_block(c, "opset %lld has nothing like it for %s", (long long)c->next,
                              ox_dtype_name(dtype));
    struct ox_value *value = ones_of(c, dtype, n, shape);
    c->from = c->to = mul;
    return value && ox_adapt_set_op(c, "Mul") && ox_adapt_set_input(c, 1, value);
}

/* ---- Activations -------------------------------------------------------------------------------------------------- */

bool ox_birth_celu(struct ox_adapt *c)
{
    float alpha;
    if (!ox_adapt_float(c, "alpha", 1, &alpha))
        return false;
    return ox_adapt_replace(c,
                            "(x) => (y) { a = Constant<value = float {%.9g}>() d = Div(x, a) "
                            "e = Elu(d) y = Mul(e, a) }",
                            (double)alpha);
}

bool ox_birth_gelu(struct ox_adapt *c)
{
    enum ox_dtype dtype;
    if (!ox_adapt_need_dtype(c, 0, &dtype))
        return false;
    if (ox_adapt_is(c, "approximate", "tanh"))
        return ox_adapt_replace(
            c,
            "(x) => (y) { hf = Constant<value = float {0.5}>() h = Cast<to = %d>(hf) "
            "of = Constant<value = float {1}>() o = Cast<to = %d>(of) "
            "af = Constant<value = float {0.79788456080286535588}>() a = Cast<to = %d>(af) "
            "bf = Constant<value = float {0.044715}>() b = Cast<to = %d>(bf) "
            "x2 = Mul(x, x) x3 = Mul(x2, x) bx = Mul(x3, b) s = Add(x, bx) t = Mul(s, a) "
            "th = Tanh(t) p = Add(th, o) q = Mul(x, p) y = Mul(q, h) }",
            dtype, dtype, dtype, dtype);
    return ox_adapt_replace(
        c,
        "(x) => (y) { hf = Constant<value = float {0.5}>() h = Cast<to = %d>(hf) "
        "of = Constant<value = float {1}>() o = Cast<to = %d>(of) "
        "rf = Constant<value = float {1.41421356237309504880}>() r = Cast<to = %d>(rf) "
        "d = Div(x, r) e = Erf(d) p = Add(e, o) q = Mul(x, p) y = Mul(q, h) }",
        dtype, dtype, dtype);
}

bool ox_birth_thresholded_relu(struct ox_adapt *c)
{
    float alpha;
    enum ox_dtype dtype;
    if (!ox_adapt_float(c, "alpha", 1, &alpha) || !ox_adapt_need_dtype(c, 0, &dtype))
        return false;
    return ox_adapt_replace(
        c,
        "(x) => (y) { af = Constant<value = float {%.9g}>() a = Cast<to = %d>(af) "
        "g = Greater(x, a) m = Cast<to = %d>(g) y = Mul(x, m) }",
        (double)alpha, dtype, dtype);
}

/* Of floats; what is between the thresholds is times 0. */
bool ox_birth_shrink(struct ox_adapt *c)
{
    float lambda, bias;
    enum ox_dtype dtype;
    if (!ox_adapt_float(c, "lambd", 0.5f, &lambda) || !ox_adapt_float(c, "bias", 0, &bias) ||
        !ox_adapt_need_dtype(c, 0, &dtype))
        return false;
    if (!ox_dtype_is_float(dtype))
        return ox_adapt_block(c, "opset %lld has nothing like it for integers", (long long)c->next);
    return ox_adapt_replace(
        c,
        "(x) => (y) { lf = Constant<value = float {%.9g}>() l = Cast<to = %d>(lf) nl = Neg(l) "
        "bf = Constant<value = float {%.9g}>() b = Cast<to = %d>(bf) g = Greater(x, l) "
        "s = Less(x, nl) gf = Cast<to = %d>(g) sf = Cast<to = %d>(s) d = Sub(x, b) u = Add(x, b) "
        "p = Mul(d, gf) q = Mul(u, sf) y = Add(p, q) }",
        (double)lambda, dtype, (double)bias, dtype, dtype, dtype);
}

bool ox_birth_trigonometry(struct ox_adapt *c)
{
    static const char half[] = "h = Constant<value = float {0.5}>() ";
    static const char one[] = "o = Constant<value = float {1}>() ";
    const char *name = c->node->op_type;
    if (ox_adapt_dtype(c, ox_adapt_input(c, 0)) != OX_FLOAT32)
        return ox_adapt_block(c, "opset %lld has nothing like it for this type",
                              (long long)c->next);
    if (strcmp(name, "Sinh") == 0)
        return ox_adapt_replace(c,
                                "(x) => (y) { %s p = Exp(x) n = Neg(x) m = Exp(n) d = Sub(p, m) "
                                "y = Mul(d, h) }",
                                half);
    if (strcmp(name, "Cosh") == 0)
        return ox_adapt_replace(c,
                                "(x) => (y) { %s p = Exp(x) n = Neg(x) m = Exp(n) d = Add(p, m) "
                                "y = Mul(d, h) }",
                                half);
    if (strcmp(name, "Acosh") == 0)
        return ox_adapt_replace(c,
                                "(x) => (y) { %s q = Mul(x, x) r = Sub(q, o) s = Sqrt(r) "
                                "t = Add(x, s) y = Log(t) }",
                                one);
    if (strcmp(name, "Atanh") == 0)
        return ox_adapt_replace(c,
                                "(x) => (y) { %s %s p = Add(o, x) m = Sub(o, x) q = Div(p, m) "
                                "l = Log(q) y = Mul(l, h) }",
                                half, one);
    /* Asinh of the absolute value, so that nothing cancels, with the sign put back. */
    return ox_adapt_replace(c,
                            "(x) => (y) { %s a = Abs(x) q = Mul(a, a) r = Add(q, o) s = Sqrt(r) "
                            "t = Add(a, s) l = Log(t) z = Sub(x, x) g = Greater(x, z) "
                            "k = Less(x, z) gf = Cast<to = 1>(g) kf = Cast<to = 1>(k) "
                            "i = Sub(gf, kf) y = Mul(l, i) }",
                            one);
}

bool ox_birth_sign(struct ox_adapt *c)
{
    enum ox_dtype dtype;
    if (!ox_adapt_need_dtype(c, 0, &dtype))
        return false;
    bool exact = dtype != OX_INT64 && dtype != OX_UINT64;
    if (!exact)
        return ox_adapt_block(c, "opset %lld has nothing like it for %s", (long long)c->next,
                              ox_dtype_name(dtype));
    int by = dtype == OX_FLOAT64 || ox_dtype_is_integer(dtype) ? OX_FLOAT64 : OX_FLOAT32;
    return ox_adapt_replace(c,
                            "(x) => (y) { f = Cast<to = %d>(x) z = Sub(f, f) g = Greater(f, z) "
                            "l = Less(f, z) gf = Cast<to = 1>(g) lf = Cast<to = 1>(l) "
                            "d = Sub(gf, lf) y = Cast<to = %d>(d) }",
                            by, dtype);
}

bool ox_birth_is_nan(struct ox_adapt *c)
{
    return ox_adapt_replace(c,
                            "(x) => (y) { xf = Cast<to = 11>(x) z = Constant<value = double {0}>() "
                            "o = Constant<value = double {1}>() g = Greater(xf, z) l = Less(xf, o) "
                            "n = Or(g, l) y = Not(n) }");
}

bool ox_birth_is_inf(struct ox_adapt *c)
{
    int64_t negative, positive;
    if (!ox_adapt_int(c, "detect_negative", 1, &negative) ||
        !ox_adapt_int(c, "detect_positive", 1, &positive))
        return false;
    return ox_adapt_replace(
        c,
        "(x) => (y) { xf = Cast<to = 11>(x) h = Constant<value = double {%.17g}>() "
        "l = Neg(h) g = Greater(xf, h) s = Less(xf, l) t = Greater(h, h) y = Or(%s, %s) }",
        DBL_MAX, positive ? "g" : "t", negative ? "s" : "t");
}

/* ---- Normalizations ----------------------------------------------------------------------------------------------- */

/* The axes from one on, as the standard lists them: "-1" or "2,3". */
static bool last_axes(struct ox_adapt *c, char text[], size_t n)
{
    int64_t axis;
    int rank = ox_adapt_rank(c, ox_adapt_input(c, 0));
    if (!ox_adapt_int(c, "axis", -1, &axis))
        return false;
    if (axis >= 0) {
        if (!ox_adapt_need_rank(c, 0, &rank))
            return false;
        axis -= rank;
    }
    if (axis >= 0 || axis < -OX_ADAPT_RANK)
        return ox_adapt_block(c, "axis %lld is outside", (long long)axis);
    size_t at = 0;
    for (; axis < 0; axis++)
        at += (size_t)snprintf(text + at, n - at, "%s%lld", at ? "," : "", (long long)axis);
    return true;
}

bool ox_birth_layer_norm(struct ox_adapt *c)
{
    char axes[8 * OX_ADAPT_RANK];
    float epsilon;
    int64_t stash;
    enum ox_dtype dtype;
    if (!last_axes(c, axes, sizeof axes) || !ox_adapt_float(c, "epsilon", 1e-5f, &epsilon) ||
        !ox_adapt_int(c, "stash_type", 1, &stash) || !ox_adapt_need_dtype(c, 0, &dtype))
        return false;
    if (dtype == OX_FLOAT64)
        stash = OX_FLOAT64;
    bool bias = ox_adapt_input(c, 2) != NULL;
    return ox_adapt_replace(
        c,
        "(x, scale%s) => (y, mean, inv) { xf = Cast<to = %d>(x) mean = ReduceMean<axes = [%s]>(xf) "
        "d = Sub(xf, mean) q = Mul(d, d) v = ReduceMean<axes = [%s]>(q) "
        "ef = Constant<value = float {%.9g}>() e = Cast<to = %d>(ef) w = Add(v, e) r = Sqrt(w) "
        "inv = Reciprocal(r) n = Mul(d, inv) t = Cast<to = %d>(n) %s }",
        bias ? ", bias" : "", (int)stash, axes, axes, (double)epsilon, (int)stash, dtype,
        bias ? "s = Mul(t, scale) y = Add(s, bias)" : "y = Mul(t, scale)");
}

/* The axes of ReduceMean are an input since version 18. */
bool ox_birth_rms_norm(struct ox_adapt *c)
{
    char axes[8 * OX_ADAPT_RANK];
    float epsilon;
    int64_t stash;
    enum ox_dtype dtype, scale = ox_adapt_dtype(c, ox_adapt_input(c, 1));
    if (!last_axes(c, axes, sizeof axes) || !ox_adapt_float(c, "epsilon", 1e-5f, &epsilon) ||
        !ox_adapt_int(c, "stash_type", 1, &stash) || !ox_adapt_need_dtype(c, 0, &dtype))
        return false;
    if (dtype == OX_FLOAT64)
        stash = OX_FLOAT64;
    int n = 1;
    for (const char *p = axes; *p; p++)
        n += *p == ',';
    return ox_adapt_replace(
        c,
        "(x, scale) => (y) { xf = Cast<to = %d>(x) q = Mul(xf, xf) "
        "a = Constant<value = int64[%d] {%s}>() m = ReduceMean(q, a) "
        "ef = Constant<value = float {%.9g}>() e = Cast<to = %d>(ef) w = Add(m, e) r = Sqrt(w) "
        "n = Div(xf, r) t = Cast<to = %d>(n) y = Mul(t, scale) }",
        (int)stash, n, axes, (double)epsilon, (int)stash, scale == OX_UNDEFINED ? dtype : scale);
}

/* ---- Masks and the like ------------------------------------------------------------------------------------------- */

bool ox_birth_trilu(struct ox_adapt *c)
{
    int64_t upper;
    enum ox_dtype dtype;
    if (!ox_adapt_int(c, "upper", 1, &upper) || !ox_adapt_need_dtype(c, 0, &dtype))
        return false;
    if (dtype == OX_STRING)
        return ox_adapt_block(c, "opset %lld has nothing like it for strings", (long long)c->next);
    bool k = ox_adapt_input(c, 1) != NULL;
    return ox_adapt_replace(
        c,
        "(x%s) => (y) { s = Shape(x) i = Constant<value = int64 {-2}>() "
        "j = Constant<value = int64 {-1}>() m = Gather(s, i) n = Gather(s, j) "
        "a = Constant<value = int64 {0}>() b = Constant<value = int64 {1}>() "
        "r = Range(a, m, b) c = Range(a, n, b) u = Constant<value = int64[1] {1}>() "
        "rr = Unsqueeze(r, u) d = Sub(c, rr) %s keep = %s(d, kk) "
        "zi = Constant<value = int64 {0}>() z = Cast<to = %d>(zi) y = Where(keep, x, z) }",
        k ? ", k" : "", k ? "kk = Identity(k)" : "kk = Constant<value = int64 {0}>()",
        upper ? "GreaterOrEqual" : "LessOrEqual", dtype);
}

bool ox_birth_bernoulli(struct ox_adapt *c)
{
    int64_t type;
    enum ox_dtype dtype;
    float seed;
    if (!ox_adapt_need_dtype(c, 0, &dtype) || !ox_adapt_int(c, "dtype", dtype, &type) ||
        !ox_adapt_float(c, "seed", 0, &seed))
        return false;
    char given[48] = "";
    if (ox_adapt_has(c, "seed"))
        snprintf(given, sizeof given, ", seed = %.8e", (double)seed); /* an integer would be one */
    return ox_adapt_replace(
        c,
        "(x) => (y) { r = RandomUniformLike<dtype = %d, low = 0.0, high = 1.0%s>(x) "
        "b = Less(r, x) y = Cast<to = %d>(b) }",
        dtype, given, (int)type);
}

bool ox_birth_range(struct ox_adapt *c)
{
    enum { MOST = 1 << 20 };
    double start, limit, step;
    enum ox_dtype dtype;
    if (!ox_adapt_need_dtype(c, 0, &dtype))
        return false;
    if (!ox_adapt_known_double(c, 0, &start) || !ox_adapt_known_double(c, 1, &limit) ||
        !ox_adapt_known_double(c, 2, &step))
        return ox_adapt_block(c, "opset %lld has nothing like it, and its inputs are no constants",
                              (long long)c->next);
    double n = step == 0 ? 0 : ceil((limit - start) / step);
    if (!(n <= MOST))
        return ox_adapt_block(c, "it is too long for a constant");
    int64_t count = n > 0 ? (int64_t)n : 0;
    struct ox_tensor *wide, *tensor = NULL;
    c->status = ox_tensor_new(&wide, ox_env_budget(c->model->env), OX_FLOAT64, 1, &count, c->err);
    if (c->status != OX_OK)
        return false;
    for (int64_t i = 0; i < count; i++)
        ((double *)wide->data)[i] = start + (double)i * step;
    c->status = ox_tensor_convert(&tensor, ox_env_budget(c->model->env), wide, dtype, true, c->err);
    ox_tensor_release(wide);
    ox_adapt_cut_inputs(c, 0);
    ox_adapt_drop(c, "stash_type");
    c->from = c->to = ox_schema_find("", "Constant", c->next);
    bool good = c->status == OX_OK && ox_adapt_set_op(c, "Constant") &&
                (ox_node_set_tensor(c->node, "value", tensor) || ox_adapt_no_memory(c));
    ox_tensor_release(tensor);
    return good;
}

/* Of integers: the remainder takes the divisor's sign, where division cuts off. */
bool ox_birth_mod(struct ox_adapt *c)
{
    int64_t fmod;
    enum ox_dtype dtype;
    if (!ox_adapt_int(c, "fmod", 0, &fmod) || !ox_adapt_need_dtype(c, 0, &dtype))
        return false;
    if (!ox_dtype_is_integer(dtype) || dtype == OX_UINT64)
        return ox_adapt_block(c, "opset %lld has nothing like it for %s", (long long)c->next,
                              ox_dtype_name(dtype));
    return ox_adapt_replace(
        c,
        "(a, b) => (y) { ai = Cast<to = 7>(a) bi = Cast<to = 7>(b) q = Div(ai, bi) m = Mul(q, bi) "
        "r = Sub(ai, m) z = Sub(r, r) %s t = Cast<to = %d>(s) y = Identity(t) }",
        fmod ? "s = Identity(r)"
             : "e = Equal(r, z) ne = Not(e) l = Less(r, z) k = Less(bi, z) d = Xor(l, k) "
               "f = And(ne, d) fi = Cast<to = 7>(f) p = Mul(fi, bi) s = Add(r, p)",
        dtype);
}

/* Of integers, which have neither infinities nor NaN: y + c (x - y), which wraps back. */
bool ox_birth_where(struct ox_adapt *c)
{
    enum ox_dtype dtype;
    if (!ox_adapt_need_dtype(c, 1, &dtype))
        return false;
    if ((!ox_dtype_is_integer(dtype) && dtype != OX_BOOL) || dtype == OX_UINT64)
        return ox_adapt_block(c, "opset %lld has nothing like it for %s, as infinities and NaN go",
                              (long long)c->next, ox_dtype_name(dtype));
    return ox_adapt_replace(c,
                            "(c, x, y) => (z) { ci = Cast<to = 7>(c) xi = Cast<to = 7>(x) "
                            "yi = Cast<to = 7>(y) d = Sub(xi, yi) p = Mul(ci, d) s = Add(yi, p) "
                            "z = Cast<to = %d>(s) }",
                            dtype);
}

/* ArgMax and ArgMin that pick the last: the first of the reversed. */
bool ox_down_last_index(struct ox_adapt *c)
{
    int64_t last, axis, keep;
    if (!ox_adapt_int(c, "select_last_index", 0, &last) || !ox_adapt_int(c, "axis", 0, &axis) ||
        !ox_adapt_int(c, "keepdims", 1, &keep))
        return false;
    ox_adapt_drop(c, "select_last_index");
    if (!last)
        return true;
    return ox_adapt_replace(c,
                            "(x) => (y) { b = Constant<value = int64[1] {-1}>() "
                            "e = Constant<value = int64[1] {-9223372036854775807}>() "
                            "a = Constant<value = int64[1] {%lld}>() r = Slice(x, b, e, a, b) "
                            "i = %s<axis = %lld, keepdims = %lld>(r) s = Shape(x) "
                            "g = Constant<value = int64 {%lld}>() n = Gather(s, g) "
                            "o = Constant<value = int64 {1}>() m = Sub(n, o) y = Sub(m, i) }",
                            (long long)axis, c->node->op_type, (long long)axis, (long long)keep,
                            (long long)axis);
}

/* Indices counted from the back are new in version 11. */
bool ox_down_one_hot(struct ox_adapt *c)
{
    enum ox_dtype dtype;
    if (!ox_adapt_need_dtype(c, 0, &dtype) || !ox_down_axis(c))
        return false;
    if (dtype == OX_UINT8 || dtype == OX_UINT16 || dtype == OX_UINT32 || dtype == OX_UINT64)
        return true;
    struct ox_value *depth = ox_adapt_input(c, 1), *indices = ox_adapt_input(c, 0);
    struct ox_value *zero = ox_adapt_const_number(c, OX_INT64, 0, 0);
    struct ox_node *wide = ox_adapt_add(c, "Cast", &indices, 1);
    struct ox_node *size = ox_adapt_add(c, "Cast", &depth, 1);
    if (!zero || !wide || !size || !ox_node_set_int(wide, "to", OX_INT64) ||
        !ox_node_set_int(size, "to", OX_INT64))
        return ox_adapt_no_memory(c);
    struct ox_value *in[2] = {wide->outputs[0], size->outputs[0]};
    struct ox_node *sum = ox_adapt_add(c, "Add", in, 2);
    in[1] = zero;
    struct ox_node *less = ox_adapt_add(c, "Less", in, 2);
    if (!sum || !less)
        return false;
    struct ox_value *pick[3] = {less->outputs[0], sum->outputs[0], wide->outputs[0]};
    struct ox_node *where = ox_adapt_add(c, "Where", pick, 3);
    if (!where)
        return false;
    c->node->inputs[0] = where->outputs[0];
    return true;
}
