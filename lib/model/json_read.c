/* JSON to messages, driven by the generated descriptors; then packed, to enter by the same door as any file. */
#include "model/json_read.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "common/base64.h"
#include "common/lazy.h"
#include "common/number.h"
#include "model/message.h"
#include "model/unpack.h"
#include "proto/onnx.pb-c.h"

/* Few models come as JSON: the library is bound when one does. */
#define CALLS(X)                                                                                   \
    X(cJSON_ParseWithLengthOpts)                                                                   \
    X(cJSON_Delete)                                                                                \
    X(cJSON_GetArraySize)                                                                          \
    X(cJSON_IsArray)                                                                               \
    X(cJSON_IsBool)                                                                                \
    X(cJSON_IsNull)                                                                                \
    X(cJSON_IsNumber)                                                                              \
    X(cJSON_IsObject)                                                                              \
    X(cJSON_IsString)                                                                              \
    X(cJSON_IsTrue)

struct calls {
    CALLS(OX_LAZY_MEMBER)
};
static const char *const call_names[] = {CALLS(OX_LAZY_NAME)};

struct reader {
    struct calls call;
    struct ox_arena arena;
    const char *name;
    struct ox_error *err;
    struct ox_strbuf path; /* ".graph.node[3].opType" */
};

static enum ox_status bad(struct reader *r, const char *what)
{
    return ox_fail(r->err, OX_INPUT, "%s: JSON member %s: %s", r->name,
                   r->path.len ? r->path.data : "$", what);
}

static enum ox_status no_memory(struct reader *r)
{
    return ox_fail(r->err, OX_NO_MEMORY, "%s: out of memory", r->name);
}

static enum ox_status read_message(struct reader *r, const cJSON *json,
                                   const ProtobufCMessageDescriptor *type, ProtobufCMessage **out);

/* "op_type" and "opType" are the same field. */
static bool same_name(const char *field, const char *key)
{
    if (strcmp(field, key) == 0)
        return true;
    for (; *field; field++, key++) {
        char want = *field;
        if (want == '_' && field[1]) {
            field++;
            want = *field >= 'a' && *field <= 'z' ? (char)(*field - 32) : *field;
        }
        if (*key != want)
            return false;
    }
    return *key == '\0';
}

static const ProtobufCFieldDescriptor *find_field(const ProtobufCMessageDescriptor *type,
                                                  const char *key)
{
    for (unsigned i = 0; i < type->n_fields; i++)
        if (same_name(type->fields[i].name, key))
            return &type->fields[i];
    return NULL;
}

static enum ox_status read_int(struct reader *r, const cJSON *json, int64_t least, int64_t most,
                               int64_t *value)
{
    if (r->call.cJSON_IsString(json)) {
        if (!ox_number_parse_int(json->valuestring, strlen(json->valuestring), value))
            return bad(r, "not an integer");
    } else if (r->call.cJSON_IsNumber(json)) {
        /* Numbers have passed through a double: only those that it holds exactly can be trusted. */
        if (json->valuedouble != floor(json->valuedouble) ||
            fabs(json->valuedouble) > 9007199254740992.0)
            return bad(r, "not an integer that JSON numbers hold exactly; write it as a string");
        *value = (int64_t)json->valuedouble;
    } else {
        return bad(r, "integer expected");
    }
    return *value < least || *value > most ? bad(r, "integer out of range") : OX_OK;
}

static enum ox_status read_uint(struct reader *r, const cJSON *json, uint64_t *value)
{
    int64_t number;
    if (r->call.cJSON_IsString(json))
        return ox_number_parse_uint(json->valuestring, strlen(json->valuestring), value)
                   ? OX_OK
                   : bad(r, "not an unsigned integer");
    OX_TRY(read_int(r, json, 0, INT64_MAX, &number));
    *value = (uint64_t)number;
    return OX_OK;
}

static enum ox_status read_double(struct reader *r, const cJSON *json, double *value)
{
    if (r->call.cJSON_IsNumber(json))
        *value = json->valuedouble;
    else if (!r->call.cJSON_IsString(json) ||
             !ox_number_parse(json->valuestring, strlen(json->valuestring), value))
        return bad(r, "number expected");
    return OX_OK;
}

