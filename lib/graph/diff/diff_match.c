/* Which node and which value of one graph is which of the other. */
#include <stdlib.h>
#include <string.h>

#include "graph/diff/diff.h"
#include "model/value.h"

/* ---- Values ------------------------------------------------------------------------------------------------------- */

static void tie_values(struct ox_diff_pair *p, const struct ox_value *a, const struct ox_value *b)
{
    if (!a || !b || a->graph != p->a || b->graph != p->b || p->values_ab[a->id] != OX_DIFF_NONE ||
        p->values_ba[b->id] != OX_DIFF_NONE)
        return;
    p->values_ab[a->id] = b->id;
    p->values_ba[b->id] = a->id;
}

bool ox_diff_same_value(const struct ox_diff_pair *pair, const struct ox_value *a,
                        const struct ox_value *b)
{
    if (!a || !b)
        return !a && !b;
    while (pair && a->outer && b->outer) {
        a = a->outer;
        b = b->outer;
        pair = pair->up;
    }
    while (pair && pair->a != a->graph)
        pair = pair->up;
    return pair && pair->b == b->graph && pair->values_ab[a->id] == b->id;
}

const struct ox_stored *ox_diff_stored(const struct ox_value *value)
{
    return value->is_input || value->outer ? NULL : ox_value_stored(value);
}

/* Whether one of them is an initializer and both are known before anything runs. */
static bool are_stored(const struct ox_value *a, const struct ox_value *b)
{
    return a && b && (a->init || b->init) && ox_diff_stored(a) && ox_diff_stored(b);
}

/* ---- Nodes -------------------------------------------------------------------------------------------------------- */

bool ox_diff_stands_in(const struct ox_node *node, const uint32_t *tied_nodes,
                       const uint32_t *tied_values)
{
    return tied_nodes[node->index] == OX_DIFF_NONE && node->n_outputs && node->outputs[0] &&
           tied_values[node->outputs[0]->id] != OX_DIFF_NONE;
}

static bool same_operator(const struct ox_node *a, const struct ox_node *b)
{
    return strcmp(a->op_type, b->op_type) == 0 && strcmp(a->domain, b->domain) == 0;
}

static bool is_free(const struct ox_diff_pair *p, const struct ox_node *a, const struct ox_node *b)
{
    return a && b && a->graph == p->a && b->graph == p->b &&
           p->nodes_ab[a->index] == OX_DIFF_NONE && p->nodes_ba[b->index] == OX_DIFF_NONE &&
           !ox_diff_stands_in(a, p->nodes_ab, p->values_ab) &&
           !ox_diff_stands_in(b, p->nodes_ba, p->values_ba);
}

static void tie_nodes(struct ox_diff_pair *p, const struct ox_node *a, const struct ox_node *b)
{
    p->nodes_ab[a->index] = b->index;
    p->nodes_ba[b->index] = a->index;
    for (size_t i = 0; i < a->n_outputs && i < b->n_outputs; i++)
        tie_values(p, a->outputs[i], b->outputs[i]);
    for (size_t i = 0; i < a->n_inputs && i < b->n_inputs; i++) {
        const struct ox_value *x = a->inputs[i], *y = b->inputs[i];
        struct ox_diff_pair *at = p;
        for (; x && y && x->outer && y->outer && at; at = at->up) {
            x = x->outer;
            y = y->outer;
        }
        if (at && are_stored(x, y))
            tie_values(at, x, y);
    }
}

/* By the name of an output, which is defined once, then by the node's own. */
static void match_names(struct ox_diff_pair *p, bool any_operator)
{
    for (size_t i = 0; i < p->a->n_nodes; i++) {
        const struct ox_node *a = p->a->nodes[i];
        const struct ox_value *out = a->n_outputs ? a->outputs[0] : NULL;
        const struct ox_value *other = out ? ox_graph_value(p->b, out->name) : NULL;
        const struct ox_node *b = other ? other->producer : NULL;
        if (is_free(p, a, b) && other->output_index == 0 && (any_operator || same_operator(a, b)))
            tie_nodes(p, a, b);
    }
}

