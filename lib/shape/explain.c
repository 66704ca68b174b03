/* From a value that is not known back to why. */
#include <string.h>

#include "shape/infer_impl.h"

enum { MOST_STEPS = 200 };

static void add_value(struct ox_strbuf *out, const struct ox_shapes *s,
                      const struct ox_value *value)
{
    const struct ox_type *type = ox_shapes_type(s, value);
    ox_strbuf_name(out, value->name, 0);
    ox_strbuf_puts(out, " is ");
    if (type)
        ox_type_print(out, type, true);
    else
        ox_strbuf_puts(out, "unknown");
    if (value->producer) {
        struct ox_strbuf label = {0};
        ox_node_label(&label, value->producer);
        ox_strbuf_printf(out, ", made by %s ", value->producer->op_type);
        ox_strbuf_name(out, label.data ? label.data : "", 0);
        ox_strbuf_release(&label);
    } else {
        ox_strbuf_puts(out, value->is_input ? ", an input" : "");
    }
    ox_strbuf_putc(out, '\n');
}

struct origins {
    const struct ox_shapes *s;
    struct ox_strbuf *out;
    struct ox_strmap told;
};

/* What is said of a symbol that we made up; never ends the walk. */
static bool tell_origin(void *arg, const char *name)
{
    struct origins *origins = arg;
    uint32_t at = ox_strmap_find(&origins->s->origins, name, strlen(name)), value = 0;
    bool is_new = false;
    if (at == OX_STRMAP_NONE ||
        !ox_strmap_add(&origins->told, name, strlen(name), &value, &is_new) || !is_new)
        return false;
    ox_strbuf_puts(origins->out, "  ");
    ox_strbuf_name(origins->out, name, 0);
    ox_strbuf_puts(origins->out, ": ");
    ox_strbuf_name(origins->out, origins->s->origin_texts[at], 0);
    ox_strbuf_putc(origins->out, '\n');
    return false;
}

static void tell_symbols(struct origins *origins, const struct ox_type *type)
{
    for (; type; type = type->inner) {
        for (unsigned i = 0; type->has_rank && i < type->rank; i++)
            ox_expr_any_symbol(type->dims[i], tell_origin, origins);
    }
}

/* The input that a value's unknownness comes from; NULL: none. */
static const struct ox_value *unknown_input(const struct ox_shapes *s, const struct ox_value *value)
{
    const struct ox_node *node = value->producer;
    for (size_t i = 0; node && i < node->n_inputs; i++) {
        if (node->inputs[i] && !ox_shapes_is_known(ox_shapes_type(s, node->inputs[i])))
            return node->inputs[i];
    }
    return NULL;
}

static const struct ox_value *find_value(const struct ox_shapes *s, const char *name)
{
    for (size_t i = 0; i < s->n_list; i++) {
        if (strcmp(s->list[i]->name, name) == 0)
            return s->list[i];
    }
    return NULL;
}

enum ox_status ox_shapes_explain(const struct ox_shapes *shapes, const char *name,
                                 struct ox_strbuf *out, struct ox_error *err)
{
    const struct ox_value *value = find_value(shapes, name);
    if (!value)
        return ox_fail(err, OX_USAGE, "%s: there is no value '%s'",
                       shapes->model->path ? shapes->model->path : "model", name);
    struct origins origins = {.s = shapes, .out = out};
    ox_strmap_init(&origins.told);
    for (int step = 0; value && step < MOST_STEPS; step++) {
        while (value->outer)
            value = value->outer;
        const struct ox_type *type = ox_shapes_type(shapes, value);
        const char *reason = ox_shapes_reason(shapes, value);
        add_value(out, shapes, value);
        tell_symbols(&origins, type);
        if (ox_shapes_is_known(type))
            break;
        if (reason) {
            ox_strbuf_puts(out, "  ");
            ox_strbuf_name(out, reason, 0);
            ox_strbuf_putc(out, '\n');
        }
        value = unknown_input(shapes, value);
    }
    ox_strmap_release(&origins.told);
    return out->failed ? ox_fail(err, OX_NO_MEMORY, "out of memory") : OX_OK;
}
