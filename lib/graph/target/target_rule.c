/* Where a target runs nodes of one class. */
#include <string.h>

#include "graph/target/target_survey.h"
#include "proto/onnx.pb-c.h"
#include "schema/schema.h"

/* Whether all nodes of the body are good, by domain and operator. */
static bool all_good(const struct ox_schema_body *body,
                     bool (*good)(const void *arg, const char *domain, const char *op_type),
                     const void *arg)
{
    Onnx__FunctionProto *function = onnx__function_proto__unpack(NULL, body->bytes, body->data);
    bool all = function != NULL;
    for (size_t i = 0; all && i < function->n_node; i++) {
        const Onnx__NodeProto *node = function->node[i];
        all = good(arg, node->domain ? node->domain : "", node->op_type);
    }
    onnx__function_proto__free_unpacked(function, NULL);
    return all;
}

struct known {
    const struct ox_target_table *table;
    uint32_t bit;
    int64_t opset;
};

static bool is_known(const void *arg, const char *domain, const char *op_type)
{
    const struct known *k = arg;
    const struct ox_schema *schema = ox_schema_find(domain, op_type, k->opset);
    struct ox_target_answer answer = {0};
    if (schema)
        ox_target_ask(&answer, k->table, k->bit, domain, op_type, schema->since, NULL, 0);
    return answer.via != OX_VIA_NONE || strcmp(op_type, "Constant") == 0 ||
           ox_target_body_fits(k->table, k->bit, schema, k->opset);
}

bool ox_target_body_fits(const struct ox_target_table *table, uint32_t bit,
                         const struct ox_schema *schema, int64_t opset)
{
    const struct known known = {table, bit, opset};
    const struct ox_schema_body *body = schema ? ox_schema_body_at(schema, opset) : NULL;
    if (!body && schema && schema->n_bodies > 0)
        body = &schema->bodies[0];
    if (!body) /* one that depends on the node cannot be looked at here */
        return schema && schema->has_function;
    return all_good(body, is_known, &known);
}

/* From one opset to another. */
struct opsets {
    int64_t from, to;
};

static bool is_unchanged(const void *arg, const char *domain, const char *op_type)
{
    const struct opsets *o = arg;
    return ox_schema_find(domain, op_type, o->from) == ox_schema_find(domain, op_type, o->to);
}

/* Whether the standard's body of the operator means the same at that opset: runtimes do not use one with an operator that has changed
 * since it was written (OpSchema::ValidateReferencedOpsInFunction). One that depends on the node is made anew. */
static bool body_holds(const struct ox_schema *schema, int64_t opset)
{
    const struct ox_schema_body *body = schema ? ox_schema_body_at(schema, opset) : NULL;
    return !body || all_good(body, is_unchanged, &(struct opsets){body->opset, opset});
}

static const char *print_reason(struct ox_arena *arena, const struct ox_target *target,
                                const struct ox_target_class *class, int since,
                                enum ox_target_cause cause, const struct ox_target_answer *answer)
{
    const char *who = target->provider;
    if (cause == OX_CAUSE_DOMAIN && strcmp(class->domain, "com.microsoft.nchwc") == 0)
        return ox_arena_printf(arena,
                               "'%s' is the layout of the processor on which onnxruntime wrote the "
                               "file: it loads on such a processor only",
                               class->domain);
    if (cause == OX_CAUSE_DOMAIN)
        return ox_arena_printf(arena, "%s %s has no domain '%s'", target->runtime, target->version,
                               class->domain);
    if (cause == OX_CAUSE_OPERATOR)
        return ox_arena_printf(arena, "%s %s's %s provider has no %s", target->runtime,
                               target->version, who, class->op_type);
    if (cause == OX_CAUSE_VERSION)
        return ox_arena_printf(
            arena, "%s %s's %s provider has no version %d of %s, which opset %lld means",
            target->runtime, target->version, who, since, class->op_type, (long long)class->opset);
    struct ox_strbuf found;
    struct ox_strbuf allowed;
    ox_strbuf_init(&found);
    ox_strbuf_init(&allowed);
    ox_target_types_print(&found, answer->found, ", ");
    ox_target_types_print(&allowed, answer->allowed, ", ");
    const char *text = NULL;
    if (!found.failed && !allowed.failed)
        text = ox_arena_printf(arena, "%s %s's %s provider has %s for %s of %s, not of %s",
                               target->runtime, target->version, who, class->op_type, answer->bound,
                               allowed.data ? allowed.data : "no type",
                               found.data ? found.data : "this type");
    ox_strbuf_release(&found);
    ox_strbuf_release(&allowed);
    return text;
}

