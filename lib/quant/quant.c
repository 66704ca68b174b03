#include "quant/quant.h"

#include <stdlib.h>
#include <string.h>

#include "graph/match.h"
#include "kernels/cpu.h"
#include "ops/op.h"

const char *ox_quant_method_name(enum ox_quant_method method)
{
    static const char *const names[] = {"minmax", "moving-average", "percentile", "entropy", "mse",
                                        "auto"};
    return method < OX_N_QUANT_METHODS ? names[method] : "?";
}

void ox_quant_options_init(struct ox_quant_options *options)
{
    *options = (struct ox_quant_options){.weight_type = OX_INT8,
                                         .activation_type = OX_UINT8,
                                         .percentile = 99.999,
                                         .block_size = 32};
}

void ox_quant_steady_kernels(void)
{
    ox_cpu_make_steady();
}

/* ---- The job ------------------------------------------------------------------------------------------------------ */

static bool has_op(const struct ox_model *model, const char *op_type)
{
    for (size_t g = 0; g < model->n_graphs; g++) {
        for (size_t i = 0; i < model->graphs[g]->n_nodes; i++) {
            if (strcmp(model->graphs[g]->nodes[i]->op_type, op_type) == 0)
                return true;
        }
    }
    return false;
}

enum ox_status ox_quant_init(struct ox_quant *q, struct ox_model *model,
                             const struct ox_quant_options *options, bool strict,
                             struct ox_error *err)
{
    strict = strict && !options->compat_ort;
    *q = (struct ox_quant){.model = model, .options = options};
    ox_arena_init(&q->arena, ox_env_budget(model->env));
    if (!model->graph)
        return ox_fail(err, OX_INPUT, "the model has no graph");
    OX_TRY(ox_nodes_check(model, err));
    q->report = ox_quant_report_new(ox_env_budget(model->env));
    if (!q->report)
        return ox_no_memory(err);
    OX_TRY(ox_selection_make(&q->nodes, model, options->nodes, options->n_nodes,
                             options->compat_ort, strict, err));
    if (options->n_exclude)
        OX_TRY(ox_selection_make(&q->excluded, model, options->exclude, options->n_exclude,
                                 options->compat_ort, strict, err));
    for (size_t i = 0; i < options->n_op_types && strict; i++) {
        if (!has_op(model, options->op_types[i]))
            return ox_fail(err, OX_USAGE, "no node of the model is of type '%s'",
                           options->op_types[i]);
    }
    return OX_OK;
}

const char *ox_quant_unwanted(const struct ox_quant *q, const struct ox_node *node)
{
    const struct ox_quant_options *options = q->options;
    bool listed = options->n_op_types == 0;
    for (size_t i = 0; i < options->n_op_types; i++)
        listed |= strcmp(options->op_types[i], node->op_type) == 0;
    if (!listed)
        return "its type is not among the types asked for";
    if (!ox_selection_has(&q->nodes, node))
        return "it is not among the nodes asked for";
    return ox_selection_has(&q->excluded, node) ? "it is excluded" : NULL;
}

void ox_quant_release(struct ox_quant *q)
{
    ox_shapes_release(q->shapes);
    ox_selection_release(&q->nodes);
    ox_selection_release(&q->excluded);
    free(q->n_values);
    ox_quant_report_release(q->report);
    ox_arena_release(&q->arena);
}

enum ox_status ox_quant_infer(struct ox_quant *q, struct ox_error *err)
{
    ox_shapes_release(q->shapes);
    q->shapes = NULL;
    OX_TRY(ox_shapes_infer(&q->shapes, q->model, NULL, NULL, err));
    free(q->n_values);
    q->n_graphs = q->model->n_graphs;
    q->n_values = calloc(q->n_graphs + 1, sizeof *q->n_values);
    if (!q->n_values)
        return ox_no_memory(err);
    for (size_t i = 0; i < q->n_graphs; i++)
        q->n_values[i] = q->model->graphs[i]->n_values;
    return OX_OK;
}

/* ---- What is known of values -------------------------------------------------------------------------------------- */

static const struct ox_type *type_of(const struct ox_quant *q, const struct ox_value *value)
{
    const struct ox_value *root = ox_value_origin(value);
    bool seen = q->shapes && root->graph->id < q->n_graphs &&
                root->id < q->n_values[root->graph->id]; /* else it was made since */
    const struct ox_type *type = seen ? ox_shapes_type(q->shapes, root) : NULL;
    return type ? type : root->type;
}

bool ox_quant_is_body(const struct ox_graph *graph)
{
    return graph->parent && !graph->function && !graph->dropped;
}

/* Whether it runs once a turn, with what the turn before made of its values. */
static bool is_repeated(const struct ox_graph *graph)
{
    static const char *const repeats[] = {"Loop", "Scan", NULL};
    for (; graph->parent; graph = graph->parent->graph) {
        if (ox_is_any_op(graph->parent, repeats))
            return true;
    }
    return false;
}

