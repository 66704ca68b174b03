#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/number.h"
#include "common/strmap.h"
#include "tensor/io/npy.h"
#include "tensor/io/writers.h"

enum { CHUNK = 4096 /* elements: a multiple of 8, so that packed ones end at a byte */ };

/* Elements as in raw_data. */
static enum ox_status write_packed(struct ox_outfile *file, const char *path,
                                   const struct ox_tensor *tensor, struct ox_error *err)
{
    unsigned bits = ox_dtype_bits(tensor->dtype);
    if (bits == 0)
        return ox_fail(err, OX_UNSUPPORTED, "%s: strings have no raw form", path);
    if (bits >= 8 && !OX_BIG_ENDIAN)
        return ox_outfile_write(file, tensor->data, tensor->n * (bits / 8), err);
    uint8_t packed[CHUNK * 16];
    size_t size = ox_dtype_size(tensor->dtype);
    for (size_t at = 0; at < tensor->n; at += CHUNK) {
        size_t part = tensor->n - at < CHUNK ? tensor->n - at : CHUNK;
        ox_tensor_pack(tensor->dtype, (const char *)tensor->data + at * size, part, packed);
        OX_TRY(ox_outfile_write(file, packed, (part * bits + 7) / 8, err));
    }
    return OX_OK;
}

static void put_csv_string(struct ox_strbuf *line, const char *text, size_t n)
{
    bool quote = n == 0 || text[0] == ' ' || text[n - 1] == ' ';
    for (size_t i = 0; i < n && !quote; i++)
        quote = strchr(",;\"\n\r\t", text[i]) != NULL;
    if (!quote) {
        ox_strbuf_add(line, text, n);
        return;
    }
    ox_strbuf_putc(line, '"');
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '"')
            ox_strbuf_putc(line, '"');
        ox_strbuf_putc(line, text[i]);
    }
    ox_strbuf_putc(line, '"');
}

static void put_csv_element(struct ox_strbuf *line, const struct ox_tensor *tensor, size_t i)
{
    char number[OX_NUMBER_BYTES];
    if (tensor->dtype == OX_STRING) {
        size_t n;
        const char *text = ox_tensor_string(tensor, i, &n);
        put_csv_string(line, text, n);
    } else if (tensor->dtype == OX_UINT64) {
        ox_strbuf_printf(line, "%" PRIu64, ((const uint64_t *)tensor->data)[i]);
    } else if (tensor->dtype == OX_FLOAT64) {
        ox_strbuf_puts(line, ox_number_double(number, ((const double *)tensor->data)[i]));
    } else if (ox_dtype_is_float(tensor->dtype)) {
        ox_strbuf_puts(line, ox_number_float(number, (float)ox_tensor_get_double(tensor, i)));
    } else {
        ox_strbuf_printf(line, "%" PRId64, ox_tensor_get_int(tensor, i));
    }
}

static enum ox_status write_csv(struct ox_outfile *file, const char *path,
                                const struct ox_tensor *tensor, struct ox_error *err)
{
    if (tensor->rank > 2 || tensor->dtype == OX_COMPLEX64 || tensor->dtype == OX_COMPLEX128)
        return ox_fail(
            err, OX_UNSUPPORTED,
            "%s: a table has two dimensions and no complex numbers; this is %s of rank %u", path,
            ox_dtype_name(tensor->dtype), tensor->rank);
    size_t columns = tensor->rank == 2 ? (size_t)tensor->dims[1] : 1;
    struct ox_strbuf line;
    ox_strbuf_init(&line);
    enum ox_status status = OX_OK;
    for (size_t at = 0; at < tensor->n && status == OX_OK; at += columns) {
        for (size_t k = 0; k < columns; k++) {
            if (k)
                ox_strbuf_putc(&line, ',');
            put_csv_element(&line, tensor, at + k);
        }
        ox_strbuf_putc(&line, '\n');
        status = line.failed ? ox_fail(err, OX_NO_MEMORY, "%s: out of memory", path)
                             : ox_outfile_write(file, line.data, line.len, err);
        ox_strbuf_clear(&line);
    }
    ox_strbuf_release(&line);
    return status;
}

