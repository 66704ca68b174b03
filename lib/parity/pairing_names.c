/* Which value of one model has the name of which of the other, and where that name misleads: exporters count, so that one node more
 * renames all that follows, and a folded batch norm leaves its convolution the name that it had. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "parity/pairing.h"

struct naming {
    const struct ox_graph *a, *b;
    struct ox_strmap ops[2];         /* names of A's and B's operators */
    const struct ox_value **partner; /* of B's values by id */
    bool shifted;                    /* a count stands for one thing in A and another in B */
};

/* ---- Counts -------------------------------------------------------------------------------------------------------- */

/* Where the digits at the end of a name begin. */
static size_t stem_length(const char *name)
{
    size_t n = strlen(name);
    while (n && isdigit((unsigned char)name[n - 1]))
        n--;
    return n;
}

/* "123", "onnx::Conv_123": nothing but a count. */
static bool is_number(const char *name)
{
    size_t n = stem_length(name);
    return name[n] && (!n || strncmp(name, "onnx::", 6) == 0);
}

/* "getitem_15", "input.7"; of "getitem" and "add" too, where "add_1" follows. */
static bool is_counted(const struct ox_graph *graph, const char *name)
{
    char next[256];
    size_t n = stem_length(name);
    if (name[n])
        return is_number(name) || name[n - 1] == '_' || name[n - 1] == '.';
    return snprintf(next, sizeof next, "%s_1", name) < (int)sizeof next &&
           ox_graph_value(graph, next);
}

/* "/layer1/Add_3_output_0", and "/layer1/Add_output_0", which comes before "/layer1/Add_1_output_0". */
static bool is_counted_in_scope(const struct ox_value *value)
{
    const char *slash = strrchr(value->name, '/');
    const char *op = value->producer->op_type;
    return slash && strncmp(slash + 1, op, strlen(op)) == 0 &&
           strstr(slash + 1 + strlen(op), "_output_");
}

static bool is_made_by_count(const struct ox_value *value)
{
    return !value->is_output &&
           (is_counted(value->graph, value->name) || is_counted_in_scope(value));
}

/* ---- What speaks for a pair ---------------------------------------------------------------------------------------- */

struct votes {
    unsigned agree, contradict;
    bool other_weights; /* each side takes one that the other side has elsewhere */
};

static bool is_weight_of(const struct ox_graph *graph, const char *name)
{
    const struct ox_value *value = ox_graph_value(graph, name);
    return value && value->init;
}

static void vote_weights(const struct naming *n, bool same_op, const struct ox_value *x,
                         const struct ox_value *y, struct votes *votes)
{
    if (is_counted(n->a, x->name) || is_counted(n->b, y->name))
        return;
    if (strcmp(x->name, y->name) == 0) {
        votes->agree++;
    } else if (is_weight_of(n->a, y->name) && is_weight_of(n->b, x->name)) {
        votes->contradict++;
        votes->other_weights = same_op;
    }
}

static bool is_same_op(const struct ox_node *a, const struct ox_node *b)
{
    return strcmp(a->op_type, b->op_type) == 0;
}

static bool takes_other_weights(const struct naming *n, const struct ox_node *a,
                                const struct ox_node *b)
{
    struct votes votes = {.agree = 0};
    for (size_t k = 0; a && b && k < a->n_inputs && k < b->n_inputs; k++)
        if (a->inputs[k] && a->inputs[k]->init && b->inputs[k] && b->inputs[k]->init)
            vote_weights(n, is_same_op(a, b), a->inputs[k], b->inputs[k], &votes);
    return votes.other_weights;
}

static void vote_inputs(const struct naming *n, const struct ox_value *x, const struct ox_value *y,
                        struct votes *votes)
{
    if (!y->producer && !x->producer)
        votes->agree += strcmp(x->name, y->name) == 0;
    else if (n->partner[y->id] == x)
        votes->agree++;
    else if (n->shifted || strcmp(x->name, y->name) == 0 ||
             (ox_graph_value(n->a, y->name) && ox_graph_value(n->b, x->name)) ||
             takes_other_weights(n, x->producer, y->producer))
        votes->contradict++;
}

