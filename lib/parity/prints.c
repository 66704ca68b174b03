/* Fingerprints: what a value is computed from, without names. They see through what exporters and optimizers do to a graph: other
 * names, folded constants, weights stored transposed, batch norm and biases put into the layer before, Q/DQ pairs and
 * casts put between, attributes that became inputs. */
#include <stdlib.h>
#include <string.h>

#include "common/forget.h"
#include "kernels/fingerprint.h"
#include "parity/pairs.h"

static uint64_t mix(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static uint64_t text_print(const char *text)
{
    uint64_t h = 0xCBF29CE484222325u;
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001B3u;
    return mix(h);
}

/* ---- Operators that stand for another ------------------------------------------------------------------------------ */

/* The operator whose place it takes. */
static const char *family(const struct ox_node *node)
{
    static const struct {
        const char *op_type, *family;
    } table[] = {
        {"ConvInteger", "Conv"},     {"FusedConv", "Conv"},
        {"FusedMatMul", "MatMul"},   {"Gemm", "MatMul"},
        {"MatMulInteger", "MatMul"}, {"MatMulNBits", "MatMul"},
        {"QLinearConv", "Conv"},     {"QLinearMatMul", "MatMul"},
        {"QLinearAdd", "Add"},       {"QLinearMul", "Mul"},
        {"Upsample", "Resize"},      {"FastGelu", "Gelu"},
        {"QuickGelu", "Gelu"},       {"SkipLayerNormalization", "LayerNormalization"},
    };
    for (size_t i = 0; i < OX_COUNT(table); i++)
        if (strcmp(node->op_type, table[i].op_type) == 0)
            return table[i].family;
    return node->op_type;
}

static bool is_one_of(const char *op_type, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(op_type, *list) == 0)
            return true;
    return false;
}

/* The input that a node hands on without changing what it is; NULL: it makes something new. */
static const struct ox_value *passes(const struct ox_node *node, const bool *constant)
{
    static const char *const always[] = {"Identity",       "Dropout",          "Cast",
                                         "QuantizeLinear", "DequantizeLinear", NULL};
    static const char *const affine[] = {"Conv", "MatMul", "Gemm", "ConvTranspose", NULL};
    if (!node->n_inputs || !node->inputs[0])
        return NULL;
    if (is_one_of(node->op_type, always))
        return node->inputs[0];
    if (strcmp(node->op_type, "BatchNormalization") != 0 && strcmp(node->op_type, "Add") != 0)
        return NULL;
    /* Batch norm or a bias behind a product: other models have it in the product's weights. */
    for (size_t i = 0; i < node->n_inputs && i < 2; i++) {
        const struct ox_value *from = node->inputs[i];
        const struct ox_value *other = node->n_inputs > 1 ? node->inputs[1 - i] : NULL;
        if (from && from->producer && is_one_of(from->producer->op_type, affine) && other &&
            constant[other->id])
            return from;
    }
    return NULL;
}

/* ---- Contents ------------------------------------------------------------------------------------------------------ */

/* A sum over elements, each by its value in float32: any order and any layout gives the same. They may lie at any address. All
 * weights are read through this. */
static uint64_t elements_print(enum ox_dtype dtype, const void *elements, size_t n)
{
    enum { FORGET_EVERY = 1 << 18, CHUNK = 512, MOST_BYTES = 16 };
    _Alignas(MOST_BYTES) char chunk[CHUNK * MOST_BYTES];
    uint64_t sum = mix(n);
    size_t size = ox_dtype_size(dtype);
    const size_t step = dtype == OX_FLOAT32 ? FORGET_EVERY : CHUNK;
    for (size_t at = 0; at < n; at += step) {
        const char *from = (const char *)elements + at * size;
        const size_t count = n - at < step ? n - at : step;
        if (dtype == OX_FLOAT32) {
            sum += ox_fingerprint(ox_cpu(), count, from);
        } else {
            float values[CHUNK];
            memcpy(chunk, from, count * size);
            ox_elements_convert(OX_FLOAT32, values, dtype, chunk, count, false);
            sum += ox_fingerprint(ox_cpu(), count, values);
        }
        /* What lies in the model's file need not stay in memory. */
        if ((at & (FORGET_EVERY - 1)) == 0 && at)
            ox_mapping_forget((const char *)elements + (at - FORGET_EVERY) * size,
                              FORGET_EVERY * size);
    }
    return sum;
}

static uint64_t tensor_print(const struct ox_tensor *t)
{
    if (t->dtype != OX_STRING)
        return elements_print(t->dtype, t->data, t->n);
    uint64_t sum = mix(t->n);
    const struct ox_str *s = t->data;
    for (size_t i = 0; i < t->n; i++)
        for (size_t k = 0; k < s[i].n; k++)
            sum += mix((unsigned char)s[i].p[k] + k * 257);
    return sum;
}