static enum ox_status put_to_file(void *to, const void *bytes, size_t n, struct ox_error *err)
{
    return ox_outfile_write(to, bytes, n, err);
}

static enum ox_status write_npy(struct ox_outfile *file, const char *path,
                                const struct ox_tensor *tensor, struct ox_error *err)
{
    struct ox_sink sink = {put_to_file, file};
    struct ox_strbuf header;
    size_t item_bytes;
    ox_strbuf_init(&header);
    enum ox_status status = ox_npy_write_header(&header, tensor, &item_bytes, err);
    if (status != OX_OK)
        ox_fail_context(err, status, "%s", path);
    else
        status = ox_outfile_write(file, header.data, header.len, err);
    if (status == OX_OK)
        status = ox_npy_write_elements(tensor, item_bytes, &sink, err);
    ox_strbuf_release(&header);
    return status;
}

static enum ox_status write_npz(const char *path, size_t n, const char *const *names,
                                const struct ox_tensor *const *tensors, struct ox_error *err)
{
    struct ox_npz_writer *writer;
    OX_TRY(ox_npz_writer_open(&writer, path, false, err));
    enum ox_status status = OX_OK;
    for (size_t i = 0; i < n && status == OX_OK; i++)
        status = ox_npz_writer_add(writer, names[i], tensors[i], err);
    if (status == OX_OK)
        status = ox_npz_writer_commit(writer, err);
    ox_npz_writer_release(writer);
    return status;
}

static enum ox_status write_form(struct ox_outfile *file, enum ox_tensor_format format,
                                 const char *path, size_t n, const char *const *names,
                                 const struct ox_tensor *const *tensors, struct ox_error *err)
{
    switch (format) {
    case OX_TENSORS_NPY:
        return write_npy(file, path, tensors[0], err);
    case OX_TENSORS_CSV:
        return write_csv(file, path, tensors[0], err);
    case OX_TENSORS_RAW:
        return write_packed(file, path, tensors[0], err);
    case OX_TENSORS_JSON:
        return ox_json_tensors_write(file, path, n, names, tensors, err);
    default:
        return ox_safetensors_write(file, path, n, names, tensors, err);
    }
}

enum ox_status ox_tensors_write(const char *path, size_t n, const char *const *names,
                                const struct ox_tensor *const *tensors, struct ox_error *err)
{
    enum ox_tensor_format format = ox_tensor_format_of(path);
    if (format == OX_TENSORS_NPZ || strcmp(path, "-") == 0)
        return write_npz(path, n, names, tensors, err);
    if (format == OX_TENSORS_AUTO || format == OX_TENSORS_IMAGE || format == OX_TENSORS_PB)
        return ox_fail(err, OX_UNSUPPORTED,
                       "%s: no form that tensors are written in has this extension (.npz, .npy, "
                       ".json, .csv, .bin and "
                       ".safetensors have)",
                       path);
    bool one = format == OX_TENSORS_NPY || format == OX_TENSORS_CSV || format == OX_TENSORS_RAW;
    if (one && n != 1)
        return ox_fail(err, OX_UNSUPPORTED,
                       "%s: holds one tensor; %zu are to be written (.npz holds any number)", path,
                       n);
    struct ox_outfile *file;
    OX_TRY(ox_outfile_open(&file, path, err));
    enum ox_status status = write_form(file, format, path, n, names, tensors, err);
    if (status == OX_OK)
        status = ox_outfile_commit(file, err);
    ox_outfile_release(file);
    return status;
}

static size_t alignment_of(const struct ox_tensor *tensor)
{
    return ox_dtype_bits(tensor->dtype) >= 8 ? ox_dtype_size(tensor->dtype) : 1;
}