static enum ox_status read_enum(struct reader *r, const cJSON *json,
                                const ProtobufCEnumDescriptor *type, int *value)
{
    int64_t number;
    if (r->call.cJSON_IsString(json)) {
        const ProtobufCEnumValue *known =
            protobuf_c_enum_descriptor_get_value_by_name(type, json->valuestring);
        if (!known)
            return bad(r, "not a name of this enumeration");
        *value = known->value;
        return OX_OK;
    }
    OX_TRY(read_int(r, json, INT32_MIN, INT32_MAX, &number));
    *value = (int)number;
    return OX_OK;
}

static enum ox_status read_bytes(struct reader *r, const cJSON *json, ProtobufCBinaryData *value)
{
    if (!r->call.cJSON_IsString(json))
        return bad(r, "base64 string expected");
    size_t n = strlen(json->valuestring);
    value->data = ox_arena_alloc(&r->arena, n / 4 * 3 + 3);
    if (!value->data)
        return no_memory(r);
    if (!ox_base64_decode(json->valuestring, n, value->data, &value->len))
        return bad(r, "not base64");
    return OX_OK;
}

/* One value of a field into the member at `to`. */
static enum ox_status read_value(struct reader *r, const cJSON *json,
                                 const ProtobufCFieldDescriptor *field, void *to)
{
    int64_t number;
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
        OX_TRY(read_int(r, json, INT32_MIN, INT32_MAX, &number));
        *(int32_t *)to = (int32_t)number;
        return OX_OK;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        OX_TRY(read_int(r, json, 0, UINT32_MAX, &number));
        *(uint32_t *)to = (uint32_t)number;
        return OX_OK;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        return read_int(r, json, INT64_MIN, INT64_MAX, to);
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        return read_uint(r, json, to);
    case PROTOBUF_C_TYPE_FLOAT: {
        double value;
        OX_TRY(read_double(r, json, &value));
        *(float *)to = (float)value;
        return OX_OK;
    }
    case PROTOBUF_C_TYPE_DOUBLE:
        return read_double(r, json, to);
    case PROTOBUF_C_TYPE_BOOL:
        if (!r->call.cJSON_IsBool(json))
            return bad(r, "true or false expected");
        *(protobuf_c_boolean *)to = r->call.cJSON_IsTrue(json) ? 1 : 0;
        return OX_OK;
    case PROTOBUF_C_TYPE_ENUM:
        return read_enum(r, json, field->descriptor, to);
    case PROTOBUF_C_TYPE_STRING:
        if (!r->call.cJSON_IsString(json))
            return bad(r, "string expected");
        *(char **)to = ox_arena_strdup(&r->arena, json->valuestring);
        return *(char **)to ? OX_OK : no_memory(r);
    case PROTOBUF_C_TYPE_BYTES:
        return read_bytes(r, json, to);
    case PROTOBUF_C_TYPE_MESSAGE:
        return read_message(r, json, field->descriptor, to);
    }
    return bad(r, "field of an unknown kind");
}

static enum ox_status read_repeated(struct reader *r, const cJSON *json,
                                    const ProtobufCFieldDescriptor *field,
                                    ProtobufCMessage *message)
{
    if (!r->call.cJSON_IsArray(json))
        return bad(r, "array expected");
    size_t n = (size_t)r->call.cJSON_GetArraySize(json), at = 0;
    size_t bytes = ox_field_bytes(field);
    char *items = ox_arena_array(&r->arena, n, bytes);
    if (!items)
        return no_memory(r);
    size_t len = r->path.len;
    for (const cJSON *item = json->child; item; item = item->next, at++) {
        ox_strbuf_printf(&r->path, "[%zu]", at);
        OX_TRY(read_value(r, item, field, items + at * bytes));
        r->path.data[r->path.len = len] = '\0';
    }
    *(char **)((char *)message + field->offset) = items;
    *(size_t *)((char *)message + field->quantifier_offset) = n;
    return OX_OK;
}

