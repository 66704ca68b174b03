/* Codes that an IntegerConv alone makes and a Lookup alone reads are looked up while they are near (ops/int8/int8.h). */
#include "graph/match.h"
#include "ops/int8/int8.h"

static bool is_table_of_codes(struct ox_rewrite *rw, const struct ox_value *value)
{
    const enum ox_dtype dtype = ox_dtype_of_value(rw, value);
    return (dtype == OX_UINT8 || dtype == OX_INT8) && ox_rw_stored(rw, value);
}

static void look_at(struct ox_rewrite *rw, struct ox_node *lookup)
{
    enum { Y_SCALE = 6, INPUTS = OX_TABLE + 1 };
    struct ox_value *codes = ox_input(lookup, 0), *in[INPUTS] = {NULL};
    struct ox_node *conv = codes ? codes->producer : NULL;
    if (!ox_is_domain_op(lookup, OX_OWN_DOMAIN, "Lookup") || !conv ||
        !ox_is_domain_op(conv, OX_OWN_DOMAIN, "IntegerConv") || conv->graph != lookup->graph ||
        conv->n_inputs > OX_RESIDUAL || !ox_input(conv, Y_SCALE) ||
        ox_rw_only_user(rw, codes) != lookup || !is_table_of_codes(rw, lookup->inputs[1]))
        return;
    for (size_t i = 0; i < conv->n_inputs; i++)
        in[i] = conv->inputs[i];
    in[OX_TABLE] = lookup->inputs[1];
    ox_rw_inherit(lookup, conv);
    ox_rw_become(rw, lookup, "IntegerConv", OX_OWN_DOMAIN, in, INPUTS);
    ox_rw_remove(rw, conv);
}

enum ox_status ox_pass_fuse_tables(struct ox_rewrite *rw, struct ox_graph *graph,
                                   struct ox_error *err)
{
    return ox_rw_each(rw, graph, NULL, look_at, err);
}
