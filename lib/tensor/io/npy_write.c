#include <string.h>

#include "common/utf8.h"
#include "tensor/io/npy.h"

enum { ALIGN = 64, CHUNK = 4096 }; /* numpy's; bytes of text or of swapped elements at a time */

static const char *const descrs[OX_N_DTYPES] = {
    [OX_FLOAT32] = "<f4",
    [OX_UINT8] = "|u1",
    [OX_INT8] = "|i1",
    [OX_UINT16] = "<u2",
    [OX_INT16] = "<i2",
    [OX_INT32] = "<i4",
    [OX_INT64] = "<i8",
    [OX_BOOL] = "|b1",
    [OX_FLOAT16] = "<f2",
    [OX_FLOAT64] = "<f8",
    [OX_UINT32] = "<u4",
    [OX_UINT64] = "<u8",
    [OX_COMPLEX64] = "<c8",
    [OX_COMPLEX128] = "<c16",
    /* as np.save() has ml_dtypes' types: the reader must know which */
    [OX_BFLOAT16] = "<V2",
    [OX_FLOAT8E4M3FN] = "<V1",
    [OX_FLOAT8E4M3FNUZ] = "<V1",
    [OX_FLOAT8E5M2] = "<V1",
    [OX_FLOAT8E5M2FNUZ] = "<V1",
    [OX_FLOAT4E2M1] = "<V1",
    [OX_FLOAT8E8M0] = "<V1",
    [OX_FLOAT6E2M3] = "<V1",
    [OX_FLOAT6E3M2] = "<V1",
    /* numpy can count with these */
    [OX_UINT4] = "|u1",
    [OX_INT4] = "|i1",
    [OX_UINT2] = "|u1",
    [OX_INT2] = "|i1",
};

/* Characters of the longest string; false when one is not UTF-8 or ends in NULs, which numpy's U would lose. */
static bool text_width(const struct ox_tensor *tensor, size_t *width)
{
    *width = 0;
    for (size_t i = 0; i < tensor->n; i++) {
        size_t left;
        size_t n = 0;
        uint32_t code = 1;
        const char *p = ox_tensor_string(tensor, i, &left);
        for (; left > 0; n++) {
            size_t length = ox_utf8_next(p, left, &code);
            if (length == 0)
                return false;
            p += length;
            left -= length;
        }
        if (n > 0 && code == 0)
            return false;
        if (n > *width)
            *width = n;
    }
    return true;
}

static size_t byte_width(const struct ox_tensor *tensor)
{
    size_t width = 0;
    for (size_t i = 0; i < tensor->n; i++) {
        size_t n;
        ox_tensor_string(tensor, i, &n);
        width = n > width ? n : width;
    }
    return width;
}

/* Text as numpy's U, four bytes a character; what is no text as S. item_bytes is told apart by the caller again. */
static void string_descr(const struct ox_tensor *tensor, char *descr, size_t n, size_t *item_bytes)
{
    size_t width;
    if (text_width(tensor, &width)) {
        width = width ? width : 1;
        snprintf(descr, n, "<U%zu", width);
        *item_bytes = width * 4;
    } else {
        width = byte_width(tensor);
        snprintf(descr, n, "|S%zu", width);
        *item_bytes = width;
    }
}

