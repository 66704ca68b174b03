#include "model/text_lex.h"

#include <stdarg.h>
#include <string.h>

#include "common/number.h"

/* ASCII alone, whatever the locale. */
static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_word(char c)
{
    return is_letter(c) || is_digit(c) || c == '_';
}

bool ox_str_is(struct ox_str s, const char *text)
{
    return s.n == strlen(text) && memcmp(s.p, text, s.n) == 0;
}

bool ox_text_is_identifier(const char *name)
{
    if (!is_letter(*name) && *name != '_')
        return false;
    while (is_word(*name))
        name++;
    return *name == '\0';
}

void ox_lex_fail(struct ox_lexer *lex, const char *format, ...)
{
    if (lex->status != OX_OK)
        return;
    size_t line = 1, column = 1;
    for (const char *p = lex->start; p < lex->at; p++) {
        column = *p == '\n' ? 1 : column + 1;
        line += *p == '\n';
    }
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    lex->status =
        ox_fail(lex->err, OX_INPUT, "%s: line %zu, column %zu: %s", lex->name, line, column, what);
    lex->at = lex->end;
}

void ox_lex_no_memory(struct ox_lexer *lex)
{
    if (lex->status != OX_OK)
        return;
    lex->status = ox_fail(lex->err, OX_NO_MEMORY, "%s: out of memory", lex->name);
    lex->at = lex->end;
}

bool ox_lex_ok(const struct ox_lexer *lex)
{
    return lex->status == OX_OK;
}

char ox_lex_peek(struct ox_lexer *lex)
{
    for (;;) {
        while (lex->at < lex->end && is_space(*lex->at))
            lex->at++;
        if (lex->at == lex->end)
            return '\0';
        if (*lex->at != '#')
            return *lex->at;
        const char *newline = memchr(lex->at, '\n', (size_t)(lex->end - lex->at));
        lex->at = newline ? newline : lex->end;
    }
}

bool ox_lex_take(struct ox_lexer *lex, char c)
{
    if (ox_lex_peek(lex) != c || lex->at == lex->end)
        return false;
    lex->at++;
    return true;
}

void ox_lex_expect(struct ox_lexer *lex, char c)
{
    if (!ox_lex_take(lex, c))
        ox_lex_fail(lex, "'%c' expected", c);
}

void ox_lex_expect_arrow(struct ox_lexer *lex)
{
    ox_lex_peek(lex);
    if (lex->end - lex->at >= 2 && lex->at[0] == '=' && lex->at[1] == '>')
        lex->at += 2;
    else
        ox_lex_fail(lex, "'=>' expected");
}

struct ox_str ox_lex_peek_word(struct ox_lexer *lex)
{
    char c = ox_lex_peek(lex);
    const char *p = lex->at;
    if (is_letter(c) || c == '_')
        while (p < lex->end && is_word(*p))
            p++;
    return (struct ox_str){lex->at, (size_t)(p - lex->at)};
}

struct ox_str ox_lex_word(struct ox_lexer *lex)
{
    struct ox_str word = ox_lex_peek_word(lex);
    lex->at += word.n;
    return word;
}

static char *keep(struct ox_lexer *lex, struct ox_str s)
{
    char *copy = ox_arena_strndup(lex->arena, s.p, s.n);
    if (!copy)
        ox_lex_no_memory(lex);
    return copy;
}

char *ox_lex_identifier(struct ox_lexer *lex)
{
    struct ox_str word = ox_lex_word(lex);
    if (!word.n)
        ox_lex_fail(lex, "identifier expected");
    return keep(lex, word);
}

char *ox_lex_name_or_null(struct ox_lexer *lex)
{
    if (ox_lex_peek(lex) == '"')
        return ox_lex_c_string(lex);
    struct ox_str word = ox_lex_word(lex);
    return word.n ? keep(lex, word) : NULL;
}

char *ox_lex_name(struct ox_lexer *lex)
{
    char *name = ox_lex_name_or_null(lex);
    if (!name)
        ox_lex_fail(lex, "name expected");
    return name;
}

char *ox_lex_dotted(struct ox_lexer *lex)
{
    char *name = ox_lex_identifier(lex);
    while (name && ox_lex_take(lex, '.')) {
        char *next = ox_lex_identifier(lex);
        name = next ? ox_arena_printf(lex->arena, "%s.%s", name, next) : NULL;
    }
    if (!name)
        ox_lex_no_memory(lex);
    return name;
}

/* The byte of \x and two digits, as we write what the standard has no way to; -1: no such. */
static int hex_byte(const char *p, const char *end)
{
    uint32_t byte;
    const bool is_one =
        end - p >= 4 && p[0] == '\\' && p[1] == 'x' && ox_number_parse_hex(p + 2, 2, &byte);
    return is_one ? (int)byte : -1;
}

