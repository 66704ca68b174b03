/* ScatterND whose tuples of indices are a grid that covers a box of its data, as exporters write y[..., a:b] = x: where the box is all
 * of the data the result is the updates, else they are copied into it row by row (WriteBox, ops/fused/fused_box.c). What computed the
 * indices, eight bytes for each axis of each element, is left without use. */
#include <string.h>

#include "graph/match.h"

enum { MOST_AXES = 12 };

/* The axes of the tuples, and what each of their components covers. */
struct box {
    unsigned axes, components;
    int64_t dims[MOST_AXES];
    int64_t starts[MOST_AXES], sizes[MOST_AXES];
    int next; /* axis that the next component may go along */
};

/* One component of all tuples: at data[sum of index times stride]. */
struct component {
    const int64_t *data;
    int64_t strides[MOST_AXES];
};

/* Whether the component grows by one a step along axis `along` (-1: along none) and is the same along all others. */
static bool is_run(const struct box *box, const struct component *c, int along)
{
    int64_t at[MOST_AXES] = {0};
    const int64_t *p = c->data;
    for (;;) {
        unsigned d = box->axes;
        if (*p != c->data[0] + (along < 0 ? 0 : at[along]))
            return false;
        while (d-- > 0) {
            if (c->strides[d] && ++at[d] < box->dims[d]) {
                p += c->strides[d];
                break;
            }
            p -= c->strides[d] ? (at[d] - 1) * c->strides[d] : 0;
            at[d] = 0;
        }
        if (d > box->axes)
            return true;
    }
}

/* Adds the next component. false: it is none of a box. */
static bool add_component(struct box *box, const struct component *c)
{
    int along = -1;
    for (unsigned d = 0; d < box->axes && along < 0; d++)
        if (box->dims[d] > 1 && c->strides[d] && c->data[c->strides[d]] != c->data[0])
            along = (int)d;
    if (along >= 0) {
        while (box->next < along && box->dims[box->next] == 1)
            box->next++;
        if (box->next != along)
            return false;
        box->next = along + 1;
    }
    box->starts[box->components] = c->data[0];
    box->sizes[box->components++] = along < 0 ? 1 : box->dims[along];
    return is_run(box, c, along);
}

/* Strides of a constant of these axes, the last ones of the box's, with `step` elements from one to the next; 0 where it is repeated. */
static bool lay_out(const struct box *box, const struct ox_tensor *tensor, unsigned rank,
                    int64_t step, struct component *c)
{
    if (tensor->dtype != OX_INT64 || rank > box->axes || tensor->n == 0)
        return false;
    *c = (struct component){.data = tensor->data};
    for (unsigned i = rank; i-- > 0;) {
        const unsigned d = box->axes - rank + i;
        if (tensor->dims[i] != 1 && tensor->dims[i] != box->dims[d])
            return false;
        c->strides[d] = tensor->dims[i] == 1 ? 0 : step;
        step *= tensor->dims[i];
    }
    return true;
}

/* Whether a value's last axes but `behind` are those of the tuples. */
static bool has_axes(struct ox_rewrite *rw, const struct box *box, const struct ox_value *value,
                     unsigned behind)
{
    if (ox_rank_of(rw, value) != (int)(box->axes + behind))
        return false;
    for (unsigned d = 0; d < box->axes; d++)
        if (ox_dim_of(rw, value, (int)d) != box->dims[d])
            return false;
    return true;
}

/* A component that Concat takes: a constant, or one that Expand repeats. */
static bool read_part(struct ox_rewrite *rw, struct box *box, struct ox_value *part)
{
    struct component c;
    const struct ox_tensor *tensor = part ? ox_rw_const(rw, part) : NULL;
    if (!part || box->components == MOST_AXES || !has_axes(rw, box, part, 1) ||
        ox_dim_of(rw, part, -1) != 1)
        return false;
    if (tensor)
        return lay_out(box, tensor, box->axes, 1, &c) && add_component(box, &c);
    const struct ox_node *shaped = ox_made_by(rw, part, "Unsqueeze", false);
    shaped = shaped ? shaped : ox_made_by(rw, part, "Reshape", false);
    const struct ox_node *expand = shaped && has_axes(rw, box, ox_input(shaped, 0), 0)
                                       ? ox_made_by(rw, ox_input(shaped, 0), "Expand", false)
                                       : NULL;
    tensor = expand && ox_input(expand, 0) ? ox_rw_known(rw, ox_input(expand, 0)) : NULL;
    return tensor && lay_out(box, tensor, tensor->rank, 1, &c) && add_component(box, &c);
}

static bool read_stored(const struct ox_tensor *indices, struct box *box)
{
    const int64_t k = indices->dims[box->axes];
    struct component c;
    if (k < 1 || k > MOST_AXES || !lay_out(box, indices, box->axes, k, &c))
        return false;
    for (int64_t i = 0; i < k; i++, c.data++)
        if (!add_component(box, &c))
            return false;
    return true;
}

