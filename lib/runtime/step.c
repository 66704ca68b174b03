#include <stdlib.h>
#include <string.h>

#include "common/machine.h"
#include "runtime/runtime.h"
#include "schema/param.h"
#include "shape/shapes.h"

/* ---- What kernels ask of the runtime ------------------------------------------------------------------------------ */

static enum ox_status alloc_out(struct ox_run *r, enum ox_dtype dtype, unsigned rank,
                                const int64_t *dims, struct ox_tensor **out, struct ox_error *err)
{
    const struct ox_frame *frame = r->executor;
    if (rank > OX_MOST_RANK)
        return ox_run_fail(r, err, OX_LIMIT, "an output of rank %u; the limit is %d", rank,
                           OX_MOST_RANK);
    return ox_pool_tensor(frame->session->pool, dtype, rank, dims, out, err);
}

static enum ox_status run_subgraph(struct ox_run *r, const struct ox_graph *graph,
                                   struct ox_datum *const *inputs, size_t n_inputs,
                                   struct ox_datum **outputs, size_t n_outputs,
                                   struct ox_error *err)
{
    struct ox_frame *frame = r->executor;
    struct ox_plan *plan = ox_plan_find(frame->session, graph);
    /* A graph given to a function by its caller sees the caller's values. */
    struct ox_frame *home = frame;
    while (home && graph->parent && home->plan->graph != graph->parent->graph)
        home = home->up;
    if (!plan || !home)
        return ox_run_fail(r, err, OX_INTERNAL, "its subgraph was not planned");
    if (n_outputs != graph->n_outputs)
        return ox_run_fail(r, err, OX_INPUT, "its subgraph has %zu outputs, not %zu",
                           graph->n_outputs, n_outputs);
    struct ox_frame inner = {.session = frame->session,
                             .plan = plan,
                             .up = home,
                             .call = home->call,
                             .depth = frame->depth + 1};
    return ox_frame_run(&inner, inputs, n_inputs, graph->outputs, graph->n_outputs, outputs, err);
}

/* Inference takes its time and is seldom asked for: it runs when it is. */
static const struct ox_type *inferred_type(struct ox_run *r, const struct ox_value *value)
{
    const struct ox_frame *frame = r->executor;
    struct ox_session *session = frame->session;
    if (value->graph->model != session->planned)
        return NULL;
    if (!session->shapes &&
        ox_shapes_infer(&session->shapes, session->planned, NULL, NULL, NULL) != OX_OK)
        return NULL;
    return ox_shapes_type(session->shapes, value);
}

/* ---- A step ----------------------------------------------------------------------------------------------------- */

/* The state of one step: what it was given, what its kernel gets instead, what it makes. */
struct activation {
    struct ox_frame *frame;
    struct ox_step *step;
    struct ox_datum **in;    /* borrowed */
    struct ox_datum **owned; /* what was converted for the kernel */
    struct ox_datum **given; /* what it was before: a reference where it is another, or NULL */
    bool widened;
    bool will_prepare; /* its prepare() has not been called yet */
    struct ox_run run;
};

/* Weights that are not kept between runs: small ones may stay. */
static bool is_passing(const struct activation *a, const struct ox_value *value)
{
    enum { LEAST = 1 << 12 };
    const struct ox_run_options *options = &a->frame->session->options;
    return options->lean && !options->oracle && !a->frame->up && value->init &&
           value->init->raw_bytes >= LEAST;
}

/* Constants that are about to be packed are lent, unless they are in memory already; so are those that no run keeps, those of which rows
 * are taken, and, in a single run, those that a kernel can read where they lie. */
static enum ox_status get_value(struct activation *a, size_t i, struct ox_error *err)
{
    const struct ox_value *value = a->step->node->inputs[i];
    const struct ox_run_options *options = &a->frame->session->options;
    const unsigned flags = a->step->op ? a->step->op->flags : 0;
    const bool any_address = flags & OX_OP_ANY_ADDRESS, rows = flags & OX_OP_ROWS && i == 0;
    const bool packed = a->will_prepare && !a->step->prepared.asked;
    const bool passing = is_passing(a, value);
    const bool lend = a->will_prepare || passing ||
                      (!options->oracle && (rows || (any_address && options->once)));
    if (lend && ox_frame_is_fixed(a->frame, value) && !value->outer &&
        !a->frame->plan->constants[value->id]) {
        const unsigned how = (any_address ? OX_LEND_ANY_ADDRESS : 0) | (rows ? OX_LEND_ROWS : 0) |
                             (packed || passing ? OX_LEND_COPY : 0) |
                             (packed && options->once ? OX_LEND_WHOLE : 0);
        OX_TRY(ox_frame_lend(a->frame, value, how, &a->owned[i], err));
        a->in[i] = a->owned[i];
        return OX_OK;
    }
    return ox_frame_value(a->frame, value, &a->in[i], err);
}

