/* The ONNX textual syntax, written as the standard's own printer does (docs/Syntax.md), and with values where that one gives up:
 * packed and complex types. What the syntax cannot say is named in comments. */
#include <string.h>

#include "common/number.h"
#include "model/text_lex.h"
#include "model/write_impl.h"

enum { INDENT = 3 };

static void indent(struct ox_model_writer *w)
{
    ox_strbuf_printf(w->out, "%*s", (int)(INDENT * (w->depth + 1)), "");
}

static void names(struct ox_model_writer *w, char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ox_strbuf_puts(w->out, i ? ", " : "");
        ox_text_write_name(w, list[i]);
    }
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

static void write_node(struct ox_model_writer *w, const Onnx__NodeProto *node)
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
        write_node(w, list[i]);
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
        ox_text_write_string(w, list[i]->domain);
        ox_strbuf_printf(w->out, " : %lld", (long long)list[i]->version);
    }
    ox_strbuf_putc(w->out, ']');
}

static void text_field(struct ox_model_writer *w, const char *key, const char *text)
{
    if (!text)
        return;
    ox_strbuf_printf(w->out, ",\n   %s: ", key);
    ox_text_write_string(w, text);
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
    ox_text_write_string(w, f->domain);
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
        ox_text_write_pairs(w, model->metadata_props, model->n_metadata_props);
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
