/* Custom operators from text:
 *
 *     <domain: "com.acme", version: 1>
 *     Crop <factor: int = 2, border: ints?> (T[N, C, *S] x, int64[2] size?) => (T[N, C, size[0], W] y)
 *         where T: float, float16; W = S // factor
 *
 * The words for types, attributes and comments are those of the standard's textual syntax. */
#include "schema/operators_read.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"

enum { MOST_PARAMS = 1000, MOST_DIMS = 64 };

void *ox_operator_grow(struct ox_operator_reader *r, void *items, size_t n, size_t item_bytes)
{
    if (n && (n & (n - 1))) /* capacity is the power of two at or above n */
        return items;
    void *grown = ox_arena_array(&r->operators->arena, n ? 2 * n : 1, item_bytes);
    if (!grown)
        ox_lex_no_memory(&r->lex);
    else if (n)
        memcpy(grown, items, n * item_bytes);
    return grown;
}

#define APPEND(r, array, count, ...)                                                               \
    do {                                                                                           \
        void *grown = ox_operator_grow((r), (array), (count), sizeof *(array));                    \
        if (grown) {                                                                               \
            (array) = grown;                                                                       \
            (array)[(count)++] = __VA_ARGS__;                                                      \
        }                                                                                          \
    } while (0)

size_t ox_operator_name(struct ox_operator_reader *r, const char ***names, size_t *n,
                        const char *name)
{
    for (size_t i = 0; name && i < *n; i++)
        if (strcmp((*names)[i], name) == 0)
            return i;
    size_t at = *n;
    const char **list = *names;
    if (name)
        APPEND(r, list, *n, name);
    *names = list;
    return *n > at ? at : SIZE_MAX;
}

/* ---- Types ---- */

static enum ox_dtype element_of(struct ox_str word)
{
    enum ox_dtype dtype;
    char name[24];
    if (word.n >= sizeof name || !word.n)
        return OX_UNDEFINED;
    memcpy(name, word.p, word.n);
    name[word.n] = '\0';
    if (strcmp(name, "float") == 0)
        return OX_FLOAT32;
    if (strcmp(name, "double") == 0)
        return OX_FLOAT64;
    for (int d = 1; d < OX_N_DTYPES; d++) {
        dtype = (enum ox_dtype)d;
        if (strcmp(ox_dtype_name(dtype), name) == 0)
            return dtype;
    }
    return OX_UNDEFINED;
}

static const char *standard_name(enum ox_dtype dtype)
{
    return dtype == OX_FLOAT32 ? "float" : dtype == OX_FLOAT64 ? "double" : ox_dtype_name(dtype);
}

/* Index of a type variable, which is made when it is new. */
static size_t variable_of(struct ox_operator_reader *r, const char *name)
{
    struct ox_schema *schema = &r->op->schema;
    struct ox_schema_constraint *list = r->op->constraints;
    for (size_t i = 0; i < schema->n_constraints; i++)
        if (strcmp(list[i].name, name) == 0)
            return i;
    size_t at = schema->n_constraints;
    if (at == INT16_MAX)
        ox_lex_fail(&r->lex, "more than %d type variables", INT16_MAX);
    APPEND(r, list, schema->n_constraints,
           (struct ox_schema_constraint){.name = name, .allowed = UINT16_MAX});
    schema->constraints = r->op->constraints = list;
    return at;
}

static void read_dim(struct ox_operator_reader *r, struct ox_dim_pattern *dim)
{
    *dim = (struct ox_dim_pattern){.kind = OX_DIM_ANY, .run = SIZE_MAX, .other = SIZE_MAX};
    if (ox_lex_take(&r->lex, '?'))
        return;
    if (!ox_lex_take(&r->lex, '*')) {
        dim->kind = OX_DIM_FORMULA;
        dim->formula = ox_formula_read(r);
        return;
    }
    dim->kind = OX_DIM_RUN;
    bool broadcast = ox_str_is(ox_lex_peek_word(&r->lex), "broadcast");
    if (broadcast) {
        ox_lex_word(&r->lex);
        ox_lex_expect(&r->lex, '(');
    }
    dim->run = ox_operator_name(r, &r->op->runs, &r->op->n_runs, ox_lex_identifier(&r->lex));
    if (broadcast) {
        ox_lex_expect(&r->lex, ',');
        dim->other = ox_operator_name(r, &r->op->runs, &r->op->n_runs, ox_lex_identifier(&r->lex));
        ox_lex_expect(&r->lex, ')');
    }
}

