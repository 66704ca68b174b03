/* Values shown to people and as JSON. */
#include <string.h>

#include "common/env.h"
#include "common/number.h"
#include "tensor/tensor.h"

enum { MOST_NESTING = 64, EDGE = 3, MOST_WHOLE = 1000 };

static void print_number(struct ox_strbuf *out, double value)
{
    char text[OX_NUMBER_BYTES];
    ox_strbuf_puts(out, ox_number_double(text, value));
}

static void print_float(struct ox_strbuf *out, float value)
{
    char text[OX_NUMBER_BYTES];
    ox_strbuf_puts(out, ox_number_float(text, value));
}

static void print_element(struct ox_strbuf *out, const struct ox_tensor *t, size_t i)
{
    switch (t->dtype) {
    case OX_STRING: {
        const struct ox_str *s = (const struct ox_str *)t->data + i;
        char piece[256];
        snprintf(piece, sizeof piece, "%.*s", s->n < 200 ? (int)s->n : 200, s->p ? s->p : "");
        ox_strbuf_putc(out, '"');
        ox_strbuf_name(out, piece, 0);
        ox_strbuf_puts(out, s->n > 200 ? "...\"" : "\"");
        break;
    }
    case OX_BOOL:
        ox_strbuf_puts(out, ((const uint8_t *)t->data)[i] ? "true" : "false");
        break;
    case OX_COMPLEX64:
        print_float(out, ((const float *)t->data)[2 * i]);
        ox_strbuf_puts(out, "+");
        print_float(out, ((const float *)t->data)[2 * i + 1]);
        ox_strbuf_putc(out, 'i');
        break;
    case OX_COMPLEX128:
        print_number(out, ((const double *)t->data)[2 * i]);
        ox_strbuf_puts(out, "+");
        print_number(out, ((const double *)t->data)[2 * i + 1]);
        ox_strbuf_putc(out, 'i');
        break;
    case OX_FLOAT64:
        print_number(out, ((const double *)t->data)[i]);
        break;
    case OX_UINT64:
        ox_strbuf_printf(out, "%llu", (unsigned long long)ox_tensor_get_int(t, i));
        break;
    default:
        if (ox_dtype_is_float(t->dtype))
            print_float(out, (float)ox_tensor_get_double(t, i));
        else
            ox_strbuf_printf(out, "%lld", (long long)ox_tensor_get_int(t, i));
    }
}

/* As numpy: beyond a thousand elements only the edges of each dimension. */
static void print_axis(struct ox_strbuf *out, const struct ox_tensor *t, unsigned axis, size_t from,
                       bool whole)
{
    if (axis == t->rank) {
        print_element(out, t, from);
        return;
    }
    size_t n = (size_t)t->dims[axis], step = 1;
    for (unsigned k = axis + 1; k < t->rank; k++)
        step *= (size_t)t->dims[k];
    ox_strbuf_putc(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (!whole && n > 2 * EDGE && i == EDGE) {
            ox_strbuf_puts(out, ", ...");
            i = n - EDGE;
        }
        if (i)
            ox_strbuf_puts(out, ", ");
        print_axis(out, t, axis + 1, from + i * step, whole);
    }
    ox_strbuf_putc(out, ']');
}

static void print_shape(struct ox_strbuf *out, unsigned rank, const int64_t *dims)
{
    ox_strbuf_putc(out, '[');
    for (unsigned k = 0; k < rank; k++)
        ox_strbuf_printf(out, "%s%lld", k ? "," : "", (long long)dims[k]);
    ox_strbuf_putc(out, ']');
}

/* Without elements a tensor has empty lists all the same, and may have any number of them. */
static bool has_too_many_lists(const struct ox_tensor *t)
{
    int64_t n = 1;
    for (unsigned k = 0; k < t->rank && t->dims[k] && n <= MOST_WHOLE; k++)
        n = t->dims[k] > MOST_WHOLE ? t->dims[k] : n * t->dims[k];
    return n > MOST_WHOLE;
}

static void print_tensor(struct ox_strbuf *out, const struct ox_tensor *t)
{
    ox_strbuf_puts(out, ox_dtype_name(t->dtype));
    print_shape(out, t->rank, t->dims);
    ox_strbuf_putc(out, ' ');
    if (!t->n && has_too_many_lists(t))
        ox_strbuf_puts(out, "[]");
    else
        print_axis(out, t, 0, 0, t->n <= MOST_WHOLE);
}

