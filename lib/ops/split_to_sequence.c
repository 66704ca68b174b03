/* SplitToSequence: parts of a tensor along an axis. */
#include <inttypes.h>
#include <string.h>

#include "ops/carry.h"
#include "ops/sequence.h"
#include "ops/sequence_items.h"

/* The parts, where the lengths of all are known. */
static void split_items(struct ox_infer *c, unsigned axis, bool drop, int64_t dim)
{
    const int64_t *given = NULL;
    size_t n_given = 0;
    unsigned rank = 0;
    int64_t part = 1, sum = 0;

    if (ox_infer_has(c, 1) &&
        (!ox_infer_shape(c, 1, &rank, NULL) || !ox_infer_ints(c, 1, &n_given, &given)))
        return;
    if (given && rank == 0 && n_given == 1)
        part = given[0];
    if (given && rank == 1) {
        for (size_t i = 0; i < n_given; i++) {
            if (given[i] < 0 || given[i] > dim - sum)
                return;
            sum += given[i];
        }
        if (sum == dim)
            ox_items_split(c, axis, drop, n_given, given);
        return;
    }
    if (part < 1 || dim / part >= OX_ITEMS_MOST)
        return;
    int64_t lengths[OX_ITEMS_MOST];
    size_t n = 0;
    for (; sum < dim; sum += part)
        lengths[n++] = dim - sum < part ? dim - sum : part;
    ox_items_split(c, axis, drop, n, lengths);
}

static void infer_split_to_sequence(struct ox_infer *c)
{
    const struct ox_expr *const *in, **out;
    unsigned rank, axis, split_rank, n = 0;
    bool given = ox_infer_has(c, 1);
    bool drop = !given && ox_infer_int_attr(c, "keepdims", 1) == 0;
    int64_t dim;
    const int64_t *parts;
    size_t n_parts;

    if (!ox_infer_shape(c, 0, &rank, &in)) {
        ox_sequence_infer(c, ox_infer_make_tensor(c, ox_infer_dtype(c, 0), false, 0, NULL));
        return;
    }
    out = ox_infer_dims(c, rank);
    if (!out || !ox_infer_axis(c, ox_infer_int_attr(c, "axis", 0), rank, &axis))
        return;
    const struct ox_expr *length = given ? NULL : ox_infer_num(c, 1);

    if (given && ox_infer_shape(c, 1, &split_rank, NULL) && ox_infer_ints(c, 1, &n_parts, &parts)) {
        if (split_rank == 1)
            ox_carry_check_parts(c, n_parts, parts, in[axis]);
        else if (split_rank == 0 && n_parts == 1 && parts[0] < 1)
            ox_infer_conflict(c, "split is %" PRId64 ", not at least 1", parts[0]);
        else if (split_rank == 0 && n_parts == 1 && ox_infer_is_num(in[axis], &dim) &&
                 dim % parts[0] == 0)
            length = ox_infer_num(c, parts[0]);
    }
    for (unsigned i = 0; i < rank; i++) {
        if (i != axis)
            out[n++] = in[i];
        else if (!drop)
            out[n++] = length;
    }
    ox_sequence_infer(c, ox_infer_make_tensor(c, ox_infer_dtype(c, 0), true, n, out));
    if (ox_infer_is_num(in[axis], &dim))
        split_items(c, axis, drop, dim);
}

/* The lengths of the parts: a list, equal parts of a length, or ones. */
static enum ox_status part_lengths(struct ox_run *r, int64_t dim, const int64_t **lengths,
                                   size_t *n, struct ox_error *err)
{
    const struct ox_tensor *split = ox_run_in(r, 1);
    int64_t sum = 0, part = 1;

    if (split && split->rank > 0) {
        OX_TRY(ox_move_list(r, 1, lengths, n, err));
        for (size_t i = 0; i < *n; i++) {
            if ((*lengths)[i] < 0 || OX_ADD_OVERFLOWS(sum, (*lengths)[i], &sum))
                return ox_run_fail(r, err, OX_INPUT, "split[%zu] is %" PRId64, i, (*lengths)[i]);
        }
        if (sum != dim)
            return ox_run_fail(r, err, OX_INPUT,
                               "the lengths sum to %" PRId64 ", the axis has %" PRId64 " elements",
                               sum, dim);
        return OX_OK;
    }
    OX_TRY(ox_move_int(r, 1, "split", &part, err));
    if (part <= 0)
        return ox_run_fail(r, err, OX_INPUT, "split is %" PRId64, part);
    *n = (size_t)(dim / part + (dim % part != 0));
    int64_t *made = ox_run_scratch(r, *n + 1, sizeof(*made), err);

    if (!made)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < *n; i++)
        made[i] = (int64_t)i + 1 < (int64_t)*n || dim % part == 0 ? part : dim % part;
    *lengths = made;
    return OX_OK;
}

/* One part: `length` elements of the axis from `start`. */
static enum ox_status make_part(struct ox_run *r, const struct ox_tensor *in, unsigned axis,
                                bool drop, int64_t start, int64_t length, struct ox_datum **item,
                                struct ox_error *err)
{
    int64_t dims[OX_MOVE_RANK];
    unsigned rank = 0;
    size_t outer = 1, size = ox_dtype_size(in->dtype);
    struct ox_tensor *part;

    for (unsigned i = 0; i < in->rank; i++) {
        if (i != axis || !drop)
            dims[rank++] = i == axis ? length : in->dims[i];
        outer *= i < axis ? (size_t)in->dims[i] : 1;
    }
    OX_TRY(ox_tensor_new(&part, ox_env_budget(r->env), in->dtype, rank, dims, err));
    if (part->n > 0) {
        size_t row = in->n / outer * size, bytes = part->n / outer * size;
        size_t at = row / (size_t)in->dims[axis] * (size_t)start;

        for (size_t k = 0; k < outer; k++)
            memcpy((char *)part->data + k * bytes, (const char *)in->data + k * row + at, bytes);
    }
    enum ox_status status = ox_move_own(part, err);

    if (status == OX_OK)
        status = ox_datum_of_tensor(item, part, err);
    ox_tensor_release(part);
    return status;
}

static enum ox_status run_split_to_sequence(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    bool drop = !ox_run_has(r, 1) && ox_run_int(r, "keepdims", 1) == 0;
    const int64_t *lengths = NULL;
    size_t n = 0, made = 0;
    int64_t start = 0;
    unsigned axis;
    enum ox_status status = OX_OK;

    OX_TRY(ox_move_rank(r, in->rank, err));
    OX_TRY(ox_run_axis(r, ox_run_int(r, "axis", 0), in->rank, &axis, err));
    OX_TRY(part_lengths(r, in->dims[axis], &lengths, &n, err));
    struct ox_datum **items = ox_run_scratch(r, n + 1, sizeof(*items), err);

    if (!items)
        return OX_NO_MEMORY;
    for (; made < n && status == OX_OK; made += status == OX_OK) {
        status = make_part(r, in, axis, drop, start, lengths[made], &items[made], err);
        start += lengths[made];
    }
    if (status == OX_OK)
        status = ox_sequence_out(r, in->dtype, items, n, err);
    for (size_t i = 0; i < made; i++)
        ox_datum_release(items[i]);
    return status;
}

#define ANY (OX_OP_HALF | OX_OP_ANY_KIND)

const struct ox_op ox_ops_split_to_sequence[] = {{"", "SplitToSequence", 11, ANY,
                                                  .infer = infer_split_to_sequence,
                                                  .run = run_split_to_sequence},
                                                 {0}};
