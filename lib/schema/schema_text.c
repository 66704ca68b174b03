/* Rows as text. */
#include <stdlib.h>
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

/* ---- Lists of types ---- */

/* What a list groups by: the standard's spelling before and behind an element type, and ours. */
static const struct group {
    const char *head, *tail;
    const char *shown_head, *shown_tail;
} groups[] = {
    {"tensor(", ")", "", ""},
    {"seq(tensor(", "))", "seq(", ")"},
    {"optional(tensor(", "))", "optional(", ")"},
    {"optional(seq(tensor(", ")))", "optional(seq(", "))"},
    {"sparse_tensor(", ")", "sparse(", ")"},
};

enum { ELEMENT_BYTES = 24 };

/* Our name of the element type when the type is of that group. */
static bool element_of(const struct group *group, const char *type, char *element)
{
    size_t n_head = strlen(group->head);
    if (strncmp(type, group->head, n_head) != 0)
        return false;
    const char *name = type + n_head;
    size_t n = word_length(name);
    if (n == 0 || n >= ELEMENT_BYTES || strcmp(name + n, group->tail) != 0)
        return false;
    if (word_is(name, n, "float"))
        name = "float32";
    else if (word_is(name, n, "double"))
        name = "float64";
    else
        return snprintf(element, ELEMENT_BYTES, "%.*s", (int)n, name) > 0;
    return snprintf(element, ELEMENT_BYTES, "%s", name) > 0;
}

/* int8 before int16: letters by code, numbers by value. */
static int natural_order(const char *a, const char *b)
{
    while (*a && *a == *b && !(*a >= '0' && *a <= '9')) {
        a++;
        b++;
    }
    unsigned long number_a = strtoul(a, NULL, 10);
    unsigned long number_b = strtoul(b, NULL, 10);
    if (number_a != number_b)
        return number_a < number_b ? -1 : 1;
    return strcmp(a, b);
}

/* Elements of one group in natural order. */
static size_t collect(const struct group *group, uint16_t set, const uint16_t *without,
                      char elements[OX_N_DTYPES][ELEMENT_BYTES])
{
    const char *const *types = NULL;
    size_t n_types = ox_type_set(set, &types);
    size_t n = 0;
    for (size_t i = 0; i < n_types && n < OX_N_DTYPES; i++) {
        char element[ELEMENT_BYTES];
        if (!element_of(group, types[i], element) ||
            (without && ox_type_set_has_name(*without, types[i])))
            continue;
        size_t at = n++;
        for (; at > 0 && natural_order(elements[at - 1], element) > 0; at--)
            memcpy(elements[at], elements[at - 1], ELEMENT_BYTES);
        memcpy(elements[at], element, ELEMENT_BYTES);
    }
    return n;
}

static bool is_grouped(const char *type)
{
    char element[ELEMENT_BYTES];
    for (size_t g = 0; g < OX_COUNT(groups); g++) {
        if (element_of(&groups[g], type, element))
            return true;
    }
    return false;
}

void ox_schema_types_text(struct ox_strbuf *out, uint16_t set, const uint16_t *without)
{
    const char *separator = "";
    for (size_t g = 0; g < OX_COUNT(groups); g++) {
        char elements[OX_N_DTYPES][ELEMENT_BYTES];
        size_t n = collect(&groups[g], set, without, elements);
        for (size_t i = 0; i < n; i++) {
            ox_strbuf_printf(out, "%s%s%s", separator, i == 0 ? groups[g].shown_head : "",
                             elements[i]);
            separator = ", ";
        }
        if (n > 0)
            ox_strbuf_puts(out, groups[g].shown_tail);
    }
    const char *const *types = NULL;
    size_t n_types = ox_type_set(set, &types);
    for (size_t i = 0; i < n_types; i++) {
        if (is_grouped(types[i]) || (without && ox_type_set_has_name(*without, types[i])))
            continue;
        ox_strbuf_puts(out, separator);
        ox_schema_type_text(out, types[i]);
        separator = ", ";
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