/* "[N, *S, 2*C]", "[]" of a scalar; nothing at all: not even the rank is told. */
static void read_shape(struct ox_operator_reader *r, struct ox_param_pattern *pattern)
{
    pattern->has_shape = ox_lex_take(&r->lex, '[');
    if (!pattern->has_shape || ox_lex_take(&r->lex, ']'))
        return;
    size_t n_runs = 0;
    do {
        struct ox_dim_pattern dim;
        read_dim(r, &dim);
        n_runs += dim.kind == OX_DIM_RUN;
        APPEND(r, pattern->dims, pattern->n_dims, dim);
    } while (ox_lex_ok(&r->lex) && pattern->n_dims < MOST_DIMS && ox_lex_take(&r->lex, ','));
    if (n_runs > 1)
        ox_lex_fail(&r->lex, "more than one run of dimensions in a shape");
    ox_lex_expect(&r->lex, ']');
}

/* By the letters of ox_type_set_has(), in the order of the masks. */
static const char kind_letters[] = "tsoqp";
static const struct {
    const char *opening, *closing;
} kind_forms[] = {{"tensor(", ")"},
                  {"seq(tensor(", "))"},
                  {"optional(tensor(", "))"},
                  {"optional(seq(tensor(", ")))"},
                  {"sparse_tensor(", ")"}};

static size_t kind_index(char kind)
{
    return (size_t)(strchr(kind_letters, kind) - kind_letters);
}

static char *type_name(struct ox_operator_reader *r, char kind, enum ox_dtype elem)
{
    size_t k = kind_index(kind);
    char *name = ox_arena_printf(&r->operators->arena, "%s%s%s", kind_forms[k].opening,
                                 standard_name(elem), kind_forms[k].closing);
    if (!name)
        ox_lex_no_memory(&r->lex);
    return name;
}

/* float[N], T[*S], seq(T), optional(seq(int64[N])), sparse(float). *type is how the schema spells it. */
static void read_type(struct ox_operator_reader *r, struct ox_param_pattern *pattern,
                      const char **type)
{
    static const struct {
        const char *word;
        char alone, of_sequence;
    } kinds[] = {{"seq", 's', 0}, {"optional", 'o', 'q'}, {"sparse", 'p', 0}};
    *pattern = (struct ox_param_pattern){.kind = 't', .variable = SIZE_MAX};
    size_t n_open = 0;
    for (size_t k = 0; k < OX_COUNT(kinds) && !n_open; k++) {
        if (!ox_str_is(ox_lex_peek_word(&r->lex), kinds[k].word))
            continue;
        ox_lex_word(&r->lex);
        ox_lex_expect(&r->lex, '(');
        n_open = 1;
        pattern->kind = kinds[k].alone;
        if (kinds[k].of_sequence && ox_str_is(ox_lex_peek_word(&r->lex), "seq")) {
            ox_lex_word(&r->lex);
            ox_lex_expect(&r->lex, '(');
            n_open = 2;
            pattern->kind = kinds[k].of_sequence;
        }
    }
    struct ox_str word = ox_lex_peek_word(&r->lex);
    pattern->elem = element_of(word);
    const char *name = ox_lex_identifier(&r->lex);
    if (!name)
        return;
    if (pattern->elem == OX_UNDEFINED) {
        pattern->variable = variable_of(r, name);
        *type = name;
    } else {
        *type = type_name(r, pattern->kind, pattern->elem);
    }
    read_shape(r, pattern);
    for (; n_open; n_open--)
        ox_lex_expect(&r->lex, ')');
}

/* ---- Parameters ---- */

