/* What the readers of all forms share: tensors that they add to a file or lend out of it, and errors. */
#include "tensor/io/tensor_file.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/strmap.h"

void ox_tensor_source_unref(struct ox_tensor_source *source)
{
    if (!source || atomic_fetch_sub(&source->refs, 1) != 1)
        return;
    if (!source->borrowed)
        ox_mapping_release(&source->mapping);
    free(source);
}

static void release_borrowed(struct ox_buffer *buffer)
{
    ox_tensor_source_unref(buffer->owner);
}

enum ox_status ox_tensor_file_borrow(struct ox_tensor **out, struct ox_tensor_file *file,
                                     const struct ox_tensor_member *member, uint64_t at,
                                     struct ox_error *err)
{
    OX_TRY(ox_tensor_borrow(out, member->dtype, member->rank, member->dims, file->data + at,
                            release_borrowed, file->source, err));
    atomic_fetch_add(&file->source->refs, 1);
    return OX_OK;
}

enum ox_status ox_tensor_file_packed(struct ox_tensor **out, struct ox_tensor_file *file,
                                     const struct ox_tensor_member *member, struct ox_error *err)
{
    const uint8_t *bytes = file->data + member->at;
    bool whole = ox_dtype_bits(member->dtype) >= 8 && member->dtype != OX_BOOL && !OX_BIG_ENDIAN;
    if (whole && file->bytes > member->at && (uintptr_t)bytes % 16 == 0)
        return ox_tensor_file_borrow(out, file, member, member->at, err);
    struct ox_tensor *tensor;
    OX_TRY(ox_tensor_new(&tensor, ox_env_budget(file->env), member->dtype, member->rank,
                         member->dims, err));
    ox_tensor_unpack(tensor->dtype, bytes, tensor->n, tensor->data);
    *out = tensor;
    return OX_OK;
}

enum ox_status ox_tensor_file_no_memory(const struct ox_tensor_file *file, struct ox_error *err)
{
    return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", file->path);
}

enum ox_status ox_tensor_file_fault(const struct ox_tensor_file *file, uint64_t at,
                                    struct ox_error *err, const char *format, ...)
{
    char what[512];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return ox_fail(err, OX_INPUT, "%s: at byte %llu: %s", file->path, (unsigned long long)at, what);
}

enum ox_status ox_tensor_file_add(struct ox_tensor_file *file, const char *name, size_t n,
                                  struct ox_tensor_member **member, struct ox_error *err)
{
    if (file->n == file->capacity) {
        size_t capacity = file->capacity ? file->capacity * 2 : 4;
        struct ox_tensor_member *members = ox_arena_array(&file->arena, capacity, sizeof *members);
        if (!members)
            return ox_tensor_file_no_memory(file, err);
        if (file->n)
            memcpy(members, file->members, file->n * sizeof *members);
        file->members = members;
        file->capacity = capacity;
    }
    char *copy = ox_arena_strndup(&file->arena, name, n);
    uint32_t index = (uint32_t)file->n;
    bool is_new;
    if (!copy || !ox_strmap_add(file->names, copy, n, &index, &is_new))
        return ox_tensor_file_no_memory(file, err);
    if (!is_new) {
        char shown[OX_SHOWN_BYTES];
        return ox_fail(err, OX_INPUT, "%s: two tensors are named \"%s\"", file->path,
                       ox_shown(shown, name, n));
    }
    *member = &file->members[file->n++];
    **member = (struct ox_tensor_member){.name = copy};
    return OX_OK;
}

enum ox_status ox_tensor_file_set_shape(struct ox_tensor_file *file,
                                        struct ox_tensor_member *member, enum ox_dtype dtype,
                                        unsigned rank, const int64_t *dims, struct ox_error *err)
{
    int64_t *copy = ox_arena_copy(&file->arena, dims, rank * sizeof *dims);
    if (!copy)
        return ox_tensor_file_no_memory(file, err);
    member->dtype = dtype;
    member->rank = rank;
    member->dims = copy;
    return OX_OK;
}
