/* The smallest change after which a target loads a model. */
#include <string.h>

#include "check/findings.h"
#include "graph/target/target_survey.h"
#include "schema/schema.h"

/* Runtimes promise little for what is older. */
enum { OLDEST_OPSET = 7 };

static int64_t opset_after(const struct ox_target_class *class, int64_t opset, int64_t ml)
{
    if (!*class->domain && opset)
        return opset;
    if (ml && strcmp(class->domain, "ai.onnx.ml") == 0)
        return ml;
    return class->opset;
}

/* Whether the schema has the types of such nodes at all. Tables bind only types that it has. */
static bool has_types(const struct ox_target_survey *survey, const struct ox_target_class *class,
                      const struct ox_schema *schema)
{
    struct ox_target_binding bindings[64];
    size_t n = ox_target_bindings(bindings, sizeof bindings / sizeof *bindings, survey, class->node,
                                  schema);
    for (size_t i = 0; i < n; i++) {
        const struct ox_target_binding *binding = &bindings[i];
        if (!binding->has_allowed || !binding->bit || binding->bit == OX_TARGET_OTHER ||
            binding->bit == OX_TARGET_OPTIONAL)
            continue;
        unsigned place = 0;
        while (!(binding->bit >> place & 1))
            place++;
        bool sequence = place > OX_TARGET_SEQUENCE_BIT;
        if (!ox_type_set_has(binding->allowed, sequence ? 's' : 't',
                             (enum ox_dtype)(place % OX_TARGET_SEQUENCE_BIT)))
            return false;
    }
    return true;
}

static bool is_default(const struct ox_attr *attr, const struct ox_schema_attr *row)
{
    switch (attr->type) {
    case OX_ATTR_INT:
        return row->default_kind == OX_DEFAULT_INT && attr->n == 1 && attr->i == row->i;
    case OX_ATTR_FLOAT:
        return row->default_kind == OX_DEFAULT_FLOAT && attr->n == 1 && attr->f == row->f;
    case OX_ATTR_STRING:
        return row->default_kind == OX_DEFAULT_STRING && attr->n == 1 &&
               strcmp(attr->s.p, row->s) == 0;
    case OX_ATTR_INTS: { /* dilations and the like: ones are what they are without */
        bool ones = true;
        for (size_t i = 0; i < attr->n; i++)
            ones &= attr->ints[i] == 1;
        return ones;
    }
    default:
        return false;
    }
}

/* Nodes with an attribute that the operator does not have yet at those versions, and that says something. */
static bool has_new_attributes(const struct ox_target_survey *survey, int64_t opset, int64_t ml)
{
    for (size_t i = 0; i < survey->n_nodes; i++) {
        const struct ox_node *node = survey->nodes[i].node;
        const struct ox_target_class *class = &survey->classes[survey->nodes[i].class];
        int64_t at = opset_after(class, opset, ml);
        if (node->n_attrs == 0 || at >= class->opset || !class->schema || class->function)
            continue;
        const struct ox_schema *schema = ox_schema_find(class->domain, class->op_type, at);
        for (size_t k = 0; schema && schema != class->schema && k < node->n_attrs; k++) {
            const struct ox_schema_attr *row = ox_schema_attr(class->schema, node->attrs[k].name);
            if (row && !ox_schema_attr(schema, node->attrs[k].name) &&
                !is_default(&node->attrs[k], row))
                return true;
        }
    }
    return false;
}

/* Calls that the model can do without: what they call is judged by itself. */
static bool is_put_in_line(const struct ox_target *target, const struct ox_target_class *class)
{
    return class->function && !target->functions;
}

/* Nodes that would be impossible if ai.onnx and ai.onnx.ml were of those versions (0: as they are). *by_body: those that their
 * function body would replace. */
static size_t blocked_at(const struct ox_target_survey *survey, const struct ox_target *target,
                         int64_t opset, int64_t ml, size_t *by_body)
{
    size_t blocked = 0;
    *by_body = 0;
    for (size_t i = 0; i < survey->n_classes; i++) {
        const struct ox_target_class *class = &survey->classes[i];
        int64_t at = opset_after(class, opset, ml);
        if (is_put_in_line(target, class))
            continue;
        struct ox_target_ruling ruling;
        const struct ox_schema *schema = ox_target_schema(target, class);
        if (at != class->opset) {
            schema = ox_schema_find(class->domain, class->op_type, at);
            if (!schema && !class->function) {
                bool fits = ox_target_body_fits(&target->own, target->own_bit, class->schema, at);
                *(fits ? by_body : &blocked) += class->n_nodes;
                continue;
            }
        }
        struct ox_target_class moved = *class;
        moved.opset = at;
        ox_target_rule(&ruling, survey, target, &moved, schema, NULL);
        if (ruling.fate == OX_FATE_IMPOSSIBLE || (schema && !has_types(survey, class, schema)))
            blocked += class->n_nodes;
    }
    if (blocked == 0 && has_new_attributes(survey, opset, ml))
        blocked = 1;
    return blocked;
}

static int64_t newest(const struct ox_target *target, const char *domain)
{
    const struct ox_target_limit *limit = ox_target_limit(target, domain);
    return limit ? limit->newest : INT64_MAX;
}

