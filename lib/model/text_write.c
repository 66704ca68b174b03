/* The ONNX textual syntax, written as the standard's own printer does (docs/Syntax.md), and with values where that one gives up:
 * packed and complex types. What the syntax cannot say is named in comments. */
#include <stdlib.h>
#include <string.h>

#include "common/number.h"
#include "model/text_lex.h"
#include "model/write_impl.h"

enum { INDENT = 3 };

static void indent(struct ox_model_writer *w)
{
    ox_strbuf_printf(w->out, "%*s", (int)(INDENT * (w->depth + 1)), "");
}

void ox_text_write_quoted(struct ox_model_writer *w, const void *text, size_t n)
{
    ox_strbuf_putc(w->out, '"');
    for (const char *p = text, *end = p + n; p < end; p++) {
        if (*p == '\\' || *p == '"')
            ox_strbuf_putc(w->out, '\\');
        ox_strbuf_add(w->out, p, 1);
    }
    ox_strbuf_putc(w->out, '"');
}

static void quoted(struct ox_model_writer *w, const char *text)
{
    ox_text_write_quoted(w, text ? text : "", text ? strlen(text) : 0);
}

void ox_text_write_name(struct ox_model_writer *w, const char *name)
{
    if (name && ox_text_is_identifier(name))
        ox_strbuf_puts(w->out, name);
    else
        quoted(w, name);
}

static void names(struct ox_model_writer *w, char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ox_strbuf_puts(w->out, i ? ", " : "");
        ox_text_write_name(w, list[i]);
    }
}

static void pairs(struct ox_model_writer *w, Onnx__StringStringEntryProto *const *list, size_t n)
{
    ox_strbuf_putc(w->out, '[');
    for (size_t i = 0; i < n; i++) {
        ox_strbuf_puts(w->out, i ? ", " : "");
        quoted(w, list[i]->key);
        ox_strbuf_puts(w->out, ": ");
        quoted(w, list[i]->value);
    }
    ox_strbuf_putc(w->out, ']');
}

static void number(struct ox_model_writer *w, float value)
{
    char text[OX_NUMBER_BYTES];
    ox_strbuf_puts(w->out, ox_number_float(text, value));
}

/* A float that reads back as one: "1" alone would be an integer. */
static void attribute_number(struct ox_model_writer *w, float value)
{
    char text[OX_NUMBER_BYTES];
    ox_number_float(text, value);
    ox_strbuf_puts(w->out, text);
    if (!text[strcspn(text, ".enf")])
        ox_strbuf_puts(w->out, ".0");
}

/* ---- Attributes --------------------------------------------------------------------------------------------------- */

/* Element i of a list attribute. */
static void list_element(struct ox_model_writer *w, const Onnx__AttributeProto *attr, size_t i)
{
    switch ((enum ox_attr_type)attr->type) {
    case OX_ATTR_INTS:
        ox_strbuf_printf(w->out, "%lld", (long long)attr->ints[i]);
        break;
    case OX_ATTR_FLOATS:
        attribute_number(w, attr->floats[i]);
        break;
    case OX_ATTR_STRINGS:
        ox_text_write_quoted(w, attr->strings[i].data, attr->strings[i].len);
        break;
    case OX_ATTR_TENSORS:
        ox_text_write_tensor(w, attr->tensors[i], false);
        break;
    case OX_ATTR_GRAPHS:
        w->depth++;
        ox_text_write_graph(w, attr->graphs[i]);
        w->depth--;
        break;
    case OX_ATTR_TYPE_PROTOS:
        ox_text_write_type(w, attr->type_protos[i]);
        break;
    default:
        break;
    }
}

static size_t list_length(const Onnx__AttributeProto *attr)
{
    switch ((enum ox_attr_type)attr->type) {
    case OX_ATTR_INTS:
        return attr->n_ints;
    case OX_ATTR_FLOATS:
        return attr->n_floats;
    case OX_ATTR_STRINGS:
        return attr->n_strings;
    case OX_ATTR_TENSORS:
        return attr->n_tensors;
    case OX_ATTR_GRAPHS:
        return attr->n_graphs;
    case OX_ATTR_TYPE_PROTOS:
        return attr->n_type_protos;
    default:
        return 0;
    }
}

