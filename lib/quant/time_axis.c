/* Whether rows of an array are samples: inputs of recurrent models often begin with time. */
#include <ctype.h>
#include <string.h>

#include "quant/samples.h"

/* The axis of a Transpose's output that its input's axis becomes; -1: not known. */
static int transposed(const struct ox_node *node, int axis, unsigned rank)
{
    const struct ox_attr *perm = ox_node_attr(node, "perm");
    if (!perm)
        return (int)rank - 1 - axis;
    for (size_t i = 0; perm->type == OX_ATTR_INTS && i < perm->n; i++)
        if (perm->ints[i] == axis)
            return (int)i;
    return -1;
}

/* Whether that axis of the value is what an LSTM, GRU or RNN goes along, through what only moves axes. */
static bool is_walked(const struct ox_value *value, int axis, unsigned rank, int depth)
{
    enum { MOST_DEEP = 6 };
    const struct ox_graph *graph = value->graph;
    for (size_t i = 0; i < graph->n_nodes && axis >= 0 && depth < MOST_DEEP; i++) {
        const struct ox_node *node = graph->nodes[i];
        if (*node->domain || !node->n_inputs || node->inputs[0] != value || !node->n_outputs)
            continue;
        const char *op = node->op_type;
        if (strcmp(op, "LSTM") == 0 || strcmp(op, "GRU") == 0 || strcmp(op, "RNN") == 0) {
            const struct ox_attr *layout = ox_node_attr(node, "layout");
            return axis == (layout && layout->type == OX_ATTR_INT && layout->i == 1);
        }
        bool moves = strcmp(op, "Transpose") == 0;
        if (node->outputs[0] && (moves || strcmp(op, "Identity") == 0 || strcmp(op, "Cast") == 0) &&
            is_walked(node->outputs[0], moves ? transposed(node, axis, rank) : axis, rank,
                      depth + 1))
            return true;
    }
    return false;
}

enum called { NEITHER, BATCH, TIME };

/* By its name. */
static enum called called(const struct ox_expr *dim)
{
    static const struct {
        const char *part, *whole;
        enum called what;
    } words[] = {{"batch", "b", BATCH}, {"sample", "n", BATCH}, {"seq", "t", TIME},
                 {"time", "s", TIME},   {"frame", "len", TIME}, {"step", "length", TIME}};
    const char *symbol;
    char name[64];
    size_t n = 0;
    if (!ox_expr_is_symbol(dim, &symbol))
        return NEITHER;
    for (; symbol[n] && n + 1 < sizeof name; n++)
        name[n] = (char)tolower((unsigned char)symbol[n]);
    name[n] = '\0';
    for (size_t i = 0; i < OX_COUNT(words); i++)
        if (strstr(name, words[i].part) || strcmp(name, words[i].whole) == 0)
            return words[i].what;
    return NEITHER;
}

enum ox_first_axis ox_first_axis(const struct ox_value *input)
{
    const struct ox_type *type = input->type;
    if (!type || !type->has_rank || !type->rank || ox_expr_is_int(type->dims[0], NULL))
        return OX_FIRST_SAMPLES;
    if (is_walked(input, 0, type->rank, 0))
        return OX_FIRST_TIME;
    for (unsigned i = 1; i < type->rank; i++)
        if (is_walked(input, (int)i, type->rank, 0))
            return OX_FIRST_SAMPLES;
    const enum called first = called(type->dims[0]);
    if (first != NEITHER)
        return first == TIME ? OX_FIRST_TIME : OX_FIRST_SAMPLES;
    bool open = (type->rank == 2 || type->rank == 3) && !ox_expr_is_int(type->dims[1], NULL);
    return open && called(type->dims[1]) != TIME ? OX_FIRST_OPEN : OX_FIRST_SAMPLES;
}
