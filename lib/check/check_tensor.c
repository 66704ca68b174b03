/* TensorProtos wherever they stand: one value field, the right one, as long as dims and type need. */
#include <string.h>

#include "check/structure.h"
#include "proto/onnx.pb-c.h"

enum value_field {
    RAW,
    FLOAT_DATA,
    INT32_DATA,
    STRING_DATA,
    INT64_DATA,
    DOUBLE_DATA,
    UINT64_DATA,
    N_FIELDS
};

static const char *const field_names[N_FIELDS] = {"raw_data",    "float_data", "int32_data",
                                                  "string_data", "int64_data", "double_data",
                                                  "uint64_data"};

/* The typed field of an element type; N_FIELDS when there is none. */
static enum value_field field_of(enum ox_dtype dtype)
{
    switch (dtype) {
    case OX_FLOAT32:
    case OX_COMPLEX64:
        return FLOAT_DATA;
    case OX_FLOAT64:
    case OX_COMPLEX128:
        return DOUBLE_DATA;
    case OX_INT64:
        return INT64_DATA;
    case OX_UINT32:
    case OX_UINT64:
        return UINT64_DATA;
    case OX_STRING:
        return STRING_DATA;
    case OX_UNDEFINED:
    case OX_N_DTYPES:
        return N_FIELDS;
    default:
        return INT32_DATA;
    }
}

/* Entries of the typed field that n elements take: complex numbers two, 2- and 4-bit types one for as many as share a byte
 * (as onnx.helper writes int32_data). */
static uint64_t entries_of(enum ox_dtype dtype, uint64_t n)
{
    unsigned bits = ox_dtype_bits(dtype);
    if (dtype == OX_COMPLEX64 || dtype == OX_COMPLEX128)
        return 2 * n;
    if (bits == 4 || bits == 2)
        return (n * bits + 7) / 8;
    return n;
}

struct held {
    uint64_t n[N_FIELDS]; /* entries; of RAW bytes */
    unsigned n_fields;
    enum value_field field; /* the last one that holds something */
};

static struct held look(const struct ox_stored *tensor)
{
    const struct Onnx__TensorProto *p = tensor->proto;
    struct held held = {.n = {tensor->place == OX_STORED_RAW ? tensor->raw_bytes : 0,
                              p->n_float_data, p->n_int32_data, p->n_string_data, p->n_int64_data,
                              p->n_double_data, p->n_uint64_data},
                        .field = N_FIELDS};
    if (tensor->place != OX_STORED_RAW && p->has_raw_data && p->raw_data.len)
        held.n[RAW] = tensor->raw_bytes ? tensor->raw_bytes : 1;
    for (int i = 0; i < N_FIELDS; i++)
        if (held.n[i]) {
            held.n_fields++;
            held.field = (enum value_field)i;
        }
    return held;
}

static bool count_elements(struct ox_checker *c, const struct ox_stored *tensor,
                           const struct ox_place *place, uint64_t *n)
{
    uint64_t count = 1;
    for (unsigned i = 0; i < tensor->rank; i++) {
        if (tensor->dims[i] < 0) {
            ox_findings_add(c->findings, OX_F_TENSOR_DIMS, place, NULL, "dimension %u is %lld", i,
                            (long long)tensor->dims[i]);
            return false;
        }
        if (OX_MUL_OVERFLOWS(count, (uint64_t)tensor->dims[i], &count) || count > INT64_MAX / 16) {
            ox_findings_add(c->findings, OX_F_TENSOR_DIMS, place, NULL,
                            "the product of the %u dims overflows", tensor->rank);
            return false;
        }
    }
    *n = count;
    return true;
}

