/* LabelEncoder (1, 2, 4), CategoryMapper, OneHotEncoder: elements looked up in a list of keys. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/strmap.h"
#include "ops/ml_common.h"
#include "ops/real.h"

/* Keys of one kind: strings, integers, or numbers; the latter two by eight bytes each, floats as doubles with one zero and one
 * NaN. */
struct keys {
    struct ox_strmap
        map; /* empty where few numbers are looked up: they are searched for in a row */
    bool in_a_row, last;
    size_t n;
    const struct ox_str *strings; /* NULL: numbers */
    uint64_t *bits;
    bool floats;
};

static uint64_t bits_of(const struct ox_tensor *t, size_t i, bool floats)
{
    uint64_t bits;
    if (floats) {
        double x = ox_tensor_get_double(t, i);
        x = isnan(x) ? (double)NAN : x == 0 ? 0 : x;
        memcpy(&bits, &x, sizeof bits);
    } else {
        int64_t x = ox_tensor_get_int(t, i);
        memcpy(&bits, &x, sizeof bits);
    }
    return bits;
}

/* Of a key that is listed twice the first place counts, or the last one: onnxruntime does the former where the standard pairs
 * keys and values, the latter elsewhere. The map is the caller's to release, also on failure. */
static enum ox_status index_keys(struct ox_run *r, const struct ox_tensor *list, size_t n_searches,
                                 bool last, struct keys *keys, struct ox_error *err)
{
    enum { FEW = 32 }; /* searches that take less time than making the map */
    ox_strmap_init(&keys->map);
    keys->last = last;
    keys->n = list->n;
    keys->strings = list->dtype == OX_STRING ? list->data : NULL;
    keys->floats = ox_dtype_is_float(list->dtype);
    if (keys->n >= OX_STRMAP_NONE)
        return ox_run_fail(r, err, OX_LIMIT, "%zu keys are too many", keys->n);
    if (!keys->strings && !(keys->bits = ox_run_scratch(r, keys->n, sizeof *keys->bits, err)))
        return OX_NO_MEMORY;
    keys->in_a_row = !keys->strings && n_searches <= FEW;
    for (size_t i = 0; !keys->strings && i < keys->n; i++)
        keys->bits[i] = bits_of(list, i, keys->floats);
    if (!keys->in_a_row && !ox_strmap_reserve(&keys->map, keys->n))
        return ox_no_memory(err);
    for (size_t i = 0; !keys->in_a_row && i < keys->n; i++) {
        uint32_t value = (uint32_t)i;
        const char *key = keys->strings ? keys->strings[i].p : (const char *)&keys->bits[i];
        size_t bytes = keys->strings ? keys->strings[i].n : sizeof keys->bits[i];
        key = key ? key : "";
        if (last)
            ox_strmap_remove(&keys->map, key, bytes);
        if (!ox_strmap_add(&keys->map, key, bytes, &value, NULL))
            return ox_no_memory(err);
    }
    return OX_OK;
}

static uint32_t search(const struct keys *keys, uint64_t bits)
{
    uint32_t at = OX_STRMAP_NONE;
    for (size_t i = 0; i < keys->n; i++) {
        if (keys->bits[i] != bits)
            continue;
        at = (uint32_t)i;
        if (!keys->last)
            break;
    }
    return at;
}

/* The place of element i of x among the keys; OX_STRMAP_NONE. */
static uint32_t look_up(const struct keys *keys, const struct ox_tensor *x, size_t i)
{
    if (keys->strings) {
        const struct ox_str *s = (const struct ox_str *)x->data + i;
        return ox_strmap_find(&keys->map, s->p ? s->p : "", s->n);
    }
    uint64_t bits = bits_of(x, i, keys->floats);
    if (keys->in_a_row)
        return search(keys, bits);
    return ox_strmap_find(&keys->map, (const char *)&bits, sizeof bits);
}

/* ---- Lists as tensors --------------------------------------------------------------------------------------------- */

/* A list attribute as a borrowed tensor, which the caller releases. */
static enum ox_status borrow(enum ox_dtype dtype, size_t n, const void *data,
                             struct ox_tensor **out, struct ox_error *err)
{
    int64_t dim = (int64_t)n;
    return ox_tensor_borrow(out, dtype, 1, &dim, data, NULL, NULL, err);
}

