/* Quantization by axis, by block and to other types, for versions that quantize by tensor alone, or not at all. */
#include <string.h>

#include "graph/convert/convert_adapters.h"

/* A shape that lays a vector along an axis: "{1,-1,1}"; empty for one number. */
struct along {
    char text[4 * OX_ADAPT_RANK];
    int rank;
};

static bool lay_along(struct ox_adapt *c, size_t vector, struct along *out)
{
    int64_t axis;
    int rank, vector_rank = ox_adapt_rank(c, ox_adapt_input(c, vector));
    *out = (struct along){.rank = 0};
    if (vector_rank < 0)
        return ox_adapt_block(c, "the rank of the scale is not known");
    if (vector_rank == 0 || ox_adapt_dim(c, ox_adapt_input(c, vector), 0) == 1)
        return true;
    if (vector_rank > 1)
        return ox_adapt_block(c, "opset %lld has no blocks", (long long)c->next);
    if (!ox_adapt_int(c, "axis", 1, &axis) || !ox_adapt_need_rank(c, 0, &rank))
        return false;
    axis += axis < 0 ? rank : 0;
    for (int i = 0; i < rank; i++)
        strcat(strcat(out->text, i ? "," : ""), i == axis ? "-1" : "1");
    out->rank = rank;
    return true;
}

static bool dequantize(struct ox_adapt *c)
{
    struct along along;
    enum ox_dtype dtype = ox_adapt_dtype(c, ox_adapt_input(c, 1));
    if (!lay_along(c, 1, &along))
        return false;
    if (dtype == OX_UNDEFINED)
        dtype = OX_FLOAT32;
    bool zero = ox_adapt_input(c, 2) != NULL;
    /* Differences of 32-bit integers are taken in double precision, which holds them. */
    bool wide = ox_adapt_dtype(c, ox_adapt_input(c, 0)) == OX_INT32;
    char shape[8 * OX_ADAPT_RANK] = "";
    if (along.rank)
        snprintf(shape, sizeof shape, "p = Constant<value = int64[%d] {%s}>()", along.rank,
                 along.text);
    return ox_adapt_replace(
        c, "(x, scale%s) => (y) { %s %s xf = Cast<to = %d>(x) %s y = Mul(%s, %s) }",
        zero ? ", zero" : "", shape, along.rank ? "sp = Reshape(scale, p)" : "",
        wide ? OX_FLOAT32 : dtype,
        !zero ? ""
        : along.rank
            ? (dtype == OX_FLOAT16 ? "zp = Reshape(zero, p) zf = Cast<to = 10>(zp) d = Sub(xf, zf)"
                                   : "zp = Reshape(zero, p) zf = Cast<to = 1>(zp) d = Sub(xf, zf)")
            : (dtype == OX_FLOAT16 ? "zf = Cast<to = 10>(zero) d = Sub(xf, zf)"
                                   : "zf = Cast<to = 1>(zero) d = Sub(xf, zf)"),
        zero ? "d" : "xf", along.rank ? "sp" : "scale");
}

bool ox_down_dequantize_axis(struct ox_adapt *c)
{
    struct along along;
    if (!lay_along(c, 1, &along))
        return false;
    if (along.rank)
        return dequantize(c);
    ox_adapt_drop(c, "axis");
    return true;
}

bool ox_birth_dequantize(struct ox_adapt *c)
{
    return dequantize(c);
}

/* Round to even by what all versions have: x is "q", the result "n". */
#define ROUND_Q                                                                                    \
    "f = Floor(q) dd = Sub(q, f) hf = Constant<value = float {0.5}>() "                            \
    "two = Constant<value = float {2}>() up = Greater(dd, hf) lo = Less(dd, hf) "                  \
    "ne = Or(up, lo) eq = Not(ne) h1 = Div(f, two) h2 = Floor(h1) h3 = Mul(h2, two) "              \
    "odd = Sub(f, h3) isodd = Greater(odd, hf) tie = And(eq, isodd) inc = Or(up, tie) "            \
    "incf = Cast<to = 1>(inc) n = Add(f, incf) "