static enum ox_target_cause cause_of(const struct ox_target *target,
                                     const struct ox_target_class *class,
                                     const struct ox_target_answer *answer)
{
    if (answer->has_version && answer->bound)
        return OX_CAUSE_TYPE;
    if (answer->has_op)
        return OX_CAUSE_VERSION;
    bool known = ox_target_has_domain(&target->own, class->domain) ||
                 (target->rest.rows && ox_target_has_domain(&target->rest, class->domain));
    return known ? OX_CAUSE_OPERATOR : OX_CAUSE_DOMAIN;
}

/* Of an opset that is too new that alone is told, and what would be missing at the newest one that is not. One that is not imported
 * onnxruntime takes at its newest, unless nothing is. */
const struct ox_schema *ox_target_schema(const struct ox_target *target,
                                         const struct ox_target_class *class)
{
    const struct ox_target_limit *limit = ox_target_limit(target, class->domain);
    int64_t newest = limit ? limit->newest : INT64_MAX;
    return class->opset == 0 || class->opset > newest
               ? ox_schema_find(class->domain, class->op_type, newest)
               : NULL;
}

/* From this opset on Cast names its type by number, and runtimes that put casts around nodes know no other. */
enum { FIRST_NUMBERED_CAST = 6 };

/* A class as a table is asked for it: by the schema and the types of one of its versions. */
struct asked {
    const struct ox_target_class *class;
    const struct ox_schema *schema; /* NULL: none is known */
    const struct ox_target_binding *bindings;
    size_t n_bindings;
};

static int since_of(const struct asked *asked)
{
    return asked->schema ? asked->schema->since : (int)asked->class->opset;
}

/* What rows say, and what nobody has whatever they say; sets *outlived where that is for the operators of the body. */
static struct ox_target_answer ask(const struct ox_target_table *table, uint32_t bit,
                                   const struct asked *asked, bool *outlived)
{
    const struct ox_target_class *class = asked->class;
    struct ox_target_answer answer;
    ox_target_ask(&answer, table, bit, class->domain, class->op_type, since_of(asked),
                  asked->bindings, asked->n_bindings);
    if (answer.via == OX_VIA_CAST && !*class->domain && class->opset < FIRST_NUMBERED_CAST)
        answer.via = OX_VIA_NONE;
    if (answer.via != OX_VIA_BODY || body_holds(asked->schema, class->opset))
        return answer;
    *outlived = true;
    return (struct ox_target_answer){.via = OX_VIA_NONE, .has_op = true};
}

void ox_target_rule(struct ox_target_ruling *ruling, const struct ox_target_survey *survey,
                    const struct ox_target *target, const struct ox_target_class *class,
                    const struct ox_schema *schema, struct ox_arena *arena)
{
    static const enum ox_target_fate fates[] = {
        [OX_VIA_NONE] = OX_FATE_IMPOSSIBLE,
        [OX_VIA_BODY] = OX_FATE_BODY,
        [OX_VIA_CAST] = OX_FATE_CAST,
        [OX_VIA_KERNEL] = OX_FATE_TAKEN,
    };
    *ruling = (struct ox_target_ruling){.fate = OX_FATE_CALL};
    if (class->function && target->functions)
        return;
    struct ox_target_binding others[64];
    struct asked asked = {class, class->schema, class->bindings, class->n_bindings};
    if (schema)
        asked = (struct asked){class, schema, others,
                               ox_target_bindings(others, sizeof others / sizeof *others, survey,
                                                  class->node, schema)};
    bool outlived = false;
    const struct ox_target_answer own = ask(&target->own, target->own_bit, &asked, &outlived);
    ruling->fate = fates[own.via];
    if (own.via != OX_VIA_NONE)
        return;
    struct ox_target_answer rest = {0};
    if (target->rest.rows)
        rest = ask(&target->rest, target->rest_bit, &asked, &outlived);
    if (rest.via != OX_VIA_NONE)
        ruling->fate = OX_FATE_FALLBACK;
    if (rest.via == OX_VIA_BODY &&
        ox_target_body_fits(&target->own, target->own_bit, asked.schema, class->opset)) {
        ruling->fate = OX_FATE_BODY;
        return;
    }
    /* Where nobody has it the reason is the runtime's, else the provider's own. */
    const struct ox_target_answer *answer =
        target->rest.rows && rest.has_op && !own.has_op && ruling->fate == OX_FATE_IMPOSSIBLE
            ? &rest
            : &own;
    ruling->cause = class->function ? OX_CAUSE_FUNCTION : cause_of(target, class, answer);
    if (arena && outlived)
        ruling->reason = ox_arena_printf(
            arena,
            "%s %s takes %s by its body alone, and not at opset %lld, where an operator in that "
            "has changed",
            target->runtime, target->version, class->op_type, (long long)class->opset);
    else if (arena && class->function)
        ruling->reason = ox_arena_printf(arena, "%s %s does not expand functions of models",
                                         target->runtime, target->version);
    else if (arena)
        ruling->reason =
            print_reason(arena, target, class, since_of(&asked), ruling->cause, answer);
}