/* Sparse tensors, which only initializers, constants and a few operators make, are dense to all others. */
static enum ox_status densify(struct activation *a, size_t i, struct ox_error *err)
{
    struct ox_error why;
    enum ox_status status =
        ox_datum_densify(&a->owned[i], ox_env_budget(a->run.env), a->in[i], &why);
    if (status != OX_OK)
        return ox_run_fail(&a->run, err, status, "input %zu ('%.64s'): %s", i,
                           a->step->node->inputs[i]->name, why.message);
    a->in[i] = a->owned[i];
    return OX_OK;
}

static enum ox_status gather(struct activation *a, struct ox_error *err)
{
    const struct ox_node *node = a->step->node;
    bool any_kind = a->step->op ? a->step->op->flags & OX_OP_ANY_KIND : !a->step->schema;
    for (size_t i = 0; i < node->n_inputs; i++) {
        const uint32_t id = a->step->ids[i];
        if (i < 64 && a->step->prepared.absorbed >> i & 1)
            continue;
        if (id != OX_NO_ID && a->frame->slots[id]) /* made or given: most are */
            a->in[i] = a->frame->slots[id];
        else if (node->inputs[i])
            OX_TRY(get_value(a, i, err));
        if (a->in[i] && a->in[i]->kind == OX_DATUM_SPARSE &&
            !(any_kind && ox_step_takes_sparse(&a->run, a->step->schema, i, a->in[i])))
            OX_TRY(densify(a, i, err));
    }
    return OX_OK;
}

/* Replaces 16-bit floats by float32 for a kernel that has none of its own; `given` keeps the types for the way back. */
static enum ox_status widen(struct activation *a, struct ox_datum **given, struct ox_error *err)
{
    const struct ox_node *node = a->step->node;
    for (size_t i = 0; i < node->n_inputs; i++) {
        given[i] = a->in[i];
        if (!a->in[i] || !(OX_HALF_TYPES & OX_DTYPE_BIT(ox_datum_dtype(a->in[i]))))
            continue;
        struct ox_datum *wide;
        if (a->owned[i])
            OX_TRY(ox_session_convert(&wide, a->frame->session, a->in[i], OX_HALF_TYPES, OX_FLOAT32,
                                      err));
        else
            OX_TRY(ox_frame_wide(a->frame, node->inputs[i], a->in[i], &wide, err));
        given[i] = ox_datum_ref(a->in[i]);
        ox_datum_release(a->owned[i]);
        a->owned[i] = a->in[i] = wide;
        a->widened = true;
    }
    return OX_OK;
}

/* The 16-bit type that output i has by the schema when the inputs are those given. */
static enum ox_dtype narrow_type(const struct activation *a, struct ox_datum *const *given,
                                 size_t i)
{
    const struct ox_schema *schema = a->step->schema;
    const struct ox_schema_param *out =
        schema ? ox_param_at(schema->outputs, schema->n_outputs, i) : NULL;
    if (schema && (!out || out->constraint < 0))
        return OX_UNDEFINED;
    for (size_t k = 0; k < a->step->node->n_inputs; k++) {
        if (!given[k])
            continue;
        enum ox_dtype dtype = ox_datum_dtype(given[k]);
        if (!(OX_HALF_TYPES & OX_DTYPE_BIT(dtype)))
            continue;
        if (!out || ox_param_at(schema->inputs, schema->n_inputs, k)->constraint == out->constraint)
            return dtype;
    }
    return OX_UNDEFINED;
}

static enum ox_status replace_out(struct activation *a, size_t i, unsigned types, enum ox_dtype to,
                                  struct ox_error *err)
{
    struct ox_datum *converted;
    OX_TRY(ox_session_convert(&converted, a->frame->session, a->run.out[i], types, to, err));
    ox_datum_release(a->run.out[i]);
    a->run.out[i] = converted;
    return OX_OK;
}

