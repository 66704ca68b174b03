#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/forget.h"
#include "model/format.h"
#include "model/json_read.h"
#include "model/lift.h"
#include "model/proto_text_read.h"
#include "model/stored.h"
#include "model/text_read.h"

/* Text without a header starts with the graph's name, whose first letter may be a field's tag too ('B', 'r'); but text has
 * no control characters and, early on, an arrow. */
static bool looks_like_text(const uint8_t *bytes, size_t n)
{
    bool arrow = false;
    size_t most = n < 65536 ? n : 65536;
    for (size_t i = 0; i < most && !arrow; i++) {
        if (bytes[i] < 0x20 && !strchr(" \t\r\n", bytes[i]))
            return false;
        if (bytes[i] == '\0')
            return false;
        arrow = bytes[i] == '=' && i + 1 < n && bytes[i + 1] == '>';
    }
    return arrow;
}

/* By the first bytes. */
static enum ox_format detect_format(const uint8_t *bytes, size_t n)
{
    size_t at = 0;
    while (at < n && strchr(" \t\r\n", bytes[at]) && bytes[at])
        at++;
    if (ox_proto_text_is_model((const char *)bytes, n))
        return OX_FORMAT_TEXTPROTO;
    /* As protobuf, '<' ends a group and '{' begins one, which no model starts with. */
    if (at < n && (bytes[at] == '<' || looks_like_text(bytes, n)))
        return OX_FORMAT_TEXT;
    if (at < n && bytes[at] == '{')
        return OX_FORMAT_JSON;
    return OX_FORMAT_PROTOBUF;
}

enum ox_format ox_format_of_name(const char *path)
{
    static const struct {
        const char *ending;
        enum ox_format format;
    } endings[] = {{".txt", OX_FORMAT_TEXT},        {".onnxtxt", OX_FORMAT_TEXT},
                   {".onnxtext", OX_FORMAT_TEXT},   {".json", OX_FORMAT_JSON},
                   {".onnxjson", OX_FORMAT_JSON},   {".textproto", OX_FORMAT_TEXTPROTO},
                   {".txtpb", OX_FORMAT_TEXTPROTO}, {".prototxt", OX_FORMAT_TEXTPROTO},
                   {".pbtxt", OX_FORMAT_TEXTPROTO}};
    size_t n = strlen(path);
    for (size_t i = 0; i < OX_COUNT(endings); i++) {
        size_t n_ending = strlen(endings[i].ending);
        if (n > n_ending && strcmp(path + n - n_ending, endings[i].ending) == 0)
            return endings[i].format;
    }
    return OX_FORMAT_PROTOBUF;
}

static enum ox_status unpack_model(struct ox_model *model, const uint8_t *bytes, size_t n,
                                   struct ox_error *err)
{
    if (!n)
        return ox_fail(err, OX_INPUT, "%s: is empty", model->path);
    uint64_t limit = model->env->limits.message_bytes;
    if (limit && n > limit)
        return ox_fail(err, OX_LIMIT,
                       "%s: has %zu bytes, more than %llu (limit message_bytes; protobuf allows "
                       "2147483647, beyond that weights must be external data)",
                       model->path, n, (unsigned long long)limit);
    struct ox_unpack_counts counts;
    ProtobufCMessage *message;
    const enum ox_status status = ox_unpack(&message, &onnx__model_proto__descriptor, bytes, n,
                                            model->env, &model->arena, model->path, &counts, err);
    if (status != OX_OK)
        return status == OX_INPUT ? ox_format_explain(model->path, bytes, n, err) : status;
    if (!counts.known_fields)
        return ox_fail(err, OX_INPUT, "%s: is no ONNX model: it has none of a model's fields",
                       model->path);
    model->proto = (const Onnx__ModelProto *)message;
    model->payload_bytes = counts.payload_bytes;
    /* All but payloads and long strings of attributes was copied, and lifting copies those; of payloads few are looked into. */
    ox_mapping_forget(bytes, n);
    OX_TRY(ox_lift_model(model, err));
    ox_mapping_forget(bytes, n);
    return OX_OK;
}

