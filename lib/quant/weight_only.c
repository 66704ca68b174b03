/* Matrices of products as integers in blocks; activations stay float. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/pack_blocks.h"
#include "model/name.h"
#include "quant/awq.h"
#include "quant/blocked.h"
#include "quant/cancel.h"
#include "quant/equalize.h"
#include "quant/estimate.h"
#include "quant/gathered.h"
#include "quant/hessians.h"
#include "quant/quant.h"
#include "quant/tied.h"

/* What products read, by AWQ. */
struct read {
    struct ox_value *value;
    size_t k, n_readers;  /* of those that get blocked matrices */
    float *importance;    /* [k] */
    float *factors;       /* that rows of the matrices are multiplied by, [k]; NULL: none */
    struct ox_value *now; /* divided by them; NULL: not yet */
};

/* A product that gets a blocked matrix. */
struct target {
    struct ox_node *node;
    const struct ox_stored *weight;
    bool turned;            /* the weight is [n, k] */
    size_t k;               /* rows of the matrix */
    struct target *shared;  /* whose matrix it is too; NULL */
    struct read *read;      /* NULL: no samples showed it, or the method asks for none */
    bool shares;            /* another one has its matrix too */
    struct ox_blocked made; /* until it is in the graph */
    enum ox_dtype real;
    struct ox_value *output;   /* DequantizeLinear's */
    struct ox_value *parts[3]; /* integers, scales, zero points or NULL: in the graph of the node */
    bool done;
};

struct job {
    struct ox_quant q;
    struct target *targets;
    size_t n_targets;
    struct ox_quant_uses *uses; /* of each graph, as it was given */
};

/* ---- What can be ------------------------------------------------------------------------------------------------- */

static bool is_gemm(const struct ox_node *node)
{
    return strcmp(node->op_type, "Gemm") == 0;
}

static const char *not_a_product(const struct ox_quant *q, const struct ox_node *node)
{
    const struct ox_value *a = node->inputs[0], *b = node->inputs[1];
    if (!a || !b || !node->outputs[0])
        return "it lacks an input";
    const struct ox_stored *weight = ox_value_stored(b);
    if (!weight)
        return "its second input is not constant";
    if (!ox_quant_is_float(weight->dtype))
        return "its weight is not of float32 or float16";
    if (weight->rank != 2 || weight->dims[0] == 0 || weight->dims[1] == 0)
        return "its weight is no matrix";
    if (ox_value_stored(a))
        return "both of its inputs are constant";
    if (is_gemm(node) &&
        (ox_quant_float_attr(node, "alpha", 1) != 1 || ox_quant_float_attr(node, "beta", 1) != 1))
        return "its alpha or beta is not 1";
    if (is_gemm(node) && ox_quant_int_attr(node, "transA", 0))
        return "its first input is transposed";
    if (q->options->contrib && ox_quant_rank(q, a) < 2)
        return "MatMulNBits is for matrices, the rank of its input is unknown or 1";
    return NULL;
}

static enum ox_status values_of(struct job *job, const struct target *target,
                                struct ox_tensor **out, enum ox_dtype *real, struct ox_error *err)
{
    const struct ox_value *b = target->node->inputs[1];
    if (target->turned)
        return ox_quant_turned(&job->q, b, out, real, err);
    return ox_quant_values(&job->q, b, out, real, err);
}

