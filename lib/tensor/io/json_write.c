#include <string.h>

#include "tensor/io/writers.h"

static void put_floats(struct ox_json *json, const struct ox_tensor *tensor, size_t first, size_t n)
{
    for (size_t i = first; i < first + n; i++)
        ox_json_float(json, (float)ox_tensor_get_double(tensor, i));
}

static void put_complex(struct ox_json *json, const struct ox_tensor *tensor, size_t first,
                        size_t n)
{
    for (size_t i = first; i < first + n; i++) {
        ox_json_array(json);
        for (size_t k = 2 * i; k < 2 * i + 2; k++) {
            if (tensor->dtype == OX_COMPLEX64)
                ox_json_float(json, ((const float *)tensor->data)[k]);
            else
                ox_json_double(json, ((const double *)tensor->data)[k]);
        }
        ox_json_end_array(json);
    }
}

/* n elements without their brackets. */
static void put_row(struct ox_json *json, const struct ox_tensor *tensor, size_t first, size_t n)
{
    switch (tensor->dtype) {
    case OX_STRING:
        for (size_t i = first; i < first + n; i++) {
            size_t length;
            const char *text = ox_tensor_string(tensor, i, &length);
            ox_json_string_n(json, text, length);
        }
        break;
    case OX_BOOL:
        for (size_t i = first; i < first + n; i++)
            ox_json_bool(json, ((const uint8_t *)tensor->data)[i]);
        break;
    case OX_UINT64:
        for (size_t i = first; i < first + n; i++)
            ox_json_uint(json, ((const uint64_t *)tensor->data)[i]);
        break;
    case OX_FLOAT64:
        for (size_t i = first; i < first + n; i++)
            ox_json_double(json, ((const double *)tensor->data)[i]);
        break;
    case OX_COMPLEX64:
    case OX_COMPLEX128:
        put_complex(json, tensor, first, n);
        break;
    default:
        if (ox_dtype_is_float(tensor->dtype))
            put_floats(json, tensor, first, n);
        else
            for (size_t i = first; i < first + n; i++)
                ox_json_int(json, ox_tensor_get_int(tensor, i));
        break;
    }
}

void ox_json_elements(struct ox_json *json, const struct ox_tensor *tensor)
{
    bool pretty = json->pretty;
    json->pretty = false;
    if (tensor->rank == 0) {
        put_row(json, tensor, 0, 1);
    } else if (tensor->n == 0) { /* 10^9 x 0 has as many empty rows */
        ox_json_array(json);
        ox_json_end_array(json);
    } else {
        size_t row = (size_t)tensor->dims[tensor->rank - 1];
        for (size_t at = 0; at < tensor->n; at += row) {
            /* A bracket for each dimension whose slice begins, or ends, here. */
            size_t slice = row;
            ox_json_array(json);
            for (unsigned k = tensor->rank - 1; k-- > 0;) {
                slice *= (size_t)tensor->dims[k];
                if (at % slice == 0)
                    ox_json_array(json);
            }
            put_row(json, tensor, at, row);
            ox_json_end_array(json);
            slice = row;
            for (unsigned k = tensor->rank - 1; k-- > 0;) {
                slice *= (size_t)tensor->dims[k];
                if ((at + row) % slice == 0)
                    ox_json_end_array(json);
            }
        }
    }
    json->pretty = pretty;
}

static void put_tensor(struct ox_json *json, const struct ox_tensor *tensor)
{
    ox_json_object(json);
    ox_json_key(json, "dtype");
    ox_json_string(json, ox_dtype_name(tensor->dtype));
    ox_json_key(json, "shape");
    ox_json_array(json);
    for (unsigned i = 0; i < tensor->rank; i++)
        ox_json_int(json, tensor->dims[i]);
    ox_json_end_array(json);
    ox_json_key(json, "data");
    ox_json_elements(json, tensor);
    ox_json_end_object(json);
}

enum ox_status ox_json_tensors_write(struct ox_outfile *file, const char *path, size_t n,
                                     const char *const *names,
                                     const struct ox_tensor *const *tensors, struct ox_error *err)
{
    struct ox_strbuf text;
    struct ox_json json;
    enum ox_status status = OX_OK;
    ox_strbuf_init(&text);
    ox_json_init(&json, &text, false);
    bool alone = n == 1 && !*names[0];
    if (!alone)
        ox_json_object(&json);
    for (size_t i = 0; i < n && status == OX_OK; i++) {
        if (!alone)
            ox_json_key(&json, names[i]);
        put_tensor(&json, tensors[i]);
        if (i + 1 == n) {
            if (!alone)
                ox_json_end_object(&json);
            ox_strbuf_putc(&text, '\n');
        }
        status = text.failed ? ox_fail(err, OX_NO_MEMORY, "%s: out of memory", path)
                             : ox_outfile_write(file, text.data, text.len, err);
        ox_strbuf_clear(&text);
    }
    if (n == 0 && status == OX_OK)
        status = ox_outfile_write(file, "{}\n", 3, err);
    ox_strbuf_release(&text);
    return status;
}