static bool read_indices(struct ox_rewrite *rw, struct ox_value *indices, struct box *box)
{
    const int rank = indices ? ox_rank_of(rw, indices) : -1;
    if (rank < 1 || rank > MOST_AXES)
        return false;
    *box = (struct box){.axes = (unsigned)rank - 1};
    for (unsigned d = 0; d < box->axes; d++)
        if ((box->dims[d] = ox_dim_of(rw, indices, (int)d)) < 1)
            return false;
    const struct ox_tensor *tensor = ox_rw_const(rw, indices);
    const struct ox_node *concat = ox_made_by(rw, indices, "Concat", false);
    if (tensor && !read_stored(tensor, box))
        return false;
    if (!tensor && (!concat || (ox_attr_int(concat, "axis", 0) != -1 &&
                                ox_attr_int(concat, "axis", 0) != rank - 1)))
        return false;
    for (size_t i = 0; !tensor && i < concat->n_inputs; i++)
        if (!read_part(rw, box, concat->inputs[i]))
            return false;
    while (box->next < (int)box->axes && box->dims[box->next] == 1)
        box->next++;
    return box->next == (int)box->axes;
}

/* Whether the box lies in the data, which has known sizes, and the updates fill it. *whole: it is all of the data. */
static bool fits(struct ox_rewrite *rw, struct box *box, const struct ox_value *data,
                 const struct ox_value *updates, bool *whole)
{
    const int rank = ox_rank_of(rw, data), tail = rank - (int)box->components;
    if (tail < 0 || ox_rank_of(rw, updates) != (int)box->axes + tail)
        return false;
    *whole = true;
    for (unsigned m = 0; m < box->components; m++) {
        const int64_t dim = ox_dim_of(rw, data, (int)m);
        if (dim >= 0 && box->starts[m] < 0)
            box->starts[m] += dim;
        if (dim < 1 || box->starts[m] < 0 || box->starts[m] > dim - box->sizes[m])
            return false;
        *whole &= box->sizes[m] == dim;
    }
    for (int d = 0; d < (int)box->axes + tail; d++) {
        const int64_t want = d < (int)box->axes
                                 ? box->dims[d]
                                 : ox_dim_of(rw, data, d - (int)box->axes + (int)box->components);
        if (want < 1 || ox_dim_of(rw, updates, d) != want)
            return false;
    }
    return true;
}

/* The updates in the shape of the data that they are all of. */
static void become_updates(struct ox_rewrite *rw, struct ox_node *node, struct ox_value *data,
                           struct ox_value *updates)
{
    if (ox_same_shape(rw, data, updates) && ox_rw_bypass(rw, node, updates))
        return;
    int64_t dims[2 * MOST_AXES];
    const int rank = ox_rank_of(rw, data);
    if (rank > (int)OX_COUNT(dims))
        return;
    for (int d = 0; d < rank; d++)
        dims[d] = ox_dim_of(rw, data, d);
    struct ox_value *shape = ox_rw_ints(rw, node->outputs[0]->name, (size_t)rank, dims);
    if (!shape)
        return;
    ox_rw_clear_attrs(rw, node);
    ox_rw_become(rw, node, "Reshape", "", (struct ox_value *[]){updates, shape}, 2);
}

static void look_at(struct ox_rewrite *rw, struct ox_node *node)
{
    struct ox_value *data = ox_input(node, 0), *updates = ox_input(node, 2);
    const char *reduction = ox_attr_string(node, "reduction", "none");
    struct box box;
    bool whole;
    if (!data || !updates || strcmp(reduction, "none") != 0 ||
        ox_dtype_size(ox_dtype_of_value(rw, data)) == 0 ||
        ox_dtype_of_value(rw, data) == OX_STRING ||
        ox_dtype_of_value(rw, updates) != ox_dtype_of_value(rw, data) ||
        !read_indices(rw, ox_input(node, 1), &box) || !fits(rw, &box, data, updates, &whole))
        return;
    if (whole) {
        become_updates(rw, node, data, updates);
        return;
    }
    if (!rw->to_run)
        return;
    ox_rw_clear_attrs(rw, node);
    ox_rw_become(rw, node, "WriteBox", OX_OWN_DOMAIN, (struct ox_value *[]){data, updates}, 2);
    rw->failed |= !ox_node_set_ints(node, "starts", box.starts, box.components) ||
                  !ox_node_set_ints(node, "sizes", box.sizes, box.components);
}

enum ox_status ox_pass_write_boxes(struct ox_rewrite *rw, struct ox_graph *graph,
                                   struct ox_error *err)
{
    return ox_rw_each(rw, graph, "ScatterND", look_at, err);
}
