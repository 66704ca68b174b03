/* Sequences and optionals. Their items are shared, never copied. */
#include <inttypes.h>
#include <string.h>

#include "ops/carry.h"
#include "ops/rules.h"
#include "ops/sequence_items.h"

/* The sequence that input i is. */
static enum ox_status sequence_in(const struct ox_run *r, size_t i, const struct ox_datum **out,
                                  struct ox_error *err)
{
    const struct ox_datum *datum = ox_run_has(r, i) ? r->in[i] : NULL;

    if (datum && datum->kind == OX_DATUM_OPTIONAL && datum->n_items == 1)
        datum = datum->items[0];
    if (!datum || datum->kind != OX_DATUM_SEQUENCE)
        return ox_run_fail(r, err, OX_INPUT, "input %zu is no sequence", i);
    *out = datum;
    return OX_OK;
}

/* Output 0 is that datum, whose reference is given up. */
static enum ox_status hand_out(struct ox_run *r, struct ox_datum *datum, struct ox_error *err)
{
    enum ox_status status = ox_run_out_datum(r, 0, datum, err);

    ox_datum_release(datum);
    return status;
}

static enum ox_status sequence_out(struct ox_run *r, enum ox_dtype elem,
                                   struct ox_datum *const *items, size_t n, struct ox_error *err)
{
    struct ox_datum *out;

    OX_TRY(ox_datum_sequence(&out, elem, items, n, err));
    return hand_out(r, out, err);
}

/* Input `input` as a position among n, made non-negative; up to and with n where `past` is. */
static enum ox_status position_in(const struct ox_run *r, size_t input, size_t n, bool past,
                                  size_t *out, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, input);

    if (!in || in->n != 1)
        return ox_run_fail(r, err, OX_INPUT, "position is no scalar");
    int64_t at = ox_tensor_get_int(in, 0), length = (int64_t)n, most = past ? length : length - 1;

    if (at < -length || at > most)
        return ox_run_fail(r, err, OX_INPUT,
                           "position %" PRId64 " is outside [%" PRId64 ", %" PRId64 "]", at,
                           -length, most);
    *out = (size_t)(at < 0 ? at + length : at);
    return OX_OK;
}

static const struct ox_type *inner_type(const struct ox_infer *c, size_t i, enum ox_type_kind kind)
{
    const struct ox_type *type = ox_infer_type(c, i);

    return type && type->kind == kind ? type->inner : NULL;
}

static void set_sequence(struct ox_infer *c, const struct ox_type *item)
{
    const struct ox_type *type = item ? ox_infer_make_sequence(c, item) : NULL;

    if (type)
        ox_infer_set_type(c, 0, type);
}

/* ---- Making ---------------------------------------------------------------------------------------------------------- */

static void infer_sequence_construct(struct ox_infer *c)
{
    const struct ox_type *item = ox_infer_type(c, 0);

    for (size_t i = 1; i < ox_infer_n_in(c); i++) {
        const struct ox_type *other = ox_infer_type(c, i);

        item = other ? ox_items_common(c, item, other)
                     : ox_infer_make_tensor(c, item ? item->elem : OX_UNDEFINED, false, 0, NULL);
    }
    set_sequence(c, item);
    ox_items_construct(c);
}

static enum ox_status run_sequence_construct(struct ox_run *r, struct ox_error *err)
{
    enum ox_dtype elem = r->n_in > 0 && ox_run_in(r, 0) ? ox_run_in(r, 0)->dtype : OX_UNDEFINED;

    for (size_t i = 0; i < r->n_in; i++) {
        const struct ox_tensor *item = ox_run_in(r, i);

        if (!item || item->dtype != elem)
            return ox_run_fail(r, err, OX_INPUT, "input %zu is %s, not %s", i,
                               ox_dtype_name(item ? item->dtype : OX_UNDEFINED),
                               ox_dtype_name(elem));
    }
    return sequence_out(r, elem, r->in, r->n_in, err);
}

static void infer_sequence_empty(struct ox_infer *c)
{
    bool given = ox_infer_attr(c, "dtype") != NULL;
    enum ox_dtype dtype = given ? ox_rule_dtype_attr(c, "dtype") : OX_FLOAT32;

    if (dtype)
        set_sequence(c, ox_infer_make_tensor(c, dtype, false, 0, NULL));
    ox_infer_set_items(c, 0, 0, NULL);
}

/* What tensors of that type are in this run: in double precision where it asks for it. */
static enum ox_dtype dtype_here(const struct ox_run *r, enum ox_dtype dtype)
{
    bool wide = r->oracle && (dtype == OX_FLOAT32 || dtype == OX_FLOAT16 || dtype == OX_BFLOAT16);

    return wide ? OX_FLOAT64 : dtype;
}

static enum ox_status run_sequence_empty(struct ox_run *r, struct ox_error *err)
{
    int64_t dtype = ox_run_int(r, "dtype", OX_FLOAT32);

    if (dtype <= 0 || dtype >= OX_N_DTYPES)
        return ox_run_fail(r, err, OX_INPUT, "dtype is %" PRId64, dtype);
    return sequence_out(r, dtype_here(r, (enum ox_dtype)dtype), NULL, 0, err);
}