/* The name with what stands behind it: x? may be left out; x... are one or more, x...? any number. */
static void read_param_name(struct ox_operator_reader *r, struct ox_schema_param *param)
{
    param->name = ox_lex_identifier(&r->lex);
    param->homogeneous = true;
    param->allowed = UINT16_MAX;
    if (ox_lex_take(&r->lex, '.')) {
        ox_lex_expect(&r->lex, '.');
        ox_lex_expect(&r->lex, '.');
        param->option = OX_PARAM_VARIADIC;
        param->min_arity = ox_lex_take(&r->lex, '?') ? 0 : 1;
    } else if (ox_lex_take(&r->lex, '?')) {
        param->option = OX_PARAM_OPTIONAL;
    }
}

static void read_params(struct ox_operator_reader *r, struct ox_schema_param **params,
                        size_t *n_params, struct ox_param_pattern **patterns)
{
    struct ox_schema_param *list = NULL;
    size_t n = 0, n_patterns = 0;
    ox_lex_expect(&r->lex, '(');
    while (ox_lex_ok(&r->lex) && ox_lex_peek(&r->lex) != ')') {
        struct ox_schema_param param = {.constraint = -1};
        struct ox_param_pattern pattern;
        if (n && list[n - 1].option == OX_PARAM_VARIADIC)
            ox_lex_fail(&r->lex, "only the last one can be variadic");
        read_type(r, &pattern, &param.type);
        read_param_name(r, &param);
        if (pattern.kind == 't' && pattern.variable != SIZE_MAX)
            param.constraint = (int16_t)pattern.variable;
        for (size_t i = 0; param.name && i < n; i++)
            if (strcmp(list[i].name, param.name) == 0)
                ox_lex_fail(&r->lex, "'%s' stands twice", param.name);
        APPEND(r, list, n, param);
        APPEND(r, *patterns, n_patterns, pattern);
        if (n > MOST_PARAMS)
            ox_lex_fail(&r->lex, "more than %d inputs or outputs", MOST_PARAMS);
        if (!ox_lex_take(&r->lex, ','))
            break;
    }
    ox_lex_expect(&r->lex, ')');
    *params = list;
    *n_params = n;
}

static void count_params(const struct ox_schema_param *params, size_t n, unsigned *least,
                         unsigned *most)
{
    *least = 0;
    *most = (unsigned)n;
    for (size_t i = 0; i < n; i++) {
        if (params[i].option == OX_PARAM_VARIADIC) {
            *least = params[i].min_arity ? (unsigned)i + params[i].min_arity : *least;
            *most = UINT_MAX;
        } else if (params[i].option == OX_PARAM_SINGLE) {
            *least = (unsigned)i + 1;
        }
    }
}

/* ---- Attributes ---- */

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
            APPEND(r, ints, attr->n, ox_lex_int(&r->lex));
        else if (attr->type == OX_ATTR_FLOATS)
            APPEND(r, floats, attr->n, ox_lex_float(&r->lex));
        else
            APPEND(r, strings, attr->n, ox_lex_c_string(&r->lex));
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
static void read_attrs(struct ox_operator_reader *r)
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
        APPEND(r, list, n, attr);
        if (n > MOST_PARAMS)
            ox_lex_fail(&r->lex, "more than %d attributes", MOST_PARAMS);
        if (!ox_lex_take(&r->lex, ','))
            break;
    }
    ox_lex_expect(&r->lex, '>');
    if (n && ox_lex_ok(&r->lex))
        qsort(list, n, sizeof *list, by_attr_name);
    r->op->schema.attrs = list;
    r->op->schema.n_attrs = n;
}

/* ---- An operator ---- */

/* T: float, float16; masks holds one a variable. */
static void read_variable_types(struct ox_operator_reader *r, uint32_t *masks, const char *name)
{
    const struct ox_schema *schema = &r->op->schema;
    size_t at = 0;
    while (at < schema->n_constraints && strcmp(schema->constraints[at].name, name) != 0)
        at++;
    if (at == schema->n_constraints) {
        ox_lex_fail(&r->lex, "no input or output is of type '%s'", name);
        return;
    }
    do {
        enum ox_dtype dtype = element_of(ox_lex_peek_word(&r->lex));
        if (dtype == OX_UNDEFINED)
            ox_lex_fail(&r->lex, "element type expected");
        ox_lex_word(&r->lex);
        masks[at] |= (uint32_t)1 << dtype;
    } while (ox_lex_ok(&r->lex) && ox_lex_take(&r->lex, ','));
}

