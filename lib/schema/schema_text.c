/* Rows as text. */
#include <string.h>

#include "model/model.h"
#include "schema/schema.h"

static size_t word_length(const char *text)
{
    return strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");
}

static bool word_is(const char *word, size_t n, const char *text)
{
    return strlen(text) == n && memcmp(word, text, n) == 0;
}

/* Types stand in the standard as words with what they are made of in parentheses; a tensor is written as its element. */
void ox_schema_type_text(struct ox_strbuf *out, const char *type)
{
    unsigned depth = 0;
    unsigned tensor_depth = UINT32_MAX; /* of the parenthesis that is left out */
    while (*type) {
        size_t n = word_length(type);
        if (word_is(type, n, "tensor") && type[n] == '(') {
            tensor_depth = depth++;
            type += n + 1;
        } else if (n > 0) {
            if (word_is(type, n, "float"))
                ox_strbuf_puts(out, "float32");
            else if (word_is(type, n, "double"))
                ox_strbuf_puts(out, "float64");
            else if (word_is(type, n, "sparse_tensor"))
                ox_strbuf_puts(out, "sparse");
            else
                ox_strbuf_add(out, type, n);
            type += n;
        } else {
            char c = *type++;
            depth += c == '(';
            depth -= c == ')';
            if (c == ')' && depth == tensor_depth)
                tensor_depth = UINT32_MAX;
            else
                ox_strbuf_putc(out, c);
        }
    }
}

const char *ox_schema_attr_type(const struct ox_schema_attr *attr)
{
    return ox_attr_type_name((enum ox_attr_type)attr->type);
}

void ox_schema_default_json(struct ox_json *json, const struct ox_schema_attr *attr)
{
    bool list = attr->ints || attr->floats || attr->strings;
    if (list)
        ox_json_array(json);
    switch (attr->default_kind) {
    case OX_DEFAULT_NONE:
        ox_json_null(json);
        break;
    case OX_DEFAULT_INT:
        ox_json_int(json, attr->i);
        break;
    case OX_DEFAULT_FLOAT:
        ox_json_float(json, attr->f);
        break;
    case OX_DEFAULT_STRING:
        ox_json_string(json, attr->s);
        break;
    case OX_DEFAULT_INTS:
        for (size_t i = 0; i < attr->n; i++)
            ox_json_int(json, attr->ints[i]);
        break;
    case OX_DEFAULT_FLOATS:
        for (size_t i = 0; i < attr->n; i++)
            ox_json_float(json, attr->floats[i]);
        break;
    case OX_DEFAULT_STRINGS:
        for (size_t i = 0; i < attr->n; i++)
            ox_json_string(json, attr->strings[i]);
        break;
    }
    if (list)
        ox_json_end_array(json);
}