static void attribute_value(struct ox_model_writer *w, const Onnx__AttributeProto *attr)
{
    switch ((enum ox_attr_type)attr->type) {
    case OX_ATTR_INT:
        ox_strbuf_printf(w->out, "%lld", (long long)attr->i);
        break;
    case OX_ATTR_FLOAT:
        attribute_number(w, attr->f);
        break;
    case OX_ATTR_STRING:
        ox_text_write_quoted(w, attr->s.data, attr->s.len);
        break;
    case OX_ATTR_TENSOR:
        if (attr->t)
            ox_text_write_tensor(w, attr->t, false);
        break;
    case OX_ATTR_GRAPH:
        w->depth++;
        if (attr->g)
            ox_text_write_graph(w, attr->g);
        w->depth--;
        break;
    case OX_ATTR_TYPE_PROTO:
        ox_text_write_type(w, attr->tp);
        break;
    default:
        ox_strbuf_putc(w->out, '[');
        for (size_t i = 0; i < list_length(attr); i++) {
            ox_strbuf_puts(w->out, i ? ", " : "");
            list_element(w, attr, i);
        }
        ox_strbuf_putc(w->out, ']');
    }
}

static void attribute(struct ox_model_writer *w, const Onnx__AttributeProto *attr)
{
    const char *word = ox_attr_type_word((enum ox_attr_type)attr->type);
    ox_strbuf_puts(w->out, attr->name ? attr->name : "");
    if (word)
        ox_strbuf_printf(w->out, ": %s = ", word);
    else
        ox_strbuf_puts(w->out, " = ");
    if (attr->ref_attr_name && *attr->ref_attr_name) {
        ox_strbuf_putc(w->out, '@');
        ox_text_write_name(w, attr->ref_attr_name);
    } else {
        attribute_value(w, attr);
    }
}

static void attributes(struct ox_model_writer *w, Onnx__AttributeProto *const *list, size_t n)
{
    ox_strbuf_puts(w->out, " <");
    for (size_t i = 0; i < n; i++) {
        ox_strbuf_puts(w->out, i ? ", " : "");
        attribute(w, list[i]);
    }
    ox_strbuf_putc(w->out, '>');
}

/* ---- Nodes and graphs ---------------------------------------------------------------------------------------------- */

void ox_text_write_node(struct ox_model_writer *w, const Onnx__NodeProto *node)
{
    bool has_graph = false;
    for (size_t i = 0; i < node->n_attribute; i++)
        has_graph |= node->attribute[i]->g || node->attribute[i]->n_graphs;
    indent(w);
    if (node->name) {
        ox_strbuf_putc(w->out, '[');
        ox_text_write_name(w, node->name);
        ox_strbuf_puts(w->out, "] ");
    }
    names(w, node->output, node->n_output);
    ox_strbuf_puts(w->out, " = ");
    if (node->domain && *node->domain)
        ox_strbuf_printf(w->out, "%s.", node->domain);
    ox_strbuf_puts(w->out, node->op_type ? node->op_type : "");
    if (node->overload && *node->overload)
        ox_strbuf_printf(w->out, ":%s", node->overload);
    if (!has_graph && node->n_attribute)
        attributes(w, node->attribute, node->n_attribute);
    ox_strbuf_puts(w->out, " (");
    names(w, node->input, node->n_input);
    ox_strbuf_putc(w->out, ')');
    /* Graphs come last, so that the line above them can be read at a glance. */
    if (has_graph)
        attributes(w, node->attribute, node->n_attribute);
    ox_strbuf_putc(w->out, '\n');
    ox_write_flush(w, false);
}

static void nodes(struct ox_model_writer *w, Onnx__NodeProto *const *list, size_t n)
{
    ox_strbuf_puts(w->out, "{\n");
    for (size_t i = 0; i < n && w->status == OX_OK; i++)
        ox_text_write_node(w, list[i]);
    ox_strbuf_printf(w->out, "%*s}", (int)(INDENT * w->depth), "");
}

static void value(struct ox_model_writer *w, const Onnx__ValueInfoProto *info)
{
    if (info->type && info->type->value_case != ONNX__TYPE_PROTO__VALUE__NOT_SET) {
        ox_text_write_type(w, info->type);
        ox_strbuf_putc(w->out, ' ');
    }
    ox_text_write_name(w, info->name);
}

