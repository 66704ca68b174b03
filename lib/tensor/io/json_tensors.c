/* Tensors in JSON: nested arrays, {"dtype", "shape", "data"}, or an object of either by name. */
#include <string.h>

#include "common/json_reader.h"
#include "common/number.h"
#include "tensor/io/tensor_file.h"

enum { MAX_RANK = 64 };

/* What a first walk over nested arrays finds. */
struct survey {
    unsigned rank;
    bool has_rank; /* an element, or the innermost empty array, was seen */
    int64_t dims[MAX_RANK];
    size_t counts[MAX_RANK];
    size_t numbers, wholes, naturals, bools, strings, specials;
};

/* A value of the document, to be walked over again. */
struct place {
    const char *at, *end;
    const char *start;
};

static void reader_at(struct ox_json_reader *json, const struct ox_tensor_file *file,
                      const struct place *place)
{
    ox_json_read_init(json, file->path, place->start, (size_t)(place->end - place->start),
                      file->env->limits.json_depth);
    json->at = place->at;
}

static bool is_special(const struct ox_json_reader *json)
{
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; i < OX_COUNT(words); i++)
        if (json->n == strlen(words[i]) && memcmp(json->text, words[i], json->n) == 0)
            return true;
    return false;
}

static void count_number(struct survey *survey, const struct ox_json_reader *json)
{
    int64_t whole;
    uint64_t natural;
    survey->numbers++;
    if (ox_number_parse_int(json->text, json->n, &whole))
        survey->wholes++;
    else if (ox_number_parse_uint(json->text, json->n, &natural))
        survey->naturals++;
}

static enum ox_status survey_element(struct survey *survey, struct ox_json_reader *json,
                                     enum ox_json_token token, unsigned depth, struct ox_error *err)
{
    if (survey->has_rank && survey->rank != depth)
        return ox_json_read_fail(json, err, "an element %u arrays deep among others %u deep", depth,
                                 survey->rank);
    survey->has_rank = true;
    survey->rank = depth;
    if (token == OX_JSON_NUMBER)
        count_number(survey, json);
    else if (token == OX_JSON_TRUE || token == OX_JSON_FALSE)
        survey->bools++;
    else if (token != OX_JSON_STRING)
        return ox_json_read_fail(json, err, "neither a number, a string, true nor false");
    else if (is_special(json))
        survey->specials++;
    else
        survey->strings++;
    return OX_OK;
}

static enum ox_status close_array(struct survey *survey, struct ox_json_reader *json,
                                  unsigned depth, struct ox_error *err)
{
    int64_t count = (int64_t)survey->counts[depth];
    if (survey->dims[depth] < 0)
        survey->dims[depth] = count;
    if (survey->dims[depth] != count)
        return ox_json_read_fail(json, err, "an array of %lld elements among others of %lld",
                                 (long long)count, (long long)survey->dims[depth]);
    return OX_OK;
}

static enum ox_status survey_value(struct survey *survey, struct ox_json_reader *json,
                                   struct ox_env *env, struct ox_error *err)
{
    unsigned depth = 0;
    unsigned deepest = 0;
    *survey = (struct survey){.rank = 0};
    for (unsigned i = 0; i < MAX_RANK; i++)
        survey->dims[i] = -1;
    do {
        enum ox_json_token token;
        OX_TRY(ox_env_poll(env, err));
        OX_TRY(ox_json_read_next(json, &token, err));
        if (token == OX_JSON_END_ARRAY) {
            OX_TRY(close_array(survey, json, --depth, err));
            continue;
        }
        if (depth > 0)
            survey->counts[depth - 1]++;
        if (token != OX_JSON_ARRAY) {
            OX_TRY(survey_element(survey, json, token, depth, err));
            continue;
        }
        if (depth == MAX_RANK)
            return ox_json_read_fail(json, err, "more than %d dimensions", MAX_RANK);
        survey->counts[depth++] = 0;
        deepest = depth > deepest ? depth : deepest;
    } while (depth > 0);
    if (survey->has_rank && deepest > survey->rank)
        return ox_json_read_fail(json, err, "elements and arrays in one array");
    survey->rank = deepest;
    return OX_OK;
}

