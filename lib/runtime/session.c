#include <stdlib.h>
#include <string.h>

#include "common/machine.h"
#include "graph/pass.h"
#include "model/name.h"
#include "runtime/runtime.h"

/* ---- Rewriting -------------------------------------------------------------------------------------------------- */

/* Nodes without a name are called by their place, which rewriting changes. */
static bool name_nodes(struct ox_model *model)
{
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        for (size_t i = 0; i < graph->n_nodes; i++) {
            struct ox_node *node = graph->nodes[i];
            if (!*node->name && !(node->name = ox_arena_printf(&model->arena, "#%zu", i)))
                return false;
        }
    }
    return true;
}

/* What runs is a copy made faster, unless every value between nodes is asked for. */
static enum ox_status rewrite(struct ox_session *session, const struct ox_run_options *options,
                              struct ox_error *err)
{
    session->planned = session->model;
    session->made = session->outputs;
    if (options->level < 1 || options->oracle || options->all_values ||
        (options->on_value && !options->n_watched))
        return OX_OK;
    const char **keep = ox_arena_array(&session->arena, session->n_outputs + options->n_watched + 1,
                                       sizeof(const char *));
    session->made =
        ox_arena_array(&session->arena, session->n_outputs + 1, sizeof(struct ox_value *));
    session->implied = ox_arena_array(&session->arena, session->model->graph->n_inputs + 1,
                                      sizeof(const int64_t *));
    if (!keep || !session->made || !session->implied)
        return ox_no_memory(err);
    for (size_t i = 0; i < session->n_outputs; i++)
        keep[i] = session->outputs[i]->name;
    for (size_t i = 0; i < options->n_watched; i++)
        keep[session->n_outputs + i] = options->watched[i];
    OX_TRY(ox_model_copy(&session->planned, session->model, err));
    if (!name_nodes(session->planned))
        return ox_no_memory(err);
    const struct ox_rewrite_plan plan = {.level = options->level,
                                         .keep = keep,
                                         .n_keep = session->n_outputs + options->n_watched,
                                         .only_kept = true,
                                         .to_run = true,
                                         .implied = session->implied,
                                         .repeats = !options->once,
                                         .may_be_empty = session->may_be_empty};
    OX_TRY(ox_rewrite_model(session->planned, &plan, NULL, err));
    for (size_t i = 0; i < session->n_outputs; i++)
        session->made[i] = session->planned->graph->values[session->outputs[i]->id];
    return OX_OK;
}

/* Whether a caller gives a value for what was taken as constant. */
static bool overrides_constant(const struct ox_session *session, struct ox_datum *const *inputs)
{
    for (size_t i = 0; i < session->n_inputs && session->planned != session->model; i++)
        if (inputs[i] && !session->input_ports[i].required)
            return true;
    return false;
}

/* Whether an input is not of the sizes that the nodes ask for, which rewriting has taken for granted: as the model stands, one of them
 * will refuse it. */
static bool contradicts_nodes(const struct ox_session *session, struct ox_datum *const *inputs)
{
    for (size_t i = 0; i < session->n_inputs && session->implied; i++) {
        const int64_t *dims = session->implied[session->place[i]];
        const struct ox_tensor *tensor =
            inputs[i] && inputs[i]->kind == OX_DATUM_TENSOR ? inputs[i]->tensor : NULL;
        if (!dims || !tensor || tensor->rank != session->input_ports[i].rank)
            continue;
        for (unsigned d = 0; d < tensor->rank; d++)
            if (dims[d] >= 0 && tensor->dims[d] != dims[d])
                return true;
    }
    return false;
}

/* Whether a size that the model leaves open is 0: the rewritten copy is made for others. */
static bool is_empty(const struct ox_session *session, struct ox_datum *const *inputs)
{
    bool assumed = session->planned != session->model && !session->may_be_empty;
    for (size_t i = 0; i < session->n_inputs && assumed; i++) {
        const struct ox_port *port = &session->input_ports[i];
        const struct ox_tensor *tensor =
            inputs[i] && inputs[i]->kind == OX_DATUM_TENSOR ? inputs[i]->tensor : NULL;
        for (unsigned d = 0; tensor && d < tensor->rank; d++) {
            if (tensor->dims[d] == 0 && !(d < port->rank && port->dims[d] == 0))
                return true;
        }
    }
    return false;
}