static void values(struct ox_model_writer *w, Onnx__ValueInfoProto *const *list, size_t n)
{
    ox_strbuf_putc(w->out, '(');
    for (size_t i = 0; i < n; i++) {
        ox_strbuf_puts(w->out, i ? ", " : "");
        value(w, list[i]);
    }
    ox_strbuf_putc(w->out, ')');
}

static bool is_typed(const Onnx__ValueInfoProto *info)
{
    return info->type && info->type->value_case != ONNX__TYPE_PROTO__VALUE__NOT_SET;
}

static bool inits_and_values(struct ox_model_writer *w, const Onnx__GraphProto *graph)
{
    bool any = graph->n_initializer > 0;
    for (size_t i = 0; i < graph->n_value_info; i++)
        any |= is_typed(graph->value_info[i]);
    if (!any)
        return false;
    const char *separator = "";
    ox_strbuf_putc(w->out, '\n');
    indent(w);
    ox_strbuf_putc(w->out, '<');
    for (size_t i = 0; i < graph->n_initializer && w->status == OX_OK; i++, separator = ", ") {
        ox_strbuf_puts(w->out, separator);
        ox_text_write_tensor(w, graph->initializer[i], true);
    }
    for (size_t i = 0; i < graph->n_value_info; i++) {
        if (!is_typed(graph->value_info[i]))
            continue;
        ox_strbuf_puts(w->out, separator);
        value(w, graph->value_info[i]);
        separator = ", ";
    }
    ox_strbuf_puts(w->out, ">\n");
    ox_strbuf_printf(w->out, "%*s", (int)(INDENT * w->depth), "");
    return true;
}

static void left_out(struct ox_model_writer *w, size_t n, const char *what)
{
    if (n)
        ox_strbuf_printf(w->out, "\n# not shown, the syntax has no form for it: %zu %s\n", n, what);
}

void ox_text_write_graph(struct ox_model_writer *w, const Onnx__GraphProto *graph)
{
    ox_text_write_name(w, graph->name);
    ox_strbuf_putc(w->out, ' ');
    values(w, graph->input, graph->n_input);
    ox_strbuf_puts(w->out, " => ");
    values(w, graph->output, graph->n_output);
    left_out(w, graph->n_sparse_initializer, "sparse_initializer");
    left_out(w, graph->n_quantization_annotation, "quantization_annotation");
    if (!inits_and_values(w, graph))
        ox_strbuf_putc(w->out, ' ');
    nodes(w, graph->node, graph->n_node);
}

/* ---- Functions and models ------------------------------------------------------------------------------------------- */

static void imports(struct ox_model_writer *w, Onnx__OperatorSetIdProto *const *list, size_t n)
{
    ox_strbuf_putc(w->out, '[');
    for (size_t i = 0; i < n; i++) {
        ox_strbuf_puts(w->out, i ? ", " : "");
        quoted(w, list[i]->domain);
        ox_strbuf_printf(w->out, " : %lld", (long long)list[i]->version);
    }
    ox_strbuf_putc(w->out, ']');
}

static void text_field(struct ox_model_writer *w, const char *key, const char *text)
{
    if (!text)
        return;
    ox_strbuf_printf(w->out, ",\n   %s: ", key);
    quoted(w, text);
}

static void function_attributes(struct ox_model_writer *w, const Onnx__FunctionProto *function)
{
    if (!function->n_attribute && !function->n_attribute_proto)
        return;
    ox_strbuf_putc(w->out, '<');
    names(w, function->attribute, function->n_attribute);
    for (size_t i = 0; i < function->n_attribute_proto; i++) {
        ox_strbuf_puts(w->out, i || function->n_attribute ? ", " : "");
        attribute(w, function->attribute_proto[i]);
    }
    ox_strbuf_puts(w->out, "> ");
}

