/* Between the files that read operators from text. */
#ifndef OX_SCHEMA_OPERATORS_READ_H
#define OX_SCHEMA_OPERATORS_READ_H

#include "model/text_lex.h"
#include "schema/operators.h"

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
/* Index of the name in a list that grows; SIZE_MAX: out of memory. */
size_t ox_operator_name(struct ox_operator_reader *r, const char ***names, size_t *n,
                        const char *name);
/* Room for one more element of an array in the registry's arena. */
void *ox_operator_grow(struct ox_operator_reader *r, void *items, size_t n, size_t item_bytes);

#endif