/* Whether the bytes in the file are elements as they lie in memory, and as many as the shape says. */
static bool is_plain(const struct ox_stored *stored, size_t *n)
{
    size_t bytes, size = ox_dtype_size(stored->dtype);
    return stored->place == OX_STORED_RAW && stored->dtype != OX_STRING && size && !OX_BIG_ENDIAN &&
           ox_dtype_bits(stored->dtype) == 8 * size &&
           ox_dims_count(stored->rank, stored->dims, n) && !OX_MUL_OVERFLOWS(*n, size, &bytes) &&
           bytes == stored->raw_bytes;
}

static enum ox_status stored_print(struct ox_model *model, const struct ox_stored *stored,
                                   uint64_t *print, struct ox_error *err)
{
    struct ox_tensor *tensor;
    size_t n;
    if (is_plain(stored, &n)) {
        *print = elements_print(stored->dtype, stored->raw, n);
    } else {
        OX_TRY(ox_stored_load(model, stored, &tensor, err));
        *print = tensor_print(tensor);
        ox_mapping_forget(tensor->data, tensor->n * ox_dtype_size(tensor->dtype));
        ox_tensor_release(tensor);
    }
    ox_mapping_forget(stored->raw, stored->raw_bytes);
    return OX_OK;
}

static uint64_t number_print(double value)
{
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return ox_fingerprint_one(bits);
}

/* As an input with that content has it, for attributes that became inputs. */
static enum ox_status attr_print(struct ox_model *model, const struct ox_attr *attr,
                                 uint64_t *print, struct ox_error *err)
{
    uint64_t sum = mix(attr->n);
    switch (attr->type) {
    case OX_ATTR_INT:
        sum += number_print((double)attr->i);
        break;
    case OX_ATTR_FLOAT:
        sum += number_print((double)attr->f);
        break;
    case OX_ATTR_STRING:
        sum = attr->s.p ? text_print(attr->s.p) : 0;
        break;
    case OX_ATTR_INTS:
        for (size_t i = 0; i < attr->n; i++)
            sum += number_print((double)attr->ints[i]);
        break;
    case OX_ATTR_FLOATS:
        for (size_t i = 0; i < attr->n; i++)
            sum += number_print((double)attr->floats[i]);
        break;
    case OX_ATTR_TENSOR:
        if (attr->n)
            OX_TRY(stored_print(model, attr->tensor, &sum, err));
        break;
    default:
        break;
    }
    *print = sum;
    return OX_OK;
}

static bool is_default(const struct ox_schema *schema, const struct ox_attr *attr)
{
    const struct ox_schema_attr *known = schema ? ox_schema_attr(schema, attr->name) : NULL;
    if (!known)
        return false;
    if (attr->type == OX_ATTR_INT && known->default_kind == OX_DEFAULT_INT)
        return attr->i == known->i;
    if (attr->type == OX_ATTR_FLOAT && known->default_kind == OX_DEFAULT_FLOAT)
        return attr->f == known->f;
    if (attr->type == OX_ATTR_STRING && known->default_kind == OX_DEFAULT_STRING)
        return attr->s.p && strcmp(attr->s.p, known->s) == 0;
    return false;
}

/* ---- Constants ----------------------------------------------------------------------------------------------------- */

/* Of those that nodes make of constants: their contents count, not how they are made. */
struct evaluation {
    struct ox_prints *prints;
    const struct ox_session *session;
    bool *listed; /* by value id */
};

static enum ox_status take_print(void *arg, const char *name, const struct ox_datum *datum,
                                 struct ox_error *err)
{
    const struct evaluation *e = arg;
    const struct ox_value *value = ox_graph_value(e->session->main->graph, name);
    (void)err;
    if (value && e->listed[value->id] && datum->kind == OX_DATUM_TENSOR)
        e->prints->content[value->id] = tensor_print(datum->tensor);
    return OX_OK;
}

static enum ox_status compute(struct evaluation *e, const char **names, size_t n, bool *computed,
                              struct ox_error *err)
{
    const struct ox_run_options options = {.lean = true,
                                           .outputs = names,
                                           .n_outputs = 1,
                                           .on_value = take_print,
                                           .value_arg = e,
                                           .watched = names,
                                           .n_watched = n};
    struct ox_session *small = NULL;
    struct ox_datum *made = NULL, **inputs = calloc(e->session->n_inputs + 1, sizeof *inputs);
    struct ox_error ignored;
    if (!inputs)
        return ox_no_memory(err);
    *computed =
        ox_session_new(&small, e->session->main->graph->model, &options, &ignored) == OX_OK &&
        ox_session_run(small, inputs, &made, &ignored) == OX_OK;
    if (*computed)
        ox_datum_release(made);
    ox_session_release(small);
    free(inputs);
    return OX_OK;
}