static enum ox_status read_model(struct ox_model *model, const uint8_t *bytes, size_t n,
                                 struct ox_error *err)
{
    model->file_bytes = n;
    /* The mark that some editors put before text; no protobuf starts so. */
    if (n >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0) {
        bytes += 3;
        n -= 3;
    }
    const char *foreign = ox_format_foreign(bytes, n);
    if (foreign)
        return ox_fail(err, OX_INPUT, "%s: is no ONNX model but %s", model->path, foreign);
    enum ox_format format = detect_format(bytes, n);
    if (format == OX_FORMAT_PROTOBUF)
        return unpack_model(model, bytes, n, err);
    uint64_t limit = model->env->limits.message_bytes;
    if (limit && n > limit)
        return ox_fail(err, OX_LIMIT, "%s: has %zu bytes, more than %llu (limit message_bytes)",
                       model->path, n, (unsigned long long)limit);
    size_t n_packed;
    if (format == OX_FORMAT_TEXT)
        OX_TRY(ox_text_read(&model->packed, &n_packed, (const char *)bytes, n, model->env,
                            model->path, err));
    else if (format == OX_FORMAT_TEXTPROTO)
        OX_TRY(ox_proto_text_read_model(&model->packed, &n_packed, (const char *)bytes, n,
                                        model->env, model->path, err));
    else
        OX_TRY(ox_json_read_model(&model->packed, &n_packed, (const char *)bytes, n, model->env,
                                  model->path, err));
    return unpack_model(model, model->packed, n_packed, err);
}

enum ox_status ox_model_new(struct ox_model **out, struct ox_env *env, const char *name,
                            struct ox_error *err)
{
    struct ox_model *model = calloc(1, sizeof *model);
    if (!model)
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", name);
    model->env = env;
    ox_arena_init(&model->arena, ox_env_budget(env));
    ox_strmap_init(&model->function_names);
    ox_strmap_init(&model->all_names);
    model->path = strdup(name);
    model->exprs = ox_exprs_new(ox_env_budget(env));
    if (!model->path || !model->exprs) {
        ox_model_release(model);
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", name);
    }
    *out = model;
    return OX_OK;
}

/* What frameworks save as a folder. */
static bool has_file(const char *folder, const char *name)
{
    struct ox_strbuf path = {0};
    ox_strbuf_printf(&path, "%s/%s", folder, name);
    const bool there = !path.failed && access(path.data, F_OK) == 0;
    ox_strbuf_release(&path);
    return there;
}

enum ox_status ox_model_map(struct ox_model **out, struct ox_env *env, const char *path,
                            struct ox_error *err)
{
    struct ox_model *model;
    OX_TRY(ox_model_new(&model, env, path, err));
    enum ox_status status = ox_mapping_open(&model->map, env, path, env->limits.message_bytes, err);
    if (status == OX_OK && strcmp(path, "-") != 0) {
        model->dir = ox_path_dir(path);
        if (!model->dir)
            status = ox_fail(err, OX_NO_MEMORY, "%s: out of memory", path);
    }
    if (status == OX_INPUT && has_file(path, "saved_model.pb"))
        ox_fail(err, status, "%s: is no ONNX model but the folder of a TensorFlow SavedModel",
                path);
    else if (status == OX_INPUT && has_file(path, "Manifest.json"))
        ox_fail(err, status, "%s: is no ONNX model but the folder of a Core ML package", path);
    if (status != OX_OK)
        ox_model_release(model);
    else
        *out = model;
    return status;
}

enum ox_status ox_model_open(struct ox_model **out, struct ox_env *env, const char *path,
                             struct ox_error *err)
{
    struct ox_model *model;
    OX_TRY(ox_model_map(&model, env, path, err));
    enum ox_status status = read_model(model, model->map.data, model->map.bytes, err);
    if (status != OX_OK)
        ox_model_release(model);
    else
        *out = model;
    return status;
}

enum ox_status ox_model_open_memory(struct ox_model **out, struct ox_env *env, const void *bytes,
                                    size_t n, const char *dir, struct ox_error *err)
{
    struct ox_model *model;
    OX_TRY(ox_model_new(&model, env, "(memory)", err));
    enum ox_status status = OX_OK;
    if (dir) {
        model->dir = strdup(dir);
        if (!model->dir)
            status = ox_fail(err, OX_NO_MEMORY, "(memory): out of memory");
    }
    if (status == OX_OK)
        status = read_model(model, bytes, n, err);
    if (status != OX_OK)
        ox_model_release(model);
    else
        *out = model;
    return status;
}
