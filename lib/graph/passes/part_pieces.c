/* The operators of the standard that a merged one is taken apart into, put where it stands. */
#include "graph/passes/part_merged.h"

#include <string.h>

struct ox_node *ox_part(const struct ox_parts *p, const char *op_type, const char *domain,
                        struct ox_value *const *in, size_t n_in, const struct ox_type *type)
{
    struct ox_value *out = ox_rw_value(p->rw, p->node->outputs[0]->name, type);
    if (!out)
        return NULL;
    /* In a model that is written names differ: the product keeps the node's. */
    const bool is_product = strcmp(op_type, "Conv") == 0 || strcmp(op_type, "Gemm") == 0 ||
                            strcmp(op_type, "MatMul") == 0;
    const char *name = p->rw->to_run || is_product ? p->node->name : out->name;
    return ox_rw_insert(p->rw, p->node, op_type, domain, name, in, n_in, &out, 1);
}

struct ox_value *ox_part_value(const struct ox_parts *p, const char *op_type,
                               struct ox_value *const *in, size_t n_in, const struct ox_type *type)
{
    const struct ox_node *node = ox_part(p, op_type, "", in, n_in, type);
    return node ? node->outputs[0] : NULL;
}

struct ox_value *ox_part_pair(const struct ox_parts *p, const char *op_type, struct ox_value *a,
                              struct ox_value *b)
{
    struct ox_value *in[] = {a, b};
    return a && b ? ox_part_value(p, op_type, in, 2, p->type) : NULL;
}

void ox_part_end(const struct ox_parts *p, struct ox_value *made)
{
    if (!made)
        return;
    struct ox_node *last = made->producer;
    ox_rw_remove(p->rw, p->node);
    ox_rw_set_output(p->rw, last, 0, p->node->outputs[0]);
}

struct ox_node *ox_part_alike(const struct ox_parts *p, const char *op_type, const char *domain,
                              struct ox_value *const *in, size_t n_in, const struct ox_type *type)
{
    struct ox_node *node = ox_part(p, op_type, domain, in, n_in, type);
    if (!node)
        return NULL;
    node->attrs = p->node->attrs;
    node->n_attrs = p->node->n_attrs;
    return node;
}

bool ox_part_is_row(struct ox_rewrite *rw, const struct ox_value *row, const struct ox_value *x)
{
    const struct ox_expr *dim = ox_dim_expr(rw, x, -1);
    return dim && ox_rank_of(rw, row) == 1 && ox_dim_expr(rw, row, 0) == dim;
}