static enum ox_status consider(struct job *job, struct ox_node *node, struct ox_error *err)
{
    struct ox_quant *q = &job->q;
    if (*node->domain || node->n_inputs < 2 ||
        (strcmp(node->op_type, "MatMul") != 0 && !is_gemm(node)))
        return OX_OK;
    const char *reason = ox_quant_unwanted(q, node);
    if (!reason)
        reason = not_a_product(q, node);
    struct target target = {.node = node};
    if (!reason) {
        struct ox_tensor *values;
        OX_TRY(ox_quant_values(q, node->inputs[1], &values, &target.real, err));
        if (!ox_quant_is_finite(values))
            reason = "its weight holds a NaN or an infinity";
        ox_tensor_release(values);
    }
    ox_quant_report_add_node(q->report, node, NULL, reason);
    if (reason)
        return OX_OK;
    target.weight = ox_value_stored(node->inputs[1]);
    target.turned = is_gemm(node) && ox_quant_int_attr(node, "transB", 0);
    target.k = (size_t)target.weight->dims[target.turned];
    for (size_t i = 0; i < job->n_targets && !target.shared; i++) {
        struct target *other = &job->targets[i];
        if (other->weight == target.weight && other->turned == target.turned && !other->shared)
            target.shared = other;
    }
    if (target.shared)
        target.shared->shares = true;
    job->targets[job->n_targets++] = target;
    return OX_OK;
}

static enum ox_status find_targets(struct job *job, struct ox_error *err)
{
    struct ox_model *model = job->q.model;
    size_t n = 0;
    for (size_t g = 0; g < model->n_graphs; g++)
        n += model->graphs[g]->n_nodes;
    job->targets = ox_arena_array(&job->q.arena, n + 1, sizeof *job->targets);
    if (!job->targets)
        return ox_no_memory(err);
    for (size_t g = 0; g < model->n_graphs; g++) {
        struct ox_graph *graph = model->graphs[g];
        for (size_t i = 0; i < graph->n_nodes && !graph->function; i++)
            OX_TRY(consider(job, graph->nodes[i], err));
    }
    return OX_OK;
}

/* ---- Rounding ----------------------------------------------------------------------------------------------------- */

/* The values as what their product reads asks for; takes their reference over. */
static enum ox_status scale_rows(struct job *job, const struct read *read,
                                 struct ox_tensor **values, struct ox_error *err)
{
    struct ox_tensor *old = *values, *scaled;
    if (!read || !read->factors)
        return OX_OK;
    enum ox_status status = ox_tensor_new(&scaled, ox_env_budget(job->q.model->env), OX_FLOAT32,
                                          old->rank, old->dims, err);
    for (size_t i = 0; status == OX_OK && i < old->n; i++)
        ((float *)scaled->data)[i] =
            ((const float *)old->data)[i] * read->factors[i / (size_t)old->dims[1]];
    ox_tensor_release(old);
    *values = status == OX_OK ? scaled : NULL;
    return status;
}

/* hessian NULL: no samples showed its input. */
static enum ox_status round_target(struct job *job, struct target *target, double *hessian,
                                   struct ox_error *err)
{
    const struct ox_quant_options *options = job->q.options;
    struct ox_env *env = job->q.model->env;
    struct ox_tensor *values, *back = NULL;
    struct ox_cancel_plan plan;
    OX_TRY(ox_cancel_plan(&job->q, target->node, &plan, err));
    OX_TRY(values_of(job, target, &values, &target->real, err));
    OX_TRY(scale_rows(job, target->read, &values, err));
    struct ox_blocking blocking = {.values = values->data,
                                   .k = target->k,
                                   .n = (size_t)values->dims[1],
                                   .block = options->block_size,
                                   .type = options->weight_type,
                                   .real = OX_FLOAT16,
                                   .method = options->weight_method,
                                   .cancelling = options->accuracy != OX_QUANT_PLAIN && plan.pays,
                                   .live = plan.live,
                                   .hessian = hessian,
                                   .importance = target->read ? target->read->importance : NULL};
    if (options->wide_scales || !ox_blocked_gains_by_half(&blocking))
        blocking.real = target->real;
    enum ox_status status = ox_blocked_quantize(&target->made, env, &blocking, err);
    if (status == OX_OK)
        status = ox_blocked_dequantize(&back, env, &target->made, options->block_size, err);
    if (status == OX_OK)
        ox_quant_report_add_blocks(job->q.report, target->node->inputs[1]->name, values,
                                   target->real, back, &target->made);
    ox_tensor_release(back);
    ox_tensor_release(values);
    target->done = status == OX_OK;
    return status == OX_OK
               ? OX_OK
               : ox_fail_context(err, status, "the weight '%s'", target->node->inputs[1]->name);
}