static enum ox_status new_session(struct ox_session **out, struct ox_model *model,
                                  const struct ox_run_options *options, bool may_be_empty,
                                  struct ox_error *err);

/* Another session over the same model, or a copy, for runs that this one was not made for. */
static enum ox_status make_other(const struct ox_session *session, struct ox_session **other,
                                 struct ox_model *model, int level, bool may_be_empty,
                                 struct ox_error *err)
{
    if (*other)
        return OX_OK;
    struct ox_run_options options = session->options;
    const char **names = calloc(session->n_outputs + 1, sizeof(const char *));
    if (!names)
        return ox_no_memory(err);
    for (size_t i = 0; i < session->n_outputs; i++)
        names[i] = session->outputs[i]->name;
    options.level = level;
    options.outputs = names;
    options.n_outputs = session->n_outputs;
    enum ox_status status = new_session(other, model, &options, may_be_empty, err);
    free(names);
    return status;
}

/* For inputs that contradict the names of their dimensions, as exporters' models do that gave one name to different sizes: a
 * session over a copy without names. */
static enum ox_status make_unnamed(struct ox_session *session, struct ox_error *err)
{
    struct ox_model *copy;
    if (session->unnamed)
        return OX_OK;
    OX_TRY(ox_model_copy(&copy, session->model, err));
    enum ox_status status = ox_model_drop_symbols(copy) ? OX_OK : ox_no_memory(err);
    if (status == OX_OK)
        status = make_other(session, &session->unnamed, copy, session->options.level,
                            session->may_be_empty, err);
    if (status == OX_OK)
        session->unnamed->copy = copy;
    else
        ox_model_release(copy);
    return status;
}

/* The caller's names do not outlive the call. */
static enum ox_status keep_watched(struct ox_session *session, struct ox_error *err)
{
    size_t n = session->options.n_watched;
    const char **names = ox_arena_array(&session->arena, n + 1, sizeof(const char *));
    bool kept = names != NULL;
    for (size_t i = 0; i < n && kept; i++)
        kept = (names[i] = ox_arena_strdup(&session->arena, session->options.watched[i])) != NULL;
    if (!kept)
        return ox_no_memory(err);
    session->options.watched = names;
    return OX_OK;
}

/* A first block that stays and holds what a run of the main graph asks for, so that steady runs ask the system for none. */
static bool keep_scratch(struct ox_session *session)
{
    enum { OF_KERNELS = 1 << 15 };
    ox_arena_release(&session->scratch);
    return ox_arena_reserve(&session->scratch, OF_KERNELS + session->planned->graph->n_values *
                                                                sizeof(struct ox_datum *));
}

static enum ox_status new_session(struct ox_session **out, struct ox_model *model,
                                  const struct ox_run_options *options, bool may_be_empty,
                                  struct ox_error *err)
{
    static const struct ox_run_options plain;
    struct ox_session *session = calloc(1, sizeof *session);
    if (!session)
        return ox_no_memory(err);
    if (!options)
        options = &plain;
    session->env = model->env;
    session->model = model;
    session->options = *options;
    session->may_be_empty = may_be_empty;
    session->ran = session;
    ox_arena_init(&session->arena, ox_env_budget(model->env));
    ox_arena_init(&session->scratch, ox_env_budget(model->env));
    ox_strmap_init(&session->plan_of);
    ox_strmap_init(&session->kept_of);
    enum ox_status status;
    if (!model->graph) {
        status = ox_fail(err, OX_INPUT, "the model has no graph");
        goto cleanup;
    }
    const enum ox_pool_pages pages = options->lean   ? OX_POOL_EXACT
                                     : options->once ? OX_POOL_SOON
                                                     : OX_POOL_CLOSE;
    OX_TRY_CLEANUP(ox_pool_new(&session->pool, ox_env_budget(model->env), pages, err));
    OX_TRY_CLEANUP(keep_watched(session, err));
    OX_TRY_CLEANUP(ox_ports_make(session, options, err));
    OX_TRY_CLEANUP(rewrite(session, options, err));
    OX_TRY_CLEANUP(ox_plan_make(session, err));
    status = keep_scratch(session) ? OX_OK : ox_no_memory(err);
cleanup:
    session->options.outputs = NULL;
    if (status != OX_OK) {
        ox_fail_model(err, status, session->model);
        ox_session_release(session);
        return status;
    }
    *out = session;
    return OX_OK;
}

