/* CastMap DictVectorizer ZipMap: maps to tensors and back. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/ml/ml_common.h"
#include "ops/real.h"

/* The map of input 0. */
struct map {
    const struct ox_tensor *keys, *values;
};

static enum ox_status map_in(struct ox_run *r, struct map *map, struct ox_error *err)
{
    const struct ox_datum *d = r->in[0];
    if (d->kind != OX_DATUM_MAP || d->n_items != 1 || d->items[0]->kind != OX_DATUM_TENSOR)
        return ox_run_fail(r, err, OX_INPUT, "X is no map to numbers or strings");
    map->keys = d->tensor;
    map->values = d->items[0]->tensor;
    if (map->keys->n != map->values->n)
        return ox_run_fail(r, err, OX_INPUT, "X has %zu keys and %zu values", map->keys->n,
                           map->values->n);
    return OX_OK;
}

/* ---- DictVectorizer ----------------------------------------------------------------------------------------------- */

/* Key and its place in the vocabulary. */
struct word {
    const struct ox_str *text;
    int64_t number;
    size_t at;
};

static int compare_words(const void *pa, const void *pb)
{
    const struct word *a = pa, *b = pb;
    if (!a->text)
        return a->number < b->number ? -1 : a->number > b->number;
    size_t n = a->text->n < b->text->n ? a->text->n : b->text->n;
    int order = n ? memcmp(a->text->p, b->text->p, n) : 0;
    return order ? order : a->text->n < b->text->n ? -1 : a->text->n > b->text->n;
}

static enum ox_status run_dict_vectorizer(struct ox_run *r, struct ox_error *err)
{
    struct map map = {0};
    size_t n_strings, n_ints;
    OX_TRY(map_in(r, &map, err));
    const struct ox_str *strings = ox_run_strings(r, "string_vocabulary", &n_strings);
    const int64_t *ints = ox_run_ints(r, "int64_vocabulary", &n_ints);
    bool text = map.keys->dtype == OX_STRING;
    size_t n = text ? n_strings : n_ints;
    if (n_strings && n_ints)
        return ox_run_fail(r, err, OX_INPUT, "both vocabularies are given");
    if (n == 0)
        return ox_run_fail(r, err, OX_INPUT, "there is no vocabulary for keys of %s",
                           ox_dtype_name(map.keys->dtype));
    const int64_t dims[2] = {1, (int64_t)n};
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, map.values->dtype, 2, dims, &y, err));
    size_t size = ox_dtype_size(y->dtype);
    if (y->dtype != OX_STRING)
        memset(y->data, 0, n * size);
    struct word *words = ox_run_scratch(r, map.keys->n, sizeof *words, err);
    if (!words)
        return OX_NO_MEMORY;
    for (size_t k = 0; k < map.keys->n; k++)
        words[k] = (struct word){text ? (const struct ox_str *)map.keys->data + k : NULL,
                                 text ? 0 : ox_tensor_get_int(map.keys, k), k};
    qsort(words, map.keys->n, sizeof *words, compare_words);
    for (size_t i = 0; i < n; i++) {
        const struct word wanted = {text ? strings + i : NULL, text ? 0 : ints[i], 0};
        const struct word *found =
            bsearch(&wanted, words, map.keys->n, sizeof *words, compare_words);
        if (!found)
            continue;
        const char *value = (const char *)map.values->data + found->at * size;
        if (y->dtype == OX_STRING) {
            const struct ox_str *s = (const void *)value;
            OX_TRY(ox_tensor_set_string(y, i, s->p, s->n, err));
        } else {
            memcpy((char *)y->data + i * size, value, size);
        }
    }
    return OX_OK;
}

static void infer_dict_vectorizer(struct ox_infer *c)
{
    const struct ox_type *x = ox_infer_type(c, 0);
    if (x && x->kind == OX_TYPE_MAP && x->inner && x->inner->kind == OX_TYPE_TENSOR)
        ox_infer_set_dtype(c, 0, x->inner->elem);
    size_t strings = ox_ml_attr_count(c, "string_vocabulary");
    size_t ints = ox_ml_attr_count(c, "int64_vocabulary");
    if (strings && ints)
        return; /* refused by the kernel */
    size_t n = strings ? strings : ints;
    const struct ox_expr *dims[2] = {ox_infer_num(c, 1), ox_infer_num(c, (int64_t)n)};
    ox_infer_set_shape(c, 0, 2, dims);
}

/* ---- CastMap ------------------------------------------------------------------------------------------------------ */

