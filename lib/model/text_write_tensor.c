/* Tensors in the ONNX textual syntax: type, name and elements, or where those are. */
#include <stdlib.h>
#include <string.h>

#include "common/number.h"
#include "model/write_impl.h"

static void number(struct ox_model_writer *w, float value)
{
    char text[OX_NUMBER_BYTES];
    ox_strbuf_puts(w->out, ox_number_float(text, value));
}

/* The entries of the typed field that the text holds, whichever field the data are in. */
struct entries {
    const uint8_t *raw; /* packed little-endian; or */
    void *numbers;      /* decoded */
    size_t n;
    size_t bytes; /* of an entry */
};

/* Size of an entry when the data are raw: complex numbers count as two, 2- and 4-bit elements share a byte. */
static size_t raw_entry_bytes(enum ox_dtype dtype)
{
    unsigned bits = ox_dtype_bits(dtype);
    if (dtype == OX_COMPLEX64 || dtype == OX_COMPLEX128)
        return bits / 16;
    return bits <= 8 ? 1 : bits / 8;
}

static bool find_entries(struct ox_model_writer *w, const Onnx__TensorProto *t, struct entries *e)
{
    enum ox_dtype dtype =
        t->data_type > 0 && t->data_type < OX_N_DTYPES ? (enum ox_dtype)t->data_type : OX_UNDEFINED;
    *e = (struct entries){0};
    if (t->has_raw_data && t->raw_data.len) {
        e->bytes = raw_entry_bytes(dtype);
        e->raw = t->raw_data.data;
        e->n = e->bytes ? t->raw_data.len / e->bytes : 0;
        return true;
    }
    const struct {
        size_t n, bytes;
        uint32_t field;
    } fields[] = {{t->n_float_data, 4, 4},
                  {t->n_int32_data, 4, 5},
                  {t->n_int64_data, 8, 7},
                  {t->n_double_data, 8, 10},
                  {t->n_uint64_data, 8, 11}};
    for (size_t i = 0; i < OX_COUNT(fields); i++)
        if (fields[i].n) {
            e->n = fields[i].n;
            e->bytes = fields[i].bytes;
            e->numbers = ox_write_numbers(w, t, fields[i].field, e->n, e->bytes);
            return e->numbers != NULL;
        }
    return true;
}

static void entry(struct ox_model_writer *w, enum ox_dtype dtype, const struct entries *e, size_t i)
{
    const uint8_t *at = (e->raw ? e->raw : (const uint8_t *)e->numbers) + i * e->bytes;
    union {
        int64_t i64;
        uint64_t u64;
        double f64;
        float f32;
        int32_t i32;
        uint32_t u32;
        int16_t i16;
        uint16_t u16;
        int8_t i8;
        uint8_t u8;
    } v = {0};
    memcpy(&v, at, e->bytes);
    char text[OX_NUMBER_BYTES];
    switch (dtype) {
    case OX_FLOAT32:
    case OX_COMPLEX64:
        number(w, v.f32);
        return;
    case OX_FLOAT64:
    case OX_COMPLEX128:
        ox_strbuf_puts(w->out, ox_number_double(text, v.f64));
        return;
    case OX_UINT64:
    case OX_UINT32:
        ox_strbuf_printf(w->out, "%llu", e->bytes == 8 ? (unsigned long long)v.u64 : v.u32);
        return;
    default:
        break;
    }
    bool is_signed =
        dtype == OX_INT8 || dtype == OX_INT16 || dtype == OX_INT32 || dtype == OX_INT64;
    long long value = e->bytes == 8   ? (long long)v.i64
                      : e->bytes == 4 ? v.i32
                      : e->bytes == 2 ? (is_signed ? v.i16 : v.u16)
                                      : (is_signed ? v.i8 : v.u8);
    ox_strbuf_printf(w->out, "%lld", value);
}

static void strings(struct ox_model_writer *w, const Onnx__TensorProto *t)
{
    size_t head, tail;
    ox_write_range(w, t->n_string_data, &head, &tail);
    ox_strbuf_putc(w->out, '{');
    for (size_t i = 0; i < t->n_string_data; i++) {
        if (i == head && head + tail < t->n_string_data) {
            ox_strbuf_puts(w->out, head ? ", ..." : "...");
            i = t->n_string_data - tail;
            if (i == t->n_string_data)
                break;
        }
        ox_strbuf_puts(w->out, i ? ", " : "");
        ox_text_write_quoted(w, t->string_data[i].data, t->string_data[i].len);
    }
    ox_strbuf_putc(w->out, '}');
}

static void elements(struct ox_model_writer *w, const Onnx__TensorProto *t)
{
    struct entries e;
    size_t head, tail;
    if (t->data_type == OX_STRING) {
        strings(w, t);
        return;
    }
    if (!find_entries(w, t, &e))
        return;
    ox_write_range(w, e.n, &head, &tail);
    ox_strbuf_putc(w->out, '{');
    for (size_t i = 0; i < e.n && w->status == OX_OK; i++) {
        if (i == head && head + tail < e.n) {
            ox_strbuf_puts(w->out, head ? ",..." : "...");
            i = e.n - tail;
            if (i == e.n)
                break;
        }
        ox_strbuf_puts(w->out, i ? "," : "");
        entry(w, (enum ox_dtype)t->data_type, &e, i);
        if (i % 4096 == 0)
            ox_write_flush(w, false);
    }
    ox_strbuf_putc(w->out, '}');
    free(e.numbers);
}

void ox_text_write_tensor(struct ox_model_writer *w, const Onnx__TensorProto *t, bool is_init)
{
    ox_text_write_elem(w, t->data_type);
    for (size_t i = 0; i < t->n_dims; i++)
        ox_strbuf_printf(w->out, "%s%lld%s", i ? "," : "[", (long long)t->dims[i],
                         i + 1 == t->n_dims ? "]" : "");
    if (t->name && *t->name) {
        ox_strbuf_putc(w->out, ' ');
        ox_text_write_name(w, t->name);
    }
    ox_strbuf_puts(w->out, is_init ? " = " : " ");
    if (t->has_data_location && t->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
        ox_text_write_pairs(w, t->external_data, t->n_external_data);
    else
        elements(w, t);
}