enum ox_status ox_session_new(struct ox_session **out, struct ox_model *model,
                              const struct ox_run_options *options, struct ox_error *err)
{
    return new_session(out, model, options, false, err);
}

void ox_session_share_memory(struct ox_session *session, const struct ox_session *other)
{
    ox_pool_release(session->pool);
    session->pool = ox_pool_ref(other->pool);
}

void ox_session_release(struct ox_session *session)
{
    if (!session)
        return;
    ox_session_release(session->plain);
    ox_session_release(session->empty);
    ox_session_release(session->unnamed);
    free(session->warning);
    ox_plan_release(session);
    ox_session_release_kept(session);
    ox_pool_release(session->pool);
    ox_shapes_release(session->shapes);
    if (session->planned != session->model)
        ox_model_release(session->planned);
    ox_model_release(session->copy);
    ox_arena_release(&session->scratch);
    ox_arena_release(&session->arena);
    free(session->events);
    free(session);
}

size_t ox_session_n_inputs(const struct ox_session *session)
{
    return session->n_inputs;
}

const struct ox_port *ox_session_input(const struct ox_session *session, size_t i)
{
    return &session->input_ports[i];
}

const char *ox_session_input_name(const struct ox_session *session, size_t i)
{
    return session->input_ports[i].name;
}

bool ox_session_input_required(const struct ox_session *session, size_t i)
{
    return session->input_ports[i].required;
}

size_t ox_session_n_outputs(const struct ox_session *session)
{
    return session->n_outputs;
}

const struct ox_port *ox_session_output(const struct ox_session *session, size_t i)
{
    return &session->output_ports[i];
}

const char *ox_session_output_name(const struct ox_session *session, size_t i)
{
    return session->output_ports[i].name;
}

/* ---- Running ---------------------------------------------------------------------------------------------------- */

/* The oracle's doubles rounded to what the model declares. */
static enum ox_status narrow(struct ox_session *session, struct ox_datum **outputs,
                             struct ox_error *err)
{
    for (size_t i = 0; i < session->n_outputs; i++) {
        const struct ox_type *type = session->outputs[i]->type;
        while (type && (type->kind == OX_TYPE_SEQUENCE || type->kind == OX_TYPE_OPTIONAL ||
                        type->kind == OX_TYPE_MAP))
            type = type->inner;
        if (!outputs[i] || !type || !(OX_ORACLE_TYPES & OX_DTYPE_BIT(type->elem)))
            continue;
        struct ox_datum *narrowed;
        OX_TRY(ox_datum_convert(&narrowed, ox_env_budget(session->env), outputs[i],
                                OX_DTYPE_BIT(OX_FLOAT64), type->elem, err));
        ox_datum_release(outputs[i]);
        outputs[i] = narrowed;
    }
    return OX_OK;
}

/* Inputs in the graph's order, in double for the oracle; each a reference. */
static enum ox_status place_inputs(struct ox_session *session, struct ox_datum *const *inputs,
                                   struct ox_datum **placed, struct ox_error *err)
{
    for (size_t i = 0; i < session->n_inputs; i++) {
        struct ox_datum **place = &placed[session->place[i]];
        if (!inputs[i])
            continue;
        if (session->options.oracle)
            OX_TRY(ox_datum_convert(place, ox_env_budget(session->env), inputs[i], OX_ORACLE_TYPES,
                                    OX_FLOAT64, err));
        else
            *place = ox_datum_ref(inputs[i]);
    }
    return OX_OK;
}

