#include <string.h>
#include <sys/mman.h>

#include "common/forget.h"
#include "model/external.h"
#include "model/value.h"
#include "runtime/runtime.h"

static enum ox_status check_rank(const struct ox_session *session, const char *what,
                                 const char *name, const struct ox_datum *datum,
                                 struct ox_error *err)
{
    unsigned rank = datum->kind == OX_DATUM_SPARSE ? datum->rank
                    : datum->tensor                ? datum->tensor->rank
                                                   : 0;
    uint64_t limit = session->env->limits.rank_run;
    if (!limit || limit > OX_MOST_RANK)
        limit = OX_MOST_RANK;
    if (rank > limit)
        return ox_fail(err, OX_LIMIT, "%s '%.256s' has rank %u; the limit is %llu", what, name,
                       rank, (unsigned long long)limit);
    return OX_OK;
}

/* ---- Constants -------------------------------------------------------------------------------------------------- */

/* What had to be copied (bytes that are not aligned for their type) or was packed is not needed in the map any more: its pages are
 * given back, so that weights are in memory once. They come back from the file if somebody looks again. Of fewer bytes than `least` it
 * is not worth the call: where the copy stays it is sooner than where that goes, too. */
enum { LEAST_KEPT = 1 << 12 };

static void drop_source(struct ox_model *model, const struct ox_stored *stored, size_t least)
{
    if (stored->place == OX_STORED_WIDE)
        stored = stored->narrow;
    const uint8_t *bytes = stored->raw;
    uint64_t n = stored->raw_bytes;
    size_t count;
    if (stored->place == OX_STORED_EXTERNAL) {
        if (!ox_dims_count(stored->rank, stored->dims, &count) ||
            !ox_dtype_packed_bytes(stored->dtype, count, &n) || n < least ||
            ox_external_find(model, stored, n, &bytes, NULL) != OX_OK)
            return;
    } else if (!model->map.mapped || stored->place != OX_STORED_RAW || n < least ||
               bytes < model->map.data || bytes >= model->map.data + model->map.bytes) {
        return;
    }
    ox_mapping_forget(bytes, n);
}

static enum ox_status load_constant(struct ox_frame *frame, const struct ox_value *value,
                                    struct ox_error *err)
{
    struct ox_session *session = frame->session;
    struct ox_model *model = value->graph->model;
    struct ox_datum *datum;
    if (value->init) {
        struct ox_tensor *tensor;
        OX_TRY(ox_stored_load(model, value->init, &tensor, err));
        if (tensor->data != value->init->raw)
            drop_source(model, value->init, LEAST_KEPT);
        enum ox_status status = ox_datum_of_tensor(&datum, tensor, err);
        ox_tensor_release(tensor);
        OX_TRY(status);
    } else {
        OX_TRY(ox_stored_sparse_load(model, value->sparse_init, &datum, err));
    }
    enum ox_status status = check_rank(session, "initializer", value->name, datum, err);
    if (status == OX_OK && session->options.oracle) {
        struct ox_datum *wide = NULL;
        status = ox_datum_convert(&wide, ox_env_budget(session->env), datum, OX_ORACLE_TYPES,
                                  OX_FLOAT64, err);
        ox_datum_release(datum);
        datum = wide;
    }
    if (status != OX_OK) {
        ox_datum_release(datum);
        return status;
    }
    session->weights_bytes += ox_datum_bytes(datum);
    frame->plan->constants[value->id] = datum;
    return OX_OK;
}

bool ox_frame_is_fixed(struct ox_frame *frame, const struct ox_value *value)
{
    while (frame && value->outer) {
        value = value->outer;
        while (frame && frame->plan->graph != value->graph)
            frame = frame->up;
    }
    if (!frame || frame->slots[value->id])
        return false;
    return value->init || value->sparse_init || frame->plan->constants[value->id];
}

