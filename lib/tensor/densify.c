/* Sparse tensors as dense ones. */
#include <string.h>

#include "common/error.h"
#include "tensor/tensor.h"

/* Offset of the k-th value: indices are [nnz] flat ones or [nnz, rank] coordinates. */
static bool place_of(const struct ox_datum *sparse, size_t k, size_t n, size_t *place)
{
    const int64_t *indices = sparse->indices->data;
    if (sparse->indices->rank == 1) {
        *place = (size_t)indices[k];
        return indices[k] >= 0 && *place < n;
    }
    size_t at = 0;
    for (unsigned d = 0; d < sparse->rank; d++) {
        int64_t index = indices[k * sparse->rank + d];
        if (index < 0 || index >= sparse->dims[d])
            return false;
        at = at * (size_t)sparse->dims[d] + (size_t)index;
    }
    *place = at;
    return true;
}

static bool sparse_fits(const struct ox_datum *sparse)
{
    const struct ox_tensor *indices = sparse->indices;
    if (!indices || indices->dtype != OX_INT64 || sparse->tensor->dtype == OX_STRING)
        return false;
    if (indices->rank == 1)
        return indices->n == sparse->tensor->n;
    return indices->rank == 2 && indices->dims[1] == (int64_t)sparse->rank &&
           (size_t)indices->dims[0] == sparse->tensor->n;
}

enum ox_status ox_datum_densify(struct ox_datum **out, struct ox_budget *budget,
                                const struct ox_datum *sparse, struct ox_error *err)
{
    if (!sparse_fits(sparse))
        return ox_fail(err, OX_INPUT, "sparse tensor: its indices are not int64 [%zu] or [%zu, %u]",
                       sparse->tensor->n, sparse->tensor->n, sparse->rank);
    struct ox_tensor *dense;
    OX_TRY(ox_tensor_new(&dense, budget, sparse->tensor->dtype, sparse->rank, sparse->dims, err));
    size_t size = ox_dtype_size(dense->dtype);
    if (dense->n)
        memset(dense->data, 0, dense->n * size);
    enum ox_status status = OX_OK;
    for (size_t k = 0; k < sparse->tensor->n; k++) {
        size_t place;
        if (!place_of(sparse, k, dense->n, &place)) {
            status = ox_fail(err, OX_INPUT, "sparse tensor: index %zu is outside its shape", k);
            goto cleanup;
        }
        memcpy((char *)dense->data + place * size, (const char *)sparse->tensor->data + k * size,
               size);
    }
    status = ox_datum_of_tensor(out, dense, err);
cleanup:
    ox_tensor_release(dense);
    return status;
}
