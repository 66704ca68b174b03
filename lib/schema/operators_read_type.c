/* Types of a custom operator's parameters, with their shapes: T[N, C, *S], seq(float), int64[2]. */
#include <limits.h>
#include <string.h>

#include "model/model.h"
#include "schema/operators_read.h"

enum { MOST_DIMS = 64 };

enum ox_dtype ox_operator_element(struct ox_str word)
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
    OX_OPERATOR_APPEND(r, list, schema->n_constraints,
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
        OX_OPERATOR_APPEND(r, pattern->dims, pattern->n_dims, dim);
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

size_t ox_operator_kind(char kind)
{
    return (size_t)(strchr(kind_letters, kind) - kind_letters);
}

char *ox_operator_type_name(struct ox_operator_reader *r, char kind, enum ox_dtype elem)
{
    size_t k = ox_operator_kind(kind);
    char *name = ox_arena_printf(&r->operators->arena, "%s%s%s", kind_forms[k].opening,
                                 standard_name(elem), kind_forms[k].closing);
    if (!name)
        ox_lex_no_memory(&r->lex);
    return name;
}

/* float[N], T[*S], seq(T), optional(seq(int64[N])), sparse(float). *type is how the schema spells it. */
void ox_operator_read_type(struct ox_operator_reader *r, struct ox_param_pattern *pattern,
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
    pattern->elem = ox_operator_element(word);
    const char *name = ox_lex_identifier(&r->lex);
    if (!name)
        return;
    if (pattern->elem == OX_UNDEFINED) {
        pattern->variable = variable_of(r, name);
        *type = name;
    } else {
        *type = ox_operator_type_name(r, pattern->kind, pattern->elem);
    }
    read_shape(r, pattern);
    for (; n_open; n_open--)
        ox_lex_expect(&r->lex, ')');
}
