#include "tensor/tensor_apart.h"

#include <string.h>

#include "common/pages.h"

static void give_back(struct ox_buffer *buffer)
{
    ox_pages_plain_release(buffer->data, buffer->bytes);
}

static enum ox_status new_apart(struct ox_tensor **out, struct ox_budget *budget,
                                enum ox_dtype dtype, unsigned rank, const int64_t *dims,
                                struct ox_error *err)
{
    enum { WORTH_PAGES = 1 << 16 };
    size_t n;
    if (!ox_dims_count(rank, dims, &n) || n < WORTH_PAGES / ox_dtype_size(dtype) ||
        n > SIZE_MAX / 2 / ox_dtype_size(dtype))
        return ox_tensor_new(out, budget, dtype, rank, dims, err);
    const size_t bytes = n * ox_dtype_size(dtype);
    if (!ox_budget_take(budget, bytes))
        return ox_fail(err, OX_LIMIT, "%zu bytes go over the memory limit", bytes);
    void *data = ox_pages_plain(bytes);
    const enum ox_status status =
        data ? ox_tensor_borrow(out, dtype, rank, dims, data, give_back, NULL, err)
             : ox_no_memory(err);
    if (status == OX_OK) {
        (*out)->buffer->budget = budget;
        return OX_OK;
    }
    ox_pages_plain_release(data, bytes);
    ox_budget_give(budget, bytes);
    return status;
}

enum ox_status ox_tensor_copy_apart(struct ox_tensor **out, struct ox_budget *budget,
                                    enum ox_dtype dtype, unsigned rank, const int64_t *dims,
                                    const void *data, struct ox_error *err)
{
    OX_TRY(new_apart(out, budget, dtype, rank, dims, err));
    if ((*out)->n)
        memcpy((*out)->data, data, (*out)->n * ox_dtype_size(dtype));
    return OX_OK;
}