/* Elements as they lie in the map; floats at any address, which memcpy allows everywhere and loads allow on x86. */
static bool may_read_in_place(const struct ox_stored *stored, size_t n, unsigned how)
{
#if defined(__x86_64__) && !defined(OX_SANITIZE)
    const bool loads = how & OX_LEND_ANY_ADDRESS && stored->dtype == OX_FLOAT32;
#else
    const bool loads = false;
#endif
    const bool rows = how & OX_LEND_ROWS && !OX_BIG_ENDIAN &&
                      (stored->dtype == OX_FLOAT32 || ox_dtype_is_half(stored->dtype));
    return stored->raw_bytes == n * ox_dtype_size(stored->dtype) &&
           (loads || rows || ox_packed_is_plain(stored->dtype, stored->raw, n));
}

/* What is about to be read whole enters the page table at once, not with a fault for every few pages. */
static void read_ahead(const struct ox_stored *stored)
{
    enum { LEAST = 1 << 18, POPULATE_READ = 22, PAGE = 4096 };
    const uintptr_t from = (uintptr_t)stored->raw / PAGE * PAGE;
    const uintptr_t to = (uintptr_t)stored->raw + stored->raw_bytes;
    if (stored->raw_bytes >= LEAST)
        (void)madvise((void *)from, to - from, POPULATE_READ); /* kernels before 5.14 have none */
}

enum ox_status ox_frame_lend(struct ox_frame *frame, const struct ox_value *value, unsigned how,
                             struct ox_datum **out, struct ox_error *err)
{
    const struct ox_value *origin = ox_value_origin(value);
    struct ox_model *model = origin->graph->model;
    const struct ox_stored *stored = origin->init;
    size_t n;
    bool wide = stored && stored->place == OX_STORED_WIDE;
    bool raw = stored && (stored->place == OX_STORED_RAW || wide) && stored->dtype != OX_STRING &&
               stored->rank <= OX_MOST_RANK && ox_dims_count(stored->rank, stored->dims, &n);
    bool in_place = raw && !wide && may_read_in_place(stored, n, how);
    if (!in_place && !(raw && how & OX_LEND_COPY)) {
        struct ox_datum *datum;
        OX_TRY(ox_frame_value(frame, value, &datum, err));
        *out = datum ? ox_datum_ref(datum) : NULL;
        return OX_OK;
    }
    struct ox_tensor *tensor = NULL;
    enum ox_status status;
    if (in_place) {
        if (how & OX_LEND_WHOLE)
            read_ahead(stored);
        OX_TRY_CLEANUP(ox_tensor_borrow(&tensor, stored->dtype, stored->rank, stored->dims,
                                        stored->raw, NULL, NULL, err));
    } else {
        OX_TRY_CLEANUP(ox_pool_tensor(frame->session->pool, stored->dtype, stored->rank,
                                      stored->dims, &tensor, err));
        OX_TRY_CLEANUP(ox_stored_fill(model, stored, tensor, err));
        drop_source(model, stored, LEAST_KEPT);
    }
    status = ox_datum_of_tensor(out, tensor, err);
cleanup:
    ox_tensor_release(tensor);
    return status;
}

void ox_frame_forget(const struct ox_value *value, size_t least)
{
    const struct ox_value *origin = ox_value_origin(value);
    if (origin->init)
        drop_source(origin->graph->model, origin->init, least);
}

static bool takes(const struct ox_node *node, const struct ox_value *value)
{
    for (size_t i = 0; i < node->n_inputs; i++)
        if (node->inputs[i] == value)
            return true;
    return false;
}

/* A constant that rewriting made lies nowhere else, unless it is a view of a file: where no other node takes it, it is given back.
 * Graphs within nodes may. */
static void drop_made(struct ox_frame *frame, const struct ox_node *node, struct ox_value *value)
{
    enum { LEAST = 1 << 16 };
    const struct ox_session *session = frame->session;
    struct ox_graph *graph = node->graph;
    if (session->planned == session->model || session->planned->n_graphs > 1 || value->is_output ||
        value->is_input || value->init->place != OX_STORED_TENSOR)
        return;
    struct ox_datum **kept = &frame->plan->constants[value->id];
    const uint64_t bytes = *kept ? ox_datum_bytes(*kept) : 0;
    if (bytes < LEAST)
        return;
    for (size_t i = 0; i < graph->n_nodes; i++)
        if (graph->nodes[i] != node && takes(graph->nodes[i], value))
            return;
    if ((*kept)->kind == OX_DATUM_TENSOR)
        ox_mapping_forget((*kept)->tensor->data, bytes);
    ox_datum_release(*kept);
    *kept = NULL;
    frame->session->weights_bytes -= bytes;
    ox_graph_drop_init(graph, value);
}

