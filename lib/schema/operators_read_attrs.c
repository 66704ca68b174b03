/* Attributes of a custom operator with their types and defaults. */
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "schema/operators_read.h"

static enum ox_attr_type attr_type(struct ox_operator_reader *r)
{
    struct ox_str word = ox_lex_word(&r->lex);
    for (int type = OX_ATTR_FLOAT; type <= OX_ATTR_TYPE_PROTOS; type++) {
        const char *name = ox_attr_type_word((enum ox_attr_type)type);
        if (name && ox_str_is(word, name))
            return (enum ox_attr_type)type;
    }
    ox_lex_fail(&r->lex, "type of an attribute expected (int, float, string, ints, ...)");
    return OX_ATTR_UNDEFINED;
}

static void read_list(struct ox_operator_reader *r, struct ox_schema_attr *attr)
{
    int64_t *ints = NULL;
    float *floats = NULL;
    const char **strings = NULL;
    ox_lex_expect(&r->lex, '[');
    while (ox_lex_ok(&r->lex) && ox_lex_peek(&r->lex) != ']') {
        if (attr->type == OX_ATTR_INTS)
            OX_OPERATOR_APPEND(r, ints, attr->n, ox_lex_int(&r->lex));
        else if (attr->type == OX_ATTR_FLOATS)
            OX_OPERATOR_APPEND(r, floats, attr->n, ox_lex_float(&r->lex));
        else
            OX_OPERATOR_APPEND(r, strings, attr->n, ox_lex_c_string(&r->lex));
        if (!ox_lex_take(&r->lex, ','))
            break;
    }
    ox_lex_expect(&r->lex, ']');
    attr->ints = ints;
    attr->floats = floats;
    attr->strings = strings;
}

static void read_default(struct ox_operator_reader *r, struct ox_schema_attr *attr)
{
    static const enum ox_default_kind kinds[] = {
        [OX_ATTR_FLOAT] = OX_DEFAULT_FLOAT,     [OX_ATTR_INT] = OX_DEFAULT_INT,
        [OX_ATTR_STRING] = OX_DEFAULT_STRING,   [OX_ATTR_FLOATS] = OX_DEFAULT_FLOATS,
        [OX_ATTR_INTS] = OX_DEFAULT_INTS,       [OX_ATTR_STRINGS] = OX_DEFAULT_STRINGS,
        [OX_ATTR_TYPE_PROTOS] = OX_DEFAULT_NONE};
    attr->default_kind = kinds[attr->type];
    attr->required = false;
    attr->n = 1;
    switch (attr->default_kind) {
    case OX_DEFAULT_INT:
        attr->i = ox_lex_int(&r->lex);
        break;
    case OX_DEFAULT_FLOAT:
        attr->f = ox_lex_float(&r->lex);
        break;
    case OX_DEFAULT_STRING:
        attr->s = ox_lex_c_string(&r->lex);
        break;
    case OX_DEFAULT_INTS:
    case OX_DEFAULT_FLOATS:
    case OX_DEFAULT_STRINGS:
        attr->n = 0;
        read_list(r, attr);
        break;
    case OX_DEFAULT_NONE:
        ox_lex_fail(&r->lex, "an attribute of that type has no default");
        break;
    }
}

static int by_attr_name(const void *a, const void *b)
{
    return strcmp(((const struct ox_schema_attr *)a)->name,
                  ((const struct ox_schema_attr *)b)->name);
}

/* <factor: int = 2, mode: string, hint: ints?> */
void ox_operator_read_attrs(struct ox_operator_reader *r)
{
    struct ox_schema_attr *list = NULL;
    size_t n = 0;
    if (!ox_lex_take(&r->lex, '<'))
        return;
    while (ox_lex_ok(&r->lex) && ox_lex_peek(&r->lex) != '>') {
        struct ox_schema_attr attr = {.name = ox_lex_identifier(&r->lex), .required = true};
        ox_lex_expect(&r->lex, ':');
        attr.type = (unsigned char)attr_type(r);
        if (ox_lex_take(&r->lex, '?'))
            attr.required = false;
        else if (ox_lex_take(&r->lex, '='))
            read_default(r, &attr);
        for (size_t i = 0; attr.name && i < n; i++)
            if (strcmp(list[i].name, attr.name) == 0)
                ox_lex_fail(&r->lex, "the attribute '%s' stands twice", attr.name);
        OX_OPERATOR_APPEND(r, list, n, attr);
        if (n > OX_OPERATOR_PARAMS)
            ox_lex_fail(&r->lex, "more than %d attributes", OX_OPERATOR_PARAMS);
        if (!ox_lex_take(&r->lex, ','))
            break;
    }
    ox_lex_expect(&r->lex, '>');
    if (n && ox_lex_ok(&r->lex))
        qsort(list, n, sizeof *list, by_attr_name);
    r->op->schema.attrs = list;
    r->op->schema.n_attrs = n;
}
