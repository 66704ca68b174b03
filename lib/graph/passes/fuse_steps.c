/* Runs of elementwise operators on one shape become one Elementwise of our own domain (ops/fused/fused_steps.c), which reads and writes memory
 * once. Operands may be repeated along the shape as bias vectors and channel factors are. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "graph/match.h"
#include "graph/passes/codes.h"
#include "ops/fast/fast.h"
#include "ops/fused/fused_steps.h"

enum {
    MOST_JOINED = 100,
    MOST_MAPS = 4, /* operands of the run's shape: each stays in memory until the run reads it */
    LEAST_ROW = 64 /* shorter ones are normalized side by side where they stand alone */
};

struct run {
    int64_t field[OX_MOST_STEPS * OX_STEP_FIELDS];
    size_t n_steps;
    struct ox_value *input[3 * OX_MOST_STEPS + 5 + MOST_JOINED];
    size_t n_inputs;
    struct ox_node *node[2 * OX_MOST_STEPS + 2];
    size_t n_nodes, n_maps;
    size_t from, to,
        table; /* inputs: scales of codes at either end, what codes stand for; 0: floats */
};

static int64_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (int64_t)bits;
}

static void add_step(struct run *run, enum ox_step_kind kind, int64_t function, int64_t a,
                     int64_t b)
{
    int64_t *field = run->field + run->n_steps++ * OX_STEP_FIELDS;
    field[OX_STEP_KIND] = (int64_t)kind;
    field[OX_STEP_FUNCTION] = function;
    field[OX_STEP_A] = a;
    field[OX_STEP_B] = b;
}

static bool is_float(struct ox_rewrite *rw, const struct ox_value *value)
{
    return value && ox_dtype_of_value(rw, value) == OX_FLOAT32;
}

static bool same_dim(struct ox_rewrite *rw, const struct ox_value *a, int i,
                     const struct ox_value *b, int j)
{
    const int64_t n = ox_dim_of(rw, a, i);
    if (n >= 0)
        return n == ox_dim_of(rw, b, j);
    const struct ox_expr *expr = ox_dim_expr(rw, a, i);
    return expr && expr == ox_dim_expr(rw, b, j);
}

/* Whether an operand is ones, then dimensions of x, then ones, seen from the end. */
static bool repeats_in(struct ox_rewrite *rw, const struct ox_value *other,
                       const struct ox_value *x)
{
    const int rank = ox_rank_of(rw, other);
    int d = 1;
    if (!is_float(rw, other) || rank < 0 || rank > ox_rank_of(rw, x))
        return false;
    while (d <= rank && ox_dim_of(rw, other, -d) == 1)
        d++;
    while (d <= rank && same_dim(rw, other, -d, x, -d))
        d++;
    while (d <= rank && ox_dim_of(rw, other, -d) == 1)
        d++;
    return d > rank;
}

/* Gelu in one of its spellings. */
static bool is_gelu(struct ox_rewrite *rw, const struct ox_node *node)
{
    const char *name;
    float a, b;
    return ox_is_domain_op(node, OX_OWN_DOMAIN, "Activation") &&
           ox_activation_of(rw, node, &name, &a, &b) && strcmp(name, "Gelu") == 0;
}

/* Clip and Pow as functions of one input by constants. */
static bool by_constants(struct ox_rewrite *rw, const struct ox_node *node, const struct ox_op *op,
                         enum ox_unary *function, float *a, float *b)
{
    double least = -FLT_MAX, most = FLT_MAX;
    if (op->fast == ox_fast_pow) {
        *function = OX_UNARY_SQUARE;
        return ox_const_is(rw, ox_input(node, 1), 2) && is_float(rw, ox_input(node, 1)) &&
               ox_rank_of(rw, node->inputs[1]) <= ox_rank_of(rw, node->inputs[0]);
    }
    if (op->fast != ox_fast_clip ||
        (ox_input(node, 1) && !ox_const_scalar(rw, node->inputs[1], &least)) ||
        (ox_input(node, 2) && !ox_const_scalar(rw, node->inputs[2], &most)))
        return false;
    *function = OX_UNARY_CLIP;
    *a = (float)least;
    *b = (float)most;
    return !isnan(least) && !isnan(most);
}

