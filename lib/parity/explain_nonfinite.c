/* Which node makes the first NaN or infinity of a side, where many lie between the values that agree and the one that departs. */
#include <math.h>

#include "parity/causes.h"

static bool is_nonfinite(const struct ox_explaining *e, const struct ox_datum *value)
{
    struct ox_metrics same;
    return value && value->kind == OX_DATUM_TENSOR && value->tensor->dtype != OX_STRING &&
           ox_explain_distance(e, value, value, &same, NULL) == OX_OK && same.a_nan + same.a_inf;
}

/* The first node of a side's region whose first output is so; NULL: none, or it can't be told. */
static enum ox_status find_first(struct ox_explaining *e, bool of_a, const struct ox_node **found,
                                 struct ox_error *err)
{
    const struct ox_region *region = of_a ? &e->a : &e->b;
    const struct ox_node *nodes[OX_MOST_REGION];
    const char *names[OX_MOST_REGION];
    struct ox_datum *values[OX_MOST_REGION];
    size_t n = 0;
    *found = NULL;
    for (size_t i = 0; i < region->n_nodes; i++) {
        const struct ox_node *node = region->nodes[i];
        if (!node->n_outputs || !node->outputs[0])
            continue;
        nodes[n] = node;
        names[n++] = node->outputs[0]->name;
    }
    OX_TRY(ox_explain_fetch(e, of_a, names, n, values, err));
    for (size_t i = 0; i < n; i++) {
        if (!*found && is_nonfinite(e, values[i]))
            *found = nodes[i];
        ox_datum_release(values[i]);
    }
    return OX_OK;
}

enum ox_status ox_explain_nonfinite(struct ox_explaining *e, struct ox_error *err)
{
    const bool bad[2] = {is_nonfinite(e, e->a_out), is_nonfinite(e, e->b_out)};
    const struct ox_node *nodes[2] = {NULL, NULL};
    char label[OX_LABEL_SIZE];
    if (bad[0] == bad[1] || (bad[0] ? &e->a : &e->b)->n_nodes < 2)
        return OX_OK;
    for (int k = 0; k < 2; k++)
        OX_TRY(find_first(e, k == 0, &nodes[k], err));
    /* A mask may be infinite on both sides. */
    const struct ox_node *node = nodes[bad[0] ? 0 : 1];
    if (node && !nodes[bad[0] ? 1 : 0])
        ox_cause_add(e->causes, 98, "first-nonfinite",
                     "%s's first NaN or infinity is made by %s (node '%s')", bad[0] ? "A" : "B",
                     node->op_type, ox_explain_label(node, label));
    return OX_OK;
}
