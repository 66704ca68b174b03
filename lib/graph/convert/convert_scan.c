/* Scan of opset 8 runs over a batch, first axis of all that goes in and out, and takes the length of each sequence; from opset 9 on there
 * is neither, and what is scanned may lie along any axis. A batch of one is the same work. */
#include "graph/convert/convert_adapters.h"

static bool set_list(struct ox_adapt *c, struct ox_node *node, const char *name,
                     const int64_t *list, size_t n)
{
    return (node && ox_node_set_ints(node, name, list, n)) || ox_adapt_no_memory(c);
}

static bool set_axis(struct ox_adapt *c, struct ox_node *node)
{
    static const int64_t first = 0;
    return set_list(c, node, "axes", &first, 1);
}

/* The states are first among inputs and among outputs. */
static bool count_states(struct ox_adapt *c, size_t first, size_t *n_states)
{
    int64_t n_scans;
    if (!ox_adapt_int(c, "num_scan_inputs", 0, &n_scans))
        return false;
    if (n_scans < 1 || c->node->n_inputs < first || (uint64_t)n_scans > c->node->n_inputs - first)
        return ox_adapt_block(c, "num_scan_inputs is %lld; there are %zu inputs",
                              (long long)n_scans, c->node->n_inputs);
    *n_states = c->node->n_inputs - first - (size_t)n_scans;
    return true;
}

/* The attribute's list, which the node has no longer. *n is 0 when there is none. */
static bool take_list(struct ox_adapt *c, const char *name, int64_t *list, size_t *n)
{
    bool found;
    if (!ox_adapt_int_list(c, name, list, n, &found))
        return false;
    ox_adapt_drop(c, name);
    return true;
}

/* The attribute takes the name that it has in the other version. */
static bool rename_directions(struct ox_adapt *c, const char *from, const char *to)
{
    int64_t list[OX_ADAPT_RANK];
    size_t n;
    return take_list(c, from, list, &n) && (!n || ox_adapt_set_ints(c, to, list, n));
}

/* ---- Up ----------------------------------------------------------------------------------------------------------- */

static bool is_batch_of_one(struct ox_adapt *c)
{
    int64_t batch = -1;
    for (size_t i = 1; i < c->node->n_inputs && batch < 0; i++)
        batch = ox_adapt_dim(c, ox_adapt_input(c, i), 0);
    if (batch < 0)
        return ox_adapt_block(c, "opset 9 has no batch axis, and whether it is 1 is not known");
    return batch == 1 ||
           ox_adapt_block(c, "opset 9 has no batch axis, and here it is %lld", (long long)batch);
}

/* Lengths are nothing new where they tell the whole sequence. */
static bool is_whole_length(struct ox_adapt *c, size_t n_states)
{
    const struct ox_tensor *lengths = ox_adapt_known(c, ox_adapt_input(c, 0));
    const int64_t whole = ox_adapt_dim(c, ox_adapt_input(c, 1 + n_states), 1);
    if (!ox_adapt_input(c, 0) || (lengths && lengths->dtype == OX_INT64 && lengths->n == 1 &&
                                  ox_tensor_get_int(lengths, 0) == whole))
        return true;
    return ox_adapt_block(c, "opset 9 has no sequence_lens, and it may be less than the sequence");
}

bool ox_up_scan(struct ox_adapt *c)
{
    size_t n_states = 0;
    if (!count_states(c, 1, &n_states) || !is_batch_of_one(c) || !is_whole_length(c, n_states))
        return false;
    if (!rename_directions(c, "directions", "scan_input_directions"))
        return false;
    for (size_t i = 0; i + 1 < c->node->n_inputs; i++) {
        if (!ox_adapt_set_input(c, i, ox_adapt_input(c, i + 1)) ||
            !set_axis(c, ox_adapt_before(c, i, "Squeeze")))
            return false;
    }
    ox_adapt_cut_inputs(c, c->node->n_inputs - 1);
    for (size_t i = 0; i < c->node->n_outputs; i++) {
        if (c->node->outputs[i] && !set_axis(c, ox_adapt_after(c, i, "Unsqueeze")))
            return false;
    }
    return true;
}

/* ---- Down --------------------------------------------------------------------------------------------------------- */

/* The order of axes that brings one to the front, or the first there. */
static void order_axes(int64_t *order, int rank, int64_t axis, bool to_front)
{
    for (int i = 0; i < rank; i++) {
        const int64_t before = i == 0 ? axis : i <= axis ? i - 1 : i;
        const int64_t after = i == axis ? 0 : i < axis ? i + 1 : i;
        order[i] = to_front ? before : after;
    }
}

/* A Transpose where what is scanned does not lie along the first axis. */
static bool turn(struct ox_adapt *c, size_t i, bool output, int64_t axis)
{
    int64_t order[OX_ADAPT_RANK];
    if (!axis)
        return true;
    const int rank = ox_adapt_rank(c, output ? ox_adapt_output(c, i) : ox_adapt_input(c, i));
    if (rank < 0)
        return ox_adapt_block(c, "the rank of %s %zu is not known", output ? "output" : "input", i);
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank)
        return ox_adapt_block(c, "its axis for %s %zu is outside the rank %d",
                              output ? "output" : "input", i, rank);
    order_axes(order, rank, axis, !output);
    struct ox_node *node =
        output ? ox_adapt_after(c, i, "Transpose") : ox_adapt_before(c, i, "Transpose");
    return set_list(c, node, "perm", order, (size_t)rank);
}

static bool down_inputs(struct ox_adapt *c, size_t n_states)
{
    int64_t axes[OX_ADAPT_RANK];
    size_t n_axes;
    if (!take_list(c, "scan_input_axes", axes, &n_axes))
        return false;
    for (size_t i = 0; i < c->node->n_inputs; i++) {
        const bool scanned = i >= n_states && i - n_states < n_axes;
        if (!turn(c, i, false, scanned ? axes[i - n_states] : 0) ||
            !set_axis(c, ox_adapt_before(c, i, "Unsqueeze")))
            return false;
    }
    for (size_t i = c->node->n_inputs; i; i--) {
        if (!ox_adapt_set_input(c, i, c->node->inputs[i - 1]))
            return false;
    }
    return ox_adapt_set_input(c, 0, NULL);
}

static bool down_outputs(struct ox_adapt *c, size_t n_states)
{
    int64_t axes[OX_ADAPT_RANK];
    size_t n_axes;
    if (!take_list(c, "scan_output_axes", axes, &n_axes))
        return false;
    for (size_t i = 0; i < c->node->n_outputs; i++) {
        const bool scanned = i >= n_states && i - n_states < n_axes;
        if (!c->node->outputs[i])
            continue;
        if (!turn(c, i, true, scanned ? axes[i - n_states] : 0) ||
            !set_axis(c, ox_adapt_after(c, i, "Squeeze")))
            return false;
    }
    return true;
}

bool ox_down_scan(struct ox_adapt *c)
{
    int64_t reversed[OX_ADAPT_RANK];
    size_t n_states = 0, n;
    if (!count_states(c, 0, &n_states) || !take_list(c, "scan_output_directions", reversed, &n))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (reversed[i])
            return ox_adapt_block(c, "opset 8 does not stack outputs from the end");
    }
    return rename_directions(c, "scan_input_directions", "directions") &&
           down_inputs(c, n_states) && down_outputs(c, n_states);
}
