/* What a model is, in figures. */
#include <stdlib.h>
#include <string.h>

#include "graph/cost/cost.h"
#include "model/external.h"
#include "proto/onnx.pb-c.h"

/* The public struct and what it points to. */
struct maker {
    struct ox_summary s; /* first: what ox_summary_release() is given */
    struct ox_arena arena;
    struct ox_model *model;
    const struct ox_shapes *shapes;
    struct ox_strmap seen;
    bool failed;
};

static void *array(struct maker *m, size_t n, size_t size)
{
    void *list = ox_arena_array(&m->arena, n + 1, size);
    m->failed |= !list;
    return list;
}

/* Takes the buffer's text and clears it. */
static const char *keep(struct maker *m, struct ox_strbuf *text)
{
    const char *copy = ox_arena_text(&m->arena, text);
    m->failed |= !copy;
    ox_strbuf_clear(text);
    return copy;
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* The index of a key, new ones counted by *n; UINT32_MAX: out of memory. */
static uint32_t index_of(struct maker *m, const char *key, size_t *n)
{
    uint32_t at = (uint32_t)*n;
    bool is_new = false;
    if (!key || !ox_strmap_add(&m->seen, key, strlen(key), &at, &is_new)) {
        m->failed = true;
        return UINT32_MAX;
    }
    *n += is_new;
    return at;
}

static void forget_seen(struct maker *m)
{
    ox_strmap_release(&m->seen);
    ox_strmap_init(&m->seen);
}

/* ---- The file ----------------------------------------------------------------------------------------------------- */

static void fill_file(struct maker *m)
{
    const struct ox_model *model = m->model;
    const Onnx__ModelProto *proto = model->proto;
    struct ox_summary *s = &m->s;
    s->path = or_empty(model->path);
    s->file_bytes = model->file_bytes;
    s->ir_version = model->ir_version;
    s->model_version = model->model_version;
    s->producer_name = or_empty(model->producer_name);
    s->producer_version = or_empty(model->producer_version);
    s->domain = or_empty(model->model_domain);
    s->doc = proto ? or_empty(proto->doc_string) : "";
    s->graph_name = model->graph ? or_empty(model->graph->name) : "";
    struct ox_summary_opset *opsets = array(m, model->n_opsets, sizeof *opsets);
    for (size_t i = 0; opsets && i < model->n_opsets; i++)
        opsets[i].domain = ox_model_opset(model, i, &opsets[i].version);
    s->opsets = opsets;
    s->n_opsets = model->n_opsets;
    size_t n_props = proto ? proto->n_metadata_props : 0;
    struct ox_summary_prop *props = array(m, n_props, sizeof *props);
    for (size_t i = 0; props && i < n_props; i++)
        props[i] = (struct ox_summary_prop){or_empty(proto->metadata_props[i]->key),
                                            or_empty(proto->metadata_props[i]->value)};
    s->props = props;
    s->n_props = n_props;
    s->n_training = proto ? proto->n_training_info : 0;
}

static const struct ox_summary_port *ports(struct maker *m, struct ox_value *const *values,
                                           size_t n)
{
    struct ox_summary_port *list = array(m, n, sizeof *list);
    struct ox_strbuf text = {0};
    for (size_t i = 0; list && i < n; i++) {
        const struct ox_type *type = ox_shapes_type(m->shapes, values[i]);
        type = type ? type : values[i]->type;
        if (type && type->kind != OX_TYPE_UNKNOWN)
            ox_type_print(&text, type, true);
        else
            ox_strbuf_putc(&text, '?');
        list[i].name = values[i]->name;
        list[i].type = keep(m, &text);
        list[i].has_default = values[i]->init || values[i]->sparse_init;
    }
    ox_strbuf_release(&text);
    return list;
}

/* ---- Graphs and operators ----------------------------------------------------------------------------------------- */

static bool computes_in_integers(const char *op_type)
{
    static const char *const others[] = {"ConvInteger",
                                         "MatMulInteger",
                                         "MatMulIntegerToFloat",
                                         "DynamicQuantizeMatMul",
                                         "DynamicQuantizeLSTM",
                                         "QAttention",
                                         "QGemm",
                                         "MatMulInteger16"};
    if (strncmp(op_type, "QLinear", 7) == 0)
        return true;
    for (size_t i = 0; i < OX_COUNT(others); i++)
        if (strcmp(op_type, others[i]) == 0)
            return true;
    return false;
}

static int by_count(const void *a, const void *b)
{
    const struct ox_summary_op *x = a, *y = b;
    if (x->n != y->n)
        return x->n < y->n ? 1 : -1;
    int order = strcmp(x->domain, y->domain);
    return order ? order : strcmp(x->op_type, y->op_type);
}

static void count_node(struct maker *m, const struct ox_node *node, struct ox_summary_op *ops,
                       struct ox_strbuf *key)
{
    ox_strbuf_clear(key);
    ox_strbuf_printf(key, "%s:%s", node->domain, node->op_type);
    uint32_t at = ox_strmap_find(&m->seen, or_empty(key->data), key->len);
    if (at == OX_STRMAP_NONE)
        at = index_of(m, keep(m, key), &m->s.n_ops);
    if (at == UINT32_MAX)
        return;
    ops[at].domain = node->domain;
    ops[at].op_type = node->op_type;
    ops[at].n++;
    m->s.n_quantize += strcmp(node->op_type, "QuantizeLinear") == 0;
    m->s.n_dequantize += strcmp(node->op_type, "DequantizeLinear") == 0;
    m->s.n_integer_ops += computes_in_integers(node->op_type);
}

static void fill_ops(struct maker *m)
{
    size_t n_nodes = 0;
    for (size_t g = 0; g < m->model->n_graphs; g++)
        n_nodes += m->model->graphs[g]->n_nodes;
    m->s.n_nodes_all = n_nodes;
    m->s.n_nodes = m->model->graph ? m->model->graph->n_nodes : 0;
    struct ox_summary_op *ops = calloc(n_nodes + 1, sizeof *ops);
    struct ox_strbuf key = {0};
    m->failed |= !ops;
    for (size_t g = 0; ops && g < m->model->n_graphs; g++)
        for (size_t i = 0; i < m->model->graphs[g]->n_nodes; i++)
            count_node(m, m->model->graphs[g]->nodes[i], ops, &key);
    if (ops && m->s.n_ops)
        qsort(ops, m->s.n_ops, sizeof *ops, by_count);
    m->s.ops = ops ? ox_arena_copy(&m->arena, ops, m->s.n_ops * sizeof *ops) : NULL;
    m->failed |= m->s.n_ops && !m->s.ops;
    ox_strbuf_release(&key);
    free(ops);
    forget_seen(m);
}

static void fill_graphs(struct maker *m)
{
    const struct ox_model *model = m->model;
    struct ox_summary_graph *list = array(m, model->n_graphs, sizeof *list);
    struct ox_strbuf text = {0};
    m->s.subgraphs = list;
    for (size_t g = 0; list && g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        if (graph == model->graph || (graph->function && graph->function->body == graph))
            continue;
        ox_graph_path(&text, graph);
        list[m->s.n_subgraphs++] = (struct ox_summary_graph){keep(m, &text), graph->n_nodes,
                                                             graph->n_inputs, graph->n_outputs};
    }
    ox_strbuf_release(&text);
}

static void fill_functions(struct maker *m)
{
    const struct ox_model *model = m->model;
    struct ox_summary_function *list = array(m, model->n_functions, sizeof *list);
    m->s.functions = list;
    m->s.n_functions = list ? model->n_functions : 0;
    for (size_t i = 0; i < m->s.n_functions; i++) {
        const struct ox_function *f = &model->functions[i];
        list[i] =
            (struct ox_summary_function){f->domain, f->name, f->overload, f->body->n_nodes, 0};
    }
    for (size_t g = 0; m->s.n_functions && g < model->n_graphs; g++)
        for (size_t i = 0; i < model->graphs[g]->n_nodes; i++) {
            const struct ox_node *node = model->graphs[g]->nodes[i];
            const struct ox_function *f =
                ox_model_function(model, node->domain, node->op_type, node->overload);
            if (f)
                list[f - model->functions].n_calls++;
        }
}

/* ---- Constants ---------------------------------------------------------------------------------------------------- */

struct tally {
    struct ox_summary_type types[OX_N_DTYPES];
    struct ox_summary_file *files;
    size_t n_files, cap_files;
};

static struct ox_summary_file *file_of(struct maker *m, struct tally *t, const char *location)
{
    size_t n = t->n_files;
    uint32_t at = index_of(m, location, &t->n_files);
    if (at == UINT32_MAX)
        return NULL;
    if (t->n_files > n && n == t->cap_files) {
        size_t cap = t->cap_files ? 2 * t->cap_files : 8;
        struct ox_summary_file *more = realloc(t->files, cap * sizeof *more);
        if (!more) {
            m->failed = true;
            t->n_files = n;
            return NULL;
        }
        t->files = more;
        t->cap_files = cap;
    }
    if (t->n_files > n)
        t->files[at] = (struct ox_summary_file){.location = location};
    return &t->files[at];
}

static void tally_stored(struct maker *m, struct tally *t, const struct ox_stored *stored)
{
    size_t n;
    uint64_t bytes = 0;
    if (!stored || !ox_dims_count(stored->rank, stored->dims, &n))
        return;
    ox_dtype_packed_bytes(stored->dtype, n, &bytes);
    struct ox_summary_type *type = &t->types[stored->dtype];
    type->dtype = stored->dtype;
    type->n_tensors++;
    type->n += n;
    type->bytes += bytes;
    struct ox_summary_file *file = stored->place == OX_STORED_EXTERNAL && stored->location
                                       ? file_of(m, t, stored->location)
                                       : NULL;
    if (file) {
        file->n_tensors++;
        file->bytes += bytes;
    }
}

static int by_bytes(const void *a, const void *b)
{
    const struct ox_summary_type *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return (int)x->dtype - (int)y->dtype;
}

static void open_files(struct maker *m, struct tally *t)
{
    for (size_t i = 0; i < t->n_files; i++) {
        const struct ox_mapping *map;
        struct ox_error err;
        if (ox_external_open(m->model, t->files[i].location, &map, &err) == OX_OK) {
            t->files[i].found = true;
            t->files[i].file_bytes = map->bytes;
        } else {
            t->files[i].fault = ox_arena_strdup(&m->arena, err.message);
        }
    }
    m->s.files = ox_arena_copy(&m->arena, t->files, t->n_files * sizeof *t->files);
    m->s.n_files = m->s.files ? t->n_files : 0;
    m->failed |= t->n_files && !m->s.files;
}

static void fill_weights(struct maker *m)
{
    struct tally t = {.files = NULL};
    for (size_t g = 0; g < m->model->n_graphs; g++) {
        const struct ox_graph *graph = m->model->graphs[g];
        for (size_t i = 0; i < graph->n_inits; i++)
            tally_stored(m, &t, graph->inits[i]);
        for (size_t i = 0; i < graph->n_sparse_inits; i++) {
            tally_stored(m, &t, graph->sparse_inits[i]->values);
            tally_stored(m, &t, graph->sparse_inits[i]->indices);
        }
        for (size_t i = 0; i < graph->n_nodes; i++)
            tally_stored(m, &t, ox_cost_constant(graph->nodes[i]));
        m->s.n_annotations += graph->proto ? graph->proto->n_quantization_annotation : 0;
    }
    struct ox_summary_type *types = array(m, OX_N_DTYPES, sizeof *types);
    for (size_t i = 0; types && i < OX_N_DTYPES; i++)
        if (t.types[i].n_tensors)
            types[m->s.n_weights++] = t.types[i];
    if (m->s.n_weights)
        qsort(types, m->s.n_weights, sizeof *types, by_bytes);
    m->s.weights = types;
    open_files(m, &t);
    free(t.files);
    forget_seen(m);
}

/* ---- All of it ---------------------------------------------------------------------------------------------------- */

enum ox_status ox_summary_new(struct ox_summary **out, struct ox_model *model,
                              struct ox_shapes *shapes, const struct ox_costs *costs,
                              struct ox_error *err)
{
    struct maker *m = calloc(1, sizeof *m);
    if (!m)
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", model->path ? model->path : "model");
    ox_arena_init(&m->arena, ox_env_budget(model->env));
    ox_strmap_init(&m->seen);
    m->model = model;
    m->shapes = shapes;
    fill_file(m);
    if (model->graph) {
        m->s.inputs = ports(m, model->graph->inputs, model->graph->n_inputs);
        m->s.outputs = ports(m, model->graph->outputs, model->graph->n_outputs);
        m->s.n_inputs = m->s.inputs ? model->graph->n_inputs : 0;
        m->s.n_outputs = m->s.outputs ? model->graph->n_outputs : 0;
    }
    fill_ops(m);
    fill_graphs(m);
    fill_functions(m);
    fill_weights(m);
    m->s.cost = *ox_costs_total(costs);
    m->s.n_values = ox_shapes_count(shapes);
    m->s.n_unknown = ox_shapes_unknown(shapes);
    if (m->failed) {
        ox_summary_release(&m->s);
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", model->path ? model->path : "model");
    }
    *out = &m->s;
    return OX_OK;
}

void ox_summary_release(struct ox_summary *summary)
{
    struct maker *m = (struct maker *)summary;
    if (!m)
        return;
    ox_strmap_release(&m->seen);
    ox_arena_release(&m->arena);
    free(m);
}