static enum ox_dtype type_of(const struct survey *survey)
{
    if (survey->strings)
        return OX_STRING;
    if (survey->bools)
        return OX_BOOL;
    if (survey->specials)
        return survey->numbers ? OX_FLOAT64 : OX_STRING;
    if (survey->wholes == survey->numbers && survey->numbers)
        return OX_INT64;
    return survey->naturals && survey->wholes + survey->naturals == survey->numbers ? OX_UINT64
                                                                                    : OX_FLOAT64;
}

static enum ox_status set_element(struct ox_tensor *tensor, enum ox_dtype dtype, size_t i,
                                  struct ox_json_reader *json, enum ox_json_token token,
                                  struct ox_error *err)
{
    void *to = (char *)tensor->data + i * ox_dtype_size(dtype);
    if (tensor->dtype == OX_STRING) {
        if (token != OX_JSON_STRING)
            return ox_json_read_fail(json, err, "element %zu is no string", i);
        return ox_tensor_set_string(tensor, i, json->text, json->n, err);
    }
    bool set;
    if (token == OX_JSON_TRUE || token == OX_JSON_FALSE)
        set = ox_element_parse(dtype, to, token == OX_JSON_TRUE ? "1" : "0", 1);
    else
        set = (token == OX_JSON_NUMBER || is_special(json)) &&
              ox_element_parse(dtype, to, json->text, json->n);
    return set ? OX_OK
               : ox_json_read_fail(json, err, "element %zu is no %s", i,
                                   ox_dtype_name(tensor->dtype));
}

/* The elements in the order that they are written in; complex numbers as two. */
static enum ox_status fill(struct ox_tensor *tensor, size_t n, struct ox_json_reader *json,
                           struct ox_env *env, struct ox_error *err)
{
    enum ox_dtype dtype = tensor->dtype == OX_COMPLEX64    ? OX_FLOAT32
                          : tensor->dtype == OX_COMPLEX128 ? OX_FLOAT64
                                                           : tensor->dtype;
    for (size_t i = 0; i < n;) {
        enum ox_json_token token;
        OX_TRY(ox_env_poll(env, err));
        OX_TRY(ox_json_read_next(json, &token, err));
        if (token == OX_JSON_ARRAY || token == OX_JSON_END_ARRAY)
            continue;
        OX_TRY(set_element(tensor, dtype, i++, json, token, err));
    }
    return OX_OK;
}

/* A tensor as its object describes it. */
struct description {
    enum ox_dtype dtype;
    bool has_shape;
    unsigned rank;
    int64_t dims[MAX_RANK];
    struct place data;
    bool has_data;
};

static enum ox_status settle_shape(struct description *d, struct survey *survey,
                                   struct ox_json_reader *json, size_t *n, struct ox_error *err)
{
    size_t written = survey->numbers + survey->bools + survey->strings + survey->specials;
    bool complex = d->dtype == OX_COMPLEX64 || d->dtype == OX_COMPLEX128;
    bool flat = survey->rank == 1 && d->has_shape;
    if (flat && complex && d->rank == 0)
        flat = false; /* a pair alone */
    if (complex && !flat && survey->rank > 0 && survey->dims[survey->rank - 1] == 2)
        survey->rank--;
    else if (complex && !flat)
        return ox_json_read_fail(json, err, "complex numbers are pairs");
    if (!d->has_shape) {
        d->rank = survey->rank;
        memcpy(d->dims, survey->dims, sizeof d->dims);
    }
    size_t count;
    if (!ox_dims_count(d->rank, d->dims, &count))
        return ox_json_read_fail(json, err, "the shape is larger than the address space");
    flat = flat || count == 0;
    bool same =
        survey->rank == d->rank && memcmp(survey->dims, d->dims, d->rank * sizeof d->dims[0]) == 0;
    if (written != count * (complex ? 2 : 1) || (!flat && !same))
        return ox_json_read_fail(
            json, err, "%zu elements where the shape needs %zu, or in other arrays than it",
            written, count);
    *n = written;
    return OX_OK;
}

