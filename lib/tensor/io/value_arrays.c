/* Values of any kind as arrays of a file: what onnxtool.h says at ox_values_write(). */
#include "tensor/io/value_arrays.h"

#include <stdlib.h>
#include <string.h>

#include "tensor/io/tensor_file.h"

enum { MOST_NESTING = 32 };

static bool grow(struct ox_value_arrays *a)
{
    size_t capacity = a->capacity ? 2 * a->capacity : 16;
    char **names = realloc(a->names, capacity * sizeof(*names));
    if (names)
        a->names = names;
    struct ox_tensor **tensors = realloc(a->tensors, capacity * sizeof(*tensors));
    if (tensors)
        a->tensors = tensors;
    if (!names || !tensors)
        return false;
    a->capacity = capacity;
    return true;
}

/* tensor NULL: an empty array of the type `elem`. */
static enum ox_status add(struct ox_value_arrays *a, const char *name,
                          const struct ox_tensor *tensor, enum ox_dtype elem, struct ox_error *err)
{
    static const int64_t none = 0;
    struct ox_tensor *held;
    if (tensor)
        held = ox_tensor_ref(tensor);
    else
        OX_TRY(ox_tensor_new(&held, NULL, elem ? elem : OX_FLOAT32, 1, &none, err));
    char *copy = a->n < a->capacity || grow(a) ? strdup(name) : NULL;
    if (!copy) {
        ox_tensor_release(held);
        return ox_no_memory(err);
    }
    a->names[a->n] = copy;
    a->tensors[a->n++] = held;
    return OX_OK;
}

static enum ox_status spread(struct ox_value_arrays *a, const struct ox_strbuf *name,
                             const struct ox_datum *value, unsigned depth, struct ox_error *err);

static enum ox_status spread_as(struct ox_value_arrays *a, const struct ox_strbuf *name,
                                const char *suffix, const struct ox_datum *value,
                                enum ox_dtype elem, unsigned depth, struct ox_error *err)
{
    struct ox_strbuf longer = {0};
    ox_strbuf_printf(&longer, "%s%s", name->data, suffix);
    enum ox_status status = longer.failed ? ox_no_memory(err)
                            : value       ? spread(a, &longer, value, depth + 1, err)
                                          : add(a, longer.data, NULL, elem, err);
    ox_strbuf_release(&longer);
    return status;
}

static enum ox_status spread(struct ox_value_arrays *a, const struct ox_strbuf *name,
                             const struct ox_datum *value, unsigned depth, struct ox_error *err)
{
    char index[32];
    if (depth > MOST_NESTING)
        return ox_fail(err, OX_LIMIT, "%.100s: kinds nest too deep", name->data);
    switch (value->kind) {
    case OX_DATUM_TENSOR:
        return add(a, name->data, value->tensor, OX_UNDEFINED, err);
    case OX_DATUM_SEQUENCE:
        for (size_t i = 0; i < value->n_items; i++) {
            snprintf(index, sizeof index, "[%zu]", i);
            OX_TRY(spread_as(a, name, index, value->items[i], OX_UNDEFINED, depth, err));
        }
        return value->n_items ? OX_OK : spread_as(a, name, "[]", NULL, value->elem, depth, err);
    case OX_DATUM_OPTIONAL:
        return value->n_items
                   ? spread_as(a, name, ".some", value->items[0], OX_UNDEFINED, depth, err)
                   : spread_as(a, name, ".none", NULL, value->elem, depth, err);
    case OX_DATUM_MAP: {
        struct ox_datum keys = {.kind = OX_DATUM_TENSOR, .tensor = value->tensor};
        OX_TRY(spread_as(a, name, ".keys", &keys, OX_UNDEFINED, depth, err));
        return spread_as(a, name, ".values", value->items[0], OX_UNDEFINED, depth, err);
    }
    case OX_DATUM_SPARSE: {
        struct ox_datum values = {.kind = OX_DATUM_TENSOR, .tensor = value->tensor};
        struct ox_datum indices = {.kind = OX_DATUM_TENSOR, .tensor = value->indices};
        if (!a->with_sparse)
            break;
        OX_TRY(spread_as(a, name, ".values", &values, OX_UNDEFINED, depth, err));
        return spread_as(a, name, ".indices", &indices, OX_UNDEFINED, depth, err);
    }
    }
    return ox_fail(err, OX_UNSUPPORTED, "'%s' is a sparse tensor: write to a folder (DIR/)",
                   name->data);
}

enum ox_status ox_value_arrays_add(struct ox_value_arrays *arrays, const char *name,
                                   const struct ox_datum *value, struct ox_error *err)
{
    struct ox_strbuf text = {0};
    ox_strbuf_puts(&text, name);
    enum ox_status status = text.failed ? ox_no_memory(err) : spread(arrays, &text, value, 0, err);
    ox_strbuf_release(&text);
    return status;
}

void ox_value_arrays_release(struct ox_value_arrays *arrays)
{
    for (size_t i = 0; i < arrays->n; i++) {
        free(arrays->names[i]);
        ox_tensor_release(arrays->tensors[i]);
    }
    free(arrays->names);
    free(arrays->tensors);
    *arrays = (struct ox_value_arrays){0};
}