/* ---- Changing -------------------------------------------------------------------------------------------------------- */

static void infer_sequence_insert(struct ox_infer *c)
{
    const struct ox_type *have = inner_type(c, 0, OX_TYPE_SEQUENCE), *item = ox_infer_type(c, 1);

    if (have && item && have->kind == OX_TYPE_TENSOR && item->kind == OX_TYPE_TENSOR &&
        have->elem && item->elem && have->elem != item->elem)
        ox_infer_conflict(c, "a sequence of %s takes no %s", ox_dtype_name(have->elem),
                          ox_dtype_name(item->elem));
    const struct ox_type *of_all = ox_items_insert(c);
    if (!of_all)
        of_all = have && item ? ox_items_common(c, have, item) : have;
    set_sequence(c, of_all);
}

static enum ox_status run_sequence_insert(struct ox_run *r, struct ox_error *err)
{
    const struct ox_datum *in = NULL;
    const struct ox_tensor *item = ox_run_in(r, 1);
    size_t at;

    OX_TRY(sequence_in(r, 0, &in, err));
    at = in->n_items;
    if (ox_run_has(r, 2))
        OX_TRY(position_in(r, 2, in->n_items, true, &at, err));
    if (in->elem != OX_UNDEFINED && item->dtype != in->elem)
        return ox_run_fail(r, err, OX_INPUT, "a tensor of %s for a sequence of %s",
                           ox_dtype_name(item->dtype), ox_dtype_name(in->elem));
    struct ox_datum **items = ox_run_scratch(r, in->n_items + 1, sizeof(*items), err);

    if (!items)
        return OX_NO_MEMORY;
    for (size_t i = 0; i <= in->n_items; i++)
        items[i] = i < at ? in->items[i] : i == at ? r->in[1] : in->items[i - 1];
    return sequence_out(r, item->dtype, items, in->n_items + 1, err);
}

static void infer_sequence_erase(struct ox_infer *c)
{
    const struct ox_type *left = ox_items_erase(c);
    set_sequence(c, left ? left : inner_type(c, 0, OX_TYPE_SEQUENCE));
}

static enum ox_status run_sequence_erase(struct ox_run *r, struct ox_error *err)
{
    const struct ox_datum *in = NULL;
    size_t at, n = 0;

    OX_TRY(sequence_in(r, 0, &in, err));
    if (in->n_items == 0)
        return ox_run_fail(r, err, OX_INPUT, "the sequence is empty");
    at = in->n_items - 1;
    if (ox_run_has(r, 1))
        OX_TRY(position_in(r, 1, in->n_items, false, &at, err));
    struct ox_datum **items = ox_run_scratch(r, in->n_items, sizeof(*items), err);

    if (!items)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < in->n_items; i++) {
        if (i != at)
            items[n++] = in->items[i];
    }
    return sequence_out(r, in->elem, items, n, err);
}

/* ---- Reading --------------------------------------------------------------------------------------------------------- */

static void infer_sequence_at(struct ox_infer *c)
{
    const struct ox_type *item = inner_type(c, 0, OX_TYPE_SEQUENCE);
    const struct ox_infer_value *known = ox_items_at(c);

    if (known && known->type)
        ox_infer_set_value(c, 0, known);
    else if (item)
        ox_infer_set_type(c, 0, item);
}

static enum ox_status run_sequence_at(struct ox_run *r, struct ox_error *err)
{
    const struct ox_datum *in = NULL;
    size_t at = 0;

    OX_TRY(sequence_in(r, 0, &in, err));
    OX_TRY(position_in(r, 1, in->n_items, false, &at, err));
    return ox_run_out_datum(r, 0, in->items[at], err);
}

static void infer_sequence_length(struct ox_infer *c)
{
    const struct ox_infer_items *items = ox_infer_items(c, 0);

    ox_infer_set_dtype(c, 0, OX_INT64);
    ox_infer_set_shape(c, 0, 0, NULL);
    if (items)
        ox_infer_set_values(c, 0, 1,
                            (const struct ox_expr *[]){ox_infer_num(c, (int64_t)items->n)});
}

static enum ox_status run_sequence_length(struct ox_run *r, struct ox_error *err)
{
    const struct ox_datum *in = NULL;
    struct ox_tensor *out;

    OX_TRY(sequence_in(r, 0, &in, err));
    OX_TRY(ox_run_out(r, 0, OX_INT64, 0, NULL, &out, err));
    *(int64_t *)out->data = (int64_t)in->n_items;
    return OX_OK;
}

/* ---- ConcatFromSequence ------------------------------------------------------------------------------------------------ */

static void infer_concat_from_sequence(struct ox_infer *c)
{
    const struct ox_type *item = inner_type(c, 0, OX_TYPE_SEQUENCE);
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

    OX_TRY(sequence_in(r, 0, &in, err));
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

/* ---- SplitToSequence --------------------------------------------------------------------------------------------------- */

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
        set_sequence(c, ox_infer_make_tensor(c, ox_infer_dtype(c, 0), false, 0, NULL));
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
    set_sequence(c, ox_infer_make_tensor(c, ox_infer_dtype(c, 0), true, n, out));
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
        status = sequence_out(r, in->dtype, items, n, err);
    for (size_t i = 0; i < made; i++)
        ox_datum_release(items[i]);
    return status;
}