/* What can't be had keeps its wiring, and keeps no other away. */
static enum ox_status evaluate(struct evaluation *e, const char **names, size_t n,
                               struct ox_error *err)
{
    bool computed;
    OX_TRY(compute(e, names, n, &computed, err));
    if (computed || n == 1)
        return OX_OK;
    OX_TRY(evaluate(e, names, n / 2, err));
    return evaluate(e, names + n / 2, n - n / 2, err);
}

/* Constants that nodes make and that a node which is none takes: one after the other, since together they may be all weights of a
 * quantized model as floats. */
static enum ox_status evaluate_all(struct ox_prints *prints, const struct ox_session *session,
                                   struct ox_error *err)
{
    enum { AT_ONCE = 16 };
    const struct ox_plan *plan = session->main;
    size_t most = plan->graph->n_values + 1, n = 0;
    const char **names = calloc(most, sizeof *names);
    struct evaluation e = {prints, session, calloc(most, sizeof *e.listed)};
    enum ox_status status = names && e.listed ? OX_OK : ox_no_memory(err);
    for (size_t i = 0; i < plan->n_steps && status == OX_OK; i++) {
        const struct ox_node *node = plan->steps[i].node;
        bool makes = node->n_outputs && node->outputs[0] && !prints->constant[node->outputs[0]->id];
        for (size_t k = 0; k < node->n_inputs && makes; k++) {
            const struct ox_value *in = node->inputs[k];
            if (!in || !in->producer || !prints->constant[in->id] || prints->content[in->id] ||
                e.listed[in->id])
                continue;
            e.listed[in->id] = true;
            names[n++] = in->name;
        }
    }
    for (size_t i = 0; i < n && status == OX_OK; i += AT_ONCE)
        status = evaluate(&e, names + i, n - i < AT_ONCE ? n - i : AT_ONCE, err);
    free(names);
    free(e.listed);
    return status;
}

/* ---- Values -------------------------------------------------------------------------------------------------------- */

struct printing {
    struct ox_prints *out;
    const struct ox_session *session;
    const uint64_t *matched;
    struct ox_error *err;
};

/* An input or an initializer. */
static enum ox_status leaf(struct printing *p, const struct ox_value *value)
{
    struct ox_prints *out = p->out;
    const struct ox_graph *graph = value->graph;
    if (value->producer || out->strong[value->id])
        return OX_OK;
    if (value->init) {
        out->constant[value->id] = true;
        if (!out->content[value->id])
            OX_TRY(stored_print(graph->model, value->init, &out->content[value->id], p->err));
        out->strong[value->id] = out->content[value->id];
    } else if (value->is_input) {
        size_t place = 0;
        for (size_t i = 0; i < graph->n_inputs && graph->inputs[i] != value; i++)
            place += !graph->inputs[i]->init;
        out->strong[value->id] = mix(0x11 + place);
    }
    out->weak[value->id] = value->init ? 1 : out->strong[value->id];
    if (!out->strong[value->id])
        out->strong[value->id] = 1;
    return OX_OK;
}

/* Elements of a constant that tell a layer from others; it may be stored quantized, or in another type or layout. */
static size_t weight_size(const struct ox_value *value)
{
    enum { LEAST = 64, MOST_STEPS = 4 };
    size_t n;
    for (int i = 0; i < MOST_STEPS && value->producer && value->producer->n_inputs &&
                    value->producer->inputs[0];
         i++)
        value = value->producer->inputs[0];
    const struct ox_stored *stored = value->init;
    if (!stored || !ox_dims_count(stored->rank, stored->dims, &n))
        return 0;
    return n >= LEAST ? n : 0;
}

struct node_prints {
    uint64_t strong, weak, constants, anchor;
    bool constant;
};

/* Attributes and constant inputs add up, others are taken in order. */
static enum ox_status print_node(struct printing *p, const struct ox_step *step,
                                 struct node_prints *n)
{
    const struct ox_node *node = step->node;
    const struct ox_prints *out = p->out;
    size_t largest = 0;
    uint64_t op = text_print(family(node));
    *n = (struct node_prints){.strong = op, .weak = op};
    n->constant = !step->schema || !step->schema->non_deterministic;
    for (size_t i = 0; i < node->n_inputs; i++) {
        const struct ox_value *in = node->inputs[i];
        if (!in)
            continue;
        OX_TRY(leaf(p, in));
        if (out->constant[in->id]) {
            size_t size = weight_size(in);
            n->constants += out->content[in->id] ? out->content[in->id] : out->strong[in->id];
            if (size > largest) {
                largest = size;
                n->anchor = mix(op + out->content[in->id]);
            }
            continue;
        }
        n->constant = false;
        n->strong = mix(n->strong * 31 + out->strong[in->id]);
        n->weak = mix(n->weak * 31 + out->weak[in->id]);
    }
    for (size_t i = 0; i < node->n_attrs; i++) {
        uint64_t print = 0;
        if (is_default(step->schema, &node->attrs[i]))
            continue;
        OX_TRY(attr_print(node->graph->model, &node->attrs[i], &print, p->err));
        n->constants += print;
    }
    return OX_OK;
}