static void function(struct ox_model_writer *w, const Onnx__FunctionProto *f)
{
    ox_strbuf_puts(w->out, "\n<\n   domain: ");
    quoted(w, f->domain);
    if (f->overload && *f->overload)
        text_field(w, "overload", f->overload);
    ox_strbuf_puts(w->out, ",\n   opset_import: ");
    imports(w, f->opset_import, f->n_opset_import);
    text_field(w, "doc_string", f->doc_string);
    ox_strbuf_puts(w->out, "\n>\n");
    ox_text_write_name(w, f->name);
    ox_strbuf_putc(w->out, ' ');
    function_attributes(w, f);
    ox_strbuf_putc(w->out, '(');
    names(w, f->input, f->n_input);
    ox_strbuf_puts(w->out, ") => (");
    names(w, f->output, f->n_output);
    ox_strbuf_puts(w->out, ")\n");
    bool open = false;
    for (size_t i = 0; i < f->n_value_info; i++) {
        if (!is_typed(f->value_info[i]))
            continue;
        ox_strbuf_puts(w->out, open ? ", " : "   <");
        open = true;
        value(w, f->value_info[i]);
    }
    if (open)
        ox_strbuf_puts(w->out, ">\n");
    nodes(w, f->node, f->n_node);
}

void ox_text_write_model(struct ox_model_writer *w, const Onnx__ModelProto *model)
{
    ox_strbuf_printf(w->out,
                     "<\n   ir_version: %lld,\n   opset_import: ", (long long)model->ir_version);
    imports(w, model->opset_import, model->n_opset_import);
    text_field(w, "producer_name", model->producer_name);
    text_field(w, "producer_version", model->producer_version);
    text_field(w, "domain", model->domain);
    if (model->has_model_version)
        ox_strbuf_printf(w->out, ",\n   model_version: %lld", (long long)model->model_version);
    text_field(w, "doc_string", model->doc_string);
    if (model->n_metadata_props) {
        ox_strbuf_puts(w->out, ",\n   metadata_props: ");
        pairs(w, model->metadata_props, model->n_metadata_props);
    }
    ox_strbuf_puts(w->out, "\n>\n");
    left_out(w, model->n_training_info, "training_info");
    if (model->graph)
        ox_text_write_graph(w, model->graph);
    for (size_t i = 0; i < model->n_functions && w->status == OX_OK; i++)
        function(w, model->functions[i]);
    ox_strbuf_putc(w->out, '\n');
    ox_write_flush(w, true);
}

/* ---- Types ----------------------------------------------------------------------------------------------------------- */

static void elem(struct ox_model_writer *w, int32_t data_type)
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
        elem(w, type->tensor_type->elem_type);
        shape(w, type->tensor_type->shape);
        break;
    case ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE:
        ox_strbuf_puts(w->out, "sparse_tensor(");
        elem(w, type->sparse_tensor_type->elem_type);
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
        elem(w, type->map_type->key_type);
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

/* ---- Tensors ---------------------------------------------------------------------------------------------------------- */

/* The entries of the typed field that the text holds, whichever field the data are in. */
struct entries {
    const uint8_t *raw; /* packed little-endian; or */
    void *numbers;      /* decoded */
    size_t n;
    size_t bytes; /* of an entry */
};

/* Size of an entry when the data are raw: complex numbers count as two, 2- and 4-bit elements share a byte. */
static size_t raw_entry_bytes(enum ox_dtype dtype)
{
    unsigned bits = ox_dtype_bits(dtype);
    if (dtype == OX_COMPLEX64 || dtype == OX_COMPLEX128)
        return bits / 16;
    return bits <= 8 ? 1 : bits / 8;
}

static bool find_entries(struct ox_model_writer *w, const Onnx__TensorProto *t, struct entries *e)
{
    enum ox_dtype dtype =
        t->data_type > 0 && t->data_type < OX_N_DTYPES ? (enum ox_dtype)t->data_type : OX_UNDEFINED;
    *e = (struct entries){0};
    if (t->has_raw_data && t->raw_data.len) {
        e->bytes = raw_entry_bytes(dtype);
        e->raw = t->raw_data.data;
        e->n = e->bytes ? t->raw_data.len / e->bytes : 0;
        return true;
    }
    const struct {
        size_t n, bytes;
        uint32_t field;
    } fields[] = {{t->n_float_data, 4, 4},
                  {t->n_int32_data, 4, 5},
                  {t->n_int64_data, 8, 7},
                  {t->n_double_data, 8, 10},
                  {t->n_uint64_data, 8, 11}};
    for (size_t i = 0; i < OX_COUNT(fields); i++)
        if (fields[i].n) {
            e->n = fields[i].n;
            e->bytes = fields[i].bytes;
            e->numbers = ox_write_numbers(w, t, fields[i].field, e->n, e->bytes);
            return e->numbers != NULL;
        }
    return true;
}