static enum ox_status match_node_names(struct ox_differ *d, struct ox_diff_pair *p)
{
    struct ox_strmap names;
    ox_strmap_init(&names);
    bool good = true;
    for (size_t i = 0; i < p->b->n_nodes && good; i++) {
        const struct ox_node *b = p->b->nodes[i];
        uint32_t index = (uint32_t)i;
        if (*b->name && p->nodes_ba[i] == OX_DIFF_NONE)
            good = ox_strmap_add(&names, b->name, strlen(b->name), &index, NULL);
    }
    for (size_t i = 0; i < p->a->n_nodes && good; i++) {
        const struct ox_node *a = p->a->nodes[i];
        uint32_t index = *a->name && p->nodes_ab[i] == OX_DIFF_NONE
                             ? ox_strmap_find(&names, a->name, strlen(a->name))
                             : OX_STRMAP_NONE;
        const struct ox_node *b = index == OX_STRMAP_NONE ? NULL : p->b->nodes[index];
        if (is_free(p, a, b) && same_operator(a, b))
            tie_nodes(p, a, b);
    }
    ox_strmap_release(&names);
    return good ? OX_OK : ox_diff_no_memory(d);
}

/* ---- By what is computed from what -------------------------------------------------------------------------------- */

/* Numbers of values that nothing computes. */
enum { OMITTED = 7, ENCLOSING = 11, STORED = 13, FIRST_INPUT = 17 };

struct side {
    const struct ox_graph *graph;
    uint64_t *values; /* by id: a number that tells what the value is computed from */
    uint64_t *nodes;  /* by place */
};

static uint64_t value_number(const struct side *s, const struct ox_value *value)
{
    if (!value)
        return OMITTED;
    if (value->outer)
        return ENCLOSING;
    return s->values[value->id];
}

/* exact: attributes and the types of weights count too. Subgraphs count by their number of nodes. */
static uint64_t node_number(const struct side *s, const struct ox_node *node, bool exact)
{
    uint64_t hash = ox_diff_mix_text(ox_diff_mix_text(3, node->domain), node->op_type);
    for (size_t i = 0; i < node->n_inputs; i++) {
        uint64_t in = value_number(s, node->inputs[i]);
        hash = ox_diff_mix(hash, &in, sizeof in);
    }
    for (size_t i = 0; i < node->n_attrs && exact; i++) {
        struct ox_strbuf text;
        ox_strbuf_init(&text);
        ox_diff_attr_text(&text, &node->attrs[i]);
        /* Their order means nothing. */
        hash += ox_diff_mix(ox_diff_mix_text(5, node->attrs[i].name), text.data, text.len);
        ox_strbuf_release(&text);
    }
    return hash;
}

static void number_graph(struct side *s, bool exact)
{
    const struct ox_graph *graph = s->graph;
    for (size_t i = 0; i < graph->n_values; i++) {
        const struct ox_value *value = graph->values[i];
        s->values[i] = value->init && exact ? ox_diff_tensor_hash(value->init) : STORED;
    }
    for (size_t i = 0; i < graph->n_inputs; i++)
        s->values[graph->inputs[i]->id] = FIRST_INPUT + i;
    for (size_t i = 0; i < graph->n_nodes; i++) {
        const struct ox_node *node = graph->nodes[i];
        s->nodes[i] = node_number(s, node, exact);
        for (size_t k = 0; k < node->n_outputs; k++) {
            const struct ox_value *out = node->outputs[k];
            const struct ox_stored *stored = out ? ox_diff_stored(out) : NULL;
            if (stored)
                s->values[out->id] = exact ? ox_diff_tensor_hash(stored) : STORED;
            else if (out)
                s->values[out->id] = ox_diff_mix(s->nodes[i], &k, sizeof k);
        }
    }
}

struct numbered {
    uint64_t number;
    uint32_t node;
};

