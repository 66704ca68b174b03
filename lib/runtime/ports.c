#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"

/* ---- Making ----------------------------------------------------------------------------------------------------- */

static bool describe(struct ox_session *session, const struct ox_value *value, bool required,
                     struct ox_port *port)
{
    struct ox_arena *arena = &session->arena;
    const struct ox_type *type = value->type;
    *port = (struct ox_port){.name = value->name, .required = required, .type = "?"};
    if (!type)
        return true;
    struct ox_strbuf text;
    ox_strbuf_init(&text);
    ox_type_print(&text, type, true);
    bool ok = (port->type = ox_arena_text(arena, &text)) != NULL;
    if (ok && type->kind == OX_TYPE_TENSOR) {
        port->dtype = type->elem;
        port->has_rank = type->has_rank;
        port->rank = type->rank;
        int64_t *dims = ox_arena_array(arena, type->rank + 1, sizeof *dims);
        const char **symbols = ox_arena_array(arena, type->rank + 1, sizeof(const char *));
        ok = dims && symbols;
        for (unsigned d = 0; ok && type->has_rank && d < type->rank; d++) {
            dims[d] = -1;
            if (!type->dims[d] || ox_expr_is_int(type->dims[d], &dims[d]))
                continue;
            ox_strbuf_clear(&text);
            ox_expr_print(&text, type->dims[d]);
            ok = (symbols[d] = ox_arena_text(arena, &text)) != NULL;
        }
        port->dims = dims;
        port->symbols = symbols;
    }
    ox_strbuf_release(&text);
    return ok;
}

static enum ox_status list_inputs(struct ox_session *session, struct ox_error *err)
{
    const struct ox_graph *graph = session->model->graph;
    struct ox_arena *arena = &session->arena;
    session->inputs = ox_arena_array(arena, graph->n_inputs + 1, sizeof(struct ox_value *));
    session->place = ox_arena_array(arena, graph->n_inputs + 1, sizeof *session->place);
    session->input_ports = ox_arena_array(arena, graph->n_inputs + 1, sizeof *session->input_ports);
    if (!session->inputs || !session->place || !session->input_ports)
        return ox_no_memory(err);
    for (int with_default = 0; with_default <= 1; with_default++) {
        for (size_t i = 0; i < graph->n_inputs; i++) {
            struct ox_value *value = graph->inputs[i];
            if ((value->init || value->sparse_init) != (with_default == 1))
                continue;
            size_t k = session->n_inputs++;
            session->inputs[k] = value;
            session->place[k] = i;
            if (!describe(session, value, !with_default, &session->input_ports[k]))
                return ox_no_memory(err);
        }
    }
    return OX_OK;
}

static enum ox_status choose_outputs(struct ox_session *session,
                                     const struct ox_run_options *options, struct ox_error *err)
{
    const struct ox_graph *graph = session->model->graph;
    size_t n = options->n_outputs ? options->n_outputs : graph->n_outputs;
    size_t most = n;
    for (size_t i = 0; options->all_values && i < graph->n_nodes; i++)
        most += graph->nodes[i]->n_outputs;
    session->outputs = ox_arena_array(&session->arena, most + 1, sizeof(struct ox_value *));
    bool *chosen = ox_arena_array(&session->arena, graph->n_values + 1, sizeof *chosen);
    if (!session->outputs || !chosen)
        return ox_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        struct ox_value *value =
            options->n_outputs ? ox_graph_value(graph, options->outputs[i]) : graph->outputs[i];
        if (!value)
            return ox_fail(err, OX_USAGE, "there is no value '%.256s' to compute",
                           options->n_outputs ? options->outputs[i] : "");
        session->outputs[session->n_outputs++] = value;
        chosen[value->id] = true;
    }
    session->n_must = session->n_outputs;
    for (size_t i = 0; options->all_values && i < graph->n_nodes; i++) {
        const struct ox_node *node = graph->nodes[i];
        for (size_t o = 0; o < node->n_outputs; o++) {
            struct ox_value *value = node->outputs[o];
            if (!value || chosen[value->id])
                continue;
            session->outputs[session->n_outputs++] = value;
            chosen[value->id] = true;
        }
    }
    return OX_OK;
}