/* The list that a node gives under one of "<stem>_tensor", "<stem>_strings", "<stem>_int64s", "<stem>_floats"; NULL: none. */
static enum ox_status list_attr(struct ox_run *r, const char *stem, struct ox_tensor **out,
                                struct ox_error *err)
{
    bool keys = strcmp(stem, "keys") == 0;
    size_t n;
    OX_TRY(ox_run_tensor_attr(r, keys ? "keys_tensor" : "values_tensor", out, err));
    if (*out)
        return OX_OK;
    const void *data = ox_run_strings(r, keys ? "keys_strings" : "values_strings", &n);
    if (n)
        return borrow(OX_STRING, n, data, out, err);
    data = ox_run_ints(r, keys ? "keys_int64s" : "values_int64s", &n);
    if (n)
        return borrow(OX_INT64, n, data, out, err);
    data = ox_run_floats(r, keys ? "keys_floats" : "values_floats", &n);
    if (n)
        return borrow(OX_FLOAT32, n, data, out, err);
    return ox_run_fail(r, err, OX_INPUT, "there are no %s", stem);
}

/* The element for what is not found, in the type of the values. */
static enum ox_status default_attr(struct ox_run *r, enum ox_dtype dtype, struct ox_tensor **out,
                                   struct ox_error *err)
{
    OX_TRY(ox_run_tensor_attr(r, "default_tensor", out, err));
    if (*out) {
        if ((*out)->n == 1 && (*out)->dtype == dtype)
            return OX_OK;
        enum ox_dtype given = (*out)->dtype;
        size_t n = (*out)->n;
        ox_tensor_release(*out);
        return ox_run_fail(r, err, OX_INPUT,
                           "attribute default_tensor has %zu elements of %s, not one of %s", n,
                           ox_dtype_name(given), ox_dtype_name(dtype));
    }
    OX_TRY(ox_tensor_new(out, ox_env_budget(r->env), dtype, 0, NULL, err));
    enum ox_status status = OX_OK;
    if (dtype == OX_STRING) {
        const char *s = ox_run_string(r, "default_string");
        s = s ? s : "_Unused";
        status = ox_tensor_set_string(*out, 0, s, strlen(s), err);
    } else if (ox_dtype_is_float(dtype)) {
        float f = ox_run_float(r, "default_float", -0.0f);
        ox_elements_convert(dtype, (*out)->data, OX_FLOAT32, &f, 1, true);
    } else {
        int64_t i = ox_run_int(r, "default_int64", -1);
        ox_elements_convert(dtype, (*out)->data, OX_INT64, &i, 1, true);
    }
    if (status != OX_OK)
        ox_tensor_release(*out);
    return status;
}

/* Output 0: for each element of X the value at its key's place. */
static enum ox_status map_elements(struct ox_run *r, const struct ox_tensor *list,
                                   const struct ox_tensor *values, const struct ox_tensor *unknown,
                                   bool last, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    struct ox_tensor *y;
    struct keys keys = {.n = 0};
    if (list->n != values->n)
        return ox_run_fail(r, err, OX_INPUT, "there are %zu keys and %zu values", list->n,
                           values->n);
    if ((list->dtype == OX_STRING) != (x->dtype == OX_STRING))
        return ox_run_fail(r, err, OX_INPUT, "keys are %s, but X is %s", ox_dtype_name(list->dtype),
                           ox_dtype_name(x->dtype));
    OX_TRY(ox_run_out(r, 0, values->dtype, x->rank, x->dims, &y, err));
    enum ox_status status = index_keys(r, list, x->n, last, &keys, err);
    size_t from_size = ox_dtype_size(values->dtype), to_size = ox_dtype_size(y->dtype);
    for (size_t i = 0; status == OX_OK && i < x->n; i++) {
        uint32_t at = look_up(&keys, x, i);
        const struct ox_tensor *from = at == OX_STRMAP_NONE ? unknown : values;
        const char *element =
            (const char *)from->data + (at == OX_STRMAP_NONE ? 0 : at) * from_size;
        if (y->dtype == OX_STRING) {
            const struct ox_str *s = (const void *)element;
            status = ox_tensor_set_string(y, i, s->p, s->n, err);
        } else {
            ox_elements_convert(y->dtype, (char *)y->data + i * to_size, values->dtype, element, 1,
                                true);
        }
    }
    ox_strmap_release(&keys.map);
    return status;
}