void ox_frame_absorbed(struct ox_frame *frame, const struct ox_node *node, size_t i)
{
    ox_frame_forget(node->inputs[i], LEAST_KEPT);
    if (node->inputs[i]->init && !node->inputs[i]->outer)
        drop_made(frame, node, node->inputs[i]);
}

void ox_frame_drop_constants(struct ox_frame *frame, const struct ox_node *node)
{
    enum { LEAST = 1 << 18 };
    struct ox_plan *plan = frame->plan;
    for (size_t i = 0; i < node->n_inputs; i++) {
        const struct ox_value *value = node->inputs[i];
        struct ox_datum **kept = value && value->init ? &plan->constants[value->id] : NULL;
        uint64_t bytes = kept && *kept ? ox_datum_bytes(*kept) : 0;
        if (bytes < LEAST)
            continue;
        /* A view of a file of external data. */
        if ((*kept)->kind == OX_DATUM_TENSOR)
            ox_mapping_forget((*kept)->tensor->data, bytes);
        ox_datum_release(*kept);
        *kept = NULL;
        ox_datum_release(plan->wide[value->id]);
        plan->wide[value->id] = NULL;
        frame->session->weights_bytes -= bytes;
        drop_source(value->graph->model, value->init, LEAST_KEPT);
    }
}

/* The frame where a captured value stands, and the value there. */
static struct ox_frame *find_home(struct ox_frame *frame, const struct ox_value **value)
{
    while (frame && (*value)->outer) {
        *value = (*value)->outer;
        while (frame && frame->plan->graph != (*value)->graph)
            frame = frame->up;
    }
    return frame;
}

enum ox_status ox_frame_value(struct ox_frame *frame, const struct ox_value *value,
                              struct ox_datum **out, struct ox_error *err)
{
    frame = find_home(frame, &value);
    if (!frame)
        return ox_fail(err, OX_INTERNAL, "'%.256s' is captured from a graph that does not run",
                       value->name);
    struct ox_datum *datum = frame->slots[value->id];
    if (!datum)
        datum = frame->plan->constants[value->id];
    if (!datum && (value->init || value->sparse_init)) {
        OX_TRY(load_constant(frame, value, err));
        datum = frame->plan->constants[value->id];
    }
    *out = datum;
    return OX_OK;
}

enum ox_status ox_frame_wide(struct ox_frame *frame, const struct ox_value *value,
                             struct ox_datum *datum, struct ox_datum **out, struct ox_error *err)
{
    struct ox_budget *budget = ox_env_budget(frame->session->env);
    struct ox_frame *home = find_home(frame, &value);
    if (!home || home->plan->constants[value->id] != datum)
        return ox_session_convert(out, frame->session, datum, OX_HALF_TYPES, OX_FLOAT32, err);
    struct ox_datum **kept = &home->plan->wide[value->id];
    if (!*kept)
        OX_TRY(ox_datum_convert(kept, budget, datum, OX_HALF_TYPES, OX_FLOAT32, err));
    *out = ox_datum_ref(*kept);
    return OX_OK;
}

/* ---- Running a graph -------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* Puts inputs in their places; a caller gives all, or those that have no initializer. */
static enum ox_status bind_inputs(struct ox_frame *frame, struct ox_datum *const *inputs,
                                  size_t n_inputs, struct ox_error *err)
{
    const struct ox_graph *graph = frame->plan->graph;
    size_t n_free = 0;
    for (size_t i = 0; i < graph->n_inputs; i++)
        n_free += !graph->inputs[i]->init && !graph->inputs[i]->sparse_init;
    bool all = n_inputs == graph->n_inputs || graph->function;
    if (n_inputs > graph->n_inputs || (!all && n_inputs != n_free))
        return ox_fail(err, OX_INPUT, "graph '%.128s' takes %zu inputs, %zu are given", graph->name,
                       n_free, n_inputs);
    for (size_t i = 0, k = 0; i < graph->n_inputs && k < n_inputs; i++) {
        const struct ox_value *value = graph->inputs[i];
        if (!all && (value->init || value->sparse_init))
            continue;
        struct ox_datum *datum = inputs[k++];
        if (!datum)
            continue;
        OX_TRY(check_rank(frame->session, "input", value->name, datum, err));
        ox_datum_release(frame->slots[value->id]);
        frame->slots[value->id] = NULL;
        /* Given for an optional input, a value is one that is there. */
        bool optional = value->type && value->type->kind == OX_TYPE_OPTIONAL;
        if (optional && datum->kind != OX_DATUM_OPTIONAL)
            OX_TRY(ox_datum_optional(&frame->slots[value->id], ox_datum_dtype(datum), datum, err));
        else
            frame->slots[value->id] = ox_datum_ref(datum);
    }
    return OX_OK;
}

