/* What weights are stored as: integers, scales and zero points, called after them. */
#include <math.h>

#include "quant/quant.h"

bool ox_quant_is_finite(const struct ox_tensor *values)
{
    const float *v = values->data;
    for (size_t i = 0; i < values->n; i++) {
        if (!isfinite(v[i]))
            return false;
    }
    return true;
}

struct ox_value *ox_quant_add_part(struct ox_quant *q, struct ox_graph *graph, const char *name,
                                   const char *suffix, const struct ox_tensor *tensor)
{
    const char *full = ox_quant_name(q, name, suffix);
    return full ? ox_quant_add_init(graph, full, ox_tensor_ref(tensor)) : NULL;
}

struct ox_value *ox_quant_add_scales(struct ox_quant *q, struct ox_graph *graph, const char *name,
                                     const struct ox_tensor *scales, enum ox_dtype real)
{
    struct ox_value *stored = ox_quant_add_part(q, graph, name, "_scale", scales);
    if (!stored || scales->dtype == real)
        return stored;
    const char *cast_name = ox_quant_name(q, name, "_scale_Cast");
    struct ox_value *out = ox_graph_add_value(graph, ox_quant_name(q, name, "_scale_Cast"));
    struct ox_node *cast =
        out && cast_name ? ox_graph_add_node(graph, "Cast", "", cast_name, &stored, 1, &out, 1)
                         : NULL;
    return cast && ox_node_set_int(cast, "to", real) ? out : NULL;
}