static struct votes vote(const struct naming *n, const struct ox_node *a, const struct ox_node *b)
{
    struct votes votes = {.agree = 0};
    for (size_t k = 0; k < a->n_inputs && k < b->n_inputs; k++) {
        const struct ox_value *x = a->inputs[k], *y = b->inputs[k];
        if (!x || !y || !x->init != !y->init)
            continue;
        if (x->init)
            vote_weights(n, is_same_op(a, b), x, y, &votes);
        else
            vote_inputs(n, x, y, &votes);
    }
    return votes;
}

static bool has_op(const struct ox_strmap *ops, const char *op_type)
{
    return ox_strmap_find(ops, op_type, strlen(op_type)) != OX_STRMAP_NONE;
}

/* "more" ends in what "less" does without a step behind it, as where an activation was taken into the node before. */
static bool ends_behind(const struct ox_node *more, const struct ox_node *less)
{
    const struct ox_value *in = more->n_inputs ? more->inputs[0] : NULL;
    return in && in->producer && strcmp(in->producer->op_type, less->op_type) == 0;
}

/* Other operators alone may as well be the work of who fused or quantized: then one kind is missing on one side. */
static bool are_other_operators(const struct naming *n, const struct ox_node *a,
                                const struct ox_node *b)
{
    return !is_same_op(a, b) && !ends_behind(a, b) && !ends_behind(b, a) &&
           has_op(&n->ops[0], b->op_type) && has_op(&n->ops[1], a->op_type);
}

/* Both have what the first input of each is, made by operators that differ. */
static bool comes_from_elsewhere(const struct naming *n, const struct ox_node *a,
                                 const struct ox_node *b)
{
    const struct ox_value *x = a->inputs[0], *y = b->inputs[0];
    return x && y && x->producer && y->producer && ox_graph_value(n->a, y->name) &&
           ox_graph_value(n->b, x->name) && are_other_operators(n, x->producer, y->producer);
}

static bool does_otherwise(const struct naming *n, const struct ox_node *a, const struct ox_node *b)
{
    const struct ox_attr *x = ox_node_attr(a, "to"), *y = ox_node_attr(b, "to");
    return are_other_operators(n, a, b) || (x && y && x->i != y->i) ||
           comes_from_elsewhere(n, a, b);
}

/* ---- Pairs --------------------------------------------------------------------------------------------------------- */

static void pair_names(struct naming *n)
{
    for (size_t i = 0; i < n->b->n_nodes; i++) {
        const struct ox_node *node = n->b->nodes[i];
        for (size_t k = 0; k < node->n_outputs; k++) {
            const struct ox_value *b = node->outputs[k];
            const struct ox_value *a = b ? ox_graph_value(n->a, b->name) : NULL;
            if (a && a->producer &&
                !(is_number(b->name) && strcmp(a->producer->op_type, node->op_type) != 0))
                n->partner[b->id] = a;
        }
    }
}

static void find_shift(struct naming *n)
{
    for (size_t i = 0; i < n->b->n_nodes && !n->shifted; i++) {
        const struct ox_node *node = n->b->nodes[i];
        for (size_t k = 0; k < node->n_outputs && !n->shifted; k++) {
            const struct ox_value *b = node->outputs[k], *a = b ? n->partner[b->id] : NULL;
            if (!a || !is_made_by_count(a) || !is_made_by_count(b))
                continue;
            const struct votes votes = vote(n, a->producer, node);
            const bool elsewhere = votes.contradict && !votes.agree;
            n->shifted =
                votes.other_weights ||
                (elsewhere && (votes.contradict > 1 || does_otherwise(n, a->producer, node)));
        }
    }
}

/* In the order of the nodes, so that what follows from a pair that is none is none either, up to the next weight of a name. */
static void drop_shifted(struct naming *n)
{
    for (size_t i = 0; i < n->b->n_nodes; i++) {
        const struct ox_node *node = n->b->nodes[i];
        for (size_t k = 0; k < node->n_outputs; k++) {
            const struct ox_value *b = node->outputs[k], *a = b ? n->partner[b->id] : NULL;
            if (!a || !is_made_by_count(b))
                continue;
            const struct votes votes = vote(n, a->producer, node);
            if (votes.contradict > votes.agree || strcmp(a->producer->op_type, node->op_type) != 0)
                n->partner[b->id] = NULL;
        }
    }
}

