/* A few numbers of a JSON file, by name. */
#include <math.h>
#include <string.h>

#include "common/env.h"
#include "common/file.h"
#include "common/json_reader.h"
#include "common/number.h"

static bool is_key(const struct ox_json_reader *reader, const char *key)
{
    return strlen(key) == reader->n && memcmp(key, reader->text, reader->n) == 0;
}

/* The object whose '{' was read last. */
static enum ox_status read_members(struct ox_json_reader *reader, size_t n, const char *const *keys,
                                   double *values, struct ox_error *err)
{
    enum ox_json_token token;
    enum ox_status status;
    while ((status = ox_json_read_next(reader, &token, err)) == OX_OK && token == OX_JSON_KEY) {
        size_t i = 0;
        while (i < n && !is_key(reader, keys[i]))
            i++;
        status = ox_json_read_next(reader, &token, err);
        if (status == OX_OK && i < n && token == OX_JSON_NUMBER)
            ox_number_parse(reader->text, reader->n, &values[i]);
        if (status == OX_OK)
            status = ox_json_read_skip(reader, token, err);
        if (status != OX_OK)
            return status;
    }
    return status;
}

static enum ox_status read_file(struct ox_json_reader *reader, const char *object, size_t n,
                                const char *const *keys, double *values, struct ox_error *err)
{
    enum ox_json_token token;
    enum ox_status status = ox_json_read_next(reader, &token, err);
    if (status == OX_OK && token != OX_JSON_OBJECT)
        return ox_json_read_fail(reader, err, "an object is expected");
    while (status == OX_OK && (status = ox_json_read_next(reader, &token, err)) == OX_OK &&
           token == OX_JSON_KEY) {
        const bool wanted = is_key(reader, object);
        status = ox_json_read_next(reader, &token, err);
        if (status == OX_OK && wanted && token == OX_JSON_OBJECT)
            status = read_members(reader, n, keys, values, err);
        else if (status == OX_OK)
            status = ox_json_read_skip(reader, token, err);
    }
    return status == OX_OK ? ox_json_read_next(reader, &token, err) : status; /* its end alone */
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
