#include <math.h>
#include <string.h>

#include "common/utf8.h"
#include "tensor/io/npy.h"

bool ox_npy_is_plain(const struct ox_npy_layout *layout, unsigned rank)
{
    bool wide = (layout->kind == 'f' && layout->item_bytes == 16) ||
                (layout->kind == 'c' && layout->item_bytes == 32);
    bool text = layout->kind == 'U' || layout->kind == 'S';
    return !wide && !text && !layout->swapped && !(layout->fortran_order && rank > 1);
}

/* One row of the result: its elements are `stride` elements apart in the file. */
static void gather_row(uint8_t *to, const uint8_t *from, size_t n, size_t stride, size_t item)
{
    switch (item) {
    case 1:
        for (size_t i = 0; i < n; i++)
            to[i] = from[i * stride];
        break;
    case 2:
        for (size_t i = 0; i < n; i++)
            memcpy(to + i * 2, from + i * stride * 2, 2);
        break;
    case 4:
        for (size_t i = 0; i < n; i++)
            memcpy(to + i * 4, from + i * stride * 4, 4);
        break;
    case 8:
        for (size_t i = 0; i < n; i++)
            memcpy(to + i * 8, from + i * stride * 8, 8);
        break;
    default:
        for (size_t i = 0; i < n; i++)
            memcpy(to + i * item, from + i * stride * item, item);
        break;
    }
}

/* Column-major to row-major: the first dimension is the one that is contiguous in the file. */
static void transpose(uint8_t *to, const uint8_t *from, unsigned rank, const int64_t *dims,
                      size_t count, size_t item)
{
    size_t strides[OX_NPY_MAX_RANK];
    size_t at[OX_NPY_MAX_RANK] = {0};
    size_t stride = 1;
    for (unsigned k = 0; k < rank; k++) {
        strides[k] = stride;
        stride *= (size_t)dims[k];
    }
    size_t row = (size_t)dims[rank - 1];
    size_t from_at = 0;
    for (size_t done = 0; done < count; done += row) {
        gather_row(to + done * item, from + from_at * item, row, strides[rank - 1], item);
        for (unsigned k = rank - 1; k-- > 0;) {
            from_at += strides[k];
            if (++at[k] < (size_t)dims[k])
                break;
            from_at -= strides[k] * (size_t)dims[k];
            at[k] = 0;
        }
    }
}

/* The 80-bit float of x86 in 16 bytes, which numpy calls f16: rounded once to double. */
static double from_extended(const uint8_t *p)
{
    uint64_t fraction = 0;
    for (int i = 7; i >= 0; i--)
        fraction = fraction << 8 | p[i];
    int exponent = (p[8] | p[9] << 8) & 0x7FFF;
    double sign = p[9] & 0x80 ? -1.0 : 1.0;
    if (exponent == 0x7FFF)
        return fraction << 1 ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0)
        return sign * 0.0; /* far below the least double */
    exponent -= 16383 + 63;
    int shift = -1074 - exponent;
    if (exponent + 63 < -1022) { /* subnormal as a double: ldexp would round a second time */
        if (shift > 64)
            return sign * 0.0;
        uint64_t kept = shift == 64 ? 0 : fraction >> shift;
        uint64_t lost = shift == 64 ? fraction : fraction & (((uint64_t)1 << shift) - 1);
        uint64_t half = (uint64_t)1 << (shift - 1);
        kept += lost > half || (lost == half && (kept & 1));
        return sign * ldexp((double)kept, -1074);
    }
    return sign * ldexp((double)fraction, exponent);
}

static void decode_extended(double *to, const uint8_t *raw, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = from_extended(raw + i * 16);
}

static enum ox_status decode_bytes(struct ox_tensor *tensor, const uint8_t *raw, size_t item,
                                   struct ox_error *err)
{
    for (size_t i = 0; i < tensor->n; i++) {
        const char *text = (const char *)raw + i * item;
        size_t n = item;
        while (n > 0 && text[n - 1] == '\0')
            n--;
        OX_TRY(ox_tensor_set_string(tensor, i, text, n, err));
    }
    return OX_OK;
}

static enum ox_status decode_text(struct ox_tensor *tensor, const uint8_t *raw, size_t item,
                                  const char *name, struct ox_error *err)
{
    struct ox_strbuf text;
    ox_strbuf_init(&text);
    enum ox_status status = OX_OK;
    size_t width = item / 4;
    for (size_t i = 0; i < tensor->n && status == OX_OK; i++) {
        const uint8_t *at = raw + i * item;
        size_t n = width;
        uint32_t code = 0;
        while (n > 0 && (memcpy(&code, at + (n - 1) * 4, 4), code == 0))
            n--;
        ox_strbuf_clear(&text);
        for (size_t k = 0; k < n && status == OX_OK; k++) {
            char bytes[4];
            memcpy(&code, at + k * 4, 4);
            if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
                status = ox_fail(err, OX_INPUT, "%s: element %zu: U+%X is no character", name, i,
                                 (unsigned)code);
            else
                ox_strbuf_add(&text, bytes, ox_utf8_encode(code, bytes));
        }
        if (status == OX_OK && text.failed)
            status = ox_fail(err, OX_NO_MEMORY, "%s: out of memory", name);
        if (status == OX_OK)
            status = ox_tensor_set_string(tensor, i, text.data, text.len, err);
    }
    ox_strbuf_release(&text);
    return status;
}