static enum ox_status run_label_encoder(struct ox_run *r, struct ox_error *err)
{
    struct ox_tensor *keys = NULL, *values = NULL, *unknown = NULL;
    enum ox_status status = list_attr(r, "keys", &keys, err);
    if (status == OX_OK)
        status = list_attr(r, "values", &values, err);
    if (status == OX_OK)
        status = default_attr(r, values->dtype, &unknown, err);
    if (status == OX_OK) {
        status = map_elements(r, keys, values, unknown, false, err);
        ox_tensor_release(unknown);
    }
    ox_tensor_release(values);
    ox_tensor_release(keys);
    return status;
}

/* ---- Strings and numbers that stand for each other ---------------------------------------------------------------- */

/* Both ways: strings become their number, numbers their string. */
static enum ox_status swap_elements(struct ox_run *r, size_t n, const struct ox_str *strings,
                                    const int64_t *ints, struct ox_error *err)
{
    struct ox_tensor *s = NULL, *i = NULL, *unknown = NULL;
    bool from_strings = ox_run_in(r, 0)->dtype == OX_STRING;
    enum ox_status status = borrow(OX_STRING, n, strings, &s, err);
    if (status == OX_OK)
        status = borrow(OX_INT64, n, ints, &i, err);
    if (status == OX_OK)
        status = default_attr(r, from_strings ? OX_INT64 : OX_STRING, &unknown, err);
    if (status == OX_OK) {
        status = map_elements(r, from_strings ? s : i, from_strings ? i : s, unknown, true, err);
        ox_tensor_release(unknown);
    }
    ox_tensor_release(i);
    ox_tensor_release(s);
    return status;
}

/* Numbered by place. */
static enum ox_status run_label_encoder_1(struct ox_run *r, struct ox_error *err)
{
    size_t n;
    const struct ox_str *classes = ox_run_strings(r, "classes_strings", &n);
    int64_t *places = ox_run_scratch(r, n, sizeof *places, err);
    if (!places)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        places[i] = (int64_t)i;
    return swap_elements(r, n, classes, places, err);
}

static enum ox_status run_category_mapper(struct ox_run *r, struct ox_error *err)
{
    size_t n, n_ints;
    const struct ox_str *strings = ox_run_strings(r, "cats_strings", &n);
    const int64_t *ints = ox_run_ints(r, "cats_int64s", &n_ints);
    if (n != n_ints)
        return ox_run_fail(r, err, OX_INPUT, "there are %zu cats_strings and %zu cats_int64s", n,
                           n_ints);
    return swap_elements(r, n, strings, ints, err);
}

/* ---- OneHotEncoder ------------------------------------------------------------------------------------------------ */

static enum ox_status fill_one_hot(struct ox_run *r, const struct ox_tensor *x,
                                   const struct keys *keys, struct ox_tensor *y,
                                   struct ox_error *err)
{
    bool zeros = ox_run_int(r, "zeros", 1) != 0;
    memset(y->data, 0, y->n * ox_dtype_size(y->dtype));
    for (size_t i = 0; i < x->n; i++) {
        uint32_t at = look_up(keys, x, i);
        if (at == OX_STRMAP_NONE && !zeros)
            return ox_run_fail(r, err, OX_INPUT, "X[%zu] is none of the categories", i);
        if (at == OX_STRMAP_NONE)
            continue;
        const double one = 1;
        ox_real_store(y, i * keys->n + at, 1, &one);
    }
    return OX_OK;
}

static enum ox_status run_one_hot_encoder(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    size_t n_ints, n_strings;
    const int64_t *ints = ox_run_ints(r, "cats_int64s", &n_ints);
    const struct ox_str *strings = ox_run_strings(r, "cats_strings", &n_strings);
    bool text = x->dtype == OX_STRING;
    if (text ? n_strings == 0 : n_ints == 0)
        return ox_run_fail(r, err, OX_INPUT, "there is no %s for X of %s",
                           text ? "cats_strings" : "cats_int64s", ox_dtype_name(x->dtype));
    if (x->rank >= OX_MOST_RANK)
        return ox_run_fail(r, err, OX_LIMIT, "X has rank %u", x->rank);
    int64_t dims[OX_MOST_RANK];
    if (x->rank)
        memcpy(dims, x->dims, x->rank * sizeof *dims);
    dims[x->rank] = (int64_t)(text ? n_strings : n_ints);
    struct ox_tensor *y, *list;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, x->rank + 1, dims, &y, err));
    OX_TRY(text ? borrow(OX_STRING, n_strings, strings, &list, err)
                : borrow(OX_INT64, n_ints, ints, &list, err));
    struct keys keys = {.n = 0};
    enum ox_status status = index_keys(r, list, x->n, true, &keys, err);
    if (status == OX_OK)
        status = fill_one_hot(r, x, &keys, y, err);
    ox_strmap_release(&keys.map);
    ox_tensor_release(list);
    return status;
}