static enum ox_status cast_to(const struct ox_run *r, enum ox_dtype *dtype, struct ox_error *err)
{
    const char *name = ox_run_string(r, "cast_to");
    if (!name || strcmp(name, "TO_FLOAT") == 0)
        *dtype = OX_FLOAT32;
    else if (strcmp(name, "TO_STRING") == 0)
        *dtype = OX_STRING;
    else if (strcmp(name, "TO_INT64") == 0)
        *dtype = OX_INT64;
    else
        return ox_run_fail(r, err, OX_INPUT, "attribute cast_to is '%s'", name);
    return OX_OK;
}

static enum ox_status number_of(struct ox_run *r, const struct ox_str *s, double *out,
                                struct ox_error *err)
{
    char *text = ox_arena_strndup(r->scratch, s->p ? s->p : "", s->n), *end;
    if (!text)
        return ox_no_memory(err);
    *out = strtod(text, &end);
    if (end == text || *end)
        return ox_run_fail(r, err, OX_INPUT, "'%.64s' is no number", text);
    return OX_OK;
}

/* Element `at` of y from value `from` of the map; SIZE_MAX: what stands for no value, a zero. */
static enum ox_status cast_value(struct ox_run *r, const struct ox_tensor *values, size_t from,
                                 struct ox_tensor *y, size_t at, struct ox_error *err)
{
    bool text = values->dtype == OX_STRING;
    const struct ox_str *s =
        text && from != SIZE_MAX ? (const struct ox_str *)values->data + from : NULL;
    if (y->dtype == OX_STRING) {
        char digits[64];
        if (s)
            return ox_tensor_set_string(y, at, s->p, s->n, err);
        double v = from == SIZE_MAX ? 0 : ox_tensor_get_double(values, from);
        if (from == SIZE_MAX)
            return ox_tensor_set_string(y, at, "0.f", 3, err); /* what onnxruntime fills up with */
        int n = snprintf(digits, sizeof digits, "%f", v);
        return ox_tensor_set_string(y, at, digits, (size_t)n, err);
    }
    double v = 0;
    if (s)
        OX_TRY(number_of(r, s, &v, err));
    else if (from != SIZE_MAX)
        v = ox_tensor_get_double(values, from);
    ox_elements_convert(y->dtype, (char *)y->data + at * ox_dtype_size(y->dtype), OX_FLOAT64, &v, 1,
                        true);
    return OX_OK;
}

/* DENSE: the values in the order of their keys. SPARSE: max_map places, of which the keys are indices. */
static enum ox_status run_cast_map(struct ox_run *r, struct ox_error *err)
{
    struct map map = {0};
    enum ox_dtype dtype = OX_UNDEFINED;
    OX_TRY(map_in(r, &map, err));
    OX_TRY(cast_to(r, &dtype, err));
    const char *form = ox_run_string(r, "map_form");
    bool sparse = form && strcmp(form, "SPARSE") == 0;
    if (form && !sparse && strcmp(form, "DENSE") != 0)
        return ox_run_fail(r, err, OX_INPUT, "attribute map_form is '%s'", form);
    int64_t n = sparse ? ox_run_int(r, "max_map", 1) : (int64_t)map.keys->n;
    if (n < 0)
        return ox_run_fail(r, err, OX_INPUT, "attribute max_map is %" PRId64, n);
    struct word *words = ox_run_scratch(r, map.keys->n, sizeof *words, err);
    if (!words)
        return OX_NO_MEMORY;
    for (size_t k = 0; k < map.keys->n; k++)
        words[k] = (struct word){NULL, ox_tensor_get_int(map.keys, k), k};
    qsort(words, map.keys->n, sizeof *words, compare_words);
    if (sparse && map.keys->n && words[0].number < 0)
        return ox_run_fail(r, err, OX_INPUT, "X has the key %" PRId64, words[0].number);
    const int64_t dims[2] = {1, n};
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, dtype, 2, dims, &y, err));
    size_t next = 0;
    for (size_t i = 0; i < y->n; i++) {
        bool here = !sparse || (next < map.keys->n && words[next].number == (int64_t)i);
        OX_TRY(cast_value(r, map.values, here ? words[next].at : SIZE_MAX, y, i, err));
        next += here;
    }
    return OX_OK;
}

