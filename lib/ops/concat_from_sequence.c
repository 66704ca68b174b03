/* ConcatFromSequence: the items of a sequence joined along an axis, or stacked along a new one. */
#include <inttypes.h>
#include <string.h>

#include "ops/carry.h"
#include "ops/sequence.h"
#include "ops/sequence_items.h"

static void infer_concat_from_sequence(struct ox_infer *c)
{
    const struct ox_type *item = ox_sequence_item(c, 0);
    bool stack = ox_infer_int_attr(c, "new_axis", 0) != 0;
    unsigned axis, at = 0;

    if (!item || item->kind != OX_TYPE_TENSOR)
        return;
    ox_infer_set_dtype(c, 0, item->elem);
    if (!item->has_rank)
        return;
    unsigned rank = item->rank + (stack ? 1 : 0);
    const struct ox_expr **out = ox_infer_dims(c, rank);

    if (!out || !ox_infer_axis(c, ox_infer_int_attr(c, "axis", 0), rank, &axis))
        return;
    for (unsigned i = 0; i < rank; i++)
        out[i] = i == axis ? NULL : item->dims[stack ? at++ : i];
    out[axis] = ox_items_join(c, stack, axis);
    if (!out[axis])
        out[axis] = ox_infer_data_dim(c, "length");
    ox_infer_set_shape(c, 0, rank, out);
}

/* All items have one type and shape, but for `axis` when they are joined along it. */
static enum ox_status check_items(const struct ox_run *r, const struct ox_datum *in, bool stack,
                                  unsigned axis, int64_t *total, struct ox_error *err)
{
    const struct ox_tensor *first = in->items[0]->tensor;

    *total = stack ? (int64_t)in->n_items : 0;
    for (size_t i = 0; i < in->n_items; i++) {
        const struct ox_tensor *item = in->items[i]->tensor;

        if (!item || item->dtype != first->dtype || item->rank != first->rank)
            return ox_run_fail(r, err, OX_INPUT, "item %zu has another type or rank than item 0",
                               i);
        for (unsigned k = 0; k < item->rank; k++) {
            if (item->dims[k] != first->dims[k] && (stack || k != axis))
                return ox_run_fail(r, err, OX_INPUT,
                                   "dimension %u of item %zu is %" PRId64 ", of item 0 %" PRId64, k,
                                   i, item->dims[k], first->dims[k]);
        }
        if (!stack && OX_ADD_OVERFLOWS(*total, item->dims[axis], total))
            return ox_run_fail(r, err, OX_INPUT, "too many elements along axis %u", axis);
    }
    return OX_OK;
}

static enum ox_status run_concat_from_sequence(struct ox_run *r, struct ox_error *err)
{
    bool stack = ox_run_int(r, "new_axis", 0) != 0;
    int64_t dims[OX_MOVE_RANK], total = 0;
    const struct ox_datum *in = NULL;
    size_t outer = 1, at = 0;
    struct ox_tensor *out;
    unsigned axis, from = 0;

    OX_TRY(ox_sequence_in(r, 0, &in, err));
    if (in->n_items == 0 || !in->items[0]->tensor)
        return ox_run_fail(r, err, OX_INPUT, "the sequence is empty");
    const struct ox_tensor *first = in->items[0]->tensor;
    unsigned rank = first->rank + (stack ? 1 : 0);

    OX_TRY(ox_move_rank(r, rank, err));
    OX_TRY(ox_run_axis(r, ox_run_int(r, "axis", 0), rank, &axis, err));
    OX_TRY(check_items(r, in, stack, axis, &total, err));
    for (unsigned i = 0; i < rank; i++)
        dims[i] = stack && i == axis ? total : first->dims[from++];
    dims[axis] = total;
    OX_TRY(ox_run_out(r, 0, first->dtype, rank, dims, &out, err));
    if (out->n == 0)
        return OX_OK;
    for (unsigned i = 0; i < axis; i++)
        outer *= (size_t)dims[i];
    size_t size = ox_dtype_size(out->dtype), row = out->n / outer * size;

    for (size_t i = 0; i < in->n_items; i++) {
        const struct ox_tensor *item = in->items[i]->tensor;
        size_t part = item->n / outer * size;

        for (size_t k = 0; k < outer && part > 0; k++)
            memcpy((char *)out->data + k * row + at, (const char *)item->data + k * part, part);
        at += part;
    }
    return ox_move_own(out, err);
}

#define ANY (OX_OP_HALF | OX_OP_ANY_KIND)

const struct ox_op ox_ops_concat_from_sequence[] = {{"", "ConcatFromSequence", 11, ANY,
                                                     .infer = infer_concat_from_sequence,
                                                     .run = run_concat_from_sequence},
                                                    {0}};