enum ox_status ox_values_write(const char *path, size_t n, const char *const *names,
                               struct ox_datum *const *values, struct ox_error *err)
{
    struct ox_value_arrays a = {0};
    enum ox_status status = OX_OK;
    for (size_t i = 0; i < n && status == OX_OK; i++)
        status = ox_value_arrays_add(&a, names[i], values[i], err);
    if (status == OX_OK)
        status = ox_tensors_write(path, a.n, (const char *const *)a.names,
                                  (const struct ox_tensor *const *)a.tensors, err);
    else
        ox_fail_context(err, status, "%s", path);
    ox_value_arrays_release(&a);
    return status;
}

/* ---- And back ------------------------------------------------------------------------------------------------------ */

static enum ox_status gather(struct ox_datum **out, struct ox_tensor_file *file, const char *name,
                             unsigned depth, struct ox_error *err);

/* The value of name + suffix; NULL where there is none. */
static enum ox_status gather_as(struct ox_datum **out, struct ox_tensor_file *file,
                                const char *name, const char *suffix, unsigned depth,
                                struct ox_error *err)
{
    struct ox_strbuf longer = {0};
    ox_strbuf_printf(&longer, "%s%s", name, suffix);
    enum ox_status status =
        longer.failed ? ox_no_memory(err) : gather(out, file, longer.data, depth + 1, err);
    ox_strbuf_release(&longer);
    return status;
}

static enum ox_dtype elem_of(const struct ox_datum *value)
{
    return value->kind == OX_DATUM_TENSOR ? value->tensor->dtype : value->elem;
}

static enum ox_status gather_sequence(struct ox_datum **out, struct ox_tensor_file *file,
                                      const char *name, unsigned depth, struct ox_error *err)
{
    struct ox_datum **items = NULL;
    size_t n = 0, most = ox_tensor_file_count(file);
    enum ox_status status = OX_OK;
    for (; n < most; n++) {
        char index[32];
        struct ox_datum **longer = realloc(items, (n + 1) * sizeof(struct ox_datum *));
        if (!longer) {
            status = ox_no_memory(err);
            break;
        }
        items = longer;
        items[n] = NULL;
        snprintf(index, sizeof index, "[%zu]", n);
        status = gather_as(&items[n], file, name, index, depth, err);
        if (status != OX_OK || !items[n])
            break;
    }
    if (status == OX_OK && n > 0)
        status = ox_datum_sequence(out, elem_of(items[0]), items, n, err);
    for (size_t i = 0; i < n; i++)
        ox_datum_release(items[i]);
    free(items);
    return status;
}

static enum ox_status gather_map(struct ox_datum **out, struct ox_tensor_file *file,
                                 const char *name, unsigned depth, struct ox_error *err)
{
    struct ox_datum *keys = NULL, *values = NULL;
    enum ox_status status = gather_as(&keys, file, name, ".keys", depth, err);
    if (status == OX_OK && keys)
        status = gather_as(&values, file, name, ".values", depth, err);
    if (status == OX_OK && keys)
        status = keys->kind == OX_DATUM_TENSOR && values
                     ? ox_datum_map(out, keys->tensor, values, err)
                     : ox_fail(err, OX_INPUT, "'%s' has keys, but no values", name);
    ox_datum_release(keys);
    ox_datum_release(values);
    return status;
}

/* A value that is empty by its kind: the type of its elements is the array's. */
static bool find_empty(struct ox_tensor_file *file, const char *name, const char *suffix,
                       enum ox_dtype *elem)
{
    struct ox_strbuf longer = {0};
    size_t at;
    ox_strbuf_printf(&longer, "%s%s", name, suffix);
    bool found = !longer.failed && ox_tensor_file_find(file, longer.data, &at);
    if (found)
        *elem = ox_tensor_file_dtype(file, at);
    ox_strbuf_release(&longer);
    return found;
}

static enum ox_status gather(struct ox_datum **out, struct ox_tensor_file *file, const char *name,
                             unsigned depth, struct ox_error *err)
{
    size_t at;
    enum ox_dtype elem;
    *out = NULL;
    if (depth > MOST_NESTING)
        return OX_OK;
    if (ox_tensor_file_find(file, name, &at)) {
        struct ox_tensor *tensor;
        OX_TRY(ox_tensor_file_load(&tensor, file, at, err));
        enum ox_status status = ox_datum_of_tensor(out, tensor, err);
        ox_tensor_release(tensor);
        return status;
    }
    if (find_empty(file, name, "[]", &elem))
        return ox_datum_sequence(out, elem, NULL, 0, err);
    if (find_empty(file, name, ".none", &elem))
        return ox_datum_optional(out, elem, NULL, err);
    /* Longer names are looked for only where some begin so: a file of one name is no tree to search. */
    bool longer = false;
    size_t n = strlen(name);
    for (size_t i = 0; i < ox_tensor_file_count(file) && !longer; i++) {
        const char *other = ox_tensor_file_name(file, i);
        longer = strncmp(other, name, n) == 0 && (other[n] == '[' || other[n] == '.');
    }
    if (!longer)
        return OX_OK;
    OX_TRY(gather_map(out, file, name, depth, err));
    if (!*out)
        OX_TRY(gather_sequence(out, file, name, depth, err));
    if (*out)
        return OX_OK;
    struct ox_datum *held;
    OX_TRY(gather_as(&held, file, name, ".some", depth, err));
    enum ox_status status = held ? ox_datum_optional(out, elem_of(held), held, err) : OX_OK;
    ox_datum_release(held);
    return status;
}

enum ox_status ox_tensor_file_value(struct ox_datum **out, struct ox_tensor_file *file,
                                    const char *name, struct ox_error *err)
{
    return gather(out, file, name, 0, err);
}