static void infer_cast_map(struct ox_infer *c)
{
    const char *name = ox_infer_string_attr(c, "cast_to");
    const char *form = ox_infer_string_attr(c, "map_form");
    bool sparse = form && strcmp(form, "SPARSE") == 0;
    ox_infer_set_dtype(c, 0,
                       !name || strcmp(name, "TO_FLOAT") == 0 ? OX_FLOAT32
                       : strcmp(name, "TO_STRING") == 0       ? OX_STRING
                                                              : OX_INT64);
    const struct ox_expr *dims[2] = {ox_infer_num(c, 1), NULL};
    dims[1] = sparse ? ox_infer_num(c, ox_infer_int_attr(c, "max_map", 1))
                     : ox_infer_data_dim(c, "entries");
    ox_infer_set_shape(c, 0, 2, dims);
}

/* ---- ZipMap ------------------------------------------------------------------------------------------------------- */

/* The values are a part of X, whose memory they keep. */
static enum ox_status zip_row(const struct ox_tensor *keys, const struct ox_tensor *x, size_t row,
                              struct ox_datum **out, struct ox_error *err)
{
    struct ox_tensor *values = NULL;
    struct ox_datum *boxed = NULL;
    OX_TRY(ox_tensor_part(&values, x, row * keys->n, keys->n, err));
    enum ox_status status = ox_datum_of_tensor(&boxed, values, err);
    if (status == OX_OK) {
        status = ox_datum_map(out, keys, boxed, err);
        ox_datum_release(boxed);
    }
    ox_tensor_release(values);
    return status;
}

/* The sequence is made of no items first: a row is then built in its place, without references that come and go. */
static enum ox_status zip_rows(struct ox_run *r, const struct ox_ml_rows *rows,
                               const struct ox_tensor *keys, struct ox_error *err)
{
    struct ox_datum *sequence = NULL;
    struct ox_datum **none = ox_run_scratch(r, rows->rows, sizeof(struct ox_datum *), err);
    if (!none)
        return OX_NO_MEMORY;
    OX_TRY(ox_datum_sequence(&sequence, OX_UNDEFINED, none, rows->rows, err));
    enum ox_status status = OX_OK;
    for (size_t i = 0; status == OX_OK && i < rows->rows; i++)
        status = zip_row(keys, rows->x, i, &sequence->items[i], err);
    if (status == OX_OK)
        status = ox_run_out_datum(r, 0, sequence, err);
    ox_datum_release(sequence);
    return status;
}

static enum ox_status run_zip_map(struct ox_run *r, struct ox_error *err)
{
    struct ox_ml_rows rows;
    struct ox_ml_labels labels;
    struct ox_tensor *keys;
    OX_TRY(ox_ml_rows(r, &rows, err));
    ox_ml_labels(r, "classlabels_int64s", "classlabels_strings", &labels);
    if (rows.cols != labels.n)
        return ox_run_fail(r, err, OX_INPUT, "X has %zu columns for %zu labels", rows.cols,
                           labels.n);
    int64_t n = (int64_t)labels.n;
    OX_TRY(ox_tensor_new(&keys, ox_env_budget(r->env), labels.strings ? OX_STRING : OX_INT64, 1, &n,
                         err));
    enum ox_status status = OX_OK;
    if (!labels.strings && labels.n)
        memcpy(keys->data, labels.ints, labels.n * sizeof *labels.ints);
    for (size_t i = 0; status == OX_OK && labels.strings && i < labels.n; i++)
        status = ox_tensor_set_string(keys, i, labels.strings[i].p, labels.strings[i].n, err);
    if (status == OX_OK)
        status = zip_rows(r, &rows, keys, err);
    ox_tensor_release(keys);
    return status;
}

static void infer_zip_map(struct ox_infer *c)
{
    enum ox_dtype key = ox_ml_attr_count(c, "classlabels_strings") ? OX_STRING : OX_INT64;
    const struct ox_type *value = ox_infer_make_tensor(c, OX_FLOAT32, true, 0, NULL);
    ox_infer_set_type(c, 0, ox_infer_make_sequence(c, ox_infer_make_map(c, key, value)));
}

const struct ox_op ox_ops_ml_maps[] = {
    {"ai.onnx.ml", "CastMap", 1, OX_OP_ANY_KIND, .infer = infer_cast_map, .run = run_cast_map},
    {"ai.onnx.ml", "DictVectorizer", 1, OX_OP_ANY_KIND, .infer = infer_dict_vectorizer,
     .run = run_dict_vectorizer},
    {"ai.onnx.ml", "ZipMap", 1, OX_OP_ANY_KIND, .infer = infer_zip_map, .run = run_zip_map},
    {0}};