static enum ox_status decode_ordered(struct ox_tensor *tensor, const struct ox_npy_layout *layout,
                                     const uint8_t *raw, const char *name, struct ox_error *err)
{
    if (layout->kind == 'S')
        return decode_bytes(tensor, raw, layout->item_bytes, err);
    if (layout->kind == 'U')
        return decode_text(tensor, raw, layout->item_bytes, name, err);
    if (layout->kind == 'f' && layout->item_bytes == 16)
        decode_extended(tensor->data, raw, tensor->n);
    else if (layout->kind == 'c' && layout->item_bytes == 32)
        decode_extended(tensor->data, raw, tensor->n * 2);
    else
        memcpy(tensor->data, raw, layout->payload_bytes);
    ox_tensor_normalize(tensor->dtype, tensor->data, tensor->n);
    return OX_OK;
}

enum ox_status ox_npy_decode(struct ox_tensor *tensor, const struct ox_npy_layout *layout,
                             uint8_t *raw, const char *name, struct ox_error *err)
{
    if (tensor->n == 0)
        return OX_OK;
    if (layout->swapped) {
        size_t unit = layout->kind == 'c'   ? layout->item_bytes / 2
                      : layout->kind == 'U' ? 4
                                            : layout->item_bytes;
        if (layout->kind != 'S' && layout->kind != 'V')
            ox_bytes_swap(raw, layout->payload_bytes, unit);
    }
    if (!layout->fortran_order || tensor->rank < 2)
        return decode_ordered(tensor, layout, raw, name, err);
    struct ox_arena scratch;
    ox_arena_init(&scratch, tensor->buffer->budget);
    uint8_t *ordered = ox_arena_alloc(&scratch, layout->payload_bytes);
    enum ox_status status;
    if (ordered) {
        transpose(ordered, raw, tensor->rank, tensor->dims, tensor->n, layout->item_bytes);
        status = decode_ordered(tensor, layout, ordered, name, err);
    } else {
        status = ox_fail(err, OX_LIMIT, "%s: turning its order goes over the memory limit", name);
    }
    ox_arena_release(&scratch);
    return status;
}

static enum ox_status load_npy(struct ox_tensor **out, struct ox_tensor_file *file,
                               const struct ox_tensor_member *member, struct ox_error *err)
{
    const struct ox_npy_layout *layout = &member->npy;
    const uint8_t *payload = file->data + layout->header_bytes;
    bool plain = ox_npy_is_plain(layout, member->rank);
    bool aligned = (uintptr_t)payload % 16 == 0;
    if (plain && aligned && member->dtype != OX_BOOL && layout->kind != 'V')
        return ox_tensor_file_borrow(out, file, member, layout->header_bytes, err);
    struct ox_tensor *tensor;
    OX_TRY(ox_tensor_new(&tensor, ox_env_budget(file->env), member->dtype, member->rank,
                         member->dims, err));
    enum ox_status status = OX_OK;
    if (plain) {
        if (tensor->n)
            memcpy(tensor->data, payload, layout->payload_bytes);
        ox_tensor_normalize(tensor->dtype, tensor->data, tensor->n);
    } else {
        struct ox_arena scratch;
        ox_arena_init(&scratch, ox_env_budget(file->env));
        uint8_t *raw = ox_arena_copy(&scratch, payload, layout->payload_bytes);
        status = raw ? ox_npy_decode(tensor, layout, raw, file->path, err)
                     : ox_fail(err, OX_LIMIT,
                               "%s: a copy of its elements goes over the memory limit", file->path);
        ox_arena_release(&scratch);
    }
    if (status != OX_OK) {
        ox_tensor_release(tensor);
        return status;
    }
    *out = tensor;
    return OX_OK;
}

enum ox_status ox_npy_open(struct ox_tensor_file *file, const struct ox_tensor_options *options,
                           struct ox_error *err)
{
    size_t header_bytes;
    struct ox_npy_header header;
    struct ox_tensor_member *member;
    OX_TRY(ox_npy_header_bytes(file->path, file->data, file->bytes, &file->env->limits,
                               &header_bytes, err));
    if (file->bytes < header_bytes)
        return ox_tensor_file_fault(file, file->bytes, err,
                                    "the .npy header of %zu bytes is cut off", header_bytes);
    uint8_t *copy =
        ox_arena_copy(&file->arena, file->data, header_bytes); /* a mapped file may change */
    if (!copy)
        return ox_tensor_file_no_memory(file, err);
    OX_TRY(ox_npy_parse(&header, file->path, copy, header_bytes, options->dtype, err));
    uint64_t left = file->bytes - header_bytes;
    if (left != header.payload_bytes)
        return ox_tensor_file_fault(
            file, header_bytes, err, "%llu bytes of elements where type and shape need %llu",
            (unsigned long long)left, (unsigned long long)header.payload_bytes);
    OX_TRY(ox_tensor_file_add(file, "", 0, &member, err));
    OX_TRY(ox_tensor_file_set_shape(file, member, header.dtype, header.rank, header.dims, err));
    member->npy = ox_npy_layout(&header);
    file->load = load_npy;
    return OX_OK;
}
