/* Attributes that became inputs, and back where the input is a constant. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/convert/convert_adapters.h"

/* ---- Lists of integers -------------------------------------------------------------------------------------------- */

static bool ints_to_input(struct ox_adapt *c, const char *name, size_t input)
{
    int64_t values[OX_ADAPT_RANK];
    size_t n;
    bool found;
    if (!ox_adapt_int_list(c, name, values, &n, &found))
        return false;
    if (!found)
        return true;
    struct ox_value *value = ox_adapt_const_ints(c, values, n);
    ox_adapt_drop(c, name);
    return value && ox_adapt_set_input(c, input, value);
}

static bool input_to_ints(struct ox_adapt *c, size_t input, const char *name)
{
    int64_t values[OX_ADAPT_RANK];
    size_t n;
    if (!ox_adapt_input(c, input))
        return true;
    if (!ox_adapt_known_ints(c, input, values, &n))
        return false;
    ox_adapt_cut_inputs(c, input);
    return ox_adapt_set_ints(c, name, values, n);
}

bool ox_up_axes(struct ox_adapt *c)
{
    return ints_to_input(c, "axes", 1);
}

bool ox_down_axes(struct ox_adapt *c)
{
    return input_to_ints(c, 1, "axes");
}

bool ox_up_reduce(struct ox_adapt *c)
{
    return ints_to_input(c, "axes", 1);
}

/* With nothing to reduce over, what the operator does to each element. */
static bool reduce_nothing(struct ox_adapt *c)
{
    const char *name = c->node->op_type;
    if (strcmp(name, "ReduceL1") == 0 || strcmp(name, "ReduceL2") == 0)
        return ox_adapt_replace(c, "(x) => (y) { y = Abs(x) }");
    if (strcmp(name, "ReduceSumSquare") == 0)
        return ox_adapt_replace(c, "(x) => (y) { y = Mul(x, x) }");
    if (strcmp(name, "ReduceLogSum") == 0)
        return ox_adapt_replace(c, "(x) => (y) { y = Log(x) }");
    return ox_adapt_replace(c, "(x) => (y) { y = Identity(x) }");
}

bool ox_down_reduce(struct ox_adapt *c)
{
    int64_t axes[OX_ADAPT_RANK], noop;
    size_t n = 0;
    if (!ox_adapt_int(c, "noop_with_empty_axes", 0, &noop))
        return false;
    if (ox_adapt_input(c, 1) && !ox_adapt_known_ints(c, 1, axes, &n))
        return false;
    if (!n && noop)
        return reduce_nothing(c);
    ox_adapt_drop(c, "noop_with_empty_axes");
    ox_adapt_cut_inputs(c, 1);
    return !n || ox_adapt_set_ints(c, "axes", axes, n);
}

/* ---- Slice -------------------------------------------------------------------------------------------------------- */

bool ox_up_slice(struct ox_adapt *c)
{
    return ints_to_input(c, "starts", 1) && ints_to_input(c, "ends", 2) &&
           ints_to_input(c, "axes", 3);
}

/* Steps other than 1 pick by index; the size along the axis must be known. */
static bool pick_by_step(struct ox_adapt *c, int64_t axis, int64_t start, int64_t end, int64_t step)
{
    int rank;
    if (!ox_adapt_need_rank(c, 0, &rank))
        return false;
    axis += axis < 0 ? rank : 0;
    int64_t size = axis >= 0 ? ox_adapt_dim(c, ox_adapt_input(c, 0), (int)axis) : -1;
    enum { MOST = 1 << 20 };
    if (size < 0 || size > MOST || step == 0)
        return ox_adapt_block(c, "opset %lld has no steps, and the size of axis %lld is not known",
                              (long long)c->next, (long long)axis);
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    start += start < 0 ? size : 0;
    end += end < 0 && end >= -size ? size : 0;
    start = start < low ? low : start > high ? high : start;
    end = end < low ? low : end > high ? high : end;
    int64_t *indices = malloc(sizeof *indices * (size_t)(size + 1));
    size_t n = 0;
    if (!indices)
        return ox_adapt_no_memory(c);
    for (int64_t i = start; step > 0 ? i < end : i > end; i += step) {
        indices[n++] = i;
        if (step > size || step < -size)
            break;
    }
    struct ox_value *in[2] = {c->node->inputs[0], ox_adapt_const_ints(c, indices, n)};
    free(indices);
    struct ox_node *gather = in[1] ? ox_adapt_add(c, "Gather", in, 2) : NULL;
    if (!gather || !ox_node_set_int(gather, "axis", axis))
        return ox_adapt_no_memory(c);
    c->node->inputs[0] = gather->outputs[0];
    return true;
}

