#include <stdlib.h>
#include <string.h>

#include "kernels/casts.h"
#include "runtime/runtime.h"

enum ox_dtype ox_datum_dtype(const struct ox_datum *datum)
{
    switch (datum->kind) {
    case OX_DATUM_TENSOR:
    case OX_DATUM_SPARSE:
    case OX_DATUM_MAP:
        return datum->tensor->dtype;
    case OX_DATUM_SEQUENCE:
    case OX_DATUM_OPTIONAL:
        return datum->n_items ? ox_datum_dtype(datum->items[0]) : datum->elem;
    }
    return OX_UNDEFINED;
}

uint64_t ox_datum_bytes(const struct ox_datum *datum)
{
    uint64_t bytes = datum->tensor ? datum->tensor->n * ox_dtype_size(datum->tensor->dtype) : 0;
    for (size_t i = 0; i < datum->n_items; i++)
        bytes += ox_datum_bytes(datum->items[i]);
    return bytes;
}

static bool has_types(const struct ox_datum *datum, unsigned types)
{
    if (datum->tensor && types & OX_DTYPE_BIT(datum->tensor->dtype))
        return true;
    if ((datum->kind == OX_DATUM_SEQUENCE || datum->kind == OX_DATUM_OPTIONAL) &&
        types & OX_DTYPE_BIT(datum->elem))
        return true;
    for (size_t i = 0; i < datum->n_items; i++)
        if (has_types(datum->items[i], types))
            return true;
    return false;
}

static enum ox_status convert(struct ox_datum **out, struct ox_budget *budget, struct ox_pool *pool,
                              struct ox_datum *in, unsigned types, enum ox_dtype to,
                              struct ox_error *err);

static enum ox_status convert_items(struct ox_datum **out, struct ox_budget *budget,
                                    struct ox_pool *pool, const struct ox_datum *in, unsigned types,
                                    enum ox_dtype to, struct ox_error *err)
{
    enum ox_status status = OX_OK;
    struct ox_datum **items = calloc(in->n_items + 1, sizeof(struct ox_datum *));
    if (!items)
        return ox_no_memory(err);
    for (size_t i = 0; i < in->n_items; i++)
        OX_TRY_CLEANUP(convert(&items[i], budget, pool, in->items[i], types, to, err));
    enum ox_dtype elem = types & OX_DTYPE_BIT(in->elem) ? to : in->elem;
    if (in->kind == OX_DATUM_SEQUENCE)
        status = ox_datum_sequence(out, elem, items, in->n_items, err);
    else if (in->kind == OX_DATUM_OPTIONAL)
        status = ox_datum_optional(out, elem, in->n_items ? items[0] : NULL, err);
    else
        status = ox_datum_map(out, in->tensor, items[0], err);
cleanup:
    for (size_t i = 0; i < in->n_items; i++)
        ox_datum_release(items[i]);
    free(items);
    return status;
}

/* ox_tensor_convert() by the casts of the processor where there are such. */
static enum ox_status convert_tensor(struct ox_tensor **out, struct ox_budget *budget,
                                     struct ox_pool *pool, const struct ox_tensor *in,
                                     enum ox_dtype to, struct ox_error *err)
{
    struct ox_tensor *tensor;
    if (in->dtype == to || in->dtype == OX_STRING || to == OX_STRING)
        return ox_tensor_convert(out, budget, in, to, false, err);
    if (pool)
        OX_TRY(ox_pool_tensor(pool, to, in->rank, in->dims, &tensor, err));
    else
        OX_TRY(ox_tensor_new(&tensor, budget, to, in->rank, in->dims, err));
    if (!ox_cast_run(ox_cpu(), in->dtype, to, in->n, in->data, tensor->data))
        ox_elements_convert(to, tensor->data, in->dtype, in->data, in->n, false);
    *out = tensor;
    return OX_OK;
}

/* pool: where tensors are made; NULL: in memory of their own. */
static enum ox_status convert(struct ox_datum **out, struct ox_budget *budget, struct ox_pool *pool,
                              struct ox_datum *in, unsigned types, enum ox_dtype to,
                              struct ox_error *err)
{
    if (!has_types(in, types)) {
        *out = ox_datum_ref(in);
        return OX_OK;
    }
    if (in->kind != OX_DATUM_TENSOR && in->kind != OX_DATUM_SPARSE)
        return convert_items(out, budget, pool, in, types, to, err);
    struct ox_tensor *tensor;
    OX_TRY(convert_tensor(&tensor, budget, pool, in->tensor, to, err));
    enum ox_status status = in->kind == OX_DATUM_TENSOR ? ox_datum_of_tensor(out, tensor, err)
                                                        : ox_datum_sparse(out, tensor, in->indices,
                                                                          in->rank, in->dims, err);
    ox_tensor_release(tensor);
    return status;
}

enum ox_status ox_datum_convert(struct ox_datum **out, struct ox_budget *budget,
                                struct ox_datum *in, unsigned types, enum ox_dtype to,
                                struct ox_error *err)
{
    return convert(out, budget, NULL, in, types, to, err);
}

enum ox_status ox_session_convert(struct ox_datum **out, struct ox_session *session,
                                  struct ox_datum *in, unsigned types, enum ox_dtype to,
                                  struct ox_error *err)
{
    return convert(out, ox_env_budget(session->env), session->pool, in, types, to, err);
}