/* By the hessian among n that is of its input. */
static enum ox_status round_by_samples(struct job *job, struct target *target,
                                       const struct ox_hessian *hessians, size_t n,
                                       struct ox_error *err)
{
    const size_t size = target->k * target->k * sizeof(double);
    const struct ox_hessian *found = NULL;
    for (size_t h = 0; h < n && !found && target->node->graph == job->q.model->graph; h++) {
        if (strcmp(hessians[h].name, target->node->inputs[0]->name) == 0 && hessians[h].sums &&
            hessians[h].k == target->k)
            found = &hessians[h];
    }
    double *own = found ? malloc(size) : NULL;
    if (found && !own)
        return ox_no_memory(err);
    if (found) {
        memcpy(own, found->sums, size);
        ox_hessian_shrink(own, target->k, found->rows);
    }
    enum ox_status status = round_target(job, target, own, err);
    free(own);
    return status;
}

/* Columns of all matrices that read the same, as many as tell what factors are worth, side by side: [k, *n]. The caller releases it. */
static enum ox_status some_columns(struct job *job, const struct read *read, size_t *n,
                                   float **columns, struct ox_error *err)
{
    enum { LEAST_COLUMNS = 32, MOST_COLUMNS = 128 };
    const size_t most = ((size_t)1 << 26) / (read->k * read->k);
    const size_t all = most < LEAST_COLUMNS  ? LEAST_COLUMNS
                       : most > MOST_COLUMNS ? MOST_COLUMNS
                                             : most;
    size_t room = 0, each = all / read->n_readers + 1;
    *columns = NULL;
    if (OX_MUL_OVERFLOWS(read->k, each * read->n_readers, &room) ||
        !(*columns = calloc(room, sizeof **columns)))
        return ox_no_memory(err);
    *n = 0;
    const size_t ld = each * read->n_readers;
    for (size_t t = 0; t < job->n_targets; t++) {
        struct target *target = &job->targets[t];
        struct ox_tensor *values;
        if (target->read != read)
            continue;
        OX_TRY(values_of(job, target, &values, &target->real, err));
        const size_t has = (size_t)values->dims[1], take = has < each ? has : each;
        for (size_t i = 0; i < read->k; i++) {
            for (size_t j = 0; j < take; j++)
                (*columns)[i * ld + *n + j] =
                    ((const float *)values->data)[i * has + j * has / take];
        }
        *n += take;
        ox_tensor_release(values);
    }
    for (size_t i = 1; i < read->k; i++) /* close up */
        memmove(*columns + i * *n, *columns + i * ld, *n * sizeof **columns);
    return OX_OK;
}

/* The products that read the value of the hessian, and what it asks of them; NULL where that is nothing. */
static enum ox_status find_read(struct job *job, const struct ox_hessian *hessian,
                                struct read **out, struct ox_error *err)
{
    struct read *read = ox_arena_alloc(&job->q.arena, sizeof *read);
    bool divides = true;
    *out = NULL;
    if (!read)
        return ox_no_memory(err);
    *read = (struct read){.k = hessian->k};
    for (size_t t = 0; t < job->n_targets; t++) {
        struct target *target = &job->targets[t];
        if (target->node->graph != job->q.model->graph || target->k != read->k || target->shared ||
            strcmp(target->node->inputs[0]->name, hessian->name) != 0)
            continue;
        read->value = target->node->inputs[0];
        read->n_readers++;
        target->read = read;
        divides &= !target->shares && target->real == OX_FLOAT32;
    }
    *out = divides && read->n_readers ? read : NULL;
    return OX_OK;
}

