/* The classical operators of ai.onnx.ml. */
#include <string.h>

#include "graph/convert/convert_adapters.h"

static bool rename_attr(struct ox_adapt *c, const char *from, const char *to)
{
    struct ox_attr *attr = (struct ox_attr *)(uintptr_t)ox_node_attr(c->node, from);
    if (!attr)
        return true;
    attr->name = ox_arena_strdup(&c->model->arena, to);
    attr->proto = NULL;
    return attr->name || ox_adapt_no_memory(c);
}

static bool number_classes(struct ox_adapt *c, const char *name, size_t n)
{
    int64_t *numbers = ox_arena_array(&c->model->arena, n ? n : 1, sizeof *numbers);
    for (size_t i = 0; numbers && i < n; i++)
        numbers[i] = (int64_t)i;
    return (numbers && ox_node_set_ints(c->node, name, numbers, n)) || ox_adapt_no_memory(c);
}

/* Version 1 numbers a list of strings; which way tells the type of the input. */
bool ox_up_label_encoder(struct ox_adapt *c)
{
    const struct ox_attr *classes = ox_node_attr(c->node, "classes_strings");
    enum ox_dtype dtype;
    if (!classes || classes->ref || classes->type != OX_ATTR_STRINGS)
        return ox_adapt_block(c, "it has no classes_strings");
    if (!ox_adapt_need_dtype(c, 0, &dtype))
        return false;
    bool strings = dtype == OX_STRING;
    ox_adapt_drop(c, strings ? "default_string" : "default_int64");
    return number_classes(c, strings ? "values_int64s" : "keys_int64s", classes->n) &&
           rename_attr(c, "classes_strings", strings ? "keys_strings" : "values_strings");
}

bool ox_down_label_encoder(struct ox_adapt *c)
{
    bool strings = ox_adapt_has(c, "keys_strings");
    const char *numbers = strings ? "values_int64s" : "keys_int64s";
    const struct ox_attr *attr = ox_node_attr(c->node, numbers);
    const struct ox_attr *names =
        ox_node_attr(c->node, strings ? "keys_strings" : "values_strings");
    bool good = attr && names && !attr->ref && attr->type == OX_ATTR_INTS && names->n == attr->n;
    for (size_t i = 0; good && i < attr->n; i++)
        good = attr->ints[i] == (int64_t)i;
    if (!good)
        return ox_adapt_block(c, "version %lld numbers strings from 0 on alone",
                              (long long)c->next);
    ox_adapt_drop(c, numbers);
    return rename_attr(c, strings ? "keys_strings" : "values_strings", "classes_strings");
}

bool ox_down_label_tensors(struct ox_adapt *c)
{
    static const char *const names[] = {"keys_tensor", "values_tensor", "default_tensor"};
    for (size_t i = 0; i < OX_COUNT(names); i++) {
        if (ox_adapt_has(c, names[i]))
            return ox_adapt_block(c, "version %lld has no attribute '%s'", (long long)c->next,
                                  names[i]);
    }
    return true;
}

/* Doubles are not in floats; tensors of floats are lists of them. */
static bool tensor_to_list(struct ox_adapt *c, const char *from, const char *to)
{
    const struct ox_attr *attr = ox_node_attr(c->node, from);
    struct ox_tensor *tensor;
    if (!attr)
        return true;
    if (attr->ref || attr->type != OX_ATTR_TENSOR || !attr->n || attr->tensor->dtype != OX_FLOAT32)
        return ox_adapt_block(c, "version %lld has no attribute '%s', and it is not float32",
                              (long long)c->next, from);
    c->status = ox_stored_load(c->model, attr->tensor, &tensor, c->err);
    if (c->status != OX_OK)
        return false;
    size_t n = tensor->n;
    float *copy = ox_arena_copy(&c->model->arena, tensor->data, n * sizeof *copy);
    ox_tensor_release(tensor);
    ox_adapt_drop(c, from);
    struct ox_attr *list = copy ? ox_node_add_attr(c->node, to, OX_ATTR_FLOATS) : NULL;
    if (!list)
        return ox_adapt_no_memory(c);
    list->floats = copy;
    list->n = n;
    return true;
}

bool ox_down_tree_tensors(struct ox_adapt *c)
{
    return tensor_to_list(c, "base_values_as_tensor", "base_values") &&
           tensor_to_list(c, "nodes_hitrates_as_tensor", "nodes_hitrates") &&
           tensor_to_list(c, "nodes_values_as_tensor", "nodes_values") &&
           tensor_to_list(c, "class_weights_as_tensor", "class_weights") &&
           tensor_to_list(c, "target_weights_as_tensor", "target_weights");
}