static enum ox_status add_tensor(struct ox_tensor_file *file, const char *name, size_t n_name,
                                 struct description *d, struct ox_error *err)
{
    struct ox_json_reader json;
    struct survey survey;
    struct ox_tensor_member *member;
    size_t n = 0;
    reader_at(&json, file, &d->data);
    enum ox_status status;
    OX_TRY_CLEANUP(survey_value(&survey, &json, file->env, err));
    if (d->dtype == OX_UNDEFINED)
        d->dtype = type_of(&survey);
    OX_TRY_CLEANUP(settle_shape(d, &survey, &json, &n, err));
    OX_TRY_CLEANUP(ox_tensor_file_add(file, name, n_name, &member, err));
    OX_TRY_CLEANUP(ox_tensor_file_set_shape(file, member, d->dtype, d->rank, d->dims, err));
    OX_TRY_CLEANUP(
        ox_tensor_new(&member->tensor, ox_env_budget(file->env), d->dtype, d->rank, d->dims, err));
    ox_json_read_release(&json);
    reader_at(&json, file, &d->data);
    status = fill(member->tensor, n, &json, file->env, err);
cleanup:
    ox_json_read_release(&json);
    return status;
}

static bool key_is(const struct ox_json_reader *json, const char *key)
{
    return json->n == strlen(key) && memcmp(json->text, key, json->n) == 0;
}

static enum ox_status read_shape(struct ox_json_reader *json, struct description *d,
                                 struct ox_error *err)
{
    enum ox_json_token token;
    OX_TRY(ox_json_read_next(json, &token, err));
    if (token != OX_JSON_ARRAY)
        return ox_json_read_fail(json, err, "the shape is no array");
    d->has_shape = true;
    for (d->rank = 0;; d->rank++) {
        int64_t dim;
        OX_TRY(ox_json_read_next(json, &token, err));
        if (token == OX_JSON_END_ARRAY)
            return OX_OK;
        if (token != OX_JSON_NUMBER || !ox_element_parse(OX_INT64, &dim, json->text, json->n) ||
            dim < 0)
            return ox_json_read_fail(json, err, "a dimension is no natural number");
        if (d->rank == MAX_RANK)
            return ox_json_read_fail(json, err, "more than %d dimensions", MAX_RANK);
        d->dims[d->rank] = dim;
    }
}

static enum ox_status read_dtype(struct ox_json_reader *json, struct description *d,
                                 struct ox_error *err)
{
    enum ox_json_token token;
    char name[32] = "";
    OX_TRY(ox_json_read_next(json, &token, err));
    if (token == OX_JSON_STRING && json->n < sizeof name)
        memcpy(name, json->text, json->n);
    if (!ox_dtype_parse(name, &d->dtype))
        return ox_json_read_fail(json, err, "an element type that is not known");
    return OX_OK;
}

static enum ox_status skip_value(struct ox_json_reader *json, struct ox_error *err)
{
    enum ox_json_token token;
    OX_TRY(ox_json_read_next(json, &token, err));
    return ox_json_read_skip(json, token, err);
}