/* The value that a node hands on keeps what it is known by. */
static void hand_on(struct printing *p, const struct ox_node *node, const struct ox_value *through,
                    const struct ox_value *value, uint64_t constants)
{
    struct ox_prints *out = p->out;
    bool same = strcmp(node->op_type, "Identity") == 0 || strcmp(node->op_type, "Dropout") == 0 ||
                strcmp(node->op_type, "Cast") == 0;
    out->constant[value->id] = out->constant[through->id];
    out->weak[value->id] = out->weak[through->id];
    out->anchor[value->id] = out->anchor[through->id];
    out->strong[value->id] =
        same ? out->strong[through->id] : mix(out->strong[through->id] + constants);
    out->passed_on[through->id] = true;
}

static enum ox_status wire_node(struct printing *p, const struct ox_step *step)
{
    const struct ox_node *node = step->node;
    struct ox_prints *out = p->out;
    struct node_prints n;
    bool stored = strcmp(node->op_type, "Constant") == 0;
    if (stored && node->n_outputs && out->content[node->outputs[0]->id]) {
        out->strong[node->outputs[0]->id] = out->content[node->outputs[0]->id];
        return OX_OK;
    }
    OX_TRY(print_node(p, step, &n));
    const struct ox_value *through = passes(node, out->constant);
    for (size_t k = 0; k < node->n_outputs; k++) {
        const struct ox_value *value = node->outputs[k];
        if (!value)
            continue;
        if (through && k == 0) {
            hand_on(p, node, through, value, n.constants);
        } else {
            out->constant[value->id] = n.constant && (node->n_inputs || stored);
            out->weak[value->id] = mix(n.weak + k);
            out->strong[value->id] = stored ? n.constants : mix(n.strong + n.constants + k);
            out->anchor[value->id] = n.constant || !n.anchor ? 0 : mix(n.anchor + k);
        }
        if (stored)
            out->content[value->id] = n.constants;
        if (p->matched && p->matched[value->id])
            out->strong[value->id] = out->weak[value->id] = p->matched[value->id];
    }
    return OX_OK;
}

enum ox_status ox_prints_wire(struct ox_prints *prints, const struct ox_session *session,
                              const uint64_t *matched, struct ox_error *err)
{
    const struct ox_plan *plan = session->main;
    size_t n = plan->graph->n_values + 1;
    struct printing p = {prints, session, matched, err};
    memset(prints->strong, 0, n * sizeof *prints->strong);
    for (size_t i = 0; i < plan->n_steps; i++)
        OX_TRY(wire_node(&p, &plan->steps[i]));
    return OX_OK;
}

enum ox_status ox_prints_make(struct ox_prints *prints, const struct ox_session *session,
                              struct ox_error *err)
{
    size_t n = session->main->graph->n_values + 1;
    prints->content = calloc(n, sizeof *prints->content);
    prints->strong = calloc(n, sizeof *prints->strong);
    prints->weak = calloc(n, sizeof *prints->weak);
    prints->anchor = calloc(n, sizeof *prints->anchor);
    prints->constant = calloc(n, sizeof *prints->constant);
    prints->passed_on = calloc(n, sizeof *prints->passed_on);
    if (!prints->content || !prints->strong || !prints->weak || !prints->anchor ||
        !prints->constant || !prints->passed_on)
        return ox_no_memory(err);
    OX_TRY(ox_prints_wire(prints, session, NULL, err));
    return evaluate_all(prints, session, err);
}

const struct ox_value *ox_prints_source(const struct ox_prints *prints,
                                        const struct ox_value *value)
{
    const struct ox_value *from;
    while (value->producer && (from = passes(value->producer, prints->constant)))
        value = from;
    const struct ox_node *node = value->producer;
    const struct ox_value *source = NULL;
    for (size_t i = 0; node && i < node->n_inputs; i++) {
        const struct ox_value *in = node->inputs[i];
        if (!in || prints->constant[in->id])
            continue;
        if (source)
            return NULL;
        source = in;
    }
    return source;
}

void ox_prints_release(struct ox_prints *prints)
{
    free(prints->content);
    free(prints->strong);
    free(prints->weak);
    free(prints->anchor);
    free(prints->constant);
    free(prints->passed_on);
}