enum ox_status ox_ports_make(struct ox_session *session, const struct ox_run_options *options,
                             struct ox_error *err)
{
    OX_TRY(list_inputs(session, err));
    OX_TRY(choose_outputs(session, options, err));
    session->output_ports =
        ox_arena_array(&session->arena, session->n_outputs + 1, sizeof *session->output_ports);
    if (!session->output_ports)
        return ox_no_memory(err);
    for (size_t i = 0; i < session->n_outputs; i++)
        if (!describe(session, session->outputs[i], false, &session->output_ports[i]))
            return ox_no_memory(err);
    return OX_OK;
}

/* ---- Checking --------------------------------------------------------------------------------------------------- */

/* What the symbols met so far stand for. */
struct sizes {
    struct ox_strmap index_of; /* symbol -> index */
    struct size {
        int64_t size;
        const char *input; /* where it was met first */
    } * known;
    size_t n;
};

static bool look_up(void *arg, const char *symbol, int64_t *value)
{
    const struct sizes *sizes = arg;
    uint32_t index = ox_strmap_find(&sizes->index_of, symbol, strlen(symbol));
    if (index == OX_STRMAP_NONE)
        return false;
    *value = sizes->known[index].size;
    return true;
}

static void print_shape(char *out, size_t cap, const struct ox_tensor *tensor)
{
    size_t at = (size_t)snprintf(out, cap, "%s", ox_dtype_name(tensor->dtype));
    if (at < cap)
        ox_tensor_print_dims(out + at, cap - at, tensor);
}

static enum ox_status fail_input(const struct ox_session *session, size_t i,
                                 const struct ox_tensor *tensor, const char *what,
                                 struct ox_error *err)
{
    char shape[256];
    print_shape(shape, sizeof shape, tensor);
    struct ox_strbuf name;
    ox_strbuf_init(&name);
    ox_strbuf_name(&name, session->input_ports[i].name, (size_t)session->env->limits.name_bytes);
    ox_fail(err, OX_INPUT, "input '%s' is %s, the model wants %.256s%s%s",
            ox_strbuf_text(&name, NULL), shape, session->input_ports[i].type, what[0] ? ": " : "",
            what);
    ox_strbuf_release(&name);
    return OX_INPUT;
}

static enum ox_status check_kind(const struct ox_session *session, size_t i,
                                 const struct ox_datum *datum, struct ox_error *err)
{
    static const enum ox_datum_kind wants[] = {[OX_TYPE_TENSOR] = OX_DATUM_TENSOR,
                                               [OX_TYPE_SPARSE] = OX_DATUM_SPARSE,
                                               [OX_TYPE_SEQUENCE] = OX_DATUM_SEQUENCE,
                                               [OX_TYPE_OPTIONAL] = OX_DATUM_OPTIONAL,
                                               [OX_TYPE_MAP] = OX_DATUM_MAP};
    static const char *const names[] = {"a tensor", "a sparse tensor", "a sequence", "an optional",
                                        "a map"};
    const struct ox_type *type = session->inputs[i]->type;
    if (!type || type->kind == OX_TYPE_UNKNOWN || type->kind == OX_TYPE_OPAQUE)
        return OX_OK;
    bool fits = datum->kind == wants[type->kind] || type->kind == OX_TYPE_OPTIONAL ||
                (type->kind == OX_TYPE_TENSOR && datum->kind == OX_DATUM_SPARSE);
    return fits ? OX_OK
                : ox_fail(err, OX_INPUT, "input '%.256s' is %s, the model wants %.256s",
                          session->input_ports[i].name, names[datum->kind],
                          session->input_ports[i].type);
}

/* What numbers declare comes first; what names do, in the second and third pass. */
static enum ox_status check_tensor(const struct ox_session *session, size_t i,
                                   const struct ox_tensor *tensor, struct ox_error *err)
{
    const struct ox_type *type = session->inputs[i]->type;
    bool widened = session->options.oracle && tensor->dtype == OX_FLOAT64 &&
                   OX_ORACLE_TYPES & OX_DTYPE_BIT(type->elem);
    if (type->elem != OX_UNDEFINED && type->elem != tensor->dtype && !widened)
        return fail_input(session, i, tensor, "", err);
    if (!type->has_rank)
        return OX_OK;
    if (type->rank != tensor->rank)
        return fail_input(session, i, tensor, "", err);
    for (unsigned d = 0; d < type->rank; d++) {
        int64_t fixed;
        if (ox_expr_is_int(type->dims[d], &fixed) && fixed != tensor->dims[d])
            return fail_input(session, i, tensor, "", err);
    }
    return OX_OK;
}

