/* Experimental operators on the way to opset 10, where onnxruntime has them no more: each becomes what the standard says it by. */
#include <inttypes.h>

#include "graph/convert/convert_adapters.h"

/* Two coefficients as values a and b of the input's type, and `body`, which makes y of them and x. */
static bool with_coefficients(struct ox_adapt *c, float a, float b, const char *body)
{
    enum ox_dtype dtype;
    return ox_adapt_need_dtype(c, 0, &dtype) &&
           ox_adapt_replace(c,
                            "(x) => (y) { af = Constant<value = float {%.9g}>() "
                            "a = Cast<to = %d>(af) bf = Constant<value = float {%.9g}>() "
                            "b = Cast<to = %d>(bf) %s }",
                            (double)a, dtype, (double)b, dtype, body);
}

bool ox_up_affine(struct ox_adapt *c)
{
    float alpha, beta;
    return ox_adapt_float(c, "alpha", 1, &alpha) && ox_adapt_float(c, "beta", 0, &beta) &&
           with_coefficients(c, alpha, beta, "m = Mul(x, a) y = Add(m, b)");
}

bool ox_up_scale(struct ox_adapt *c)
{
    float scale;
    enum ox_dtype dtype;
    return ox_adapt_float(c, "scale", 1, &scale) && ox_adapt_need_dtype(c, 0, &dtype) &&
           ox_adapt_replace(c,
                            "(x) => (y) { af = Constant<value = float {%.9g}>() "
                            "a = Cast<to = %d>(af) y = Mul(x, a) }",
                            (double)scale, dtype);
}

static bool scaled(struct ox_adapt *c, const char *body)
{
    float alpha, beta;
    if (!ox_adapt_has(c, "alpha") || !ox_adapt_has(c, "beta"))
        return ox_adapt_block(c, "it lacks the attribute alpha or beta");
    return ox_adapt_float(c, "alpha", 0, &alpha) && ox_adapt_float(c, "beta", 0, &beta) &&
           with_coefficients(c, alpha, beta, body);
}

bool ox_up_scaled_tanh(struct ox_adapt *c)
{
    return scaled(c, "s = Mul(x, b) t = Tanh(s) y = Mul(t, a)");
}

bool ox_up_parametric_softplus(struct ox_adapt *c)
{
    return scaled(c, "s = Mul(x, b) t = Softplus(s) y = Mul(t, a)");
}

bool ox_up_image_scaler(struct ox_adapt *c)
{
    const struct ox_attr *bias = ox_node_attr(c->node, "bias");
    float scale;
    enum ox_dtype dtype;
    if (!bias || bias->type != OX_ATTR_FLOATS || bias->ref || !bias->n)
        return ox_adapt_block(c, "it has no bias");
    if (!ox_adapt_float(c, "scale", 1, &scale) || !ox_adapt_need_dtype(c, 0, &dtype))
        return false;
    struct ox_strbuf list;
    ox_strbuf_init(&list);
    for (size_t i = 0; i < bias->n; i++)
        ox_strbuf_printf(&list, "%s%.9g", i ? ", " : "", (double)bias->floats[i]);
    bool done = list.failed ? ox_adapt_no_memory(c)
                            : ox_adapt_replace(c,
                                               "(x) => (y) { af = Constant<value = float {%.9g}>() "
                                               "a = Cast<to = %d>(af) "
                                               "bf = Constant<value = float[%zu, 1, 1] {%s}>() "
                                               "b = Cast<to = %d>(bf) m = Mul(x, a) y = Add(m, b) "
                                               "}",
                                               (double)scale, dtype, bias->n, list.data, dtype);
    ox_strbuf_release(&list);
    return done;
}

/* border is left, top, right, bottom; scale the height and width that are left. */
bool ox_up_crop(struct ox_adapt *c)
{
    int64_t border[OX_ADAPT_RANK], scale[OX_ADAPT_RANK], end[2];
    size_t n, n_scale;
    bool found, has_scale;
    if (!ox_adapt_int_list(c, "border", border, &n, &found) ||
        !ox_adapt_int_list(c, "scale", scale, &n_scale, &has_scale))
        return false;
    if (!found || n != 4 || (has_scale && n_scale && n_scale != 2))
        return ox_adapt_block(c, "border is not four numbers, or scale not two");
    for (unsigned k = 0; k < 2; k++) {
        const int64_t before = border[1 - k], after = border[3 - k];
        end[k] = after ? -after : INT64_MAX;
        if (before < 0 || after < 0 ||
            (has_scale && n_scale && OX_ADD_OVERFLOWS(before, scale[k], &end[k])))
            return ox_adapt_block(c, "border or scale is out of range");
    }
    return ox_adapt_replace(c,
                            "(x) => (y) { s = Constant<value = int64[2] {%" PRId64 ", %" PRId64
                            "}>() e = Constant<value = int64[2] {%" PRId64 ", %" PRId64 "}>() "
                            "a = Constant<value = int64[2] {2, 3}>() y = Slice(x, s, e, a) }",
                            border[1], border[0], end[0], end[1]);
}

bool ox_up_dynamic_slice(struct ox_adapt *c)
{
    c->from = c->to = ox_schema_find("", "Slice", c->next);
    return ox_adapt_set_op(c, "Slice");
}