enum ox_status ox_frame_show(const struct ox_frame *frame, const struct ox_value *value,
                             struct ox_error *err)
{
    const struct ox_session *session = frame->session;
    const struct ox_graph *graph = frame->plan->graph;
    if (!session->options.on_body_value || !graph->parent || graph->function ||
        graph->model != session->model || !frame->slots[value->id])
        return OX_OK;
    return session->options.on_body_value(session->options.value_arg, frame->plan->path,
                                          value->name, frame->slots[value->id], err);
}

static enum ox_status show_inputs(const struct ox_frame *frame, struct ox_error *err)
{
    const struct ox_graph *graph = frame->plan->graph;
    for (size_t i = 0; i < graph->n_inputs; i++)
        OX_TRY(ox_frame_show(frame, graph->inputs[i], err));
    return OX_OK;
}

void ox_frame_release_values(struct ox_frame *frame, const struct ox_step *step)
{
    for (uint32_t k = 0; k < step->n_release; k++) {
        ox_datum_release(frame->slots[step->release[k]]);
        frame->slots[step->release[k]] = NULL;
    }
}

static enum ox_status run_steps(struct ox_frame *frame, struct ox_error *err)
{
    const struct ox_plan *plan = frame->plan;
    for (size_t i = 0; i < plan->n_steps; i++) {
        struct ox_step *step = &plan->steps[i];
        OX_TRY(ox_env_poll(frame->session->env, err));
        if (!step->shaped || !ox_shaped_take(frame, step)) {
            OX_TRY(ox_step_run(frame, step, err));
            if (step->shaped)
                ox_shaped_keep(frame, step);
        }
        ox_frame_release_values(frame, step);
    }
    return OX_OK;
}

enum ox_status ox_frame_run(struct ox_frame *frame, struct ox_datum *const *inputs, size_t n_inputs,
                            struct ox_value *const *values, size_t n_values,
                            struct ox_datum **outputs, struct ox_error *err)
{
    struct ox_session *session = frame->session;
    const struct ox_graph *graph = frame->plan->graph;
    struct ox_arena_mark mark = ox_arena_mark(&session->scratch);
    frame->slots =
        ox_arena_array(&session->scratch, graph->n_values + 1, sizeof(struct ox_datum *));
    if (!frame->slots)
        return ox_no_memory(err);
    frame->seed = mix(session->options.seed ^ mix(session->n_frames++));
    for (size_t i = 0; i < n_values; i++)
        outputs[i] = NULL;
    enum ox_status status;
    OX_TRY_CLEANUP(bind_inputs(frame, inputs, n_inputs, err));
    OX_TRY_CLEANUP(show_inputs(frame, err));
    OX_TRY_CLEANUP(run_steps(frame, err));
    for (size_t i = 0; i < n_values; i++) {
        struct ox_datum *datum = NULL;
        if (values[i])
            OX_TRY_CLEANUP(ox_frame_value(frame, values[i], &datum, err));
        outputs[i] = datum ? ox_datum_ref(datum) : NULL;
    }
cleanup:
    for (size_t v = 0; v < graph->n_values; v++)
        ox_datum_release(frame->slots[v]);
    for (size_t i = 0; status != OX_OK && i < n_values; i++) {
        ox_datum_release(outputs[i]);
        outputs[i] = NULL;
    }
    ox_arena_rewind(&session->scratch, mark);
    return status;
}