static bool quantize(struct ox_adapt *c)
{
    struct along along;
    if (!lay_along(c, 1, &along))
        return false;
    enum ox_dtype dtype = OX_UINT8;
    bool zero = ox_adapt_input(c, 2) != NULL;
    if (zero && !ox_adapt_need_dtype(c, 2, &dtype))
        return false;
    if (dtype != OX_UINT8 && dtype != OX_INT8)
        return ox_adapt_block(c, "opset %lld does not quantize to %s", (long long)c->next,
                              ox_dtype_name(dtype));
    if (ox_adapt_dtype(c, ox_adapt_input(c, 0)) != OX_FLOAT32)
        return ox_adapt_block(c, "opset %lld does not quantize this type", (long long)c->next);
    char shape[8 * OX_ADAPT_RANK] = "";
    if (along.rank)
        snprintf(shape, sizeof shape,
                 "p = Constant<value = int64[%d] {%s}>() sp = Reshape(scale, p)", along.rank,
                 along.text);
    /* Clip takes its bounds as attributes before version 11, and Round is as new. */
    bool old = c->next < 11;
    return ox_adapt_replace(
        c, "(x, scale%s) => (y) { %s q = Div(x, %s) %s %s %s %s y = Cast<to = %d>(k) }",
        zero ? ", zero" : "", shape, along.rank ? "sp" : "scale", old ? ROUND_Q : "n = Round(q)",
        !zero        ? ""
        : along.rank ? "zp = Reshape(zero, p)"
                     : "zp = Identity(zero)",
        zero ? "zf = Cast<to = 1>(zp) s = Add(n, zf)" : "s = Identity(n)",
        old ? (dtype == OX_UINT8 ? "k = Clip<min = 0.0, max = 255.0>(s)"
                                 : "k = Clip<min = -128.0, max = 127.0>(s)")
            : (dtype == OX_UINT8
                   ? "l = Constant<value = float {0}>() h = Constant<value = float {255}>() "
                     "k = Clip(s, l, h)"
                   : "l = Constant<value = float {-128}>() h = Constant<value = float {127}>() "
                     "k = Clip(s, l, h)"),
        dtype);
}

bool ox_down_quantize_axis(struct ox_adapt *c)
{
    struct along along;
    if (!lay_along(c, 1, &along))
        return false;
    if (along.rank)
        return quantize(c);
    ox_adapt_drop(c, "axis");
    return true;
}

bool ox_birth_quantize(struct ox_adapt *c)
{
    return quantize(c);
}

bool ox_birth_round(struct ox_adapt *c)
{
    enum ox_dtype dtype;
    if (!ox_adapt_need_dtype(c, 0, &dtype))
        return false;
    if (dtype == OX_FLOAT64)
        return ox_adapt_block(c, "opset %lld has nothing like it for float64", (long long)c->next);
    return ox_adapt_replace(c, "(x) => (y) { q = Cast<to = 1>(x) " ROUND_Q "y = Cast<to = %d>(n) }",
                            dtype);
}

/* What has blocks: not before version 21. */
static bool no_blocks(struct ox_adapt *c)
{
    int64_t block;
    if (!ox_adapt_int(c, "block_size", 0, &block))
        return false;
    ox_adapt_drop(c, "block_size");
    return !block || ox_adapt_block(c, "opset %lld has no blocks", (long long)c->next);
}

