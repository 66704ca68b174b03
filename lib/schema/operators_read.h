/* Between the files that read operators from text. */
#ifndef OX_SCHEMA_OPERATORS_READ_H
#define OX_SCHEMA_OPERATORS_READ_H

#include "model/text_lex.h"
#include "schema/operators.h"

enum { OX_OPERATOR_PARAMS = 1000 /* inputs, outputs or attributes at the most */ };

struct ox_operator_reader {
    struct ox_lexer lex;
    struct ox_operators *operators;
    const char *domain; /* of the header that stands; NULL: none yet */
    int64_t version;
    struct ox_operator *op; /* at hand */
    struct ox_named_formula {
        const char *name;
        struct ox_formula *formula;
    } * locals; /* of its `where` */
    size_t n_locals;
};

/* a + b // 2, ... */
struct ox_formula *ox_formula_read(struct ox_operator_reader *r);
/* Settles what the names of a formula are. Those that are nothing else are dimensions: known ones, and new ones if `bind`. */
void ox_formula_settle(struct ox_operator_reader *r, struct ox_formula *formula);
/* ---- operators_list.c ---- */

/* Room for one more element of an array in the registry's arena; NULL: out of memory, which the lexer holds then. */
void *ox_operator_grow(struct ox_operator_reader *r, void *items, size_t n, size_t item_bytes);
#define OX_OPERATOR_APPEND(r, array, count, ...)                                                   \
    do {                                                                                           \
        void *grown = ox_operator_grow((r), (array), (count), sizeof *(array));                    \
        if (grown) {                                                                               \
            (array) = grown;                                                                       \
            (array)[(count)++] = __VA_ARGS__;                                                      \
        }                                                                                          \
    } while (0)
/* Index of the name in a list that grows; SIZE_MAX: out of memory. */
size_t ox_operator_name(struct ox_operator_reader *r, const char ***names, size_t *n,
                        const char *name);

/* ---- operators_read_type.c ---- */

/* A type with its shape. *type is how the schema spells it. */
void ox_operator_read_type(struct ox_operator_reader *r, struct ox_param_pattern *pattern,
                           const char **type);
/* The element type that a word names; OX_UNDEFINED: none. */
enum ox_dtype ox_operator_element(struct ox_str word);
/* Place of a kind's masks, in the order of ox_type_set_has()'s letters. */
size_t ox_operator_kind(char kind);
/* "seq(tensor(float))"; NULL: out of memory. */
char *ox_operator_type_name(struct ox_operator_reader *r, char kind, enum ox_dtype elem);

/* ---- operators_read_attrs.c ---- */

/* <factor: int = 2, mode: string, hint: ints?> to the operator at hand, sorted by name. */
void ox_operator_read_attrs(struct ox_operator_reader *r);

#endif
