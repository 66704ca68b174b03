/* Evidence in conventions: what frameworks do alike but for one detail. */
#include <math.h>
#include <string.h>

#include "parity/causes.h"

/* ---- Epsilon ------------------------------------------------------------------------------------------------------- */

/* The scalar that a region adds, as decomposed normalizations do; 0: none that is as small as an epsilon. */
static enum ox_status find_epsilon(struct ox_explaining *e, bool of_a, double *epsilon,
                                   struct ox_error *err)
{
    const struct ox_region *region = of_a ? &e->a : &e->b;
    *epsilon = 0;
    for (size_t i = 0; i < region->n_nodes && *epsilon == 0; i++) {
        const struct ox_node *node = region->nodes[i];
        for (size_t k = 0; strcmp(node->op_type, "Add") == 0 && k < node->n_inputs; k++) {
            struct ox_tensor *t = NULL;
            if (node->inputs[k])
                OX_TRY(ox_explain_constant(e, of_a, node->inputs[k], &t, err));
            const double value =
                t && t->n == 1 && ox_dtype_is_float(t->dtype) ? ox_tensor_get_double(t, 0) : 0;
            ox_tensor_release(t);
            if (value > 0 && value < 0.01)
                *epsilon = value;
        }
    }
    return OX_OK;
}

/* One side has a normalization whole, the other in parts. */
static enum ox_status compare_epsilons(struct ox_explaining *e, bool whole_a, struct ox_error *err)
{
    const struct ox_region *whole = whole_a ? &e->a : &e->b, *parts = whole_a ? &e->b : &e->a;
    double other;
    for (size_t i = 0; i < whole->n_nodes; i++) {
        const struct ox_node *node = whole->nodes[i];
        const struct ox_attr *attr = ox_node_attr(node, "epsilon");
        const struct ox_schema *schema = ox_explain_schema(node);
        const struct ox_schema_attr *usual = schema ? ox_schema_attr(schema, "epsilon") : NULL;
        if (!usual || ox_region_find(parts, node->op_type))
            continue;
        const double epsilon = (double)(attr ? attr->f : usual->f);
        OX_TRY(find_epsilon(e, !whole_a, &other, err));
        if (other != 0 && fabs(other - epsilon) > 1e-3 * epsilon)
            ox_cause_add(e->causes, 90, "epsilon", "epsilon of %s is %.6g in %s; %s adds %.6g",
                         node->op_type, epsilon, whole_a ? "A" : "B", whole_a ? "B" : "A", other);
    }
    return OX_OK;
}

/* Where a region has its epsilon: added to the variance, or to the deviation. */
static const struct ox_node *deviation(const struct ox_region *region, bool *under)
{
    const struct ox_node *root = ox_region_find(region, "Sqrt");
    const struct ox_node *add = ox_region_find(region, "Add");
    if (!root || !add || ox_region_count(region, "Sqrt") > 1)
        return NULL;
    for (size_t k = 0; k < add->n_inputs; k++)
        if (add->inputs[k] && add->inputs[k]->producer == root) {
            *under = false;
            return add;
        }
    *under = root->n_inputs && root->inputs[0] && root->inputs[0]->producer == add;
    return *under ? add : NULL;
}

static enum ox_status compare_roots(struct ox_explaining *e, struct ox_error *err)
{
    bool under_a = false, under_b = false;
    double a, b;
    if (!deviation(&e->a, &under_a) || !deviation(&e->b, &under_b) || under_a == under_b)
        return OX_OK;
    OX_TRY(find_epsilon(e, true, &a, err));
    OX_TRY(find_epsilon(e, false, &b, err));
    ox_cause_add(e->causes, 92, "epsilon",
                 "A adds its epsilon %s the square root (%.6g), B %s (%.6g)",
                 under_a ? "under" : "behind", a, under_b ? "under it" : "behind it", b);
    return OX_OK;
}

/* ---- Training ------------------------------------------------------------------------------------------------------ */

/* Batch norm that takes the batch's own mean: what an exporter leaves when the model was not set to evaluation. */
bool ox_explain_is_training(const struct ox_region *region)
{
    const struct ox_node *node = ox_region_find(region, "BatchNormalization");
    const struct ox_attr *mode = node ? ox_node_attr(node, "training_mode") : NULL;
    return node &&
           ((mode && mode->i) || (ox_graph_opset(node->graph, "") < 14 && node->n_outputs > 1));
}