static enum ox_status weigh_read(struct job *job, struct ox_hessian *hessian, struct ox_error *err)
{
    const double least_gain = 0.98; /* of what takes a node */
    const struct ox_quant_options *options = job->q.options;
    struct ox_cancel_plan plan = {0};
    struct read *read;
    float *columns = NULL;
    OX_TRY(find_read(job, hessian, &read, err));
    if (!read)
        return OX_OK;
    struct ox_awq best = {.factors = ox_arena_array(&job->q.arena, read->k, sizeof *best.factors),
                          .importance =
                              ox_arena_array(&job->q.arena, read->k, sizeof *best.importance)};
    if (!best.factors || !best.importance)
        return ox_no_memory(err);
    for (size_t t = 0; t < job->n_targets && !plan.pays; t++) {
        if (job->targets[t].read == read)
            OX_TRY(ox_cancel_plan(&job->q, job->targets[t].node, &plan, err));
    }
    ox_hessian_shrink(hessian->sums, read->k, hessian->rows);
    struct ox_blocking blocking = {.k = read->k,
                                   .block = options->block_size,
                                   .type = options->weight_type,
                                   .real = OX_FLOAT32,
                                   .method = OX_WEIGHT_AWQ,
                                   .cancelling = options->accuracy != OX_QUANT_PLAIN && plan.pays,
                                   .live = plan.live,
                                   .hessian = hessian->sums};
    enum ox_status status = some_columns(job, read, &blocking.n, &columns, err);
    blocking.values = columns;
    if (status == OX_OK)
        status = ox_awq_search(&best, job->q.model->env, &blocking, err);
    free(columns);
    if (status == OX_OK && best.left < least_gain) {
        read->importance = best.weighs ? best.importance : NULL;
        read->factors = best.scales ? best.factors : NULL;
    }
    return status;
}

/* Of as many targets as fit beside each other, from *at on. */
static enum ox_status round_some(struct job *job, size_t *at, const char *const *samples,
                                 size_t n_samples, struct ox_error *err)
{
    const uint64_t most_bytes = 1u << 30;
    size_t n = 0, first = *at, end;
    uint64_t bytes = 0;
    struct ox_hessian *hessians = calloc(job->n_targets + 1, sizeof *hessians);
    enum ox_status status = hessians ? OX_OK : ox_no_memory(err);
    const bool awq = job->q.options->weight_method == OX_WEIGHT_AWQ;
    for (end = first; status == OX_OK && end < job->n_targets; end++) {
        const struct target *target = &job->targets[end];
        uint64_t size = (uint64_t)target->k * target->k * sizeof(double);
        if (n && bytes + size > most_bytes)
            break;
        const struct ox_value *input = target->node->inputs[0];
        bool known = target->shared || target->read || target->node->graph != job->q.model->graph;
        for (size_t i = 0; i < n && !known; i++)
            known = strcmp(hessians[i].name, input->name) == 0;
        if (known)
            continue;
        hessians[n++] = (struct ox_hessian){.name = input->name, .k = target->k};
        bytes += size;
    }
    if (status == OX_OK && n)
        status = ox_hessians_find(hessians, n, job->q.model, samples, n_samples, err);
    for (size_t h = 0; h < n && status == OX_OK && awq; h++) {
        if (hessians[h].sums)
            status = weigh_read(job, &hessians[h], err);
    }
    for (size_t i = first; i < end && status == OX_OK; i++) {
        if (!job->targets[i].shared)
            status = round_by_samples(job, &job->targets[i], hessians, awq ? 0 : n, err);
    }
    for (size_t h = 0; h < n; h++)
        free(hessians[h].sums);
    free(hessians);
    *at = end;
    return status;
}

/* ---- Into the graph ----------------------------------------------------------------------------------------------- */

