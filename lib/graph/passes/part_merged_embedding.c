/* EmbedLayerNormalization and its form of 8-bit tables: rows of tables added up and normalized. */
#include "graph/passes/part_merged.h"

/* The first rows of a table, as many as a sentence of the batch has tokens. */
static struct ox_value *first_rows(const struct ox_parts *p, struct ox_value *table,
                                   struct ox_value *ids)
{
    static const int64_t zero = 0, one = 1;
    struct ox_value *sizes[] = {ox_part_value(p, "Shape", &ids, 1, NULL),
                                ox_rw_ints(p->rw, "axis", 1, &one)};
    struct ox_value *cut[] = {table, ox_rw_ints(p->rw, "start", 1, &zero),
                              sizes[0] && sizes[1] ? ox_part_value(p, "Gather", sizes, 2, NULL)
                                                   : NULL,
                              ox_rw_ints(p->rw, "axes", 1, &zero)};
    return cut[1] && cut[2] && cut[3] ? ox_part_value(p, "Slice", cut, 4, NULL) : NULL;
}

/* The rows of a table. Of one of codes, with a scale and a zero point: they become numbers once they are picked. */
struct table {
    struct ox_value *rows, *scale, *zero;
};

static bool read_table(const struct ox_parts *p, size_t rows, size_t scale, size_t zero,
                       struct table *t)
{
    *t = (struct table){.rows = ox_input(p->node, rows)};
    if (!scale)
        return true;
    t->scale = ox_input(p->node, scale);
    t->zero = ox_input(p->node, zero);
    return !t->rows || (t->scale && t->zero && ox_rank_of(p->rw, t->scale) == 0 &&
                        ox_rank_of(p->rw, t->zero) == 0);
}

static struct ox_value *to_numbers(const struct ox_parts *p, const struct table *t,
                                   struct ox_value *codes, const struct ox_type *type)
{
    struct ox_value *in[] = {codes, t->scale, t->zero};
    return t->scale && codes ? ox_part_value(p, "DequantizeLinear", in, 3, type) : codes;
}

static struct ox_value *picked(const struct ox_parts *p, const struct table *t,
                               struct ox_value *ids)
{
    struct ox_value *in[] = {t->rows, ids}, *y = p->node->outputs[0];
    const struct ox_expr *dims[3];
    for (unsigned d = 0; d < 3; d++)
        dims[d] = ox_dim_expr(p->rw, y, (int)d);
    const struct ox_type *type =
        ox_rw_tensor_type(p->rw, ox_dtype_of_value(p->rw, t->rows), 3, dims);
    return to_numbers(p, t, ox_part_value(p, "Gather", in, 2, type), p->type);
}

/* gamma or beta. */
static struct ox_value *row_of(const struct ox_parts *p, const struct table *t)
{
    const struct ox_expr *n = t->rows ? ox_dim_expr(p->rw, t->rows, 0) : NULL;
    return t->rows ? to_numbers(p, t, t->rows, ox_rw_tensor_type(p->rw, OX_FLOAT32, 1, &n)) : NULL;
}

static struct ox_value *to_int32(const struct ox_parts *p, struct ox_value *x,
                                 const struct ox_type *type)
{
    struct ox_node *cast = x ? ox_part(p, "Cast", "", &x, 1, type) : NULL;
    if (!cast)
        return NULL;
    p->rw->failed |= !ox_node_set_int(cast, "to", OX_INT32);
    return cast->outputs[0];
}

enum { AXES_ARE_INPUT = 13 /* of ReduceSum, from that opset on */ };

