#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "common/forget.h"
#include "model/external.h"
#include "model/name.h"
#include "model/stored.h"
#include "model/unpack.h"

/* Which repeated field of TensorProto holds a type's elements, and how many numbers it takes there. */
enum field {
    FIELD_FLOAT = 4,
    FIELD_INT32 = 5,
    FIELD_STRING = 6,
    FIELD_INT64 = 7,
    FIELD_DOUBLE = 10,
    FIELD_UINT64 = 11
};

static enum field field_of(enum ox_dtype dtype)
{
    switch (dtype) {
    case OX_FLOAT32:
    case OX_COMPLEX64:
        return FIELD_FLOAT;
    case OX_FLOAT64:
    case OX_COMPLEX128:
        return FIELD_DOUBLE;
    case OX_INT64:
        return FIELD_INT64;
    case OX_UINT32:
    case OX_UINT64:
        return FIELD_UINT64;
    case OX_STRING:
        return FIELD_STRING;
    default:
        return FIELD_INT32;
    }
}

static const char *field_name(enum field field)
{
    switch (field) {
    case FIELD_FLOAT:
        return "float_data";
    case FIELD_INT32:
        return "int32_data";
    case FIELD_STRING:
        return "string_data";
    case FIELD_INT64:
        return "int64_data";
    case FIELD_DOUBLE:
        return "double_data";
    default:
        return "uint64_data";
    }
}

static size_t field_count(const Onnx__TensorProto *proto, enum field field)
{
    switch (field) {
    case FIELD_FLOAT:
        return proto->n_float_data;
    case FIELD_INT32:
        return proto->n_int32_data;
    case FIELD_STRING:
        return proto->n_string_data;
    case FIELD_INT64:
        return proto->n_int64_data;
    case FIELD_DOUBLE:
        return proto->n_double_data;
    default:
        return proto->n_uint64_data;
    }
}

/* 2- and 4-bit elements share a number of int32_data as they share a byte; 6-bit ones do not. */
static size_t numbers_of(enum ox_dtype dtype, size_t n)
{
    unsigned bits = ox_dtype_bits(dtype);
    if (dtype == OX_COMPLEX64 || dtype == OX_COMPLEX128)
        return 2 * n;
    if (bits == 2 || bits == 4)
        return n / (8 / bits) + (n % (8 / bits) != 0);
    return n;
}

struct located {
    size_t n;             /* elements */
    const uint8_t *bytes; /* packed; NULL: in a repeated field */
};

static enum ox_status locate_typed(const struct ox_stored *stored, size_t n, struct ox_error *err)
{
    enum field field = field_of(stored->dtype);
    size_t need = numbers_of(stored->dtype, n), have = field_count(stored->proto, field);
    if (have == need)
        return OX_OK;
    return ox_fail(err, OX_INPUT, "%s has %zu numbers where type %s and dims need %zu",
                   field_name(field), have, ox_dtype_name(stored->dtype), need);
}

static enum ox_status locate(struct ox_model *model, const struct ox_stored *stored,
                             struct located *at, struct ox_error *err)
{
    *at = (struct located){0};
    if (stored->dtype == OX_UNDEFINED)
        return ox_fail(err, OX_INPUT, "data type %" PRId32 " does not exist", stored->data_type);
    size_t doubled;
    if (!ox_dims_count(stored->rank, stored->dims, &at->n) ||
        OX_MUL_OVERFLOWS(at->n, (size_t)2, &doubled))
        return ox_fail(err, OX_INPUT, "its dims are negative or too large");
    if (stored->proto && stored->proto->segment)
        return ox_fail(err, OX_INPUT, "it is stored in segments, which nothing reads");
    bool packed = stored->place == OX_STORED_RAW || stored->place == OX_STORED_EXTERNAL;
    uint64_t need = 0;
    if (packed && stored->dtype == OX_STRING)
        return ox_fail(err, OX_INPUT, "strings must be in string_data");
    if (packed && !ox_dtype_packed_bytes(stored->dtype, at->n, &need))
        return ox_fail(err, OX_INPUT, "its dims are too large");
    switch (stored->place) {
    case OX_STORED_RAW:
        at->bytes = stored->raw;
        if (stored->raw_bytes != need)
            return ox_fail(err, OX_INPUT,
                           "raw_data has %" PRIu64 " bytes where type %s and dims need %" PRIu64,
                           stored->raw_bytes, ox_dtype_name(stored->dtype), need);
        return OX_OK;
    case OX_STORED_EXTERNAL:
        return ox_external_find(model, stored, need, &at->bytes, err);
    case OX_STORED_TYPED:
        return locate_typed(stored, at->n, err);
    case OX_STORED_NONE:
        if (at->n)
            return ox_fail(err, OX_INPUT, "it has no data where type %s and dims need %zu elements",
                           ox_dtype_name(stored->dtype), at->n);
        return OX_OK;
    default:
        return OX_OK;
    }
}