/* The reader is behind the object's '{'. */
static enum ox_status read_description(struct ox_json_reader *json, struct description *d,
                                       struct ox_error *err)
{
    for (;;) {
        enum ox_json_token token;
        OX_TRY(ox_json_read_next(json, &token, err));
        if (token == OX_JSON_END_OBJECT)
            break;
        if (key_is(json, "dtype") || key_is(json, "type")) {
            OX_TRY(read_dtype(json, d, err));
        } else if (key_is(json, "shape") || key_is(json, "dims")) {
            OX_TRY(read_shape(json, d, err));
        } else if (key_is(json, "data")) {
            d->data = (struct place){.at = json->at, .end = json->end, .start = json->start};
            d->has_data = true;
            OX_TRY(skip_value(json, err));
        } else {
            OX_TRY(skip_value(json, err));
        }
    }
    return d->has_data ? OX_OK : ox_json_read_fail(json, err, "a tensor without \"data\"");
}

/* An object with "data" and a type or shape beside it is one tensor, not tensors of those names. */
static enum ox_status is_description(const struct ox_tensor_file *file, bool *yes,
                                     struct ox_error *err)
{
    struct ox_json_reader json;
    bool data = false;
    bool other = false;
    ox_json_read_init(&json, file->path, file->data, file->bytes, file->env->limits.json_depth);
    enum ox_json_token token;
    enum ox_status status;
    OX_TRY_CLEANUP(ox_json_read_next(&json, &token, err));
    for (;;) {
        OX_TRY_CLEANUP(ox_json_read_next(&json, &token, err));
        if (token == OX_JSON_END_OBJECT)
            break;
        data = data || key_is(&json, "data");
        other = other || key_is(&json, "dtype") || key_is(&json, "type") ||
                key_is(&json, "shape") || key_is(&json, "dims");
        OX_TRY_CLEANUP(skip_value(&json, err));
    }
    status = ox_json_read_next(&json, &token, err); /* the end */
    *yes = data && other;
cleanup:
    ox_json_read_release(&json);
    return status;
}

static enum ox_status read_named(struct ox_tensor_file *file, struct ox_json_reader *json,
                                 enum ox_dtype dtype, struct ox_error *err)
{
    for (;;) {
        enum ox_json_token token;
        OX_TRY(ox_json_read_next(json, &token, err));
        if (token == OX_JSON_END_OBJECT)
            return OX_OK;
        if (memchr(json->text, '\0', json->n))
            return ox_json_read_fail(json, err, "a name has a NUL");
        size_t n = json->n;
        char *name = ox_arena_strndup(&file->arena, json->text, n);
        if (!name)
            return ox_tensor_file_no_memory(file, err);
        struct description d = {.dtype = dtype};
        d.data = (struct place){.at = json->at, .end = json->end, .start = json->start};
        OX_TRY(ox_json_read_next(json, &token, err));
        if (token == OX_JSON_OBJECT)
            OX_TRY(read_description(json, &d, err));
        else
            OX_TRY(ox_json_read_skip(json, token, err));
        OX_TRY(add_tensor(file, name, n, &d, err));
    }
}

enum ox_status ox_json_tensors_open(struct ox_tensor_file *file,
                                    const struct ox_tensor_options *options, struct ox_error *err)
{
    struct ox_json_reader json;
    struct description d = {.dtype = options->dtype};
    enum ox_json_token token;
    enum ox_status status;
    bool one = false;
    ox_json_read_init(&json, file->path, file->data, file->bytes, file->env->limits.json_depth);
    d.data = (struct place){.at = json.at, .end = json.end, .start = json.start};
    OX_TRY_CLEANUP(ox_json_read_next(&json, &token, err));
    if (token == OX_JSON_OBJECT) {
        OX_TRY_CLEANUP(is_description(file, &one, err));
        if (!one) {
            status = read_named(file, &json, options->dtype, err);
            goto cleanup;
        }
        OX_TRY_CLEANUP(read_description(&json, &d, err));
    } else {
        OX_TRY_CLEANUP(ox_json_read_skip(&json, token, err));
    }
    OX_TRY_CLEANUP(ox_json_read_next(&json, &token, err)); /* nothing may follow */
    status = add_tensor(file, "", 0, &d, err);
cleanup:
    ox_json_read_release(&json);
    return status;
}
