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
        ox_operator_read_type(r, &pattern, &param.type);
        read_param_name(r, &param);
        if (pattern.kind == 't' && pattern.variable != SIZE_MAX)
            param.constraint = (int16_t)pattern.variable;
        for (size_t i = 0; param.name && i < n; i++)
            if (strcmp(list[i].name, param.name) == 0)
                ox_lex_fail(&r->lex, "'%s' stands twice", param.name);
        OX_OPERATOR_APPEND(r, list, n, param);
        OX_OPERATOR_APPEND(r, *patterns, n_patterns, pattern);
        if (n > OX_OPERATOR_PARAMS)
            ox_lex_fail(&r->lex, "more than %d inputs or outputs", OX_OPERATOR_PARAMS);
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
        enum ox_dtype dtype = ox_operator_element(ox_lex_peek_word(&r->lex));
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
        OX_OPERATOR_APPEND(r, r->locals, r->n_locals, local);
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
        own->masks[ox_operator_kind(patterns[i].kind)] = mask;
        own->names = names;
        for (int d = 1; d < OX_N_DTYPES; d++) {
            if (!(mask >> d & 1))
                continue;
            names[own->n] = ox_operator_type_name(r, patterns[i].kind, (enum ox_dtype)d);
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
    ox_operator_read_attrs(r);
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
        OX_OPERATOR_APPEND(r, r->operators->items, r->operators->n_items, op);
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