static enum ox_status run(struct ox_session *session, struct ox_datum *const *inputs,
                          struct ox_datum **outputs, bool *misnamed, bool *missized,
                          struct ox_error *err)
{
    enum ox_status status;
    struct ox_datum **placed =
        ox_arena_array(&session->scratch, session->n_inputs + 1, sizeof(struct ox_datum *));
    if (!placed)
        return ox_no_memory(err);
    OX_TRY_CLEANUP(ox_ports_check(session, inputs, misnamed, err));
    *missized = contradicts_nodes(session, inputs);
    if (*missized)
        goto cleanup;
    OX_TRY_CLEANUP(place_inputs(session, inputs, placed, err));
    struct ox_frame frame = {.session = session, .plan = session->main};
    OX_TRY_CLEANUP(ox_frame_run(&frame, placed, session->n_inputs, session->made,
                                session->n_outputs, outputs, err));
    for (size_t i = 0; status == OX_OK && i < session->n_must; i++)
        if (!outputs[i])
            status = ox_fail(err, OX_INPUT, "output '%.256s' was not made",
                             session->output_ports[i].name);
    if (status == OX_OK && session->options.oracle && session->options.narrow)
        status = narrow(session, outputs, err);
    for (size_t i = 0; status != OX_OK && i < session->n_outputs; i++) {
        ox_datum_release(outputs[i]);
        outputs[i] = NULL;
    }
cleanup:
    for (size_t i = 0; i < session->n_inputs; i++)
        ox_datum_release(placed[i]);
    return status;
}

enum ox_status ox_session_run(struct ox_session *session, struct ox_datum *const *inputs,
                              struct ox_datum **outputs, struct ox_error *err)
{
    struct ox_session *by = session;
    bool misnamed = false, missized = false;
    free(session->warning);
    session->warning = NULL;
    if (overrides_constant(session, inputs)) {
        OX_TRY(make_other(session, &session->plain, session->model, 0, false, err));
        by = session->plain;
    } else if (is_empty(session, inputs)) {
        OX_TRY(make_other(session, &session->empty, session->model, session->options.level, true,
                          err));
        by = session->empty;
    }
    session->ran = by;
    if (by != session)
        return ox_session_run(by, inputs, outputs, err);
    session->n_frames = 0;
    session->located = false;
    session->n_events = 0;
    session->run_start = session->options.profile ? ox_clock_ns() : 0;
    struct ox_arena_mark mark = ox_arena_mark(&session->scratch);
    enum ox_status status = run(session, inputs, outputs, &misnamed, &missized, err);
    ox_arena_rewind(&session->scratch, mark);
    if (misnamed && !session->copy) {
        if (!(session->warning = strdup(err->message)))
            return ox_no_memory(err);
        OX_TRY(make_unnamed(session, err));
        session->ran = session->unnamed;
        return ox_session_run(session->unnamed, inputs, outputs, err);
    }
    if (missized) {
        OX_TRY(make_other(session, &session->plain, session->model, 0, false, err));
        session->ran = session->plain;
        return ox_session_run(session->plain, inputs, outputs, err);
    }
    return status == OX_OK ? status : ox_fail_model(err, status, session->model);
}

const char *ox_session_warning(const struct ox_session *session)
{
    while (!session->warning && session->ran != session)
        session = session->ran;
    return session->warning;
}

static const struct ox_session *last_run(const struct ox_session *session)
{
    while (session->ran != session)
        session = session->ran;
    return session;
}

void ox_session_stats(const struct ox_session *session, struct ox_session_stats *stats)
{
    session = last_run(session);
    *stats = (struct ox_session_stats){.arena_bytes = ox_pool_peak(session->pool),
                                       .weights_bytes = session->weights_bytes,
                                       .n_nodes = session->main->expanded};
}

const struct ox_node_event *ox_session_events(const struct ox_session *session, size_t *n)
{
    *n = last_run(session)->n_events;
    return last_run(session)->events;
}