bool ox_down_slice(struct ox_adapt *c)
{
    int64_t starts[OX_ADAPT_RANK], ends[OX_ADAPT_RANK], axes[OX_ADAPT_RANK], steps[OX_ADAPT_RANK];
    size_t n, n_ends, n_axes, n_steps, kept = 0;
    if (!ox_adapt_known_ints(c, 1, starts, &n) || !ox_adapt_known_ints(c, 2, ends, &n_ends))
        return false;
    for (size_t i = 0; i < n; i++) {
        axes[i] = (int64_t)i;
        steps[i] = 1;
    }
    n_axes = n_steps = n;
    if (ox_adapt_input(c, 3) && !ox_adapt_known_ints(c, 3, axes, &n_axes))
        return false;
    if (ox_adapt_input(c, 4) && !ox_adapt_known_ints(c, 4, steps, &n_steps))
        return false;
    if (n_ends != n || n_axes != n || n_steps != n)
        return ox_adapt_block(c, "starts, ends, axes and steps differ in length");
    /* An axis may be counted from the back only since version 11 of other operators: here where it is easy. */
    int rank = ox_adapt_rank(c, ox_adapt_input(c, 0));
    for (size_t i = 0; i < n; i++) {
        if (steps[i] != 1) {
            if (!pick_by_step(c, axes[i], starts[i], ends[i], steps[i]))
                return false;
            continue;
        }
        starts[kept] = starts[i];
        ends[kept] = ends[i];
        axes[kept++] = axes[i] < 0 && rank >= 0 ? axes[i] + rank : axes[i];
    }
    if (!kept) {
        starts[kept] = axes[kept] = 0;
        ends[kept++] = INT64_MAX;
    }
    ox_adapt_cut_inputs(c, 1);
    return ox_adapt_set_ints(c, "starts", starts, kept) &&
           ox_adapt_set_ints(c, "ends", ends, kept) && ox_adapt_set_ints(c, "axes", axes, kept);
}

/* ---- Pad ---------------------------------------------------------------------------------------------------------- */

bool ox_up_pad_names(struct ox_adapt *c)
{
    int64_t pads[OX_ADAPT_RANK];
    size_t n;
    bool found;
    if (!ox_adapt_int_list(c, "paddings", pads, &n, &found))
        return false;
    ox_adapt_drop(c, "paddings");
    return !found || ox_adapt_set_ints(c, "pads", pads, n);
}

bool ox_up_pad(struct ox_adapt *c)
{
    float value;
    enum ox_dtype dtype;
    if (!ox_adapt_float(c, "value", 0, &value) || !ints_to_input(c, "pads", 1))
        return false;
    ox_adapt_drop(c, "value");
    if (value == 0)
        return true;
    if (!ox_adapt_need_dtype(c, 0, &dtype))
        return false;
    struct ox_value *constant = ox_adapt_const_number(c, dtype, 0, (double)value);
    return constant && ox_adapt_set_input(c, 2, constant);
}

bool ox_down_pad(struct ox_adapt *c)
{
    double value = 0;
    if (ox_adapt_input(c, 2) && !ox_adapt_known_double(c, 2, &value))
        return false;
    if ((double)(float)value != value && !isnan(value))
        return ox_adapt_block(c, "the value %.17g is no float32, which opset %lld needs", value,
                              (long long)c->next);
    ox_adapt_cut_inputs(c, 2);
    return input_to_ints(c, 1, "pads") &&
           (value == 0 || ox_node_set_float(c->node, "value", (float)value) ||
            ox_adapt_no_memory(c));
}