/* The elements may have no gaps between them: those of the largest alignment come first, so that all are aligned. */
static size_t *order_by_alignment(size_t n, const struct ox_tensor *const *tensors)
{
    size_t *order = malloc((n ? n : 1) * sizeof *order);
    size_t used = 0;
    for (size_t size = 16; order && size > 0; size /= 2)
        for (size_t i = 0; i < n; i++)
            if (alignment_of(tensors[i]) == size)
                order[used++] = i;
    return order;
}

static enum ox_status safetensors_header(struct ox_strbuf *text, const char *path, size_t n,
                                         const char *const *names,
                                         const struct ox_tensor *const *tensors,
                                         const size_t *order, struct ox_error *err)
{
    struct ox_json json;
    uint64_t at = 0;
    ox_json_init(&json, text, false);
    ox_json_object(&json);
    for (size_t i = 0; i < n; i++) {
        const struct ox_tensor *tensor = tensors[order[i]];
        uint64_t bytes = 0;
        ox_dtype_packed_bytes(tensor->dtype, tensor->n, &bytes);
        ox_json_key(&json, names[order[i]]);
        ox_json_object(&json);
        ox_json_key(&json, "dtype");
        ox_json_string(&json, ox_safetensors_type(tensor->dtype));
        ox_json_key(&json, "shape");
        ox_json_array(&json);
        for (unsigned k = 0; k < tensor->rank; k++)
            ox_json_int(&json, tensor->dims[k]);
        ox_json_end_array(&json);
        ox_json_key(&json, "data_offsets");
        ox_json_array(&json);
        ox_json_uint(&json, at);
        ox_json_uint(&json, at += bytes);
        ox_json_end_array(&json);
        ox_json_end_object(&json);
    }
    ox_json_end_object(&json);
    while ((8 + text->len) % 64 && !text->failed)
        ox_strbuf_putc(text, ' ');
    return text->failed ? ox_fail(err, OX_NO_MEMORY, "%s: out of memory", path) : OX_OK;
}

static enum ox_status check_safetensors(const char *path, size_t n, const char *const *names,
                                        const struct ox_tensor *const *tensors,
                                        struct ox_error *err)
{
    struct ox_strmap seen;
    ox_strmap_init(&seen);
    enum ox_status status = OX_OK;
    for (size_t i = 0; i < n && status == OX_OK; i++) {
        uint32_t index = 0;
        bool is_new;
        char shown[OX_SHOWN_BYTES];
        ox_shown(shown, names[i], strlen(names[i]));
        if (!ox_strmap_add(&seen, names[i], strlen(names[i]), &index, &is_new))
            status = ox_fail(err, OX_NO_MEMORY, "%s: out of memory", path);
        else if (!is_new)
            status = ox_fail(err, OX_INPUT, "%s: two tensors are named \"%s\"", path, shown);
        else if (!ox_safetensors_type(tensors[i]->dtype))
            status = ox_fail(err, OX_UNSUPPORTED, "%s: .safetensors has no %s, which \"%s\" is",
                             path, ox_dtype_name(tensors[i]->dtype), shown);
    }
    ox_strmap_release(&seen);
    return status;
}

enum ox_status ox_safetensors_write(struct ox_outfile *file, const char *path, size_t n,
                                    const char *const *names,
                                    const struct ox_tensor *const *tensors, struct ox_error *err)
{
    OX_TRY(check_safetensors(path, n, names, tensors, err));
    struct ox_strbuf text;
    ox_strbuf_init(&text);
    size_t *order = order_by_alignment(n, tensors);
    enum ox_status status = order ? safetensors_header(&text, path, n, names, tensors, order, err)
                                  : ox_fail(err, OX_NO_MEMORY, "%s: out of memory", path);
    uint8_t length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)((uint64_t)text.len >> (8 * i));
    if (status == OX_OK)
        status = ox_outfile_write(file, length, sizeof length, err);
    if (status == OX_OK)
        status = ox_outfile_write(file, text.data, text.len, err);
    for (size_t i = 0; i < n && status == OX_OK; i++)
        status = write_packed(file, path, tensors[order[i]], err);
    free(order);
    ox_strbuf_release(&text);
    return status;
}
