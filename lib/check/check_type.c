/* Declared types. */
#include "check/structure.h"
#include "proto/onnx.pb-c.h"

enum { MOST_TYPE_NESTING = 100 };

struct declared {
    struct ox_checker *c;
    struct ox_place place;
    bool complete; /* of an input or output of the main graph */
};

static void missing(const struct declared *d, const char *what)
{
    if (d->complete)
        ox_findings_add(d->c->findings, OX_F_VALUE_TYPE_MISSING, &d->place, NULL, "'%s' has no %s",
                        d->place.tensor, what);
}

static void check_elem(const struct declared *d, bool has, int32_t elem, const char *what)
{
    if (!has || elem == 0) {
        if (d->complete)
            ox_findings_add(d->c->findings, OX_F_VALUE_ELEM_TYPE, &d->place, NULL, "'%s' has no %s",
                            d->place.tensor, what);
    } else if (elem < 0 || elem >= OX_N_DTYPES) {
        ox_findings_add(d->c->findings, OX_F_VALUE_ELEM_TYPE, &d->place, NULL,
                        "%s of '%s' is %d, which is no type", what, d->place.tensor, elem);
    }
}

static void check_shape(const struct declared *d, const struct Onnx__TensorShapeProto *shape)
{
    if (!shape) {
        if (d->complete)
            ox_findings_add(d->c->findings, OX_F_VALUE_SHAPE_MISSING, &d->place,
                            "declare its rank; dimensions may stay open", "'%s' has no shape",
                            d->place.tensor);
        return;
    }
    for (size_t i = 0; i < shape->n_dim; i++) {
        const struct Onnx__TensorShapeProto__Dimension *dim = shape->dim[i];
        if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
            dim->dim_value < 0)
            ox_findings_add(
                d->c->findings, dim->dim_value == -1 ? OX_F_VALUE_DIM_OPEN : OX_F_VALUE_DIM,
                &d->place, "leave an unknown dimension open or name it",
                "dimension %zu of '%s' is %lld", i, d->place.tensor, (long long)dim->dim_value);
    }
}

/* Nested types are few and bounded by the nesting of messages. */
static void check_type(const struct declared *d, const struct Onnx__TypeProto *type, unsigned depth)
{
    if (!type || type->value_case == ONNX__TYPE_PROTO__VALUE__NOT_SET ||
        depth > MOST_TYPE_NESTING) {
        missing(d, "type");
        return;
    }
    /* Only the outermost tensor must have a shape. */
    struct declared inner = *d;
    inner.complete = false;
    switch (type->value_case) {
    case ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE:
        check_elem(d, type->tensor_type->has_elem_type, type->tensor_type->elem_type,
                   "element type");
        check_shape(d, type->tensor_type->shape);
        break;
    case ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE:
        check_elem(d, type->sparse_tensor_type->has_elem_type, type->sparse_tensor_type->elem_type,
                   "element type");
        check_shape(d, type->sparse_tensor_type->shape);
        break;
    case ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE:
        if (type->sequence_type->elem_type)
            check_type(&inner, type->sequence_type->elem_type, depth + 1);
        else
            missing(d, "type of its elements");
        break;
    case ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE:
        if (type->optional_type->elem_type)
            check_type(&inner, type->optional_type->elem_type, depth + 1);
        else
            missing(d, "type of its element");
        break;
    case ONNX__TYPE_PROTO__VALUE_MAP_TYPE:
        check_elem(d, type->map_type->has_key_type, type->map_type->key_type, "key type");
        if (type->map_type->value_type)
            check_type(&inner, type->map_type->value_type, depth + 1);
        else
            missing(d, "type of its values");
        break;
    case ONNX__TYPE_PROTO__VALUE_OPAQUE_TYPE:
        if (!type->opaque_type->name || !*type->opaque_type->name)
            missing(d, "name of its opaque type");
        break;
    default:
        break;
    }
}

void ox_check_value_info(struct ox_checker *c, const struct ox_graph *graph,
                         const struct Onnx__ValueInfoProto *info, bool main_io)
{
    const char *name = info->name ? info->name : "";
    const struct declared d = {c, {.graph = graph, .tensor = name}, main_io};
    if (!*name)
        ox_findings_add(c->findings, OX_F_GRAPH_VALUE_NAME_MISSING, &d.place, NULL,
                        "an input, output or value_info has no name");
    if (info->type || main_io)
        check_type(&d, info->type, 0);
}
