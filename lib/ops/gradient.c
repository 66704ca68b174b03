#include "ops/gradient.h"

#include <stdlib.h>
#include <string.h>

#include "ops/infer.h"

/* ---- The tape --------------------------------------------------------------------------------------------------- */

static void fail(struct ox_tape *tape, enum ox_status status)
{
    if (tape->status == OX_OK)
        tape->status = status;
}

const struct ox_tensor *ox_tape_own(struct ox_tape *tape, struct ox_tensor *tensor)
{
    if (tape->n_owned == tape->cap_owned) {
        size_t cap = tape->cap_owned ? tape->cap_owned * 2 : 16;
        struct ox_tensor **more = realloc(tape->owned, cap * sizeof(struct ox_tensor *));
        if (!more) {
            ox_tensor_release(tensor);
            fail(tape, ox_run_fail(tape->r, tape->err, OX_NO_MEMORY, "out of memory"));
            return NULL;
        }
        tape->owned = more;
        tape->cap_owned = cap;
    }
    return tape->owned[tape->n_owned++] = tensor;
}

void ox_tape_clear(struct ox_tape *tape)
{
    for (size_t i = 0; i < tape->n_owned; i++)
        ox_tensor_release(tape->owned[i]);
    tape->n_owned = 0;
}

/* Runs a node's kernel on these inputs. */
static enum ox_status run_node(struct ox_tape *tape, const struct ox_node *node, int64_t opset,
                               struct ox_datum *const *in, struct ox_datum **out)
{
    const struct ox_op *row = ox_op_find(node->domain, node->op_type, opset);
    if (!row || !row->run)
        return ox_run_fail(tape->r, tape->err, OX_UNSUPPORTED,
                           "no kernel for '%.64s' of opset %lld", node->op_type, (long long)opset);
    struct ox_run run = *tape->r;
    run.node = node;
    run.schema = ox_schema_find(node->domain, node->op_type, opset);
    run.opset = opset;
    run.in = in;
    run.n_in = node->n_inputs;
    run.out = out;
    run.n_out = node->n_outputs;
    run.op = row;
    return row->run(&run, tape->err);
}

const struct ox_tensor *ox_tape_op(struct ox_tape *tape, const char *op_type, size_t n,
                                   const struct ox_tensor *const *in, struct ox_attr *attrs,
                                   size_t n_attrs)
{
    enum { MOST = 4 };
    struct ox_value value = {.name = "derivative"};
    struct ox_value *inputs[MOST] = {&value, &value, &value, &value}, *output = &value;
    struct ox_node node = {.name = tape->r->node->name,
                           .op_type = op_type,
                           .domain = "",
                           .overload = "",
                           .inputs = inputs,
                           .n_inputs = n,
                           .outputs = &output,
                           .n_outputs = 1,
                           .attrs = attrs,
                           .n_attrs = n_attrs,
                           .graph = tape->r->node->graph,
                           .index = tape->r->node->index};
    struct ox_datum *data[MOST] = {0}, *out = NULL;
    const struct ox_tensor *result = NULL;
    for (size_t i = 0; i < n; i++)
        if (!in[i])
            fail(tape, OX_INTERNAL);
    for (size_t i = 0; i < n && tape->status == OX_OK; i++)
        fail(tape, ox_datum_of_tensor(&data[i], in[i], tape->err));
    if (tape->status == OX_OK)
        fail(tape, run_node(tape, &node, OX_ONNX_OPSET, data, &out));
    if (tape->status == OX_OK && out && out->kind == OX_DATUM_TENSOR)
        result = ox_tape_own(tape, ox_tensor_ref(out->tensor));
    for (size_t i = 0; i < n; i++)
        ox_datum_release(data[i]);
    ox_datum_release(out);
    return result;
}

const struct ox_tensor *ox_tape_scalar(struct ox_tape *tape, enum ox_dtype dtype, double value)
{
    struct ox_tensor *wide, *scalar;
    struct ox_budget *budget = ox_env_budget(tape->r->env);
    if (tape->status != OX_OK)
        return NULL;
    fail(tape, ox_tensor_new(&wide, budget, OX_FLOAT64, 0, NULL, tape->err));
    if (tape->status != OX_OK)
        return NULL;
    *(double *)wide->data = value;
    fail(tape, ox_tensor_convert(&scalar, budget, wide, dtype, true, tape->err));
    ox_tensor_release(wide);
    return tape->status == OX_OK ? ox_tape_own(tape, scalar) : NULL;
}