/* The matrix behind DequantizeLinear. */
static enum ox_status add_dequantized(struct job *job, struct target *target,
                                      const struct ox_blocked *made, enum ox_dtype real,
                                      struct ox_error *err)
{
    struct ox_quant *q = &job->q;
    struct ox_graph *graph = target->node->graph;
    const char *name = target->node->inputs[1]->name;
    struct ox_value *inputs[3] = {ox_quant_add_part(q, graph, name, "_quantized", made->integers),
                                  ox_quant_add_scales(q, graph, name, made->scales, real)};
    if (made->zeros)
        inputs[2] = ox_quant_add_part(q, graph, name, "_zero_point", made->zeros);
    target->output = ox_graph_add_value(graph, ox_quant_name(q, name, "_DequantizeLinear_Output"));
    if (!inputs[0] || !inputs[1] || (made->zeros && !inputs[2]) || !target->output)
        return ox_no_memory(err);
    struct ox_node *node = ox_graph_add_node(graph, "DequantizeLinear", "",
                                             ox_quant_name(q, name, "_DequantizeLinear"), inputs,
                                             made->zeros ? 3 : 2, &target->output, 1);
    if (!node || !ox_node_set_int(node, "axis", 0) ||
        !ox_node_set_int(node, "block_size", (int64_t)q->options->block_size))
        return ox_no_memory(err);
    const struct ox_columns columns = {.stored = target->weight,
                                       .integers = inputs[0],
                                       .scale = inputs[1],
                                       .axis = !target->turned,
                                       .blocked = true};
    const bool is_plain = q->options->weight_method == OX_WEIGHT_RTN &&
                          q->options->weight_type == OX_INT8 && real == OX_FLOAT32;
    return is_plain ? ox_quant_note_blocks(q, &columns, err) : OX_OK;
}

static enum ox_status add_packed(struct job *job, struct target *target,
                                 const struct ox_blocked *made, enum ox_dtype real,
                                 struct ox_error *err)
{
    struct ox_tensor *packed[3] = {0};
    struct ox_graph *graph = target->node->graph;
    const char *name = target->node->inputs[1]->name;
    const struct ox_block_weights weights = {.integers = made->integers,
                                             .scales = made->scales,
                                             .zeros = made->zeros,
                                             .block = job->q.options->block_size};
    enum ox_status status = ox_pack_blocks(packed, ox_env_budget(job->q.model->env), &weights, err);
    if (status == OX_OK) {
        target->parts[0] = ox_quant_add_part(&job->q, graph, name, "_packed", packed[0]);
        target->parts[1] = ox_quant_add_scales(&job->q, graph, name, packed[1], real);
        target->parts[2] =
            packed[2] ? ox_quant_add_part(&job->q, graph, name, "_zero_point", packed[2]) : NULL;
        if (!target->parts[0] || !target->parts[1] || (packed[2] && !target->parts[2]))
            status = ox_no_memory(err);
    }
    for (int i = 0; i < 3; i++)
        ox_tensor_release(packed[i]);
    return status;
}

/* The product of the target's node as a new node -> out. */
static enum ox_status add_product(struct job *job, const struct target *target, const char *name,
                                  struct ox_value *out, struct ox_error *err)
{
    const struct ox_node *node = target->node;
    const struct ox_quant_options *options = job->q.options;
    struct read *read = target->read;
    struct ox_value *inputs[] = {node->inputs[0], target->output, NULL, NULL};
    if (read && read->factors && !read->now)
        OX_TRY(ox_quant_divide(&job->q, &job->uses[node->graph->id], read->value, read->factors,
                               read->k, read->n_readers, &read->now, err));
    if (read && read->now)
        inputs[0] = read->now;
    if (target->output)
        return ox_graph_add_node(node->graph, "MatMul", "", name, inputs, 2, &out, 1)
                   ? OX_OK
                   : ox_no_memory(err);
    for (int i = 0; i < 3; i++)
        inputs[1 + i] = target->parts[i];
    struct ox_node *made = ox_graph_add_node(node->graph, "MatMulNBits", "com.microsoft", name,
                                             inputs, inputs[3] ? 4 : 3, &out, 1);
    int64_t n = target->weight->dims[!target->turned];
    return made && ox_node_set_int(made, "K", (int64_t)target->k) &&
                   ox_node_set_int(made, "N", n) &&
                   ox_node_set_int(made, "bits", (int64_t)ox_dtype_bits(options->weight_type)) &&
                   ox_node_set_int(made, "block_size", (int64_t)options->block_size) &&
                   ox_quant_set_opset(job->q.model, "com.microsoft", 1)
               ? OX_OK
               : ox_no_memory(err);
}

