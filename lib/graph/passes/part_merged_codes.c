/* Operators between 8-bit codes that onnxruntime has merged with the conversions around them: QLinearAdd, QLinearMul, QLinearConcat,
 * QLinearSigmoid, QLinearLeakyRelu and QLinearAveragePool. */
#include "graph/passes/codes.h"
#include "graph/passes/part_merged.h"

/* Whether input i is a scale of all codes, and the next, which may be omitted, their zero point. */
static bool has_one(struct ox_rewrite *rw, const struct ox_node *node, size_t i)
{
    const struct ox_value *scale = ox_input(node, i), *zero = ox_input(node, i + 1);
    return scale && ox_rw_stored(rw, scale) && ox_rank_of(rw, scale) == 0 &&
           (!zero || (ox_rw_stored(rw, zero) && ox_rank_of(rw, zero) == 0));
}

/* Input i in float, by the scale and zero point behind it. */
static struct ox_value *decoded(const struct ox_parts *p, size_t i)
{
    const struct ox_node *node = p->node;
    struct ox_value *in[] = {node->inputs[i], node->inputs[i + 1], ox_input(node, i + 2)};
    return ox_part_value(p, "DequantizeLinear", in, in[2] ? 3 : 2,
                         ox_codes_type(p->rw, in[0], OX_FLOAT32));
}

static bool is_decodable(const struct ox_parts *p, size_t i)
{
    return ox_input(p->node, i) && has_one(p->rw, p->node, i + 1);
}

/* The node's output is that value by the scale of input i and the zero point behind it. */
static void end_in_codes(const struct ox_parts *p, struct ox_value *v, size_t i)
{
    struct ox_value *in[] = {v, p->node->inputs[i], p->node->inputs[i + 1]};
    if (v)
        ox_part_end(p, ox_part_value(p, "QuantizeLinear", in, 3, p->type));
}

static const struct ox_type *float_type(const struct ox_parts *p)
{
    return ox_codes_type(p->rw, p->node->outputs[0], OX_FLOAT32);
}

/* ---- Of one input --------------------------------------------------------------------------------------------------- */

enum { Y_SCALE = 3, Y_ZERO };

/* The standard's operator with the node's attributes; NULL: it stays. */
static struct ox_node *between(const struct ox_parts *p, const char *op_type)
{
    const struct ox_node *node = p->node;
    if (!is_decodable(p, 0) || !ox_input(node, Y_ZERO) || !has_one(p->rw, node, Y_SCALE))
        return NULL;
    struct ox_value *x = decoded(p, 0);
    return x ? ox_part_alike(p, op_type, "", &x, 1, float_type(p)) : NULL;
}

static void end_between(const struct ox_parts *p, const struct ox_node *of)
{
    if (of)
        end_in_codes(p, of->outputs[0], Y_SCALE);
}

void ox_part_integer_sigmoid(const struct ox_parts *p)
{
    end_between(p, between(p, "Sigmoid"));
}

void ox_part_integer_leaky_relu(const struct ox_parts *p)
{
    end_between(p, between(p, "LeakyRelu"));
}

void ox_part_integer_average(const struct ox_parts *p)
{
    if (ox_attr_int(p->node, "channels_last", 0))
        return;
    struct ox_node *of = between(p, "AveragePool");
    if (of)
        ox_node_drop_attr(of, "channels_last");
    end_between(p, of);
}

/* ---- Of several ----------------------------------------------------------------------------------------------------- */

static void on_pair(const struct ox_parts *p, const char *op_type)
{
    enum { A, B = 3, SCALE = 6, ZERO };
    if (!is_decodable(p, A) || !is_decodable(p, B) || !ox_input(p->node, ZERO) ||
        !has_one(p->rw, p->node, SCALE))
        return;
    struct ox_value *in[] = {decoded(p, A), decoded(p, B)};
    if (in[0] && in[1])
        end_in_codes(p, ox_part_value(p, op_type, in, 2, float_type(p)), SCALE);
}

void ox_part_integer_sum(const struct ox_parts *p)
{
    on_pair(p, "Add");
}

void ox_part_integer_factors(const struct ox_parts *p)
{
    on_pair(p, "Mul");
}

void ox_part_integer_concat(const struct ox_parts *p)
{
    enum { SCALE, ZERO, FIRST, EACH };
    struct ox_rewrite *rw = p->rw;
    const struct ox_node *node = p->node;
    const size_t n = node->n_inputs > FIRST ? (node->n_inputs - FIRST) / EACH : 0;
    if (!n || node->n_inputs != FIRST + n * EACH || !ox_input(node, ZERO) ||
        !has_one(rw, node, SCALE))
        return;
    for (size_t i = 0; i < n; i++)
        if (!is_decodable(p, FIRST + i * EACH))
            return;
    struct ox_value **in = ox_rw_scratch(rw, n, sizeof *in);
    for (size_t i = 0; in && i < n; i++)
        if (!(in[i] = decoded(p, FIRST + i * EACH)))
            return;
    struct ox_node *joined = in ? ox_part(p, "Concat", "", in, n, float_type(p)) : NULL;
    if (!joined)
        return;
    rw->failed |= !ox_node_set_int(joined, "axis", ox_attr_int(node, "axis", 0));
    end_in_codes(p, joined->outputs[0], SCALE);
}