static size_t add_codes(struct run *run, struct ox_node *node, const struct ox_codes *codes)
{
    const size_t at = run->n_inputs;
    run->node[run->n_nodes++] = node;
    run->input[run->n_inputs++] = codes->scale;
    run->input[run->n_inputs++] = codes->zero;
    return at;
}

static void add_pair(struct run *run, enum ox_step_kind kind, enum ox_binary function,
                     struct ox_value *other)
{
    add_step(run, kind, (int64_t)function, (int64_t)run->n_inputs, 0);
    run->input[run->n_inputs++] = other;
}

/* An operand of x's shape that is dequantized for this alone is read as codes. */
static void add_operand(struct ox_rewrite *rw, struct run *run, enum ox_step_kind kind,
                        enum ox_binary function, struct ox_value *other, const struct ox_value *x)
{
    struct ox_codes codes;
    if (!ox_rw_only_user(rw, other) || !ox_same_shape(rw, other, x) ||
        !ox_codes_of_one(rw, other, &codes)) {
        add_pair(run, kind, function, other);
        return;
    }
    add_pair(run, kind, function, codes.codes);
    add_codes(run, other->producer, &codes);
}

/* Whether the node's axis is the last one of x. */
static bool is_along_rows(struct ox_rewrite *rw, const struct ox_node *node)
{
    const int64_t axis = ox_attr_int(node, "axis", -1);
    return axis == -1 || axis == ox_rank_of(rw, node->inputs[0]) - 1;
}

/* Layer or RMS normalization of nothing but x, of float32, with a scale and a shift for each element of a row. */
static bool is_norm(struct ox_rewrite *rw, const struct ox_node *node, int64_t row)
{
    const bool own = ox_is_domain_op(node, OX_OWN_DOMAIN, "Norm");
    if (!(own && !ox_input(node, 3) && !ox_input(node, 4)) &&
        !(ox_is_op(node, "LayerNormalization") && is_along_rows(rw, node)))
        return false;
    for (size_t i = 1; i <= 2; i++)
        if (ox_input(node, i) &&
            (!is_float(rw, node->inputs[i]) || ox_rank_of(rw, node->inputs[i]) != 1 ||
             ox_dim_of(rw, node->inputs[i], 0) != row))
            return false;
    return true;
}

/* Functions of rows. */
static bool take_rows(struct ox_rewrite *rw, struct run *run, const struct ox_node *node)
{
    const int64_t row = ox_dim_of(rw, node->inputs[0], -1);
    if (row < LEAST_ROW || row > OX_STEPS_ROW)
        return false;
    if (ox_is_op(node, "Softmax") && is_along_rows(rw, node)) {
        add_step(run, OX_STEP_SOFTMAX, 0, 0, 0);
        return true;
    }
    if (!is_norm(rw, node, row))
        return false;
    add_step(run, OX_STEP_NORM, ox_attr_int(node, "centred", 1), (int64_t)run->n_inputs,
             bits_of(ox_attr_float(node, "epsilon", 0)));
    run->input[run->n_inputs++] = ox_input(node, 1);
    run->input[run->n_inputs++] = ox_input(node, 2);
    return true;
}

/* Alone, functions of rows do as well; not where a pass over memory after them would be for codes of a byte. */
static bool may_begin(struct ox_rewrite *rw, const struct ox_node *node)
{
    struct ox_codes codes;
    return ox_codes_taken(rw, node->outputs[0], &codes) != NULL;
}

