#include "ops/attr_find.h"

#include <string.h>

static const struct ox_attr *attr_in(const struct ox_attr *attrs, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(attrs[i].name, name) == 0)
            return &attrs[i];
    return NULL;
}

static const struct ox_schema_attr *default_in(const struct ox_schema *schema, const char *name)
{
    const struct ox_schema_attr *attr = schema ? ox_schema_attr(schema, name) : NULL;
    return attr && attr->default_kind != OX_DEFAULT_NONE ? attr : NULL;
}

struct ox_found_attr ox_attr_given(const struct ox_node *node, const struct ox_call *call,
                                   const char *name)
{
    const struct ox_attr *attr = attr_in(node->attrs, node->n_attrs, name);
    while (attr && attr->ref) {
        if (!call)
            return (struct ox_found_attr){0};
        const char *outer = attr->ref;
        attr = attr_in(call->node->attrs, call->node->n_attrs, outer);
        if (!attr) {
            if (call->function)
                attr =
                    attr_in(call->function->attr_defaults, call->function->n_attr_defaults, outer);
            return (struct ox_found_attr){attr, attr ? NULL : default_in(call->schema, outer)};
        }
        call = call->outer;
    }
    return (struct ox_found_attr){attr, NULL};
}

struct ox_found_attr ox_attr_find(const struct ox_node *node, const struct ox_schema *schema,
                                  const struct ox_call *call, const char *name)
{
    struct ox_found_attr found = ox_attr_given(node, call, name);
    if (!found.attr && !found.standard)
        found.standard = default_in(schema, name);
    return found;
}

int64_t ox_found_int(struct ox_found_attr found, int64_t fallback)
{
    if (found.attr)
        return found.attr->type == OX_ATTR_INT ? found.attr->i : fallback;
    return found.standard && found.standard->default_kind == OX_DEFAULT_INT ? found.standard->i
                                                                            : fallback;
}

float ox_found_float(struct ox_found_attr found, float fallback)
{
    if (found.attr)
        return found.attr->type == OX_ATTR_FLOAT ? found.attr->f : fallback;
    return found.standard && found.standard->default_kind == OX_DEFAULT_FLOAT ? found.standard->f
                                                                              : fallback;
}

const char *ox_found_string(struct ox_found_attr found)
{
    if (found.attr)
        return found.attr->type == OX_ATTR_STRING ? found.attr->s.p : NULL;
    return found.standard && found.standard->default_kind == OX_DEFAULT_STRING ? found.standard->s
                                                                               : NULL;
}

const int64_t *ox_found_ints(struct ox_found_attr found, size_t *n)
{
    static const int64_t empty;
    const int64_t *ints = NULL;
    *n = 0;
    if (found.attr && found.attr->type == OX_ATTR_INTS) {
        ints = found.attr->ints;
        *n = found.attr->n;
    } else if (!found.attr && found.standard && found.standard->default_kind == OX_DEFAULT_INTS) {
        ints = found.standard->ints;
        *n = found.standard->n;
    } else {
        return NULL;
    }
    return ints ? ints : &empty;
}

const float *ox_found_floats(struct ox_found_attr found, size_t *n)
{
    static const float empty;
    const float *floats = NULL;
    *n = 0;
    if (found.attr && found.attr->type == OX_ATTR_FLOATS) {
        floats = found.attr->floats;
        *n = found.attr->n;
    } else if (!found.attr && found.standard && found.standard->default_kind == OX_DEFAULT_FLOATS) {
        floats = found.standard->floats;
        *n = found.standard->n;
    } else {
        return NULL;
    }
    return floats ? floats : &empty;
}