/* where T: float, float16; P = W + 2*pad */
static void read_where(struct ox_operator_reader *r, uint32_t *masks)
{
    if (!ox_str_is(ox_lex_peek_word(&r->lex), "where"))
        return;
    ox_lex_word(&r->lex);
    do {
        const char *name = ox_lex_identifier(&r->lex);
        if (!name)
            return;
        if (ox_lex_take(&r->lex, ':')) {
            read_variable_types(r, masks, name);
            continue;
        }
        ox_lex_expect(&r->lex, '=');
        struct ox_named_formula local = {name, ox_formula_read(r)};
        ox_formula_settle(r, local.formula);
        APPEND(r, r->locals, r->n_locals, local);
    } while (ox_lex_ok(&r->lex) && ox_lex_take(&r->lex, ';'));
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void fill_types(struct ox_operator_reader *r, struct ox_schema_param *params,
                       const struct ox_param_pattern *patterns, size_t n, const uint32_t *masks)
{
    for (size_t i = 0; i < n && ox_lex_ok(&r->lex); i++) {
        uint32_t mask = patterns[i].variable != SIZE_MAX ? masks[patterns[i].variable]
                                                         : (uint32_t)1 << patterns[i].elem;
        struct ox_own_types *own = ox_arena_alloc(&r->operators->arena, sizeof *own);
        const char **names =
            ox_arena_array(&r->operators->arena, OX_N_DTYPES, sizeof(const char *));
        if (!own || !names) {
            ox_lex_no_memory(&r->lex);
            return;
        }
        own->masks[kind_index(patterns[i].kind)] = mask;
        own->names = names;
        for (int d = 1; d < OX_N_DTYPES; d++) {
            if (!(mask >> d & 1))
                continue;
            names[own->n] = type_name(r, patterns[i].kind, (enum ox_dtype)d);
            if (!names[own->n])
                return;
            own->n++;
        }
        qsort(names, own->n, sizeof *names, by_text);
        params[i].own = own;
    }
}

static void settle_params(struct ox_operator_reader *r, const struct ox_param_pattern *patterns,
                          size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < patterns[i].n_dims; k++)
            ox_formula_settle(r, patterns[i].dims[k].formula);
}

/* Whether the name could be taken for another thing in a formula. */
static void check_names(struct ox_operator_reader *r)
{
    const struct ox_schema *schema = &r->op->schema;
    for (size_t i = 0; i < schema->n_inputs && ox_lex_ok(&r->lex); i++)
        if (ox_schema_attr(schema, schema->inputs[i].name))
            ox_lex_fail(&r->lex, "%s: '%s' is an input and an attribute", schema->name,
                        schema->inputs[i].name);
}

static void check_new(struct ox_operator_reader *r)
{
    const struct ox_schema *schema = &r->op->schema;
    if (ox_schema_find(schema->domain, schema->name, INT_MAX))
        ox_lex_fail(&r->lex, "%s::%s is known and cannot be described anew", schema->domain,
                    schema->name);
    for (size_t i = 0; i < r->operators->n_items; i++) {
        const struct ox_schema *other = &r->operators->items[i]->schema;
        if (other->since == schema->since && strcmp(other->name, schema->name) == 0 &&
            strcmp(other->domain, schema->domain) == 0)
            ox_lex_fail(&r->lex, "%s::%s version %d is described twice", schema->domain,
                        schema->name, schema->since);
    }
}

