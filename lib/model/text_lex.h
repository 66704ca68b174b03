/* Words of the ONNX textual syntax (docs/Syntax.md of the standard). Failure is sticky: after the first error, which is
 * kept with line and column, everything reads as the end of the text. */
#ifndef OX_MODEL_TEXT_LEX_H
#define OX_MODEL_TEXT_LEX_H

#include "common/arena.h"
#include "common/error.h"
#include "tensor/tensor.h"

struct ox_lexer {
    const char *start, *at, *end;
    struct ox_arena *arena;
    const char *name; /* of the file, for messages */
    struct ox_error *err;
    enum ox_status status;
    unsigned depth, most_depth; /* of nested graphs and types */
};

enum ox_literal_kind { OX_LITERAL_NONE, OX_LITERAL_INT, OX_LITERAL_FLOAT, OX_LITERAL_STRING };

struct ox_literal {
    enum ox_literal_kind kind;
    struct ox_str text; /* of a string: what is between the quotes, escapes resolved */
};

void ox_lex_fail(struct ox_lexer *lex, const char *format, ...) OX_PRINTF(2, 3);
void ox_lex_no_memory(struct ox_lexer *lex);
bool ox_lex_ok(const struct ox_lexer *lex);

/* The next character after blanks and comments; 0 at the end or after a failure. Nothing is taken. */
char ox_lex_peek(struct ox_lexer *lex);
bool ox_lex_take(struct ox_lexer *lex, char c);   /* true when it was next */
void ox_lex_expect(struct ox_lexer *lex, char c); /* fails when it is not next */
/* "=>" */
void ox_lex_expect_arrow(struct ox_lexer *lex);

/* An identifier: a letter or '_', then letters, digits, '_'. n is 0 when there is none. `peek` takes nothing. */
struct ox_str ox_lex_peek_word(struct ox_lexer *lex);
struct ox_str ox_lex_word(struct ox_lexer *lex);
/* The same, required; NUL-terminated in the arena. */
char *ox_lex_identifier(struct ox_lexer *lex);
/* An identifier or a quoted string; NULL when neither is next. */
char *ox_lex_name_or_null(struct ox_lexer *lex);
char *ox_lex_name(struct ox_lexer *lex);
/* Identifiers joined by '.'. */
char *ox_lex_dotted(struct ox_lexer *lex);

struct ox_literal ox_lex_literal(struct ox_lexer *lex);
/* Whether the next word is nan, inf or infinity in any case. */
bool ox_lex_is_special_float(struct ox_lexer *lex);
int64_t ox_lex_int(struct ox_lexer *lex);
uint64_t ox_lex_uint(struct ox_lexer *lex);
float ox_lex_float(struct ox_lexer *lex);
double ox_lex_double(struct ox_lexer *lex);
struct ox_str ox_lex_string(struct ox_lexer *lex);
char *ox_lex_c_string(struct ox_lexer *lex); /* fails on NUL within */

bool ox_str_is(struct ox_str s, const char *text);

/* Whether a name needs no quotes. */
bool ox_text_is_identifier(const char *name);

#endif