bool ox_quant_small_in_body(const struct ox_quant *q, const struct ox_graph *graph,
                            const struct ox_value *weight)
{
    /* By a row at a time a matrix of 8192 takes onnxruntime 1.6 times as long in integers, by eight 1.2 times, by 32 as long. */
    enum { SMALL = 1024, SMALL_MATRIX = 8192, MATRIX = 2 };
    const struct ox_stored *stored = ox_quant_is_body(graph) ? ox_value_stored(weight) : NULL;
    size_t n;
    return stored && !q->options->n_nodes && ox_dims_count(stored->rank, stored->dims, &n) &&
           n < (stored->rank == MATRIX && is_repeated(graph) ? SMALL_MATRIX : SMALL);
}

enum ox_status ox_quant_name_scopes(struct ox_quant *q, struct ox_error *err)
{
    const struct ox_model *model = q->model;
    q->scopes = ox_arena_array(&q->arena, model->n_graphs + 1, sizeof *q->scopes);
    if (!q->scopes)
        return ox_no_memory(err);
    for (size_t g = 0; g < model->n_graphs; g++) {
        q->scopes[g] = "";
        if (!ox_quant_is_body(model->graphs[g]))
            continue;
        struct ox_strbuf path = {0};
        ox_graph_path(&path, model->graphs[g]);
        q->scopes[g] =
            path.data && !path.failed ? ox_arena_printf(&q->arena, "%s:", path.data) : NULL;
        ox_strbuf_release(&path);
        if (!q->scopes[g])
            return ox_no_memory(err);
    }
    return OX_OK;
}

enum ox_dtype ox_quant_dtype(const struct ox_quant *q, const struct ox_value *value)
{
    const struct ox_stored *constant = ox_value_stored(value);
    if (constant)
        return constant->dtype;
    const struct ox_type *type = type_of(q, value);
    return type && type->kind == OX_TYPE_TENSOR ? type->elem : OX_UNDEFINED;
}

int ox_quant_rank(const struct ox_quant *q, const struct ox_value *value)
{
    const struct ox_stored *constant = ox_value_stored(value);
    if (constant)
        return (int)constant->rank;
    const struct ox_type *type = type_of(q, value);
    return type && type->kind == OX_TYPE_TENSOR && type->has_rank ? (int)type->rank : -1;
}

int64_t ox_quant_dim(const struct ox_quant *q, const struct ox_value *value, unsigned axis)
{
    const struct ox_stored *constant = ox_value_stored(value);
    if (constant)
        return axis < constant->rank ? constant->dims[axis] : -1;
    const struct ox_type *type = type_of(q, value);
    int64_t n;
    bool known = type && type->kind == OX_TYPE_TENSOR && type->has_rank && axis < type->rank &&
                 ox_expr_is_int(type->dims[axis], &n);
    return known ? n : -1;
}

bool ox_quant_is_float(enum ox_dtype dtype)
{
    return dtype == OX_FLOAT32 || dtype == OX_FLOAT16;
}

enum ox_status ox_quant_stored_floats(struct ox_quant *q, const struct ox_stored *stored,
                                      struct ox_tensor **out, struct ox_error *err)
{
    struct ox_tensor *tensor;
    OX_TRY(ox_stored_load(q->model, stored, &tensor, err));
    enum ox_status status =
        ox_tensor_convert(out, ox_env_budget(q->model->env), tensor, OX_FLOAT32, false, err);
    ox_tensor_release(tensor);
    return status;
}

enum ox_status ox_quant_values(struct ox_quant *q, const struct ox_value *value,
                               struct ox_tensor **out, enum ox_dtype *real, struct ox_error *err)
{
    const struct ox_stored *stored = ox_value_stored(value);
    char shown[OX_SHOWN_BYTES];
    if (!stored || !ox_quant_is_float(stored->dtype))
        return ox_fail(err, OX_INPUT, "%s: is no constant of float32 or float16",
                       ox_shown(shown, value->name, strlen(value->name)));
    *real = stored->dtype;
    return ox_quant_stored_floats(q, stored, out, err);
}

/* ---- Small changes ------------------------------------------------------------------------------------------------ */

enum ox_status ox_quant_turned(struct ox_quant *q, const struct ox_value *value,
                               struct ox_tensor **out, enum ox_dtype *real, struct ox_error *err)
{
    struct ox_tensor *in, *turned;
    OX_TRY(ox_quant_values(q, value, &in, real, err));
    const int64_t dims[] = {in->dims[1], in->dims[0]};
    enum ox_status status =
        ox_tensor_new(&turned, ox_env_budget(q->model->env), OX_FLOAT32, 2, dims, err);
    /* Sixteen rows at a time, for they share lines. */
    for (int64_t from = 0; status == OX_OK && from < dims[0]; from += 16) {
        const int64_t to = from + 16 < dims[0] ? from + 16 : dims[0];
        for (int64_t j = 0; j < dims[1]; j++)
            for (int64_t i = from; i < to; i++)
                ((float *)turned->data)[i * dims[1] + j] =
                    ((const float *)in->data)[j * dims[0] + i];
    }
    ox_tensor_release(in);
    if (status == OX_OK)
        *out = turned;
    return status;
}