/* Pads of some axes become pads of all. */
bool ox_down_pad_axes(struct ox_adapt *c)
{
    int64_t axes[OX_ADAPT_RANK], pads[OX_ADAPT_RANK], all[2 * OX_ADAPT_RANK] = {0};
    int64_t places[2 * OX_ADAPT_RANK];
    size_t n, n_pads;
    int rank;
    if (!ox_adapt_input(c, 3))
        return true;
    if (!ox_adapt_known_ints(c, 3, axes, &n) || !ox_adapt_need_rank(c, 0, &rank))
        return false;
    for (size_t i = 0; i < n; i++) {
        axes[i] += axes[i] < 0 ? rank : 0;
        if (axes[i] < 0 || axes[i] >= rank)
            return ox_adapt_block(c, "axis %lld is outside", (long long)axes[i]);
        places[i] = axes[i];
        places[n + i] = axes[i] + rank;
    }
    const struct ox_tensor *known = ox_adapt_known(c, ox_adapt_input(c, 1));
    struct ox_value *value;
    if (known) {
        if (!ox_adapt_known_ints(c, 1, pads, &n_pads) || n_pads != 2 * n)
            return ox_adapt_block(c, "pads and axes do not fit each other");
        for (size_t i = 0; i < 2 * n; i++)
            all[places[i]] = pads[i];
        value = ox_adapt_const_ints(c, all, 2 * (size_t)rank);
    } else {
        struct ox_value *in[3] = {ox_adapt_const_ints(c, all, 2 * (size_t)rank),
                                  ox_adapt_const_ints(c, places, 2 * n), c->node->inputs[1]};
        struct ox_node *scatter = in[0] && in[1] ? ox_adapt_add(c, "ScatterElements", in, 3) : NULL;
        value = scatter ? scatter->outputs[0] : NULL;
    }
    ox_adapt_cut_inputs(c, 3);
    return value && ox_adapt_set_input(c, 1, value);
}

/* ---- Clip --------------------------------------------------------------------------------------------------------- */

bool ox_down_pad_names(struct ox_adapt *c)
{
    int64_t pads[OX_ADAPT_RANK];
    size_t n;
    bool found;
    if (!ox_adapt_int_list(c, "pads", pads, &n, &found))
        return false;
    ox_adapt_drop(c, "pads");
    return !found || ox_adapt_set_ints(c, "paddings", pads, n);
}

bool ox_up_clip(struct ox_adapt *c)
{
    float bounds[2];
    static const char *const names[2] = {"min", "max"};
    enum ox_dtype dtype;
    if (!ox_adapt_need_dtype(c, 0, &dtype))
        return false;
    for (size_t i = 0; i < 2; i++) {
        bool given = ox_adapt_has(c, names[i]);
        if (!ox_adapt_float(c, names[i], i ? FLT_MAX : -FLT_MAX, &bounds[i]))
            return false;
        ox_adapt_drop(c, names[i]);
        /* The default of version 6 clips infinities to the largest number, where the type has it. */
        if ((!given && (dtype == OX_FLOAT16 || c->from->since < 6)) || isinf(bounds[i]))
            continue;
        struct ox_value *bound = ox_adapt_const_number(c, dtype, 0, (double)bounds[i]);
        if (!bound || !ox_adapt_set_input(c, 1 + i, bound))
            return false;
    }
    return true;
}

static bool is_float32(struct ox_adapt *c, size_t i, double *value)
{
    const struct ox_tensor *tensor = ox_adapt_known(c, ox_adapt_input(c, i));
    if (!tensor || tensor->n != 1 || tensor->dtype == OX_STRING)
        return false;
    *value = ox_tensor_get_double(tensor, 0);
    return (double)(float)*value == *value;
}

bool ox_down_clip(struct ox_adapt *c)
{
    double low = -INFINITY, high = INFINITY;
    bool has_low = ox_adapt_input(c, 1) != NULL, has_high = ox_adapt_input(c, 2) != NULL;
    if ((!has_low || is_float32(c, 1, &low)) && (!has_high || is_float32(c, 2, &high))) {
        ox_adapt_cut_inputs(c, 1);
        return (ox_node_set_float(c->node, "min", (float)low) &&
                ox_node_set_float(c->node, "max", (float)high)) ||
               ox_adapt_no_memory(c);
    }
    if (has_low && has_high)
        return ox_adapt_replace(c, "(x, a, b) => (y) { t = Max(x, a) y = Min(t, b) }");
    return has_low ? ox_adapt_replace(c, "(x, a) => (y) { y = Max(x, a) }")
                   : ox_adapt_replace(c, "(x, a, b) => (y) { y = Min(x, b) }");
}

