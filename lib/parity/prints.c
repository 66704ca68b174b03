/* Fingerprints: what a value is computed from, without names. They see through what exporters and optimizers do to a graph: other
 * names, folded constants, weights stored transposed, batch norm and biases put into the layer before, Q/DQ pairs and
 * casts put between, attributes that became inputs. */
#include <stdlib.h>
#include <string.h>

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

/* A sum over elements, each by its value in float32: any order and any layout gives the same. */
static uint64_t tensor_print(const struct ox_tensor *t)
{
    uint64_t sum = mix(t->n);
    if (t->dtype == OX_STRING) {
        const struct ox_str *s = t->data;
        for (size_t i = 0; i < t->n; i++)
            for (size_t k = 0; k < s[i].n; k++)
                sum += mix((unsigned char)s[i].p[k] + k * 257);
        return sum;
    }
    for (size_t at = 0; at < t->n; at += 512) {
        float values[512];
        size_t n = t->n - at < 512 ? t->n - at : 512;
        ox_elements_convert(OX_FLOAT32, values, t->dtype,
                            (const char *)t->data + at * ox_dtype_size(t->dtype), n, false);
        for (size_t i = 0; i < n; i++) {
            uint32_t bits;
            memcpy(&bits, &values[i], sizeof bits);
            sum += mix(bits << 1 ? bits : 0);
        }
    }
    return sum;
}

static enum ox_status stored_print(struct ox_model *model, const struct ox_stored *stored,
                                   uint64_t *print, struct ox_error *err)
{
    struct ox_tensor *tensor;
    OX_TRY(ox_stored_load(model, stored, &tensor, err));
    *print = tensor_print(tensor);
    ox_tensor_release(tensor);
    return OX_OK;
}

static uint64_t number_print(double value)
{
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return mix(bits << 1 ? bits : 0);
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

/* ---- Values -------------------------------------------------------------------------------------------------------- */

struct printing {
    struct ox_prints *out;
    const struct ox_session *session;
    struct ox_error *err;
};

/* An input, an initializer, or what the steps before have made. */
static enum ox_status leaf(struct printing *p, const struct ox_value *value)
{
    struct ox_prints *out = p->out;
    const struct ox_graph *graph = value->graph;
    if (out->strong[value->id] || value->producer)
        return OX_OK;
    if (value->init) {
        out->constant[value->id] = true;
        OX_TRY(stored_print(graph->model, value->init, &out->strong[value->id], p->err));
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

/* Attributes and constant inputs add up, others are taken in order. */
static enum ox_status node_prints(struct printing *p, const struct ox_step *step)
{
    const struct ox_node *node = step->node;
    struct ox_prints *out = p->out;
    const char *op = family(node);
    uint64_t strong = text_print(op), weak = strong, constants = 0;
    bool constant = !step->schema || !step->schema->non_deterministic;
    for (size_t i = 0; i < node->n_inputs; i++) {
        const struct ox_value *in = node->inputs[i];
        if (!in)
            continue;
        OX_TRY(leaf(p, in));
        if (out->constant[in->id]) {
            constants += out->strong[in->id];
            continue;
        }
        constant = false;
        strong = mix(strong * 31 + out->strong[in->id]);
        weak = mix(weak * 31 + out->weak[in->id]);
    }
    for (size_t i = 0; i < node->n_attrs; i++) {
        uint64_t print = 0;
        if (is_default(step->schema, &node->attrs[i]))
            continue;
        OX_TRY(attr_print(node->graph->model, &node->attrs[i], &print, p->err));
        constants += print;
    }
    const struct ox_value *through = passes(node, out->constant);
    for (size_t k = 0; k < node->n_outputs; k++) {
        const struct ox_value *value = node->outputs[k];
        if (!value)
            continue;
        if (through && k == 0) {
            out->constant[value->id] = out->constant[through->id];
            out->weak[value->id] = out->weak[through->id];
            bool same = strcmp(node->op_type, "Identity") == 0 ||
                        strcmp(node->op_type, "Dropout") == 0 || strcmp(node->op_type, "Cast") == 0;
            out->strong[value->id] =
                same ? out->strong[through->id] : mix(out->strong[through->id] + constants);
            out->passed_on[through->id] = true;
            continue;
        }
        bool is_constant = constant && (node->n_inputs || strcmp(op, "Constant") == 0);
        out->constant[value->id] = is_constant;
        out->weak[value->id] = mix(weak + k);
        out->strong[value->id] =
            strcmp(op, "Constant") == 0 ? constants : mix(strong + constants + k);
    }
    return OX_OK;
}

enum ox_status ox_prints_make(struct ox_prints *prints, const struct ox_session *session,
                              struct ox_error *err)
{
    const struct ox_plan *plan = session->main;
    size_t n = plan->graph->n_values + 1;
    prints->strong = calloc(n, sizeof *prints->strong);
    prints->weak = calloc(n, sizeof *prints->weak);
    prints->constant = calloc(n, sizeof *prints->constant);
    prints->passed_on = calloc(n, sizeof *prints->passed_on);
    if (!prints->strong || !prints->weak || !prints->constant || !prints->passed_on)
        return ox_fail(err, OX_NO_MEMORY, "out of memory");
    struct printing p = {prints, session, err};
    for (size_t i = 0; i < plan->n_steps; i++)
        OX_TRY(node_prints(&p, &plan->steps[i]));
    return OX_OK;
}

void ox_prints_release(struct ox_prints *prints)
{
    free(prints->strong);
    free(prints->weak);
    free(prints->constant);
    free(prints->passed_on);
}