static void read_signature(struct ox_operator_reader *r)
{
    struct ox_operator *op = r->op;
    struct ox_schema *schema = &op->schema;
    schema->name = ox_lex_identifier(&r->lex);
    if (schema->name && ox_lex_ok(&r->lex))
        check_new(r);
    read_attrs(r);
    read_params(r, &op->input_params, &schema->n_inputs, &op->inputs);
    schema->inputs = op->input_params;
    ox_lex_expect_arrow(&r->lex);
    read_params(r, &op->output_params, &schema->n_outputs, &op->outputs);
    schema->outputs = op->output_params;
    if (!ox_lex_ok(&r->lex))
        return;
    check_names(r);
    count_params(schema->inputs, schema->n_inputs, &schema->min_inputs, &schema->max_inputs);
    count_params(schema->outputs, schema->n_outputs, &schema->min_outputs, &schema->max_outputs);
}

static void read_operator(struct ox_operator_reader *r)
{
    struct ox_operator *op = ox_arena_alloc(&r->operators->arena, sizeof *op);
    if (!op) {
        ox_lex_no_memory(&r->lex);
        return;
    }
    *r = (struct ox_operator_reader){r->lex, r->operators, r->domain, r->version, op, NULL, 0};
    op->schema.domain = r->domain;
    op->schema.since = (int)r->version;
    read_signature(r);
    uint32_t *masks =
        ox_arena_array(&r->operators->arena, op->schema.n_constraints + 1, sizeof *masks);
    if (!masks)
        ox_lex_no_memory(&r->lex);
    if (!ox_lex_ok(&r->lex))
        return;
    read_where(r, masks);
    for (size_t i = 0; i < op->schema.n_constraints; i++)
        masks[i] =
            masks[i] ? masks[i] : ~(uint32_t)1 & (uint32_t)(((uint64_t)1 << OX_N_DTYPES) - 1);
    settle_params(r, op->inputs, op->schema.n_inputs);
    settle_params(r, op->outputs, op->schema.n_outputs);
    fill_types(r, op->input_params, op->inputs, op->schema.n_inputs, masks);
    fill_types(r, op->output_params, op->outputs, op->schema.n_outputs, masks);
    if (ox_lex_ok(&r->lex))
        APPEND(r, r->operators->items, r->operators->n_items, op);
}

/* <domain: "com.acme", version: 1> */
static void read_header(struct ox_operator_reader *r)
{
    r->domain = NULL;
    r->version = 1;
    ox_lex_expect(&r->lex, '<');
    do {
        struct ox_str word = ox_lex_word(&r->lex);
        ox_lex_expect(&r->lex, ':');
        if (ox_str_is(word, "domain"))
            r->domain = ox_lex_c_string(&r->lex);
        else if (ox_str_is(word, "version"))
            r->version = ox_lex_int(&r->lex);
        else
            ox_lex_fail(&r->lex, "'domain' or 'version' expected");
    } while (ox_lex_ok(&r->lex) && ox_lex_take(&r->lex, ','));
    ox_lex_expect(&r->lex, '>');
    if (!ox_lex_ok(&r->lex))
        return;
    if (r->version < 1 || r->version > INT32_MAX)
        ox_lex_fail(&r->lex, "a version is 1 or more");
    else if (!r->domain)
        ox_lex_fail(&r->lex, "the header names no domain");
    else if (!*r->domain || strncmp(r->domain, "ai.onnx", 7) == 0)
        ox_lex_fail(&r->lex, "the domain '%s' is the standard's", *r->domain ? r->domain : "");
}

enum ox_status ox_operators_read(struct ox_operators *operators, const char *text, size_t n,
                                 const char *name, struct ox_error *err)
{
    struct ox_operator_reader reader = {.operators = operators};
    reader.lex = (struct ox_lexer){.start = text,
                                   .at = text,
                                   .end = text + n,
                                   .arena = &operators->arena,
                                   .name = name,
                                   .err = err,
                                   .most_depth = 100};
    while (ox_lex_ok(&reader.lex) && (ox_lex_peek(&reader.lex) || reader.lex.at < reader.lex.end)) {
        if (ox_lex_peek(&reader.lex) == '<')
            read_header(&reader);
        else if (!reader.domain)
            ox_lex_fail(&reader.lex, "the header <domain: \"...\", version: 1> must come first");
        else
            read_operator(&reader);
    }
    return reader.lex.status;
}
