#include <stdlib.h>
#include <string.h>

#include "tensor/tensor.h"

/* Its items lie behind it. malloc(), for calloc() of old glibc passes its cache by. */
static enum ox_status new_datum(struct ox_datum **out, enum ox_datum_kind kind, size_t n_items,
                                struct ox_error *err)
{
    size_t bytes;
    struct ox_datum *datum = NULL;
    if (!OX_MUL_OVERFLOWS(n_items, sizeof(struct ox_datum *), &bytes) &&
        !OX_ADD_OVERFLOWS(bytes, sizeof *datum, &bytes))
        datum = malloc(bytes);
    if (!datum)
        return ox_no_memory(err);
    struct ox_datum **items = (struct ox_datum **)(void *)(datum + 1);
    for (size_t i = 0; i < n_items; i++)
        items[i] = NULL;
    *datum = (struct ox_datum){.refs = 1, .kind = kind, .items = items, .n_items = n_items};
    *out = datum;
    return OX_OK;
}

enum ox_status ox_datum_of_tensor(struct ox_datum **out, const struct ox_tensor *tensor,
                                  struct ox_error *err)
{
    OX_TRY(new_datum(out, OX_DATUM_TENSOR, 0, err));
    (*out)->tensor = ox_tensor_ref(tensor);
    (*out)->elem = tensor->dtype;
    return OX_OK;
}

enum ox_status ox_datum_sequence(struct ox_datum **out, enum ox_dtype elem,
                                 struct ox_datum *const *items, size_t n_items,
                                 struct ox_error *err)
{
    OX_TRY(new_datum(out, OX_DATUM_SEQUENCE, n_items, err));
    (*out)->elem = elem;
    for (size_t i = 0; i < n_items; i++)
        (*out)->items[i] = ox_datum_ref(items[i]);
    return OX_OK;
}

enum ox_status ox_datum_optional(struct ox_datum **out, enum ox_dtype elem,
                                 struct ox_datum *item_or_null, struct ox_error *err)
{
    OX_TRY(new_datum(out, OX_DATUM_OPTIONAL, item_or_null ? 1 : 0, err));
    (*out)->elem = elem;
    if (item_or_null)
        (*out)->items[0] = ox_datum_ref(item_or_null);
    return OX_OK;
}

enum ox_status ox_datum_map(struct ox_datum **out, const struct ox_tensor *keys,
                            struct ox_datum *values, struct ox_error *err)
{
    OX_TRY(new_datum(out, OX_DATUM_MAP, 1, err));
    (*out)->tensor = ox_tensor_ref(keys);
    (*out)->elem = values->elem;
    (*out)->items[0] = ox_datum_ref(values);
    return OX_OK;
}

enum ox_status ox_datum_sparse(struct ox_datum **out, const struct ox_tensor *values,
                               const struct ox_tensor *indices, unsigned rank, const int64_t *dims,
                               struct ox_error *err)
{
    int64_t *copy = malloc((rank ? rank : 1) * sizeof *copy);
    if (!copy)
        return ox_no_memory(err);
    if (rank)
        memcpy(copy, dims, rank * sizeof *copy);
    struct ox_datum *datum = NULL;
    enum ox_status status = new_datum(&datum, OX_DATUM_SPARSE, 0, err);
    if (status != OX_OK) {
        free(copy);
        return status;
    }
    datum->tensor = ox_tensor_ref(values);
    datum->indices = ox_tensor_ref(indices);
    datum->elem = values->dtype;
    datum->rank = rank;
    datum->dims = copy;
    *out = datum;
    return OX_OK;
}

struct ox_datum *ox_datum_ref(const struct ox_datum *datum)
{
    struct ox_datum *same = (struct ox_datum *)(uintptr_t)datum;
    if (same)
        atomic_fetch_add(&same->refs, 1);
    return same;
}

static void free_datum(struct ox_datum *datum)
{
    ox_tensor_release(datum->tensor);
    ox_tensor_release(datum->indices);
    free(datum->dims);
    free(datum);
}

/* Data nest as deep as a file has them: those to free wait in a list, not on the stack. */
void ox_datum_release(struct ox_datum *datum)
{
    if (!datum || !ox_unref(&datum->refs))
        return;
    datum->next = NULL;
    while (datum) {
        struct ox_datum *rest = datum->next;
        for (size_t i = 0; i < datum->n_items; i++) {
            struct ox_datum *item = datum->items[i];
            if (item && ox_unref(&item->refs)) {
                item->next = rest;
                rest = item;
            }
        }
        free_datum(datum);
        datum = rest;
    }
}

const struct ox_tensor *ox_datum_get_tensor(const struct ox_datum *datum)
{
    return datum->kind == OX_DATUM_TENSOR ? datum->tensor : NULL;
}