/* Takes the node into the run as what follows `value` (NULL: the run begins; gives what it begins with). */
static bool take(struct ox_rewrite *rw, struct run *run, struct ox_node *node,
                 struct ox_value *value)
{
    const struct ox_op *op = ox_rw_op(rw, node);
    enum ox_unary function;
    enum ox_binary pair;
    float a = 0, b = 0;
    if (!op || node->n_outputs != 1 || !node->outputs[0] || run->n_steps + 2 > OX_MOST_STEPS)
        return false;
    struct ox_value *x = value ? value : ox_input(node, 0), *other = NULL;
    if (!is_float(rw, x))
        return false;
    if (ox_is_domain_op(node, OX_OWN_DOMAIN, "ChannelAffine") &&
        !ox_node_attr(node, "activation") && node->inputs[0] == x) {
        add_pair(run, OX_STEP_LEFT, OX_BINARY_MUL, node->inputs[1]);
        add_pair(run, OX_STEP_LEFT, OX_BINARY_ADD, node->inputs[2]);
    } else if (is_gelu(rw, node)) {
        add_step(run, OX_STEP_UNARY, OX_UNARY_GELU, 0, 0);
    } else if (op->fast == ox_fast_unary && ox_fast_function(node, &function, &a, &b)) {
        add_step(run, OX_STEP_UNARY, (int64_t)function, bits_of(a), bits_of(b));
    } else if (op->fast == ox_fast_binary && node->n_inputs == 2 &&
               ox_fast_pair(node->op_type, &pair) && pair != OX_BINARY_PRELU) {
        if (!value && !ox_same_shape(rw, x, node->outputs[0]))
            x = ox_input(node, 1);
        other = ox_other_input(node, x);
        if (!other || !ox_same_shape(rw, x, node->outputs[0]) || !repeats_in(rw, other, x))
            return false;
        const bool map = ox_same_shape(rw, other, x);
        if (map && run->n_maps == MOST_MAPS)
            return false;
        run->n_maps += map;
        add_operand(rw, run, node->inputs[0] == x ? OX_STEP_LEFT : OX_STEP_RIGHT, pair, other, x);
    } else if (node->inputs[0] == x && by_constants(rw, node, op, &function, &a, &b)) {
        add_step(run, OX_STEP_UNARY, (int64_t)function, bits_of(a), bits_of(b));
    } else if (node->inputs[0] != x || !(value || may_begin(rw, node)) ||
               !take_rows(rw, run, node)) {
        return false;
    }
    run->input[0] = x;
    run->node[run->n_nodes++] = node;
    return true;
}

/* Whether the input is one constant number (NULL: 0), and which. */
static bool is_number(struct ox_rewrite *rw, const struct ox_value *value, double *number)
{
    *number = 0;
    return !value || (ox_const_scalar(rw, value, number) && ox_rank_of(rw, value) <= 1);
}

/* What a node quantizes to codes of 16 bits that nobody sees but the DequantizeLinear that makes floats of them again. Gives that. */
static struct ox_node *take_grid(struct ox_rewrite *rw, struct run *run, struct ox_node *node,
                                 struct ox_value *value)
{
    struct ox_node *back = ox_is_quantize(node) && node->n_outputs == 1 && is_float(rw, value)
                               ? ox_rw_only_user(rw, node->outputs[0])
                               : NULL;
    double scale[2], zero[2];
    if (!back || !ox_is_dequantize(back) || node->inputs[0] != value ||
        back->inputs[0] != node->outputs[0] || !is_float(rw, back->outputs[0]) ||
        !is_float(rw, ox_input(node, 1)) || run->n_steps + 2 > OX_MOST_STEPS ||
        ox_attr_int(node, "block_size", 0) || ox_attr_int(node, "precision", 0) > OX_FLOAT32)
        return NULL;
    const struct ox_node *const nodes[2] = {node, back};
    for (size_t i = 0; i < 2; i++)
        if (!is_number(rw, ox_input(nodes[i], 1), &scale[i]) ||
            !is_number(rw, ox_input(nodes[i], 2), &zero[i]))
            return NULL;
    const enum ox_dtype dtype = ox_dtype_of_value(rw, node->outputs[0]);
    if (!(scale[0] > 0) || scale[0] != scale[1] || zero[0] != zero[1] ||
        (dtype != OX_UINT16 && dtype != OX_INT16))
        return NULL;
    add_step(run, OX_STEP_GRID, (int64_t)dtype, bits_of((float)scale[0]), (int64_t)zero[0]);
    run->input[0] = value;
    run->node[run->n_nodes++] = node;
    run->node[run->n_nodes++] = back;
    return back;
}