static void check_inline(struct ox_checker *c, const struct ox_stored *tensor,
                         const struct held *held, uint64_t n, const struct ox_place *place)
{
    enum value_field right = field_of(tensor->dtype);
    if (held->field == RAW && tensor->dtype == OX_STRING) {
        ox_findings_add(c->findings, OX_F_TENSOR_FIELD, place, NULL, "strings are in raw_data");
        return;
    }
    if (held->field != RAW && held->field != right) {
        ox_findings_add(c->findings, OX_F_TENSOR_FIELD, place, NULL,
                        "data of type %s is in %s; it belongs in %s", ox_dtype_name(tensor->dtype),
                        field_names[held->field], field_names[right]);
        return;
    }
    uint64_t needed = entries_of(tensor->dtype, n);
    if (held->field == RAW && !ox_dtype_packed_bytes(tensor->dtype, n, &needed))
        return;
    if (held->n[held->field] != needed)
        ox_findings_add(c->findings, OX_F_TENSOR_DATA_SIZE, place, NULL,
                        "%s holds %llu %s; dims and type %s need %llu", field_names[held->field],
                        (unsigned long long)held->n[held->field],
                        held->field == RAW ? "bytes" : "entries", ox_dtype_name(tensor->dtype),
                        (unsigned long long)needed);
}

static void check_external(struct ox_checker *c, const struct ox_stored *tensor,
                           const struct held *held, const struct ox_place *place)
{
    if (held->n_fields)
        ox_findings_add(c->findings, OX_F_EXTERNAL_AND_INLINE, place, NULL,
                        "data is external, yet %s is set too", field_names[held->field]);
    if (!tensor->location) {
        ox_findings_add(c->findings, OX_F_EXTERNAL_NO_LOCATION, place, NULL,
                        "external data has no location");
        return;
    }
    struct ox_error err = {0};
    if (ox_stored_verify(c->model, tensor, &err) != OX_OK)
        ox_findings_add(c->findings, OX_F_EXTERNAL_BAD, place, NULL, "%s", err.message);
}

void ox_check_tensor(struct ox_checker *c, const struct ox_stored *tensor,
                     const struct ox_place *place)
{
    if (!tensor->proto)
        return;
    if (tensor->dtype <= OX_UNDEFINED || tensor->dtype >= OX_N_DTYPES) {
        if (tensor->data_type == 0)
            ox_findings_add(c->findings, OX_F_TENSOR_TYPE, place, NULL, "data_type is not set");
        else
            ox_findings_add(c->findings, OX_F_TENSOR_TYPE, place, NULL,
                            "data_type is %d, which is no type", tensor->data_type);
        return;
    }
    if (tensor->proto->segment)
        ox_findings_add(c->findings, OX_F_TENSOR_SEGMENT, place, NULL, "the tensor is a segment");
    struct held held = look(tensor);
    uint64_t n;
    if (!count_elements(c, tensor, place, &n))
        return;
    if (tensor->place == OX_STORED_EXTERNAL)
        check_external(c, tensor, &held, place);
    else if (held.n_fields > 1)
        ox_findings_add(c->findings, OX_F_TENSOR_TWO_VALUES, place, NULL,
                        "%u value fields are set, %s among them", held.n_fields,
                        field_names[held.field]);
    else if (held.n_fields == 0 && n)
        ox_findings_add(c->findings, OX_F_TENSOR_DATA_SIZE, place, NULL,
                        "no data; dims need %llu elements", (unsigned long long)n);
    else if (held.n_fields == 1)
        check_inline(c, tensor, &held, n, place);
}

/* ---- Sparse tensors ----------------------------------------------------------------------------------------------- */

/* Row i of the indices as one number; false when one is out of range, at *k. Dims are positive and their product was checked. */
static bool linear_index(const struct ox_stored_sparse *sparse, const int64_t *row, unsigned width,
                         int64_t n_dense, int64_t *index, unsigned *k)
{
    *index = row[0];
    *k = 0;
    if (width == 1 && sparse->rank != 1)
        return row[0] >= 0 && row[0] < n_dense;
    *index = 0;
    for (*k = 0; *k < width; ++*k) {
        if (row[*k] < 0 || row[*k] >= sparse->dims[*k])
            return false;
        *index = *index * sparse->dims[*k] + row[*k];
    }
    return true;
}

