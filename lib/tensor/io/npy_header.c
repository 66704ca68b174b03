/* numpy/lib/format.py documents the form: magic, version, length, and a Python dictionary of three keys. */
#include <string.h>

#include "tensor/io/npy.h"

struct cursor {
    const char *name; /* of the file */
    const char *start, *at, *end;
};

static enum ox_status fault(const struct cursor *c, struct ox_error *err, const char *what)
{
    return ox_fail(err, OX_INPUT, "%s: at byte %zu of the .npy header: %s", c->name,
                   (size_t)(c->at - c->start), what);
}

static void skip_space(struct cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t' || *c->at == '\r'))
        c->at++;
}

static bool take(struct cursor *c, const char *text)
{
    skip_space(c);
    size_t n = strlen(text);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, text, n) != 0)
        return false;
    c->at += n;
    return true;
}

/* A Python string without escapes, which the keys and type codes never have. */
static enum ox_status read_string(struct cursor *c, const char **text, size_t *n,
                                  struct ox_error *err)
{
    skip_space(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"'))
        return fault(c, err, "a string is missing");
    char quote = *c->at++;
    *text = c->at;
    while (c->at < c->end && *c->at != quote && *c->at != '\\' && *c->at != '\n')
        c->at++;
    if (c->at == c->end || *c->at != quote)
        return fault(c, err, "a string does not end");
    *n = (size_t)(c->at - *text);
    c->at++;
    return OX_OK;
}

static enum ox_status read_shape(struct cursor *c, struct ox_npy_header *header,
                                 struct ox_error *err)
{
    if (!take(c, "("))
        return fault(c, err, "the shape is no tuple");
    header->rank = 0;
    while (!take(c, ")")) {
        if (header->rank == OX_NPY_MAX_RANK)
            return fault(c, err, "the shape has more than 64 dimensions");
        int64_t dim = 0;
        const char *first = c->at;
        for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
            if (OX_MUL_OVERFLOWS(dim, 10, &dim) || OX_ADD_OVERFLOWS(dim, *c->at - '0', &dim))
                return fault(c, err, "a dimension is larger than 2^63 - 1");
        if (c->at == first)
            return fault(c, err, "a dimension is no number");
        if (c->at < c->end && *c->at == 'L') /* as Python 2 wrote them */
            c->at++;
        header->dims[header->rank++] = dim;
        if (!take(c, ",") && !take(c, ")"))
            return fault(c, err, "the shape does not end");
        if (c->at[-1] == ')')
            break;
    }
    return OX_OK;
}

/* numpy's kind letters and sizes, and what each is read as. */
static const struct {
    char kind;
    uint8_t bytes;
    uint8_t dtype;
} types[] = {
    {'b', 1, OX_BOOL},        {'i', 1, OX_INT8},      {'i', 2, OX_INT16},
    {'i', 4, OX_INT32},       {'i', 8, OX_INT64},     {'u', 1, OX_UINT8},
    {'u', 2, OX_UINT16},      {'u', 4, OX_UINT32},    {'u', 8, OX_UINT64},
    {'f', 2, OX_FLOAT16},     {'f', 4, OX_FLOAT32},   {'f', 8, OX_FLOAT64},
    {'f', 16, OX_FLOAT64},    {'c', 8, OX_COMPLEX64}, {'c', 16, OX_COMPLEX128},
    {'c', 32, OX_COMPLEX128}, {'M', 8, OX_INT64},     {'m', 8, OX_INT64},
    {'f', 1, OX_FLOAT8E5M2}, /* as ml_dtypes names it */
};

static bool is_void_type(enum ox_dtype dtype, size_t bytes)
{
    return dtype != OX_STRING && dtype != OX_BOOL && ox_dtype_size(dtype) == bytes;
}

static enum ox_status void_type(struct ox_npy_header *header, const struct cursor *c,
                                enum ox_dtype assume, struct ox_error *err)
{
    if (assume != OX_UNDEFINED && is_void_type(assume, header->item_bytes))
        header->dtype = assume;
    else if (header->item_bytes == 2)
        header->dtype = OX_BFLOAT16; /* the only type of this size that numpy lacks */
    else if (header->item_bytes == 1)
        header->dtype = OX_UINT8;
    else
        return ox_fail(err, OX_UNSUPPORTED,
                       "%s: its elements are bytes without a type (numpy's V%zu)", c->name,
                       header->item_bytes);
    return OX_OK;
}

/* Such as "<f4", "|b1", ">U12", "<M8[ns]". */
static enum ox_status read_descr(struct cursor *c, struct ox_npy_header *header,
                                 enum ox_dtype assume, struct ox_error *err)
{
    skip_space(c);
    if (c->at < c->end && *c->at == '[')
        return ox_fail(err, OX_UNSUPPORTED,
                       "%s: its elements are structures, which no tensor holds", c->name);
    const char *text;
    size_t n;
    OX_TRY(read_string(c, &text, &n, err));
    char order = '=';
    if (n > 0 && (text[0] == '<' || text[0] == '>' || text[0] == '|' || text[0] == '=')) {
        order = *text++;
        n--;
    }
    header->kind = n > 0 ? text[0] : '\0';
    if (header->kind == '?')
        header->kind = 'b';
    if (header->kind == 'O')
        return ox_fail(err, OX_UNSUPPORTED,
                       "%s: its elements are pickled Python objects, which are not read", c->name);
    size_t at = 1;
    size_t bytes = 0;
    for (; at < n && text[at] >= '0' && text[at] <= '9'; at++)
        if (OX_MUL_OVERFLOWS(bytes, (size_t)10, &bytes) ||
            OX_ADD_OVERFLOWS(bytes, (size_t)(text[at] - '0'), &bytes))
            return fault(c, err, "an element is larger than the address space");
    bool unit = header->kind == 'M' || header->kind == 'm'; /* of time: "[ns]" */
    if (n == 0 || (at == 1 && text[0] != '?') || (at < n && !(unit && text[at] == '[')))
        return fault(c, err, "no type code");
    header->item_bytes = text[0] == '?' ? 1 : bytes;
    header->swapped = order == (OX_BIG_ENDIAN ? '<' : '>') && header->item_bytes > 1;
    if (header->kind == 'U' || header->kind == 'S') {
        header->dtype = OX_STRING;
        if (header->kind == 'U' &&
            OX_MUL_OVERFLOWS(header->item_bytes, (size_t)4, &header->item_bytes))
            return fault(c, err, "an element is larger than the address space");
        return OX_OK;
    }
    if (header->kind == 'V')
        return void_type(header, c, assume, err);
    for (size_t i = 0; i < OX_COUNT(types); i++) {
        if (types[i].kind == header->kind && types[i].bytes == header->item_bytes) {
            header->dtype = (enum ox_dtype)types[i].dtype;
            return OX_OK;
        }
    }
    return ox_fail(err, OX_UNSUPPORTED, "%s: elements of numpy's type \"%c%zu\" are not read",
                   c->name, header->kind >= 'A' && header->kind <= 'z' ? header->kind : '?',
                   header->item_bytes);
}

static enum ox_status read_entry(struct cursor *c, struct ox_npy_header *header,
                                 enum ox_dtype assume, unsigned *seen, struct ox_error *err)
{
    const char *key;
    size_t n;
    OX_TRY(read_string(c, &key, &n, err));
    if (!take(c, ":"))
        return fault(c, err, "':' is missing");
    unsigned which;
    if (n == 5 && memcmp(key, "descr", 5) == 0) {
        which = 1;
        OX_TRY(read_descr(c, header, assume, err));
    } else if (n == 13 && memcmp(key, "fortran_order", 13) == 0) {
        which = 2;
        header->fortran_order = take(c, "True");
        if (!header->fortran_order && !take(c, "False"))
            return fault(c, err, "fortran_order is neither True nor False");
    } else if (n == 5 && memcmp(key, "shape", 5) == 0) {
        which = 4;
        OX_TRY(read_shape(c, header, err));
    } else {
        return fault(c, err, "an unknown key");
    }
    if (*seen & which)
        return fault(c, err, "a key comes twice");
    *seen |= which;
    return OX_OK;
}

static enum ox_status size_payload(struct ox_npy_header *header, const struct cursor *c,
                                   struct ox_error *err)
{
    size_t count;
    if (!ox_dims_count(header->rank, header->dims, &count) ||
        OX_MUL_OVERFLOWS((uint64_t)count, (uint64_t)header->item_bytes, &header->payload_bytes))
        return ox_fail(err, OX_INPUT, "%s: its shape is larger than the address space", c->name);
    return OX_OK;
}

enum ox_status ox_npy_header_bytes(const char *name, const uint8_t *bytes, size_t n,
                                   const struct ox_limits *limits, size_t *header_bytes,
                                   struct ox_error *err)
{
    if (n < 10 || memcmp(bytes, "\x93NUMPY", 6) != 0)
        return ox_fail(err, OX_INPUT, "%s: is no .npy (it does not begin with \\x93NUMPY)", name);
    if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
        return ox_fail(err, OX_UNSUPPORTED,
                       "%s: is .npy of version %u.%u; 1.0, 2.0 and 3.0 are known", name, bytes[6],
                       bytes[7]);
    size_t prefix = bytes[6] == 1 ? 10 : 12;
    if (n < prefix)
        return ox_fail(err, OX_INPUT, "%s: at byte %zu: the .npy header is cut off", name, n);
    size_t length = bytes[8] | (size_t)bytes[9] << 8;
    if (prefix == 12)
        length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (limits->npy_header_bytes && length > limits->npy_header_bytes)
        return ox_fail(err, OX_LIMIT, "%s: its .npy header has %zu bytes; the limit is %llu", name,
                       length, (unsigned long long)limits->npy_header_bytes);
    *header_bytes = prefix + length;
    return OX_OK;
}

enum ox_status ox_npy_parse(struct ox_npy_header *header, const char *name, const uint8_t *bytes,
                            size_t n, enum ox_dtype assume, struct ox_error *err)
{
    *header = (struct ox_npy_header){.bytes = n};
    struct cursor c = {.name = name, .start = (const char *)bytes, .end = (const char *)bytes + n};
    c.at = c.start + (bytes[6] == 1 ? 10 : 12);
    unsigned seen = 0;
    if (!take(&c, "{"))
        return fault(&c, err, "'{' is missing");
    while (!take(&c, "}")) {
        OX_TRY(read_entry(&c, header, assume, &seen, err));
        if (!take(&c, ",") && !take(&c, "}"))
            return fault(&c, err, "',' or '}' is missing");
        if (c.at[-1] == '}')
            break;
    }
    skip_space(&c);
    if (c.at != c.end)
        return fault(&c, err, "something follows '}'");
    if (seen != 7)
        return fault(&c, err, "descr, fortran_order or shape is missing");
    return size_payload(header, &c, err);
}

struct ox_npy_layout ox_npy_layout(const struct ox_npy_header *header)
{
    return (struct ox_npy_layout){.header_bytes = header->bytes,
                                  .item_bytes = header->item_bytes,
                                  .payload_bytes = header->payload_bytes,
                                  .kind = header->kind,
                                  .swapped = header->swapped,
                                  .fortran_order = header->fortran_order && header->rank > 1};
}
