/* The form is 8 bytes of length, a JSON object, and the elements; https://huggingface.co/docs/safetensors. */
#include <string.h>

#include "common/json_reader.h"
#include "common/number.h"
#include "tensor/io/tensor_file.h"

static const struct {
    const char *name;
    enum ox_dtype dtype;
} types[] = {
    {"BF16", OX_BFLOAT16},
    {"BOOL", OX_BOOL},
    {"C64", OX_COMPLEX64},
    {"F16", OX_FLOAT16},
    {"F32", OX_FLOAT32},
    {"F4", OX_FLOAT4E2M1},
    {"F64", OX_FLOAT64},
    {"F6_E2M3", OX_FLOAT6E2M3},
    {"F6_E3M2", OX_FLOAT6E3M2},
    {"F8_E4M3", OX_FLOAT8E4M3FN},
    {"F8_E4M3FNUZ", OX_FLOAT8E4M3FNUZ},
    {"F8_E5M2", OX_FLOAT8E5M2},
    {"F8_E5M2FNUZ", OX_FLOAT8E5M2FNUZ},
    {"F8_E8M0", OX_FLOAT8E8M0},
    {"I16", OX_INT16},
    {"I32", OX_INT32},
    {"I64", OX_INT64},
    {"I8", OX_INT8},
    {"U16", OX_UINT16},
    {"U32", OX_UINT32},
    {"U64", OX_UINT64},
    {"U8", OX_UINT8},
};

enum { MAX_RANK = 64 };

const char *ox_safetensors_type(enum ox_dtype dtype)
{
    for (size_t i = 0; i < OX_COUNT(types); i++)
        if (types[i].dtype == dtype)
            return types[i].name;
    return NULL;
}

struct entry {
    enum ox_dtype dtype;
    unsigned rank;
    int64_t dims[MAX_RANK];
    uint64_t begin, end;
    unsigned seen; /* 1 dtype, 2 shape, 4 data_offsets */
};

static enum ox_status expect(struct ox_json_reader *json, enum ox_json_token want, const char *what,
                             struct ox_error *err)
{
    enum ox_json_token token;
    OX_TRY(ox_json_read_next(json, &token, err));
    return token == want ? OX_OK : ox_json_read_fail(json, err, "%s", what);
}

static enum ox_status read_dtype(struct ox_json_reader *json, struct entry *entry,
                                 struct ox_error *err)
{
    OX_TRY(expect(json, OX_JSON_STRING, "dtype is no string", err));
    for (size_t i = 0; i < OX_COUNT(types); i++) {
        if (strlen(types[i].name) == json->n && memcmp(types[i].name, json->text, json->n) == 0) {
            entry->dtype = types[i].dtype;
            return OX_OK;
        }
    }
    return ox_json_read_fail(json, err, "an element type that is not known");
}

/* An array of natural numbers, at most `most` of them. */
static enum ox_status read_naturals(struct ox_json_reader *json, uint64_t *values, unsigned most,
                                    unsigned *n, struct ox_error *err)
{
    OX_TRY(expect(json, OX_JSON_ARRAY, "an array is missing", err));
    for (*n = 0;; ++*n) {
        enum ox_json_token token;
        OX_TRY(ox_json_read_next(json, &token, err));
        if (token == OX_JSON_END_ARRAY)
            return OX_OK;
        uint64_t value;
        if (token != OX_JSON_NUMBER || !ox_number_parse_uint(json->text, json->n, &value) ||
            value > INT64_MAX)
            return ox_json_read_fail(json, err, "no natural number below 2^63");
        if (*n == most)
            return ox_json_read_fail(json, err, "more than %u numbers", most);
        values[*n] = value;
    }
}

static enum ox_status read_field(struct ox_json_reader *json, struct entry *entry,
                                 struct ox_error *err)
{
    uint64_t values[MAX_RANK];
    unsigned n;
    unsigned which;
    if (json->n == 5 && memcmp(json->text, "dtype", 5) == 0) {
        which = 1;
        OX_TRY(read_dtype(json, entry, err));
    } else if (json->n == 5 && memcmp(json->text, "shape", 5) == 0) {
        which = 2;
        OX_TRY(read_naturals(json, values, MAX_RANK, &entry->rank, err));
        for (unsigned i = 0; i < entry->rank; i++)
            entry->dims[i] = (int64_t)values[i];
    } else if (json->n == 12 && memcmp(json->text, "data_offsets", 12) == 0) {
        which = 4;
        OX_TRY(read_naturals(json, values, 2, &n, err));
        if (n != 2)
            return ox_json_read_fail(json, err, "data_offsets are not two");
        entry->begin = values[0];
        entry->end = values[1];
    } else {
        return ox_json_read_fail(json, err, "an unknown key of a tensor");
    }
    if (entry->seen & which)
        return ox_json_read_fail(json, err, "a key comes twice");
    entry->seen |= which;
    return OX_OK;
}