static void check_order(struct ox_checker *c, const struct ox_stored_sparse *sparse,
                        int64_t n_dense, const struct ox_place *place)
{
    struct ox_tensor *indices = NULL;
    if (ox_stored_load(c->model, sparse->indices, &indices, NULL) != OX_OK)
        return; /* reported with the tensor itself */
    const int64_t *rows = indices->data;
    unsigned width = indices->rank == 2 ? (unsigned)indices->dims[1] : 1;
    int64_t before = -1;
    for (int64_t i = 0; i < indices->dims[0]; i++) {
        int64_t index;
        unsigned k;
        if (!linear_index(sparse, rows + (size_t)i * width, width, n_dense, &index, &k)) {
            ox_findings_add(c->findings, OX_F_SPARSE_INDEX_RANGE, place, NULL,
                            "index %lld of value %lld is out of range",
                            (long long)rows[(size_t)i * width + k], (long long)i);
            break;
        }
        if (index <= before) {
            ox_findings_add(c->findings, OX_F_SPARSE_UNSORTED, place, NULL,
                            "the index of value %lld does not ascend", (long long)i);
            break;
        }
        before = index;
    }
    ox_tensor_release(indices);
}

static void check_indices(struct ox_checker *c, const struct ox_stored_sparse *sparse,
                          int64_t n_dense, const struct ox_place *place)
{
    const struct ox_stored *indices = sparse->indices;
    int64_t n_values = sparse->values->dims[0];
    if (!indices) {
        if (n_values)
            ox_findings_add(c->findings, OX_F_SPARSE_INDICES, place, NULL,
                            "%lld values, but no indices", (long long)n_values);
        return;
    }
    size_t before = ox_findings_errors(c->findings);
    ox_check_tensor(c, indices, place);
    if (indices->dtype != OX_INT64)
        ox_findings_add(c->findings, OX_F_SPARSE_INDICES, place, NULL, "indices are %s, not int64",
                        ox_dtype_name(indices->dtype));
    else if (indices->rank != 1 && indices->rank != 2)
        ox_findings_add(c->findings, OX_F_SPARSE_INDICES, place, NULL,
                        "indices have rank %u, not 1 or 2", indices->rank);
    else if (indices->dims[0] != n_values)
        ox_findings_add(c->findings, OX_F_SPARSE_INDICES, place, NULL,
                        "%lld indices for %lld values", (long long)indices->dims[0],
                        (long long)n_values);
    else if (indices->rank == 2 && indices->dims[1] != (int64_t)sparse->rank)
        ox_findings_add(c->findings, OX_F_SPARSE_INDICES, place, NULL,
                        "indices have %lld columns for rank %u", (long long)indices->dims[1],
                        sparse->rank);
    else if (ox_findings_errors(c->findings) == before && n_dense)
        check_order(c, sparse, n_dense, place);
}

void ox_check_sparse(struct ox_checker *c, const struct ox_stored_sparse *sparse,
                     const struct ox_place *place)
{
    if (!sparse->values) {
        ox_findings_add(c->findings, OX_F_SPARSE_VALUES, place, NULL,
                        "a sparse tensor has no values");
        return;
    }
    size_t before = ox_findings_errors(c->findings);
    ox_check_tensor(c, sparse->values, place);
    if (sparse->values->rank != 1)
        ox_findings_add(c->findings, OX_F_SPARSE_VALUES, place, NULL, "values have rank %u, not 1",
                        sparse->values->rank);
    int64_t n_dense = 1;
    bool fits = sparse->rank > 0;
    for (unsigned i = 0; fits && i < sparse->rank; i++)
        fits = sparse->dims[i] > 0 && !OX_MUL_OVERFLOWS(n_dense, sparse->dims[i], &n_dense);
    if (!fits)
        ox_findings_add(
            c->findings, OX_F_SPARSE_DIMS, place, NULL,
            "a sparse tensor needs dims, all positive, with a product of at most 63 bits");
    if (fits && ox_findings_errors(c->findings) == before)
        check_indices(c, sparse, n_dense, place);
}