/* ---- Shapes ------------------------------------------------------------------------------------------------------- */

static const char *const label_lists[][2] = {{"keys_strings", "values_strings"},
                                             {"keys_int64s", "values_int64s"},
                                             {"keys_floats", "values_floats"},
                                             {"keys_tensor", "values_tensor"}};

static void keys_are(struct ox_infer *c, const char *name, enum ox_dtype dtype)
{
    enum ox_dtype x = ox_infer_dtype(c, 0);
    if (x != OX_UNDEFINED && x != dtype)
        ox_infer_conflict(c, "X is %s, %s %s", ox_dtype_name(x), name, ox_dtype_name(dtype));
}

static void infer_label_encoder(struct ox_infer *c)
{
    static const enum ox_dtype of_lists[] = {OX_STRING, OX_INT64, OX_FLOAT32};
    const struct ox_attr *tensor = ox_infer_attr(c, "values_tensor");
    const struct ox_attr *key_tensor = ox_infer_attr(c, "keys_tensor");
    size_t n_keys = 0, n_values = 0;
    if (key_tensor && key_tensor->type == OX_ATTR_TENSOR && key_tensor->n)
        keys_are(c, "keys_tensor", key_tensor->tensor->dtype);
    for (size_t i = 0; i < OX_COUNT(label_lists); i++) {
        if (i < OX_COUNT(of_lists) && ox_infer_attr(c, label_lists[i][0]))
            keys_are(c, label_lists[i][0], of_lists[i]);
        n_keys += ox_ml_attr_length(c, label_lists[i][0]);
        n_values += ox_ml_attr_length(c, label_lists[i][1]);
    }
    if (n_keys != n_values)
        ox_infer_conflict(c, "%zu keys have %zu values", n_keys, n_values);
    ox_infer_same_shape(c, 0, 0);
    if (tensor && tensor->type == OX_ATTR_TENSOR && tensor->n)
        ox_infer_set_dtype(c, 0, tensor->tensor->dtype);
    else if (ox_ml_attr_count(c, "values_strings"))
        ox_infer_set_dtype(c, 0, OX_STRING);
    else if (ox_ml_attr_count(c, "values_int64s"))
        ox_infer_set_dtype(c, 0, OX_INT64);
    else if (ox_ml_attr_count(c, "values_floats"))
        ox_infer_set_dtype(c, 0, OX_FLOAT32);
}

static void infer_swap(struct ox_infer *c)
{
    enum ox_dtype in = ox_infer_dtype(c, 0);
    ox_infer_same_shape(c, 0, 0);
    if (in != OX_UNDEFINED)
        ox_infer_set_dtype(c, 0, in == OX_STRING ? OX_INT64 : OX_STRING);
}

static void infer_one_hot_encoder(struct ox_infer *c)
{
    unsigned rank;
    const struct ox_expr *const *x;
    if (!ox_infer_shape(c, 0, &rank, &x))
        return;
    const struct ox_expr **dims = ox_infer_dims(c, rank + 1);
    if (!dims)
        return;
    for (unsigned i = 0; i < rank; i++)
        dims[i] = x[i];
    bool text = ox_infer_dtype(c, 0) == OX_STRING;
    dims[rank] =
        ox_infer_num(c, (int64_t)ox_ml_attr_count(c, text ? "cats_strings" : "cats_int64s"));
    ox_infer_set_shape(c, 0, rank + 1, dims);
}

const struct ox_op ox_ops_label_encoder[] = {
    {"ai.onnx.ml", "CategoryMapper", 1, .infer = infer_swap, .run = run_category_mapper},
    {"ai.onnx.ml", "LabelEncoder", 1, .infer = infer_swap, .run = run_label_encoder_1},
    {"ai.onnx.ml", "LabelEncoder", 2, .infer = infer_label_encoder, .run = run_label_encoder},
    {"ai.onnx.ml", "LabelEncoder", 4, .infer = infer_label_encoder, .run = run_label_encoder},
    {"ai.onnx.ml", "OneHotEncoder", 1, .infer = infer_one_hot_encoder, .run = run_one_hot_encoder},
    {0}};