/* ---- Split -------------------------------------------------------------------------------------------------------- */

bool ox_up_split_attr(struct ox_adapt *c)
{
    return input_to_ints(c, 1, "split");
}

bool ox_up_split(struct ox_adapt *c)
{
    return ints_to_input(c, "split", 1);
}

bool ox_down_split(struct ox_adapt *c)
{
    return input_to_ints(c, 1, "split");
}

bool ox_up_split_count(struct ox_adapt *c)
{
    return ox_adapt_input(c, 1) || ox_adapt_set_int(c, "num_outputs", (int64_t)c->node->n_outputs);
}

static struct ox_value *combine(struct ox_adapt *c, const char *op_type, struct ox_value *a,
                                struct ox_value *b)
{
    struct ox_value *in[2] = {a, b};
    struct ox_node *node = a && b ? ox_adapt_add(c, op_type, in, 2) : NULL;
    return node ? node->outputs[0] : NULL;
}

/* Parts of a size that only running tells: all of the size rounded up but for what is left. */
static bool parts_at_run_time(struct ox_adapt *c, int64_t axis, int64_t count)
{
    int64_t places[OX_ADAPT_RANK], less = count - 1, none = 0;
    for (int64_t i = 0; i < count; i++)
        places[i] = i;
    struct ox_node *shape = ox_adapt_add(c, "Shape", c->node->inputs, 1);
    struct ox_value *size =
        combine(c, "Gather", shape ? shape->outputs[0] : NULL, ox_adapt_const_ints(c, &axis, 1));
    struct ox_value *part =
        combine(c, "Div", combine(c, "Add", size, ox_adapt_const_ints(c, &less, 1)),
                ox_adapt_const_ints(c, &count, 1));
    struct ox_value *before =
        combine(c, "Mul", ox_adapt_const_ints(c, places, (size_t)count), part);
    struct ox_value *left =
        combine(c, "Max", combine(c, "Sub", size, before), ox_adapt_const_ints(c, &none, 1));
    struct ox_value *sizes = combine(c, "Min", left, part);
    return sizes && ox_adapt_set_input(c, 1, sizes);
}

bool ox_down_split_count(struct ox_adapt *c)
{
    int64_t axis, count, sizes[OX_ADAPT_RANK];
    int rank = ox_adapt_rank(c, ox_adapt_input(c, 0));
    if (ox_adapt_input(c, 1))
        return true;
    if (!ox_adapt_int(c, "axis", 0, &axis) ||
        !ox_adapt_int(c, "num_outputs", (int64_t)c->node->n_outputs, &count))
        return false;
    ox_adapt_drop(c, "num_outputs");
    axis += axis < 0 && rank >= 0 ? rank : 0;
    int64_t size = axis >= 0 ? ox_adapt_dim(c, ox_adapt_input(c, 0), (int)axis) : -1;
    if (count < 1 || count > OX_ADAPT_RANK)
        return ox_adapt_block(c, "%lld parts are too many", (long long)count);
    if (size < 0)
        return parts_at_run_time(c, axis, count);
    if (size % count == 0)
        return true;
    int64_t part = (size + count - 1) / count;
    for (int64_t i = 0; i < count; i++) {
        int64_t left = size - i * part;
        sizes[i] = left < 0 ? 0 : left < part ? left : part;
    }
    struct ox_value *value = ox_adapt_const_ints(c, sizes, (size_t)count);
    return value && ox_adapt_set_input(c, 1, value);
}

/* ---- Dropout, TopK, Upsample, Tile, Reshape, DFT ------------------------------------------------------------------ */

bool ox_up_dropout_ratio(struct ox_adapt *c)
{
    float ratio;
    if (!ox_adapt_has(c, "ratio"))
        return true;
    if (!ox_adapt_float(c, "ratio", 0.5f, &ratio))
        return false;
    ox_adapt_drop(c, "ratio");
    struct ox_value *value = ox_adapt_const_number(c, OX_FLOAT32, 0, (double)ratio);
    return value && ox_adapt_set_input(c, 1, value);
}

