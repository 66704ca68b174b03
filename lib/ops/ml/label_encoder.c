/* LabelEncoder (1, 2, 4), CategoryMapper, OneHotEncoder: elements looked up in a list of keys. */
#include <inttypes.h>
#include <string.h>

#include "ops/categories.h"
#include "ops/fast/fast.h"
#include "ops/ml/ml_common.h"
#include "ops/real.h"

enum {
    CHUNK = 256,
    LEAST_KEPT = 16
}; /* elements looked up at a time; keys that a table pays for */

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

struct mapping {
    struct ox_categories keys;
    const struct ox_tensor *x;
    struct ox_tensor *y;
    const char *values; /* of y's type, the one for what is not found last */
};

static void map_chunk(const struct mapping *m, size_t at, size_t n, const uint32_t *places)
{
    const size_t size = ox_dtype_size(m->y->dtype), unknown = m->keys.n;
    if (size == 4) {
        const uint32_t *from = (const uint32_t *)(const void *)m->values;
        uint32_t *to = (uint32_t *)m->y->data + at;
        for (size_t i = 0; i < n; i++)
            to[i] = from[places[i] == OX_NO_CATEGORY ? unknown : places[i]];
    } else if (size == 8) {
        const uint64_t *from = (const uint64_t *)(const void *)m->values;
        uint64_t *to = (uint64_t *)m->y->data + at;
        for (size_t i = 0; i < n; i++)
            to[i] = from[places[i] == OX_NO_CATEGORY ? unknown : places[i]];
    } else {
        char *to = (char *)m->y->data + at * size;
        for (size_t i = 0; i < n; i++, to += size)
            memcpy(to, m->values + (places[i] == OX_NO_CATEGORY ? unknown : places[i]) * size,
                   size);
    }
}

static void map_elements(void *arg, size_t from, size_t to)
{
    const struct mapping *m = arg;
    uint32_t places[CHUNK];
    for (size_t at = from, n; at < to; at += n) {
        n = to - at < CHUNK ? to - at : CHUNK;
        ox_categories_find(&m->keys, m->x, at, n, places);
        map_chunk(m, at, n, places);
    }
}

/* Strings of y: the characters of each value are copied once, when it is first met. */
static enum ox_status map_to_strings(struct ox_run *r, const struct mapping *m,
                                     const struct ox_str *values, const struct ox_str *unknown,
                                     struct ox_error *err)
{
    const size_t n_values = m->keys.n;
    struct ox_str *to = m->y->data, *made = ox_run_scratch(r, n_values + 1, sizeof *made, err);
    uint32_t places[CHUNK];
    if (!made)
        return OX_NO_MEMORY;
    for (size_t at = 0, n; at < m->x->n; at += n) {
        n = m->x->n - at < CHUNK ? m->x->n - at : CHUNK;
        ox_categories_find(&m->keys, m->x, at, n, places);
        for (size_t i = 0; i < n; i++) {
            const bool known = places[i] != OX_NO_CATEGORY;
            const size_t place = known ? places[i] : n_values;
            if (!made[place].p) {
                const struct ox_str *s = known ? &values[place] : unknown;
                OX_TRY(ox_tensor_set_string(m->y, at + i, s->p, s->n, err));
                made[place] = to[at + i];
            }
            to[at + i] = made[place];
        }
    }
    return OX_OK;
}

/* Values that are no strings, as m wants them. */
static void convert_values(const struct ox_tensor *values, const struct ox_tensor *unknown,
                           enum ox_dtype dtype, char *to)
{
    ox_elements_convert(dtype, to, values->dtype, values->data, values->n, true);
    ox_elements_convert(dtype, to + values->n * ox_dtype_size(dtype), unknown->dtype, unknown->data,
                        1, true);
}

/* What each key becomes. Of keys that stand twice the first or the last counts. */
struct lists {
    const struct ox_tensor *keys, *values, *unknown;
    bool last, stay; /* stay: as long as the session */
};

/* What prepare() leaves. */
struct kept {
    struct ox_categories keys;
    char *values; /* NULL: strings */
};

/* Output 0: for each element of X the value at its key's place. */
static enum ox_status map_all(struct ox_run *r, const struct lists *lists, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *list = lists->keys, *values = lists->values,
                           *unknown = lists->unknown;
    const struct kept *kept = ox_run_state(r);
    struct mapping m = {.x = x};
    if (list->n != values->n)
        return ox_run_fail(r, err, OX_INPUT, "there are %zu keys and %zu values", list->n,
                           values->n);
    if ((list->dtype == OX_STRING) != (x->dtype == OX_STRING))
        return ox_run_fail(r, err, OX_INPUT, "keys are %s, but X is %s", ox_dtype_name(list->dtype),
                           ox_dtype_name(x->dtype));
    OX_TRY(ox_run_out(r, 0, values->dtype, x->rank, x->dims, &m.y, err));
    if (kept)
        m.keys = kept->keys;
    else
        OX_TRY(ox_categories(r, list, x->n, lists->last, &m.keys, err));
    if (m.y->dtype == OX_STRING)
        return map_to_strings(r, &m, values->data, unknown->data, err);
    if (kept) {
        m.values = kept->values;
    } else {
        char *made = ox_run_scratch(r, values->n + 1, ox_dtype_size(m.y->dtype), err);
        if (!made)
            return OX_NO_MEMORY;
        convert_values(values, unknown, m.y->dtype, made);
        m.values = made;
    }
    ox_fast_spread(r->env, x->n, CHUNK, list->dtype == OX_STRING ? 10 : 2, map_elements, &m);
    return OX_OK;
}