/* Blocks of known shapes: scale and zero point are repeated to the size of the data. */
bool ox_down_dequantize_blocks(struct ox_adapt *c)
{
    int64_t block, axis, x[OX_ADAPT_RANK], s[OX_ADAPT_RANK];
    if (!ox_adapt_int(c, "block_size", 0, &block) || !ox_adapt_int(c, "axis", 1, &axis))
        return false;
    if (!block)
        return no_blocks(c);
    int rank = ox_adapt_rank(c, ox_adapt_input(c, 0));
    enum ox_dtype to = ox_adapt_dtype(c, ox_adapt_input(c, 1)),
                  from = ox_adapt_dtype(c, ox_adapt_input(c, 0));
    axis += axis < 0 ? rank : 0;
    if (!ox_adapt_dims(c, ox_adapt_input(c, 0), x) || !ox_adapt_dims(c, ox_adapt_input(c, 1), s) ||
        axis < 0 || axis >= rank || x[axis] != s[axis] * block)
        return ox_adapt_block(c, "opset %lld has no blocks, and sizes are not known",
                              (long long)c->next);
    if ((from != OX_INT8 && from != OX_UINT8) || (to != OX_FLOAT32 && to != OX_FLOAT16))
        return ox_adapt_block(c, "opset %lld has no blocks, and no %s", (long long)c->next,
                              ox_dtype_name(from));
    char split[24 * OX_ADAPT_RANK] = "", part[24 * OX_ADAPT_RANK] = "",
                    all[24 * OX_ADAPT_RANK] = "";
    for (int i = 0; i < rank; i++) {
        const char *comma = i ? "," : "";
        size_t a = strlen(split), b = strlen(part), d = strlen(all);
        snprintf(all + d, sizeof all - d, "%s%lld", comma, (long long)x[i]);
        if (i == axis) {
            snprintf(split + a, sizeof split - a, "%s%lld,%lld", comma, (long long)s[i],
                     (long long)block);
            snprintf(part + b, sizeof part - b, "%s%lld,1", comma, (long long)s[i]);
        } else {
            snprintf(split + a, sizeof split - a, "%s%lld", comma, (long long)x[i]);
            snprintf(part + b, sizeof part - b, "%s%lld", comma, (long long)s[i]);
        }
    }
    bool zero = ox_adapt_input(c, 2) != NULL;
    return ox_adapt_replace(
        c,
        "(x, scale%s) => (y) { a = Constant<value = int64[%d] {%s}>() "
        "b = Constant<value = int64[%d] {%s}>() e = Constant<value = int64[%d] {%s}>() "
        "xf = Cast<to = %d>(x) xs = Reshape(xf, a) ss = Reshape(scale, b) %s "
        "m = Mul(%s, ss) y = Reshape(m, e) }",
        zero ? ", zero" : "", rank + 1, split, rank + 1, part, rank, all, to,
        !zero              ? ""
        : to == OX_FLOAT16 ? "zf = Cast<to = 10>(zero) zs = Reshape(zf, b) d = Sub(xs, zs)"
                           : "zf = Cast<to = 1>(zero) zs = Reshape(zf, b) d = Sub(xs, zs)",
        zero ? "d" : "xs");
}

bool ox_down_quantize_blocks(struct ox_adapt *c)
{
    int64_t type;
    if (!ox_adapt_int(c, "output_dtype", 0, &type) || !no_blocks(c))
        return false;
    ox_adapt_drop(c, "output_dtype");
    if (!type || ox_adapt_input(c, 2))
        return true;
    struct ox_value *zero = ox_adapt_const_number(c, (enum ox_dtype)type, 0, 0);
    return zero && ox_adapt_set_input(c, 2, zero);
}

bool ox_down_dequantize_type(struct ox_adapt *c)
{
    int64_t type;
    if (!ox_adapt_int(c, "output_dtype", 0, &type))
        return false;
    ox_adapt_drop(c, "output_dtype");
    if (!type || type == (int64_t)ox_adapt_dtype(c, ox_adapt_input(c, 1)))
        return true;
    struct ox_node *cast = ox_adapt_after(c, 0, "Cast");
    return (cast && ox_node_set_int(cast, "to", type)) || ox_adapt_no_memory(c);
}

/* ---- Integer products --------------------------------------------------------------------------------------------- */