static enum ox_status check_symbols(const struct ox_session *session, size_t i,
                                    const struct ox_tensor *tensor, struct sizes *sizes,
                                    struct ox_error *err)
{
    const struct ox_type *type = session->inputs[i]->type;
    for (unsigned d = 0; type->has_rank && d < type->rank; d++) {
        const char *symbol;
        char what[320];
        if (!ox_expr_is_symbol(type->dims[d], &symbol))
            continue;
        uint32_t index = (uint32_t)sizes->n;
        bool is_new;
        if (!ox_strmap_add(&sizes->index_of, symbol, strlen(symbol), &index, &is_new))
            return ox_no_memory(err);
        if (is_new)
            sizes->known[sizes->n++] = (struct size){tensor->dims[d], session->inputs[i]->name};
        const struct size *known = &sizes->known[index];
        if (known->size == tensor->dims[d])
            continue;
        snprintf(what, sizeof what, "'%.64s' is %lld here and %lld in '%.64s'", symbol,
                 (long long)tensor->dims[d], (long long)known->size, known->input);
        return fail_input(session, i, tensor, what, err);
    }
    return OX_OK;
}

/* Dimensions that are expressions, once all symbols have met their sizes. */
static enum ox_status check_expressions(const struct ox_session *session, size_t i,
                                        const struct ox_tensor *tensor, struct sizes *sizes,
                                        struct ox_error *err)
{
    const struct ox_type *type = session->inputs[i]->type;
    for (unsigned d = 0; type->has_rank && d < type->rank; d++) {
        int64_t want;
        char what[128];
        if (!type->dims[d] || !ox_expr_eval(type->dims[d], look_up, sizes, &want) ||
            want == tensor->dims[d])
            continue;
        snprintf(what, sizeof what, "dimension %u is %lld, not %lld", d, (long long)tensor->dims[d],
                 (long long)want);
        return fail_input(session, i, tensor, what, err);
    }
    return OX_OK;
}

/* Where values were chosen, what they are not computed from need not be there. What a subgraph takes is not looked into. */
static bool is_needed(const struct ox_session *session, const struct ox_value *input)
{
    const struct ox_plan *plan = session->main;
    if (!session->options.n_outputs)
        return true;
    for (size_t i = 0; i < plan->n_steps; i++) {
        const struct ox_node *node = plan->steps[i].node;
        for (size_t k = 0; k < node->n_inputs; k++)
            if (node->inputs[k] == input)
                return true;
        if (ox_node_has_graphs(node))
            return true;
    }
    for (size_t i = 0; i < session->n_outputs; i++)
        if (session->outputs[i] == input)
            return true;
    return false;
}

enum ox_status ox_ports_check(const struct ox_session *session, struct ox_datum *const *inputs,
                              bool *misnamed, struct ox_error *err)
{
    enum ox_status status = OX_OK;
    *misnamed = false;
    struct sizes sizes = {0};
    size_t n_dims = 0;
    for (size_t i = 0; i < session->n_inputs; i++)
        n_dims += session->inputs[i]->type ? session->inputs[i]->type->rank : 0;
    ox_strmap_init(&sizes.index_of);
    sizes.known = calloc(n_dims + 1, sizeof *sizes.known);
    if (!sizes.known)
        return ox_no_memory(err);
    for (int pass = 0; pass < 3; pass++) {
        *misnamed = pass > 0;
        for (size_t i = 0; i < session->n_inputs; i++) {
            const struct ox_type *type = session->inputs[i]->type;
            if (!inputs[i]) {
                if (!session->input_ports[i].required || !is_needed(session, session->inputs[i]))
                    continue;
                status = ox_fail(err, OX_INPUT, "input '%.256s' (%.256s) is not given",
                                 session->input_ports[i].name, session->input_ports[i].type);
                goto cleanup;
            }
            OX_TRY_CLEANUP(check_kind(session, i, inputs[i], err));
            if (!type || type->kind != OX_TYPE_TENSOR || inputs[i]->kind != OX_DATUM_TENSOR)
                continue;
            const struct ox_tensor *tensor = inputs[i]->tensor;
            OX_TRY_CLEANUP(pass == 0   ? check_tensor(session, i, tensor, err)
                           : pass == 1 ? check_symbols(session, i, tensor, &sizes, err)
                                       : check_expressions(session, i, tensor, &sizes, err));
        }
    }
    *misnamed = false;
cleanup:
    *misnamed &= status == OX_INPUT;
    ox_strmap_release(&sizes.index_of);
    free(sizes.known);
    return status;
}