const struct ox_tensor *ox_tape_ints(struct ox_tape *tape, size_t n, const int64_t *values)
{
    struct ox_tensor *list;
    if (tape->status != OX_OK)
        return NULL;
    const int64_t length = (int64_t)n;
    fail(tape, ox_tensor_new(&list, ox_env_budget(tape->r->env), OX_INT64, 1, &length, tape->err));
    if (tape->status != OX_OK)
        return NULL;
    if (n)
        memcpy(list->data, values, n * sizeof *values);
    return ox_tape_own(tape, list);
}

const struct ox_tensor *ox_tape_in(const struct ox_tape *tape, const struct ox_node *node, size_t i)
{
    return i < node->n_inputs && node->inputs[i] ? tape->values[node->inputs[i]->id] : NULL;
}

/* The sum over axes that broadcasting added or stretched. */
static const struct ox_tensor *unbroadcast(struct ox_tape *tape, const struct ox_tensor *grad,
                                           const struct ox_tensor *like)
{
    if (ox_tensor_same_dims(grad, like))
        return grad;
    int64_t axes[OX_MOST_RANK];
    size_t n = 0;
    unsigned extra = grad->rank > like->rank ? grad->rank - like->rank : 0;
    for (unsigned d = 0; d < grad->rank; d++)
        if (d < extra || (like->dims[d - extra] == 1 && grad->dims[d] != 1))
            axes[n++] = d;
    struct ox_attr keep = {.name = "keepdims", .type = OX_ATTR_INT, .n = 1, .i = 0};
    if (n)
        grad =
            ox_tape_op(tape, "ReduceSum", 2,
                       (const struct ox_tensor *[]){grad, ox_tape_ints(tape, n, axes)}, &keep, 1);
    return ox_tape_op(
        tape, "Reshape", 2,
        (const struct ox_tensor *[]){grad, ox_tape_ints(tape, like->rank, like->dims)}, NULL, 0);
}

void ox_tape_add(struct ox_tape *tape, const struct ox_node *node, size_t i,
                 const struct ox_tensor *grad)
{
    const struct ox_tensor *input = ox_tape_in(tape, node, i);
    if (tape->status != OX_OK || !grad || !input || !tape->active[node->inputs[i]->id])
        return;
    struct ox_tensor **slot = &tape->grads[node->inputs[i]->id];
    grad = unbroadcast(tape, grad, input);
    if (*slot && grad)
        grad = ox_tape_op(tape, "Add", 2, (const struct ox_tensor *[]){*slot, grad}, NULL, 0);
    if (!grad)
        return;
    ox_tensor_release(*slot);
    *slot = ox_tensor_ref(grad);
}

/* ---- The operator ------------------------------------------------------------------------------------------------- */

static enum ox_status find_value(struct ox_tape *tape, struct ox_str name,
                                 const struct ox_value **out)
{
    char text[256];
    snprintf(text, sizeof text, "%.*s", (int)(name.n < 255 ? name.n : 255), name.p);
    *out = ox_graph_value(tape->graph, text);
    return *out ? OX_OK
                : ox_run_fail(tape->r, tape->err, OX_INPUT, "'%s' is no value of its graph", text);
}

/* 16-bit floats are differentiated as float32, and in the oracle all as double. */
static enum ox_status set_value(struct ox_tape *tape, const struct ox_value *value,
                                const struct ox_tensor *tensor)
{
    enum ox_dtype to = tensor->dtype;
    if (ox_dtype_is_half(to))
        to = OX_FLOAT32;
    if (to == OX_FLOAT32 && tape->r->oracle)
        to = OX_FLOAT64;
    struct ox_tensor *kept = ox_tensor_ref(tensor);
    if (to != tensor->dtype) {
        ox_tensor_release(kept);
        OX_TRY(ox_tensor_convert(&kept, ox_env_budget(tape->r->env), tensor, to, false, tape->err));
    }
    ox_tensor_release(tape->values[value->id]);
    tape->values[value->id] = kept;
    return OX_OK;
}

