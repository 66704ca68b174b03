/* Names of dimensions. The same name in two models means nothing, unless what feeds an input says so: there the second model's
 * name becomes the first's. */
#include <string.h>

#include "graph/merge/merger.h"

struct dims {
    struct ox_merger *m;
    struct ox_names seen[OX_MERGED]; /* names that a model's dimensions have */
};

static bool is_one_name(const char *text)
{
    const char *at = text, *name;
    size_t n = ox_dim_next_name(&at, &name);
    return n && name == text && !text[n];
}

/* ---- Those that there are ----------------------------------------------------------------------------------------- */

static enum ox_status see_text(struct dims *d, size_t p, const char *text)
{
    const char *name;
    for (size_t n; (n = ox_dim_next_name(&text, &name));) {
        const char *kept = ox_arena_strndup(&d->m->out->arena, name, n);
        if (!kept || !ox_names_add(&d->seen[p], kept, kept))
            return ox_merge_no_room(d->m);
    }
    return OX_OK;
}

static enum ox_status see_shape(struct dims *d, size_t p, const Onnx__TensorShapeProto *shape)
{
    for (size_t i = 0; shape && i < shape->n_dim; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = shape->dim[i];
        if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
            dim->dim_param)
            OX_TRY(see_text(d, p, dim->dim_param));
    }
    return OX_OK;
}

static enum ox_status see_type(struct dims *d, size_t p, const Onnx__TypeProto *type)
{
    while (type) {
        switch (type->value_case) {
        case ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE:
            return see_shape(d, p, type->tensor_type->shape);
        case ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE:
            return see_shape(d, p, type->sparse_tensor_type->shape);
        case ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE:
            type = type->sequence_type->elem_type;
            break;
        case ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE:
            type = type->optional_type->elem_type;
            break;
        case ONNX__TYPE_PROTO__VALUE_MAP_TYPE:
            type = type->map_type->value_type;
            break;
        default:
            return OX_OK;
        }
    }
    return OX_OK;
}

static enum ox_status see_infos(struct dims *d, size_t p, Onnx__ValueInfoProto *const *infos,
                                size_t n)
{
    for (size_t i = 0; i < n; i++)
        OX_TRY(see_type(d, p, infos[i]->type));
    return OX_OK;
}

static enum ox_status see_part(struct dims *d, size_t p)
{
    const struct ox_model *model = d->m->parts[p].model;
    for (size_t g = 0; g < model->n_graphs; g++) {
        const Onnx__GraphProto *graph = model->graphs[g]->proto;
        if (!graph || model->graphs[g]->function)
            continue;
        OX_TRY(see_infos(d, p, graph->input, graph->n_input));
        OX_TRY(see_infos(d, p, graph->output, graph->n_output));
        OX_TRY(see_infos(d, p, graph->value_info, graph->n_value_info));
    }
    return OX_OK;
}

/* ---- What they become --------------------------------------------------------------------------------------------- */

static const Onnx__TensorShapeProto *shape_of(const struct ox_value *value)
{
    const Onnx__TypeProto *type = value->info ? value->info->type : NULL;
    return type && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE
               ? type->tensor_type->shape
               : NULL;
}

static const char *name_at(const Onnx__TensorShapeProto *shape, size_t i)
{
    const Onnx__TensorShapeProto__Dimension *dim = shape->dim[i];
    bool named = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
    return named && dim->dim_param && is_one_name(dim->dim_param) ? dim->dim_param : NULL;
}

static enum ox_status tie(struct dims *d)
{
    const struct ox_graph *b = d->m->parts[1].model->graph;
    for (size_t i = 0; i < b->n_inputs; i++) {
        const struct ox_value *from = d->m->feeds[i].from;
        const Onnx__TensorShapeProto *x = from ? shape_of(from) : NULL, *y = shape_of(b->inputs[i]);
        for (size_t k = 0; x && y && x->n_dim == y->n_dim && k < x->n_dim; k++) {
            const char *to = name_at(x, k), *name = name_at(y, k);
            if (to && name && !ox_names_add(&d->m->parts[1].dims, name, to))
                return ox_merge_no_room(d->m);
        }
    }
    return OX_OK;
}

static const char *fresh_name(struct dims *d, const char *name)
{
    for (unsigned i = 2;; i++) {
        const char *other = ox_arena_printf(&d->m->out->arena, "%s_%u", name, i);
        if (!other || (!ox_names_find(&d->seen[0], other) && !ox_names_find(&d->seen[1], other)))
            return other;
    }
}

static enum ox_status part_dims(struct dims *d)
{
    struct ox_names *dims = &d->m->parts[1].dims;
    for (size_t i = 0; i < d->seen[1].n; i++) {
        const char *name = d->seen[1].to[i];
        if (ox_names_find(dims, name) || !ox_names_find(&d->seen[0], name))
            continue;
        const char *other = fresh_name(d, name);
        if (!other || !ox_names_add(dims, name, other))
            return ox_merge_no_room(d->m);
    }
    return OX_OK;
}

enum ox_status ox_merge_name_dims(struct ox_merger *m)
{
    struct dims d = {.m = m};
    enum ox_status status = see_part(&d, 0);
    if (status == OX_OK)
        status = see_part(&d, 1);
    if (status == OX_OK)
        status = tie(&d);
    if (status == OX_OK)
        status = part_dims(&d);
    ox_names_release(&d.seen[0]);
    ox_names_release(&d.seen[1]);
    return status;
}