enum ox_status ox_stored_verify(struct ox_model *model, const struct ox_stored *stored,
                                struct ox_error *err)
{
    struct located at;
    return locate(model, stored, &at, err);
}

/* ---- Loading ------------------------------------------------------------------------------------------------------ */

bool ox_packed_is_plain(enum ox_dtype dtype, const uint8_t *bytes, size_t n)
{
    size_t size = ox_dtype_size(dtype), unit = size;
    if (dtype == OX_COMPLEX64 || dtype == OX_COMPLEX128)
        unit = size / 2;
    if (ox_dtype_bits(dtype) != 8 * size || (OX_BIG_ENDIAN && unit > 1) ||
        (uintptr_t)bytes % unit != 0)
        return false;
    if (dtype == OX_BOOL) {
        uint8_t all = 0;
        for (size_t i = 0; i < n; i++)
            all |= bytes[i];
        return all <= 1;
    }
    return true;
}

/* Of a large tensor in a mapped file what is copied is given back while the rest is, so that not all of it is in memory twice. */
static void unpack(enum ox_dtype dtype, const struct located *at, void *out)
{
    enum { PIECE = 1 << 16 };
    const unsigned bits = ox_dtype_bits(dtype);
    for (size_t i = 0; i < at->n; i += PIECE) {
        const size_t n = at->n - i < PIECE ? at->n - i : PIECE;
        const uint8_t *from = at->bytes + i / 8 * bits;
        ox_tensor_unpack(dtype, from, n, (uint8_t *)out + i * ox_dtype_size(dtype));
        if (at->n > 2 * PIECE)
            ox_mapping_forget(from, n / 8 * bits);
    }
}

static enum ox_status load_packed(struct ox_model *model, const struct ox_stored *stored,
                                  const struct located *at, bool copy, struct ox_tensor **out,
                                  struct ox_error *err)
{
    if (!copy && ox_packed_is_plain(stored->dtype, at->bytes, at->n))
        return ox_tensor_borrow(out, stored->dtype, stored->rank, stored->dims, at->bytes, NULL,
                                NULL, err);
    struct ox_tensor *tensor;
    OX_TRY(ox_tensor_new(&tensor, ox_env_budget(model->env), stored->dtype, stored->rank,
                         stored->dims, err));
    unpack(stored->dtype, at, tensor->data);
    *out = tensor;
    return OX_OK;
}

static enum ox_status load_strings(const struct ox_stored *stored, struct ox_tensor *tensor,
                                   struct ox_error *err)
{
    for (size_t i = 0; i < tensor->n; i++) {
        const ProtobufCBinaryData *s = &stored->proto->string_data[i];
        OX_TRY(ox_tensor_set_string(tensor, i, (const char *)s->data, s->len, err));
    }
    return OX_OK;
}

/* Elements narrower than the numbers that carry them: high bits are dropped, as the reference does. */
static enum ox_status load_narrow(struct ox_model *model, const struct ox_stored *stored,
                                  struct ox_tensor *tensor, struct ox_error *err)
{
    enum field field = field_of(stored->dtype);
    size_t n = numbers_of(stored->dtype, tensor->n);
    struct ox_tensor *wide;
    OX_TRY(ox_tensor_new(&wide, ox_env_budget(model->env),
                         field == FIELD_INT32 ? OX_INT32 : OX_UINT64, 1, &(int64_t){(int64_t)n},
                         err));
    bool good = ox_wire_tensor_numbers(ox_wire_tensor(stored->proto), field, n, wide->data);
    uint8_t *bytes = wide->data;
    size_t width = ox_dtype_size(stored->dtype);
    if (field == FIELD_UINT64) {
        const uint64_t *numbers = wide->data;
        for (size_t i = 0; i < n; i++)
            ((uint32_t *)tensor->data)[i] = (uint32_t)numbers[i];
    } else if (width == 2) {
        const uint32_t *numbers = wide->data;
        for (size_t i = 0; i < n; i++)
            ((uint16_t *)tensor->data)[i] = (uint16_t)numbers[i];
    } else {
        const uint32_t *numbers = wide->data;
        for (size_t i = 0; i < n; i++)
            bytes[i] = (uint8_t)numbers[i];
        unsigned bits = ox_dtype_bits(stored->dtype);
        if (bits == 2 || bits == 4)
            ox_tensor_unpack(stored->dtype, bytes, tensor->n, tensor->data);
        else
            memcpy(tensor->data, bytes, n);
        ox_tensor_normalize(stored->dtype, tensor->data, tensor->n);
    }
    ox_tensor_release(wide);
    return good ? OX_OK : ox_fail(err, OX_INPUT, "it changed while it was read");
}

