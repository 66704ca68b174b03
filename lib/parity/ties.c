/* Codes that a run in double precision rounds so near a half that float32's rounding may tip them to the other side. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "common/strmap.h"
#include "model/value.h"

/* A QuantizeLinear whose scale is known. */
struct quantizer {
    const struct ox_node *node;
    struct ox_tensor *scale;
    uint64_t n_near, n;
};

struct ox_ties {
    struct ox_env *env;
    struct quantizer *items;
    size_t n;
    struct ox_strmap index; /* what goes in -> the first that takes it */
};

static enum ox_status add_quantizer(struct ox_ties *ties, struct ox_model *model,
                                    const struct ox_node *node, struct ox_error *err)
{
    const struct ox_value *in = node->n_inputs > 1 ? node->inputs[0] : NULL;
    struct ox_tensor *scale = NULL;
    if (strcmp(node->op_type, "QuantizeLinear") != 0 || !in || !in->producer || !node->inputs[1])
        return OX_OK;
    const struct ox_stored *stored = ox_value_stored(node->inputs[1]);
    if (!stored)
        return OX_OK;
    OX_TRY(ox_stored_load(model, stored, &scale, err));
    if (ox_tensor_rank(scale) > 1) {
        ox_tensor_release(scale);
        return OX_OK;
    }
    uint32_t at = (uint32_t)ties->n;
    ties->items[ties->n++] = (struct quantizer){.node = node, .scale = scale};
    return ox_strmap_add(&ties->index, in->name, strlen(in->name), &at, NULL) ? OX_OK
                                                                              : ox_no_memory(err);
}

enum ox_status ox_ties_new(struct ox_ties **out, struct ox_model *model, struct ox_error *err)
{
    const struct ox_graph *graph = model->graph;
    struct ox_ties *ties = calloc(1, sizeof *ties);
    if (!ties)
        return ox_no_memory(err);
    ties->env = model->env;
    ox_strmap_init(&ties->index);
    ties->items = calloc(graph->n_nodes + 1, sizeof *ties->items);
    enum ox_status status = ties->items ? OX_OK : ox_no_memory(err);
    for (size_t i = 0; i < graph->n_nodes && status == OX_OK; i++)
        status = add_quantizer(ties, model, graph->nodes[i], err);
    if (status == OX_OK)
        *out = ties;
    else
        ox_ties_release(ties);
    return status;
}

void ox_ties_release(struct ox_ties *ties)
{
    if (!ties)
        return;
    for (size_t i = 0; i < ties->n; i++)
        ox_tensor_release(ties->items[i].scale);
    ox_strmap_release(&ties->index);
    free(ties->items);
    free(ties);
}

/* The scale of element i: of its place along the axis, which covers `inner` elements a step. */
static double scale_of(const struct quantizer *q, size_t i, size_t inner)
{
    return ox_tensor_get_double(q->scale, q->scale->n > 1 ? i / inner % q->scale->n : 0);
}

/* What stands behind the axis of the scale, and how near to a half is near, in codes. */
static double measure(const struct quantizer *q, const struct ox_tensor *x, size_t *inner)
{
    /* Sums of many products are off by more than one rounding, by the size of the largest. */
    static const double ROUNDED = 0x1p-20;
    const struct ox_attr *axis = ox_node_attr(q->node, "axis");
    const int64_t rank = (int64_t)ox_tensor_rank(x), given = axis ? axis->i : 1;
    const int64_t at = given < 0 ? given + rank : given;
    double largest = 1;
    *inner = 1;
    /* The node that refuses an axis which does not exist runs later. */
    for (int64_t k = at < 0 || at >= rank ? rank : at + 1; k < rank; k++)
        *inner *= (size_t)ox_tensor_dims(x)[k];
    for (size_t i = 0; i < x->n && *inner; i++) {
        const double code = fabs(ox_tensor_get_double(x, i) / scale_of(q, i, *inner));
        largest = isfinite(code) && code > largest ? code : largest;
    }
    return ROUNDED * largest;
}

/* The quantizer that takes the value, and the value's numbers; NULL. */
static struct quantizer *find(struct ox_ties *ties, const char *name, const struct ox_datum *datum,
                              const struct ox_tensor **x)
{
    uint32_t at = ox_strmap_find(&ties->index, name, strlen(name));
    *x = ox_datum_get_tensor(datum);
    return at != OX_STRMAP_NONE && *x && (*x)->dtype == OX_FLOAT64 ? &ties->items[at] : NULL;
}

enum ox_status ox_ties_value(void *arg, const char *name, const struct ox_datum *datum,
                             struct ox_error *err)
{
    const struct ox_tensor *x;
    struct quantizer *q = find(arg, name, datum, &x);
    size_t inner;
    (void)err;
    if (!q)
        return OX_OK;
    const double near = measure(q, x, &inner);
    for (size_t i = 0; i < x->n && inner; i++) {
        const double code = ox_tensor_get_double(x, i) / scale_of(q, i, inner);
        q->n_near += fabs(code - floor(code) - 0.5) <= near;
    }
    q->n += x->n;
    return OX_OK;
}

enum ox_status ox_ties_tip(void *arg, const char *name, struct ox_datum **value,
                           struct ox_error *err)
{
    struct ox_ties *ties = arg;
    const struct ox_tensor *x;
    const struct quantizer *q = find(ties, name, *value, &x);
    struct ox_tensor *tipped = NULL;
    struct ox_datum *datum = NULL;
    size_t inner;
    if (!q)
        return OX_OK;
    const double near = measure(q, x, &inner);
    OX_TRY(ox_tensor_new(&tipped, ox_env_budget(ties->env), x->dtype, ox_tensor_rank(x),
                         ox_tensor_dims(x), err));
    double *to = tipped->data;
    for (size_t i = 0; i < x->n; i++) {
        to[i] = ox_tensor_get_double(x, i);
        if (!inner)
            continue;
        const double scale = scale_of(q, i, inner), code = to[i] / scale, half = floor(code) + 0.5;
        if (fabs(code - half) <= near)
            to[i] = (nearbyint(code) > half ? half - near : half + near) * scale;
    }
    enum ox_status status = ox_datum_of_tensor(&datum, tipped, err);
    ox_tensor_release(tipped);
    if (status != OX_OK)
        return status;
    ox_datum_release(*value);
    *value = datum;
    return OX_OK;
}

bool ox_ties_first(const struct ox_ties *ties, struct ox_tie *out)
{
    *out = (struct ox_tie){.node = NULL};
    for (size_t i = 0; ties && i < ties->n; i++) {
        const struct quantizer *q = &ties->items[i];
        out->n += q->n;
        out->n_near += q->n_near;
        if (q->n_near && !out->node)
            out->node = *q->node->name ? q->node->name : q->node->outputs[0]->name;
    }
    return out->node != NULL;
}