/* How many places of each row the mask keeps. */
static struct ox_node *mask_count(const struct ox_parts *p, struct ox_value *mask)
{
    static const int64_t one = 1;
    struct ox_rewrite *rw = p->rw;
    const struct ox_expr *dims[] = {ox_dim_expr(rw, mask, 0), ox_dim_expr(rw, mask, 1)};
    struct ox_value *kept[] = {mask, to_int32(p, ox_rw_ints(rw, "kept", 1, &one), NULL)};
    if (!kept[1])
        return NULL;
    struct ox_value *is_kept =
        ox_part_value(p, "Equal", kept, 2, ox_rw_tensor_type(rw, OX_BOOL, 2, dims));
    struct ox_value *in[] = {to_int32(p, is_kept, ox_rw_tensor_type(rw, OX_INT32, 2, dims)), NULL};
    const bool is_input = ox_graph_opset(p->node->graph, "") >= AXES_ARE_INPUT;
    if (is_input)
        in[1] = ox_rw_ints(rw, "axis", 1, &one);
    struct ox_node *sum = in[0] && (in[1] || !is_input)
                              ? ox_part(p, "ReduceSum", "", in, is_input ? 2 : 1,
                                        ox_rw_tensor_type(rw, OX_INT32, 1, dims))
                              : NULL;
    if (sum)
        rw->failed |= !ox_node_set_int(sum, "keepdims", 0) ||
                      (!is_input && !ox_node_set_ints(sum, "axes", &one, 1));
    return sum;
}

struct embedding {
    struct table words, places, segments, scale, shift;
    struct ox_value *ids, *segment_ids, *place_ids;
};

/* Whether there is a table whose rows are as wide as the result's. */
static bool is_table(struct ox_rewrite *rw, const struct table *t, const struct ox_value *y)
{
    const struct ox_expr *width = ox_dim_expr(rw, y, -1);
    return t->rows && width && ox_rank_of(rw, t->rows) == 2 && ox_dim_expr(rw, t->rows, 1) == width;
}

static void part_embedding(const struct ox_parts *p, const struct embedding *e)
{
    enum { MASK_INDEX = 1, SUM, MASK = 7 };
    struct ox_rewrite *rw = p->rw;
    struct ox_value *y = p->node->outputs[0], *mask = ox_input(p->node, MASK), *index = NULL;
    if (!ox_part_are_unused(p, MASK_INDEX, SUM)) {
        index = p->node->outputs[MASK_INDEX];
        if (!mask || ox_rank_of(rw, mask) != 2 || ox_dtype_of_value(rw, mask) != OX_INT32)
            return;
    }
    if (ox_rank_of(rw, e->ids) != 2 || !is_table(rw, &e->words, y) ||
        !is_table(rw, &e->places, y) || (e->segment_ids && !is_table(rw, &e->segments, y)) ||
        !e->scale.rows || !ox_part_is_row(rw, e->scale.rows, y) ||
        (e->shift.rows && !ox_part_is_row(rw, e->shift.rows, y)))
        return;
    struct ox_value *at =
        e->place_ids ? picked(p, &e->places, e->place_ids)
                     : to_numbers(p, &e->places, first_rows(p, e->places.rows, e->ids), NULL);
    struct ox_value *v = ox_part_pair(p, "Add", picked(p, &e->words, e->ids), at);
    if (e->segment_ids)
        v = ox_part_pair(p, "Add", v, picked(p, &e->segments, e->segment_ids));
    struct ox_node *count = index ? mask_count(p, mask) : NULL;
    ox_part_end_in_norm(p, true, v, row_of(p, &e->scale), row_of(p, &e->shift), SUM);
    if (count)
        ox_rw_set_output(rw, count, 0, index);
}

void ox_part_embedding(const struct ox_parts *p)
{
    const struct ox_node *node = p->node;
    struct embedding e = {
        .ids = node->inputs[0], .segment_ids = ox_input(node, 1), .place_ids = ox_input(node, 8)};
    if (read_table(p, 2, 0, 0, &e.words) && read_table(p, 3, 0, 0, &e.places) &&
        read_table(p, 4, 0, 0, &e.segments) && read_table(p, 5, 0, 0, &e.scale) &&
        read_table(p, 6, 0, 0, &e.shift))
        part_embedding(p, &e);
}

void ox_part_embedding_codes(const struct ox_parts *p)
{
    struct embedding e = {.ids = p->node->inputs[0], .segment_ids = ox_input(p->node, 1)};
    if (read_table(p, 2, 8, 13, &e.words) && read_table(p, 3, 9, 14, &e.places) &&
        read_table(p, 4, 10, 15, &e.segments) && read_table(p, 5, 11, 16, &e.scale) &&
        read_table(p, 6, 12, 17, &e.shift))
        part_embedding(p, &e);
}