/* Whether all that follows is one activation: runtimes make Gemm with an activation of product, sum and that before they look for
 * blocks, and then run the product in float. Sum means the same and is left alone. */
static bool feeds_activation(const struct job *job, const struct ox_value *value)
{
    static const char *const activations[] = {
        "Relu",     "Sigmoid",  "Tanh", "LeakyRelu",      "Elu", "HardSigmoid", "Selu",
        "Softplus", "Softsign", "Clip", "ThresholdedRelu"};
    const struct ox_quant_uses *uses = &job->uses[value->graph->id];
    if (ox_quant_n_uses(uses, value) != 1 || value->is_output)
        return false;
    const struct ox_node *user = uses->uses[uses->first[value->id]].node;
    for (size_t i = 0; i < OX_COUNT(activations); i++) {
        if (!*user->domain && strcmp(user->op_type, activations[i]) == 0)
            return true;
    }
    return false;
}

/* Whether what is added is a row that Gemm on blocks takes. */
static bool adds_row(const struct ox_node *add, const struct ox_value *product)
{
    const struct ox_value *term =
        add->n_inputs == 2 ? add->inputs[add->inputs[0] == product] : NULL;
    const struct ox_stored *row = term ? ox_value_stored(term) : NULL;
    return row && row->rank == 1;
}

/* The sum after a product of matrices, which stands in the model already, likewise, and where it adds what is computed: of that runtimes
 * make Gemm as well. */
static enum ox_status keep_apart(struct job *job, const struct target *target, struct ox_error *err)
{
    const struct ox_value *out = target->node->outputs[0];
    const struct ox_quant_uses *uses = &job->uses[out->graph->id];
    if (ox_quant_n_uses(uses, out) != 1 || out->is_output ||
        ox_quant_rank(&job->q, target->node->inputs[0]) > 2)
        return OX_OK;
    struct ox_node *add = uses->uses[uses->first[out->id]].node;
    if (*add->domain || strcmp(add->op_type, "Add") != 0 ||
        (!feeds_activation(job, add->outputs[0]) && adds_row(add, out)))
        return OX_OK;
    return ox_quant_make_sum(&job->q, add, err);
}

static enum ox_status rewrite(struct job *job, struct target *target, struct ox_error *err)
{
    struct ox_quant *q = &job->q;
    struct ox_node *node = target->node;
    const struct target *whose = target->shared ? target->shared : target;
    if (whose != target && whose->node->graph == node->graph) {
        target->output = whose->output;
        memcpy(target->parts, whose->parts, sizeof target->parts);
    } else if (q->options->contrib) {
        OX_TRY(add_packed(job, target, &whose->made, whose->real, err));
    } else {
        OX_TRY(add_dequantized(job, target, &whose->made, whose->real, err));
    }
    struct ox_value *out = node->outputs[0];
    if (!is_gemm(node) || node->n_inputs < 3 || !node->inputs[2])
        return add_product(job, target, node->name, out, err);
    /* Runtimes fuse blocks with MatMul; not every one with Gemm. */
    struct ox_value *product =
        ox_graph_add_value(node->graph, ox_quant_name(q, out->name, "_MatMul"));
    struct ox_value *terms[] = {product, node->inputs[2]};
    const char *name = *node->name ? ox_quant_name(q, node->name, "_MatMul") : "";
    const char *add_name = *node->name ? ox_quant_name(q, node->name, "_Add") : "";
    if (!product || !name || !add_name)
        return ox_no_memory(err);
    OX_TRY(add_product(job, target, name, product, err));
    const char *sum = feeds_activation(job, out) ? "Sum" : "Add";
    return ox_graph_add_node(node->graph, sum, "", add_name, terms, 2, &out, 1) ? OX_OK
                                                                                : ox_no_memory(err);
}