/* A table of keys, and room behind it, that stay; NULL in *out where it is not worth it. */
static enum ox_status keep_keys(struct ox_run *r, const struct ox_tensor *keys, bool last,
                                size_t bytes, struct kept **out, struct ox_error *err)
{
    const size_t table = (ox_categories_bytes(keys) + 7) / 8 * 8;
    *out = NULL;
    if (keys->n < LEAST_KEPT)
        return OX_OK;
    struct kept *kept = ox_run_keep(r, sizeof *kept + table + bytes, err);
    if (!kept)
        return OX_NO_MEMORY;
    if (!ox_categories_in(kept + 1, keys, last, &kept->keys))
        return ox_run_fail(r, err, OX_LIMIT, "%zu keys are too many", keys->n);
    kept->values = bytes ? (char *)(kept + 1) + table : NULL;
    *out = kept;
    return OX_OK;
}

static enum ox_status keep_lists(struct ox_run *r, const struct lists *lists, struct ox_error *err)
{
    const struct ox_tensor *values = lists->values;
    const size_t bytes =
        values->dtype == OX_STRING ? 0 : (values->n + 1) * ox_dtype_size(values->dtype);
    struct kept *kept;
    if (!lists->stay || lists->keys->n != values->n)
        return OX_OK;
    OX_TRY(keep_keys(r, lists->keys, lists->last, bytes, &kept, err));
    if (kept && kept->values)
        convert_values(values, lists->unknown, values->dtype, kept->values);
    return OX_OK;
}

/* Calls `use` with the node's lists. */
static enum ox_status with_lists(struct ox_run *r,
                                 enum ox_status (*use)(struct ox_run *r, const struct lists *lists,
                                                       struct ox_error *err),
                                 struct ox_error *err)
{
    struct ox_tensor *keys = NULL, *values = NULL, *unknown = NULL;
    size_t n;
    enum ox_status status = list_attr(r, "keys", &keys, err);
    if (status == OX_OK)
        status = list_attr(r, "values", &values, err);
    if (status == OX_OK)
        status = default_attr(r, values->dtype, &unknown, err);
    if (status == OX_OK) {
        /* Strings of a tensor go with it. */
        const bool stay =
            keys->dtype != OX_STRING || keys->data == ox_run_strings(r, "keys_strings", &n);
        const struct lists lists = {keys, values, unknown, .stay = stay};
        status = use(r, &lists, err);
        ox_tensor_release(unknown);
    }
    ox_tensor_release(values);
    ox_tensor_release(keys);
    return status;
}

static enum ox_status run_label_encoder(struct ox_run *r, struct ox_error *err)
{
    return with_lists(r, map_all, err);
}

static enum ox_status prepare_label_encoder(struct ox_run *r, struct ox_error *err)
{
    return r->once ? OX_OK : with_lists(r, keep_lists, err);
}

/* ---- Strings and numbers that stand for each other ---------------------------------------------------------------- */