static void print_datum(struct ox_strbuf *out, const struct ox_datum *datum, unsigned depth)
{
    if (depth > MOST_NESTING) {
        ox_strbuf_puts(out, "...");
        return;
    }
    switch (datum->kind) {
    case OX_DATUM_TENSOR:
        print_tensor(out, datum->tensor);
        break;
    case OX_DATUM_SPARSE:
        ox_strbuf_puts(out, "sparse");
        print_shape(out, datum->rank, datum->dims);
        ox_strbuf_puts(out, " values ");
        print_tensor(out, datum->tensor);
        ox_strbuf_puts(out, " indices ");
        print_tensor(out, datum->indices);
        break;
    case OX_DATUM_MAP:
        ox_strbuf_puts(out, "map keys ");
        print_tensor(out, datum->tensor);
        ox_strbuf_puts(out, " values ");
        print_datum(out, datum->items[0], depth + 1);
        break;
    case OX_DATUM_OPTIONAL:
        ox_strbuf_puts(out, "optional ");
        if (datum->n_items)
            print_datum(out, datum->items[0], depth + 1);
        else
            ox_strbuf_puts(out, "empty");
        break;
    case OX_DATUM_SEQUENCE:
        ox_strbuf_printf(out, "sequence of %zu", datum->n_items);
        for (size_t i = 0; i < datum->n_items; i++) {
            ox_strbuf_printf(out, "\n  [%zu] ", i);
            print_datum(out, datum->items[i], depth + 1);
        }
    }
}

void ox_datum_print(struct ox_strbuf *out, const struct ox_datum *datum)
{
    print_datum(out, datum, 0);
}

/* ---- JSON ---------------------------------------------------------------------------------------------------------- */

static void json_shape(struct ox_json *json, unsigned rank, const int64_t *dims)
{
    ox_json_key(json, "shape");
    ox_json_array(json);
    for (unsigned k = 0; k < rank; k++)
        ox_json_int(json, dims[k]);
    ox_json_end_array(json);
}

static void json_object(struct ox_json *json, const struct ox_datum *datum, bool with_data,
                        unsigned depth)
{
    ox_json_object(json);
    if (depth <= MOST_NESTING)
        ox_datum_json(json, datum, with_data);
    ox_json_end_object(json);
}

static void json_items(struct ox_json *json, const struct ox_datum *datum, bool with_data)
{
    ox_json_key(json, "data");
    ox_json_array(json);
    for (size_t i = 0; i < datum->n_items; i++)
        json_object(json, datum->items[i], with_data, 1);
    ox_json_end_array(json);
}

static void json_tensor(struct ox_json *json, const struct ox_tensor *t, bool with_data)
{
    ox_json_key(json, "type");
    ox_json_string(json, ox_dtype_name(t->dtype));
    json_shape(json, t->rank, t->dims);
    if (with_data) {
        ox_json_key(json, "data");
        ox_json_elements(json, t);
    }
}

void ox_datum_json(struct ox_json *json, const struct ox_datum *datum, bool with_data)
{
    static const char *const kinds[] = {"tensor", "sparse", "seq", "optional", "map"};
    if (datum->kind == OX_DATUM_TENSOR) {
        json_tensor(json, datum->tensor, with_data);
        return;
    }
    ox_json_key(json, "type");
    ox_json_string(json, kinds[datum->kind]);
    if (datum->kind == OX_DATUM_SPARSE) {
        json_shape(json, datum->rank, datum->dims);
    } else {
        ox_json_key(json, "shape");
        ox_json_null(json);
    }
    if (datum->kind == OX_DATUM_SEQUENCE || datum->kind == OX_DATUM_OPTIONAL) {
        json_items(json, datum, with_data);
        return;
    }
    const struct ox_tensor *parts[] = {datum->tensor, datum->indices};
    const char *const names[] = {datum->kind == OX_DATUM_MAP ? "keys" : "values", "indices"};
    for (size_t i = 0; i < 2; i++) {
        if (!parts[i])
            continue;
        ox_json_key(json, names[i]);
        ox_json_object(json);
        json_tensor(json, parts[i], with_data);
        ox_json_end_object(json);
    }
    if (datum->kind == OX_DATUM_MAP && datum->n_items) {
        ox_json_key(json, "values");
        json_object(json, datum->items[0], with_data, 1);
    }
}
