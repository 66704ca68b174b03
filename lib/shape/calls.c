/* Calls of functions: the model's own, and operators that the standard defines by others. */
#include <string.h>

#include "common/grow.h"
#include "shape/infer_impl.h"

enum { MEMOS_PER_FUNCTION = 64 };

/* A call that was inferred: what went in, what came out. */
struct ox_memo {
    struct ox_memo *next;
    const struct ox_function *function;
    size_t n_in, n_out;
    const struct ox_slot *in;
    const struct ox_infer_out *out;
    struct ox_tensor *const *constants; /* of the outputs; borrowed */
};

/* ---- Bodies of the standard's functions -------------------------------------------------------------------------- */

static const struct ox_function *open_body(struct ox_shapes *s, const struct ox_schema *schema,
                                           const struct ox_schema_body *body)
{
    for (size_t i = 0; i < s->n_bodies; i++) {
        if (s->bodies[i].data == body->data)
            return s->bodies[i].model ? &s->bodies[i].model->functions[0] : NULL;
    }
    void *bodies = s->bodies;
    if (!ox_grow(&bodies, &s->cap_bodies, s->n_bodies, sizeof *s->bodies))
        return NULL;
    s->bodies = bodies;
    struct ox_model *model;
    if (ox_model_open_function(&model, s->model->env, body->data, body->bytes, NULL) != OX_OK)
        return NULL;
    struct ox_slot **slots = ox_arena_array(&s->arena, model->n_graphs + 1, sizeof(*slots));
    if (!slots) {
        ox_model_release(model);
        model = NULL;
    }
    s->bodies[s->n_bodies++] = (struct ox_shape_body){schema, body->data, model, slots};
    return model ? &model->functions[0] : NULL;
}

static const struct ox_function *standard_function(struct ox_infer *c)
{
    if (!c->schema || (c->op && c->op->infer))
        return NULL;
    const struct ox_schema_body *body = ox_schema_body_at(c->schema, c->opset);
    if (!body && c->schema->n_bodies)
        body = &c->schema->bodies[0];
    return body ? open_body(c->s, c->schema, body) : NULL;
}

/* ---- Memory of calls --------------------------------------------------------------------------------------------- */

static bool same_values(const struct ox_slot *a, const struct ox_slot *b)
{
    if (a->constant != b->constant || a->n_values != b->n_values || !a->values != !b->values)
        return false;
    return a->values == b->values ||
           memcmp(a->values, b->values, a->n_values * sizeof(a->values[0])) == 0;
}

static const struct ox_memo *find_memo(const struct ox_shapes *s,
                                       const struct ox_function *function, const struct ox_slot *in,
                                       size_t n_in, size_t n_out)
{
    int seen = 0;
    for (const struct ox_memo *memo = s->memos; memo && seen < MEMOS_PER_FUNCTION;
         memo = memo->next) {
        if (memo->function != function)
            continue;
        seen++;
        bool same = memo->n_in == n_in && memo->n_out == n_out;
        for (size_t i = 0; i < n_in && same; i++)
            same = ox_infer_type_equal(memo->in[i].type, in[i].type) &&
                   same_values(&memo->in[i], &in[i]);
        if (same)
            return memo;
    }
    return NULL;
}

static void add_memo(struct ox_infer *c, const struct ox_function *function,
                     const struct ox_slot *in)
{
    struct ox_shapes *s = c->s;
    size_t n_out = c->node->n_outputs;
    struct ox_memo *memo = ox_arena_alloc(&s->arena, sizeof *memo);
    struct ox_tensor **constants = ox_arena_array(&s->arena, n_out + 1, sizeof(*constants));
    const struct ox_infer_out *out = ox_arena_copy(&s->arena, c->outs, n_out * sizeof *out);
    if (!memo || !constants || !out)
        return;
    for (size_t i = 0; i < n_out; i++) {
        const struct ox_slot *slot =
            c->node->outputs[i] ? ox_slot_of(s, c->node->outputs[i]) : NULL;
        constants[i] = slot ? slot->constant : NULL;
    }
    *memo = (struct ox_memo){s->memos, function, c->node->n_inputs, n_out, in, out, constants};
    s->memos = memo;
}

/* ---- The call ---------------------------------------------------------------------------------------------------- */

/* Elements of data go into a call, and no further: a function that calls others would see others each time. */
static const struct ox_expr *argument_value(const struct ox_infer *c, const struct ox_expr *value)
{
    return c->s->call && ox_expr_has_signed(value) ? NULL : value;
}

/* What is known of the arguments; NULL: out of memory. Facts are put in, as the callee's slots live by themselves. */
static struct ox_slot *argument_slots(struct ox_infer *c)
{
    struct ox_slot *slots = ox_arena_array(&c->s->arena, c->node->n_inputs + 1, sizeof *slots);
    for (size_t i = 0; slots && i < c->node->n_inputs; i++) {
        size_t n;
        const struct ox_expr *const *values;
        if (!c->node->inputs[i])
            continue;
        slots[i].type = ox_infer_type(c, i);
        slots[i].constant =
            (struct ox_tensor *)(uintptr_t)ox_infer_const(c, i); /* borrowed: kept to the end */
        if (ox_infer_values(c, i, &n, &values)) {
            const struct ox_expr **copy = ox_arena_array(&c->s->arena, n ? n : 1, sizeof(*copy));
            if (!copy)
                return NULL;
            for (size_t k = 0; k < n; k++)
                copy[k] = argument_value(c, values[k]);
            slots[i].values = copy;
            slots[i].n_values = n;
        }
    }
    return slots;
}

