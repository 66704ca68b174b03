/* Attributes as a kernel sees them: of the node, of the call that it stands in, or the schema's defaults. */
#include "ops/op.h"

#include <string.h>

#include "ops/attr_find.h"

static struct ox_found_attr find_attr(const struct ox_run *r, const char *name)
{
    struct ox_asked *asked = r->asked;
    if (!asked || asked->node != r->node || asked->schema != r->schema)
        return ox_attr_find(r->node, r->schema, r->call, name);
    size_t i = 0;
    while (i < asked->n && asked->list[i].name != name)
        i++;
    if (i < asked->n)
        return asked->list[i].found;
    const struct ox_found_attr found = ox_attr_find(r->node, r->schema, r->call, name);
    if (i < OX_COUNT(asked->list)) {
        asked->list[i].name = name;
        asked->list[i].found = found;
        asked->n++;
    }
    return found;
}

const struct ox_attr *ox_run_attr(const struct ox_run *r, const char *name)
{
    return ox_attr_given(r->node, r->call, name).attr;
}

int64_t ox_run_int(const struct ox_run *r, const char *name, int64_t fallback)
{
    return ox_found_int(find_attr(r, name), fallback);
}

float ox_run_float(const struct ox_run *r, const char *name, float fallback)
{
    return ox_found_float(find_attr(r, name), fallback);
}

const char *ox_run_string(const struct ox_run *r, const char *name)
{
    return ox_found_string(find_attr(r, name));
}

const int64_t *ox_run_ints(const struct ox_run *r, const char *name, size_t *n)
{
    return ox_found_ints(find_attr(r, name), n);
}

const float *ox_run_floats(const struct ox_run *r, const char *name, size_t *n)
{
    return ox_found_floats(find_attr(r, name), n);
}

const struct ox_str *ox_run_strings(const struct ox_run *r, const char *name, size_t *n)
{
    static const struct ox_str empty;
    struct ox_found_attr found = find_attr(r, name);
    *n = 0;
    if (found.attr) {
        if (found.attr->type != OX_ATTR_STRINGS)
            return NULL;
        *n = found.attr->n;
        return found.attr->strings ? found.attr->strings : &empty;
    }
    if (!found.standard || found.standard->default_kind != OX_DEFAULT_STRINGS)
        return NULL;
    struct ox_str *strings = ox_arena_array(r->scratch, found.standard->n + 1, sizeof *strings);
    if (!strings)
        return NULL;
    for (size_t i = 0; i < found.standard->n; i++)
        strings[i] =
            (struct ox_str){found.standard->strings[i], strlen(found.standard->strings[i])};
    *n = found.standard->n;
    return strings;
}

const struct ox_graph *ox_run_graph(const struct ox_run *r, const char *name)
{
    const struct ox_attr *attr = ox_run_attr(r, name);
    return attr && attr->type == OX_ATTR_GRAPH && attr->n && attr->graphs ? attr->graphs[0] : NULL;
}

enum ox_status ox_run_tensor_attr(const struct ox_run *r, const char *name, struct ox_tensor **out,
                                  struct ox_error *err)
{
    const struct ox_attr *attr = ox_run_attr(r, name);
    if (!attr || attr->type != OX_ATTR_TENSOR || !attr->n || !attr->tensor) {
        *out = NULL;
        return OX_OK;
    }
    if (attr->tensor->place == OX_STORED_TENSOR) {
        *out = ox_tensor_ref(attr->tensor->tensor);
        return OX_OK;
    }
    enum ox_status status = ox_stored_load(r->node->graph->model, attr->tensor, out, err);
    return status == OX_OK
               ? status
               : ox_run_fail(r, err, status, "attribute '%s': %s", name, err ? err->message : "");
}

enum ox_status ox_run_axis(const struct ox_run *r, int64_t axis, unsigned rank, unsigned *out,
                           struct ox_error *err)
{
    int64_t n = rank;
    if (axis < -n || axis >= n)
        return ox_run_fail(r, err, OX_INPUT,
                           "axis %lld is outside [%lld, %lld] for a tensor of rank %u",
                           (long long)axis, (long long)-n, (long long)n - 1, rank);
    *out = (unsigned)(axis < 0 ? axis + n : axis);
    return OX_OK;
}
