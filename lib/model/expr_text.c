/* Expressions as text: printing and parsing. */
#include <stdlib.h>
#include <string.h>

#include "model/expr_impl.h"

/* ---- Printing --------------------------------------------------------------------------------------------------- */

/* Of ASCII, whatever the locale; and libc's own table is in 64 KB that nothing else of a small command touches. */
static bool is_digit(char c)
{
    return '0' <= c && c <= '9';
}

static bool is_name_start(unsigned char c)
{
    return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || c == '_' || c == '#' || c == '$' ||
           c == '@' || c >= 0x80;
}

static bool is_name_char(unsigned char c)
{
    return is_name_start(c) || is_digit((char)c) || c == '.' || c == ':';
}

/* Up to where a name that needs no quotes goes: letters, digits and indices, "size[0]". */
static const char *end_of_name(const char *at)
{
    for (;;) {
        while (is_name_char((unsigned char)*at))
            at++;
        const char *digits = at + 1, *end = digits;
        if (*at != '[')
            return at;
        while (is_digit(*end))
            end++;
        if (end == digits || *end != ']')
            return at;
        at = end + 1;
    }
}

static bool is_plain_name(const char *name)
{
    if (!is_name_start((unsigned char)*name) || strcmp(name, "min") == 0 ||
        strcmp(name, "max") == 0 || strcmp(name, "ceil") == 0)
        return false;
    return *end_of_name(name) == '\0';
}

static void print_name(struct ox_strbuf *out, const char *name)
{
    if (is_plain_name(name)) {
        ox_strbuf_puts(out, name);
        return;
    }
    ox_strbuf_putc(out, '\'');
    for (; *name; name++) {
        if (*name == '\'' || *name == '\\')
            ox_strbuf_putc(out, '\\');
        ox_strbuf_putc(out, *name);
    }
    ox_strbuf_putc(out, '\'');
}

/* How tightly what is printed must hold together. */
enum tightness { LOOSE, FACTOR };

static void print_args(struct ox_strbuf *out, const char *function, const struct ox_atom *atom)
{
    ox_strbuf_puts(out, function);
    for (unsigned i = 0; i < atom->n; i++) {
        if (i)
            ox_strbuf_putc(out, ',');
        ox_expr_print(out, atom->args[i]);
    }
    ox_strbuf_putc(out, ')');
}

/* An operand of a division: in parentheses unless it is a number, or one bare atom. */
static void print_operand(struct ox_strbuf *out, const struct ox_expr *e)
{
    const struct ox_atom *atom = ox_expr_atom(e);
    int64_t value;
    bool bare = (ox_expr_is_int(e, &value) && value >= 0) ||
                (atom && atom->kind != OX_ATOM_FLOORDIV && atom->kind != OX_ATOM_RATIO);
    if (!bare)
        ox_strbuf_putc(out, '(');
    ox_expr_print(out, e);
    if (!bare)
        ox_strbuf_putc(out, ')');
}

static void print_atom(struct ox_strbuf *out, const struct ox_atom *atom, enum tightness tightness)
{
    switch (atom->kind) {
    case OX_ATOM_SYMBOL:
        print_name(out, atom->name);
        break;
    case OX_ATOM_FLOORDIV:
    case OX_ATOM_RATIO:
        if (tightness == FACTOR)
            ox_strbuf_putc(out, '(');
        print_operand(out, atom->args[0]);
        ox_strbuf_puts(out, atom->kind == OX_ATOM_RATIO ? "/" : "//");
        print_operand(out, atom->args[1]);
        if (tightness == FACTOR)
            ox_strbuf_putc(out, ')');
        break;
    case OX_ATOM_MIN:
        print_args(out, "min(", atom);
        break;
    case OX_ATOM_MAX:
        print_args(out, "max(", atom);
        break;
    }
}

static void print_term(struct ox_strbuf *out, const struct ox_term *term, bool first)
{
    uint64_t size = term->coef < 0 ? 0 - (uint64_t)term->coef : (uint64_t)term->coef;
    if (term->coef < 0)
        ox_strbuf_putc(out, '-');
    else if (!first)
        ox_strbuf_putc(out, '+');
    bool has_number = size != 1 || term->mono->degree == 0;
    if (has_number)
        ox_strbuf_printf(out, "%llu", (unsigned long long)size);
    enum tightness tightness =
        has_number || term->mono->degree > 1 || term->coef < 0 ? FACTOR : LOOSE;
    for (unsigned i = 0; i < term->mono->degree; i++) {
        if (i || has_number)
            ox_strbuf_putc(out, '*');
        print_atom(out, term->mono->atoms[i], tightness);
    }
}

void ox_expr_print(struct ox_strbuf *out, const struct ox_expr *e)
{
    if (!e) {
        ox_strbuf_putc(out, '?');
        return;
    }
    if (e->n == 0)
        ox_strbuf_putc(out, '0');
    /* What is positive comes first: "k-a" rather than "-a+k". */
    unsigned first = 0;
    while (first < e->n && e->terms[first].coef < 0)
        first++;
    if (first == e->n)
        first = 0;
    if (e->n)
        print_term(out, &e->terms[first], true);
    for (unsigned i = 0; i < e->n; i++) {
        if (i != first)
            print_term(out, &e->terms[i], false);
    }
}

/* ---- Parsing ---------------------------------------------------------------------------------------------------- */