/* Adds what this call made of a function's values to what earlier calls did. */
static void report_types(struct ox_shapes *s, const struct ox_function *function)
{
    if (function->body->model != s->model)
        return;
    for (size_t g = 0; g < s->n_graphs; g++) {
        const struct ox_graph *graph = s->model->graphs[g];
        if (graph->function != function || !s->slots[g])
            continue;
        bool first = !s->joined[g];
        if (first)
            s->joined[g] = ox_arena_array(&s->arena, graph->n_values + 1, sizeof(*s->joined[g]));
        for (size_t i = 0; s->joined[g] && i < graph->n_values; i++) {
            const struct ox_type *type = ox_shapes_resolve_type(s, s->slots[g][i].type);
            s->joined[g][i] = first ? type : ox_shapes_join(s, s->joined[g][i], type);
        }
    }
}

static void take_outputs(struct ox_infer *c, const struct ox_graph *body)
{
    for (size_t i = 0; i < c->node->n_outputs && i < body->n_outputs; i++) {
        const struct ox_slot *from = ox_slot_of(c->s, body->outputs[i]);
        struct ox_slot *to = c->node->outputs[i] ? ox_slot_of(c->s, c->node->outputs[i]) : NULL;
        if (!from)
            continue;
        c->outs[i].type = ox_shapes_merge(c->s, from->type, c->outs[i].type, NULL);
        c->outs[i].values = from->values;
        c->outs[i].n_values = from->n_values;
        c->outs[i].items = from->items;
        if (from->reason)
            c->outs[i].reason = ox_arena_printf(&c->s->arena, "in %s, '%s': %s", c->node->op_type,
                                                body->outputs[i]->name, from->reason);
        if (to)
            to->constant = from->constant;
    }
}

static void infer_body(struct ox_infer *c, const struct ox_function *function,
                       const struct ox_slot *in)
{
    struct ox_shapes *s = c->s;
    struct ox_call *call = ox_arena_alloc(&s->arena, sizeof *call);
    if (!call || !ox_shapes_enter(s, function->body)) {
        s->failed = true;
        return;
    }
    *call = (struct ox_call){c->node, function,
                             function->body->model == s->model ? NULL : c->schema, s->call};
    for (size_t i = 0; i < function->body->n_inputs && i < c->node->n_inputs; i++) {
        struct ox_slot *slot = ox_slot_of(s, function->body->inputs[i]);
        const struct ox_type *declared = slot->type;
        *slot = in[i];
        slot->type = ox_shapes_merge(s, in[i].type, declared, NULL);
    }
    s->call = call;
    s->depth++;
    s->call_depth++;
    ox_shapes_graph(s, function->body);
    s->call_depth--;
    s->depth--;
    s->call = call->outer;
    report_types(s, function);
    take_outputs(c, function->body);
}

static bool is_running(const struct ox_shapes *s, const struct ox_function *function)
{
    for (const struct ox_call *call = s->call; call; call = call->outer) {
        if (call->function == function)
            return true;
    }
    return false;
}

static void explain_all(struct ox_infer *c, const char *why)
{
    for (size_t i = 0; i < c->node->n_outputs; i++)
        ox_infer_unknown(c, i, "%s", why);
}

bool ox_shapes_call(struct ox_infer *c)
{
    struct ox_shapes *s = c->s;
    const struct ox_function *function = NULL;
    if (s->model->n_functions && c->node->graph->model == s->model)
        function =
            ox_model_function(s->model, c->node->domain, c->node->op_type, c->node->overload);
    if (!function)
        function = standard_function(c);
    if (!function)
        return false;
    ox_shapes_generic(c);
    uint64_t limit = s->model->env->limits.call_depth;
    if (is_running(s, function)) {
        explain_all(c, "the function calls itself");
        return true;
    }
    if (limit && s->call_depth >= limit) {
        explain_all(c, "functions are nested too deeply");
        return true;
    }
    const struct ox_slot *in = argument_slots(c);
    if (!in) {
        s->failed = true;
        return true;
    }
    /* A call with attributes may mean something else each time. Sizes that only the data tell are each call's own. */
    bool same_each_time = c->node->n_attrs == 0;
    const struct ox_memo *memo =
        same_each_time ? find_memo(s, function, in, c->node->n_inputs, c->node->n_outputs) : NULL;
    if (memo) {
        for (size_t i = 0; i < c->node->n_outputs; i++) {
            c->outs[i] = memo->out[i];
            if (c->node->outputs[i] && memo->constants[i])
                ox_slot_of(s, c->node->outputs[i])->constant = memo->constants[i];
        }
        return true;
    }
    size_t n_symbols = s->n_data_symbols;
    infer_body(c, function, in);
    if (same_each_time && s->n_data_symbols == n_symbols && !s->failed)
        add_memo(c, function, in);
    return true;
}