enum ox_status ox_npy_write_header(struct ox_strbuf *out, const struct ox_tensor *tensor,
                                   size_t *item_bytes, struct ox_error *err)
{
    char descr[32];
    uint64_t payload;
    *item_bytes = ox_dtype_size(tensor->dtype);
    if (tensor->dtype == OX_STRING)
        string_descr(tensor, descr, sizeof descr, item_bytes);
    else
        snprintf(descr, sizeof descr, "%s", descrs[tensor->dtype]);
    if (OX_MUL_OVERFLOWS((uint64_t)tensor->n, (uint64_t)*item_bytes, &payload))
        return ox_fail(err, OX_LIMIT, "strings too long and too many for numpy's fixed width");
    if (tensor->rank > OX_NPY_MAX_RANK)
        return ox_fail(err, OX_UNSUPPORTED, "a tensor of %u dimensions; numpy has at most %d",
                       tensor->rank, OX_NPY_MAX_RANK);
    struct ox_strbuf dictionary;
    ox_strbuf_init(&dictionary);
    ox_strbuf_printf(&dictionary, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (unsigned i = 0; i < tensor->rank; i++)
        ox_strbuf_printf(&dictionary, "%s%lld", i ? ", " : "", (long long)tensor->dims[i]);
    ox_strbuf_puts(&dictionary, tensor->rank == 1 ? ",), }" : "), }");
    char prefix[10] = "\x93NUMPY\x01";
    size_t filled = sizeof prefix + dictionary.len + 1; /* with the line's end */
    ox_strbuf_printf(&dictionary, "%*s\n", (int)((ALIGN - filled % ALIGN) % ALIGN), "");
    prefix[8] = (char)(dictionary.len & 0xFF);
    prefix[9] = (char)(dictionary.len >> 8);
    ox_strbuf_add(out, prefix, sizeof prefix);
    ox_strbuf_add(out, dictionary.data, dictionary.len);
    bool failed = out->failed || dictionary.failed;
    ox_strbuf_release(&dictionary);
    return failed ? ox_no_memory(err) : OX_OK;
}

/* Pads what was put with zeros up to n bytes. */
static enum ox_status put_zeros(const struct ox_sink *sink, size_t n, struct ox_error *err)
{
    static const uint8_t zeros[CHUNK];
    while (n > 0) {
        size_t part = n < CHUNK ? n : CHUNK;
        OX_TRY(sink->put(sink->to, zeros, part, err));
        n -= part;
    }
    return OX_OK;
}

static enum ox_status put_text(const char *p, size_t left, size_t item_bytes,
                               const struct ox_sink *sink, struct ox_error *err)
{
    uint8_t chunk[CHUNK];
    size_t used = 0;
    size_t done = 0;
    while (left > 0) {
        uint32_t code = 0;
        size_t length = ox_utf8_next(p, left, &code);
        for (int i = 0; i < 4; i++)
            chunk[used++] = (uint8_t)(code >> (8 * i));
        if (used == CHUNK) {
            OX_TRY(sink->put(sink->to, chunk, used, err));
            done += used;
            used = 0;
        }
        p += length;
        left -= length;
    }
    OX_TRY(sink->put(sink->to, chunk, used, err));
    return put_zeros(sink, item_bytes - done - used, err);
}

static enum ox_status put_strings(const struct ox_tensor *tensor, size_t item_bytes,
                                  const struct ox_sink *sink, struct ox_error *err)
{
    size_t width;
    bool text = text_width(tensor, &width);
    for (size_t i = 0; i < tensor->n; i++) {
        size_t n;
        const char *p = ox_tensor_string(tensor, i, &n);
        if (text) {
            OX_TRY(put_text(p, n, item_bytes, sink, err));
        } else {
            OX_TRY(sink->put(sink->to, p, n, err));
            OX_TRY(put_zeros(sink, item_bytes - n, err));
        }
    }
    return OX_OK;
}

enum ox_status ox_npy_write_elements(const struct ox_tensor *tensor, size_t item_bytes,
                                     const struct ox_sink *sink, struct ox_error *err)
{
    if (tensor->dtype == OX_STRING)
        return put_strings(tensor, item_bytes, sink, err);
    size_t bytes = tensor->n * item_bytes;
    if (!OX_BIG_ENDIAN)
        return sink->put(sink->to, tensor->data, bytes, err);
    size_t unit = tensor->dtype == OX_COMPLEX64 || tensor->dtype == OX_COMPLEX128 ? item_bytes / 2
                                                                                  : item_bytes;
    uint8_t chunk[CHUNK];
    for (size_t at = 0; at < bytes; at += CHUNK) {
        size_t part = bytes - at < CHUNK ? bytes - at : CHUNK;
        memcpy(chunk, (const char *)tensor->data + at, part);
        ox_bytes_swap(chunk, part, unit);
        OX_TRY(sink->put(sink->to, chunk, part, err));
    }
    return OX_OK;
}
