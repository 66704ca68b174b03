/* Sequences: made, changed, read. Their items are shared, never copied. */
#include <inttypes.h>

#include "ops/rules.h"
#include "ops/sequence.h"
#include "ops/sequence_items.h"

enum ox_status ox_sequence_in(const struct ox_run *r, size_t i, const struct ox_datum **out,
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

enum ox_status ox_sequence_hand_out(struct ox_run *r, struct ox_datum *datum, struct ox_error *err)
{
    enum ox_status status = ox_run_out_datum(r, 0, datum, err);

    ox_datum_release(datum);
    return status;
}

enum ox_status ox_sequence_out(struct ox_run *r, enum ox_dtype elem, struct ox_datum *const *items,
                               size_t n, struct ox_error *err)
{
    struct ox_datum *out;

    OX_TRY(ox_datum_sequence(&out, elem, items, n, err));
    return ox_sequence_hand_out(r, out, err);
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

const struct ox_type *ox_sequence_item(const struct ox_infer *c, size_t i)
{
    const struct ox_type *type = ox_infer_type(c, i);

    return type && type->kind == OX_TYPE_SEQUENCE ? type->inner : NULL;
}

void ox_sequence_infer(struct ox_infer *c, const struct ox_type *item)
{
    const struct ox_type *type = item ? ox_infer_make_sequence(c, item) : NULL;

    if (type)
        ox_infer_set_type(c, 0, type);
}

/* ---- Making ------------------------------------------------------------------------------------------------------ */

static void infer_sequence_construct(struct ox_infer *c)
{
    const struct ox_type *item = ox_infer_type(c, 0);

    for (size_t i = 1; i < ox_infer_n_in(c); i++) {
        const struct ox_type *other = ox_infer_type(c, i);

        item = other ? ox_items_common(c, item, other)
                     : ox_infer_make_tensor(c, item ? item->elem : OX_UNDEFINED, false, 0, NULL);
    }
    ox_sequence_infer(c, item);
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
    return ox_sequence_out(r, elem, r->in, r->n_in, err);
}

static void infer_sequence_empty(struct ox_infer *c)
{
    bool given = ox_infer_attr(c, "dtype") != NULL;
    enum ox_dtype dtype = given ? ox_rule_dtype_attr(c, "dtype") : OX_FLOAT32;

    if (dtype)
        ox_sequence_infer(c, ox_infer_make_tensor(c, dtype, false, 0, NULL));
    ox_infer_set_items(c, 0, 0, NULL);
}

static enum ox_status run_sequence_empty(struct ox_run *r, struct ox_error *err)
{
    int64_t dtype = ox_run_int(r, "dtype", OX_FLOAT32);

    if (dtype <= 0 || dtype >= OX_N_DTYPES)
        return ox_run_fail(r, err, OX_INPUT, "dtype is %" PRId64, dtype);
    return ox_sequence_out(r, ox_run_dtype(r, (enum ox_dtype)dtype), NULL, 0, err);
}

/* ---- Changing ---------------------------------------------------------------------------------------------------- */

static void infer_sequence_insert(struct ox_infer *c)
{
    const struct ox_type *have = ox_sequence_item(c, 0), *item = ox_infer_type(c, 1);

    if (have && item && have->kind == OX_TYPE_TENSOR && item->kind == OX_TYPE_TENSOR &&
        have->elem && item->elem && have->elem != item->elem)
        ox_infer_conflict(c, "a sequence of %s takes no %s", ox_dtype_name(have->elem),
                          ox_dtype_name(item->elem));
    const struct ox_type *of_all = ox_items_insert(c);
    if (!of_all)
        of_all = have && item ? ox_items_common(c, have, item) : have;
    ox_sequence_infer(c, of_all);
}

static enum ox_status run_sequence_insert(struct ox_run *r, struct ox_error *err)
{
    const struct ox_datum *in = NULL;
    const struct ox_tensor *item = ox_run_in(r, 1);
    size_t at;

    OX_TRY(ox_sequence_in(r, 0, &in, err));
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
    return ox_sequence_out(r, item->dtype, items, in->n_items + 1, err);
}

static void infer_sequence_erase(struct ox_infer *c)
{
    const struct ox_type *left = ox_items_erase(c);
    ox_sequence_infer(c, left ? left : ox_sequence_item(c, 0));
}

static enum ox_status run_sequence_erase(struct ox_run *r, struct ox_error *err)
{
    const struct ox_datum *in = NULL;
    size_t at, n = 0;

    OX_TRY(ox_sequence_in(r, 0, &in, err));
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
    return ox_sequence_out(r, in->elem, items, n, err);
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

static void infer_sequence_at(struct ox_infer *c)
{
    const struct ox_type *item = ox_sequence_item(c, 0);
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

    OX_TRY(ox_sequence_in(r, 0, &in, err));
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

    OX_TRY(ox_sequence_in(r, 0, &in, err));
    OX_TRY(ox_run_out(r, 0, OX_INT64, 0, NULL, &out, err));
    *(int64_t *)out->data = (int64_t)in->n_items;
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
    {0}};
