/* Formulas of custom operators, read by recursive descent. */
#include <string.h>

#include "model/model.h"
#include "schema/operators_read.h"

enum { MOST_WEIGHT = 1000 };

static void weigh(struct ox_operator_reader *r, struct ox_formula *formula)
{
    formula->weight =
        1 + (formula->a ? formula->a->weight : 0) + (formula->b ? formula->b->weight : 0);
    if (formula->weight > MOST_WEIGHT)
        ox_lex_fail(&r->lex, "a formula of more than %d terms", MOST_WEIGHT);
}

static struct ox_formula *formula_new(struct ox_operator_reader *r, enum ox_formula_kind kind,
                                      struct ox_formula *a, struct ox_formula *b)
{
    struct ox_formula *formula = ox_arena_alloc(&r->operators->arena, sizeof *formula);
    if (!formula) {
        ox_lex_no_memory(&r->lex);
        return NULL;
    }
    *formula = (struct ox_formula){.kind = kind, .a = a, .b = b};
    weigh(r, formula);
    return formula;
}

static bool enter(struct ox_operator_reader *r)
{
    if (++r->lex.depth <= r->lex.most_depth)
        return true;
    ox_lex_fail(&r->lex, "a formula nested more than %u deep", r->lex.most_depth);
    return false;
}

/* min(a, b, ...), max(a, b, ...); ceil(a / b) comes as a division. */
static struct ox_formula *read_call(struct ox_operator_reader *r, struct ox_str name)
{
    bool is_min = ox_str_is(name, "min"), is_ceil = ox_str_is(name, "ceil");
    ox_lex_expect(&r->lex, '(');
    struct ox_formula *result = ox_formula_read(r);
    if (is_ceil) {
        ox_lex_expect(&r->lex, '/');
        result = formula_new(r, OX_FORMULA_CEILDIV, result, ox_formula_read(r));
    }
    while (!is_ceil && ox_lex_take(&r->lex, ','))
        result =
            formula_new(r, is_min ? OX_FORMULA_MIN : OX_FORMULA_MAX, result, ox_formula_read(r));
    ox_lex_expect(&r->lex, ')');
    return result;
}

static struct ox_formula *read_name(struct ox_operator_reader *r)
{
    struct ox_str word = ox_lex_peek_word(&r->lex);
    if (ox_str_is(word, "min") || ox_str_is(word, "max") || ox_str_is(word, "ceil"))
        return read_call(r, ox_lex_word(&r->lex));
    bool is_rank = ox_str_is(word, "rank");
    if (is_rank) {
        ox_lex_word(&r->lex);
        ox_lex_expect(&r->lex, '(');
    }
    struct ox_formula *formula =
        formula_new(r, is_rank ? OX_FORMULA_RANK : OX_FORMULA_NAME, NULL, NULL);
    const char *text = ox_lex_identifier(&r->lex);
    if (!formula)
        return NULL;
    formula->text = text;
    if (is_rank) {
        ox_lex_expect(&r->lex, ')');
    } else if (ox_lex_take(&r->lex, '[')) {
        formula->has_element = true;
        formula->value = ox_lex_int(&r->lex);
        if (formula->value < 0)
            ox_lex_fail(&r->lex, "an element before the first");
        ox_lex_expect(&r->lex, ']');
    }
    return formula;
}

static struct ox_formula *read_factor(struct ox_operator_reader *r)
{
    struct ox_formula *result = NULL;
    if (!enter(r))
        return NULL;
    char c = ox_lex_peek(&r->lex);
    if (ox_lex_take(&r->lex, '(')) {
        result = ox_formula_read(r);
        ox_lex_expect(&r->lex, ')');
    } else if (ox_lex_take(&r->lex, '-')) {
        result = formula_new(r, OX_FORMULA_NUMBER, NULL, NULL);
        result = formula_new(r, OX_FORMULA_SUB, result, read_factor(r));
    } else if (c >= '0' && c <= '9') {
        result = formula_new(r, OX_FORMULA_NUMBER, NULL, NULL);
        int64_t value = ox_lex_int(&r->lex);
        if (result)
            result->value = value;
    } else {
        result = read_name(r);
    }
    r->lex.depth--;
    return result;
}

static bool take_floordiv(struct ox_lexer *lex)
{
    if (ox_lex_peek(lex) != '/' || lex->end - lex->at < 2 || lex->at[1] != '/')
        return false; /* one stroke alone is ceil's */
    lex->at += 2;
    return true;
}

