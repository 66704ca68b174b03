#include "model/name.h"

#include <string.h>

#include "model/model.h"

const char *ox_name(struct ox_name *shown, const char *name)
{
    struct ox_strbuf buf;
    ox_strbuf_init(&buf);
    ox_strbuf_name(&buf, name, 256);
    const char *text = buf.failed || !buf.data ? "?" : buf.data;
    size_t n = strlen(text);
    if (n >= sizeof shown->text)
        n = sizeof shown->text - 1;
    memcpy(shown->text, text, n);
    shown->text[n] = '\0';
    ox_strbuf_release(&buf);
    return shown->text;
}

static bool holds(const struct ox_node *node, const struct ox_stored *stored)
{
    for (size_t i = 0; i < node->n_attrs; i++)
        if (node->attrs[i].type == OX_ATTR_TENSOR && node->attrs[i].n &&
            node->attrs[i].tensor == stored)
            return true;
    return false;
}

/* Its own name, else what the node that holds it makes of it. */
static const char *name_of(const struct ox_model *model, const struct ox_stored *stored)
{
    for (size_t g = 0; !*stored->name && g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        for (size_t i = 0; i < graph->n_nodes; i++) {
            const struct ox_node *node = graph->nodes[i];
            if (node->n_outputs && node->outputs[0] && holds(node, stored))
                return node->outputs[0]->name;
        }
    }
    return stored->name;
}

enum ox_status ox_fail_tensor(struct ox_error *err, enum ox_status status,
                              const struct ox_model *model, const struct ox_stored *stored)
{
    struct ox_name shown;
    return ox_fail_context(err, status, "%s: tensor \"%s\"", model->path,
                           ox_name(&shown, name_of(model, stored)));
}

enum ox_status ox_fail_model(struct ox_error *err, enum ox_status status,
                             const struct ox_model *model)
{
    const size_t n = model->path ? strlen(model->path) : 0;
    if (!err || !n)
        return status;
    bool begins = true; /* what is called by a name and a colon */
    for (char *at = err->message; *at;) {
        if (begins && strncmp(at, model->path, n) == 0 && strncmp(at + n, ": ", 2) == 0) {
            memmove(at, at + n + 2, strlen(at + n + 2) + 1);
        } else {
            begins = strncmp(at, ": ", 2) == 0;
            at += begins ? 2 : 1;
        }
    }
    return ox_fail_context(err, status, "%.400s", model->path);
}

const char *ox_attr_type_name(enum ox_attr_type type)
{
    static const char *const names[] = {
        "UNDEFINED",      "FLOAT",      "INT",         "STRING",  "TENSOR", "GRAPH",
        "FLOATS",         "INTS",       "STRINGS",     "TENSORS", "GRAPHS", "SPARSE_TENSOR",
        "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS",
    };
    return (size_t)type < OX_COUNT(names) ? names[type] : "UNDEFINED";
}

const char *ox_attr_type_word(enum ox_attr_type type)
{
    static const char *const words[] = {
        [OX_ATTR_FLOAT] = "float",
        [OX_ATTR_INT] = "int",
        [OX_ATTR_STRING] = "string",
        [OX_ATTR_TENSOR] = "tensor",
        [OX_ATTR_GRAPH] = "graph",
        [OX_ATTR_FLOATS] = "floats",
        [OX_ATTR_INTS] = "ints",
        [OX_ATTR_STRINGS] = "strings",
        [OX_ATTR_TENSORS] = "tensors",
        [OX_ATTR_GRAPHS] = "graphs",
        [OX_ATTR_SPARSE_TENSOR] = "sparse_tensor",
        [OX_ATTR_SPARSE_TENSORS] = "sparse_tensors",
        [OX_ATTR_TYPE_PROTO] = "type_proto",
        [OX_ATTR_TYPE_PROTOS] = "type_protos",
    };
    return (size_t)type < OX_COUNT(words) ? words[type] : NULL;
}

static void print_dims(struct ox_strbuf *out, const struct ox_type *type)
{
    ox_strbuf_putc(out, '[');
    for (unsigned i = 0; i < type->rank; i++) {
        if (i)
            ox_strbuf_putc(out, ',');
        ox_expr_print(out, type->dims[i]);
    }
    ox_strbuf_putc(out, ']');
}

/* Each level opens a parenthesis; they are closed together at the end. */
void ox_type_print(struct ox_strbuf *out, const struct ox_type *type, bool with_shape)
{
    size_t open = 0;
    for (;; type = type->inner) {
        enum ox_type_kind kind = type ? type->kind : OX_TYPE_UNKNOWN;
        if (kind == OX_TYPE_SEQUENCE || kind == OX_TYPE_OPTIONAL) {
            ox_strbuf_puts(out, kind == OX_TYPE_SEQUENCE ? "seq(" : "optional(");
            open++;
            continue;
        }
        if (kind == OX_TYPE_MAP) {
            ox_strbuf_printf(out, "map(%s,", ox_dtype_name(type->elem));
            open++;
            continue;
        }
        if (kind == OX_TYPE_TENSOR || kind == OX_TYPE_SPARSE) {
            if (kind == OX_TYPE_SPARSE) {
                ox_strbuf_puts(out, "sparse(");
                open++;
            }
            ox_strbuf_puts(out, ox_dtype_name(type->elem));
            if (with_shape && type->has_rank)
                print_dims(out, type);
            else if (with_shape)
                ox_strbuf_puts(out, "[...]");
        } else {
            ox_strbuf_puts(out, kind == OX_TYPE_OPAQUE ? "opaque" : "unknown");
        }
        break;
    }
    while (open--)
        ox_strbuf_putc(out, ')');
}
