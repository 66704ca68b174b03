/* A few numbers of a JSON file, by name. */
#include <math.h>

#include "common/env.h"
#include "common/file.h"
#include "common/json_reader.h"
#include "common/number.h"

/* The object whose '{' was read last. */
static enum ox_status read_numbers(struct ox_json_reader *reader, size_t n, const char *const *keys,
                                   double *values, struct ox_error *err)
{
    enum ox_json_token token;
    size_t i;
    for (;;) {
        OX_TRY(ox_json_read_member(reader, n, keys, &i, &token, err));
        if (token == OX_JSON_END_OBJECT)
            return OX_OK;
        if (i < n && token == OX_JSON_NUMBER)
            ox_number_parse(reader->text, reader->n, &values[i]);
        OX_TRY(ox_json_read_skip(reader, token, err));
    }
}

static enum ox_status read_file(struct ox_json_reader *reader, const char *object, size_t n,
                                const char *const *keys, double *values, struct ox_error *err)
{
    enum ox_json_token token;
    size_t other;
    OX_TRY(ox_json_read_next(reader, &token, err));
    if (token != OX_JSON_OBJECT)
        return ox_json_read_fail(reader, err, "an object is expected");
    for (;;) {
        OX_TRY(ox_json_read_member(reader, 1, &object, &other, &token, err));
        if (token == OX_JSON_END_OBJECT)
            return ox_json_read_next(reader, &token, err); /* the end alone */
        if (!other && token == OX_JSON_OBJECT)
            OX_TRY(read_numbers(reader, n, keys, values, err));
        else
            OX_TRY(ox_json_read_skip(reader, token, err));
    }
}

enum ox_status ox_json_file_numbers(struct ox_env *env, const char *path, const char *object,
                                    size_t n, const char *const *keys, double *values,
                                    struct ox_error *err)
{
    struct ox_mapping file;
    struct ox_json_reader reader;
    enum ox_status status =
        ox_mapping_open(&file, env, path, ox_env_limits(env)->message_bytes, err);
    if (status != OX_OK)
        return status;
    for (size_t i = 0; i < n; i++)
        values[i] = NAN;
    ox_json_read_init(&reader, path, file.data, file.bytes, ox_env_limits(env)->json_depth);
    status = read_file(&reader, object, n, keys, values, err);
    ox_json_read_release(&reader);
    ox_mapping_release(&file);
    return status;
}