/* Names of the operators that would be expanded, each once. */
static void print_expanded(struct ox_strbuf *text, const struct ox_target_survey *survey,
                           int64_t opset)
{
    const char *separator = " (";
    const char *last = "";
    for (size_t i = 0; i < survey->n_classes; i++) {
        const struct ox_target_class *class = &survey->classes[i];
        if (*class->domain || class->function || strcmp(class->op_type, last) == 0 ||
            ox_schema_find("", class->op_type, opset))
            continue;
        ox_strbuf_puts(text, separator);
        ox_strbuf_name(text, class->op_type, 64);
        separator = ", ";
        last = class->op_type;
    }
    ox_strbuf_putc(text, ')');
}

static void print_command(struct ox_strbuf *command, const struct ox_target_verdict *verdict,
                          bool in_line, int64_t opset, int64_t ml)
{
    if (in_line) {
        ox_strbuf_printf(command, "onnxtool optimize --inline --for %s %%s", verdict->target);
    } else {
        ox_strbuf_puts(command, "onnxtool convert-opset %s");
        if (opset)
            ox_strbuf_printf(command, " --to %lld", (long long)opset);
        if (ml)
            ox_strbuf_printf(command, " --to ai.onnx.ml=%lld", (long long)ml);
    }
    ox_strbuf_puts(command, " -o OUT");
}

static bool say(struct ox_target_verdict *verdict, struct ox_target_survey *survey,
                const struct ox_target *target, int64_t opset, int64_t ml, size_t by_body)
{
    const struct ox_model *model = survey->model;
    bool in_line = false;
    for (size_t i = 0; i < survey->n_classes; i++)
        in_line |= is_put_in_line(target, &survey->classes[i]);
    int64_t now = ox_graph_opset(model->graph, "");
    struct ox_strbuf fix;
    struct ox_strbuf command;
    ox_strbuf_init(&fix);
    ox_strbuf_init(&command);
    const char *separator = "";
    if (in_line) {
        ox_strbuf_puts(&fix, "put functions in line");
        separator = ", ";
    }
    if (opset && opset != now) {
        ox_strbuf_printf(&fix, "%sconvert-opset %lld", separator, (long long)opset);
        separator = ", ";
    }
    if (ml) {
        ox_strbuf_printf(&fix, "%sai.onnx.ml %lld", separator, (long long)ml);
        separator = ", ";
    }
    print_command(&command, verdict, in_line, opset || ml ? opset : now, ml);
    if (verdict->ir_max && model->ir_version > verdict->ir_max)
        ox_strbuf_printf(&fix, "%sset IR %lld", separator, (long long)verdict->ir_max);
    if (by_body) {
        ox_strbuf_printf(&fix, "; %zu node%s by the function body", by_body,
                         by_body == 1 ? "" : "s");
        print_expanded(&fix, survey, opset);
    }
    bool good = !fix.failed && !command.failed;
    if (good && fix.len == 0) {
        ox_strbuf_release(&command);
        ox_strbuf_release(&fix);
        return true;
    }
    verdict->fix = good ? ox_arena_strndup(&survey->arena, fix.data, fix.len) : NULL;
    verdict->command = good ? ox_arena_strndup(&survey->arena, command.data, command.len) : NULL;
    ox_strbuf_release(&fix);
    ox_strbuf_release(&command);
    return verdict->fix && verdict->command;
}

bool ox_target_find_fix(struct ox_target_verdict *verdict, struct ox_target_survey *survey,
                        const struct ox_target *target)
{
    const struct ox_model *model = survey->model;
    if (!model->graph)
        return true;
    /* No version of an operator takes what a form of its attributes, or shapes, are refused for. */
    for (size_t i = 0; i < verdict->n_problems; i++)
        if (verdict->problems[i].cause == OX_CAUSE_ATTRIBUTE ||
            verdict->problems[i].cause == OX_CAUSE_SHAPE)
            return true;
    int64_t now = ox_graph_opset(model->graph, "");
    int64_t ml_now = ox_graph_opset(model->graph, "ai.onnx.ml");
    int64_t most = newest(target, "");
    most = most < OX_ONNX_OPSET ? most : OX_ONNX_OPSET;
    int64_t ml_most = newest(target, "ai.onnx.ml");
    int64_t ml = ml_now > ml_most ? ml_most : 0;
    size_t by_body;
    if (model->n_opsets == 0)
        return true;
    /* The nearest version that it takes: first as it is, then downwards, then upwards. */
    if (now <= most && blocked_at(survey, target, 0, ml, &by_body) == 0)
        return say(verdict, survey, target, now, ml, by_body);
    if (now == 0)
        return true;
    for (int64_t to = now <= most ? now - 1 : most; to >= OLDEST_OPSET; to--)
        if (blocked_at(survey, target, to, ml, &by_body) == 0)
            return say(verdict, survey, target, to, ml, by_body);
    for (int64_t to = now + 1; to <= most; to++)
        if (blocked_at(survey, target, to, ml, &by_body) == 0)
            return say(verdict, survey, target, to, ml, by_body);
    return true;
}

void ox_target_advise(struct ox_findings *findings, const struct ox_target_verdict *verdict)
{
    if (verdict->loads || !verdict->fix || verdict->n_impossible > 0)
        return;
    const struct ox_place place = {0};
    ox_findings_add(findings, OX_F_LINT_OPSET_TOO_NEW, &place, verdict->fix,
                    "%s would load it but for its version: %s", verdict->target,
                    verdict->problems[0].reason);
}
