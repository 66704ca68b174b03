/* Optionals: made, asked, opened. Their items are shared, never copied. */
#include "ops/sequence.h"

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
        elem = ox_run_dtype(r, bottom_elem(attr->types));
    else
        return ox_run_fail(r, err, OX_INPUT, "neither an input nor attribute 'type' is given");
    OX_TRY(ox_datum_optional(&out, elem, in, err));
    return ox_sequence_hand_out(r, out, err);
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

const struct ox_op ox_ops_optional[] = {
    {"", "Optional", 15, ANY, .infer = infer_optional, .run = run_optional},
    {"", "OptionalGetElement", 15, ANY, .infer = infer_optional_get, .run = run_optional_get},
    {"", "OptionalHasElement", 15, ANY, .infer = infer_optional_has, .run = run_optional_has},
    {0}};