/* The Concat along the last axis that makes the value for nobody but `user` and others of its kind; NULL. */
static struct ox_node *joiner_of(struct ox_rewrite *rw, const struct ox_value *value,
                                 const struct ox_node *user)
{
    struct ox_node *concat = ox_made_by(rw, value, "Concat", false);
    const int rank = ox_rank_of(rw, value);
    const int64_t axis = concat ? ox_attr_int(concat, "axis", 0) : 0;
    if (!concat || rank < 1 || (axis != -1 && axis != rank - 1) || ox_rw_is_pinned(rw, value))
        return NULL;
    for (const struct ox_use *use = ox_rw_uses(rw, value); use; use = use->next)
        if (use->node != user && !ox_is_op(use->node, "Concat") &&
            !ox_is_domain_op(use->node, OX_OWN_DOMAIN, "Elementwise"))
            return NULL;
    for (size_t i = 0; i < concat->n_inputs; i++)
        if (!is_float(rw, concat->inputs[i]) || ox_rank_of(rw, concat->inputs[i]) != rank)
            return NULL;
    return concat;
}

/* The values that are joined to `value`, in their order; those that are joined ones themselves in their parts. */
static size_t find_parts(struct ox_rewrite *rw, struct ox_value *value, const struct ox_node *user,
                         struct ox_value **part)
{
    size_t n = 1;
    part[0] = value;
    for (size_t i = 0; i < n;) {
        struct ox_node *concat = joiner_of(rw, part[i], user);
        if (!concat || n + concat->n_inputs > MOST_JOINED) {
            i++;
            continue;
        }
        memmove(part + i + concat->n_inputs, part + i + 1, (n - i - 1) * sizeof(struct ox_value *));
        memcpy(part + i, concat->inputs, concat->n_inputs * sizeof(struct ox_value *));
        n += concat->n_inputs - 1;
    }
    return n;
}

/* What a Concat before the run joins is left to the run. Gives the first of the inputs that are joined; 0: none. */
static size_t take_concat(struct ox_rewrite *rw, struct run *run)
{
    struct ox_value *part[MOST_JOINED];
    const size_t n = find_parts(rw, run->input[0], run->node[0], part), first = run->n_inputs;
    run->input[0] = part[0];
    for (size_t i = 1; i < n; i++)
        run->input[run->n_inputs++] = part[i];
    return n > 1 ? first : 0;
}

/* The value that the run begins with; NULL: the node does not begin one. */
static struct ox_value *begin(struct ox_rewrite *rw, struct run *run, struct ox_node *node)
{
    struct ox_codes codes;
    run->n_steps = run->n_nodes = run->n_maps = run->from = run->to = run->table = 0;
    run->n_inputs = 1;
    if (ox_is_dequantize(node) && node->n_outputs == 1 &&
        ox_codes_of_one(rw, node->outputs[0], &codes)) {
        run->from = add_codes(run, node, &codes);
        return codes.codes;
    }
    if (ox_is_domain_op(node, OX_OWN_DOMAIN, "Lookup") && is_float(rw, node->inputs[1])) {
        run->node[run->n_nodes++] = node;
        run->table = run->n_inputs;
        run->input[run->n_inputs++] = node->inputs[1];
        return node->inputs[0];
    }
    if (take_grid(rw, run, node, ox_input(node, 0)))
        return run->input[0];
    return take(rw, run, node, NULL) ? run->input[0] : NULL;
}