struct ox_value *ox_quant_add_init(struct ox_graph *graph, const char *name,
                                   struct ox_tensor *tensor)
{
    struct ox_value *value = ox_graph_add_value(graph, name);
    if (value && !ox_graph_add_init(graph, value, tensor))
        value = NULL;
    ox_tensor_release(tensor);
    return value;
}

enum ox_status ox_quant_add_params(struct ox_quant *q, struct ox_graph *graph,
                                   const struct ox_qparams *params, const char *scale_name,
                                   const char *zero_name, struct ox_value **scale,
                                   struct ox_value **zero, struct ox_error *err)
{
    struct ox_tensor *s, *z;
    OX_TRY(ox_qparams_tensors(params, ox_env_budget(q->model->env), &s, &z, err));
    *scale = ox_quant_add_init(graph, scale_name, s);
    *zero = ox_quant_add_init(graph, zero_name, z);
    return *scale && *zero ? OX_OK : ox_no_memory(err);
}

const char *ox_quant_name(struct ox_quant *q, const char *prefix, const char *suffix)
{
    static const char *const shorter[][2] = {{"_QuantizeLinear", "_q"},
                                             {"_QuantizeLinear_Output", "_q"},
                                             {"_DequantizeLinear", "_dq"},
                                             {"_zero_point", "_zp"},
                                             {"_quantized_scale", "_scale"},
                                             {"_quantized_zero_point", "_zp"},
                                             {"_quantized", "_q"},
                                             {"_QuantizeLinear_Input", "_float"},
                                             {"_DequantizeLinear_Output", "_dq"}};
    const size_t read_by_debugger = 3; /* the last of them */
    size_t n = OX_COUNT(shorter);
    if (q->options->compat_ort)
        n = 0;
    else if (q->options->format == OX_QUANT_QDQ)
        n -= read_by_debugger;
    for (size_t i = 0; i < n; i++)
        if (strcmp(suffix, shorter[i][0]) == 0)
            suffix = shorter[i][1];
    return ox_arena_printf(&q->arena, "%s%s", prefix, suffix);
}

bool ox_quant_copy_attrs(struct ox_node *to, const struct ox_node *from, const char *const *but)
{
    for (size_t i = 0; i < from->n_attrs; i++) {
        bool skip = false;
        for (const char *const *name = but; name && *name; name++)
            skip |= strcmp(*name, from->attrs[i].name) == 0;
        if (skip)
            continue;
        struct ox_attr *attr = ox_node_add_attr(to, from->attrs[i].name, from->attrs[i].type);
        if (!attr)
            return false;
        *attr = from->attrs[i];
    }
    return true;
}

int64_t ox_quant_int_attr(const struct ox_node *node, const char *name, int64_t otherwise)
{
    const struct ox_attr *attr = ox_node_attr(node, name);
    return attr && attr->type == OX_ATTR_INT && attr->n ? attr->i : otherwise;
}

float ox_quant_float_attr(const struct ox_node *node, const char *name, float otherwise)
{
    const struct ox_attr *attr = ox_node_attr(node, name);
    return attr && attr->type == OX_ATTR_FLOAT && attr->n ? attr->f : otherwise;
}

bool ox_quant_set_opset(struct ox_model *model, const char *domain, int64_t version)
{
    for (size_t i = 0; i < model->n_opsets; i++) {
        if (strcmp(model->opsets[i].domain, domain) == 0) {
            if (model->opsets[i].version < version)
                model->opsets[i].version = version;
            return true;
        }
    }
    struct ox_opset *opsets =
        ox_arena_array(&model->arena, model->n_opsets + 1, sizeof *model->opsets);
    if (!opsets)
        return false;
    if (model->n_opsets)
        memcpy(opsets, model->opsets, model->n_opsets * sizeof *opsets);
    opsets[model->n_opsets++] = (struct ox_opset){domain, version};
    model->opsets = opsets;
    return true;
}

enum ox_status ox_quant_make_sum(struct ox_quant *q, struct ox_node *add, struct ox_error *err)
{
    add->op_type = ox_arena_strdup(&q->model->arena, "Sum");
    return add->op_type ? OX_OK : ox_no_memory(err);
}

enum ox_dtype ox_quant_stored_type(const struct ox_quant *q)
{
    return ox_dtype_bits(q->options->weight_type) == 16 ? OX_INT16 : OX_INT8;
}