static void entry(struct ox_model_writer *w, enum ox_dtype dtype, const struct entries *e, size_t i)
{
    const uint8_t *at = (e->raw ? e->raw : (const uint8_t *)e->numbers) + i * e->bytes;
    union {
        int64_t i64;
        uint64_t u64;
        double f64;
        float f32;
        int32_t i32;
        uint32_t u32;
        int16_t i16;
        uint16_t u16;
        int8_t i8;
        uint8_t u8;
    } v = {0};
    memcpy(&v, at, e->bytes);
    char text[OX_NUMBER_BYTES];
    switch (dtype) {
    case OX_FLOAT32:
    case OX_COMPLEX64:
        number(w, v.f32);
        return;
    case OX_FLOAT64:
    case OX_COMPLEX128:
        ox_strbuf_puts(w->out, ox_number_double(text, v.f64));
        return;
    case OX_UINT64:
    case OX_UINT32:
        ox_strbuf_printf(w->out, "%llu", e->bytes == 8 ? (unsigned long long)v.u64 : v.u32);
        return;
    default:
        break;
    }
    bool is_signed =
        dtype == OX_INT8 || dtype == OX_INT16 || dtype == OX_INT32 || dtype == OX_INT64;
    long long value = e->bytes == 8   ? (long long)v.i64
                      : e->bytes == 4 ? v.i32
                      : e->bytes == 2 ? (is_signed ? v.i16 : v.u16)
                                      : (is_signed ? v.i8 : v.u8);
    ox_strbuf_printf(w->out, "%lld", value);
}

static void strings(struct ox_model_writer *w, const Onnx__TensorProto *t)
{
    size_t head, tail;
    ox_write_range(w, t->n_string_data, &head, &tail);
    ox_strbuf_putc(w->out, '{');
    for (size_t i = 0; i < t->n_string_data; i++) {
        if (i == head && head + tail < t->n_string_data) {
            ox_strbuf_puts(w->out, head ? ", ..." : "...");
            i = t->n_string_data - tail;
            if (i == t->n_string_data)
                break;
        }
        ox_strbuf_puts(w->out, i ? ", " : "");
        ox_text_write_quoted(w, t->string_data[i].data, t->string_data[i].len);
    }
    ox_strbuf_putc(w->out, '}');
}

static void elements(struct ox_model_writer *w, const Onnx__TensorProto *t)
{
    struct entries e;
    size_t head, tail;
    if (t->data_type == OX_STRING) {
        strings(w, t);
        return;
    }
    if (!find_entries(w, t, &e))
        return;
    ox_write_range(w, e.n, &head, &tail);
    ox_strbuf_putc(w->out, '{');
    for (size_t i = 0; i < e.n && w->status == OX_OK; i++) {
        if (i == head && head + tail < e.n) {
            ox_strbuf_puts(w->out, head ? ",..." : "...");
            i = e.n - tail;
            if (i == e.n)
                break;
        }
        ox_strbuf_puts(w->out, i ? "," : "");
        entry(w, (enum ox_dtype)t->data_type, &e, i);
        if (i % 4096 == 0)
            ox_write_flush(w, false);
    }
    ox_strbuf_putc(w->out, '}');
    free(e.numbers);
}

void ox_text_write_tensor(struct ox_model_writer *w, const Onnx__TensorProto *t, bool is_init)
{
    elem(w, t->data_type);
    for (size_t i = 0; i < t->n_dims; i++)
        ox_strbuf_printf(w->out, "%s%lld%s", i ? "," : "[", (long long)t->dims[i],
                         i + 1 == t->n_dims ? "]" : "");
    if (t->name && *t->name) {
        ox_strbuf_putc(w->out, ' ');
        ox_text_write_name(w, t->name);
    }
    ox_strbuf_puts(w->out, is_init ? " = " : " ");
    if (t->has_data_location && t->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
        pairs(w, t->external_data, t->n_external_data);
    else
        elements(w, t);
}
