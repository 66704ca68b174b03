/* Types in the ONNX textual syntax. */
#include "model/write_impl.h"

void ox_text_write_elem(struct ox_model_writer *w, int32_t data_type)
{
    enum ox_dtype dtype =
        data_type > 0 && data_type < OX_N_DTYPES ? (enum ox_dtype)data_type : OX_UNDEFINED;
    ox_strbuf_puts(w->out, dtype == OX_FLOAT32   ? "float"
                           : dtype == OX_FLOAT64 ? "double"
                                                 : ox_dtype_name(dtype));
}

static void shape(struct ox_model_writer *w, const Onnx__TensorShapeProto *s)
{
    if (!s) {
        ox_strbuf_puts(w->out, "[]");
        return;
    }
    for (size_t i = 0; i < s->n_dim; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = s->dim[i];
        ox_strbuf_puts(w->out, i ? "," : "[");
        if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
            ox_strbuf_printf(w->out, "%lld", (long long)dim->dim_value);
        else if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM)
            ox_text_write_name(w, dim->dim_param);
        else
            ox_strbuf_putc(w->out, '?');
    }
    if (s->n_dim)
        ox_strbuf_putc(w->out, ']');
}

void ox_text_write_type(struct ox_model_writer *w, const Onnx__TypeProto *type)
{
    switch (type ? type->value_case : ONNX__TYPE_PROTO__VALUE__NOT_SET) {
    case ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE:
        ox_text_write_elem(w, type->tensor_type->elem_type);
        shape(w, type->tensor_type->shape);
        break;
    case ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE:
        ox_strbuf_puts(w->out, "sparse_tensor(");
        ox_text_write_elem(w, type->sparse_tensor_type->elem_type);
        shape(w, type->sparse_tensor_type->shape);
        ox_strbuf_putc(w->out, ')');
        break;
    case ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE:
        ox_strbuf_puts(w->out, "seq(");
        ox_text_write_type(w, type->sequence_type->elem_type);
        ox_strbuf_putc(w->out, ')');
        break;
    case ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE:
        ox_strbuf_puts(w->out, "optional(");
        ox_text_write_type(w, type->optional_type->elem_type);
        ox_strbuf_putc(w->out, ')');
        break;
    case ONNX__TYPE_PROTO__VALUE_MAP_TYPE:
        ox_strbuf_puts(w->out, "map(");
        ox_text_write_elem(w, type->map_type->key_type);
        ox_strbuf_puts(w->out, ", ");
        ox_text_write_type(w, type->map_type->value_type);
        ox_strbuf_putc(w->out, ')');
        break;
    case ONNX__TYPE_PROTO__VALUE_OPAQUE_TYPE:
        ox_strbuf_puts(w->out, "opaque(");
        if (type->opaque_type->domain && *type->opaque_type->domain)
            ox_strbuf_printf(w->out, "%s,", type->opaque_type->domain);
        ox_strbuf_puts(w->out, type->opaque_type->name ? type->opaque_type->name : "");
        ox_strbuf_putc(w->out, ')');
        break;
    default:
        ox_strbuf_puts(w->out, "undefined");
    }
}