bool ox_down_dropout_ratio(struct ox_adapt *c)
{
    double ratio, training = 0;
    if (ox_adapt_input(c, 2) && !ox_adapt_known_double(c, 2, &training))
        return false;
    if (training != 0)
        return ox_adapt_block(c, "it is in training mode, which opset %lld has not",
                              (long long)c->next);
    bool known = ox_adapt_input(c, 1) && ox_adapt_known_double(c, 1, &ratio);
    ox_adapt_drop(c, "seed");
    ox_adapt_cut_inputs(c, 1);
    return !known || ox_node_set_float(c->node, "ratio", (float)ratio) || ox_adapt_no_memory(c);
}

bool ox_up_topk(struct ox_adapt *c)
{
    int64_t k;
    if (!ox_adapt_int(c, "k", -1, &k))
        return false;
    ox_adapt_drop(c, "k");
    struct ox_value *value = ox_adapt_const_ints(c, &k, 1);
    return value && ox_adapt_set_input(c, 1, value);
}

bool ox_down_topk(struct ox_adapt *c)
{
    int64_t k[OX_ADAPT_RANK], axis;
    size_t n;
    int rank = ox_adapt_rank(c, ox_adapt_input(c, 0));
    if (!ox_adapt_known_ints(c, 1, k, &n) || !ox_adapt_int(c, "axis", -1, &axis))
        return false;
    if (n != 1)
        return ox_adapt_block(c, "k has %zu elements", n);
    ox_adapt_cut_inputs(c, 1);
    if (axis < -1 && rank >= 0 && !ox_adapt_set_int(c, "axis", axis + rank))
        return false;
    return ox_adapt_set_int(c, "k", k[0]);
}

bool ox_up_upsample_scales(struct ox_adapt *c)
{
    float height, width;
    if (!ox_adapt_float(c, "height_scale", 1, &height) ||
        !ox_adapt_float(c, "width_scale", 1, &width))
        return false;
    float scales[4] = {1, 1, height, width};
    ox_adapt_drop(c, "height_scale");
    ox_adapt_drop(c, "width_scale");
    if (ox_adapt_is(c, "mode", "bilinear") && !ox_adapt_set_string(c, "mode", "linear"))
        return false;
    float *kept = ox_arena_copy(&c->model->arena, scales, sizeof scales);
    struct ox_attr *attr = kept ? ox_node_add_attr(c->node, "scales", OX_ATTR_FLOATS) : NULL;
    if (!attr)
        return ox_adapt_no_memory(c);
    attr->floats = kept;
    attr->n = 4;
    return true;
}

bool ox_up_upsample(struct ox_adapt *c)
{
    const struct ox_attr *attr = ox_node_attr(c->node, "scales");
    if (!attr || attr->ref || attr->type != OX_ATTR_FLOATS)
        return ox_adapt_block(c, "it has no scales");
    struct ox_tensor *tensor;
    int64_t n = (int64_t)attr->n;
    c->status = ox_tensor_new(&tensor, ox_env_budget(c->model->env), OX_FLOAT32, 1, &n, c->err);
    if (c->status != OX_OK)
        return false;
    memcpy(tensor->data, attr->floats, attr->n * sizeof(float));
    struct ox_value *value = ox_adapt_const(c, tensor);
    ox_tensor_release(tensor);
    ox_adapt_drop(c, "scales");
    return value && ox_adapt_set_input(c, 1, value);
}

bool ox_down_upsample(struct ox_adapt *c)
{
    const struct ox_tensor *scales = ox_adapt_known(c, ox_adapt_input(c, 1));
    if (!scales || scales->dtype != OX_FLOAT32)
        return ox_adapt_block(c,
                              "input 'scales' is no constant, and opset %lld has it as an "
                              "attribute",
                              (long long)c->next);
    float *kept = ox_arena_copy(&c->model->arena, scales->data, scales->n * sizeof *kept);
    size_t n = scales->n;
    ox_adapt_cut_inputs(c, 1);
    struct ox_attr *attr = kept ? ox_node_add_attr(c->node, "scales", OX_ATTR_FLOATS) : NULL;
    if (!attr)
        return ox_adapt_no_memory(c);
    attr->floats = kept;
    attr->n = n;
    return true;
}

