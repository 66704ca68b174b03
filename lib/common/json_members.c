/* A few members of a JSON object, by name. */
#include "common/json_reader.h"

static enum ox_status read_object(struct ox_json_reader *reader, size_t n, const char *const *keys,
                                  struct ox_strbuf *values, struct ox_error *err)
{
    enum ox_json_token token;
    size_t i;
    OX_TRY(ox_json_read_next(reader, &token, err));
    if (token != OX_JSON_OBJECT)
        return ox_json_read_fail(reader, err, "an object is expected");
    for (;;) {
        OX_TRY(ox_json_read_member(reader, n, keys, &i, &token, err));
        if (token == OX_JSON_END_OBJECT)
            return ox_json_read_next(reader, &token, err); /* the end alone */
        if (i < n && (token == OX_JSON_STRING || token == OX_JSON_NUMBER)) {
            ox_strbuf_clear(&values[i]);
            ox_strbuf_add(&values[i], reader->text, reader->n);
            if (values[i].failed)
                return ox_no_memory(err);
        }
        OX_TRY(ox_json_read_skip(reader, token, err));
    }
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