/* ---- Optionals --------------------------------------------------------------------------------------------------------- */

static void infer_optional(struct ox_infer *c)
{
    const struct ox_attr *attr = ox_infer_attr(c, "type");
    const struct ox_type *item = ox_infer_has(c, 0) ? ox_infer_type(c, 0) : NULL;

    if (!item && attr && attr->type == OX_ATTR_TYPE_PROTO)
        item = attr->types;
    if (!item)
        return;
    const struct ox_type *type = ox_infer_make_optional(c, item);

    if (type)
        ox_infer_set_type(c, 0, type);
}

/* The element type of the tensors at the bottom of a type. */
static enum ox_dtype bottom_elem(const struct ox_type *type)
{
    while (type && (type->kind == OX_TYPE_SEQUENCE || type->kind == OX_TYPE_OPTIONAL))
        type = type->inner;
    return type ? type->elem : OX_UNDEFINED;
}

static enum ox_status run_optional(struct ox_run *r, struct ox_error *err)
{
    struct ox_datum *in = ox_run_has(r, 0) ? r->in[0] : NULL, *out;
    const struct ox_attr *attr = ox_run_attr(r, "type");
    enum ox_dtype elem = OX_UNDEFINED;

    if (in)
        elem = in->tensor ? in->tensor->dtype : in->elem;
    else if (attr && attr->type == OX_ATTR_TYPE_PROTO)
        elem = dtype_here(r, bottom_elem(attr->types));
    else
        return ox_run_fail(r, err, OX_INPUT, "neither an input nor attribute 'type' is given");
    OX_TRY(ox_datum_optional(&out, elem, in, err));
    return hand_out(r, out, err);
}

static void infer_optional_get(struct ox_infer *c)
{
    const struct ox_type *type = ox_infer_type(c, 0);

    if (type && type->kind == OX_TYPE_OPTIONAL)
        type = type->inner;
    if (type)
        ox_infer_set_type(c, 0, type);
}

static enum ox_status run_optional_get(struct ox_run *r, struct ox_error *err)
{
    const struct ox_datum *in = r->in[0];

    if (in->kind != OX_DATUM_OPTIONAL)
        return ox_run_out_datum(r, 0, in, err);
    if (in->n_items == 0)
        return ox_run_fail(r, err, OX_INPUT, "the optional is empty");
    return ox_run_out_datum(r, 0, in->items[0], err);
}

static void infer_optional_has(struct ox_infer *c)
{
    const struct ox_type *type = ox_infer_type(c, 0);
    bool given = ox_infer_has(c, 0);

    ox_infer_set_dtype(c, 0, OX_BOOL);
    ox_infer_set_shape(c, 0, 0, NULL);
    if (!given || (type && type->kind != OX_TYPE_OPTIONAL))
        ox_infer_set_values(c, 0, 1, (const struct ox_expr *[]){ox_infer_num(c, given)});
}

static enum ox_status run_optional_has(struct ox_run *r, struct ox_error *err)
{
    const struct ox_datum *in = ox_run_has(r, 0) ? r->in[0] : NULL;
    struct ox_tensor *out;

    OX_TRY(ox_run_out(r, 0, OX_BOOL, 0, NULL, &out, err));
    *(uint8_t *)out->data = in && (in->kind != OX_DATUM_OPTIONAL || in->n_items > 0);
    return OX_OK;
}

#define ANY (OX_OP_HALF | OX_OP_ANY_KIND)

const struct ox_op ox_ops_sequence[] = {
    {"", "SequenceConstruct", 11, ANY, .infer = infer_sequence_construct,
     .run = run_sequence_construct},
    {"", "SequenceEmpty", 11, ANY, .infer = infer_sequence_empty, .run = run_sequence_empty},
    {"", "SequenceInsert", 11, ANY, .infer = infer_sequence_insert, .run = run_sequence_insert},
    {"", "SequenceErase", 11, ANY, .infer = infer_sequence_erase, .run = run_sequence_erase},
    {"", "SequenceAt", 11, ANY, .infer = infer_sequence_at, .run = run_sequence_at},
    {"", "SequenceLength", 11, ANY, .infer = infer_sequence_length, .run = run_sequence_length},
    {"", "ConcatFromSequence", 11, ANY, .infer = infer_concat_from_sequence,
     .run = run_concat_from_sequence},
    {"", "SplitToSequence", 11, ANY, .infer = infer_split_to_sequence,
     .run = run_split_to_sequence},
    {"", "Optional", 15, ANY, .infer = infer_optional, .run = run_optional},
    {"", "OptionalGetElement", 15, ANY, .infer = infer_optional_get, .run = run_optional_get},
    {"", "OptionalHasElement", 15, ANY, .infer = infer_optional_has, .run = run_optional_has},
    {0}};