bool ox_up_tile(struct ox_adapt *c)
{
    double tiles, axis;
    int rank;
    int64_t repeats[OX_ADAPT_RANK];
    if (!ox_adapt_known_double(c, 1, &tiles) || !ox_adapt_known_double(c, 2, &axis) ||
        !ox_adapt_need_rank(c, 0, &rank))
        return false;
    for (int i = 0; i < rank; i++)
        repeats[i] = (double)i == axis ? (int64_t)tiles : 1;
    ox_adapt_cut_inputs(c, 1);
    struct ox_value *value = ox_adapt_const_ints(c, repeats, (size_t)rank);
    return value && ox_adapt_set_input(c, 1, value);
}

bool ox_up_reshape(struct ox_adapt *c)
{
    return ints_to_input(c, "shape", 1);
}

bool ox_down_reshape(struct ox_adapt *c)
{
    return input_to_ints(c, 1, "shape");
}

bool ox_up_dft(struct ox_adapt *c)
{
    int64_t axis;
    if (!ox_adapt_int(c, "axis", 1, &axis))
        return false;
    ox_adapt_drop(c, "axis");
    struct ox_tensor *tensor;
    c->status = ox_tensor_new(&tensor, ox_env_budget(c->model->env), OX_INT64, 0, NULL, c->err);
    if (c->status != OX_OK)
        return false;
    *(int64_t *)tensor->data = axis;
    struct ox_value *value = ox_adapt_const(c, tensor);
    ox_tensor_release(tensor);
    return value && ox_adapt_set_input(c, 2, value);
}

bool ox_down_dft(struct ox_adapt *c)
{
    double axis = -2;
    int rank;
    if (ox_adapt_input(c, 2) && !ox_adapt_known_double(c, 2, &axis))
        return false;
    if (axis < 0) {
        if (!ox_adapt_need_rank(c, 0, &rank))
            return false;
        axis += rank;
    }
    ox_adapt_cut_inputs(c, 2);
    return ox_adapt_set_int(c, "axis", (int64_t)axis);
}

bool ox_down_upsample_scales(struct ox_adapt *c)
{
    const struct ox_attr *attr = ox_node_attr(c->node, "scales");
    if (!attr || attr->ref || attr->type != OX_ATTR_FLOATS || attr->n != 4 ||
        attr->floats[0] != 1 || attr->floats[1] != 1)
        return ox_adapt_block(c, "opset %lld scales the height and the width of images only",
                              (long long)c->next);
    const float height = attr->floats[2], width = attr->floats[3];
    if (ox_adapt_is(c, "mode", "linear") && !ox_adapt_set_string(c, "mode", "bilinear"))
        return false;
    ox_adapt_drop(c, "scales");
    return (ox_node_set_float(c->node, "height_scale", height) &&
            ox_node_set_float(c->node, "width_scale", width)) ||
           ox_adapt_no_memory(c);
}

/* An axis at a time; how often and which are of the data's own type. */
bool ox_down_tile(struct ox_adapt *c)
{
    int64_t repeats[OX_ADAPT_RANK];
    size_t n, last = 0;
    enum ox_dtype dtype;
    if (!ox_adapt_need_dtype(c, 0, &dtype) || !ox_adapt_known_ints(c, 1, repeats, &n))
        return false;
    for (size_t i = 0; i < n; i++)
        last = repeats[i] != 1 ? i : last;
    for (size_t i = 0; i < last; i++) {
        if (repeats[i] == 1)
            continue;
        struct ox_value *in[3] = {ox_adapt_input(c, 0),
                                  ox_adapt_const_number(c, dtype, 1, (double)repeats[i]),
                                  ox_adapt_const_number(c, dtype, 1, (double)i)};
        struct ox_node *node = in[1] && in[2] ? ox_adapt_add(c, "Tile", in, 3) : NULL;
        if (!node || !ox_adapt_set_input(c, 0, node->outputs[0]))
            return false;
    }
    struct ox_value *tiles = ox_adapt_const_number(c, dtype, 1, n ? (double)repeats[last] : 1);
    struct ox_value *axis = ox_adapt_const_number(c, dtype, 1, (double)last);
    return tiles && axis && ox_adapt_set_input(c, 1, tiles) && ox_adapt_set_input(c, 2, axis);
}
