/* Which nodes targets would take in a 16-bit type. */
#include <string.h>

#include "graph/target/target_survey.h"
#include "schema/schema.h"

enum { MOST_BINDINGS = 64 };

/* The class as it would be with that type in the place of float32. */
static struct ox_target_class in_halves(const struct ox_target_class *class, enum ox_dtype dtype,
                                        struct ox_target_binding bindings[MOST_BINDINGS])
{
    struct ox_target_class changed = *class;
    memcpy(bindings, class->bindings, class->n_bindings * sizeof *bindings);
    for (size_t i = 0; i < class->n_bindings; i++) {
        if (bindings[i].bit == (uint64_t)1 << OX_FLOAT32)
            bindings[i].bit = (uint64_t)1 << dtype;
    }
    changed.bindings = bindings;
    return changed;
}

/* A body is written out with casts to its own types, which runtimes bring to float32 for float16 alone. */
static bool takes_class(const struct ox_target *target, const struct ox_target_survey *survey,
                        const struct ox_target_class *class, enum ox_dtype dtype)
{
    struct ox_target_binding bindings[MOST_BINDINGS];
    struct ox_target_ruling now, then;
    if (class->n_bindings > MOST_BINDINGS)
        return false;
    struct ox_target_class changed = in_halves(class, dtype, bindings);
    /* The bindings of the schema that a target reads newer nodes by are the same but for the schema. */
    const struct ox_schema *schema = ox_target_schema(target, class);
    if (schema)
        changed.schema = schema;
    ox_target_rule(&now, survey, target, class, schema, NULL);
    ox_target_rule(&then, survey, target, &changed, NULL, NULL);
    if (then.fate == OX_FATE_FALLBACK)
        return now.fate == OX_FATE_FALLBACK;
    if (then.fate == OX_FATE_BODY)
        return dtype == OX_FLOAT16;
    return then.fate == OX_FATE_CAST || then.fate == OX_FATE_TAKEN;
}

bool ox_target_takes_half(const struct ox_targets *targets, const struct ox_target_survey *survey,
                          const struct ox_target_class *class, enum ox_dtype dtype)
{
    for (size_t i = 0; targets && i < targets->n; i++) {
        if (!takes_class(targets->items[i], survey, class, dtype))
            return false;
    }
    return true;
}

/* onnxruntime has these for all types, and when they run with a reduction throws on 16-bit floats; of float16, ScatterElements with a
 * minimum or maximum is good (seen in 1.31.1). */
static bool throws(const struct ox_target *target, const struct ox_node *node, enum ox_dtype dtype)
{
    bool elements = strcmp(node->op_type, "ScatterElements") == 0;
    const struct ox_attr *attr = ox_node_attr(node, "reduction");
    if (*node->domain || (!elements && strcmp(node->op_type, "ScatterND") != 0) ||
        strcmp(target->runtime, "onnxruntime") != 0 || strcmp(target->provider, "cpu") != 0 ||
        !attr || attr->type != OX_ATTR_STRING || strcmp(attr->s.p, "none") == 0)
        return false;
    bool extreme = strcmp(attr->s.p, "min") == 0 || strcmp(attr->s.p, "max") == 0;
    return !(elements && extreme && dtype == OX_FLOAT16);
}

bool ox_target_runs_half(const struct ox_targets *targets, const struct ox_node *node,
                         enum ox_dtype dtype)
{
    for (size_t i = 0; targets && i < targets->n; i++) {
        if (throws(targets->items[i], node, dtype))
            return false;
    }
    return true;
}

bool ox_target_casts_half(const struct ox_targets *targets, int64_t opset, enum ox_dtype dtype)
{
    const struct ox_schema *cast = ox_schema_find("", "Cast", opset);
    struct ox_target_binding ends[2] = {
        {.param = cast->inputs[0].name, .constraint = cast->inputs[0].type},
        {.param = cast->outputs[0].name, .constraint = cast->outputs[0].type}};
    for (size_t i = 0; targets && i < targets->n; i++) {
        const struct ox_target *target = targets->items[i];
        const struct ox_target_limit *limit = ox_target_limit(target, "");
        const struct ox_schema *known =
            limit && opset > limit->newest ? ox_schema_find("", "Cast", limit->newest) : cast;
        for (unsigned side = 0; side < 2; side++) {
            struct ox_target_answer own, rest = {0};
            ends[side].bit = (uint64_t)1 << dtype;
            ends[!side].bit = (uint64_t)1 << OX_FLOAT32;
            ox_target_ask(&own, &target->own, target->own_bit, "", "Cast", known->since, ends, 2);
            if (target->rest.rows)
                ox_target_ask(&rest, &target->rest, target->rest_bit, "", "Cast", known->since,
                              ends, 2);
            if (own.via == OX_VIA_NONE && rest.via == OX_VIA_NONE)
                return false;
        }
    }
    return true;
}