static enum ox_status read_entry(struct ox_json_reader *json, struct entry *entry,
                                 struct ox_error *err)
{
    OX_TRY(expect(json, OX_JSON_OBJECT, "a tensor is no object", err));
    *entry = (struct entry){.seen = 0};
    for (;;) {
        enum ox_json_token token;
        OX_TRY(ox_json_read_next(json, &token, err));
        if (token == OX_JSON_END_OBJECT)
            break;
        OX_TRY(read_field(json, entry, err));
    }
    return entry->seen == 7
               ? OX_OK
               : ox_json_read_fail(json, err, "dtype, shape or data_offsets are missing");
}

static enum ox_status add_entry(struct ox_tensor_file *file, const struct entry *entry,
                                const char *name, uint64_t data_at, struct ox_json_reader *json,
                                struct ox_error *err)
{
    size_t count;
    uint64_t need;
    uint64_t room = file->bytes - data_at;
    if (!ox_dims_count(entry->rank, entry->dims, &count) ||
        !ox_dtype_packed_bytes(entry->dtype, count, &need))
        return ox_json_read_fail(json, err, "the shape is larger than the address space");
    if (entry->begin > entry->end || entry->end > room)
        return ox_json_read_fail(json, err,
                                 "data_offsets %llu to %llu lie outside the %llu bytes of data",
                                 (unsigned long long)entry->begin, (unsigned long long)entry->end,
                                 (unsigned long long)room);
    if (entry->end - entry->begin != need)
        return ox_json_read_fail(
            json, err, "data_offsets span %llu bytes where type and shape need %llu",
            (unsigned long long)(entry->end - entry->begin), (unsigned long long)need);
    struct ox_tensor_member *member;
    OX_TRY(ox_tensor_file_add(file, name, strlen(name), &member, err));
    OX_TRY(ox_tensor_file_set_shape(file, member, entry->dtype, entry->rank, entry->dims, err));
    member->at = data_at + entry->begin;
    return OX_OK;
}

static enum ox_status read_entries(struct ox_tensor_file *file, struct ox_json_reader *json,
                                   uint64_t data_at, struct ox_error *err)
{
    enum ox_json_token token;
    OX_TRY(expect(json, OX_JSON_OBJECT, "the header is no object", err));
    for (;;) {
        OX_TRY(ox_env_poll(file->env, err));
        OX_TRY(ox_json_read_next(json, &token, err));
        if (token == OX_JSON_END_OBJECT)
            break;
        if (json->n == 12 && memcmp(json->text, "__metadata__", 12) == 0) {
            OX_TRY(ox_json_read_next(json, &token, err));
            OX_TRY(ox_json_read_skip(json, token, err));
            continue;
        }
        if (memchr(json->text, '\0', json->n))
            return ox_json_read_fail(json, err, "a name has a NUL");
        struct entry entry;
        char *name = ox_arena_strndup(&file->arena, json->text, json->n);
        if (!name)
            return ox_tensor_file_no_memory(file, err);
        OX_TRY(read_entry(json, &entry, err));
        OX_TRY(add_entry(file, &entry, name, data_at, json, err));
    }
    return expect(json, OX_JSON_END, "something follows the header", err);
}

enum ox_status ox_safetensors_open(struct ox_tensor_file *file,
                                   const struct ox_tensor_options *options, struct ox_error *err)
{
    (void)options;
    uint64_t limit = file->env->limits.safetensors_header_bytes;
    uint64_t length = 0;
    if (file->bytes < 8)
        return ox_tensor_file_fault(file, file->bytes, err,
                                    "is cut off: no .safetensors is that short");
    for (int i = 7; i >= 0; i--)
        length = length << 8 | file->data[i];
    if (limit && length > limit)
        return ox_fail(err, OX_LIMIT, "%s: its header has %llu bytes; the limit is %llu",
                       file->path, (unsigned long long)length, (unsigned long long)limit);
    if (length > file->bytes - 8)
        return ox_tensor_file_fault(file, file->bytes, err, "the header of %llu bytes is cut off",
                                    (unsigned long long)length);
    struct ox_arena scratch; /* a mapped file may change under the parser */
    ox_arena_init(&scratch, ox_env_budget(file->env));
    char *header = ox_arena_copy(&scratch, file->data + 8, (size_t)length);
    struct ox_json_reader json;
    enum ox_status status;
    ox_json_read_init(&json, file->path, header, (size_t)length, file->env->limits.json_depth);
    if (header)
        status = read_entries(file, &json, 8 + length, err);
    else
        status = ox_fail(err, OX_LIMIT, "%s: its header goes over the memory limit", file->path);
    ox_json_read_release(&json);
    ox_arena_release(&scratch);
    file->load = ox_tensor_file_packed;
    return status;
}