struct parser {
    struct ox_exprs *pool;
    const char *at;
    int depth;
    char *name; /* scratch as long as the text */
};

enum { MAX_PARSE_DEPTH = 200 };

static const struct ox_expr *parse_sum(struct parser *p);

static void skip_space(struct parser *p)
{
    while (*p->at == ' ' || *p->at == '\t')
        p->at++;
}

static bool accept(struct parser *p, const char *token)
{
    skip_space(p);
    size_t n = strlen(token);
    if (strncmp(p->at, token, n) != 0)
        return false;
    p->at += n;
    return true;
}

static const struct ox_expr *parse_number(struct parser *p)
{
    int64_t value = 0;
    for (; is_digit(*p->at); p->at++) {
        if (OX_MUL_OVERFLOWS(value, (int64_t)10, &value) ||
            OX_ADD_OVERFLOWS(value, (int64_t)(*p->at - '0'), &value))
            return NULL;
    }
    return is_name_char((unsigned char)*p->at) ? NULL : ox_expr_int(p->pool, value);
}

static const struct ox_expr *parse_quoted(struct parser *p)
{
    size_t n = 0;
    for (p->at++; *p->at && *p->at != '\''; p->at++) {
        if (*p->at == '\\' && p->at[1])
            p->at++;
        p->name[n++] = *p->at;
    }
    if (*p->at != '\'')
        return NULL;
    p->at++;
    p->name[n] = '\0';
    return ox_expr_symbol(p->pool, p->name);
}

/* min(a, b, ...) and max(...), after the opening parenthesis. */
static const struct ox_expr *parse_extremum(struct parser *p, bool is_max)
{
    const struct ox_expr *result = parse_sum(p);
    while (result && accept(p, ",")) {
        const struct ox_expr *next = parse_sum(p);
        result = is_max ? ox_expr_max(p->pool, result, next) : ox_expr_min(p->pool, result, next);
    }
    return result && accept(p, ")") ? result : NULL;
}

/* ceil(a/b), after the opening parenthesis. */
static const struct ox_expr *parse_ceil(struct parser *p);

static const struct ox_expr *parse_named(struct parser *p)
{
    const char *start = p->at;
    p->at = end_of_name(start);
    size_t n = (size_t)(p->at - start);
    memcpy(p->name, start, n);
    p->name[n] = '\0';
    /* PyTorch's exporter spells them as sympy does. */
    bool is_min = strcmp(p->name, "min") == 0 || (strcmp(p->name, "Min") == 0 && *p->at == '(');
    bool is_max = strcmp(p->name, "max") == 0 || (strcmp(p->name, "Max") == 0 && *p->at == '(');
    bool is_ceil = strcmp(p->name, "ceil") == 0;
    if (is_min || is_max || is_ceil) {
        if (!accept(p, "("))
            return NULL;
        return is_ceil ? parse_ceil(p) : parse_extremum(p, is_max);
    }
    return ox_expr_symbol(p->pool, p->name);
}

static const struct ox_expr *parse_factor(struct parser *p)
{
    const struct ox_expr *result = NULL;
    if (++p->depth > MAX_PARSE_DEPTH)
        return NULL;
    skip_space(p);
    if (accept(p, "(")) {
        result = parse_sum(p);
        if (!accept(p, ")"))
            result = NULL;
    } else if (accept(p, "-")) {
        const struct ox_expr *of = parse_factor(p);
        result = of ? ox_expr_sub(p->pool, ox_expr_int(p->pool, 0), of) : NULL;
    } else if (*p->at == '\'') {
        result = parse_quoted(p);
    } else if (is_digit(*p->at)) {
        result = parse_number(p);
    } else if (is_name_start((unsigned char)*p->at)) {
        result = parse_named(p);
    }
    p->depth--;
    return result;
}

static const struct ox_expr *parse_product(struct parser *p)
{
    const struct ox_expr *result = parse_factor(p);
    while (result) {
        if (accept(p, "*"))
            result = ox_expr_mul(p->pool, result, parse_factor(p));
        else if (accept(p, "//"))
            result = ox_expr_floordiv(p->pool, result, parse_factor(p));
        else if (accept(p, "%"))
            result = ox_expr_mod(p->pool, result, parse_factor(p));
        else
            break;
    }
    return result;
}

static const struct ox_expr *parse_ceil(struct parser *p)
{
    const struct ox_expr *a = parse_product(p);
    const struct ox_expr *b = a && accept(p, "/") ? parse_factor(p) : NULL;
    return b && accept(p, ")") ? ox_expr_ceildiv(p->pool, a, b) : NULL;
}

static const struct ox_expr *parse_sum(struct parser *p)
{
    const struct ox_expr *result = NULL;
    if (++p->depth <= MAX_PARSE_DEPTH)
        result = parse_product(p);
    while (result) {
        if (accept(p, "+"))
            result = ox_expr_add(p->pool, result, parse_product(p));
        else if (accept(p, "-"))
            result = ox_expr_sub(p->pool, result, parse_product(p));
        else
            break;
    }
    p->depth--;
    return result;
}

const struct ox_expr *ox_expr_parse(struct ox_exprs *pool, const char *text)
{
    struct parser p = {.pool = pool, .at = text, .name = malloc(strlen(text) + 1)};
    const struct ox_expr *result = p.name ? parse_sum(&p) : NULL;
    pool->failed |= !p.name;
    skip_space(&p);
    if (*p.at)
        result = NULL;
    free(p.name);
    return result;
}
