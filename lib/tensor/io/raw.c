/* Bare elements: packed as in raw_data, their type and shape told by the caller. */
#include <string.h>

#include "tensor/io/tensor_file.h"

/* The dimension that is -1 becomes what the file's bytes make it. */
static enum ox_status fit(struct ox_tensor_file *file, enum ox_dtype dtype, unsigned rank,
                          int64_t *dims, struct ox_error *err)
{
    unsigned open = rank;
    size_t others = 1;
    for (unsigned i = 0; i < rank; i++) {
        if (dims[i] == -1 && open == rank)
            open = i;
        else if (dims[i] < 0)
            return ox_fail(err, OX_USAGE, "%s: one dimension at most may be left open", file->path);
        else if (OX_MUL_OVERFLOWS(others, (uint64_t)dims[i], &others))
            return ox_fail(err, OX_USAGE, "%s: the shape is larger than the address space",
                           file->path);
    }
    if (open < rank) {
        uint64_t bits = ox_dtype_bits(dtype);
        uint64_t elements = bits >= 8 ? file->bytes / (bits / 8)
                                      : file->bytes / bits * 8 + file->bytes % bits * 8 / bits;
        if (others == 0 || elements / others > INT64_MAX)
            return ox_fail(err, OX_USAGE, "%s: the open dimension may be anything", file->path);
        dims[open] = (int64_t)(elements / others);
    }
    return OX_OK;
}

enum ox_status ox_raw_open(struct ox_tensor_file *file, const struct ox_tensor_options *options,
                           struct ox_error *err)
{
    size_t count;
    uint64_t need;
    struct ox_tensor_member *member;
    if (options->dtype == OX_UNDEFINED || !options->dims)
        return ox_fail(err, OX_USAGE,
                       "%s: raw bytes need an element type and a shape: FILE:DTYPE:DIMS",
                       file->path);
    if (options->dtype == OX_STRING)
        return ox_fail(err, OX_UNSUPPORTED, "%s: strings have no raw form", file->path);
    int64_t *dims = ox_arena_copy(&file->arena, options->dims, options->rank * sizeof *dims);
    if (!dims)
        return ox_tensor_file_no_memory(file, err);
    OX_TRY(fit(file, options->dtype, options->rank, dims, err));
    if (!ox_dims_count(options->rank, dims, &count) ||
        !ox_dtype_packed_bytes(options->dtype, count, &need))
        return ox_fail(err, OX_USAGE, "%s: the shape is larger than the address space", file->path);
    if (need != file->bytes)
        return ox_fail(err, OX_INPUT, "%s: has %zu bytes; %zu elements of %s need %llu", file->path,
                       file->bytes, count, ox_dtype_name(options->dtype), (unsigned long long)need);
    OX_TRY(ox_tensor_file_add(file, "", 0, &member, err));
    OX_TRY(ox_tensor_file_set_shape(file, member, options->dtype, options->rank, dims, err));
    file->load = ox_tensor_file_packed;
    return OX_OK;
}
