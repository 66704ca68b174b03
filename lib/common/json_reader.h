/* A pull parser for JSON: a token at a time, numbers as they are written, no tree. */
#ifndef OX_COMMON_JSON_READER_H
#define OX_COMMON_JSON_READER_H

#include "common/error.h"

enum ox_json_token {
    OX_JSON_OBJECT, /* { */
    OX_JSON_END_OBJECT,
    OX_JSON_ARRAY, /* [ */
    OX_JSON_END_ARRAY,
    OX_JSON_KEY,    /* text */
    OX_JSON_STRING, /* text */
    OX_JSON_NUMBER, /* text: as written; also NaN, Infinity and -Infinity, which Python writes */
    OX_JSON_TRUE,
    OX_JSON_FALSE,
    OX_JSON_NULL,
    OX_JSON_END /* of the document; nothing but space follows */
};

struct ox_json_reader {
    const char *start, *at, *end;
    const char *name; /* of the file, for messages */
    uint64_t most_depth;
    uint64_t depth;
    struct ox_strbuf scopes; /* '{' or '[' a level */
    bool want_value;         /* after a key */
    bool any;                /* in this scope something came before */
    const char *text; /* of the token: in the file, or in `unescaped`; valid until the next token */
    size_t n;
    struct ox_strbuf unescaped;
};

/* The bytes must outlive the reader. most_depth 0: no limit. */
void ox_json_read_init(struct ox_json_reader *reader, const char *name, const void *bytes, size_t n,
                       uint64_t most_depth);
void ox_json_read_release(struct ox_json_reader *reader);
/* The next token; OX_INPUT names file and byte offset; OX_LIMIT: nested too deeply. */
enum ox_status ox_json_read_next(struct ox_json_reader *reader, enum ox_json_token *token,
                                 struct ox_error *err);
/* In an object: the next key, as its place in `keys` (n of them; n: it is none of them), and the first token of what follows it;
 * OX_JSON_END_OBJECT: there are no more. */
enum ox_status ox_json_read_member(struct ox_json_reader *reader, size_t n, const char *const *keys,
                                   size_t *which, enum ox_json_token *token, struct ox_error *err);
/* What follows a key or stands in an array, with all it contains, is passed over: `token` is its first. */
enum ox_status ox_json_read_skip(struct ox_json_reader *reader, enum ox_json_token token,
                                 struct ox_error *err);
/* OX_INPUT with the file, the offset of the last token and this text. */
enum ox_status ox_json_read_fail(struct ox_json_reader *reader, struct ox_error *err,
                                 const char *format, ...) OX_PRINTF(3, 4);

#endif