/* Takes the nodes out that were replaced. */
static enum ox_status clean(struct job *job, struct ox_error *err)
{
    struct ox_model *model = job->q.model;
    for (size_t g = 0; g < model->n_graphs; g++) {
        struct ox_graph *graph = model->graphs[g];
        bool *gone = ox_arena_array(&job->q.arena, graph->n_nodes + 1, sizeof *gone);
        if (!gone)
            return ox_no_memory(err);
        for (size_t i = 0; i < job->n_targets; i++) {
            if (job->targets[i].node->graph == graph)
                gone[job->targets[i].node->index] = true;
        }
        ox_graph_remove_nodes(graph, gone);
    }
    return OX_OK;
}

/* ---- All of it ---------------------------------------------------------------------------------------------------- */

static bool by_samples(const struct ox_quant_options *options)
{
    return options->weight_method == OX_WEIGHT_GPTQ || options->weight_method == OX_WEIGHT_AWQ;
}

static enum ox_status check_options(const struct ox_model *model,
                                    const struct ox_quant_options *options, size_t n_samples,
                                    struct ox_error *err)
{
    enum { LEAST_BLOCK = 16 };
    size_t block = options->block_size;
    unsigned bits = ox_dtype_bits(options->weight_type);
    if (!ox_qtype_known(options->weight_type) || bits > 8)
        return ox_fail(err, OX_USAGE, "weights alone cannot be of %s",
                       ox_dtype_name(options->weight_type));
    if (block < LEAST_BLOCK || block > OX_MOST_BLOCK || (block & (block - 1)))
        return ox_fail(err, OX_USAGE, "blocks are of 16, 32, 64 ... 1024 values, not of %zu",
                       block);
    if (by_samples(options) && !n_samples)
        return ox_fail(err, OX_USAGE, "%s needs samples",
                       options->weight_method == OX_WEIGHT_AWQ ? "awq" : "gptq");
    int64_t opset = model->graph ? ox_graph_opset(model->graph, "") : 0;
    if (opset && opset < 21 && !options->contrib)
        return ox_fail(err, OX_UNSUPPORTED, "blocks need opset 21, the model is of %lld",
                       (long long)opset);
    return OX_OK;
}

static void note_sizes(struct job *job)
{
    struct ox_quant_summary sizes;
    size_t n_values = 0, n_shared = 0;
    ox_quant_report_summary(job->q.report, &sizes);
    for (size_t i = 0; i < job->n_targets; i++) {
        const struct target *target = &job->targets[i];
        if (target->shared)
            n_shared += target->shared->node->graph == target->node->graph;
        else
            n_values += target->made.integers->n;
    }
    if (!n_values)
        return;
    ox_quant_report_add_note(
        job->q.report, "matrices of products in blocks of %zu: %.2f bits a weight, %.1f %% smaller",
        job->q.options->block_size, 8 * (double)sizes.constants_after / (double)n_values,
        100 * (1 - (double)sizes.constants_after / (double)sizes.constants_before));
    if (!job->q.options->contrib)
        ox_quant_report_add_note(
            job->q.report,
            "onnxruntime rounds inputs of these products to 8 bits as it runs, unless "
            "its session option session.qdq_matmulnbits_accuracy_level is 0");
    if (n_shared && !job->q.options->contrib)
        ox_quant_report_add_note(job->q.report,
                                 "%zu products have the weight of another one: onnxruntime "
                                 "dequantizes it anew in each run; not with --contrib",
                                 n_shared);
}

/* What awq did. */
static void note_factors(struct job *job)
{
    size_t n = 0, n_divisions = 0;
    for (size_t i = 0; i < job->n_targets; i++) {
        const struct read *read = job->targets[i].read;
        bool again = !read || !read->now;
        for (size_t k = 0; k < i && !again; k++)
            again = job->targets[k].read == read;
        n += !again;
        n_divisions += !again && read->now != read->value;
    }
    if (n)
        ox_quant_report_add_note(job->q.report,
                                 "inputs of products divided by factors that their weights are "
                                 "multiplied by: %zu, %zu of them by a Mul",
                                 n, n_divisions);
}