/* Both ways: strings become their number, numbers their string. */
static enum ox_status
with_pairs(struct ox_run *r, size_t n, const struct ox_str *strings, const int64_t *ints,
           enum ox_status (*use)(struct ox_run *r, const struct lists *lists, struct ox_error *err),
           struct ox_error *err)
{
    struct ox_tensor *s = NULL, *i = NULL, *unknown = NULL;
    bool from_strings = ox_run_in(r, 0)->dtype == OX_STRING;
    enum ox_status status = borrow(OX_STRING, n, strings, &s, err);
    if (status == OX_OK)
        status = borrow(OX_INT64, n, ints, &i, err);
    if (status == OX_OK)
        status = default_attr(r, from_strings ? OX_INT64 : OX_STRING, &unknown, err);
    if (status == OX_OK) {
        const struct lists lists = {from_strings ? s : i, from_strings ? i : s, unknown,
                                    .last = true, .stay = true};
        status = use(r, &lists, err);
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
    return with_pairs(r, n, classes, places, map_all, err);
}

static enum ox_status with_categories(struct ox_run *r,
                                      enum ox_status (*use)(struct ox_run *r,
                                                            const struct lists *lists,
                                                            struct ox_error *err),
                                      struct ox_error *err)
{
    size_t n, n_ints;
    const struct ox_str *strings = ox_run_strings(r, "cats_strings", &n);
    const int64_t *ints = ox_run_ints(r, "cats_int64s", &n_ints);
    if (n != n_ints)
        return ox_run_fail(r, err, OX_INPUT, "there are %zu cats_strings and %zu cats_int64s", n,
                           n_ints);
    return with_pairs(r, n, strings, ints, use, err);
}

static enum ox_status run_category_mapper(struct ox_run *r, struct ox_error *err)
{
    return with_categories(r, map_all, err);
}

static enum ox_status prepare_category_mapper(struct ox_run *r, struct ox_error *err)
{
    return r->once ? OX_OK : with_categories(r, keep_lists, err);
}

/* ---- OneHotEncoder ------------------------------------------------------------------------------------------------ */

static enum ox_status fill_one_hot(struct ox_run *r, const struct ox_tensor *x,
                                   const struct ox_categories *c, struct ox_tensor *y,
                                   struct ox_error *err)
{
    const bool zeros = ox_run_int(r, "zeros", 1) != 0;
    const double one = 1;
    uint32_t places[CHUNK];
    memset(y->data, 0, y->n * ox_dtype_size(y->dtype));
    for (size_t at = 0, n; at < x->n; at += n) {
        n = x->n - at < CHUNK ? x->n - at : CHUNK;
        ox_categories_find(c, x, at, n, places);
        for (size_t i = 0; i < n; i++) {
            if (places[i] == OX_NO_CATEGORY && !zeros)
                return ox_run_fail(r, err, OX_INPUT, "X[%zu] is none of the categories", at + i);
            if (places[i] == OX_NO_CATEGORY)
                continue;
            const size_t to = (at + i) * c->n + places[i];
            if (y->dtype == OX_FLOAT32)
                ((float *)y->data)[to] = 1;
            else
                ox_real_store(y, to, 1, &one);
        }
    }
    return OX_OK;
}

/* The categories for X's type, which the caller releases. */
static enum ox_status list_categories(struct ox_run *r, struct ox_tensor **out,
                                      struct ox_error *err)
{
    const enum ox_dtype dtype = ox_run_in(r, 0)->dtype;
    const bool text = dtype == OX_STRING;
    size_t n_ints, n_strings;
    const int64_t *ints = ox_run_ints(r, "cats_int64s", &n_ints);
    const struct ox_str *strings = ox_run_strings(r, "cats_strings", &n_strings);
    if (text ? n_strings == 0 : n_ints == 0)
        return ox_run_fail(r, err, OX_INPUT, "there is no %s for X of %s",
                           text ? "cats_strings" : "cats_int64s", ox_dtype_name(dtype));
    return text ? borrow(OX_STRING, n_strings, strings, out, err)
                : borrow(OX_INT64, n_ints, ints, out, err);
}

static enum ox_status one_hot(struct ox_run *r, const struct ox_tensor *list, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    const struct kept *kept = ox_run_state(r);
    if (x->rank >= OX_MOST_RANK)
        return ox_run_fail(r, err, OX_LIMIT, "X has rank %u", x->rank);
    int64_t dims[OX_MOST_RANK];
    if (x->rank)
        memcpy(dims, x->dims, x->rank * sizeof *dims);
    dims[x->rank] = (int64_t)list->n;
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, x->rank + 1, dims, &y, err));
    struct ox_categories categories;
    if (kept)
        categories = kept->keys;
    else
        OX_TRY(ox_categories(r, list, x->n, true, &categories, err));
    return fill_one_hot(r, x, &categories, y, err);
}

static enum ox_status run_one_hot_encoder(struct ox_run *r, struct ox_error *err)
{
    struct ox_tensor *list;
    OX_TRY(list_categories(r, &list, err));
    const enum ox_status status = one_hot(r, list, err);
    ox_tensor_release(list);
    return status;
}

static enum ox_status prepare_one_hot_encoder(struct ox_run *r, struct ox_error *err)
{
    struct ox_tensor *list;
    struct kept *kept;
    if (r->once)
        return OX_OK;
    OX_TRY(list_categories(r, &list, err));
    const enum ox_status status = keep_keys(r, list, true, 0, &kept, err);
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
    {"ai.onnx.ml", "CategoryMapper", 1, OX_OP_TEXT, .infer = infer_swap, .run = run_category_mapper,
     .prepare = prepare_category_mapper},
    {"ai.onnx.ml", "LabelEncoder", 1, .infer = infer_swap, .run = run_label_encoder_1},
    {"ai.onnx.ml", "LabelEncoder", 2, OX_OP_TEXT | OX_OP_DOUBLE, .infer = infer_label_encoder,
     .run = run_label_encoder, .prepare = prepare_label_encoder},
    {"ai.onnx.ml", "LabelEncoder", 4, OX_OP_TEXT | OX_OP_DOUBLE, .infer = infer_label_encoder,
     .run = run_label_encoder, .prepare = prepare_label_encoder},
    {"ai.onnx.ml", "OneHotEncoder", 1, OX_OP_TEXT | OX_OP_DOUBLE, .infer = infer_one_hot_encoder,
     .run = run_one_hot_encoder, .prepare = prepare_one_hot_encoder},
    {0}};