/* ---- Folded batch norms -------------------------------------------------------------------------------------------- */

static bool is_normalized(const struct ox_graph *graph, const struct ox_value *value)
{
    for (size_t i = value->producer->index + 1; i < graph->n_nodes; i++) {
        const struct ox_node *node = graph->nodes[i];
        if (strcmp(node->op_type, "BatchNormalization") == 0 && node->n_inputs &&
            node->inputs[0] == value)
            return true;
    }
    return false;
}

/* What a batch norm makes that the other side, whose values `theirs` are, has in the weights before it; NULL: it has the norm. */
static const struct ox_value *normalized(const struct ox_node *norm, const struct ox_graph *theirs,
                                         const struct ox_value **before,
                                         const struct ox_value **folded)
{
    const struct ox_value *in = norm->n_inputs ? norm->inputs[0] : NULL;
    const struct ox_value *out = norm->n_outputs ? norm->outputs[0] : NULL;
    if (strcmp(norm->op_type, "BatchNormalization") != 0 || !in || !in->producer || !out)
        return NULL;
    *before = in;
    *folded = ox_graph_value(theirs, in->name);
    bool is = *folded && (*folded)->producer && !ox_graph_value(theirs, out->name) &&
              strcmp((*folded)->producer->op_type, in->producer->op_type) == 0 &&
              !is_normalized(theirs, *folded);
    return is ? out : NULL;
}

static void pair_folded(struct naming *n)
{
    const struct ox_value *before, *folded;
    for (size_t i = 0; i < n->a->n_nodes; i++) {
        const struct ox_value *out = normalized(n->a->nodes[i], n->b, &before, &folded);
        if (out && n->partner[folded->id] == before)
            n->partner[folded->id] = out;
    }
    for (size_t i = 0; i < n->b->n_nodes; i++) {
        const struct ox_value *out = normalized(n->b->nodes[i], n->a, &before, &folded);
        if (out && n->partner[before->id] == folded) {
            n->partner[before->id] = NULL;
            n->partner[out->id] = folded;
        }
    }
}

/* Whether one side alone is quantized: its names are the other's, and what it does not share is Q and DQ. */
static bool is_quantized_alone(const struct naming *n)
{
    return has_op(&n->ops[0], "DequantizeLinear") != has_op(&n->ops[1], "DequantizeLinear");
}

static enum ox_status list_ops(struct ox_strmap *ops, const struct ox_graph *graph,
                               struct ox_error *err)
{
    for (size_t i = 0; i < graph->n_nodes; i++) {
        const char *op = graph->nodes[i]->op_type;
        uint32_t there = 0;
        if (!ox_strmap_add(ops, op, strlen(op), &there, NULL))
            return ox_no_memory(err);
    }
    return OX_OK;
}

enum ox_status ox_match_names(const struct ox_graph *a, const struct ox_graph *b,
                              const struct ox_value ***partner, struct ox_error *err)
{
    struct naming n = {.a = a, .b = b};
    n.partner = calloc(b->n_values + 1, sizeof *n.partner);
    if (!n.partner)
        return ox_no_memory(err);
    enum ox_status status;
    ox_strmap_init(&n.ops[0]);
    ox_strmap_init(&n.ops[1]);
    OX_TRY_CLEANUP(list_ops(&n.ops[0], a, err));
    OX_TRY_CLEANUP(list_ops(&n.ops[1], b, err));
    pair_names(&n);
    if (!is_quantized_alone(&n))
        find_shift(&n);
    if (n.shifted)
        drop_shifted(&n);
    pair_folded(&n);
    *partner = n.partner;
    n.partner = NULL;
    status = OX_OK;
cleanup:
    ox_strmap_release(&n.ops[0]);
    ox_strmap_release(&n.ops[1]);
    free(n.partner);
    return status;
}