/* Independent tensors get the node's inputs as values. */
static enum ox_status set_independent(struct ox_tape *tape, const char *attr, size_t first,
                                      bool active, size_t *n)
{
    const struct ox_str *names = ox_run_strings(tape->r, attr, n);
    for (size_t i = 0; i < *n; i++) {
        const struct ox_value *value;
        const struct ox_tensor *tensor = ox_run_in(tape->r, first + i);
        if (!tensor)
            return ox_run_fail(tape->r, tape->err, OX_INPUT,
                               "there is no input for entry %zu of %s", i, attr);
        OX_TRY(find_value(tape, names[i], &value));
        OX_TRY(set_value(tape, value, tensor));
        tape->active[value->id] = active;
    }
    return OX_OK;
}

/* The value as the forward pass needs it: independent, made, or an initializer. */
static enum ox_status have_value(struct ox_tape *tape, const struct ox_value *value)
{
    if (tape->values[value->id])
        return OX_OK;
    if (!value->init)
        return ox_run_fail(tape->r, tape->err, OX_INPUT,
                           "'%.128s' is needed for y, but neither in xs nor in zs", value->name);
    struct ox_tensor *tensor;
    OX_TRY(ox_stored_load(tape->graph->model, value->init, &tensor, tape->err));
    enum ox_status status = set_value(tape, value, tensor);
    ox_tensor_release(tensor);
    return status;
}

static enum ox_status forward_node(struct ox_tape *tape, const struct ox_node *node)
{
    enum ox_status status = OX_OK;
    struct ox_datum **in = calloc(node->n_inputs + node->n_outputs + 1, sizeof(struct ox_datum *));
    if (!in)
        return ox_run_fail(tape->r, tape->err, OX_NO_MEMORY, "out of memory");
    struct ox_datum **out = in + node->n_inputs;
    bool active = false;
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (!node->inputs[i])
            continue;
        OX_TRY_CLEANUP(have_value(tape, node->inputs[i]));
        OX_TRY_CLEANUP(ox_datum_of_tensor(&in[i], tape->values[node->inputs[i]->id], tape->err));
        active |= tape->active[node->inputs[i]->id];
    }
    OX_TRY_CLEANUP(run_node(tape, node, ox_graph_opset(tape->graph, node->domain), in, out));
    for (size_t i = 0; i < node->n_outputs; i++) {
        if (!node->outputs[i] || !out[i])
            continue;
        if (out[i]->kind != OX_DATUM_TENSOR) {
            status = ox_run_fail(tape->r, tape->err, OX_UNSUPPORTED, "'%.128s' is no tensor",
                                 node->outputs[i]->name);
            goto cleanup;
        }
        OX_TRY_CLEANUP(set_value(tape, node->outputs[i], out[i]->tensor));
        tape->active[node->outputs[i]->id] = active;
    }
cleanup:
    for (size_t i = 0; i < node->n_inputs + node->n_outputs; i++)
        ox_datum_release(in[i]);
    free(in);
    return status;
}

/* Marks the nodes between the independent tensors and y. */
static void find_path(const struct ox_tape *tape, const struct ox_value *y, bool *needed,
                      bool *on_path)
{
    needed[y->id] = true;
    for (size_t i = tape->graph->n_nodes; i-- > 0;) {
        const struct ox_node *node = tape->graph->nodes[i];
        for (size_t o = 0; o < node->n_outputs; o++) {
            const struct ox_value *value = node->outputs[o];
            on_path[i] |= value && needed[value->id] && !tape->values[value->id];
        }
        for (size_t k = 0; on_path[i] && k < node->n_inputs; k++)
            if (node->inputs[k])
                needed[node->inputs[k]->id] = true;
    }
}

static enum ox_status backward(struct ox_tape *tape, const struct ox_value *y, const bool *on_path)
{
    const struct ox_tensor *last = tape->values[y->id];
    if (tape->active[y->id]) {
        const struct ox_tensor *one = ox_tape_scalar(tape, last->dtype, 1);
        const struct ox_tensor *shape = ox_tape_ints(tape, last->rank, last->dims);
        const struct ox_tensor *ones =
            ox_tape_op(tape, "Expand", 2, (const struct ox_tensor *[]){one, shape}, NULL, 0);
        tape->grads[y->id] = ones ? ox_tensor_ref(ones) : NULL;
    }
    for (size_t i = tape->graph->n_nodes; i-- > 0 && tape->status == OX_OK;) {
        const struct ox_node *node = tape->graph->nodes[i];
        for (size_t o = 0; on_path[i] && o < node->n_outputs; o++) {
            const struct ox_tensor *grad =
                node->outputs[o] ? tape->grads[node->outputs[o]->id] : NULL;
            if (!grad || tape->status != OX_OK)
                continue;
            if (o > 0)
                return ox_run_fail(tape->r, tape->err, OX_UNSUPPORTED,
                                   "no derivative through output %zu of '%.64s'", o, node->op_type);
            fail(tape, ox_gradient_of(tape, node, grad));
        }
        ox_tape_clear(tape);
    }
    return tape->status;
}