/* Whether the value ends a run that begins with codes and whose operands so far are constants. */
static bool follows_codes(struct ox_rewrite *rw, const struct ox_value *value)
{
    for (int i = 0; i < OX_MOST_STEPS; i++) {
        const struct ox_node *node = value->producer;
        struct ox_codes codes;
        enum ox_binary pair;
        if (!node || node->n_inputs != 2 || node->domain[0] || !ox_fast_pair(node->op_type, &pair))
            return i > 0 && ox_codes_of_one(rw, value, &codes);
        const int fixed = ox_rw_stored(rw, node->inputs[1]) != NULL;
        if (!ox_rw_stored(rw, node->inputs[fixed]) || !ox_rw_only_user(rw, value) ||
            !ox_same_shape(rw, node->inputs[!fixed], value))
            return false;
        value = node->inputs[!fixed];
    }
    return false;
}

/* Whether codes that the node dequantizes are better read as the operand of another run. */
static bool is_operand(struct ox_rewrite *rw, const struct ox_node *node)
{
    const struct ox_value *out = node->outputs[0];
    const struct ox_node *next = ox_rw_only_user(rw, out);
    enum ox_binary pair;
    if (!next || !ox_is_dequantize(node) || next->n_inputs != 2 || next->domain[0] ||
        !ox_fast_pair(next->op_type, &pair))
        return false;
    const struct ox_value *other = ox_other_input(next, out);
    return other && ox_same_shape(rw, other, out) && follows_codes(rw, other);
}

static void look_at(struct ox_rewrite *rw, struct ox_node *node, struct run *run)
{
    struct ox_value *first = begin(rw, run, node);
    struct ox_codes codes;
    if (!first || is_operand(rw, node))
        return;
    for (struct ox_node *last = run->node[run->n_nodes - 1], *next, *back;
         (next = ox_rw_only_user(rw, last->outputs[0])); last = next) {
        if ((back = take_grid(rw, run, next, last->outputs[0]))) {
            next = back;
            continue;
        }
        if (run->n_steps && ox_codes_made(rw, next, &codes)) {
            run->to = add_codes(run, next, &codes);
            break;
        }
        if (!take(rw, run, next, last->outputs[0]))
            break;
    }
    if (run->n_nodes < 2)
        return;
    struct ox_node *last = run->node[run->n_nodes - 1];
    run->input[0] = first;
    const size_t joined = run->from || run->table ? 0 : take_concat(rw, run);
    ox_rw_become(rw, last, "Elementwise", OX_OWN_DOMAIN, run->input, run->n_inputs);
    ox_rw_clear_attrs(rw, last);
    rw->failed |= !ox_node_set_ints(last, "steps", run->field, run->n_steps * OX_STEP_FIELDS);
    rw->failed |= joined && !ox_node_set_int(last, "joined", (int64_t)joined);
    rw->failed |= run->table && !ox_node_set_int(last, "table", (int64_t)run->table);
    rw->failed |= run->from && !ox_node_set_int(last, "from", (int64_t)run->from);
    rw->failed |= run->to && !ox_node_set_int(last, "to", (int64_t)run->to);
    for (size_t i = 0; i + 1 < run->n_nodes; i++)
        ox_rw_remove(rw, run->node[i]);
}

/* Gradient differentiates the nodes themselves. */
static bool has_gradient(const struct ox_graph *graph)
{
    for (size_t i = 0; i < graph->n_nodes; i++)
        if (strcmp(graph->nodes[i]->op_type, "Gradient") == 0)
            return true;
    return false;
}

enum ox_status ox_pass_fuse_steps(struct ox_rewrite *rw, struct ox_graph *graph,
                                  struct ox_error *err)
{
    struct run *run = ox_rw_scratch(rw, 1, sizeof *run);
    if (has_gradient(graph))
        return OX_OK;
    for (size_t i = 0; run && i < graph->n_nodes && !rw->failed; i++) {
        struct ox_node *node = graph->nodes[i];
        OX_TRY(ox_env_poll(rw->env, err));
        if (!ox_rw_gone(rw, node))
            look_at(rw, node, run);
    }
    return OX_OK;
}