static enum ox_status read_member(struct reader *r, const cJSON *json,
                                  const ProtobufCFieldDescriptor *field, ProtobufCMessage *message)
{
    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        return read_repeated(r, json, field, message);
    OX_TRY(read_value(r, json, field, (char *)message + field->offset));
    ox_message_mark(message, field);
    return OX_OK;
}

static enum ox_status read_message(struct reader *r, const cJSON *json,
                                   const ProtobufCMessageDescriptor *type, ProtobufCMessage **out)
{
    if (!r->call.cJSON_IsObject(json))
        return bad(r, "object expected");
    ProtobufCMessage *message = ox_arena_alloc(&r->arena, type->sizeof_message);
    if (!message)
        return no_memory(r);
    protobuf_c_message_init(type, message);
    size_t len = r->path.len;
    for (const cJSON *item = json->child; item; item = item->next) {
        ox_strbuf_putc(&r->path, '.');
        ox_strbuf_name(&r->path, item->string, 64);
        if (r->path.failed)
            return no_memory(r);
        const ProtobufCFieldDescriptor *field = find_field(type, item->string);
        if (!field)
            return bad(r, "there is no such field");
        if (!r->call.cJSON_IsNull(item))
            OX_TRY(read_member(r, item, field, message));
        r->path.data[r->path.len = len] = '\0';
    }
    *out = message;
    return OX_OK;
}

/* cJSON recurses: what is nested too deeply must not reach it. */
static bool nested_within(const char *text, size_t n, uint64_t most)
{
    uint64_t depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < n; i++) {
        if (in_string) {
            i += text[i] == '\\';
            in_string = i >= n || text[i] != '"';
        } else if (text[i] == '"') {
            in_string = true;
        } else if (text[i] == '{' || text[i] == '[') {
            if (++depth > most)
                return false;
        } else if (text[i] == '}' || text[i] == ']') {
            depth -= depth > 0;
        }
    }
    return true;
}

enum ox_status ox_json_read_model(uint8_t **bytes, size_t *n_bytes, const char *text, size_t n_text,
                                  struct ox_env *env, const char *name, struct ox_error *err)
{
    uint64_t most =
        env->limits.json_depth && env->limits.json_depth < 900 ? env->limits.json_depth : 900;
    if (!nested_within(text, n_text, most))
        return ox_fail(err, OX_LIMIT, "%s: JSON is nested more than %llu deep", name,
                       (unsigned long long)most);
    struct reader r = {.name = name, .err = err};
    if (!ox_lazy_bind(OX_LAZY_SONAME(OX_SONAME_CJSON), call_names, OX_COUNT(call_names), &r.call))
        return ox_fail(err, OX_UNSUPPORTED, "%s: JSON needs %s, which is not installed", name,
                       OX_LAZY_SONAME(OX_SONAME_CJSON));
    /* A parsed value takes some 64 bytes; the least that one takes as text is two. */
    uint64_t estimate = (uint64_t)n_text * 32;
    if (!ox_budget_take(ox_env_budget(env), estimate))
        return ox_fail(err, OX_LIMIT, "%s: %zu bytes of JSON take more than the memory limit", name,
                       n_text);
    ox_arena_init(&r.arena, ox_env_budget(env));
    ox_strbuf_init(&r.path);
    const char *end = text;
    cJSON *json = r.call.cJSON_ParseWithLengthOpts(text, n_text, &end, 0);
    ProtobufCMessage *message = NULL;
    enum ox_status status;
    if (!json)
        status = ox_fail(err, OX_INPUT, "%s: byte %zu: not JSON", name, (size_t)(end - text));
    else
        status = read_message(&r, json, &onnx__model_proto__descriptor, &message);
    if (status == OX_OK)
        status = ox_message_pack(bytes, n_bytes, message, name, err);
    r.call.cJSON_Delete(json);
    ox_strbuf_release(&r.path);
    ox_arena_release(&r.arena);
    ox_budget_give(ox_env_budget(env), estimate);
    return status;
}