static enum ox_status load_typed(struct ox_model *model, const struct ox_stored *stored,
                                 struct ox_tensor **out, struct ox_error *err)
{
    struct ox_tensor *tensor;
    OX_TRY(ox_tensor_new(&tensor, ox_env_budget(model->env), stored->dtype, stored->rank,
                         stored->dims, err));
    enum field field = field_of(stored->dtype);
    enum ox_status status = OX_OK;
    if (!tensor->n) {
    } else if (field == FIELD_STRING) {
        status = load_strings(stored, tensor, err);
    } else if (stored->dtype == OX_UINT32 || (field == FIELD_INT32 && stored->dtype != OX_INT32)) {
        status = load_narrow(model, stored, tensor, err);
    } else if (!ox_wire_tensor_numbers(ox_wire_tensor(stored->proto), field,
                                       numbers_of(stored->dtype, tensor->n), tensor->data)) {
        status = ox_fail(err, OX_INPUT, "it changed while it was read");
    }
    if (status != OX_OK)
        ox_tensor_release(tensor);
    else
        *out = tensor;
    return status;
}

static enum ox_status load_wide(struct ox_model *model, const struct ox_stored *stored,
                                struct ox_tensor **out, struct ox_error *err)
{
    struct ox_tensor *narrow;
    OX_TRY(ox_stored_load(model, stored->narrow, &narrow, err));
    enum ox_status status =
        ox_tensor_convert(out, ox_env_budget(model->env), narrow, stored->dtype, true, err);
    ox_tensor_release(narrow);
    return status;
}

enum ox_status ox_stored_read(struct ox_model *model, const struct ox_stored *stored, bool copy,
                              struct ox_tensor **out, struct ox_error *err)
{
    if (stored->place == OX_STORED_WIDE)
        return load_wide(model, stored, out, err);
    if (stored->place == OX_STORED_TENSOR) {
        *out = ox_tensor_ref(stored->tensor);
        return OX_OK;
    }
    struct located at;
    enum ox_status status = locate(model, stored, &at, err);
    if (status == OX_OK)
        status = at.bytes && at.n ? load_packed(model, stored, &at, copy, out, err)
                                  : load_typed(model, stored, out, err);
    return status == OX_OK ? OX_OK : ox_fail_tensor(err, status, model, stored);
}

enum ox_status ox_stored_load(struct ox_model *model, const struct ox_stored *stored,
                              struct ox_tensor **out, struct ox_error *err)
{
    return ox_stored_read(model, stored, false, out, err);
}

enum ox_status ox_stored_fill(struct ox_model *model, const struct ox_stored *stored,
                              struct ox_tensor *tensor, struct ox_error *err)
{
    if (stored->place != OX_STORED_TENSOR && stored->place != OX_STORED_WIDE) {
        struct located at;
        enum ox_status status = locate(model, stored, &at, err);
        if (status != OX_OK)
            return ox_fail_tensor(err, status, model, stored);
        if (at.bytes && at.n) {
            unpack(stored->dtype, &at, tensor->data);
            return OX_OK;
        }
    }
    const bool wide = stored->place == OX_STORED_WIDE;
    struct ox_tensor *loaded;
    OX_TRY(ox_stored_load(model, wide ? stored->narrow : stored, &loaded, err));
    ox_elements_convert(tensor->dtype, tensor->data, loaded->dtype, loaded->data, loaded->n, true);
    ox_tensor_release(loaded);
    return OX_OK;
}

enum ox_status ox_stored_sparse_load(struct ox_model *model, const struct ox_stored_sparse *stored,
                                     struct ox_datum **out, struct ox_error *err)
{
    struct ox_tensor *values = NULL, *indices = NULL;
    enum ox_status status;
    OX_TRY_CLEANUP(ox_stored_load(model, stored->values, &values, err));
    OX_TRY_CLEANUP(ox_stored_load(model, stored->indices, &indices, err));
    status = ox_datum_sparse(out, values, indices, stored->rank, stored->dims, err);
cleanup:
    ox_tensor_release(values);
    ox_tensor_release(indices);
    return status;
}