static int by_number(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static size_t list_free(const struct side *s, const uint32_t *tied, struct numbered *list)
{
    size_t n = 0;
    for (size_t i = 0; i < s->graph->n_nodes; i++) {
        if (tied[i] == OX_DIFF_NONE)
            list[n++] = (struct numbered){s->nodes[i], (uint32_t)i};
    }
    qsort(list, n, sizeof *list, by_number);
    return n;
}

/* Nodes of one number on both sides, in the order in which they stand; only_if_one: where there is one on each side. */
static void match_lists(struct ox_diff_pair *p, const struct numbered *a, size_t n_a,
                        const struct numbered *b, size_t n_b, bool only_if_one)
{
    size_t j = 0;
    for (size_t i = 0; i < n_a;) {
        uint64_t number = a[i].number;
        size_t end = i, start;
        while (end < n_a && a[end].number == number)
            end++;
        while (j < n_b && b[j].number < number)
            j++;
        start = j;
        while (j < n_b && b[j].number == number)
            j++;
        size_t n = end - i < j - start ? end - i : j - start;
        if (only_if_one && (end - i != 1 || j - start != 1))
            n = 0;
        for (size_t k = 0; k < n; k++) {
            const struct ox_node *x = p->a->nodes[a[i + k].node],
                                 *y = p->b->nodes[b[start + k].node];
            if (is_free(p, x, y) && same_operator(x, y))
                tie_nodes(p, x, y);
        }
        i = end;
    }
}

static enum ox_status match_numbers(struct ox_differ *d, struct ox_diff_pair *p, bool exact,
                                    bool only_if_one)
{
    struct side sides[2] = {{.graph = p->a}, {.graph = p->b}};
    struct numbered *lists[2] = {NULL, NULL};
    size_t n[2] = {0, 0};
    bool good = true;
    for (int k = 0; k < 2; k++) {
        const struct ox_graph *graph = sides[k].graph;
        sides[k].values = calloc(graph->n_values + 1, sizeof(uint64_t));
        sides[k].nodes = calloc(graph->n_nodes + 1, sizeof(uint64_t));
        lists[k] = calloc(graph->n_nodes + 1, sizeof *lists[k]);
        good &= sides[k].values && sides[k].nodes && lists[k];
    }
    for (int k = 0; k < 2 && good; k++) {
        number_graph(&sides[k], exact);
        n[k] = list_free(&sides[k], k ? p->nodes_ba : p->nodes_ab, lists[k]);
    }
    if (good)
        match_lists(p, lists[0], n[0], lists[1], n[1], only_if_one);
    for (int k = 0; k < 2; k++) {
        free(sides[k].values);
        free(sides[k].nodes);
        free(lists[k]);
    }
    return good ? OX_OK : ox_diff_no_memory(d);
}

/* ---- From neighbour to neighbour ---------------------------------------------------------------------------------- */

/* What makes the inputs of nodes that are each other's, and what uses their outputs alone. */
static bool spread_back(struct ox_diff_pair *p, const struct ox_node *a, const struct ox_node *b)
{
    bool any = false;
    for (size_t i = 0; i < a->n_inputs && i < b->n_inputs; i++) {
        const struct ox_node *x = a->inputs[i] ? a->inputs[i]->producer : NULL;
        const struct ox_node *y = b->inputs[i] ? b->inputs[i]->producer : NULL;
        if (is_free(p, x, y) && same_operator(x, y) &&
            a->inputs[i]->output_index == b->inputs[i]->output_index) {
            tie_nodes(p, x, y);
            any = true;
        }
    }
    return any;
}

static bool spread_forward(struct ox_diff_pair *p, const struct ox_node *a, const struct ox_node *b)
{
    bool good = same_operator(a, b) && a->n_inputs == b->n_inputs;
    bool related = false;
    for (size_t i = 0; i < a->n_inputs && good; i++) {
        const struct ox_value *x = a->inputs[i], *y = b->inputs[i];
        bool made = x && y && x->producer && y->producer;
        bool same = ox_diff_same_value(p, x, y);
        related |= same && made;
        good = same || (x && y && !made);
    }
    if (good && related)
        tie_nodes(p, a, b);
    return good && related;
}

/* For each free node of b, the first free one of a with the same producers; both in order, so the search is short. */
static void spread(struct ox_diff_pair *p)
{
    enum { MOST_ROUNDS = 64, WINDOW = 64 };
    bool any = true;
    for (int round = 0; round < MOST_ROUNDS && any; round++) {
        any = false;
        for (size_t i = p->a->n_nodes; i-- > 0;) {
            if (p->nodes_ab[i] != OX_DIFF_NONE)
                any |= spread_back(p, p->a->nodes[i], p->b->nodes[p->nodes_ab[i]]);
        }
        size_t first = 0;
        for (size_t i = 0; i < p->a->n_nodes; i++) {
            if (p->nodes_ab[i] != OX_DIFF_NONE) {
                first = p->nodes_ab[i];
                continue;
            }
            size_t from = first > WINDOW / 2 ? first - WINDOW / 2 : 0;
            for (size_t j = from; j < p->b->n_nodes && j < from + WINDOW; j++) {
                if (is_free(p, p->a->nodes[i], p->b->nodes[j]) &&
                    spread_forward(p, p->a->nodes[i], p->b->nodes[j])) {
                    any = true;
                    break;
                }
            }
        }
    }
}

/* ---- Graphs ------------------------------------------------------------------------------------------------------- */

static const struct ox_value *sparse_value(const struct ox_graph *graph, size_t i)
{
    const struct ox_stored *values = graph->sparse_inits[i]->values;
    return values ? ox_graph_value(graph, values->name) : NULL;
}

static void match_ports(struct ox_diff_pair *p, bool ignore_names)
{
    const struct ox_graph *a = p->a, *b = p->b;
    bool same_count = a->n_inputs == b->n_inputs;
    for (size_t i = 0; i < a->n_inputs && !(ignore_names && same_count); i++) {
        struct ox_value *other = ox_graph_value(b, a->inputs[i]->name);
        if (other && other->is_input)
            tie_values(p, a->inputs[i], other);
    }
    for (size_t i = 0; i < a->n_inputs && i < b->n_inputs; i++) {
        if (same_count || !a->inputs[i]->init)
            tie_values(p, a->inputs[i], b->inputs[i]);
    }
    for (int side = 0; side < 2 && !ignore_names; side++) {
        const struct ox_graph *from = side ? b : a;
        for (size_t i = 0; i < from->n_inits; i++) {
            const struct ox_value *x = ox_graph_value(a, from->inits[i]->name),
                                  *y = ox_graph_value(b, from->inits[i]->name);
            if (x && y && ((x->init && y->init) || are_stored(x, y)))
                tie_values(p, x, y);
        }
    }
    for (size_t i = 0; i < a->n_sparse_inits; i++) {
        const struct ox_value *x = sparse_value(a, i);
        if (x && !ignore_names)
            tie_values(p, x, ox_graph_value(b, x->name));
        else if (i < b->n_sparse_inits)
            tie_values(p, x, sparse_value(b, i));
    }
}

/* Nodes of other operators in the same place: they make the same output, or the same value for the same node. */
static void match_replaced(struct ox_diff_pair *p, bool ignore_names)
{
    if (!ignore_names)
        match_names(p, true);
    for (size_t i = 0; i < p->a->n_outputs && i < p->b->n_outputs; i++) {
        const struct ox_node *x = p->a->outputs[i]->producer, *y = p->b->outputs[i]->producer;
        if (p->a->n_outputs == p->b->n_outputs && is_free(p, x, y))
            tie_nodes(p, x, y);
    }
    for (size_t i = 0; i < p->a->n_nodes; i++) {
        if (p->nodes_ab[i] == OX_DIFF_NONE)
            continue;
        const struct ox_node *a = p->a->nodes[i], *b = p->b->nodes[p->nodes_ab[i]];
        for (size_t k = 0; k < a->n_inputs && k < b->n_inputs; k++) {
            const struct ox_node *x = a->inputs[k] ? a->inputs[k]->producer : NULL;
            const struct ox_node *y = b->inputs[k] ? b->inputs[k]->producer : NULL;
            if (is_free(p, x, y) && x->n_inputs && y->n_inputs &&
                ox_diff_same_value(p, x->inputs[0], y->inputs[0]))
                tie_nodes(p, x, y);
        }
    }
}

enum ox_status ox_diff_match(struct ox_differ *d, struct ox_diff_pair *p)
{
    bool ignore_names = d->options.ignore[OX_DIFF_NAME];
    match_ports(p, ignore_names);
    if (!ignore_names) {
        match_names(p, false);
        OX_TRY(match_node_names(d, p));
        spread(p);
    }
    OX_TRY(match_numbers(d, p, true, false));
    spread(p);
    OX_TRY(match_numbers(d, p, false, true));
    spread(p);
    if (ignore_names) {
        match_names(p, false);
        OX_TRY(match_node_names(d, p));
        spread(p);
    }
    match_replaced(p, ignore_names);
    return OX_OK;
}