/* A backslash takes the next character as it is. */
static struct ox_literal quoted(struct ox_lexer *lex)
{
    const char *from = ++lex->at;
    size_t n_escapes = 0;
    while (lex->at < lex->end && *lex->at != '"') {
        if (*lex->at == '\\') {
            n_escapes++;
            lex->at++;
        }
        if (lex->at < lex->end)
            lex->at++;
    }
    if (lex->at == lex->end) {
        lex->at = from - 1;
        ox_lex_fail(lex, "string without an end");
        return (struct ox_literal){0};
    }
    struct ox_literal literal = {OX_LITERAL_STRING, {from, (size_t)(lex->at++ - from)}};
    if (!n_escapes)
        return literal;
    char *plain = ox_arena_alloc(lex->arena, literal.text.n);
    if (!plain) {
        ox_lex_no_memory(lex);
        return (struct ox_literal){0};
    }
    size_t n = 0;
    for (const char *p = from, *end = from + literal.text.n; p < end; p++) {
        const int byte = hex_byte(p, end);
        p += byte >= 0 ? 3 : *p == '\\';
        plain[n++] = byte >= 0 ? (char)byte : *p;
    }
    literal.text = (struct ox_str){plain, n};
    return literal;
}

bool ox_lex_is_special_float(struct ox_lexer *lex)
{
    static const char *const names[] = {"nan", "inf", "infinity"};
    struct ox_str word = ox_lex_peek_word(lex);
    for (size_t i = 0; i < OX_COUNT(names); i++) {
        size_t k = 0;
        while (k < word.n && (word.p[k] | 0x20) == names[i][k])
            k++;
        if (k == word.n && !names[i][k])
            return word.n > 0;
    }
    return false;
}

struct ox_literal ox_lex_literal(struct ox_lexer *lex)
{
    if (ox_lex_peek(lex) == '"')
        return quoted(lex);
    const char *from = lex->at;
    const char *p = from;
    p += p < lex->end && *p == '-';
    if (p < lex->end && is_letter(*p)) {
        lex->at = p;
        bool special = ox_lex_is_special_float(lex);
        size_t n = ox_lex_peek_word(lex).n;
        lex->at = special ? p + n : from;
        if (special)
            return (struct ox_literal){OX_LITERAL_FLOAT, {from, (size_t)(lex->at - from)}};
    } else if (p < lex->end && is_digit(*p)) {
        bool is_float = false;
        while (p < lex->end && (is_digit(*p) || (*p == '.' && !is_float))) {
            is_float |= *p == '.';
            p++;
        }
        if (p < lex->end && (*p | 0x20) == 'e') {
            is_float = true;
            p++;
            p += p < lex->end && (*p == '+' || *p == '-');
            while (p < lex->end && is_digit(*p))
                p++;
        }
        lex->at = p;
        return (struct ox_literal){is_float ? OX_LITERAL_FLOAT : OX_LITERAL_INT,
                                   {from, (size_t)(p - from)}};
    }
    ox_lex_fail(lex, "value expected");
    return (struct ox_literal){0};
}

int64_t ox_lex_int(struct ox_lexer *lex)
{
    struct ox_literal literal = ox_lex_literal(lex);
    int64_t value = 0;
    if (ox_lex_ok(lex) && (literal.kind != OX_LITERAL_INT ||
                           !ox_number_parse_int(literal.text.p, literal.text.n, &value)))
        ox_lex_fail(lex, "64-bit integer expected before here");
    return value;
}

uint64_t ox_lex_uint(struct ox_lexer *lex)
{
    struct ox_literal literal = ox_lex_literal(lex);
    uint64_t value = 0;
    if (ox_lex_ok(lex) && (literal.kind != OX_LITERAL_INT ||
                           !ox_number_parse_uint(literal.text.p, literal.text.n, &value)))
        ox_lex_fail(lex, "unsigned 64-bit integer expected before here");
    return value;
}

float ox_lex_float(struct ox_lexer *lex)
{
    struct ox_literal literal = ox_lex_literal(lex);
    float value = 0;
    if (ox_lex_ok(lex) && (literal.kind == OX_LITERAL_STRING || literal.kind == OX_LITERAL_NONE ||
                           !ox_number_parse_float(literal.text.p, literal.text.n, &value)))
        ox_lex_fail(lex, "number expected before here");
    return value;
}

double ox_lex_double(struct ox_lexer *lex)
{
    struct ox_literal literal = ox_lex_literal(lex);
    double value = 0;
    if (ox_lex_ok(lex) && (literal.kind == OX_LITERAL_STRING || literal.kind == OX_LITERAL_NONE ||
                           !ox_number_parse(literal.text.p, literal.text.n, &value)))
        ox_lex_fail(lex, "number expected before here");
    return value;
}

struct ox_str ox_lex_string(struct ox_lexer *lex)
{
    if (ox_lex_peek(lex) != '"') {
        ox_lex_fail(lex, "quoted string expected");
        return (struct ox_str){0};
    }
    return quoted(lex).text;
}

char *ox_lex_c_string(struct ox_lexer *lex)
{
    struct ox_str s = ox_lex_string(lex);
    if (!ox_lex_ok(lex))
        return NULL;
    if (s.n && memchr(s.p, '\0', s.n)) {
        ox_lex_fail(lex, "a name with a NUL character");
        return NULL;
    }
    return keep(lex, s);
}