static enum ox_status shrink_tables(struct job *job, struct ox_error *err)
{
    struct ox_model *model = job->q.model;
    struct ox_quant_summary before, after;
    ox_quant_report_summary(job->q.report, &before);
    for (size_t g = model->n_graphs;
         g-- > 0;) { /* inner ones first: their nodes are named by those around them */
        if (!model->graphs[g]->function)
            OX_TRY(ox_quant_shrink_tables(&job->q, model->graphs[g], err));
    }
    ox_quant_report_summary(job->q.report, &after);
    if (after.constants_after == before.constants_after)
        return OX_OK;
    double smaller = 100 * (1 - (double)(after.constants_after - before.constants_after) /
                                    (double)(after.constants_before - before.constants_before));
    if (ox_graph_opset(model->graph, "") < 21)
        ox_quant_report_add_note(job->q.report,
                                 "tables that Gather reads in int8, a scale a row: %.1f %% smaller",
                                 smaller);
    else
        ox_quant_report_add_note(
            job->q.report, "tables that Gather reads in int8, in blocks of %zu: %.1f %% smaller",
            job->q.options->block_size, smaller);
    return OX_OK;
}

static enum ox_status quantize(struct job *job, const char *const *samples, size_t n_samples,
                               struct ox_error *err)
{
    struct ox_model *model = job->q.model;
    const bool sampled = by_samples(job->q.options);
    struct ox_estimate estimate;
    OX_TRY(ox_quant_infer(&job->q, err));
    OX_TRY(ox_estimate_begin(&estimate, &job->q, err));
    OX_TRY(find_targets(job, err));
    for (size_t at = 0; sampled && at < job->n_targets;)
        OX_TRY(round_some(job, &at, samples, n_samples, err));
    for (size_t i = 0; i < job->n_targets && !sampled; i++) {
        if (!job->targets[i].shared)
            OX_TRY(round_target(job, &job->targets[i], NULL, err));
    }
    job->uses = ox_arena_array(&job->q.arena, model->n_graphs + 1, sizeof *job->uses);
    if (!job->uses)
        return ox_no_memory(err);
    for (size_t g = 0; g < model->n_graphs; g++)
        OX_TRY(ox_quant_find_uses(&job->q, model->graphs[g], &job->uses[g], err));
    for (size_t i = 0; i < job->n_targets; i++) {
        if (!is_gemm(job->targets[i].node))
            OX_TRY(keep_apart(job, &job->targets[i], err));
        OX_TRY(rewrite(job, &job->targets[i], err));
    }
    for (size_t g = 0; g < model->n_graphs; g++) {
        if (!model->graphs[g]->function)
            OX_TRY(ox_graph_sort(model->graphs[g], err));
    }
    OX_TRY(clean(job, err));
    note_sizes(job);
    note_factors(job);
    OX_TRY(shrink_tables(job, err));
    OX_TRY(ox_quant_finish(&job->q, err));
    ox_estimate_end(&estimate, &job->q, false);
    return job->q.report->failed ? ox_no_memory(err) : OX_OK;
}

enum ox_status ox_quantize_weights(struct ox_model *model, const char *const *samples,
                                   size_t n_samples, const struct ox_quant_options *options,
                                   struct ox_quant_report **report, struct ox_error *err)
{
    struct job job = {0};
    enum ox_status status = ox_quant_init(&job.q, model, options, false, err);
    if (status == OX_OK)
        status = check_options(model, options, n_samples, err);
    if (status == OX_OK)
        status = quantize(&job, samples, n_samples, err);
    if (status == OX_OK && report) {
        *report = job.q.report;
        job.q.report = NULL;
    }
    for (size_t i = 0; i < job.n_targets; i++)
        ox_blocked_release(&job.targets[i].made);
    ox_quant_release(&job.q);
    return status == OX_OK ? status : ox_fail_model(err, status, model);
}