static enum ox_status convert_outputs(struct activation *a, struct ox_datum *const *given,
                                      struct ox_error *err)
{
    for (size_t i = 0; i < a->run.n_out; i++) {
        if (!a->run.out[i])
            continue;
        enum ox_dtype to = a->widened ? narrow_type(a, given, i) : OX_UNDEFINED;
        if (to != OX_UNDEFINED)
            OX_TRY(replace_out(a, i, OX_DTYPE_BIT(OX_FLOAT32), to, err));
        if (a->run.oracle && !(a->step->op->flags & OX_OP_KEEP_FLOAT))
            OX_TRY(replace_out(a, i, OX_ORACLE_TYPES, OX_FLOAT64, err));
    }
    return OX_OK;
}

/* ---- Fast kernels ----------------------------------------------------------------------------------------------- */

static bool is_last_use(const struct ox_run *r, size_t i)
{
    const struct ox_frame *frame = r->executor;
    const struct ox_step *step = frame->step;
    if (r->node != step->node || i >= step->node->n_inputs)
        return false; /* a kernel runs another within */
    const uint32_t id = step->ids[i];
    const struct ox_datum *datum = r->in[i];
    if (!datum || id == OX_NO_ID || frame->slots[id] != datum || datum->refs != 1 ||
        datum->kind != OX_DATUM_TENSOR || datum->tensor->refs != 1 ||
        datum->tensor->buffer->refs != 1)
        return false;
    for (uint32_t k = 0; k < step->n_release; k++)
        if (step->release[k] == id)
            return true;
    return false;
}

/* Whether all that it was given is of a type that fast kernels, or what was prepared, know. */
static bool fits_fast(const struct activation *a)
{
    const bool has_double = a->step->op->flags & OX_OP_DOUBLE;
    const bool has_text = a->step->op->flags & OX_OP_TEXT;
    for (size_t i = 0; i < a->run.n_in; i++) {
        if (!a->in[i])
            continue;
        enum ox_dtype dtype = ox_datum_dtype(a->in[i]);
        if (a->in[i]->kind != OX_DATUM_TENSOR ||
            (dtype != OX_FLOAT32 && !(has_double && dtype == OX_FLOAT64) &&
             (ox_dtype_is_float(dtype) || dtype == OX_COMPLEX64 || dtype == OX_COMPLEX128 ||
              (dtype == OX_STRING && !has_text))))
            return false;
    }
    return true;
}

static enum ox_status prepare(struct activation *a, struct ox_error *err)
{
    struct ox_prepared *prepared = &a->step->prepared;
    bool *fixed = ox_arena_array(a->run.scratch, a->run.n_in + 1, sizeof *fixed);
    if (!fixed)
        return ox_no_memory(err);
    for (size_t i = 0; i < a->run.n_in; i++)
        fixed[i] = a->in[i] && ox_frame_is_fixed(a->frame, a->step->node->inputs[i]);
    a->run.fixed = fixed;
    const size_t before = prepared->bytes;
    enum ox_status status = a->step->op->prepare(&a->run, err);
    ox_run_release_work(&a->run);
    a->run.fixed = NULL;
    OX_TRY(status);
    prepared->asked = true;
    prepared->done = !prepared->again;
    prepared->again = false;
    if (prepared->shared)
        prepared->shared->ready = true;
    if (!prepared->shared || prepared->shared->refs == 1)
        a->frame->session->weights_bytes += prepared->bytes - before;
    for (size_t i = 0; i < a->run.n_in && i < 64; i++) {
        if (!(prepared->absorbed >> i & 1))
            continue;
        if (a->given[i] != a->in[i])
            ox_datum_release(a->given[i]);
        ox_datum_release(a->owned[i]);
        a->in[i] = a->owned[i] = a->given[i] = NULL;
        ox_frame_absorbed(a->frame, a->step->node, i);
    }
    return OX_OK;
}