/* Derivatives by the xs, zero where y does not depend on one, in the types of the inputs. */
static enum ox_status put_outputs(struct ox_tape *tape, size_t n_xs)
{
    size_t n;
    const struct ox_str *names = ox_run_strings(tape->r, "xs", &n);
    for (size_t i = 0; i < n_xs && i < tape->r->n_out; i++) {
        const struct ox_value *value;
        const struct ox_tensor *x = ox_run_in(tape->r, i);
        OX_TRY(find_value(tape, names[i], &value));
        const struct ox_tensor *grad = tape->grads[value->id];
        if (!grad)
            grad = ox_tape_op(tape, "Mul", 2,
                              (const struct ox_tensor *[]){
                                  tape->values[value->id],
                                  ox_tape_scalar(tape, tape->values[value->id]->dtype, 0)},
                              NULL, 0);
        if (tape->status != OX_OK)
            return tape->status;
        struct ox_tensor *narrow;
        OX_TRY(ox_tensor_convert(&narrow, ox_env_budget(tape->r->env), grad, x->dtype, false,
                                 tape->err));
        enum ox_status status = ox_run_out_tensor(tape->r, i, narrow, tape->err);
        ox_tensor_release(narrow);
        OX_TRY(status);
    }
    return OX_OK;
}

static enum ox_status run_gradient(struct ox_run *r, struct ox_error *err)
{
    const struct ox_graph *graph = r->node->graph;
    struct ox_tape tape = {.r = r, .graph = graph, .err = err};
    size_t n_values = graph->n_values + 1, n_xs, n_zs;
    tape.values = ox_run_scratch(r, n_values, sizeof(struct ox_tensor *), err);
    tape.grads = ox_run_scratch(r, n_values, sizeof(struct ox_tensor *), err);
    tape.active = ox_run_scratch(r, n_values, sizeof(bool), err);
    bool *needed = ox_run_scratch(r, n_values, sizeof(bool), err);
    bool *on_path = ox_run_scratch(r, graph->n_nodes + 1, sizeof(bool), err);
    if (!tape.values || !tape.grads || !tape.active || !needed || !on_path)
        return OX_NO_MEMORY;
    enum ox_status status;
    const struct ox_value *y;
    const char *name = ox_run_string(r, "y");
    OX_TRY_CLEANUP(set_independent(&tape, "xs", 0, true, &n_xs));
    OX_TRY_CLEANUP(set_independent(&tape, "zs", n_xs, false, &n_zs));
    OX_TRY_CLEANUP(
        find_value(&tape, (struct ox_str){name ? name : "", name ? strlen(name) : 0}, &y));
    find_path(&tape, y, needed, on_path);
    for (size_t i = 0; i < graph->n_nodes; i++)
        if (on_path[i])
            OX_TRY_CLEANUP(forward_node(&tape, graph->nodes[i]));
    OX_TRY_CLEANUP(have_value(&tape, y));
    OX_TRY_CLEANUP(backward(&tape, y, on_path));
    status = put_outputs(&tape, n_xs);
cleanup:
    for (size_t v = 0; v < n_values; v++) {
        ox_tensor_release(tape.values[v]);
        ox_tensor_release(tape.grads[v]);
    }
    ox_tape_clear(&tape);
    free(tape.owned);
    return status;
}

static void infer_gradient(struct ox_infer *c)
{
    for (size_t i = 0; i < ox_infer_n_out(c) && i < ox_infer_n_in(c); i++)
        ox_infer_same(c, i, i);
}

const struct ox_op ox_ops_gradient[] = {{"ai.onnx.preview.training", "Gradient", 1, OX_OP_HALF,
                                         .infer = infer_gradient, .run = run_gradient},
                                        {0}};