static struct ox_formula *read_product(struct ox_operator_reader *r)
{
    struct ox_formula *result = read_factor(r);
    while (ox_lex_ok(&r->lex)) {
        if (ox_lex_take(&r->lex, '*'))
            result = formula_new(r, OX_FORMULA_MUL, result, read_factor(r));
        else if (ox_lex_take(&r->lex, '%'))
            result = formula_new(r, OX_FORMULA_MOD, result, read_factor(r));
        else if (take_floordiv(&r->lex))
            result = formula_new(r, OX_FORMULA_FLOORDIV, result, read_factor(r));
        else
            break;
    }
    return result;
}

struct ox_formula *ox_formula_read(struct ox_operator_reader *r)
{
    if (!enter(r))
        return NULL;
    struct ox_formula *result = read_product(r);
    while (ox_lex_ok(&r->lex)) {
        if (ox_lex_take(&r->lex, '+'))
            result = formula_new(r, OX_FORMULA_ADD, result, read_product(r));
        else if (ox_lex_take(&r->lex, '-'))
            result = formula_new(r, OX_FORMULA_SUB, result, read_product(r));
        else
            break;
    }
    r->lex.depth--;
    return result;
}

/* ---- What names are ---- */

static void settle_attr(struct ox_operator_reader *r, struct ox_formula *f,
                        const struct ox_schema_attr *attr)
{
    enum ox_attr_type type = (enum ox_attr_type)attr->type;
    if (type != OX_ATTR_INT && type != OX_ATTR_INTS)
        ox_lex_fail(&r->lex, "%s: the attribute '%s' in a formula is no integer",
                    r->op->schema.name, f->text);
    else if (f->has_element != (type == OX_ATTR_INTS))
        ox_lex_fail(&r->lex, "%s: '%s' in a formula: an element of a list is written ints[0]",
                    r->op->schema.name, f->text);
    f->kind = OX_FORMULA_ATTR;
    f->at = (size_t)(attr - r->op->schema.attrs);
}

static void settle_input(struct ox_operator_reader *r, struct ox_formula *f, size_t at)
{
    const struct ox_param_pattern *pattern = &r->op->inputs[at];
    bool integer =
        pattern->elem == OX_INT64 || pattern->elem == OX_INT32 || pattern->variable != SIZE_MAX;
    if (f->kind == OX_FORMULA_NAME && (pattern->kind != 't' || !integer))
        ox_lex_fail(&r->lex, "%s: the input '%s' in a formula is no integer tensor",
                    r->op->schema.name, f->text);
    if (f->kind == OX_FORMULA_NAME)
        f->kind = OX_FORMULA_INPUT;
    f->at = at;
}

static void settle_name(struct ox_operator_reader *r, struct ox_formula *f)
{
    const struct ox_schema *schema = &r->op->schema;
    for (size_t i = 0; i < r->n_locals; i++) {
        if (f->kind == OX_FORMULA_NAME && strcmp(r->locals[i].name, f->text) == 0) {
            /* Those of a local formula are settled; one that names itself or a later one is a dimension. */
            *f = *r->locals[i].formula;
            return;
        }
    }
    for (size_t i = 0; i < schema->n_inputs; i++) {
        if (strcmp(schema->inputs[i].name, f->text) == 0) {
            settle_input(r, f, i);
            return;
        }
    }
    const struct ox_schema_attr *attr = ox_schema_attr(schema, f->text);
    if (f->kind == OX_FORMULA_RANK) {
        ox_lex_fail(&r->lex, "%s: rank(%s) is of no input", schema->name, f->text);
    } else if (attr) {
        settle_attr(r, f, attr);
    } else if (f->has_element) {
        ox_lex_fail(&r->lex, "%s: '%s' in a formula is neither an input nor an attribute",
                    schema->name, f->text);
    } else {
        f->at = ox_operator_name(r, &r->op->names, &r->op->n_names, f->text);
        f->kind = OX_FORMULA_DIM;
    }
}

void ox_formula_settle(struct ox_operator_reader *r, struct ox_formula *formula)
{
    if (!formula || !ox_lex_ok(&r->lex))
        return;
    if (formula->kind == OX_FORMULA_NAME || formula->kind == OX_FORMULA_RANK) {
        settle_name(r, formula);
        return;
    }
    ox_formula_settle(r, formula->a);
    ox_formula_settle(r, formula->b);
    weigh(r, formula);
}