static enum ox_status call_kernel(struct activation *a, struct ox_error *err)
{
    const struct ox_op *op = a->step->op;
    const struct ox_session *session = a->frame->session;
    bool fast = session->options.level >= 2 && !session->options.oracle && fits_fast(a);
    if (fast && a->will_prepare)
        OX_TRY(prepare(a, err));
    if (fast && op->fast) {
        enum ox_status status = op->fast(&a->run, err);
        if (status != OX_UNSUPPORTED)
            return status;
    }
    return op->run(&a->run, err);
}

static enum ox_status run_kernel(struct activation *a, struct ox_error *err)
{
    struct ox_session *session = a->frame->session;
    size_t n_in = a->step->node->n_inputs;
    struct ox_datum **given = a->given;
    enum ox_status status = OX_OK;
    if (!session->options.oracle && !(a->step->op->flags & OX_OP_HALF))
        OX_TRY_CLEANUP(widen(a, given, err));
    struct ox_arena_mark mark = ox_arena_mark(&session->scratch);
    status = call_kernel(a, err);
    ox_run_release_work(&a->run);
    ox_arena_rewind(&session->scratch, mark);
    if (status == OX_OK)
        status = convert_outputs(a, given, err);
cleanup:
    for (size_t i = 0; i < n_in; i++)
        if (given[i] && given[i] != a->in[i])
            ox_datum_release(given[i]);
    return status;
}

static enum ox_status call_function(struct activation *a, struct ox_error *err)
{
    struct ox_frame *frame = a->frame;
    const struct ox_step *step = a->step;
    const struct ox_call call = {.node = step->node,
                                 .function = step->function,
                                 .schema = step->schema,
                                 .outer = frame->call};
    struct ox_frame inner = {.session = frame->session,
                             .plan = step->callee,
                             .up = frame,
                             .call = &call,
                             .depth = frame->depth + 1};
    return ox_frame_run(&inner, a->in, step->node->n_inputs, step->function->body->outputs,
                        step->node->n_outputs, a->run.out, err);
}

/* Moves outputs to their slots, or to the plan when they are constants. */
static enum ox_status store(struct activation *a, struct ox_error *err)
{
    struct ox_frame *frame = a->frame;
    const struct ox_session *session = frame->session;
    const struct ox_node *node = a->step->node;
    bool is_main = frame->plan == session->main;
    for (size_t i = 0; i < node->n_outputs; i++) {
        const struct ox_value *value = node->outputs[i];
        const uint32_t id = a->step->ids[node->n_inputs + i];
        struct ox_datum *datum = a->run.out[i];
        if (id == OX_NO_ID || !datum)
            continue;
        if (datum->tensor && datum->tensor->rank > OX_MOST_RANK)
            return ox_run_fail(&a->run, err, OX_LIMIT, "an output of rank %u; the limit is %d",
                               datum->tensor->rank, OX_MOST_RANK);
        struct ox_datum **slot = a->step->keep ? &frame->plan->constants[id] : &frame->slots[id];
        ox_datum_release(*slot);
        *slot = datum;
        a->run.out[i] = NULL;
        if (a->step->keep)
            frame->session->weights_bytes += ox_datum_bytes(datum);
        if (is_main && session->options.on_replace)
            OX_TRY(
                session->options.on_replace(session->options.replace_arg, value->name, slot, err));
        if (is_main && session->options.on_value)
            OX_TRY(session->options.on_value(session->options.value_arg, value->name, *slot, err));
        if (!a->step->keep)
            OX_TRY(ox_frame_show(frame, value, err));
    }
    return OX_OK;
}

/* Makes sure that a message names the node at which it arose: the innermost one. */
static void locate(struct activation *a, enum ox_status status, struct ox_error *err)
{
    struct ox_session *session = a->frame->session;
    if (!err || session->located || status == OX_CANCELLED)
        return;
    session->located = true;
    struct ox_strbuf where;
    ox_strbuf_init(&where);
    ox_run_where(&a->run, &where);
    if (where.data && !where.failed && strncmp(err->message, where.data, where.len) != 0)
        ox_fail_context(err, status, "%s", where.data);
    ox_strbuf_release(&where);
}

/* Of an input that was borrowed; what a single run has packed of the file is not read again, and what one of several in step has
 * read where it lies need not stay in memory. */