bool ox_birth_matmul_integer(struct ox_adapt *c)
{
    bool a = ox_adapt_input(c, 2) != NULL, b = ox_adapt_input(c, 3) != NULL;
    int rank = a ? ox_adapt_rank(c, ox_adapt_input(c, 2)) : 0;
    if (rank < 0)
        return ox_adapt_block(c, "the rank of the zero point is not known");
    return ox_adapt_replace(
        c,
        "(a, b, az, bz) => (y) { ai = Cast<to = 6>(a) bi = Cast<to = 6>(b) %s %s y = MatMul(%s, "
        "%s) }",
        !a          ? ""
        : rank == 1 ? "zi = Cast<to = 6>(az) zc = Unsqueeze<axes = [1]>(zi) ad = Sub(ai, zc)"
                    : "zi = Cast<to = 6>(az) ad = Sub(ai, zi)",
        b ? "wi = Cast<to = 6>(bz) bd = Sub(bi, wi)" : "", a ? "ad" : "ai", b ? "bd" : "bi");
}

static void print_list(char *text, size_t n, const char *name, const struct ox_attr *attr)
{
    size_t at = strlen(text);
    if (!attr || attr->ref || attr->type != OX_ATTR_INTS)
        return;
    at += (size_t)snprintf(text + at, n - at, "%s%s = [", at ? ", " : "", name);
    for (size_t i = 0; i < attr->n && at < n; i++)
        at += (size_t)snprintf(text + at, n - at, "%s%lld", i ? "," : "", (long long)attr->ints[i]);
    if (at < n)
        snprintf(text + at, n - at, "]");
}

bool ox_birth_conv_integer(struct ox_adapt *c)
{
    static const char *const lists[] = {"dilations", "kernel_shape", "pads", "strides"};
    char attrs[1024] = "";
    int64_t group;
    int rank;
    bool x = ox_adapt_input(c, 2) != NULL, w = ox_adapt_input(c, 3) != NULL;
    if (!ox_adapt_int(c, "group", 1, &group) || !ox_adapt_need_rank(c, 1, &rank))
        return false;
    for (size_t i = 0; i < OX_COUNT(lists); i++)
        print_list(attrs, sizeof attrs, lists[i], ox_node_attr(c->node, lists[i]));
    const struct ox_attr *pad = ox_node_attr(c->node, "auto_pad");
    if (strlen(attrs) + 64 > sizeof attrs)
        return ox_adapt_block(c, "its attributes are too long");
    if (pad && !pad->ref && pad->type == OX_ATTR_STRING)
        sprintf(attrs + strlen(attrs), "%sauto_pad = \"%.20s\"", *attrs ? ", " : "", pad->s.p);
    sprintf(attrs + strlen(attrs), "%sgroup = %d", *attrs ? ", " : "", (int)group);
    char ones[4 * OX_ADAPT_RANK] = "";
    for (int i = 1; i < rank; i++)
        strcat(ones, ",1");
    char weight[512] = "";
    if (w)
        snprintf(weight, sizeof weight,
                 "p = Constant<value = int64[%d] {-1%s}>() wz = Reshape(wzero, p) "
                 "wzd = Cast<to = 11>(wz) wd = Sub(wf, wzd)",
                 rank, ones);
    /* Sums of products are exact in double precision. */
    return ox_adapt_replace(
        c,
        "(x, w, xzero, wzero) => (y) { xf = Cast<to = 11>(x) "
        "wf = Cast<to = 11>(w) %s %s s = Conv<%s>(%s, %s) y = Cast<to = 6>(s) }",
        x ? "xz = Cast<to = 11>(xzero) xd = Sub(xf, xz)" : "", weight, attrs, x ? "xd" : "xf",
        w ? "wd" : "wf");
}

bool ox_birth_qlinear_matmul(struct ox_adapt *c)
{
    return ox_adapt_block(c, "there is no such operator in opset %lld: QDQ models convert further",
                          (long long)c->next);
}
