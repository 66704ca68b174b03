/* A few members of a JSON object, by name. */
#include <string.h>

#include "common/json_reader.h"

static size_t index_of(const struct ox_json_reader *reader, size_t n, const char *const *keys)
{
    size_t i = 0;
    while (i < n && (strlen(keys[i]) != reader->n || memcmp(keys[i], reader->text, reader->n) != 0))
        i++;
    return i;
}

static enum ox_status read_object(struct ox_json_reader *reader, size_t n, const char *const *keys,
                                  struct ox_strbuf *values, struct ox_error *err)
{
    enum ox_json_token token;
    enum ox_status status = ox_json_read_next(reader, &token, err);
    if (status == OX_OK && token != OX_JSON_OBJECT)
        return ox_json_read_fail(reader, err, "an object is expected");
    while (status == OX_OK && (status = ox_json_read_next(reader, &token, err)) == OX_OK &&
           token == OX_JSON_KEY) {
        const size_t i = index_of(reader, n, keys);
        status = ox_json_read_next(reader, &token, err);
        if (status == OX_OK && i < n && (token == OX_JSON_STRING || token == OX_JSON_NUMBER)) {
            ox_strbuf_clear(&values[i]);
            ox_strbuf_add(&values[i], reader->text, reader->n);
            status = values[i].failed ? ox_no_memory(err) : OX_OK;
        }
        if (status == OX_OK)
            status = ox_json_read_skip(reader, token, err);
    }
    return status == OX_OK ? ox_json_read_next(reader, &token, err) : status; /* its end alone */
}

enum ox_status ox_json_members(const char *text, size_t bytes, size_t n, const char *const *keys,
                               struct ox_strbuf *values, struct ox_error *err)
{
    enum { MOST_DEPTH = 100 };
    struct ox_json_reader reader;
    ox_json_read_init(&reader, "JSON", text, bytes, MOST_DEPTH);
    enum ox_status status = read_object(&reader, n, keys, values, err);
    ox_json_read_release(&reader);
    return status;
}