static void let_go(struct activation *a, size_t i)
{
    enum { LEAST_LEAN = 1 << 16, LEAST_ONCE = 1 << 18 };
    const struct ox_run_options *options = &a->frame->session->options;
    const bool done = a->will_prepare || (options->lean && !a->frame->up);
    if (a->owned[i] && done && (options->once || options->lean))
        ox_frame_forget(a->step->node->inputs[i], options->lean ? LEAST_LEAN : LEAST_ONCE);
    ox_datum_release(a->owned[i]);
    a->owned[i] = NULL;
}

/* One piece of memory, cleared at once: of what a small node takes, most is this. */
static struct activation *activate(struct ox_frame *frame, struct ox_step *step)
{
    struct ox_session *session = frame->session;
    const struct ox_node *node = step->node;
    size_t cells, bytes;
    if (OX_MUL_OVERFLOWS(node->n_inputs, (size_t)3, &cells) ||
        OX_ADD_OVERFLOWS(cells, node->n_outputs, &cells) ||
        OX_MUL_OVERFLOWS(cells, sizeof(struct ox_datum *), &bytes) ||
        OX_ADD_OVERFLOWS(bytes, sizeof(struct activation), &bytes))
        return NULL;
    struct activation *a = ox_arena_alloc(&session->scratch, bytes);
    if (!a)
        return NULL;
    a->frame = frame;
    a->step = step;
    a->in = (struct ox_datum **)(void *)(a + 1);
    a->owned = a->in + node->n_inputs;
    a->given = a->owned + node->n_inputs;
    /* References to a caller's attributes would make it another node at every call. */
    a->will_prepare = step->op && step->op->prepare && session->options.level >= 2 &&
                      !session->options.oracle && !step->prepared.done && !frame->call;
    struct ox_run *r = &a->run;
    r->env = session->env;
    r->node = node;
    r->schema = step->schema;
    r->opset = step->opset;
    r->in = a->in;
    r->n_in = node->n_inputs;
    r->out = a->given + node->n_inputs;
    r->n_out = node->n_outputs;
    r->scratch = &session->scratch;
    r->oracle = session->options.oracle;
    r->call = frame->call;
    r->executor = frame;
    r->subgraph = run_subgraph;
    r->inferred = inferred_type;
    r->seed = frame->seed + (node->place ? node->place : node->index + 1) * 0x9E3779B97F4A7C15u;
    r->op = step->op;
    r->asked = frame->call ? NULL : step->asked;
    r->alloc = alloc_out;
    r->is_last_use = is_last_use;
    r->share = ox_step_share;
    r->prepared = session->options.level >= 2 ? &step->prepared : NULL;
    r->saturating = session->options.saturating;
    r->once = session->options.once && !frame->up;
    return a;
}

enum ox_status ox_step_run(struct ox_frame *frame, struct ox_step *step, struct ox_error *err)
{
    struct ox_session *session = frame->session;
    const struct ox_node *node = step->node;
    if (step->keep && node->n_outputs && node->outputs[0] &&
        frame->plan->constants[node->outputs[0]->id])
        return OX_OK;
    struct ox_arena_mark mark = ox_arena_mark(&session->scratch);
    uint64_t start = session->options.profile ? ox_clock_ns() : 0;
    struct activation *a = activate(frame, step);
    if (!a)
        return ox_no_memory(err);
    frame->step = step;
    enum ox_status status;
    OX_TRY_CLEANUP(gather(a, err));
    if (step->op || step->schema)
        OX_TRY_CLEANUP(ox_step_check_types(&a->run, step, err));
    OX_TRY_CLEANUP(step->op ? run_kernel(a, err) : call_function(a, err));
    if (session->options.profile)
        ox_event_add(frame, step, start, &a->run);
    /* Before others take their turn at the value that is made now. */
    for (size_t i = 0; session->options.lean && i < node->n_inputs; i++)
        let_go(a, i);
    if (session->options.lean && !frame->up) {
        ox_frame_drop_constants(frame, node);
        ox_frame_release_values(frame, step);
    }
    status = store(a, err);
cleanup:
    if (status != OX_OK)
        locate(a, status, err);
    for (size_t i = 0; i < node->n_inputs; i++)
        if (a->owned[i])
            let_go(a, i);
    for (size_t i = 0; i < node->n_outputs; i++)
        ox_datum_release(a->run.out[i]);
    if (a->run.once)
        ox_prepared_release(&step->prepared, ox_env_budget(session->env));
    ox_arena_rewind(&session->scratch, mark);
    return status;
}