static void compare_training(struct ox_explaining *e)
{
    bool a = ox_explain_is_training(&e->a), b = ox_explain_is_training(&e->b);
    if (a != b)
        ox_cause_add(e->causes, 91, "training-mode",
                     "%s's BatchNormalization normalizes by this batch's mean and variance: the "
                     "model was exported in training mode",
                     a ? "A" : "B");
}

/* The element of a constant scalar; otherwise: it is none. */
static enum ox_status scalar(struct ox_explaining *e, bool of_a, const struct ox_node *node,
                             size_t i, double otherwise, double *out, struct ox_error *err)
{
    struct ox_tensor *t = NULL;
    *out = otherwise;
    if (i >= node->n_inputs || !node->inputs[i])
        return OX_OK;
    OX_TRY(ox_explain_constant(e, of_a, node->inputs[i], &t, err));
    if (t && t->n == 1 && t->dtype != OX_STRING)
        *out = ox_tensor_get_double(t, 0);
    ox_tensor_release(t);
    return OX_OK;
}

enum ox_status ox_explain_dropout(struct ox_explaining *e, struct ox_error *err)
{
    const struct ox_node *nodes[2] = {ox_region_find(&e->a, "Dropout"),
                                      ox_region_find(&e->b, "Dropout")};
    double drops[2] = {0, 0};
    for (int k = 0; k < 2; k++)
        if (nodes[k] && ox_explain_is_old_training(nodes[k]))
            drops[k] = 1;
        else if (nodes[k])
            OX_TRY(scalar(e, k == 0, nodes[k], 2, 0, &drops[k], err));
    for (int k = 0; k < 2; k++)
        if (drops[k] != 0)
            ox_cause_add(e->causes, drops[1 - k] == 0 ? 94 : 90, "training-mode",
                         "%s's Dropout drops elements at random: %s",
                         !e->a.n_nodes ? "the model"
                         : k           ? "B"
                                       : "A",
                         ox_explain_is_old_training(nodes[k])
                             ? "before opset 7 it does unless is_test is 1"
                             : "the model was exported in training mode");
    return OX_OK;
}

static bool is_all(const struct ox_tensor *t, double value)
{
    for (size_t i = 0; i < t->n; i++)
        if (ox_tensor_get_double(t, i) != value)
            return false;
    return t->n > 0;
}

/* What a batch norm begins with, before it has seen anything. */
static enum ox_status is_untrained(struct ox_explaining *e, bool of_a, bool *untrained,
                                   struct ox_error *err)
{
    const struct ox_node *node = ox_region_find(of_a ? &e->a : &e->b, "BatchNormalization");
    bool begins[2] = {false, false};
    for (size_t k = 0; node && k < 2 && node->n_inputs > 4; k++) {
        struct ox_tensor *t = NULL;
        if (node->inputs[3 + k])
            OX_TRY(ox_explain_constant(e, of_a, node->inputs[3 + k], &t, err));
        begins[k] = t && ox_dtype_is_float(t->dtype) && is_all(t, (double)k);
        ox_tensor_release(t);
    }
    *untrained = begins[0] && begins[1];
    return OX_OK;
}

static enum ox_status compare_statistics(struct ox_explaining *e, struct ox_error *err)
{
    bool a, b;
    OX_TRY(is_untrained(e, true, &a, err));
    OX_TRY(is_untrained(e, false, &b, err));
    if (a != b)
        ox_cause_add(e->causes, 93, "statistics",
                     "%s's BatchNormalization has mean 0 and variance 1 everywhere: its statistics "
                     "were never gathered, or got lost",
                     a ? "A" : "B");
    return OX_OK;
}

/* ---- All ----------------------------------------------------------------------------------------------------------- */

enum ox_status ox_explain_conventions(struct ox_explaining *e, struct ox_error *err)
{
    OX_TRY(compare_epsilons(e, true, err));
    OX_TRY(compare_epsilons(e, false, err));
    OX_TRY(compare_roots(e, err));
    compare_training(e);
    OX_TRY(ox_explain_dropout(e, err));
    return compare_statistics(e, err);
}
